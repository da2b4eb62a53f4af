"""Plan for the Snakefile which lessons run, with which parameters and input files.

Nothing here imports torch, so a run that has nothing to do ends within seconds.
"""

import ast
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from helpers import store
from helpers.suggest import did_you_mean

DEFAULT_RUN = "demo"  # the folder below outputs/ of a run without a name


def lessons(folder: Path) -> list[str]:
    """Name the lessons of a folder of notebooks, in their order."""
    names = sorted(path.stem for path in folder.glob("[0-9][0-9]*_*.ipynb"))
    return [name for name in names if not name.startswith("00")]


def read_cells(notebook: Path) -> list[dict[str, Any]]:
    """Read the cells of a notebook as JSON; importing nbformat takes longer."""
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def defaults(notebook: Path) -> dict[str, Any]:
    """Read the parameters of a notebook with their default values.

    Parameters
    ----------
    notebook : Path
        A notebook with a cell that is tagged ``parameters``, in which each parameter is
        an annotated assignment of a literal.

    Returns
    -------
    dict
        Value by name, in the order of the cell; empty without such a cell.
    """
    parameters = {}
    for cell in read_cells(notebook):
        if "parameters" in cell["metadata"].get("tags", []):
            for statement in ast.parse("".join(cell["source"])).body:
                if isinstance(statement, ast.AnnAssign) and statement.value is not None:
                    value = ast.literal_eval(statement.value)
                    parameters[statement.target.id] = value
    return parameters


def plan(config: Mapping[str, Any], folder: Path) -> tuple[str, dict[str, dict]]:
    """Decide which notebooks a run executes, and with which parameters.

    Parameters
    ----------
    config : mapping
        The configuration: ``run`` (a folder below outputs/), ``notebooks`` (names;
        default: all lessons), ``parameters`` (for all notebooks that have them), and
        the name of a notebook with parameters for this notebook alone.
    folder : Path
        The folder of the notebooks.

    Returns
    -------
    run : str
        The name of the run.
    parameters : dict of str to dict
        The parameters that differ from the defaults, by name of the notebook.

    Raises
    ------
    ValueError
        A name in the configuration is unknown.
    """
    declared = {}
    for path in sorted(folder.glob("*.ipynb")):
        parameters = defaults(path)
        if parameters:
            declared[path.stem] = parameters
    refuse_unknown("key", config, ["run", "notebooks", "parameters", *declared])
    names = config.get("notebooks") or lessons(folder)
    if isinstance(names, str):
        names = [names]
    refuse_unknown("notebook", names, declared)

    run = str(config.get("run", DEFAULT_RUN))
    shared = config.get("parameters") or {}
    names_of_parameters = {}  # a dict keeps their order
    for parameters in declared.values():
        names_of_parameters.update(parameters)
    names_of_parameters.pop("output")  # the key `run` sets it
    refuse_unknown("parameter", shared, names_of_parameters)

    for name, parameters in declared.items():
        refuse_unknown(f"parameter of {name}", config.get(name) or {}, parameters)
    planned = {}
    for name in names:
        given = {key: value for key, value in shared.items() if key in declared[name]}
        given.update(config.get(name) or {})
        given["output"] = run
        planned[name] = given
    return run, planned


def threads(parameters: Mapping[str, Any], cores: int) -> int:
    """Decide on how many cores a notebook computes, given its parameters.

    The user's own images and networks take all cores, so their notebooks run one after
    another. The synthetic dataset takes one core.
    """
    return cores if {"images", "network"} & parameters.keys() else 1


def refuse_unknown(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise a ValueError that lists all unknown names, with a suggestion for each."""
    known = list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        lines = [
            f"There is no {kind} {name!r}. {did_you_mean(name, known)}"
            for name in unknown
        ]
        raise ValueError("\n".join(lines))


def input_digest(parameters: Mapping[str, Any]) -> str:
    """Digest the state of all files that parameters name, so that a change is noticed.

    A folder includes all files below it, and a YAML file includes the files that it
    names.

    Parameters
    ----------
    parameters : mapping
        Parameters of a notebook.

    Returns
    -------
    str
        A digest of paths, sizes and times; empty if no parameter names a file.
    """
    states = []
    for path in sorted(_paths(dict(parameters, output=None), Path())):
        for file in _files(path):
            state = file.stat()
            states.append((os.fsencode(file), state.st_size, state.st_mtime_ns))
    return store.key("inputs", states=states) if states else ""


def _files(path: Path) -> list[Path]:
    """List the files below a folder, also through links, or return the file itself."""
    if path.is_file():
        return [path]
    files = []
    for folder, _, names in os.walk(path, followlinks=True):
        files.extend(Path(folder, name) for name in names)
    return sorted(file for file in files if file.is_file())


def _paths(value: Any, base: Path) -> set[Path]:
    """Find the existing files and folders that a parameter's value names."""
    paths = set()
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            paths.update(_paths(item, base))
    elif isinstance(value, str) and ".py:" in value:
        # a network in a Python file, which imports modules next to it
        folder = (base / value.rpartition(":")[0]).expanduser().parent
        paths.update(folder.glob("*.py"))
    elif isinstance(value, str) and value:
        path = base / Path(value).expanduser()
        if path.exists():
            paths.add(path)
        if path.suffix in (".yml", ".yaml") and path.exists():
            paths.update(_paths(yaml.safe_load(path.read_text()), path.parent))
    return paths
