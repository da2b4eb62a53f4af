"""From image files to split image sets: seeded, by class, and no picture in two splits."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from helpers.data import duplicates
from helpers.data.collection import SPLITS, ImageSet, listed, sizes
from helpers.data.decoding import UNREADABLE_SHARE, ranks, read
from helpers.data.white import object_masks


def load_sets(
    tables: dict[str, pd.DataFrame], classes: tuple[str, ...], size: int, seed: int, per_class
) -> tuple[dict[str, ImageSet], torch.Tensor, list[str]]:
    """Sets of image files, C's object masks (empty where not known), and a report."""
    every = {name: read(table, size, seed, per_class, name) for name, table in tables.items()}
    report = [sentence for *_, notes in every.values() for sentence in notes]
    images = torch.cat([pixels for pixels, *_ in every.values()])  # one for each of the rows
    rows = pd.concat([r.assign(set=name) for name, (_, r, _) in every.items()], ignore_index=True)
    matched, notes = _match(rows, images, classes)
    copies = duplicates.copies(images)
    _refuse_twins(rows, images, copies)
    same = [*_of_one_name(rows, matched), *matched]
    rows["split"] = assign(rows, together(len(rows), [*copies, *same]), seed)
    report += notes + _about_copies(rows, copies)
    dropped = np.zeros(len(rows), bool)
    in_c = (rows["set"] == "C").to_numpy()
    alone = in_c & ~rows.index.isin([i for i, _ in matched])
    if matched and 0 < alone.sum() <= UNREADABLE_SHARE * in_c.sum():  # for them C has its masks
        notes = f"Left out of C, as no WB image shows their object, {alone.sum()}"
        report, dropped = [*report, f"{notes}: {listed(rows['path'][alone])}."], alone
    return *_built(rows, images, matched, ~dropped, classes), report


def _match(rows, images, classes) -> tuple[list[tuple[int, int]], list[str]]:
    """C and WB row pairs of one object, and a sentence on classes that have none."""
    matched, missing = [], []
    for name in classes if "WB" in set(rows["set"]) else ():
        c, wb = (np.flatnonzero((rows["class"] == name) & (rows["set"] == s)) for s in ("C", "WB"))
        pairs = duplicates.pairs(images[c], images[wb])
        matched += [(int(c[i]), int(wb[j])) for i, j in pairs]
        missing += [] if pairs else [name]
    notice = f"The WB images of {listed(missing)} are not C's with a white ground."
    return matched, [notice] if missing else []


def _of_one_name(rows: pd.DataFrame, matched: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of rows of one name in one class; matched WB images are apart."""
    key = rows["class"] + "/" + rows["name"]
    white = rows["class"].isin(rows["class"][[j for _, j in matched]]) & (rows["set"] == "WB")
    first = rows.index.to_series().groupby(key.where(~white, key + "/WB")).transform("min")
    return list(zip(first, rows.index, strict=True))


def _refuse_twins(rows: pd.DataFrame, images: torch.Tensor, copies) -> None:
    """Refuse a class of which half the images or more are, pixel by pixel, in another one."""
    twins = {}
    for i, j in copies:
        a, b = rows.loc[i], rows.loc[j]
        if a["set"] == b["set"] and a["class"] != b["class"] and torch.equal(images[i], images[j]):
            for one, other in ((a, b), (b, a)):
                key = one["set"], one["class"], other["class"]
                twins.setdefault(key, set()).add(one["path"])
    for (name, label, other), same in twins.items():
        n = int(((rows["set"] == name) & (rows["class"] == label)).sum())
        if len(same) >= n / 2:
            raise ValueError(
                f"{name}: {len(same)} of the {n} images of class {label!r} are also in class "
                f"{other!r}, pixel by pixel, so no model can tell these classes apart. Remove the "
                "copies, or one of the two folders."
            )


def _about_copies(rows: pd.DataFrame, copies: list[tuple[int, int]]) -> list[str]:
    """Sentences that name the copies of images."""
    kinds: dict[str, list[str]] = {}
    for i, j in copies:
        kind = "there twice"
        if rows["class"][i] != rows["class"][j]:
            kind = "in two classes"
        elif rows["set"][i] != rows["set"][j]:
            kind = f"in {rows['set'][i]} and {rows['set'][j]}"
        kinds.setdefault(kind, []).append(f"{rows['path'][i]} = {rows['path'][j]}")
    told = "The same image is {} (kept in one split), {}: {}."
    return [told.format(kind, len(named), listed(named)) for kind, named in kinds.items()]


def _built(rows, images, matched, keep, classes) -> tuple[dict[str, ImageSet], torch.Tensor]:
    """Image sets of the rows kept, and the masks of C's objects, carried over from WB."""
    masks, sets = torch.zeros_like(images[:, 0], dtype=torch.bool), {}
    white = torch.tensor((rows["set"] == "WB").to_numpy())
    masks[white] = object_masks(images[white])
    for i, j in matched:
        masks[i] = masks[j]
    for name in rows["set"].unique():
        here = np.flatnonzero((rows["set"] == name) & keep)
        table = rows.loc[here].drop(columns=["file", "set"]).reset_index(drop=True)
        labels = torch.tensor([classes.index(label) for label in table["class"]])
        known = name == "WB" or masks[here].flatten(1).any(1).all()
        parts = labels, classes, table.assign(context=""), masks[here] if known else None
        sets[name] = ImageSet(name, images[here], *parts)
        for label in classes:
            there = set(table["split"][table["class"] == label])
            if missing := [split for split in SPLITS if split not in there]:
                raise ValueError(
                    f"{name}, class {label!r}: no image for {' and '.join(missing)}. Its "
                    "images are too few, or copies of one another."
                )
    return sets, masks[np.flatnonzero((rows["set"] == "C") & keep)]


def together(n: int, pairs: Iterable[tuple[int, int]]) -> np.ndarray:
    """Number the groups that `pairs` of n items connect: int, shape (n,)."""
    edges = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    links = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return connected_components(links, directed=False)[1]


def assign(images: pd.DataFrame, groups: np.ndarray, seed: int) -> np.ndarray:
    """Give every image a split, the same within a group; names decide the shuffle."""
    cells = images.groupby(["set", "class"], sort=True)
    cell = cells.ngroup().to_numpy()
    quota = np.array([sizes(number) for number in cells.size()], dtype=float)
    left = quota.copy()
    members = pd.Series(np.arange(len(images))).groupby(groups).apply(list)
    key = pd.Series(ranks(images["class"] + "/" + images["name"], seed)).groupby(groups).min()
    order = sorted(members.index, key=lambda g: (-len(members[g]), key[g]))
    split = np.empty(len(images), dtype=int)
    for group in order:
        inside = members[group]
        its = cell[inside]
        open_share = np.divide(left, quota, out=np.full_like(left, -np.inf), where=quota > 0)
        split[inside] = open_share[its].sum(axis=0).argmax()  # furthest from being filled
        np.subtract.at(left, (its, split[inside]), 1)
    return np.array(SPLITS)[split]
