"""Reports: every combination of the blocks with interval and p value, traceable to its rows."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers import stats
from helpers.blocks import blocks, chance, intervals, resampling
from helpers.blocks.blocks import Sample
from helpers.blocks.counts import CELLS, UNKNOWN, Table, known

DRAWS = 999
KEYS = ["measure", "set", "comparison", "reduction"]
SIDES = ["group_i", "group_j", "f_i", "f_j", "n_i", "n_j"]

NAMES = {  # base measures in words that anybody reads
    "pr": "positive rate",
    "tpr": "true positive rate",
    "fpr": "false positive rate",
    "ppv": "precision",
    "npv": "negative predictive value",
    "acc": "accuracy",
    "prevalence": "share of positive labels",
    "score": "mean score",
    "calibration": "calibration error",
    "auc": "area under the roc curve",
}


class Report(NamedTuple):
    """Cells with intervals and p values (`make`), each traceable to its rows."""

    cells: pd.DataFrame
    sample: Sample  # F of every unit
    null: np.ndarray | None = None  # all cells under permutation of the groups

    @property
    def units(self) -> pd.DataFrame:
        """Return one row per group, everyone and complement: unit, n, tn, fn, fp, tp, and F by measure."""
        data = self.sample.data
        rates = data.frame(complements=True).rename(columns={"group": "unit"})
        mass = data.mass(data.pooled)
        return rates.assign(
            **{m.name: m.of(data.kinds, mass) for m in self.sample.grid.measures}
        )

    def table(self, column: str = "value") -> pd.DataFrame:
        """Measures x (set, comparison, reduction), as in the paper's Figure 1."""
        return self.cells.set_index(KEYS)[column].unstack("measure", sort=False).T

    def cell(
        self, measure: str, set: str, comparison: str, reduction: str
    ) -> pd.Series:
        """One cell, with all that is known about it; an unknown one is refused by its block."""
        rows = self.cells
        for key, name in zip(KEYS, (measure, set, comparison, reduction), strict=True):
            known(key, rows[key].unique(), name)
            rows = rows[rows[key] == name]
        return rows.iloc[0]

    def pairs(self, measure: str, set: str, comparison: str) -> pd.DataFrame:
        """All comparisons behind a cell, the largest first: both sides, and `compared`."""
        names, every = [measure, set, comparison], self.sample.grid.combinations()
        [block] = [block for block in every if [*map(blocks.name_of, block)] == names]
        columns = {
            **_sides(self.sample, block),
            "compared": self.sample.compared(block),
        }
        order = {"ascending": False, "ignore_index": True, "kind": "stable"}
        return pd.DataFrame(columns).sort_values("compared", **order)


def make(
    data: Table,
    measures: Sequence | None = None,
    sets: Sequence = tuple(blocks.SETS),
    comparisons: Sequence = tuple(blocks.COMPARISONS),
    reductions: Sequence = tuple(blocks.REDUCTIONS),
    *,
    epsilon: float | None = None,
    bootstrap: int = DRAWS,
    permutations: int = DRAWS,
    seed: int = 0,
    wmean: Callable = chance.wmean,
) -> Report:
    """Every combination of the blocks (section 5.2), with what it is worth, in `Report.cells`.

    Blocks are as for `blocks.bias`; by default all named ones that the table has the columns for,
    but for ``curve``. `epsilon` is taken off every comparison. `bootstrap` draws give low and high,
    `permutations` p where more is more bias; 0 for none. value is NaN where nothing was estimable;
    compared and skipped count comparisons; group, F and rows are those of both sides that decide:
    the largest, for min the smallest, for means what contributes most. Lesson 09 hands on its own
    `wmean`."""
    grid = blocks.grid_of(data, measures, sets, comparisons, reductions, epsilon, wmean)
    sample, null = blocks.drawn(data, grid), None
    parts = [_cells(sample)]
    values = parts[0]["value"].to_numpy()
    if bootstrap:
        parts.append(resampling.bootstrap(data, grid, values, bootstrap, seed))
    if permutations:
        shuffled = resampling.samples(data, grid, permutations, seed, null=True)
        null = np.concatenate([part.cells() for part in shuffled])
        parts.append(resampling.p_values(values, null, resampling.tested(grid)))
    return Report(pd.concat(parts, axis=1), sample, null)


def rates(
    data: Table, of: str = "pr", *, draws: int = DRAWS, seed: int = 0
) -> pd.DataFrame:
    """A base measure of every group, with its interval; n rows count, such as positives for tpr.

    Rates (`blocks.SHARES`) have Wilson's interval, others a bootstrap's. With weights or clusters
    it is that of as many independent rows as have the same error (Korn and Graubard, *Survey
    Methodology* 24, 1998). With strata also adjusted: with everyone's mix of them."""
    grid = blocks.grid_of(data, [of], [blocks.alone], ["none"], ["max"])
    groups = len(data.groups)
    value = grid.measures[0].of(data.kinds, data.mass(data.pooled))[:groups]
    if of in blocks.SHARES:
        n, trials = intervals.independent(data, of, value)
        low, high = stats.wilson(np.nan_to_num(value).clip(0, 1) * trials, trials)
    else:
        counted = np.ones(len(data.kinds), bool)
        if "y_true" in grid.measures[0].needs:
            counted = (data.kinds["y_true"] != UNKNOWN).to_numpy()
        n = (data.groups.member @ data.pooled[:, counted].sum(1)).astype(int)
        drawn = pd.DataFrame(
            resampling.resampled(data, grid, draws, seed).f[of][:, :groups]
        )
        low, high = drawn.quantile([intervals.SIDE, 1 - intervals.SIDE]).to_numpy()
    columns = {
        "group": data.groups.names,
        "n": n,
        "value": value,
        "low": low,
        "high": high,
    }
    if data.counts.ndim == 3:
        columns["adjusted"] = blocks.drawn(data, grid).sides(of, blocks.alone)[0]
    return pd.DataFrame(columns)


def explain(
    report: Report,
    measure: str,
    set: str,
    comparison: str,
    reduction: str,
    top: int = 5,
):
    """What a cell was made from: ``cell``, its value and evidence; the `top` ``pairs`` (once where
    both directions give the same); ``counts`` of the two sides that decide."""
    cell = report.cell(measure, set, comparison, reduction)
    pairs = report.pairs(measure, set, comparison).dropna(subset=["compared"])
    pairs = pairs[::-1] if reduction == "min" else pairs
    both = [frozenset(p) for p in zip(pairs["group_i"], pairs["group_j"], strict=True)]
    again = pd.DataFrame(
        {"both": both, "compared": pairs["compared"].round(12)}
    ).duplicated()
    counts = report.units[report.units["unit"].isin([cell["group_i"], cell["group_j"]])]
    return {
        "cell": cell.drop([*KEYS, *SIDES]).astype(float).to_frame("worth"),
        "pairs": pairs[~again.to_numpy()].head(top).reset_index(drop=True),
        "counts": counts[["unit", "n", *CELLS, measure]].reset_index(drop=True),
    }


def _sides(sample: Sample, block: tuple) -> dict[str, np.ndarray]:
    """Both sides of all comparisons: the columns `SIDES`."""
    of, which, _ = block
    names = np.array(sample.data.units, dtype=object)
    sizes = sample.sizes.reshape(-1, len(names)).sum(0).astype(int)
    i, j = blocks.sides(sample.data, which)
    values = [names[i], names[j], *sample.sides(of.name, which), sizes[i], sizes[j]]
    return dict(zip(SIDES, values, strict=True))


def _cells(sample: Sample) -> pd.DataFrame:
    rows, heavy = [], {which: sample.weights(which) for which in sample.grid.sets}
    for block in sample.grid.combinations():
        compared, sides = sample.compared(block), _sides(sample, block)
        known = int((~np.isnan(compared)).sum())
        for reduction in sample.grid.reductions:
            value = float(
                sample.reduced(compared, reduction, block[1], heavy[block[1]])
            )
            names = [blocks.name_of(part) for part in (*block, reduction)]
            decides = {"max": compared, "min": -compared}.get(
                reduction, np.abs(compared)
            )
            at = np.argmax(np.where(np.isnan(compared), -np.inf, decides))
            nobody = ["", "", np.nan, np.nan, 0, 0]
            both = [side[at] for side in sides.values()] if known else nobody
            rows.append([*names, value, known, len(compared) - known, *both])
    return pd.DataFrame(rows, columns=[*KEYS, "value", "compared", "skipped", *SIDES])
