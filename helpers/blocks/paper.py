"""The paper itself: its snippets, its Figure 1, and what notebook 09 claims of it.

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

from helpers.blocks import blocks, columns, counts, examples, named, report
from helpers.blocks.report import KEYS, Report
from helpers.run.findings import FAILS, HOLDS, UNDECIDED, Finding, equal, judge

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
SUITE = "this suite"
LIBRARIES = {"1 - prule": 0.447639, "cv": 0.263303, "|dfpr|": 0.228450, "|dfnr|": 0.226814}
"""Four libraries on COMPAS, African-American defendants against the rest."""
DARK_OR_WET = ("night", "rainy", "snowy")


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


# --- claims ---


def findings(
    compas: counts.Table,
    whole: Report,
    ten: pd.DataFrame,
    unbiased: pd.DataFrame,
    answers: pd.DataFrame,
    suite: pd.DataFrame,
    contrasts: pd.DataFrame,
) -> list[Finding]:
    """Judge the claims of notebook 09 by its tables: COMPAS counts and `ten` readings of them, the
    `whole` grid of an example, `evidence.without_bias`, `examples.answers`,
    `suite_rows.one_report` and `examples.contrasts`.
    """
    matched = sum(
        abs(named.by_name(compas, name, "African-American") - value) < 1e-6
        for name, value in LIBRARIES.items()
    )
    claim = "Measures composed from blocks are the ones other libraries define"
    unit = f"of {len(LIBRARIES)} on COMPAS"
    found = [equal(claim, "paper, section 3, Table 1", matched, len(LIBRARIES), unit=unit)]
    plain = answers[~answers["example"].isin(examples.REASONS)]
    claim = "Without 0/0 and ties, fairlearn and FairBench agree with every cell"
    differ = int((~plain["agree"]).sum())
    found.append(equal(claim, "paper, Figure 1", differ, 0, unit="cells differ"))
    found += _of_report(whole)
    differences = ten[(ten["comparison"] == "abs") & (ten["reduction"] == "max")]
    largest = differences.loc[differences["value"].idxmax()]
    smallest = differences.loc[differences["value"].idxmin()]
    spread = (
        largest["value"] / smallest["value"],
        largest["low"] / smallest["high"],
        largest["high"] / max(smallest["low"], 1e-9),
    )
    claim = "Of differences alone, one reads five times another, by the rate compared"
    found.append(judge(claim, SUITE, spread, above=5, unit="largest / smallest difference"))
    at = unbiased[(unbiased["n"] == 1000) & (unbiased["groups"] == 60)].iloc[0]
    claim = "Sixty groups without bias read above 0.5 in a thousand rows (db)"
    found.append(judge(claim, SUITE, tuple(at[["median", "low", "high"]]), above=0.5, unit="db"))
    first = suite.loc[suite["value"].idxmax()]
    claim = "The widest gap that the other notebooks measure is more than shuffled groups reach"
    ends, unit = tuple(first[["value", "low", "high"]]), "share served right"
    found.append(judge(claim, SUITE, ends, above=first["null_high"], unit=unit))
    return [*found, *_of_frames(contrasts)]


def _of_report(whole: Report) -> list[Finding]:
    """Section 5.2: the way back from cells to pairs, and what is said of the example there."""
    again, cells = 0, whole.cells[whole.cells["reduction"].isin(["max", "min", "mean"])]
    for names, part in cells.groupby(KEYS[:3], sort=False):
        behind = whole.pairs(*names)["compared"].agg(["max", "min", "mean"])
        back = part["reduction"].map(behind)
        again += int(np.isclose(back, part["value"], equal_nan=True).sum())
    claim = "The pairs behind a cell give its value again"
    found = [equal(claim, "paper, Figure 2", again, len(cells), unit=f"of {len(cells)} cells")]
    value = whole.cells.set_index(KEYS)["value"]
    same = [
        np.isclose(value[one, "pairs", how, "max"], value[other, "pairs", how, "max"])
        for one, other in (("tpr", "fnr"), ("tnr", "fpr"))
        for how in ("abs", "srel")
    ]
    claim = "Balance of tpr and tnr is balance of fnr and fpr, in differences and in ratios"
    where = "paper, section 5.2"
    return [*found, equal(claim, where, sum(same), 4, unit="of 4 cells of the example")]


def _of_frames(contrasts: pd.DataFrame, level: float = 0.05) -> list[Finding]:
    """Judged by p values corrected for all rows of the table, not by the interval of one row."""
    found, note = [], f"above 0 by p_holm ≤ {level:g}, over all {len(contrasts)} rows"
    asked = contrasts[contrasts["group"].isin(DARK_OR_WET)]
    for _, row in asked.iterrows():
        held = "as it is" if row["fixed"] == "nothing" else f"with {row['fixed']} held fixed"
        claim = f"Real {row['group']} frames are served worse, {held}"
        sided = HOLDS if row["worse"] > 0 else FAILS
        verdict = sided if row["p_holm"] <= level else UNDECIDED
        ends = row[["worse", "low", "high"]].astype(float)
        found.append(Finding(claim, SUITE, "", *ends, "share right", verdict, note))
    return found
