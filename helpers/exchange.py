"""Exchanging labels between rows that are not independent: those of an image, a video, a place.

A permutation null asks what labels without meaning would show. Where rows come in clusters that
share more than chance, single rows exchanged at random give too narrow a null: the labels of a
cluster have to stay together, or to be exchanged inside of it.
"""

from __future__ import annotations

import numpy as np

ALIKE = 20  # clusters of about one size, at least, among which labels are exchanged


def between(cluster: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each cluster takes the labels of another: for each row, the place of the row it takes from.

    Clusters are exchanged with others of nearly their size: labels move whole where the sizes are
    equal, and are stretched or squeezed to fit where they are not.

    Parameters
    ----------
    cluster : array (n,)
        Which cluster each row belongs to.
    rng : numpy.random.Generator

    Returns
    -------
    int64 array (n,)
    """
    _, number, size = np.unique(cluster, return_inverse=True, return_counts=True)
    order, start = np.argsort(number, kind="stable"), np.cumsum(size) - size
    donor = np.arange(len(size))
    for alike in _alike(size):
        donor[alike] = rng.permutation(alike)
    owner = number[order]
    inside = np.arange(len(order)) - start[owner]
    taken = ((inside + 0.5) * size[donor[owner]] / size[owner]).astype(int)
    source = np.empty(len(order), np.int64)
    source[order] = order[start[donor[owner]] + taken]
    return source


def within(cluster: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows exchange their labels inside of each cluster: the place of the row each takes from.

    Parameters and result as in :func:`between`.
    """
    source = np.empty(len(cluster), np.int64)
    source[np.argsort(cluster, kind="stable")] = np.lexsort((rng.random(len(cluster)), cluster))
    return source


def _alike(size: np.ndarray) -> list[np.ndarray]:
    """Clusters of the same size together; neighbouring sizes join until there are `ALIKE`."""
    by_size = np.argsort(size, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(size[by_size])) + 1, len(size))
    cuts = [0]
    for end in ends:
        if end - cuts[-1] >= ALIKE and len(size) - end >= ALIKE:
            cuts.append(int(end))
    return np.split(by_size, cuts[1:])
