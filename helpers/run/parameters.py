"""Declared, typed parameters: what a notebook may be given, and the refusal of everything else.

A notebook declares its parameters in one cell (``seed: int = 0  # random seed``) and says what is
allowed in the next, by calling :func:`check`. Plain papermill only warns about an unknown
parameter; the check refuses it. :func:`validated` runs the same two cells without a kernel, so that
a workflow can refuse a parameter before anything else runs.
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
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
        "architectures": ["alexnet-quarter", "vgg11-eighth", "resnet10-eighth"],
        "methods": SIX_METHODS,
        "effort": "quick",
        "mosaics": 3,
        "sets": ["C"],
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
        "sets": ["NC", "C", "WB"],
    },
}

#: Parameters that name a file or a folder.
PATHS = (
    "folder", "contexts", "table", "labels", "predictions", "gps", "areas", "incomes",
    "real_frames",
)  # fmt: skip
INJECTED = "# Parameters"  # the comment with which papermill opens the cell it injects


@dataclass(frozen=True)
class Images:
    """What the images of a run are.

    Attributes
    ----------
    source : {"world", "hpai", "folder"}
        The embedded world, the authors' archives, or a folder of class folders.
    size : int
        Side of the square images in pixels.
    per_class : int
        Images of each class in each set; a folder may have fewer.
    folder, contexts : str, optional
        Of class folders, and of context folders.
    context_of : dict of str to str, optional
        Class to the name of its context folder.
    context_bias : float or dict of str to float, optional
        World: share of C's images in their class's own context (None: the world's default).
    shared_patch : float
        World: share of two classes' objects that carry the same eyespot.
    """

    source: str = "world"
    size: int = 96
    per_class: int = 150
    folder: str | None = None
    contexts: str | None = None
    context_of: Mapping[str, str] | None = None
    context_bias: float | Mapping[str, float] | None = None
    shared_patch: float = 0.0


@dataclass(frozen=True)
class Recipe:
    """How a model is made.

    Attributes
    ----------
    architecture : str
        A name of `models.reduced.REDUCED`, or a classifier of torchvision's.
    fit : {"scratch", "pretrained", "probe", "as it is"}
        Trained from a random state, fine-tuned in all layers, in the last layer, or not trained.
    weights : str, optional
        Where all but "scratch" start: ``wider world``, ``imagenet`` or a weights file.
    trainings : int
        How many; they differ in their seed and, in the world, in their training images.
    epochs : int, optional
        Of a training (None: what the images take).
    """

    architecture: str = "alexnet-quarter"
    fit: str = "scratch"
    weights: str | None = None
    trainings: int = 10
    epochs: int | None = None


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
        Naming every parameter that is unknown, mistyped or out of range, and what is allowed; then
        every file that is not there and every network that cannot be built as it is asked for.
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
    filled = {k: preset.get(k) if v is None and k in preset else v for k, v in values.items()}
    problems = _useless(filled) + _misfits(values, filled)
    if problems:
        raise ParameterError("\n".join(problems))
    settings = SimpleNamespace(**filled)
    if "source" in filled:
        settings.images = Images(
            filled["source"],
            filled["image_size"],
            filled["per_class"],
            filled["folder"],
            filled.get("contexts"),
            filled.get("context_of"),
            filled["context_bias"],
            filled.get("shared_patch") or 0.0,
        )
    if "trainings" in filled:
        settings.model = Recipe(
            filled["architecture"],
            filled.get("family") or "scratch",
            filled["pretrained"],
            filled["trainings"],
            filled["epochs"],
        )
    return settings


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


def _useless(values: Mapping[str, Any]) -> list[str]:
    """What is wrong with values of the right type: a file that is not there, an unknown class."""
    problems = [
        f"parameter {name!r}: there is no file or folder {values[name]!r} below {Path.cwd()}"
        for name in PATHS
        if values.get(name) and not Path(values[name]).expanduser().exists()
    ]
    if values.get("folder") and values.get("source") != "folder":
        problems.append("a `folder` is given: say `source: folder` as well, or it is not read")
    if values.get("source") == "folder" and not values.get("folder"):
        problems.append("source is 'folder', so the parameter 'folder' must name one")
    if "shown" in values:
        from helpers.icon2.reading import CLASSES

        problem = _outside(values["shown"], list(CLASSES)) if values["shown"] else "names no class"
        problems += [f"parameter 'shown': {problem}"] if problem else []
    return problems


def _misfits(given: Mapping[str, Any], filled: Mapping[str, Any]) -> list[str]:
    """What is wrong with the networks, where anything but the preset's is asked for."""
    deciding = ("architecture", "architectures", "image_size", "pretrained")
    untrained = filled.get("family") == "as it is"
    if "architecture" not in given or not (untrained or any(given.get(k) for k in deciding)):
        return []
    listed = given["architecture"] is None and filled.get("architectures")
    families = filled.get("families") or [filled.get("family")]
    start = None if families == ["scratch"] else filled["pretrained"]
    if untrained and start in (None, "wider world"):
        return ["family 'as it is' needs a network: `pretrained: imagenet` or a weights file"]
    faults = (
        _misfit(architecture, start, filled["image_size"], untrained)
        for architecture in listed or [filled["architecture"]]
    )
    return [fault for fault in faults if fault]


@functools.cache
def _misfit(architecture: str, start: str | None, size: int, untrained: bool) -> str | None:
    """What is wrong with one network: it is built and shown a blank image."""
    import torch

    from helpers import models
    from helpers.models import weights

    of_a_file = start not in (None, "imagenet", "wider world")
    try:
        if untrained or start == "imagenet":
            weights.digest(architecture, "imagenet")  # whether there are such, and their classes
        model = models.build(architecture, 2, weights=start if of_a_file else None).eval()
    except (ValueError, OSError) as error:
        return str(error)

    def reason(size: int) -> str | None:
        try:
            with torch.no_grad():
                model(torch.zeros(1, 3, size, size))
        except Exception as error:  # whatever a layer raises
            return str(error).splitlines()[0]

    if not reason(size):
        return None
    fitting = [f"{n} fits" for n in range(32, 513, 32) if not reason(n)]
    return (
        f"parameter 'image_size': {architecture} cannot take images of {size} pixels "
        f"({reason(size)}); {fitting[0] if fitting else 'take another `architecture`'}"
    )


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


def shared(
    notebook_paths: Iterable[str | Path],
    parameters: Mapping[str, Any],
    others: Iterable[str | Path] = (),
) -> dict[str, dict]:
    """Give each notebook those of the parameters that it declares, all validated.

    Returns
    -------
    dict
        Notebook stem -> its parameters. A parameter that only `others` declare, notebooks that are
        not to run, is known and left out.

    Raises
    ------
    ParameterError
        When a parameter is declared by no notebook, or refused by one that is to run.
    """
    known = {Path(path): declared(path) for path in notebook_paths}
    everywhere = dict.fromkeys(
        name for names in (*known.values(), *map(declared, others)) for name in names
    )
    problems = {_unknown(name, everywhere): [] for name in parameters if name not in everywhere}
    accepted = {}
    for path, names in known.items():
        mine = {k: v for k, v in parameters.items() if k in names}
        try:
            accepted[path.stem] = validated(path, mine)
        except ParameterError as error:
            _, _, problem = str(error).partition(": ")
            problems.setdefault(problem, []).append(path.name)
    if problems:
        said = [f"{', '.join(names)}: {p}" if names else p for p, names in problems.items()]
        if accepted and any(problems.values()):
            said.append("To leave out notebooks, list those that are to run in `notebooks`.")
        raise ParameterError("\n".join(said))
    return accepted
