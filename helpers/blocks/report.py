"""Every combination of the blocks with what it is worth, and the way back from a cell to its rows.

The paper's Figure 2 explores a report by clicking. Each step is a plain function here that returns
tables; `widget` only calls them when a choice changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.blocks import blocks, evidence
from helpers.blocks.blocks import Grid, Sample
from helpers.blocks.counts import CELLS, Table, counted, unit_counts

KEYS = ["measure", "set", "comparison", "reduction"]
SIDES = ["group_i", "group_j", "f_i", "f_j", "n_i", "n_j"]


@dataclass(frozen=True)
class Report:
    """All cells of a grid.

    Attributes
    ----------
    cells : DataFrame, one row a cell
        measure, set, comparison, reduction : the blocks
        value : NaN where nothing was estimable
        compared, skipped : comparisons that were, or were not, estimable
        group_i, group_j, f_i, f_j, n_i, n_j : the two sides of the comparison that decides: the
        largest for max, the smallest for min, the one that contributes most for the others
        and with bootstrap low, high; with permutations p, p_holm, p_bh, p_minp, tail.
    units : DataFrame, one row a group, everyone, complement (and stratum, where held fixed)
        unit, n, tn, fn, fp, tp, and F by measure.
    data, grid : Table, Grid
        What it was made from.
    """

    cells: pd.DataFrame
    units: pd.DataFrame
    data: Table
    grid: Grid

    def table(self, column: str = "value") -> pd.DataFrame:
        """Measures x (set, comparison, reduction), as in the paper's Figure 1."""
        wide = self.cells.set_index(KEYS)[column].unstack("measure").T
        order = self.cells[KEYS[1:]].drop_duplicates()
        columns = pd.MultiIndex.from_frame(order)
        return wide.reindex(index=self.cells["measure"].unique(), columns=columns)

    def cell(self, measure: str, set: str, comparison: str, reduction: str) -> pd.Series:
        """One cell, with all that is known about it; an unknown one is refused by its block."""
        cells = self.cells
        for key, name in zip(KEYS, (measure, set, comparison, reduction), strict=True):
            here = cells[key].unique().tolist()
            if name not in here:
                raise KeyError(f"no cell of {key} {name!r} here; there are {', '.join(here)}")
            cells = cells[cells[key] == name]
        return cells.iloc[0]

    def pairs(self, measure: str, set: str, comparison: str) -> pd.DataFrame:
        """All comparisons behind a cell, the largest first: both sides, and `compared`."""
        [block] = [b for b in self.grid.combinations() if _names(b) == [measure, set, comparison]]
        sample = blocks.observed(self.data, self.grid)
        found = blocks.compared(self.data, self.grid, sample, block)
        sides = _sides(self.data, self.grid, sample, block)
        table = pd.DataFrame(dict(zip(SIDES, sides, strict=True))).assign(compared=found)
        return table.sort_values("compared", ascending=False, ignore_index=True, kind="stable")

    def rows(self, unit: str) -> np.ndarray:
        """Places of a group's rows in the columns that were given, and so of its images."""
        return self.data.groups.rows(unit)


def make(
    data: Table,
    measures: Sequence | None = None,
    sets: Sequence = tuple(blocks.SETS),
    comparisons: Sequence = tuple(blocks.COMPARISONS),
    reductions: Sequence = tuple(blocks.REDUCTIONS),
    *,
    epsilon: float | None = None,
    adjust: str | None = None,
    bootstrap: int = 0,
    permutations: int = 0,
    seed: int = 0,
) -> Report:
    """Every combination of the blocks (section 5.2), with what it is worth.

    Parameters
    ----------
    data : Table
        From `counts.table`.
    measures, sets, comparisons, reductions : sequences
        Names or functions of each kind of block, as `blocks.bias` takes them; by default all named
        ones that the table has the columns for. ``curve`` and ``curve_dcg`` have to be asked for.
    epsilon : float, optional
        Accepted deviation, taken off every comparison.
    adjust : {None, "standardised"}
        Hold the table's strata fixed: F of both sides with everyone's mix of strata.
    bootstrap, permutations : int
        Draws for the intervals and for the permutation null; 0 for none.
    seed : int

    Raises
    ------
    ValueError
        For unknown blocks, columns that a measure needs and the table lacks, or too many groups.
    """
    grid = blocks.grid_of(data, measures, sets, comparisons, reductions, epsilon, adjust)
    sample = blocks.observed(data, grid)
    cells = _cells(data, grid, sample)
    values = cells["value"].to_numpy()
    if bootstrap:
        ends = evidence.bootstrap(data, grid, values, bootstrap, seed)
        cells = pd.concat([cells, ends], axis=1)
    if permutations:
        null = evidence.null_draws(data, grid, permutations, seed)
        cells = pd.concat([cells, _tested(grid, values, null)], axis=1)
    return Report(cells, _units(data, grid, sample), data, grid)


def readings(
    data: Table,
    wanted: Mapping[str, tuple[str, str, str, str]],
    *,
    adjust: str | None = None,
    draws: int = 999,
    seed: int = 0,
) -> pd.DataFrame:
    """Some cells, (measure, set, comparison, reduction) by their names, with what each is worth.

    Returns
    -------
    DataFrame: reading, measure, set, comparison, reduction, value, low, high, null_low, null_high
    (the middle 95% of the null), p, group_i, group_j, n_i, n_j; in the order of `wanted`
    """
    found, ends = [], (evidence.SIDE, 1 - evidence.SIDE)
    for name, (measure, *others) in wanted.items():
        one = ([measure], *([block] for block in others))
        given = make(data, *one, adjust=adjust, bootstrap=draws, seed=seed)
        cell = given.cells.iloc[0]
        null = evidence.null_draws(data, given.grid, draws, seed)
        tested = _tested(given.grid, given.cells["value"].to_numpy(), null).iloc[0]
        low, high = np.nanquantile(null, ends) if np.isfinite(null).any() else (np.nan, np.nan)
        found.append({"reading": name, **cell, "null_low": low, "null_high": high, **tested})
    columns = ["reading", *KEYS, "value", "low", "high", "null_low", "null_high", "p"]
    return pd.DataFrame(found)[[*columns, "group_i", "group_j", "n_i", "n_j"]]


def rates(data: Table, measure: str = "pr", strata: bool = False) -> pd.DataFrame:
    """A share of all rows (pr, acc or error) with Wilson intervals: group, n, value, low, high.

    With `strata` also adjusted: with everyone's mix of the strata where the group has rows.
    """
    if measure not in ("pr", "acc", "error"):
        raise ValueError(f"measure {measure!r} is not a share of all rows: give pr, acc or error")
    grid = blocks.grid_of(data, [measure], ["vsany"])
    sample, g = blocks.observed(data, grid), len(data.groups)
    n, value = sample.sizes[:g].astype(int), sample.f[measure][:g]
    low, high = stats.wilson(np.round(np.nan_to_num(value) * n).astype(int), n)
    columns = {"group": data.groups.names, "n": n, "value": value, "low": low, "high": high}
    if strata:
        grid = replace(grid, adjust="standardised")
        fixed = blocks.observed(data, grid)
        columns["adjusted"] = blocks.standardised(fixed, measure, *blocks.alone(g))[0]
    return pd.DataFrame(columns)


def explain(report: Report, measure: str, set: str, comparison: str, reduction: str, top: int = 5):
    """What a cell was made from, in three tables: ``cell`` (its value and evidence), ``pairs`` (the
    `top` comparisons, each once where both directions give the same) and ``counts`` (of the two
    sides that decide).
    """
    cell = report.cell(measure, set, comparison, reduction)
    pairs = report.pairs(measure, set, comparison)
    if reduction == "min":
        pairs = pairs.iloc[::-1]
    pairs = pairs.dropna(subset=["compared"]).reset_index(drop=True)
    both = [frozenset(p) for p in zip(pairs["group_i"], pairs["group_j"], strict=True)]
    again = pd.DataFrame({"both": both, "compared": pairs["compared"].round(12)}).duplicated()
    sides = [side for side in (cell["group_i"], cell["group_j"]) if side]
    columns = [c for c in report.units if c in ("unit", "stratum", "n", *CELLS)]
    counts = report.units[report.units["unit"].isin(sides)]
    return {
        "cell": cell.to_frame("value"),
        "pairs": pairs[~again].head(top).reset_index(drop=True),
        "counts": counts[[*columns, measure]].reset_index(drop=True),
    }


def widget(report: Report):
    """Four menus over `explain`, for a kernel -> ipywidgets.VBox of the menus and their page."""
    import ipywidgets

    menus = [
        ipywidgets.Dropdown(options=list(report.cells[key].unique()), description=key)
        for key in KEYS
    ]
    page = ipywidgets.HTML()

    def show(_=None) -> None:
        try:
            found = explain(report, *(menu.value for menu in menus))
            page.value = "".join(f"<h4>{k}</h4>{_html(t)}" for k, t in found.items())
        except (KeyError, ValueError) as error:
            page.value = f"<p>{error.args[0]}</p>"

    for menu in menus:
        menu.observe(show, names="value")
    show()
    return ipywidgets.VBox([ipywidgets.HBox(menus), page])


def _html(table: pd.DataFrame) -> str:
    return table.to_html(float_format="{:.3f}".format, border=0, na_rep="not estimable")


def _names(block: tuple) -> list[str]:
    return [block[0].name, *(blocks.name_of(part) for part in block[1:])]


def _sides(data: Table, grid: Grid, sample: Sample, block) -> list[np.ndarray]:
    """Both sides of all comparisons, in the order of `SIDES`."""
    of, which, _ = block
    names = np.array(data.units, dtype=object)
    sizes = (sample.sizes.sum(0) if grid.adjust else sample.sizes).astype(int)
    (i, j), both = blocks.sides(data, which), blocks.sides_of(data, grid, sample, of.name, which)
    return [names[i], names[j], *both, sizes[i], sizes[j]]


def _cells(data: Table, grid: Grid, sample: Sample) -> pd.DataFrame:
    rows, heavy = [], {w: blocks.pair_weights(data, grid, sample, w) for w in grid.sets}
    for block in grid.combinations():
        found = blocks.compared(data, grid, sample, block)
        sides = _sides(data, grid, sample, block)
        known = int((~np.isnan(found)).sum())
        for reduction in grid.reductions:
            value = float(blocks.reduce(found, reduction, heavy[block[1]]))
            at = _deciding(found, reduction)
            nobody = ["", "", np.nan, np.nan, 0, 0]
            row = [*_names(block), blocks.name_of(reduction), value, known, len(found) - known]
            rows.append(row + (nobody if at < 0 else [side[at] for side in sides]))
    return pd.DataFrame(rows, columns=[*KEYS, "value", "compared", "skipped", *SIDES])


def _deciding(compared: np.ndarray, how: str | Callable) -> int:
    """Place of the comparison that decides a reduction, -1 where none is estimable."""
    known = ~np.isnan(compared)
    if not known.any():
        return -1
    if how == "min":
        return int(np.argmin(np.where(known, compared, np.inf)))
    size = compared if how == "max" else np.abs(compared)
    return int(np.argmax(np.where(known, size, -np.inf)))


def _tested(grid: Grid, values: np.ndarray, null: np.ndarray) -> pd.DataFrame:
    tails = [
        evidence.tail(how, reduction)
        for _, _, how in grid.combinations()
        for reduction in grid.reductions
    ]
    return evidence.p_values(values, null, tails).assign(tail=tails)


def _units(data: Table, grid: Grid, sample: Sample) -> pd.DataFrame:
    strata = data.stratum_names if grid.adjust else ()
    counts = counted(data, True) if grid.adjust else data.counts
    each = np.round(unit_counts(data.groups, counts)).astype(int).reshape(-1, 4).T
    sizes = sample.sizes.reshape(-1).astype(int)
    columns = {"unit": list(data.units) * max(1, len(strata))}
    if grid.adjust:
        columns["stratum"] = np.repeat(strata, len(data.units))
    columns |= {"n": sizes, **dict(zip(CELLS, each, strict=True))}
    return pd.DataFrame(columns | {name: f.reshape(-1) for name, f in sample.f.items()})
