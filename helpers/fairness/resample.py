"""Resampled tables: bootstrap draws, and the null in which groups are shuffled.

Where all measures follow from counts, tables are drawn directly: a bootstrap draw is multinomial, a
shuffle of the groups keeps both margins (how many rows each group and each outcome has) and is
multivariate hypergeometric. That costs the same for a thousand rows and for ten million. Measures
of scores need the rows, so then rows are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
        for _ in range(draws):
            atoms, weights = _rows(data, chosen, rng, null)
            drawn = _counts_of_rows(data, chosen, atoms, weights)
            yield _stacked(grid.drawn(data, chosen, drawn, (atoms, weights)))
        return
    draw = shuffled_counts if null else bootstrap_counts
    size = max(1, AT_ONCE // counts.size)
    for start in range(0, draws, size):
        yield grid.drawn(data, chosen, draw(counts, min(size, draws - start), rng))


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


def _rows(data: Table, chosen: Grid, rng, null: bool) -> tuple[np.ndarray, np.ndarray]:
    n = len(data)
    if not null:
        return data.groups.atoms, np.bincount(rng.integers(n, size=n), minlength=n).astype(float)
    atoms = data.groups.atoms.copy()
    if chosen.adjust is None:
        rng.shuffle(atoms)
    else:
        for z in range(len(data.stratum_names)):
            at = np.flatnonzero(data.strata == z)
            atoms[at] = atoms[rng.permutation(at)]
    return atoms, np.ones(n)


def _counts_of_rows(data: Table, chosen: Grid, atoms, weights) -> np.ndarray:
    k = data.groups.member.shape[1]
    outcome = sum(
        step * column
        for step, column in ((2, data.prediction), (1, data.label))
        if column is not None
    )
    key = atoms * 4 + outcome
    if chosen.adjust is None:
        shape = (k, 4)
    else:
        shape = (len(data.stratum_names), k, 4)
        key = key + data.strata * (4 * k)
    return np.bincount(key, weights, minlength=int(np.prod(shape))).reshape(shape)


def _stacked(sample: Sample) -> Sample:
    """A single table as a stack of one."""
    f = {name: found[None] for name, found in sample.f.items()}
    return Sample(f, sample.sizes[None], sample.rows)
