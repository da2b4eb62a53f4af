"""Resampled tables: bootstrap draws, and the null in which groups are shuffled.

Where all measures follow from counts, tables are drawn directly: a bootstrap draw is multinomial, a
shuffle of the groups keeps both margins (how many rows each group and each outcome has) and is
multivariate hypergeometric. That costs the same for a thousand rows and for ten million. Measures
of scores need the rows, so then rows are drawn.

Rows in clusters are not independent: then clusters are drawn, and the groups are exchanged between
clusters of about the same size and inside of each (:mod:`helpers.exchange`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import scipy.sparse

from helpers import exchange
from helpers.fairness import curves, grid
from helpers.fairness.counts import Table
from helpers.fairness.grid import Grid, Sample

AT_ONCE = 8_000_000  # numbers in one block of resampled counts


def bootstrap_counts(counts: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Tables of as many rows drawn with replacement: int64 (draws, *counts.shape)."""
    n = int(counts.sum())
    drawn = rng.multinomial(n, counts.reshape(-1) / n, size=draws)
    return drawn.reshape(draws, *counts.shape)


def shuffled_counts(counts: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Tables with the groups shuffled over the rows: both margins stay.

    Parameters
    ----------
    counts : int array (K, 4), or (Z, K, 4): then within each stratum
    draws : int

    Returns
    -------
    int64 array (draws, *counts.shape)
    """
    if counts.ndim == 3:
        return np.stack([shuffled_counts(part, draws, rng) for part in counts], axis=1)
    found = np.zeros((draws, *counts.shape), np.int64)
    left = np.broadcast_to(counts.sum(0), (draws, counts.shape[1])).copy()
    for k, size in enumerate(counts.sum(1)):
        taken = _draw_without_replacement(left, int(size), rng)
        found[:, k] = taken
        left -= taken
    return found


def samples(data: Table, chosen: Grid, draws: int, seed: int, null: bool) -> Iterator[Sample]:
    """Resampled tables in blocks of draws, or one by one where rows have to be drawn.

    Parameters
    ----------
    data : Table
    chosen : Grid
    draws, seed : int
    null : bool
        Shuffle the groups (within strata, where the grid adjusts) instead of drawing rows anew.
    """
    rng = np.random.default_rng([seed, int(null)])
    counts = grid.table_counts(data, chosen)
    if _rows_needed(chosen):
        strata = _strata(data, chosen) if null else None
        for _ in range(draws):
            atoms, weights = _rows(data, strata, rng)
            drawn = _counts_of_rows(data, chosen, atoms, weights)
            yield _stacked(grid.drawn(data, chosen, drawn, (atoms, weights)))
        return
    if data.clusters is not None:
        draw = partial(_shuffled_clusters if null else _drawn_clusters, data, chosen)
    else:
        draw = shuffled_counts if null else bootstrap_counts
    size = max(1, AT_ONCE // counts.size)
    for start in range(0, draws, size):
        yield grid.drawn(data, chosen, draw(counts, min(size, draws - start), rng))


def _drawn_clusters(data: Table, chosen: Grid, counts: np.ndarray, draws: int, rng) -> np.ndarray:
    """Tables of as many clusters drawn with replacement: (draws, *counts.shape)."""
    number = int(data.clusters.max()) + 1
    key = data.clusters * counts.size + _places(data, chosen, data.groups.atoms)
    cell, rows = np.unique(key, return_counts=True)
    shape = (number, counts.size)
    held = scipy.sparse.csr_array((rows, (cell // counts.size, cell % counts.size)), shape=shape)
    times = rng.multinomial(number, np.full(number, 1 / number), size=draws)
    return (held.T @ times.T).T.reshape(draws, *counts.shape)


def _shuffled_clusters(data: Table, chosen: Grid, counts, draws: int, rng) -> np.ndarray:
    """Tables with the groups exchanged between and inside of clusters: (draws, *counts.shape)."""
    found, strata = np.empty((draws, counts.size), np.int64), _strata(data, chosen)
    for draw in range(draws):
        place = _places(data, chosen, _exchanged(data, strata, rng))
        found[draw] = np.bincount(place, minlength=counts.size)
    return found.reshape(draws, *counts.shape)


def _strata(data: Table, chosen: Grid) -> list[tuple[np.ndarray, exchange.Clusters | None]]:
    """The rows within which groups are exchanged, and their clusters."""
    if chosen.adjust is None:
        parts = [np.arange(len(data))]
    else:
        parts = [np.flatnonzero(data.strata == z) for z in range(len(data.stratum_names))]
    clusters = data.clusters
    return [(at, None if clusters is None else exchange.Clusters(clusters[at])) for at in parts]


def _exchanged(data: Table, strata: list, rng) -> np.ndarray:
    """The atom of each row once groups are exchanged, within strata where the grid adjusts."""
    atoms = data.groups.atoms.copy()
    for at, clusters in strata:
        given = data.groups.atoms[at]
        if clusters is None:
            atoms[at] = rng.permutation(given)
        elif clusters.constant(given):
            atoms[at] = given[clusters.between(rng)]
        else:
            atoms[at] = given[clusters.between(rng)][clusters.within(rng)]
    return atoms


def _draw_without_replacement(left: np.ndarray, size: int, rng) -> np.ndarray:
    """`size` rows from what is left of each outcome, for every draw: (draws, outcomes)."""
    taken, needed = np.zeros_like(left), np.full(len(left), size)
    rest = left.sum(1)
    for outcome in range(left.shape[1] - 1):
        rest = rest - left[:, outcome]
        taken[:, outcome] = rng.hypergeometric(left[:, outcome], rest, needed)
        needed = needed - taken[:, outcome]
    taken[:, -1] = needed
    return taken


def _rows_needed(chosen: Grid) -> bool:
    by_curve = any(how in curves.CURVES for how in chosen.comparisons)
    return by_curve or any(of.of_counts is None for of in chosen.measures)


def _rows(data: Table, strata: list | None, rng) -> tuple[np.ndarray, np.ndarray]:
    """Atoms and weights: groups exchanged within `strata`, or without them rows drawn anew."""
    n = len(data)
    if strata is not None:
        return _exchanged(data, strata, rng), np.ones(n)
    if data.clusters is None:
        return data.groups.atoms, np.bincount(rng.integers(n, size=n), minlength=n).astype(float)
    number = int(data.clusters.max()) + 1
    times = np.bincount(rng.integers(number, size=number), minlength=number)
    return data.groups.atoms, times[data.clusters].astype(float)


def _places(data: Table, chosen: Grid, atoms: np.ndarray) -> np.ndarray:
    """Place of each row in the flat table of counts."""
    place = atoms * 4
    for step, column in ((2, data.prediction), (1, data.label)):
        if column is not None:
            place = place + step * column
    if chosen.adjust is None:
        return place
    return place + data.strata * (4 * data.groups.member.shape[1])


def _counts_of_rows(data: Table, chosen: Grid, atoms, weights) -> np.ndarray:
    strata = () if chosen.adjust is None else (len(data.stratum_names),)
    shape = (*strata, data.groups.member.shape[1], 4)
    place = _places(data, chosen, atoms)
    return np.bincount(place, weights, minlength=int(np.prod(shape))).reshape(shape)


def _stacked(sample: Sample) -> Sample:
    """A single table as a stack of one."""
    f = {name: found[None] for name, found in sample.f.items()}
    return Sample(f, sample.sizes[None], sample.rows)
