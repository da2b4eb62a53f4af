"""Reports: every cell of a grid with its evidence, and the way back from a cell to its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import artifacts
from helpers.fairness import compare, curves, evidence, grid
from helpers.fairness.counts import CELLS, Table, unit_counts
from helpers.fairness.grid import Grid, Sample

KEYS = ["measure", "set", "comparison", "reduction"]
FORMAT = 1


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
    units : DataFrame, one row a group, everyone, complement (and stratum, where adjusted)
        unit, n, tn, fn, fp, tp, small, and F by measure.
    settings : dict
        What decided it.
    data : Table or None
        Not saved; needed for rows and for pairs of curves.
    """

    cells: pd.DataFrame
    units: pd.DataFrame
    settings: dict
    data: Table | None = field(default=None, repr=False)

    def table(self, column: str = "value") -> pd.DataFrame:
        """Measures x (set, comparison, reduction), as in the paper's Figure 1."""
        wide = self.cells.set_index(KEYS)[column].unstack("measure").T
        order = self.cells[KEYS[1:]].drop_duplicates()
        columns = pd.MultiIndex.from_frame(order)
        return wide.reindex(index=self.cells["measure"].unique(), columns=columns)

    def cell(self, measure: str, set: str, comparison: str, reduction: str) -> pd.Series:
        """One cell, with all that is known about it.

        Raises
        ------
        KeyError
            When the report has no such cell; it lists the names of the block that does not fit.
        """
        wanted = dict(zip(KEYS, (measure, set, comparison, reduction), strict=True))
        for key, name in wanted.items():
            if name not in self.cells[key].values:
                raise KeyError(
                    f"no {key} {name!r} here; there are {list(self.cells[key].unique())}"
                )
        found = self.cells[(self.cells[KEYS] == list(wanted.values())).all(axis=1)]
        if found.empty:
            raise KeyError(f"{wanted} is not a cell of this report")
        return found.iloc[0]

    def pairs(self, measure: str, set: str, comparison: str, reduction: str = "") -> pd.DataFrame:
        """All comparisons behind a cell, the largest first.

        Returns
        -------
        DataFrame: group_i, group_j, f_i, f_j, n_i, n_j, compared; with adjusted reports `support`,
        the share of everyone in strata where both sides are estimable.
        """
        chosen, sample, block = self._block(measure, set, comparison)
        i, j = compare.pairs(self.settings["groups"], set)
        if comparison in curves.CURVES and self.data is None:
            raise ValueError("curves are not saved: load(path, data=table) to see their pairs")
        found = grid.compared(self._table(), chosen, sample, block)
        names, adjusted = self._names(), chosen.adjust is not None
        f, n = sample.f[measure], sample.sizes.sum(0) if adjusted else sample.sizes
        sides = grid.standardised(sample, measure, i, j) if adjusted else (f[i], f[j])
        table = pd.DataFrame(
            {
                "group_i": names[i],
                "group_j": names[j],
                "f_i": sides[0],
                "f_j": sides[1],
                "n_i": n[i].astype(int),
                "n_j": n[j].astype(int),
                "compared": found,
            }
        )
        if adjusted:
            table["support"] = grid.support(sample, measure, i, j)
        return table.sort_values("compared", ascending=False, ignore_index=True, kind="stable")

    def counts(self, unit: str) -> pd.DataFrame:
        """Counts and measures of a group, ``everyone`` or ``not <group>``."""
        found = self.units[self.units["unit"] == unit]
        if found.empty:
            raise KeyError(f"no group {unit!r} here; there are {list(self._names()[:20])}")
        return found

    def rows(self, unit: str) -> np.ndarray:
        """Places of a group's rows in the columns that were given, and so of its images."""
        if self.data is None:
            raise ValueError("rows are not saved with a report: load(path, data=table)")
        return self.data.groups.rows(unit)

    def save(self, path: str | Path) -> Path:
        """Write the report as JSON, whole or not at all. Rows and users' functions stay behind."""
        text = {
            "format": FORMAT,
            "settings": self.settings,
            "cells": self.cells.to_dict("list"),
            "units": self.units.to_dict("list"),
        }
        artifacts.write_text(Path(path), json.dumps(text, indent=0))
        return Path(path)

    def _names(self) -> np.ndarray:
        return self.units["unit"].iloc[: 2 * self.settings["groups"] + 1].to_numpy()

    def _block(self, measure: str, set: str, comparison: str):
        s = self.settings
        chosen = grid.Grid((), (set,), (comparison,), (), s["epsilon"], s["adjust"])
        width = 2 * s["groups"] + 1
        shape = (-1, width) if s["adjust"] else (width,)
        sample = Sample(
            {measure: self.units[measure].to_numpy(float).reshape(shape)},
            self.units["n"].to_numpy(float).reshape(shape),
        )
        of = grid.base.measure(measure) if comparison in curves.CURVES else _Named(measure)
        return chosen, sample, (of, set, comparison)

    def _table(self):
        return self.data if self.data is not None else _Sized(range(self.settings["groups"]))


@dataclass(frozen=True)
class _Named:
    name: str


@dataclass(frozen=True)
class _Sized:
    groups: range


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


def load(path: str | Path, data: Table | None = None) -> Report:
    """Read a report that `Report.save` wrote.

    Parameters
    ----------
    path : str or Path
    data : Table, optional
        The table it was made from, for rows and curves.

    Raises
    ------
    ValueError
        When the file is not such a report, or the table is another.
    """
    found = json.loads(Path(path).read_text())
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"{Path(path).name} is not a report that Report.save wrote")
    settings = found["settings"]
    if data is not None and (len(data), len(data.groups)) != (settings["rows"], settings["groups"]):
        raise ValueError(
            f"the table has {len(data)} rows and {len(data.groups)} groups, the report "
            f"{settings['rows']} and {settings['groups']}: it was made from another"
        )
    return Report(pd.DataFrame(found["cells"]), pd.DataFrame(found["units"]), settings, data)


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
