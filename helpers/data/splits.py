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
    tables: dict[str, pd.DataFrame],
    classes: tuple[str, ...],
    size: int,
    seed: int,
    per_class,
) -> tuple[dict[str, ImageSet], torch.Tensor, list[str]]:
    """Sets of image files, C's object masks (empty where not known), and a report."""
    every = {
        name: read(table, size, seed, per_class, name) for name, table in tables.items()
    }
    report = [sentence for *_, notes in every.values() for sentence in notes]
    images = torch.cat(
        [pixels for pixels, *_ in every.values()]
    )  # one for each of the rows
    rows = pd.concat(
        [r.assign(set=name) for name, (_, r, _) in every.items()], ignore_index=True
    )
    matched, notes = _match(rows, images, classes)
    copies = duplicates.copies(images)
    _refuse_twins(rows, images, copies)
    same = [*_of_one_name(rows, matched), *matched]
    rows["split"] = assign(rows, together(len(rows), [*copies, *same]), seed)
    # left out: a row whose folder's split is not the one that a copy of it is in
    splits = zip(rows["own"], rows["split"], strict=True)
    dropped = np.array(
        [own != "" and split not in own.split("+") for own, split in splits]
    )
    report += notes + _about_copies(rows, copies, dropped)
    in_c = (rows["set"] == "C").to_numpy()
    alone = in_c & ~rows.index.isin([i for i, _ in matched])
    if (
        matched and 0 < alone.sum() <= UNREADABLE_SHARE * in_c.sum()
    ):  # for them C has its masks
        notes = f"Left out of C, as no WB image shows their object, {alone.sum()}"
        report, dropped = (
            [*report, f"{notes}: {listed(rows['path'][alone])}."],
            dropped | alone,
        )
    return *_built(rows, images, matched, ~dropped, classes), report


def _match(rows, images, classes) -> tuple[list[tuple[int, int]], list[str]]:
    """C and WB row pairs of one object, and a sentence on classes that have none."""
    matched, missing = [], []
    for name in classes if "WB" in set(rows["set"]) else ():
        c, wb = (
            np.flatnonzero((rows["class"] == name) & (rows["set"] == s))
            for s in ("C", "WB")
        )
        pairs = duplicates.pairs(images[c], images[wb])
        matched += [(int(c[i]), int(wb[j])) for i, j in pairs]
        missing += [] if pairs else [name]
    notice = f"The WB images of {listed(missing)} are not C's with a white ground."
    return matched, [notice] if missing else []


def _of_one_name(
    rows: pd.DataFrame, matched: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Pairs of rows of one name in one class and split; matched WB images are apart."""
    key = rows["class"] + "/" + rows["own"] + "/" + rows["name"]
    white = rows["class"].isin(rows["class"][[j for _, j in matched]]) & (
        rows["set"] == "WB"
    )
    first = (
        rows.index.to_series().groupby(key.where(~white, key + "/WB")).transform("min")
    )
    return list(zip(first, rows.index, strict=True))


def _refuse_twins(rows: pd.DataFrame, images: torch.Tensor, copies) -> None:
    """Refuse a class of which half the images or more are, pixel by pixel, in another one."""
    twins = {}
    for i, j in copies:
        a, b = rows.loc[i], rows.loc[j]
        if (
            a["set"] == b["set"]
            and a["class"] != b["class"]
            and torch.equal(images[i], images[j])
        ):
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


def _about_copies(
    rows: pd.DataFrame, copies: list[tuple[int, int]], dropped
) -> list[str]:
    """Sentences that name the copies of images, and the files left out for them."""
    kinds: dict[str, list[str]] = {}
    for i, j in copies:
        kind = "The same image is there twice (kept in one split)"
        if dropped[i] or dropped[j]:
            kind = "The same image is in two splits"
        elif rows["class"][i] != rows["class"][j]:
            kind = "The same image is in two classes (kept in one split)"
        elif rows["set"][i] != rows["set"][j]:
            kind = f"The same image is in {rows['set'][i]} and {rows['set'][j]} (kept in one split)"
        kinds.setdefault(kind, []).append(f"{rows['path'][i]} = {rows['path'][j]}")
    notes = [f"{kind}, {len(named)}: {listed(named)}." for kind, named in kinds.items()]
    if dropped.any():
        notes.append(
            "Left out, as the same image or object is in a later split (train before val before "
            f"test), {int(dropped.sum())}: {listed(rows['path'][dropped])}."
        )
    return notes


def _built(
    rows, images, matched, keep, classes
) -> tuple[dict[str, ImageSet], torch.Tensor]:
    """Image sets of the rows kept, and the masks of C's objects, carried over from WB."""
    masks, sets = torch.zeros_like(images[:, 0], dtype=torch.bool), {}
    white = torch.tensor((rows["set"] == "WB").to_numpy())
    masks[white] = object_masks(images[white])
    for i, j in matched:
        masks[i] = masks[j]
    for name in rows["set"].unique():
        here = np.flatnonzero((rows["set"] == name) & keep)
        table = (
            rows.loc[here].drop(columns=["file", "set", "own"]).reset_index(drop=True)
        )
        labels = torch.tensor([classes.index(label) for label in table["class"]])
        known = name == "WB" or masks[here].flatten(1).any(1).all()
        parts = (
            labels,
            classes,
            table.assign(context=""),
            masks[here] if known else None,
        )
        sets[name] = ImageSet(name, images[here], *parts)
        for label in classes:
            there = set(table["split"][table["class"] == label])
            if missing := [split for split in SPLITS if split not in there]:
                raise ValueError(
                    f"{name}, class {label!r}: no image for {' and '.join(missing)}. Its "
                    "images are too few, or copies of one another or of images in another split."
                )
    return sets, masks[np.flatnonzero((rows["set"] == "C") & keep)]


def together(n: int, pairs: Iterable[tuple[int, int]]) -> np.ndarray:
    """Number the groups that `pairs` of n items connect: int, shape (n,)."""
    edges = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    links = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return connected_components(links, directed=False)[1]


def quotas(own: pd.Series) -> np.ndarray:
    """How many images of a class and set go to each split; of "train+val" 4 : 1."""
    if (own == "").all():
        return np.array(sizes(len(own)), dtype=float)
    carved = int((own == "train+val").sum())
    val = max(1, carved // 5) if carved else 0
    train, *held_out = ((own == name).sum() for name in SPLITS)
    return np.array([train + carved - val, held_out[0] + val, held_out[1]], dtype=float)


def assign(images: pd.DataFrame, groups: np.ndarray, seed: int) -> np.ndarray:
    """Give every image a split, the same within a group; names decide the shuffle."""
    cells = images.groupby(["set", "class"], sort=True)
    cell = cells.ngroup().to_numpy()
    quota = np.stack([quotas(own) for _, own in cells["own"]])
    left = quota.copy()
    place = {name: i for i, name in enumerate(SPLITS)}
    fixed = (
        images["own"].map(lambda own: place.get(own, -1)).to_numpy()
    )  # -1: ours to choose
    members = pd.Series(np.arange(len(images))).groupby(groups).apply(list)
    key = (
        pd.Series(ranks(images["class"] + "/" + images["name"], seed))
        .groupby(groups)
        .min()
    )
    order = sorted(
        members.index,
        key=lambda g: (-fixed[members[g]].max(), -len(members[g]), key[g]),
    )
    split = np.empty(len(images), dtype=int)
    for group in order:
        inside = members[group]
        its = cell[inside]
        open_share = np.divide(
            left, quota, out=np.full_like(left, -np.inf), where=quota > 0
        )
        fullest = (
            open_share[its].sum(axis=0).argmax()
        )  # its quota is furthest from being filled
        split[inside] = fixed[inside].max() if fixed[inside].max() >= 0 else fullest
        np.subtract.at(left, (its, split[inside]), 1)
    return np.array(SPLITS)[split]
