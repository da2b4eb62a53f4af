"""What a report's cells are worth: intervals, p values, and the price of looking at all of them.

The null shuffles the groups over the rows (within strata, where the comparison is adjusted): groups
of these sizes that have nothing to do with the outcomes. A worst-case measure is far from 0 under
it, and how far depends on the number of groups and of rows; the p value knows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.fairness import compare, grid, intervals, resample
from helpers.fairness.counts import Table
from helpers.fairness.grid import Grid, Sample

MOST = 40_000_000  # draws x comparisons held at once
SIGNED = {"abs": "sabs", "rel": "srel"}


def null_draws(data: Table, chosen: Grid, draws: int, seed: int = 0) -> np.ndarray:
    """Values of all cells with the groups shuffled: float64 (draws, cells)."""
    by_curve, values = _drawn(data, chosen, draws, seed, null=True)
    others = grid.split(chosen)[1]
    step = max(1, MOST // 4 // _most_pairs(data, chosen))
    parts = [
        grid.compute(data, others, _part(values, slice(start, start + step)))
        for start in range(0, draws, step)
    ]
    return _merged(chosen, by_curve, np.concatenate(parts))


def p_values(observed: np.ndarray, null: np.ndarray, tails: list[str]) -> pd.DataFrame:
    """p value of every cell, and corrected for the number of cells.

    Parameters
    ----------
    observed : float array (C,)
    null : float array (D, C)
        A draw that is not estimable counts against significance.
    tails : list of {"upper", "lower", "both"}
        From `compare.tail`.

    Returns
    -------
    DataFrame, one row a cell
        p : (1 + draws as far out) / (1 + D); NaN where the cell is not estimable or cannot vary.
        p_holm, p_bh : over all cells with a p (Holm; Benjamini and Hochberg).
        p_minp : share of draws whose smallest p over all cells is as small (Westfall and Young). It
        knows that cells hang together, and reaches 1 / (1 + D) where Holm needs D > cells / level.
    """
    signs = {"upper": (1,), "lower": (-1,), "both": (1, -1)}
    both = np.vstack([observed, null])  # under the null the observed table is one draw more
    p_all = np.ones(both.shape)
    for c, end in enumerate(tails):
        found = [_upper(sign * both[:, c]) for sign in signs[end]]
        p_all[:, c] = np.minimum(1, len(found) * np.min(found, axis=0))
    with np.errstate(invalid="ignore"):  # all draws may be infinite
        spread = np.nanmax(null, axis=0, initial=-np.inf) - np.nanmin(null, axis=0, initial=np.inf)
    untested = np.isnan(observed) | ~(spread > 1e-12)
    p = np.where(untested, np.nan, p_all[0])
    smallest = np.sort(p_all[:, ~untested].min(1)) if (~untested).any() else np.ones(1)
    minp = np.searchsorted(smallest, p + 1e-12, side="right") / len(smallest)
    several = len(p) > 1  # one cell needs no correction, and statsmodels takes its time
    columns = {"p": p, "p_holm": stats.adjust(p) if several else p}
    columns["p_bh"] = stats.adjust(p, "fdr_bh") if several else p
    return pd.DataFrame({**columns, "p_minp": np.where(untested, np.nan, minp)})


def bootstrap(
    data: Table, chosen: Grid, values: np.ndarray, draws: int, seed: int = 0, level: float = 0.95
) -> pd.DataFrame:
    """Interval of every cell (see `intervals` for which kind).

    Parameters
    ----------
    data, chosen : Table, Grid
    values : float array (C,)
        The cells' observed values.
    draws, seed : int
    level : float in (0, 1)

    Returns
    -------
    DataFrame, one row a cell: low, high; NaN where the cell is not estimable

    Raises
    ------
    ValueError
        When draws x comparisons would not fit in memory.
    """
    if draws * _most_pairs(data, chosen) > MOST:
        raise ValueError(
            f"{draws:,} bootstrap draws of {_most_pairs(data, chosen):,} comparisons are too many "
            f"to hold ({MOST:,}); fewer draws, fewer groups, or sets=('vsany', 'compl')"
        )
    by_curve, drawn = _drawn(data, chosen, draws, seed, null=False)
    curve_grid, others = grid.split(chosen)
    count = len(grid.cells(curve_grid))
    at = _places(chosen)
    ends = np.empty((len(values), 2))
    for c in range(count):
        ends[at[0][c]] = intervals.outer(values[at[0][c]], by_curve[:, c], level)
    ends[at[1]] = _ends(data, others, drawn, values[at[1]], level)
    return pd.DataFrame(ends, columns=["low", "high"])


def _ends(data: Table, chosen: Grid, drawn: Sample, values: np.ndarray, level: float) -> np.ndarray:
    seen = grid.observed(data, chosen)
    plain = replace(chosen, epsilon=None)
    heavy = {which: grid.pair_weights(data, chosen, drawn, which) for which in chosen.sets}
    ends = []
    for of, which, how in grid.blocks(chosen):
        block = (of, which, SIGNED.get(how, how) if isinstance(how, str) else how)
        sides, many = (grid.compared(data, plain, s, block) for s in (seen, drawn))
        errors = intervals.draws_of(sides, many)
        logs = _log_draws(data, plain, (seen, drawn), block, errors)
        weight = grid.pair_weights(data, chosen, seen, which)
        for reduction in chosen.reductions:
            found = None
            if chosen.epsilon is None or reduction in ("max", "min"):
                found = logs and intervals.of_ratios(how, reduction, logs, level)
                found = found or intervals.of_cell(how, reduction, errors, weight, level)
                found = found and compare.threshold(np.array(found), chosen.epsilon)
            if found is None:
                size = compare.threshold(np.abs(many) if how in SIGNED else many, chosen.epsilon)
                reduced = compare.reduce(size, reduction, heavy[which])
                found = intervals.outer(values[len(ends)], reduced, level)
                found = np.maximum(found, 0) if how in SIGNED else found
            ends.append(found)
    return np.array(ends).reshape(-1, 2)


def _log_draws(data: Table, chosen: Grid, samples, block, plain: intervals.Draws):
    """The same comparisons as log ratios; None where they are no ratios of positive numbers."""
    of, which, how = block
    if how != "srel" or chosen.adjust == "stratified":
        return None
    block = (of, which, intervals.log_ratio)
    logs = intervals.draws_of(*(grid.compared(data, chosen, s, block) for s in samples))
    return logs if len(logs.estimate) == len(plain.estimate) else None


def _drawn(data: Table, chosen: Grid, draws: int, seed: int, null: bool):
    """Curve cells (D, C') and a stack of all draws' F and sizes."""
    by_curve, _ = grid.split(chosen)
    curve_cells, parts = [], []
    for sample in resample.samples(data, chosen, draws, seed, null):
        if by_curve.comparisons:
            curve_cells.append(grid.compute(data, by_curve, sample))
        parts.append(sample)
    f = {name: np.concatenate([s.f[name] for s in parts]) for name in parts[0].f}
    whole = Sample(f, np.concatenate([s.sizes for s in parts]))
    return np.concatenate(curve_cells) if curve_cells else np.empty((draws, 0)), whole


def _part(sample: Sample, draws: slice) -> Sample:
    return Sample({name: f[draws] for name, f in sample.f.items()}, sample.sizes[draws])


def _places(chosen: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Places of the curve cells and of the others among all cells."""
    curve_grid, _ = grid.split(chosen)
    names = {grid.name_of(how) for how in curve_grid.comparisons}
    is_curve = np.array([cell.comparison in names for cell in grid.cells(chosen)], bool)
    return np.flatnonzero(is_curve), np.flatnonzero(~is_curve)


def _merged(chosen: Grid, by_curve: np.ndarray, others: np.ndarray) -> np.ndarray:
    found = np.empty((len(others), by_curve.shape[1] + others.shape[1]))
    at = _places(chosen)
    found[:, at[0]], found[:, at[1]] = by_curve, others
    return found


def _most_pairs(data: Table, chosen: Grid) -> int:
    return max(len(compare.pairs(len(data.groups), which)[0]) for which in chosen.sets)


def _upper(values: np.ndarray) -> np.ndarray:
    """Share of values as large, of each; what is not estimable is as large as any."""
    size = np.nanmax(np.abs(values), initial=0, where=np.isfinite(values)) or 1.0
    ties = np.round(np.where(np.isnan(values), np.inf, values) / size, 9)
    return scipy.stats.rankdata(-ties, method="max") / len(ties)
