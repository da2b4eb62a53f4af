"""Image files of up to three sets into split image sets that no picture straddles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from helpers.data import alike, folders, splits
from helpers.data.collection import SPLITS, ImageSet, listed
from helpers.data.reading import read


@dataclass
class Photographs:
    """Image sets, C's object masks where known, and what there is to report."""

    sets: dict[str, ImageSet]
    object_known: np.ndarray  # bool, one for each C image: whether its mask is known
    object_masks: torch.Tensor  # bool, shape (N of C, H, W), false throughout where not known
    report: list[str]


def agreed_classes(tables: dict[str, pd.DataFrame], empty: dict[str, list[str]]) -> tuple[str, ...]:
    """The classes, checked to be two or more and the same in every set; labels are made alike.

    Class folders that differ in case, "_" or blanks between sets are one class, spelled as in C.

    Raises
    ------
    ValueError
        Naming empty classes, classes that a set lacks, or a lone class.
    """
    for name, classes in empty.items():
        if classes:
            raise ValueError(f"{name}: no image file in the class folder(s) {listed(classes)}.")
    spelled = {folders.plain(label): label for label in sorted(tables["C"]["class"].unique())}
    if len(spelled) < 2:
        found = listed(spelled.values()) or "none"
        raise ValueError(
            f"Two class folders or more are needed; found {found}. Point `folder` at the folder "
            "that holds one folder of images for each class."
        )
    for name, table in tables.items():
        labels = table["class"].map(folders.plain)
        if set(labels) != set(spelled):
            odd = listed(sorted(set(labels) ^ set(spelled)))
            raise ValueError(f"Sets C and {name} must hold the same classes; they differ in {odd}.")
        tables[name] = table.assign(**{"class": labels.map(spelled)})
    return tuple(spelled.values())


def load_sets(
    tables: dict[str, pd.DataFrame],
    classes: tuple[str, ...],
    size: int,
    seed: int,
    per_class: int | None,
) -> Photographs:
    """Read, split and check the image files of up to three sets.

    Files of one name in several sets, a WB image and the C image it was made of, and copies of one
    image are never in different splits. Where the folders' own splits part copies, the copy in the
    earlier split (train before val before test) is left out.

    Parameters
    ----------
    tables : dict of str to pandas.DataFrame
        As in `folders.Layout.sets`.
    classes : tuple of str
    size, seed, per_class
        As in `helpers.data.load`.

    Raises
    ------
    ValueError
        For unreadable files beyond what is allowed and for classes too small to split.
    """
    images, parts, report = {}, [], []
    for name, table in tables.items():
        images[name], rows, said = read(table, size, seed, per_class, name)
        parts.append(rows.assign(set=name))
        report += said
    rows = pd.concat(parts, ignore_index=True)
    matched, trusted, said = _match(rows, images, classes)
    report += said
    tied = splits.together(len(rows), [*_of_one_name(rows, trusted), *matched])
    copies = alike.duplicates(*images.values())
    groups = splits.together(len(rows), [*copies, *enumerate_ties(tied)])
    _check_size(rows, groups)
    rows["split"] = splits.assign(rows, groups, seed)
    dropped = _parted(rows)
    report += _about_copies(rows, [p for p in copies if not _expected(rows, tied, p)], dropped)
    return _built(rows, images, matched, ~dropped, classes, report)


def enumerate_ties(groups: np.ndarray) -> list[tuple[int, int]]:
    """Pairs that connect each group's members to its first."""
    first: dict[int, int] = {}
    return [(first.setdefault(int(group), i), i) for i, group in enumerate(groups)]


def _match(rows, images, classes) -> tuple[list[tuple[int, int]], dict[str, bool], list[str]]:
    """C and WB row pairs of one object; whether file names may be trusted, by class."""
    if "WB" not in images:
        return [], {}, []
    found, trusted, missing = [], {}, []
    names = rows["own"] + "/" + rows["name"]
    start = int(np.flatnonzero(rows["set"] == "WB")[0])
    for name in classes:
        c = np.flatnonzero((rows["set"] == "C") & (rows["class"] == name))
        wb = np.flatnonzero((rows["set"] == "WB") & (rows["class"] == name))
        pairs, how = alike.pairs(
            images["C"][c], images["WB"][wb - start], [*names[c]], [*names[wb]]
        )
        found += [(int(c[i]), int(wb[j])) for i, j in pairs]
        trusted[name] = how != "content"
        missing += [name] if not how else []
    said = "The WB images of {} are not C's with a white ground, by name or by content."
    return found, trusted, [said.format(listed(missing))] if missing else []


def _of_one_name(rows: pd.DataFrame, trusted: Mapping[str, bool]) -> list[tuple[int, int]]:
    """Pairs of rows with the same name in the same class and own split."""
    key = rows["class"] + "/" + rows["own"] + "/" + rows["name"]
    alone = ~rows["class"].map(lambda name: trusted.get(name, True)).astype(bool)
    key = key.where(~alone, key + "/" + rows["set"])
    return enumerate_ties(key.factorize()[0])


def _check_size(rows: pd.DataFrame, groups: np.ndarray) -> None:
    """Refuse classes with fewer different images than splits."""
    for (name, label), part in rows.assign(group=groups).groupby(["set", "class"]):
        different = part["group"].nunique()
        if (part["own"] == "").all() and different < splits.SMALLEST_CLASS:
            raise ValueError(
                f"{name}, class {label!r}: {different} different image(s) are too few to split "
                f"into train, validation and test; at least {splits.SMALLEST_CLASS} are needed."
            )


def _parted(rows: pd.DataFrame) -> np.ndarray:
    """Rows to leave out: their folder's split is not the one that a copy of them is in."""
    allowed = [
        not own or split in own.split("+")
        for own, split in zip(rows["own"], rows["split"], strict=True)
    ]
    return ~np.array(allowed)


def _expected(rows: pd.DataFrame, tied: np.ndarray, pair: tuple[int, int]) -> bool:
    """Whether two copies are the same object in two sets, as they should be."""
    i, j = pair
    return tied[i] == tied[j] and rows["set"][i] != rows["set"][j]


def _about_copies(rows: pd.DataFrame, copies: list[tuple[int, int]], dropped) -> list[str]:
    """Sentences that name the copies of images, and the files left out for them."""
    kinds: dict[str, list[str]] = {}
    for i, j in copies:
        if dropped[i] or dropped[j]:
            kind = "The same image is in two splits"
        elif rows["class"][i] != rows["class"][j]:
            kind = "The same image is in two classes (kept in one split)"
        else:
            kind = "The same image is there twice (kept in one split)"
        kinds.setdefault(kind, []).append(f"{rows['path'][i]} = {rows['path'][j]}")
    said = [f"{kind}, {len(named)}: {listed(named)}." for kind, named in kinds.items()]
    if dropped.any():
        said.append(
            "Left out, as the same image or object is in a later split (train before val before "
            f"test), {int(dropped.sum())}: {listed(rows['path'][dropped])}."
        )
    return said


def _built(rows, images, matched, keep, classes, report) -> Photographs:
    """Image sets of the rows kept, with WB's masks carried over to C."""
    masks = {"WB": alike.object_masks(images["WB"])} if "WB" in images else {}
    of_c = (rows["set"] == "C").to_numpy()
    known, place = np.zeros(of_c.sum(), dtype=bool), np.cumsum(of_c) - 1
    c_masks = torch.zeros((int(of_c.sum()), *images["C"].shape[2:]), dtype=torch.bool)
    first_wb = int(np.flatnonzero(rows["set"] == "WB")[0]) if masks else 0
    for i, j in matched:
        known[place[i]], c_masks[place[i]] = True, masks["WB"][j - first_wb]
    masks["C"] = c_masks if known.all() else None
    sets = {}
    for name in images:
        here = (rows["set"] == name).to_numpy()
        table = rows[here].drop(columns=["file", "set", "own"]).assign(context="")
        labels = table["class"].map({label: i for i, label in enumerate(classes)})
        whole = ImageSet(
            name, images[name], torch.tensor(labels.to_numpy()), classes,
            table.reset_index(drop=True), masks.get(name),
        )  # fmt: skip
        sets[name] = whole.where(keep[here])
    _check_splits(sets)
    kept = keep[of_c]
    return Photographs(sets, known[kept], c_masks[torch.from_numpy(kept)], report)


def _check_splits(sets: dict[str, ImageSet]) -> None:
    for name, images in sets.items():
        counts = Counter(zip(images.table["class"], images.table["split"], strict=True))
        for label in images.classes:
            missing = [split for split in SPLITS if not counts[label, split]]
            if missing:
                raise ValueError(
                    f"{name}, class {label!r}: no image for {' and '.join(missing)}. Its "
                    "images are too few, or copies of one another or of images in another split."
                )
