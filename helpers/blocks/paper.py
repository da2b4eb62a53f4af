"""The paper itself: its snippets and its Figure 1 (Table 1 stands in `named`).

With ``from helpers.blocks import paper as fb``, the code of section 5.2 runs as printed. Forks, the
paper's way to write many groups, are `counts.Groups`; reports are `report.Report`.
"""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from helpers.blocks import blocks, counts, report
from helpers.blocks.report import KEYS, Report

UNI = (["vsany"], ["rel", "abs"], ["max", "mean", "wmean"])
MULTI = (["pairs"], ["srel", "abs"], ["max", "mean", "gini"])
PLAIN = {"bootstrap": 0, "permutations": 0}  # as the paper prints its reports
WORST = (["pairs"], ["none"], ["min"])
FIGURE_1 = {
    "min": (("pairs", "none", "min"), "value itself"),
    "wmean": ((blocks.alone, "none", "wmean_normalised"), "value itself"),
    "minratio": (("pairs", "srel", "max"), "1 is best"),  # 1 - the cell: smallest ratio
    "maxdiff": (("pairs", "abs", "max"), "0 is best"),
    "maxdiff,\neveryone": (("vsany", "abs", "max"), "0 is best"),
}
"""Columns of a report as FairBench prints it: the blocks they are made of, and what is best."""


class _Categories:
    """``categories @ column``: a binary branch for every value of a categorical column."""

    def __matmul__(self, column: Any) -> dict[str, np.ndarray]:
        codes, names = counts.codes(column, "categories")
        return {names[value]: codes == value for value in np.unique(codes)}


categories = _Categories()
Fork = counts.branches


def unireport(*, sensitive: Any, **given: Any) -> Report:
    """Every group against everyone (Equation 6), for all measures the columns allow."""
    return report.make(_table(sensitive, given), None, *UNI, **PLAIN)


def multireport(*, sensitive: Any, **given: Any) -> Report:
    """All pairs of groups (Equation 7), for all measures the columns allow."""
    data = _table(sensitive, given)
    return combine(*(report.make(data, None, *of, **PLAIN) for of in (WORST, MULTI)))


def combine(first: Report, second: Report) -> Report:
    """Two reports of the same data side by side."""
    if not first.units[["unit", "n"]].equals(second.units[["unit", "n"]]):
        raise ValueError("reports of different data cannot be combined")
    measures, *parts = zip(first.sample.grid[:4], second.sample.grid[:4], strict=True)
    both = (tuple(dict.fromkeys(one + other)) for one, other in parts)
    cells = pd.concat([first.cells, second.cells]).drop_duplicates(KEYS, ignore_index=True)
    return Report(cells, first.sample._replace(grid=blocks.Grid(measures[0], *both)))


def describe(found: Report) -> None:
    """Print a report as a table of measures x (reduction, comparison, set)."""
    wide = found.table().reorder_levels([2, 1, 0], axis=1)
    print(wide.to_string(float_format="{:.3f}".format, na_rep="not estimable"))


def _table(sensitive: Any, given: dict) -> counts.Table:
    names = {"predictions": "y_pred", "labels": "y_true", "scores": "y_score"}
    return counts.table(sensitive, **{names.get(n, n): value for n, value in given.items()})


def figure_1(found: Report) -> pd.DataFrame:
    """A report as the paper prints it: measure, column (of `FIGURE_1`), value, best, gap, size, p
    and corrected.

    `gap` is whether the column compares groups, and `size` then how large its gap is, from 0. p is
    that of the gap by itself where the report has one, `corrected` for all cells of the report
    (Benjamini and Hochberg).
    """
    rows = []
    for of, (column, (cell, best)) in itertools.product(
        found.sample.grid.measures, FIGURE_1.items()
    ):
        value, gap = blocks.bias(found.sample.data, of, *cell), cell[1] != "none"
        known = found.cell(of.name, *cell) if gap else {}
        row = {"measure": of.name, "column": column, "best": best, "gap": gap}
        row |= {"value": 1 - value if column == "minratio" else value}
        row |= {"size": value if gap else np.nan}
        rows.append(row | {"p": known.get("p", np.nan), "corrected": known.get("p_bh", np.nan)})
    return pd.DataFrame(rows)
