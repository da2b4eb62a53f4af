"""The paper itself: its snippets and its Figure 1.

The snippets of sections 5.1 and 5.2 run as printed but for the import:

    from helpers.blocks import paper as fb

Forks, the paper's way to write many groups, become `counts.Groups`; reports are `report.Report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

from helpers.blocks import blocks, columns, counts, report
from helpers.blocks.report import KEYS, Report

UNI = (["vsany"], ["rel", "abs"], ["max", "mean", "wmean"])
MULTI = (["pairs"], ["srel", "abs"], ["max", "mean", "gini"])
WORST = (["pairs"], ["none"], ["min"])
FIGURE_1 = {
    "min": ("pairs", "none", "min"),
    "wmean": (blocks.alone, "none", "wmean_normalised"),
    "minratio": ("pairs", "srel", "max"),  # 1 - the cell: the smallest ratio of two groups
    "maxdiff": ("pairs", "abs", "max"),
    "maxdiff,\neveryone": ("vsany", "abs", "max"),
}
"""Columns of a report as FairBench prints it, by the blocks they are made of."""


# --- snippets ---


class _Categories:
    """``categories @ column``: a binary branch for every value of a categorical column."""

    def __matmul__(self, column: Any) -> dict[str, np.ndarray]:
        codes, names = columns.codes(column, "categories")
        return {names[value]: codes == value for value in np.unique(codes)}


categories = _Categories()


class Fork(dict):
    """Named branches: binary columns of group members, or one number a group (section 5.1).

    Branches come from ``categories @ column``, or by name; they may overlap.
    """

    def __init__(self, *dimensions: Mapping[str, Any], **branches: Any):
        for name, value in [pair for part in (*dimensions, branches) for pair in part.items()]:
            if isinstance(value, Mapping):
                raise ValueError(
                    f"branch {name!r} is a whole dimension: give it without a name, as in "
                    "Fork(categories @ column), or unpack its branches"
                )
            if name in self:
                raise ValueError(f"branches of one name: {name}; rename the values")
            number = isinstance(value, int | float)
            self[name] = value if number else columns.binary(value, f"branch {name!r}")

    def __repr__(self) -> str:
        shown = {k: f"{v:g}" if np.ndim(v) == 0 else f"{v.sum()} rows" for k, v in self.items()}
        return "\n".join(f"{name}: {text}" for name, text in shown.items())

    def intersectional(self) -> Fork:
        """All non-empty intersections of branches, single ones included (Equation 10)."""
        found: dict[str, np.ndarray] = {}
        for name, rows in self.items():
            both = {f"{other}{counts.AND}{name}": rows & found[other] for other in found}
            found |= {name: rows} | {crossed: x for crossed, x in both.items() if x.any()}
        return Fork(found)

    def sum(self) -> Fork:
        """Rows of every branch."""
        return Fork({name: int(np.sum(value)) for name, value in self.items()})


def accuracy(*, sensitive: Any, predictions: Any, labels: Any) -> Fork:
    """Accuracy of every branch of `sensitive`, as a fork of numbers."""
    given = {"predictions": predictions, "labels": labels}
    units = report.make(_table(sensitive, given), ["acc"], *UNI).units
    return Fork(dict(zip(sensitive, units["acc"].tolist(), strict=False)))


def unireport(*, sensitive: Any, **given: Any) -> Report:
    """Every group against everyone (Equation 6), for all measures the columns allow."""
    return report.make(_table(sensitive, given), None, *UNI)


def multireport(*, sensitive: Any, **given: Any) -> Report:
    """All pairs of groups (Equation 7), for all measures the columns allow."""
    data = _table(sensitive, given)
    return combine(report.make(data, None, *WORST), report.make(data, None, *MULTI))


def combine(first: Report, second: Report) -> Report:
    """Two reports of the same data side by side."""
    if not first.units[["unit", "n"]].equals(second.units[["unit", "n"]]):
        raise ValueError("reports of different data cannot be combined")
    one, other = first.sample.grid, second.sample.grid
    kinds = ("sets", "comparisons", "reductions")
    both = {kind: dict.fromkeys(getattr(one, kind) + getattr(other, kind)) for kind in kinds}
    grid = replace(one, **{kind: tuple(blocks_) for kind, blocks_ in both.items()})
    cells = pd.concat([first.cells, second.cells]).drop_duplicates(KEYS, ignore_index=True)
    return Report(cells, replace(first.sample, grid=grid))


def describe(found: Report | Fork) -> None:
    """Print a report as a table of measures x (reduction, comparison, set), or a fork."""
    if isinstance(found, Report):
        wide = found.table().reorder_levels([2, 1, 0], axis=1)
        found = wide.to_string(float_format="{:.3f}".format, na_rep="not estimable")
    print(found)


def visualize(found: Report | Fork):
    """Draw a report as a heat map or a fork as bars -> matplotlib Figure."""
    figure, ax = plt.subplots()
    if isinstance(found, Fork):
        pd.Series(found).plot.barh(ax=ax)
    else:
        sns.heatmap(found.table(), ax=ax)
    return figure


interactive = report.widget


def _table(sensitive: Any, given: dict) -> counts.Table:
    names = {"predictions": "y_pred", "labels": "y_true", "scores": "y_score"}
    by = counts.branches(sensitive) if isinstance(sensitive, Fork) else sensitive
    return counts.table(by, **{names.get(name, name): value for name, value in given.items()})


# --- Figure 1 ---


def figure_1(found: Report) -> pd.DataFrame:
    """A report as the paper prints it: measure, column (of `FIGURE_1`), value, gap (whether it
    compares groups) and p (of gaps, each by itself, where the report has them).
    """
    rows = []
    for of in found.sample.grid.measures:
        for column, (which, how, reduction) in FIGURE_1.items():
            if callable(which):
                value, p = blocks.bias(found.sample.data, of, which, how, reduction), np.nan
            else:
                cell = found.cell(of.name, which, how, reduction)
                value, p = cell["value"], cell.get("p", np.nan)
            gap = how != "none"
            value = 1 - value if column == "minratio" else value
            rows.append([of.name, column, value, gap, p if gap else np.nan])
    return pd.DataFrame(rows, columns=["measure", "column", "value", "gap", "p"])
