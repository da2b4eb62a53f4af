"""The authors' three archives: bench, fire hydrant, plane and mug in context, without, on white."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from helpers.data import archives, folders

URL = "https://storage.hpai.bsc.es/object-datasets/"
ARCHIVES = {"C": "context.zip", "NC": "no_context.zip", "WB": "white_background.zip"}
#: The typical context of each class (section 3 of the paper).
CONTEXT_OF = {"bench": "park", "fire hydrant": "road", "plane": "sky", "mug": "wood"}
_SPELLED = {
    "bench": r"\bbench(es)?\b",
    "fire hydrant": r"\b(fire ?)?hydrants?\b",
    "plane": r"\b(air|aero)?planes?\b",
    "mug": r"\bmugs?\b",
}


def fetch(downloads: Path, base_url: str = URL, retries: int = 3) -> dict[str, Path]:
    """The three unpacked archives, by set (see `archives.fetch`)."""
    return {
        name: archives.fetch(archive, base_url, downloads, retries)
        for name, archive in ARCHIVES.items()
    }


def layout(unpacked: dict[str, Path]) -> folders.Layout:
    """Find the classes in the archives, at any depth and however spelled.

    A file's class is told by the folder nearest to it whose name holds a class's name; its own
    split by any folder on its way named train, val or test.

    Raises
    ------
    ValueError
        When an archive lacks a class; the message lists the folders found.
    """
    found = folders.Layout()
    for name, folder in unpacked.items():
        rows = [row for file in folders.files(folder) if (row := _row(file, folder))]
        table = pd.DataFrame(rows, columns=folders.COLUMNS)
        missing = sorted(set(CONTEXT_OF) - set(table["class"]))
        if missing:
            there = sorted({p.name for p in folder.rglob("*") if p.is_dir()})
            raise ValueError(
                f"{ARCHIVES[name]}: no images of {', '.join(missing)}; its folders are {there}."
            )
        found.add(name, table, [])
    for name, folder in unpacked.items():
        found.report += [f"{ARCHIVES[name]}: {said}" for said in folders.unused(folder, found)]
    return found


def _row(file: Path, top: Path) -> tuple | None:
    """A table row (see `folders.Layout.sets`), or None for a file of no class."""
    parts = [folders.plain(part) for part in file.relative_to(top).parts[:-1]]
    label = next((c for part in reversed(parts) for c in _SPELLED if _is(c, part)), None)
    if label is None:
        return None
    split = next((s for s, words in folders.SPLIT_WORDS.items() if set(parts) & set(words)), "")
    name = file.stem.casefold()
    return file, file.relative_to(top).as_posix(), label, name, split


def _is(label: str, part: str) -> bool:
    return re.search(_SPELLED[label], part) is not None
