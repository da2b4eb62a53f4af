"""All cells of a report at once: measures x sets x comparisons x reductions (Equation 5).

One `Sample` is the table itself or a stack of resampled ones; `compute` turns either into the
cells' values, so an observed report, its bootstrap draws and its null come from the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from helpers.fairness import base, compare, curves
from helpers.fairness.base import Measure
from helpers.fairness.counts import Table, unit_counts, within

ADJUSTMENTS = (None, "standardised", "stratified")


@dataclass(frozen=True)
class Grid:
    """Which blocks are combined; every combination that has a meaning is a cell."""

    measures: tuple[Measure, ...]
    sets: tuple[str, ...]
    comparisons: tuple[str | Callable, ...]
    reductions: tuple[str | Callable, ...]
    epsilon: float | None = None
    adjust: str | None = None


class Cell(NamedTuple):
    """One combination of blocks (F, C, comparison, reduction)."""

    measure: str
    set: str
    comparison: str
    reduction: str


@dataclass(frozen=True)
class Sample:
    """F of every unit: `f[measure]` (..., U), or (..., Z, U) by stratum, and the sizes alike.

    NaN where a side is smaller than the table's `min_size` or a measure is not estimable. `rows`
    holds (atoms, weights) of a single resampled table, for curves.
    """

    f: dict[str, np.ndarray]
    sizes: np.ndarray
    rows: tuple[np.ndarray, np.ndarray] | None = None


def name_of(block: str | Callable) -> str:
    """Name of a block: itself, or that of the user's function."""
    return block if isinstance(block, str) else getattr(block, "__name__", "function")


def blocks(grid: Grid) -> Iterator[tuple[Measure, str, str | Callable]]:
    """Combinations of measure, set and comparison; curves only for measures that have one."""
    for of in grid.measures:
        for which in grid.sets:
            for how in grid.comparisons:
                if how not in curves.CURVES or _has_curve(of, how):
                    yield of, which, how


def cells(grid: Grid) -> list[Cell]:
    """All cells, in the order of `compute`."""
    return [
        Cell(of.name, which, name_of(how), name_of(reduction))
        for of, which, how in blocks(grid)
        for reduction in grid.reductions
    ]


def observed(data: Table, grid: Grid) -> Sample:
    """F of every unit of the table itself."""
    return drawn(data, grid, table_counts(data, grid))


def drawn(data: Table, grid: Grid, counts: np.ndarray, rows=None) -> Sample:
    """F of every unit of resampled tables.

    Parameters
    ----------
    data : Table
    counts : array (..., K, 4), or (..., Z, K, 4) where the grid adjusts for strata
    rows : (atoms (n,), weights (n,)), optional
        The resampled rows, for measures that counts cannot say.
    """
    units = unit_counts(data.groups, counts)
    sizes = np.round(units.sum(-1))
    complements = "compl" in grid.sets
    f = {}
    for of in grid.measures:
        base.require(of, data)
        if of.of_counts is not None:
            found = of.of_counts(units)
        elif grid.adjust is None:
            found = base.values(of, data, None, *(rows or (None, None)), complements)
        else:
            found = _by_stratum(of, data, rows, complements)
        f[of.name] = np.where(sizes >= data.min_size, found, np.nan)
    return Sample(f, sizes, rows)


def compared(data: Table, grid: Grid, sample: Sample, block) -> np.ndarray:
    """All comparisons of one block: (..., P)."""
    of, which, how = block
    i, j = compare.pairs(len(data.groups), which)
    if how in curves.CURVES:
        if grid.adjust:
            raise ValueError("curve comparisons cannot be adjusted for strata; leave them out")
        found = curves.compare(data, of, how, i, j, *(sample.rows or (None, None)))
        small = np.isnan(sample.f[of.name])
        found = np.where(small[..., i] | small[..., j], np.nan, found)
        return compare.threshold(found, grid.epsilon)
    f = sample.f[of.name]
    if grid.adjust is None:
        return compare.compare(f[..., i], f[..., j], how, grid.epsilon)
    if grid.adjust == "standardised":
        return compare.compare(*standardised(sample, of.name, i, j), how, grid.epsilon)
    return _stratified(sample, of.name, i, j, how, grid.epsilon)


def pair_weights(data: Table, grid: Grid, sample: Sample, which: str) -> np.ndarray:
    """Weights of the paper's wmean for all comparisons of a set: (..., P)."""
    sizes = sample.sizes if grid.adjust is None else sample.sizes.sum(-2)
    return compare.weights(sizes, *compare.pairs(len(data.groups), which))


def split(grid: Grid) -> tuple[Grid, Grid]:
    """The comparisons of curves, which need rows, and the others, which need F alone."""
    by_curve = tuple(how for how in grid.comparisons if how in curves.CURVES)
    others = tuple(how for how in grid.comparisons if how not in curves.CURVES)
    return replace(grid, comparisons=by_curve), replace(grid, comparisons=others)


def compute(data: Table, grid: Grid, sample: Sample) -> np.ndarray:
    """Values of all cells: (..., number of cells)."""
    weights = {which: pair_weights(data, grid, sample, which) for which in grid.sets}
    found = []
    for block in blocks(grid):
        every = compared(data, grid, sample, block)
        found += [compare.reduce(every, r, weights[block[1]]) for r in grid.reductions]
    return np.stack(found, axis=-1) if found else np.empty((*sample.sizes.shape[:-1], 0))


def standardised(sample: Sample, name: str, i, j) -> tuple[np.ndarray, np.ndarray]:
    """F of both sides with everyone's mix of strata, over the strata where both are estimable."""
    f, everyone = sample.f[name], (sample.sizes.shape[-1] - 1) // 2
    over_i, over_j, total = (np.zeros((*f.shape[:-2], len(i))) for _ in range(3))
    for z in range(f.shape[-2]):
        fi, fj = f[..., z, :][..., i], f[..., z, :][..., j]
        both = ~(np.isnan(fi) | np.isnan(fj))
        share = np.where(both, sample.sizes[..., z, everyone, None], 0)
        over_i += share * np.where(both, fi, 0)
        over_j += share * np.where(both, fj, 0)
        total += share
    return base.ratio(over_i, total), base.ratio(over_j, total)


def support(sample: Sample, name: str, i, j) -> np.ndarray:
    """Share of everyone in strata where both sides are estimable: (P,), for one table."""
    known = ~np.isnan(sample.f[name])
    everyone = sample.sizes[:, (sample.sizes.shape[-1] - 1) // 2]
    return everyone @ (known[:, i] & known[:, j]) / everyone.sum()


def _stratified(sample: Sample, name: str, i, j, how, epsilon) -> np.ndarray:
    """Comparisons within strata, averaged with the weights of Mantel and Haenszel."""
    f, sizes = sample.f[name], sample.sizes
    over, total = (np.zeros((*f.shape[:-2], len(i))) for _ in range(2))
    for z in range(f.shape[-2]):
        found = compare.compare(f[..., z, :][..., i], f[..., z, :][..., j], how)
        ni, nj = sizes[..., z, :][..., i], sizes[..., z, :][..., j]
        weight = np.where(np.isnan(found), 0, base.ratio(ni * nj, ni + nj))
        over += np.where(weight > 0, found, 0) * weight
        total += weight
    return compare.threshold(base.ratio(over, total), epsilon)


def _by_stratum(of: Measure, data: Table, rows, complements: bool) -> np.ndarray:
    found = []
    for z in range(len(data.stratum_names)):
        at = data.strata == z
        mine = (None, None) if rows is None else (rows[0][at], rows[1][at])
        found.append(base.values(of, within(data, z), None, *mine, complements))
    return np.stack(found)


def table_counts(data: Table, grid: Grid) -> np.ndarray:
    """Counts (K, 4) of the table, or (Z, K, 4) where the grid adjusts for its strata."""
    if grid.adjust is None:
        return data.counts
    if grid.adjust not in ADJUSTMENTS:
        raise ValueError(f"adjust={grid.adjust!r}: give 'standardised', 'stratified' or None")
    if data.strata is None:
        raise ValueError("adjust needs strata: give table(..., strata=the confounders' columns)")
    return np.stack([within(data, z).counts for z in range(len(data.stratum_names))])


def _has_curve(of: Measure, how: str) -> bool:
    return of.curve == "representation" or (of.curve == "roc" and how != "curve_dcg")


def grid_of(
    data: Table,
    measures: Sequence | None = None,
    sets: Sequence[str] = compare.SETS,
    comparisons: Sequence = compare.COMPARISONS,
    reductions: Sequence = compare.REDUCTIONS,
    epsilon: float | None = None,
    adjust: str | None = None,
) -> Grid:
    """A grid from names; None measures: all that the table has the columns for."""
    chosen = base.available(data) if measures is None else measures
    found = tuple(base.measure(of) for of in chosen)
    return Grid(found, tuple(sets), tuple(comparisons), tuple(reductions), epsilon, adjust)
