"""Making a report: every combination of the blocks, with what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from helpers.fairness import compare, evidence, grid
from helpers.fairness.counts import CELLS, Table, unit_counts
from helpers.fairness.grid import Grid, Sample
from helpers.fairness.reports import KEYS, Report


def report(
    data: Table,
    measures: Sequence | None = None,
    sets: Sequence[str] = compare.SETS,
    comparisons: Sequence[str | Callable] = compare.COMPARISONS,
    reductions: Sequence[str | Callable] = compare.REDUCTIONS,
    *,
    epsilon: float | None = None,
    adjust: str | None = None,
    bootstrap: int = 0,
    permutations: int = 0,
    level: float = 0.95,
    seed: int = 0,
) -> Report:
    """Every combination of the blocks (section 5.2), with what it is worth.

    Parameters
    ----------
    data : Table
        From `table`.
    measures : sequence, optional
        Names, `Measure`s or functions of a group's rows (`base.measure`); by default all named ones
        the table has the columns for.
    sets, comparisons, reductions : sequences
        See `compare`; comparisons may also be ``curve``, ``curve_signed``, ``curve_dcg``
        (`curves`).
    epsilon : float, optional
        Accepted deviation, taken off every comparison.
    adjust : {None, "standardised", "stratified"}
        Hold the table's strata fixed: F of both sides with everyone's mix of strata, or comparisons
        within strata averaged with Mantel-Haenszel weights.
    bootstrap, permutations : int
        Draws for the intervals and for the null; 0 for none.
    level : float in (0, 1)
    seed : int

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        For unknown blocks, columns that a measure needs and the table lacks, or too many groups.
    """
    chosen = grid.grid_of(data, measures, sets, comparisons, reductions, epsilon, adjust)
    if not 0 < level < 1:
        raise ValueError(f"level={level} must lie between 0 and 1, for example 0.95")
    sample = grid.observed(data, chosen)
    cells = _cells(data, chosen, sample)
    values = cells["value"].to_numpy()
    if bootstrap:
        ends = evidence.bootstrap(data, chosen, values, bootstrap, seed, level)
        cells = pd.concat([cells, ends], axis=1)
    if permutations:
        tails = [
            compare.tail(how, reduction)
            for _, _, how in grid.blocks(chosen)
            for reduction in chosen.reductions
        ]
        null = evidence.null_draws(data, chosen, permutations, seed)
        found = evidence.p_values(values, null, tails)
        cells = pd.concat([cells, found.assign(tail=tails)], axis=1)
    settings = {
        "groups": len(data.groups),
        "rows": len(data),
        "clusters": None if data.clusters is None else int(data.clusters.max()) + 1,
        "min_size": data.min_size,
        "epsilon": epsilon,
        "adjust": adjust,
        "bootstrap": bootstrap,
        "permutations": permutations,
        "level": level,
        "seed": seed,
    }
    return Report(cells, _units(data, chosen, sample), settings, data)


def _cells(data: Table, chosen: Grid, sample: Sample) -> pd.DataFrame:
    weights = {which: grid.pair_weights(data, chosen, sample, which) for which in chosen.sets}
    sizes = sample.sizes if chosen.adjust is None else sample.sizes.sum(0)
    names, rows = np.array(data.units, dtype=object), []
    for block in grid.blocks(chosen):
        of, which, how = block
        found = grid.compared(data, chosen, sample, block)
        i, j = compare.pairs(len(data.groups), which)
        fi, fj = _sides(chosen, sample, of.name, i, j)
        known = int((~np.isnan(found)).sum())
        for reduction in chosen.reductions:
            row = [of.name, which, grid.name_of(how), grid.name_of(reduction)]
            row += [float(compare.reduce(found, reduction, weights[which])), known, len(i) - known]
            at = compare.deciding(found, reduction)
            if at < 0:
                row += ["", "", np.nan, np.nan, 0, 0]
            else:
                a, b = i[at], j[at]
                row += [names[a], names[b], fi[at], fj[at], int(sizes[a]), int(sizes[b])]
            rows.append(row)
    columns = [*KEYS, "value", "compared", "skipped"]
    return pd.DataFrame(rows, columns=[*columns, "group_i", "group_j", "f_i", "f_j", "n_i", "n_j"])


def _sides(chosen: Grid, sample: Sample, name: str, i, j) -> tuple[np.ndarray, np.ndarray]:
    if chosen.adjust is not None:
        return grid.standardised(sample, name, i, j)
    return sample.f[name][i], sample.f[name][j]


def _units(data: Table, chosen: Grid, sample: Sample) -> pd.DataFrame:
    counts = unit_counts(data.groups, grid.table_counts(data, chosen))
    strata = len(data.stratum_names) if chosen.adjust else 1
    sizes = sample.sizes.reshape(-1).astype(int)
    cells = np.round(counts).astype(int).reshape(-1, 4).T
    columns = {"unit": list(data.units) * strata}
    if chosen.adjust:
        columns["stratum"] = np.repeat(data.stratum_names, len(data.units))
    columns |= {"n": sizes, **dict(zip(CELLS, cells, strict=True)), "small": sizes < data.min_size}
    return pd.DataFrame(columns | {name: f.reshape(-1) for name, f in sample.f.items()})
