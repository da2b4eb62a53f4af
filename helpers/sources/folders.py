"""What a folder holds: which image files are of which set, class and split.

Levels are told by the names at them: sets (`C`, `NC`, `WB`, or spelled out), then splits (`train`,
`val`, `test`), then classes, then splits if they are inside the classes. A level counts as sets or
splits only when *all* folders at it are named so; a class may be called `c` or `test`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from helpers.sources.images import is_image

SET_WORDS = {
    "C": ("c", "context", "with context", "in context"),
    "NC": ("nc", "no context", "nocontext", "without context"),
    "WB": ("wb", "white background", "whitebackground", "white"),
}
SPLIT_WORDS = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing"),
}
JUNK = ("__MACOSX",)
COLUMNS = ["file", "path", "class", "name", "own"]


@dataclass
class Layout:
    """Image files by set, and where the contexts are.

    Attributes
    ----------
    sets : dict of str to pandas.DataFrame
        Keys "C", "NC", "WB"; one row a file, sorted by path, with columns `file` (Path), `path`
        (relative, "/" between), `class`, `name` (the path inside its class and split without
        ending, lower case: what C and WB images share) and `own` (split named by the folders:
        "train", "val", "test", "train+val" where validation is yet to be carved, or "").
    empty : dict of str to list of str
        For each set the class folders without an image file.
    contexts : Path or None
        The folder of context folders found beside the objects.
    passed_over : int
        Files that are no images by their ending (hidden ones are not counted).
    report : list of str
        Sentences on what was understood.
    """

    sets: dict[str, pd.DataFrame] = field(default_factory=dict)
    empty: dict[str, list[str]] = field(default_factory=dict)
    contexts: Path | None = None
    passed_over: int = 0
    report: list[str] = field(default_factory=list)


def plain(name: str) -> str:
    """A folder's name for comparison: lower case, one space for any run of blanks, "_" and "-"."""
    return re.sub(r"[\s_\-]+", " ", name).strip().casefold()


def subfolders(folder: Path) -> list[Path]:
    """Folders in `folder` by name, without hidden ones and archive junk."""
    inside = [path for path in folder.iterdir() if path.is_dir()]
    return sorted(p for p in inside if not p.name.startswith(".") and p.name not in JUNK)


def existing(folder: Path | str, parameter: str) -> Path:
    """`folder` as a Path, or an error that names the parameter it was given as."""
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise FileNotFoundError(f"{parameter}: there is no folder {str(folder)!r}.")
    return path


def scan(folder: Path) -> Layout:
    """Find sets, splits and classes in a folder of class folders.

    Accepted below `folder` (and below any folder that holds nothing but one other folder):
    class folders; `objects/` beside `contexts/`; `C/`, `NC/`, `WB/` (or spelled out) of class
    folders; `train/`, `val/`, `test/` above or inside the class folders; `contexts/` beside any.
    """
    layout, top = Layout(), folder
    inside = subfolders(top)
    while len(inside) == 1 and not _has_images(top) and subfolders(inside[0]):
        top = inside[0]
        inside = subfolders(top)
    layout.contexts = next((p for p in inside if plain(p.name) == "contexts"), None)
    inside = [p for p in inside if p != layout.contexts]
    objects = [p for p in inside if plain(p.name) in ("objects", "images")]
    if objects == inside and len(inside) == 1:
        top, inside = objects[0], subfolders(objects[0])
    named = _all_named(inside, SET_WORDS)
    for name, base in named.items() if "C" in named else [("C", top)]:
        classes = [p for p in subfolders(base) if p != layout.contexts]
        layout.sets[name], layout.empty[name] = _classes(classes, folder)
    layout.passed_over = sum(
        not is_image(p) and not p.name.startswith(".") and not set(p.parts) & set(JUNK)
        for p in top.rglob("*.*")
        if p.is_file()
    )
    return layout


def files(folder: Path) -> list[Path]:
    """All image files in a folder at any depth, sorted, without hidden folders and archive junk."""
    inside = sorted(path for path in folder.iterdir() if path.is_file() and is_image(path))
    return inside + [path for below in subfolders(folder) for path in files(below)]


def rows(found: list[Path], top: Path, base: Path, label: str, own: str) -> pd.DataFrame:
    """Table rows (see `Layout.sets`) for the files of one class and split below `base`."""
    return pd.DataFrame(
        [(f, f.relative_to(top).as_posix(), label, _name(f, base), own) for f in found],
        columns=COLUMNS,
    )


def complete_splits(table: pd.DataFrame) -> pd.DataFrame:
    """Of two own splits make three: val without test is the test set; val is carved from train."""
    own, there = table["own"], set(table["own"])
    if "train" in there and "test" not in there:
        own = own.replace("val", "test")
    if "train" in there and "val" not in set(own):
        own = own.replace("train", "train+val")
    return table.assign(own=own)


def _classes(folders: list[Path], top: Path) -> tuple[pd.DataFrame, list[str]]:
    """All files of a list of class folders, or of split folders that hold class folders."""
    named = _all_named(folders, SPLIT_WORDS)
    if "train" in named and len(named) > 1:
        parts = [
            rows(files(path), top, path, path.name, own)
            for own, split in named.items()
            for path in subfolders(split)
        ]
        labels = {path.name for split in named.values() for path in subfolders(split)}
    else:
        parts = [_one_class(path, top) for path in folders]
        labels = {path.name for path in folders}
    table = pd.concat([pd.DataFrame(columns=COLUMNS), *parts], ignore_index=True)
    table = complete_splits(table.sort_values("path", ignore_index=True))
    return table, sorted(labels - set(table["class"]))


def _one_class(folder: Path, top: Path) -> pd.DataFrame:
    """The files of one class folder, which may hold split folders."""
    named = _all_named(subfolders(folder), SPLIT_WORDS)
    if "train" in named and len(named) > 1:
        parts = [rows(files(p), top, p, folder.name, own) for own, p in named.items()]
        return pd.concat(parts, ignore_index=True)
    return rows(files(folder), top, folder, folder.name, "")


def _all_named(folders: list[Path], words: dict[str, tuple[str, ...]]) -> dict[str, Path]:
    """Word to folder, when every folder is named by one of the words; empty otherwise."""
    meaning = {spelling: word for word, spellings in words.items() for spelling in spellings}
    named = {meaning.get(plain(path.name)): path for path in folders}
    return {} if None in named or len(named) < len(folders) else named


def _name(file: Path, base: Path) -> str:
    return file.relative_to(base).with_suffix("").as_posix().casefold()


def _has_images(folder: Path) -> bool:
    return any(path.is_file() and is_image(path) for path in folder.iterdir())
