"""The paper itself: Table 1, the code of section 5.2 and Figure 1.
With ``from helpers.blocks import paper as fb``, that code runs as printed."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from helpers.blocks import blocks, counts, report
from helpers.blocks.counts import Table
from helpers.blocks.report import KEYS, Report

TABLE_1 = {
    "|dfpr|": ("fpr", "compl", "sabs", "max"),
    "|dfnr|": ("fnr", "compl", "sabs", "max"),
    "|deo|": ("tpr", "compl", "sabs", "max"),
    "spsf": ("pr", "vsany", "abs", "wmean"),
    "fpsf": ("fpr", "vsany", "abs", "wmean"),
    "cv": ("pr", "compl", "sabs", "max"),
    "1 - prule": ("pr", "compl", "srel", "max"),
    "db": ("pr", "pairs", "srel", "max"),
    "F_bias": ("acc", "vsany", "abs", "max"),
    "wcb": ("acc", "pairs", "srel", "max"),
}
"""The rows of Table 1 but ib (notebook 09b): the four blocks of each. ``compl`` is for one group
and its complement. F_bias and wcb take any F, here acc, and F_bias any comparison and reduction."""
FIGURE_1 = {
    "min": (("pairs", "none", "min"), "value itself"),
    "wmean": ((blocks.alone, "none", "wmean_normalised"), "value itself"),
    "minratio": (("pairs", "srel", "max"), "1 is best"),  # 1 - the cell: smallest ratio
    "maxdiff": (("pairs", "abs", "max"), "0 is best"),
    "maxdiff,\neveryone": (("vsany", "abs", "max"), "0 is best"),
}
"""Columns of a report as FairBench prints it: the blocks they are made of, and what is best."""
UNI = (["vsany"], ["rel", "abs"], ["max", "mean", "wmean"])
MULTI = (["pairs"], ["srel", "abs"], ["max", "mean", "gini"])
WORST = (["pairs"], ["none"], ["min"])
COLUMNS = {"predictions": "y_pred", "labels": "y_true", "scores": "y_score"}
Fork = counts.branches


def by_name(data: Table, name: str, group: str | None = None) -> float:
    """A measure of Table 1 by its printed name. Those of one group and its complement are of
    `group`, or the largest over all groups (Equation 8)."""
    if name not in TABLE_1:
        raise ValueError(f"measure {name!r} is not known; there are {', '.join(TABLE_1)}")
    of, which, comparison, reduction = TABLE_1[name]
    if group is not None and which == "compl":
        at = np.array([data.groups.place(group)])
        which = lambda g: blocks.both_ways(at, g + 1 + at)  # noqa: E731
    return blocks.bias(data, of, which, comparison, reduction)


def table_1(data: Table, group: str | None = None) -> pd.DataFrame:
    """The rows of Table 1 with the blocks they are made of; `group` as in `by_name`."""
    rows = [[name, by_name(data, name, group), *of] for name, of in TABLE_1.items()]
    columns = ["measure", "value", "base", "set", "comparison", "reduction"]
    return pd.DataFrame(rows, columns=columns)


class _Categories:
    """``categories @ column``: a binary branch for every value of a categorical column."""

    def __matmul__(self, column: Any) -> dict[str, np.ndarray]:
        codes, names = counts.codes(column, "categories")
        return {name: codes == value for value, name in enumerate(names)}


categories = _Categories()


def unireport(*, sensitive: Any, **given: Any) -> Report:
    """Every group against everyone (Equation 6), for all measures the columns allow."""
    data = counts.table(sensitive, **{COLUMNS.get(n, n): value for n, value in given.items()})
    return report.make(data, None, *UNI, bootstrap=0, permutations=0)


def multireport(*, sensitive: Any, **given: Any) -> Report:
    """All pairs of groups (Equation 7), for all measures the columns allow."""
    data = counts.table(sensitive, **{COLUMNS.get(n, n): value for n, value in given.items()})
    made = (report.make(data, None, *of, bootstrap=0, permutations=0) for of in (WORST, MULTI))
    return combine(*made)


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


def figure_1(found: Report) -> pd.DataFrame:
    """A report as the paper prints it, a row for each measure and column of `FIGURE_1`.

    `gap` is whether the column compares groups, `size` how large its gap is, from 0. p (if any) is
    that of the gap by itself, `corrected` for all cells of the report (Benjamini and Hochberg)."""
    rows = []
    for of, column in itertools.product(found.sample.grid.measures, FIGURE_1):
        cell, best = FIGURE_1[column]
        value, gap = blocks.bias(found.sample.data, of, *cell), cell[1] != "none"
        known = found.cell(of.name, *cell) if gap else {}
        row = {"measure": of.name, "column": column, "best": best, "gap": gap}
        row |= {"value": 1 - value if column == "minratio" else value}
        row |= {"size": value if gap else np.nan}
        rows.append(row | {"p": known.get("p", np.nan), "corrected": known.get("p_bh", np.nan)})
    return pd.DataFrame(rows)
