"""The paper itself: its snippets and its Figure 1.

The snippets of sections 5.1 and 5.2 run as printed but for the import:

    from helpers.blocks import paper as fb

Forks, the paper's way to write many groups, become `counts.Groups`; reports are `report.Report`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

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
        return {names[value]: (codes == value).astype(np.int8) for value in np.unique(codes)}


categories = _Categories()


class Fork:
    """Named branches: group memberships, or one number a group (section 5.1).

    `dimensions` come from ``categories @ column``: branches that exclude one another. Branches
    given by name are binary columns that may overlap, or numbers.
    """

    def __init__(self, *dimensions: dict, **branches: Any):
        for name, value in branches.items():
            if isinstance(value, Mapping):
                raise ValueError(
                    f"branch {name!r} is a whole dimension: give it without a name, as in "
                    "Fork(categories @ column), or unpack its branches"
                )
        self.dimensions = [
            {name: _branch(name, value) for name, value in part.items()}
            for part in (*dimensions, *({name: value} for name, value in branches.items()))
        ]
        names = [name for part in self.dimensions for name in part]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"branches of one name: {', '.join(sorted(twice))}; rename the values")
        self.branches = {name: value for part in self.dimensions for name, value in part.items()}

    def __getitem__(self, name: str) -> Any:
        return self.branches[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.branches)

    def __repr__(self) -> str:
        shown = {k: f"{v:g}" if np.ndim(v) == 0 else f"{v.sum()} rows" for k, v in self._items()}
        return "\n".join(f"{name}: {text}" for name, text in shown.items())

    def _items(self):
        return self.branches.items()

    def intersectional(self) -> Fork:
        """All non-empty intersections of branches, single ones included (Equation 10)."""
        found: list[tuple[str, np.ndarray]] = []
        for part in self.dimensions:
            crossed = [(f"{a}{counts.AND}{b}", x & y) for a, x in found for b, y in part.items()]
            found += [*part.items(), *((name, both) for name, both in crossed if both.any())]
        found.sort(key=lambda branch: branch[0].count(counts.AND))
        return Fork(**dict(found))

    def sum(self) -> Fork:
        """Rows of every branch."""
        return Fork(**{name: int(np.sum(value)) for name, value in self._items()})


def _branch(name: str, value: Any) -> Any:
    is_number = not isinstance(value, str) and np.ndim(value) == 0
    return value if is_number else columns.binary(value, f"branch {name!r}")


def accuracy(*, sensitive: Any, predictions: Any, labels: Any) -> Fork:
    """Accuracy of every branch of `sensitive`, as a fork of numbers."""
    data = _table(sensitive, {"predictions": predictions, "labels": labels})
    found = blocks.values(blocks.measure("acc"), data)
    return Fork(**dict(zip(data.groups.names, map(float, found), strict=False)))


def unireport(*, sensitive: Any, **given: Any) -> Report:
    """Every group against everyone (Equation 6), for all measures the columns allow."""
    return report.make(_table(sensitive, given), None, *UNI)


def multireport(*, sensitive: Any, **given: Any) -> Report:
    """All pairs of groups (Equation 7), for all measures the columns allow."""
    data = _table(sensitive, given)
    return combine(report.make(data, None, *WORST), report.make(data, None, *MULTI))


def combine(first: Report, *others: Report) -> Report:
    """Reports of the same data side by side."""
    for other in others:
        if not other.units[["unit", "n"]].equals(first.units[["unit", "n"]]):
            raise ValueError("reports of different data cannot be combined")
    cells = pd.concat([r.cells for r in (first, *others)], ignore_index=True)
    parts = {
        name: tuple(dict.fromkeys(b for r in (first, *others) for b in getattr(r.grid, name)))
        for name in ("sets", "comparisons", "reductions")
    }
    cells = cells.drop_duplicates(KEYS, ignore_index=True)
    return replace(first, cells=cells, grid=replace(first.grid, **parts))


def describe(found: Report | Fork) -> None:
    """Print a report as a table of measures x (reduction, comparison, set), or a fork."""
    if isinstance(found, Fork):
        print(found)
    else:
        wide = found.table().reorder_levels([2, 1, 0], axis=1)
        print(wide.to_string(float_format="{:.3f}".format, na_rep="not estimable"))


def visualize(found: Report | Fork):
    """Draw a report as a heat map or a fork as bars -> matplotlib Figure."""
    from helpers.figures import blocks as figures

    if isinstance(found, Fork):
        return pd.Series(found.branches).plot.barh().figure
    return figures.grid(found.table())


interactive = report.widget


def _table(sensitive: Any, given: dict) -> counts.Table:
    names = {"predictions": "y_pred", "labels": "y_true", "scores": "y_score"}
    by = counts.branches(sensitive.branches) if isinstance(sensitive, Fork) else sensitive
    return counts.table(by, **{names.get(name, name): value for name, value in given.items()})


# --- Figure 1 ---


def figure_1(found: Report) -> pd.DataFrame:
    """A report as the paper prints it: measure, column (of `FIGURE_1`), value, gap (whether it
    compares groups) and p (of gaps, each by itself, where the report has them).
    """
    rows = []
    for of in found.grid.measures:
        for column, (which, how, reduction) in FIGURE_1.items():
            p = np.nan
            if callable(which):
                value = blocks.bias(found.data, of, which, how, reduction)
            else:
                cell = found.cell(of.name, which, how, reduction)
                value, p = cell["value"], cell.get("p", np.nan)
            gap = how != "none"
            value = 1 - value if column == "minratio" else value
            rows.append([of.name, column, value, gap, p if gap else np.nan])
    return pd.DataFrame(rows, columns=["measure", "column", "value", "gap", "p"])
