"""Measures of bias by their names in the literature, each as the blocks it is made of (Table 1).

Where the paper leaves a choice the choice has a name here, and the default is explained beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from scipy.spatial.distance import cdist

from helpers.fairness import base, grid
from helpers.fairness.columns import real
from helpers.fairness.counts import Table
from helpers.fairness.grouping import Groups

MOST_INDIVIDUALS = 20_000
BLOCKS = {
    "dfpr": ("fpr", "compl", "sabs", "max"),
    "dfnr": ("fnr", "compl", "sabs", "max"),
    "cv": ("pr", "compl", "sabs", "max"),
    "1-prule": ("pr", "compl", "srel", "max"),
    "spsf": ("pr", "vsany", "abs", "wmean"),
    "fpsf": ("fpr", "vsany", "abs", "wmean"),
    "db": ("pr", "pairs", "srel", "max"),
    "abroca": ("auc", "pairs", "curve", "max"),
}


def bias(
    data: Table,
    measure: str | base.Measure | Callable,
    set: str = "pairs",
    comparison: str | Callable = "abs",
    reduction: str | Callable = "max",
    *,
    epsilon: float | None = None,
    adjust: str | None = None,
) -> float:
    """One measure of bias from its four blocks (Equation 5).

    Returns
    -------
    float, NaN where no comparison is estimable

    Raises
    ------
    ValueError
        As `report`.
    """
    chosen = grid.grid_of(data, [measure], [set], [comparison], [reduction], epsilon, adjust)
    found = grid.compute(data, chosen, grid.observed(data, chosen))
    if found.shape[-1] == 0:
        raise ValueError(f"{chosen.measures[0].name} has no curve for comparison {comparison!r}")
    return float(found[0])


def only(data: Table, group: str) -> Table:
    """The same table with a single group, for measures defined for one group and its complement."""
    inside = data.groups.member[[data.groups.index(group)]]
    place = 1 - inside.toarray()[0].astype(int)
    one = Groups(
        (group,), data.groups.atoms, scipy.sparse.csr_array(inside), ((place, np.array([0])),)
    )
    return replace(data, groups=one)


def named(data: Table, name: str, group: str | None = None) -> float:
    """A measure of Table 1 by its name (or ``abroca``).

    Parameters
    ----------
    data : Table
    name : str
        dfpr, dfnr, cv, 1-prule: of one `group` against its complement, or the largest over all
        groups (Equation 8). spsf, fpsf: the sum weighted by group sizes, as printed; every group
        counts in both directions, so Kearns's weighted mean is half of it for exclusive groups
        (`bias(..., "wmean_normalised")`). db: differential bias of positive outcomes
        (`differential_bias` for all outcomes). deo: `opportunity_gap`.
    group : str, optional

    Raises
    ------
    ValueError
        For an unknown name.
    """
    if name not in BLOCKS and name != "deo":
        raise ValueError(f"measure {name!r} is not known; there are deo, {', '.join(BLOCKS)}")
    data = data if group is None else only(data, group)
    return opportunity_gap(data) if name == "deo" else bias(data, *BLOCKS[name])


def opportunity_gap(data: Table, y: int | str | None = 1) -> float:
    """|deo|, the equalised opportunity difference.

    Parameters
    ----------
    data : Table
    y : {1, 0, "worst", None}
        The paper's text conditions on Y = y for y in {0, 1}; its Table 1 leaves the condition out.
        1 (the default, as Hardt et al. name it): rows that deserve the positive outcome. 0: the
        others. "worst": the larger of the two (equalised odds). None: no condition, as the row of
        Table 1 reads, which makes it cv.
    """
    by = {1: ("tpr",), 0: ("fpr",), "worst": ("tpr", "fpr"), None: ("pr",)}
    if y not in by:
        raise ValueError(f"y={y!r} is not known; give 1, 0, 'worst' or None")
    found = [bias(data, of, "compl", "abs", "max") for of in by[y]]
    return float(np.nan if np.isnan(found).all() else np.nanmax(found))


def differential_bias(data: Table, outcomes: str = "positive") -> float:
    """db, from differential fairness (Foulds et al.): 1 - exp(-epsilon) for the least epsilon.

    Parameters
    ----------
    data : Table
        Of intersections, as in the definition (`table(..., intersect="joint")`).
    outcomes : {"positive", "all"}
        Table 1 compares positive rates only; the definition asks the same of every outcome.
    """
    if outcomes not in ("positive", "all"):
        raise ValueError(f"outcomes={outcomes!r} is not known; give 'positive' or 'all'")
    found = [bias(data, "pr", "pairs", "srel", "max")]
    if outcomes == "all":
        found.append(bias(data, NEGATIVE_RATE, "pairs", "srel", "max"))
    return float(np.nan if np.isnan(found).all() else np.nanmax(found))


def worst_case(data: Table, measure: str | base.Measure | Callable) -> float:
    """wcb of any base measure: 1 less the smallest ratio of two groups (Equation 3)."""
    return bias(data, measure, "pairs", "srel", "max")


def groups_vs_all(
    data: Table,
    measure: str | base.Measure | Callable,
    comparison: str | Callable = "abs",
    reduction: str | Callable = "max",
) -> float:
    """F_bias: every group against everyone, with any comparison and reduction (Equation 2)."""
    return bias(data, measure, "vsany", comparison, reduction)


def individual_bias(outcomes: Any, features: Any, dy: str = "cityblock", dx: str = "euclidean"):
    """ib: the largest ratio of outcome distance to input distance (Equation 4); fair up to 1.

    Parameters
    ----------
    outcomes : array (n,) of finite numbers
    features : array (n, d) of finite numbers
        Their scale decides: a distance of 1 has to mean "may differ by 1 in outcome".
    dy, dx : str or callable
        Distances, as scipy's `cdist` takes them.

    Returns
    -------
    float; infinite where equal inputs have different outcomes, NaN where all pairs are 0/0

    Raises
    ------
    ValueError
        For lengths that differ, values that are not finite, one row, or too many rows.
    """
    outcomes = real(outcomes, "outcomes")
    features = np.asarray(features, float).reshape(len(features), -1)
    n = len(outcomes)
    if len(features) != n or not np.isfinite(features).all() or n < 2:
        raise ValueError(
            f"expected finite features (n, d) for n = {n} outcomes, n of 2 or more, not "
            f"{features.shape} with {int((~np.isfinite(features)).sum())} values not finite"
        )
    if n > MOST_INDIVIDUALS:
        raise ValueError(
            f"{n:,} individuals make too many pairs; draw {MOST_INDIVIDUALS:,} of them"
        )
    largest = -np.inf
    for start in range(0, n, 512):
        mine = slice(start, start + 512)
        far = cdist(outcomes[mine, None], outcomes[:, None], dy)
        ratio = base.ratio(far, cdist(features[mine], features, dx))
        ratio[np.arange(len(ratio)), np.arange(start, start + len(ratio))] = np.nan
        largest = max(largest, np.max(np.where(np.isnan(ratio), -np.inf, ratio)))
    return float(largest) if largest > -np.inf else float("nan")


def table_1(data: Table, measure: str = "acc", group: str | None = None) -> pd.DataFrame:
    """All rows of Table 1 that the table has the columns for.

    Parameters
    ----------
    data : Table
    measure : str
        For the two frameworks that take any base measure (F_bias, wcb).
    group : str, optional
        For the rows defined for one group; by default the largest over all.

    Returns
    -------
    DataFrame: measure, value, base, set, comparison, reduction, choice
    """
    one = data if group is None else only(data, group)
    several = "largest over all groups" if group is None else group
    rows = [
        _row(one, "|dfpr|", "dfpr", several),
        _row(one, "|dfnr|", "dfnr", several),
        ["|deo|", opportunity_gap(one), "tpr", "compl", "sabs", "max", f"{several}; Y = 1"],
        _row(data, "spsf", "spsf", "as printed: not normalised, both directions"),
        _row(data, "fpsf", "fpsf", "as printed: not normalised, both directions"),
        _row(one, "cv", "cv", several),
        _row(one, "1 - prule", "1-prule", several),
        _row(data, "db", "db", "positive outcomes"),
        ["F_bias", groups_vs_all(data, measure), measure, "vsany", "abs", "max", f"F = {measure}"],
        ["wcb", worst_case(data, measure), measure, "pairs", "srel", "max", f"F = {measure}"],
    ]
    columns = ["measure", "value", "base", "set", "comparison", "reduction", "choice"]
    return pd.DataFrame(rows, columns=columns)


def _row(data: Table, shown: str, name: str, choice: str) -> list:
    return [shown, named(data, name), *BLOCKS[name], choice]


NEGATIVE_RATE = base.Measure(
    "nr",
    frozenset({"predictions"}),
    lambda c: base.ratio(c[..., base.TN] + c[..., base.FN], c.sum(-1)),
)
