"""Declared, typed parameters: what a notebook may be given, and the refusal of everything else.

A notebook declares its parameters in one cell (``seed: int = 0  # random seed``) and says what is
allowed in the next, by calling :func:`check`. Plain papermill only warns about an unknown
parameter; the check refuses it. :func:`validated` runs the same two cells without a kernel, so that
a workflow can refuse a parameter before anything else runs.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import inspect
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import yaml
from papermill.translators import translate_parameters
from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

SIX_METHODS = ["gradcam", "lrp", "smoothgrad", "lime", "gradcam++", "integrated-gradients"]
PRESETS: dict[str, dict[str, Any]] = {
    "demo": {
        "source": "world",
        "image_size": 96,
        "architecture": "alexnet-quarter",
        "pretrained": "wider world",
        "epochs": None,
        "family": "scratch",
        "architectures": ["alexnet-quarter", "vgg11-eighth", "resnet18-eighth"],
        "methods": SIX_METHODS,
        "effort": "quick",
        "mosaics": 6,
    },
    "paper": {
        "source": "hpai",
        "image_size": 224,
        "architecture": "alexnet",
        "pretrained": "imagenet",
        "epochs": 50,
        "family": "pretrained",
        "architectures": ["alexnet", "vgg16", "resnet18"],
        "methods": SIX_METHODS,
        "effort": "sound",
        "mosaics": 100,
    },
}

INJECTED = "# Parameters"  # the comment with which papermill opens the cell it injects


class ParameterError(ValueError):
    """A parameter is unknown, of the wrong type or out of range; the message names each one."""


def check(namespace: Mapping[str, Any], **allowed: tuple | list) -> SimpleNamespace:
    """Check a notebook's parameters and fill what is None from the preset.

    Parameters
    ----------
    namespace
        The notebook's ``globals()``: annotated names are the parameters.
    **allowed
        For a parameter, ``(low, high)`` (None: open; holds for every number inside a list or
        dict as well) or a list of the values allowed.

    Returns
    -------
    SimpleNamespace
        The parameters, those left at None replaced by the value of the preset, if it has one.

    Raises
    ------
    ParameterError
        Naming every parameter that is unknown, mistyped or out of range, and what is allowed.
    """
    declared = dict(namespace.get("__annotations__", {}))
    problems = [_unknown(name, declared) for name in _injected(namespace) if name not in declared]
    for name, annotation in declared.items():
        problem = _mistyped(namespace[name], annotation) or _outside(
            namespace[name], allowed.get(name)
        )
        if problem:
            problems.append(f"parameter {name!r}: {problem}")
    if problems:
        raise ParameterError("\n".join(problems))
    values = {name: namespace[name] for name in declared}
    preset = PRESETS.get(values.get("preset"), {})
    return SimpleNamespace(
        **{k: preset.get(k) if v is None and k in preset else v for k, v in values.items()}
    )


def _injected(namespace: Mapping[str, Any]) -> list[str]:
    """Names assigned in the cells that papermill injected, read from IPython's input history."""
    names = []
    for source in namespace.get("In", []):
        if source.startswith(INJECTED):
            for node in ast.parse(source).body:
                if isinstance(node, ast.Assign):
                    names += [t.id for t in node.targets if isinstance(t, ast.Name)]
    return names


def _unknown(name: str, declared: Iterable[str]) -> str:
    declared = list(declared)
    close = difflib.get_close_matches(name, declared, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    said = f"parameter {name!r} is not declared here; {hint}the parameters are: "
    return said + ", ".join(declared)


def _mistyped(value: Any, annotation: Any) -> str | None:
    if value is None:
        return None  # a parameter whose default is None may stay None; _outside never sees it
    try:
        if isinstance(value, bool) and annotation is not bool:
            raise TypeCheckError("is a truth value")
        check_type(value, annotation, collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS)
    except TypeCheckError:
        allowed = _type_name(annotation)
        listed = f", such as [{value}]" if allowed == f"list[{type(value).__name__}]" else ""
        return f"{value!r} is of type {type(value).__name__}; allowed: {allowed}{listed}"
    return None


def _type_name(annotation: Any) -> str:
    name = annotation.__name__ if inspect.isclass(annotation) else str(annotation)
    return str(annotation).replace("typing.", "") if "[" in str(annotation) else name


def _numbers(value: Any) -> list[Real]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [n for item in value for n in _numbers(item)]
    return [value] if isinstance(value, Real) else []


def _outside(value: Any, allowed: tuple | list | None) -> str | None:
    if value is None or allowed is None:
        return None
    if isinstance(allowed, list):
        wanted = value if isinstance(value, list) else [value]
        bad = [v for v in wanted if v not in allowed]
        return f"{bad[0]!r} is not known; allowed: {', '.join(map(str, allowed))}" if bad else None
    low, high = (-float("inf") if allowed[0] is None else allowed[0]), allowed[1]
    high = float("inf") if high is None else high
    bad = [n for n in _numbers(value) if not low <= n <= high]
    return f"{bad[0]!r} is out of range; allowed: {_range_name(allowed)}" if bad else None


def _range_name(allowed: tuple) -> str:
    low, high = allowed
    if high is None:
        return f"{low} or more"
    return f"{high} or less" if low is None else f"{low} to {high}"


def cell_with_tag(notebook: nbformat.NotebookNode, tag: str) -> str:
    """Source of the notebook's cell with this tag; empty when there is none."""
    sources = (c.source for c in notebook.cells if tag in c.metadata.get("tags", []))
    return next(sources, "")


def declared(notebook_path: str | Path) -> list[str]:
    """Names of the parameters that a notebook declares, in order."""
    source = cell_with_tag(nbformat.read(notebook_path, as_version=4), "parameters")
    return [n.target.id for n in ast.parse(source).body if isinstance(n, ast.AnnAssign)]


def validated(notebook_path: str | Path, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse parameters that this notebook would refuse, without running the notebook.

    Only its `parameters` and `check` cells are executed, with `parameters` between them.

    Returns
    -------
    dict
        The parameters as given.

    Raises
    ------
    ParameterError
        As from :func:`check`, the notebook's name in front.
    FileNotFoundError
        When there is no such notebook.
    """
    notebook = nbformat.read(notebook_path, as_version=4)
    declaration = cell_with_tag(notebook, "parameters")
    injected = translate_parameters("python3", "python", dict(parameters), "Parameters")
    namespace: dict[str, Any] = {"__name__": "__main__", "In": [declaration, injected]}
    try:
        for source in (declaration, injected, cell_with_tag(notebook, "check")):
            exec(compile(source, str(notebook_path), "exec", dont_inherit=True), namespace)
    except ParameterError as error:
        raise ParameterError(f"{Path(notebook_path).name}: {error}") from None
    return dict(parameters)


def shared(notebook_paths: Iterable[str | Path], parameters: Mapping[str, Any]) -> dict[str, dict]:
    """Give each notebook those of the parameters that it declares, all validated.

    Returns
    -------
    dict
        Notebook stem -> its parameters.

    Raises
    ------
    ParameterError
        When a parameter is declared by none of the notebooks, or refused by one that declares it.
    """
    paths = [Path(p) for p in notebook_paths]
    known = {path: declared(path) for path in paths}
    everywhere = list(dict.fromkeys(name for names in known.values() for name in names))
    unknown = [_unknown(name, everywhere) for name in parameters if name not in everywhere]
    accepted = {}
    for path in paths:
        try:
            mine = {k: v for k, v in parameters.items() if k in known[path]}
            accepted[path.stem] = validated(path, mine)
        except ParameterError as error:
            unknown.append(str(error))
    if unknown:
        raise ParameterError("\n".join(dict.fromkeys(unknown)))
    return accepted


def main() -> None:
    """Check parameters from the command line: ``python -m helpers.parameters NOTEBOOK -y YAML``."""
    parser = argparse.ArgumentParser(description="Refuse parameters a notebook does not allow.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("-y", "--yaml", default="{}", help="parameters as YAML, e.g. '{seed: 3}'")
    arguments = parser.parse_args()
    try:
        validated(arguments.notebook, yaml.safe_load(arguments.yaml))
    except (ParameterError, FileNotFoundError) as error:
        raise SystemExit(f"refused: {error}") from None
    print("allowed")


if __name__ == "__main__":
    main()
