"""What a folder holds: which image files are of which set, class and split. A level counts as sets
or splits only when *all* folders at it are named so; a class may be called `c` or `test`."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from helpers.data.collection import listed
from helpers.data.decoding import is_image

SET_WORDS = {
    "C": ("c", "context", "with context", "in context"),
    "NC": ("nc", "no context", "nocontext", "without context"),
    "WB": ("wb", "white background", "whitebackground", "white"),
}
SPLIT_WORDS = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "validate", "dev"),
    "test": ("test", "testing"),
}
COLUMNS = ["file", "path", "class", "name", "own"]


@dataclass
class Layout:
    """Image files by set, and where the contexts are."""

    # of C, NC and WB a row a file, by path: `file` (Path), `path` (relative), `class`, `name` (the
    # path inside its class without ending, lower case: what C and WB images share) and `own` (the
    # split that a folder names: "train", "val", "test", "train+val" until that is parted, or "")
    sets: dict[str, pd.DataFrame] = field(default_factory=dict)
    contexts: Path | None = None
    report: list[str] = field(default_factory=list)

    def add(self, name: str, table: pd.DataFrame) -> None:
        """Take in a set; where there is no test split, val is it; without val, train is carved."""
        own = table["own"]
        if "train" in set(own) and "test" not in set(own):
            own = own.replace("val", "test")
        if "train" in set(own) and "val" not in set(own):
            own = own.replace("train", "train+val")
        self.sets[name] = table.assign(own=own).sort_values("path", ignore_index=True)
        if (own != "").any():
            carved = ", validation carved from train" if "train+val" in set(own) else ""
            test = "test" if "test" in set(table["own"]) else "val"
            notice = f"{name} keeps its folders' own splits ({test} is the test set{carved})."
            self.report.append(notice)


def plain(name: str) -> str:
    """A folder's name for comparison: lower case, one space for any run of blanks, "_" and "-"."""
    return (
        re.sub(r"[\s_\-]+", " ", unicodedata.normalize("NFC", name)).strip().casefold()
    )


def spelled(names: Iterable[str], where: str) -> dict[str, str]:
    """Name for comparison to name; names that differ in nothing else are a ValueError."""
    first_of = {}
    for name in sorted(names):
        if (other := first_of.setdefault(plain(name), name)) != name:
            raise ValueError(
                f"{where}: the folders {other!r} and {name!r} differ only in case, blanks, '-', '_'"
                " or how an accent is stored, so they may be one class or two: rename one of them, "
                "or put their images into one folder."
            )
    return first_of


def subfolders(folder: Path) -> list[Path]:
    """Folders in `folder` by name, without hidden ones and archive junk; loops are refused."""
    inside = [path for path in folder.iterdir() if path.is_dir()]
    folders = sorted(
        p for p in inside if not p.name.startswith(".") and p.name != "__MACOSX"
    )
    real = (
        folder.resolve()
    )  # and all that hold it, by where it lies and by the way that led to it
    above = {real, *real.parents, *(parent.resolve() for parent in folder.parents)}
    for path in folders:
        if path.is_symlink() and path.resolve() in above:
            raise ValueError(
                f"{printable(path)} is a link to {printable(path.resolve())}, a folder that holds "
                "it, so reading would go round in a circle: remove that link."
            )
    return folders


def printable(path: Path | str) -> str:
    """A path as text, "/" between, with the bytes of a name that is not UTF-8 as \\xNN."""
    return os.fsencode(Path(path).as_posix()).decode("utf-8", "backslashreplace")


def scan(folder: Path) -> Layout:
    """Find class folders, also below image sets (`C/`) and splits (`train/`), and `contexts/`."""
    layout, top = Layout(), folder
    if not folder.is_dir():
        raise ValueError(
            f"folder: {printable(folder)} is a file, not a folder of class folders."
        )
    while True:
        inside = subfolders(top)
        layout.contexts = layout.contexts or next(
            (path for path in inside if plain(path.name) == "contexts"), None
        )
        inside = [path for path in inside if path != layout.contexts]
        if (
            len(inside) != 1
            or any(map(is_image, top.iterdir()))
            or not subfolders(inside[0])
        ):
            break
        top = inside[0]
    named = _all_named(inside, SET_WORDS)
    if len(named) > 1 and "C" not in named:
        raise ValueError(
            f"folder: sets {', '.join(named)} are there, but C (in context) is not."
        )
    for name, base in named.items() if "C" in named else [("C", top)]:
        classes = [p for p in subfolders(base) if p != layout.contexts]
        layout.report += _folders_within(classes)
        table, empty = _classes(classes, folder)
        if empty:
            raise ValueError(
                f"{name}: no image file in the class folder(s) {listed(empty)}."
            )
        layout.add(name, table)
    taken = {file for table in layout.sets.values() for file in table["file"]}
    left = [
        f for f in walk(folder) if f not in taken and layout.contexts not in f.parents
    ]
    if names := sorted(printable(file.relative_to(folder)) for file in left):
        notice = (
            f"{len(names)} file(s) in no class folder, or no images: {listed(names)}."
        )
        layout.report.append(notice)
    layout.report += lost_links(folder)
    return layout


def lost_links(folder: Path) -> list[str]:
    """A sentence on the links in a folder that lead nowhere, if there are any."""
    lost = walk(folder, lambda path: path.is_symlink() and not path.exists())
    names = sorted(printable(path.relative_to(folder)) for path in lost)
    notice = f"{len(names)} link(s) lead to no file or folder and are left out: {listed(names)}."
    return [notice] if names else []


def agreed_classes(layout: Layout) -> tuple[str, ...]:
    """The classes, two or more and the same in every set but for case, "_" and blanks, as in C."""
    tables = layout.sets
    names = {
        name: spelled(table["class"].unique(), name) for name, table in tables.items()
    }
    classes = names["C"]
    if len(classes) < 2:
        lost = "".join(f"{notice} " for notice in layout.report if "link(s)" in notice)
        raise ValueError(
            f"Two class folders or more are needed; found {listed(classes.values()) or 'none'}. "
            f"{lost}Point `folder` at the folder that holds one folder a class. Where all folders "
            "are called as sets or splits, such as C and NC, these hold the classes."
        )
    for name, table in tables.items():
        if odd := sorted(set(names[name]) ^ set(classes)):
            odd = listed(odd)
            raise ValueError(
                f"Sets C and {name} must hold the same classes; they differ in {odd}."
            )
        tables[name] = table.assign(**{"class": table["class"].map(plain).map(classes)})
    return tuple(classes.values())


def walk(folder: Path, wanted: Callable[[Path], bool] = Path.is_file) -> Iterator[Path]:
    """All files in a folder at any depth, without hidden ones and archive junk."""
    for path in folder.iterdir():
        if wanted(path) and not path.name.startswith("."):
            yield path
    for below in subfolders(folder):
        yield from walk(below, wanted)


def files(folder: Path) -> list[Path]:
    """All image files in a folder at any depth, sorted."""
    return sorted(path for path in walk(folder) if is_image(path))


def rows(
    paths_of: list[Path], top: Path, base: Path, label: str, own: str
) -> pd.DataFrame:
    """Table rows (see `Layout.sets`) for the files of one class and split below `base`."""
    paths = [printable(file.relative_to(top)) for file in paths_of]
    names = [
        printable(file.relative_to(base).with_suffix("")).casefold()
        for file in paths_of
    ]
    made = {"file": paths_of, "path": paths, "class": label, "name": names, "own": own}
    return pd.DataFrame(made, columns=COLUMNS)


def _classes(inside: list[Path], top: Path) -> tuple[pd.DataFrame, list[str]]:
    """All files of class folders, which may be in split folders; and the empty classes."""
    splits = _splits(inside)
    places = [
        (path, own) for own, split in splits.items() for path in subfolders(split)
    ]
    places = places if splits else [(path, "") for path in inside]
    parts = [
        rows(files(path), top, path, printable(path.name), own) for path, own in places
    ]
    table = pd.concat([pd.DataFrame(columns=COLUMNS), *parts], ignore_index=True)
    return table, sorted(
        {printable(path.name) for path, _ in places} - set(table["class"])
    )


def _folders_within(classes: list[Path]) -> list[str]:
    """A sentence on folders in class folders; refused where they seem to be the classes."""
    if _splits(classes):
        return []
    within = {p: [below.name for below in subfolders(p)] for p in classes}
    within = {p: names for p, names in within.items() if names}
    known = [word for words in (SET_WORDS | SPLIT_WORDS).values() for word in words]
    same = len({tuple(map(plain, names)) for names in within.values()}) < len(within)
    if same and any(plain(p.name) in known for p in within):
        raise ValueError(
            f"Are {listed(printable(p.name) for p in within)} sets or splits? They hold folders of "
            "the same names, but not all of them are called as sets (C, NC, WB) or splits (train, "
            "val, test) are, each once: rename them, or move out what is neither."
        )
    named = listed(
        f"{printable(p.name)} ({listed(names)})" for p, names in within.items()
    )
    notice = f"Folders in class folders are taken for parts of the class: {named}."
    return [notice] if within else []


def _splits(inside: list[Path]) -> dict[str, Path]:
    """Split to folder, where all folders are named as splits, train among them."""
    named = _all_named(inside, SPLIT_WORDS)
    return named if "train" in named and len(named) > 1 else {}


def _all_named(
    folders: list[Path], words: dict[str, tuple[str, ...]]
) -> dict[str, Path]:
    """Word to folder, when every folder is named by one of the words; empty otherwise."""
    meaning = {
        spelling: word for word, spellings in words.items() for spelling in spellings
    }
    named = {meaning.get(plain(path.name)): path for path in folders}
    return {} if None in named or len(named) < len(folders) else named
