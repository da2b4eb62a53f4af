"""Reports that are held: their cells, the way back from a cell to its rows, and files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import artifacts
from helpers.fairness import compare, curves, grid
from helpers.fairness.counts import Table
from helpers.fairness.grid import Sample

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
