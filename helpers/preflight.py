"""Checks before a workflow runs anything: its keys, its inputs, and which notebooks fit them.

The Snakefiles call these while they are read, so that a misspelt key, a damaged weights file or a
folder that is not there costs seconds and not a run.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from helpers import parameters, project

NEEDS_CONTEXTS = "require_contexts("
READS_FINDINGS = "findings.scorecard("


def known_keys(config: Mapping[str, Any], allowed: Iterable[str]) -> None:
    """Refuse a key of a configuration that nothing reads.

    Raises
    ------
    ValueError
        Naming each, and where it belongs or what was probably meant.
    """
    allowed, problems = list(allowed), []
    for key in config:
        if key in allowed:
            continue
        close = difflib.get_close_matches(key, allowed, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(allowed)}."
        if "parameters" in allowed and not close:
            hint += " A notebook's parameter stands below `parameters:`, indented."
        problems.append(f"{key!r} is no key of the configuration; {hint}")
    if problems:
        raise ValueError("\n".join(problems))


def numbers(value: int | Iterable[int]) -> list[int]:
    """Seeds as a list: 3 is 0, 1, 2; a list stays what it is.

    Raises
    ------
    ValueError
        For anything else, and for no seed at all.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = range(value)
    whole = isinstance(value, list | tuple | range) and all(type(v) is int for v in value)
    if not whole or len(value) == 0:
        raise ValueError(f"seeds: {value!r} is neither a number of seeds nor a list of seeds")
    return list(value)


def inputs(given: Mapping[str, Any]) -> str:
    """A fingerprint of the files and folders that parameters name: a change runs notebooks anew.

    Parameters
    ----------
    given
        Parameters. A value that is the path of something (absolute, or relative to the project)
        counts with its files' names, sizes and times of change; others do not.

    Returns
    -------
    str
        Empty where no parameter names anything.
    """
    found = hashlib.sha256()
    named = False
    for name, value in sorted(given.items()):
        path = project.root() / Path(value).expanduser() if isinstance(value, str) else None
        if name == "output" or not value or path is None or not path.exists():
            continue
        named = True
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            state = file.stat()
            if not file.is_dir():
                found.update(f"{name} {file} {state.st_size} {state.st_mtime_ns}\n".encode())
    return found.hexdigest()[:16] if named else ""


def check_inputs(given: Mapping[str, Any]) -> None:
    """Refuse what a run would stumble over later: its name, its folder's source, its network.

    Raises
    ------
    ValueError, FileNotFoundError, ConnectionError
        With what was wrong and what to do.
    """
    project.output_name(given.get("output") or given["preset"])
    if given.get("folder") and given.get("source") != "folder":
        raise ValueError("a `folder` is given: say `source: folder` as well, or it is not read")
    asked = parameters.PRESETS.get(given["preset"], {}) | dict(given)
    pretrained = given.get("pretrained")
    if given.get("architecture") or pretrained:
        from helpers import models

        weights = pretrained if pretrained not in (None, "imagenet", "wider world") else None
        models.build(asked["architecture"], 2, weights=weights)


def fitting(notebooks: list[str], given: Mapping[str, Any]) -> list[str]:
    """Check a folder of photographs, and leave out the notebooks that it cannot be shown to.

    Parameters
    ----------
    notebooks
        Stems of notebooks. Those that call ``experiment.require_contexts`` need contexts; those
        that have no parameter `source` are about other things than images, and run where one of
        the parameters that only they have is given.
    given
        Parameters of a run with ``source: folder``.

    Raises
    ------
    FileNotFoundError, ValueError
        When a folder is missing, its layout is not understood, or the classes do not fit the
        contexts.
    """
    from helpers.sources import contexts, folders, photographs

    if not given.get("folder"):
        raise ValueError("source is 'folder', so the parameter 'folder' must name one")
    layout = folders.scan(folders.existing(given["folder"], "folder"))
    classes = photographs.agreed_classes(layout.sets, layout.empty)
    if given.get("contexts"):
        layout.contexts = folders.existing(given["contexts"], "contexts")
    if layout.contexts:
        names = tuple(path.name for path in folders.subfolders(layout.contexts))
        contexts.mapping(given.get("context_of"), classes, names)
    needy = []
    if not layout.contexts and "WB" not in layout.sets:
        needy = [name for name in notebooks if NEEDS_CONTEXTS in _text(name)]
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
    return [name for name in notebooks if name not in needy and name not in other]


def _about_other_things(notebooks: list[str], given: Mapping[str, Any]) -> dict[str, list[str]]:
    declared = {name: parameters.declared(_path(name)) for name in notebooks}
    of_images = {p for known in declared.values() if "source" in known for p in known}
    own = {
        name: [p for p in known if p not in of_images]
        for name, known in declared.items()
        if "source" not in known
    }
    return {name: names for name, names in own.items() if not set(names) & set(given)}


def reads_findings(notebook: str) -> bool:
    """Whether a notebook shows the findings of the others, and so must come after them."""
    return READS_FINDINGS in _text(notebook)


def _path(notebook: str) -> Path:
    return project.root() / "notebooks" / f"{notebook}.ipynb"


@functools.cache
def _text(notebook: str) -> str:
    return _path(notebook).read_text()
