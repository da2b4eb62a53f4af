"""What a workflow checks before it runs anything: its keys, its notebooks, its inputs.

The Snakefiles call these while they are read, so that a misspelt key, a damaged weights file or a
folder that is not there costs seconds and not a run. What a single notebook refuses is checked in
:mod:`helpers.run.parameters`, for a workflow as for papermill alone.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from helpers.run import parameters, project

KEYS = ("preset", "run", "notebooks", "parameters")
NEEDS_CONTEXTS = "require_contexts("
READS_FINDINGS = "claims.scorecard("


def plan(config: Mapping[str, Any], folder: Path) -> tuple[str, dict[str, dict]]:
    """Which notebooks a run executes, and each one's parameters.

    Parameters
    ----------
    config
        The workflow's configuration: `preset`, `run`, `notebooks`, `parameters`, all optional.
    folder
        Of the notebooks.

    Returns
    -------
    run : str
        Name of the run's folder.
    parameters : dict of str to dict
        Notebook stem to its parameters, for the notebooks that run.

    Raises
    ------
    ValueError, OSError
        With everything that would be refused later, and what to do.
    """
    known_keys(config, KEYS)
    preset = config.get("preset", "demo")
    run = project.output_name(config.get("run", preset))
    more = of_notebooks(config)
    for name, key in (("output", "run"), ("preset", "preset")):
        if name in more:
            raise ValueError(
                f"parameters: {name!r} is set for all notebooks by the key `{key}`; write "
                f"`{key}: {more[name]}` beside `parameters`, not in it"
            )
    asked = notebooks(config.get("notebooks"), folder)
    given = {"preset": preset, "output": run, **more}
    others = [path for path in chapters(folder) if path not in asked]
    accepted = parameters.shared(asked, given, others)
    if given.get("source") == "folder":
        accepted = {name: accepted[name] for name in fitting(asked, given)}
    return run, accepted


def of_notebooks(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The notebooks' parameters in a configuration; refused when they are no mapping."""
    given = config.get("parameters") or {}
    if not isinstance(given, Mapping):
        raise ValueError(f"parameters: {given!r} is no mapping; write `parameters: {{seed: 3}}`")
    return given


def chapters(folder: Path) -> list[Path]:
    """The notebooks that run when none is named."""
    return sorted(folder.glob("0[1-9]_*.ipynb"))


def notebooks(asked: str | list[str] | None, folder: Path) -> list[Path]:
    """Paths of the notebooks named: a list, or names with commas between; None is all chapters."""
    if asked is None:
        return chapters(folder)
    names = asked.split(",") if isinstance(asked, str) else asked
    there = {path.stem: path for path in sorted(folder.glob("*.ipynb"))}
    if not isinstance(names, list) or not names:
        raise ValueError(f"notebooks: {asked!r} is no list of names, such as [{min(there)}]")
    for name in names:
        if name not in there:
            hint = _meant(str(name), there) or f"there are: {', '.join(there)}"
            raise ValueError(f"notebooks: there is no {name}.ipynb in {folder}; {hint}")
    return [there[name] for name in dict.fromkeys(names)]


def known_keys(config: Mapping[str, Any], allowed: Iterable[str]) -> None:
    """Refuse a key of a configuration that nothing reads, saying where it may belong."""
    allowed, problems = list(allowed), []
    for key in config:
        if key in allowed:
            continue
        hint = _meant(str(key), allowed)
        if not hint:
            hint = f"there are: {', '.join(allowed)}."
            if "parameters" in allowed:
                hint += " A notebook's parameter stands below `parameters:`, indented."
        problems.append(f"{key!r} is no key of the configuration; {hint}")
    if problems:
        raise ValueError("\n".join(problems))


def _meant(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def numbers(value: int | Iterable[int]) -> list[int]:
    """Seeds as a list: 3 is 0, 1, 2; a list of some stays what it is; all else is refused."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = range(value)
    whole = isinstance(value, list | tuple | range) and all(type(v) is int for v in value)
    if not whole or len(value) == 0:
        raise ValueError(f"seeds: {value!r} is neither a number of seeds nor a list of seeds")
    return list(value)


def shares(value: Iterable[float]) -> list[float]:
    """Doses of a planted bias: a list of numbers from 0 to 1; all else is refused."""
    listed = value if isinstance(value, list | tuple) else []
    if not listed or not all(type(v) in (int, float) and 0 <= v <= 1 for v in listed):
        raise ValueError(f"doses: {value!r} is no list of numbers from 0 to 1, such as [0, 0.5]")
    return [float(v) for v in value]


def inputs(given: Mapping[str, Any]) -> str:
    """A fingerprint of the files and folders that parameters name: a change runs notebooks anew.

    A value, or an item of a list, that is the path of something counts with its files' names, sizes
    and times of change. A folder's files are those that reading it finds (`folders.walk`). Where no
    parameter names anything, the fingerprint is empty.
    """
    from helpers.data import folders

    lines = []
    for name, value in sorted(given.items()):
        for one in value if isinstance(value, list) else [value]:
            path = Path(one).expanduser() if isinstance(one, str) and one else None
            if name == "output" or path is None or not path.exists():
                continue
            for file in sorted(folders.walk(path)) if path.is_dir() else [path]:
                state = file.stat()
                size_and_time = f" {state.st_size} {state.st_mtime_ns}\n"
                lines.append(os.fsencode(f"{name} {file}") + size_and_time.encode())
    return hashlib.sha256(b"".join(lines)).hexdigest()[:16] if lines else ""


def fitting(notebooks: list[Path], given: Mapping[str, Any]) -> list[str]:
    """Check a folder of photographs; return the stems of the notebooks that can be run on it.

    Notebooks that call ``experiment.require_contexts`` need contexts. Those without a parameter
    `source` are about other things than images, and run where one of the parameters that only they
    have is given. Refused are a folder whose layout is not understood, classes that do not fit the
    contexts, and a run of no notebook.
    """
    from helpers.data import contexts, folders, photographs

    layout = folders.scan(folders.existing(given["folder"], "folder"))
    classes = photographs.agreed_classes(layout.sets, layout.empty)
    if given.get("contexts"):
        layout.contexts = folders.existing(given["contexts"], "contexts")
    if layout.contexts:
        names = tuple(folders.printable(p.name) for p in folders.subfolders(layout.contexts))
        contexts.mapping(given.get("context_of"), classes, names)
    needy = []
    if not layout.contexts and "WB" not in layout.sets:
        needy = [path.stem for path in notebooks if NEEDS_CONTEXTS in path.read_text()]
    if needy:
        print(
            f"{given['folder']} holds no context images, so these notebooks are left out: "
            f"{', '.join(needy)}. They run once there is a folder of context folders: "
            "see README, 'Your own photographs'."
        )
    other = _about_other_things(notebooks, given)
    for name, own in other.items():
        print(
            f"{name} is not about photographs, so it is left out: it runs in a run that gives it "
            f"data ({', '.join(own[:4])}, ...)."
        )
    left = [p.stem for p in notebooks if p.stem not in needy and p.stem not in other]
    if not left:
        raise ValueError("no notebook is left to run: see `notebooks` and the lines above")
    return left


def _about_other_things(notebooks: list[Path], given: Mapping[str, Any]) -> dict[str, list[str]]:
    declared = {path.stem: parameters.declared(path) for path in notebooks}
    of_images = {p for known in declared.values() if "source" in known for p in known}
    own = {
        name: [p for p in known if p not in of_images]
        for name, known in declared.items()
        if "source" not in known
    }
    return {name: names for name, names in own.items() if not set(names) & set(given)}


def reads_findings(notebook: Path) -> bool:
    """Whether a notebook shows the findings of the others, and so must come after them."""
    return READS_FINDINGS in notebook.read_text()
