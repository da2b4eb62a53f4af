"""Who goes to train, validation and test: seeded, by class, nothing torn apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from helpers.data.collection import SPLITS

#: A class needs one image a split; with fewer than six, each of validation and test gets one.
SMALLEST_CLASS = 3


def sizes(n: int) -> tuple[int, int, int]:
    """Images for train, validation and test: 4 : 1 : 1, so 100/25/25 of 150, at least one each.

    Raises
    ------
    ValueError
        For fewer than `SMALLEST_CLASS` images.
    """
    if n < SMALLEST_CLASS:
        raise ValueError(f"{n} images cannot be split in three: at least {SMALLEST_CLASS} needed.")
    held_out = max(1, (n + 3) // 6)
    return n - 2 * held_out, held_out, held_out


def ranks(names: Iterable[str], seed: int) -> list[str]:
    """Sort keys that shuffle `names`: they depend on each name and the seed, on nothing else."""
    return [hashlib.sha256(f"{seed}/{name}".encode()).hexdigest() for name in names]


def together(n: int, pairs: Iterable[tuple[int, int]]) -> np.ndarray:
    """Number the groups that `pairs` of n items connect: int, shape (n,)."""
    edges = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    links = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return connected_components(links, directed=False)[1]


def quotas(own: pd.Series) -> np.ndarray:
    """How many images of one class in one set go to each split, given the folders' own.

    Parameters
    ----------
    own : pandas.Series
        For each image the split its folder names: "train", "val", "test", "train+val" for images
        that validation is to be carved from, 4 : 1; or "" for none.

    Returns
    -------
    numpy.ndarray
        float, shape (3,).
    """
    if (own == "").all():
        return np.array(sizes(len(own)), dtype=float)
    carved = int((own == "train+val").sum())
    val = max(1, carved // 5) if carved else 0
    train, *held_out = ((own == name).sum() for name in SPLITS)
    return np.array([train + carved - val, held_out[0] + val, held_out[1]], dtype=float)


def assign(images: pd.DataFrame, groups: np.ndarray, seed: int) -> np.ndarray:
    """Give every image a split, the same within a group.

    Parameters
    ----------
    images : pandas.DataFrame
        One row an image of any set, with columns `set`, `class`, `name` (decides its place in the
        shuffle) and `own` (see `quotas`).
    groups : numpy.ndarray
        int, shape (N,): images of one group share a split, across sets and classes.
    seed : int

    Returns
    -------
    numpy.ndarray
        str, shape (N,). Where a group holds images of several own splits, it goes to the latest
        (test before val before train): `assign` does not tell, compare with `own`.
    """
    cells = images.groupby(["set", "class"], sort=True)
    cell = cells.ngroup().to_numpy()
    quota = np.stack([quotas(own) for _, own in cells["own"]])
    left = quota.copy()
    place = {name: i for i, name in enumerate(SPLITS)}
    fixed = images["own"].map(lambda own: place.get(own, -1)).to_numpy()  # -1: ours to choose
    members = pd.Series(np.arange(len(images))).groupby(groups).apply(list)
    key = pd.Series(ranks(images["class"] + "/" + images["name"], seed)).groupby(groups).min()
    order = sorted(
        members.index, key=lambda g: (-fixed[members[g]].max(), -len(members[g]), key[g])
    )
    split = np.empty(len(images), dtype=int)
    for group in order:
        inside = members[group]
        split[inside] = _choose(fixed[inside].max(), left[cell[inside]], quota[cell[inside]])
        np.subtract.at(left, (cell[inside], split[inside]), 1)
    return np.array(SPLITS)[split]


def _choose(fixed: int, left: np.ndarray, quota: np.ndarray) -> int:
    """The split with the largest share of its quota still to fill, over a group's images."""
    if fixed >= 0:
        return int(fixed)
    share = np.divide(left, quota, out=np.full_like(left, -np.inf), where=quota > 0)
    return int(share.sum(axis=0).argmax())
