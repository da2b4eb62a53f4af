"""The paper's own names over the suite's blocks: its snippets run as printed but for the import.

    from helpers import fairness as fb

Forks, the way of section 5.1 to write many groups, are translated to `Groups`; reports are
`Report`. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from helpers.fairness import base, columns, counts, grouping, reporting, reports

UNI = {"sets": ("vsany",), "comparisons": ("rel", "abs"), "reductions": ("max", "mean", "wmean")}
MULTI = {"sets": ("pairs",), "comparisons": ("srel", "abs"), "reductions": ("max", "mean", "gini")}
WORST = {"sets": ("pairs",), "comparisons": ("none",), "reductions": ("min",)}


class _Categories:
    """``categories @ column``: a binary branch for every value of a categorical column."""

    def __matmul__(self, column: Any) -> dict[str, np.ndarray]:
        codes, names = columns.codes(column, "categories")
        seen = np.unique(codes)
        return {names[value]: (codes == value).astype(np.int8) for value in seen}


categories = _Categories()


class Fork:
    """Named branches: group memberships, or one number a group (section 5.1).

    Parameters
    ----------
    *dimensions : dict of name to binary column
        From ``categories @ column``: branches that exclude one another.
    **branches : binary column
        Groups that may overlap.
    """

    def __init__(self, *dimensions: dict, **branches: Any):
        parts = [*dimensions, *({name: value} for name, value in branches.items())]
        names = [name for part in parts for name in part]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"branches of one name: {', '.join(sorted(twice))}; rename the values")
        self.dimensions = parts
        self.branches = {name: value for part in parts for name, value in part.items()}

    def __getitem__(self, name: str) -> Any:
        return self.branches[name]

    def __getattr__(self, name: str) -> Any:
        if name != "branches" and name in self.branches:
            return self.branches[name]
        raise AttributeError(f"no branch {name!r}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.branches)

    def __len__(self) -> int:
        return len(self.branches)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {_shown(value)}" for name, value in self.branches.items())

    def intersectional(self) -> Fork:
        """All non-empty intersections of branches, single ones included (Equation 10)."""
        found: list[tuple[str, np.ndarray]] = []
        for part in self.dimensions:
            marks = {k: columns.binary(v, f"branch {k!r}") for k, v in part.items()}
            crossed = [(f"{a}{grouping.AND}{b}", x & y) for a, x in found for b, y in marks.items()]
            found += [*marks.items(), *((name, both) for name, both in crossed if both.any())]
        found.sort(key=lambda branch: branch[0].count(grouping.AND))
        return Fork(**dict(found))

    def sum(self) -> Fork:
        """Rows of every branch."""
        return Fork(**{k: int(columns.binary(v, k).sum()) for k, v in self.branches.items()})

    def groups(self) -> grouping.Groups:
        """The branches as groups; empty ones are left out."""
        return grouping.branches(self.branches)


def unireport(*, sensitive: Any, measures=None, **given: Any) -> reports.Report:
    """Every group against everyone (Equation 6), for all measures the columns allow."""
    return _report(sensitive, measures, given, UNI)


def multireport(*, sensitive: Any, measures=None, **given: Any) -> reports.Report:
    """All pairs of groups (Equation 7), for all measures the columns allow."""
    found = _report(sensitive, measures, given, MULTI)
    worst = _report(sensitive, measures, given, WORST)
    return combine(worst, found)


def combine(*several: reports.Report) -> reports.Report:
    """Reports of the same data side by side.

    Raises
    ------
    ValueError
        When they are not of the same groups and rows.
    """
    first = several[0]
    for other in several[1:]:
        same = other.settings == first.settings and other.units["unit"].equals(first.units["unit"])
        if not same:
            raise ValueError("reports of different data or settings cannot be combined")
    cells = pd.concat([r.cells for r in several], ignore_index=True)
    cells = cells.drop_duplicates(reports.KEYS, ignore_index=True)
    return replace(first, cells=cells)


def describe(found: reports.Report | Fork, digits: int = 3) -> None:
    """Print a report as a table of measures x (reduction, comparison, set), or a fork."""
    if isinstance(found, Fork):
        print(found)
        return
    wide = found.table()
    wide.columns = [f"{r} {c}\n{s}" for s, c, r in wide.columns]
    names = pd.DataFrame([c.split("\n") for c in wide.columns]).T
    lines = [names.iloc[0].tolist(), names.iloc[1].tolist()]
    body = [[name, *(_cell(v, digits) for v in row)] for name, *row in wide.itertuples()]
    table = [["measure", *lines[0]], ["", *lines[1]], *body]
    widths = [max(len(row[c]) for row in table) for c in range(len(table[0]))]
    for row in table:
        print("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip())


def visualize(found: reports.Report | Fork):
    """Draw a report as a heat map or a fork as bars -> matplotlib Figure."""
    from helpers import plots_fairness

    if isinstance(found, Fork):
        return plots_fairness.bars(pd.Series(found.branches))
    return plots_fairness.grid(found)


def interactive(found: reports.Report):
    """Explore a report in a notebook (Figure 2) -> ipywidgets box."""
    from helpers.fairness import explore

    return explore.widget(found)


def base_measure(name: str) -> Callable[..., Fork]:
    """A base measure as the paper calls it: columns and a fork in, a fork of numbers out."""

    def of_fork(*, sensitive: Any, **given: Any) -> Fork:
        data = counts.table(_groups(sensitive), **given)
        found = base.values(base.measure(name), data)
        return Fork(**dict(zip(data.groups.names, map(float, found), strict=False)))

    of_fork.__name__ = name
    of_fork.__doc__ = f"{name} of every branch of `sensitive`, as a fork of numbers."
    return of_fork


accuracy = base_measure("acc")


def _groups(sensitive: Any) -> grouping.Groups:
    return sensitive.groups() if isinstance(sensitive, Fork) else grouping.groups(sensitive)


def _report(sensitive: Any, measures, given: dict, blocks: dict) -> reports.Report:
    return reporting.report(counts.table(_groups(sensitive), **given), measures, **blocks)


def _shown(value: Any) -> str:
    return f"{value:g}" if np.ndim(value) == 0 else f"{np.sum(np.asarray(value))} rows"


def _cell(value: float, digits: int) -> str:
    return "not estimable" if np.isnan(value) else f"{value:.{digits}f}"
