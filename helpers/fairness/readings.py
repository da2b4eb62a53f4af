"""A few cells at a time, with everything they are worth: for figures and lessons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import scipy.stats

from helpers.fairness import compare, evidence, grid
from helpers.fairness.counts import Table
from helpers.fairness.grouping import groups
from helpers.fairness.reporting import report

Blocks = tuple[str, str, str, str]
TEN: dict[str, Blocks] = {
    "1 - prule: ratio of positive rates": ("pr", "compl", "srel", "max"),
    "wcb of fnr: ratio of false negative rates": ("fnr", "pairs", "srel", "max"),
    "cv: difference of positive rates": ("pr", "compl", "abs", "max"),
    "spsf as printed, both directions": ("pr", "vsany", "abs", "wmean"),
    "|dfpr|: false positive rates": ("fpr", "compl", "abs", "max"),
    "|dfnr|: false negative rates": ("fnr", "compl", "abs", "max"),
    "gini of the groups' positive rates": ("pr", "pairs", "none", "gini"),
    "spsf normalised": ("pr", "vsany", "abs", "wmean_normalised"),
    "difference of precision": ("ppv", "compl", "abs", "max"),
    "difference of accuracy": ("acc", "compl", "abs", "max"),
}


def readings(
    data: Table,
    blocks: Mapping[str, Blocks],
    *,
    adjust: str | None = None,
    draws: int = 999,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Some cells with interval, p value and the range of their null.

    Parameters
    ----------
    data : Table
    blocks : mapping of a reading's name to (measure, set, comparison, reduction)
    adjust, level, seed
        As in `report`.
    draws : int
        Of the bootstrap and of the null.

    Returns
    -------
    DataFrame: reading, measure, set, comparison, reduction, value, low, high, null_low, null_high
    (the middle `level` of the null), p, group_i, group_j, n_i, n_j; in the order of `blocks`
    """
    found = []
    for name, (measure, *others) in blocks.items():
        one = ([measure], *([block] for block in others))
        given = report(data, *one, adjust=adjust, bootstrap=draws, level=level, seed=seed)
        chosen = grid.grid_of(data, *one, adjust=adjust)
        null = evidence.null_draws(data, chosen, draws, seed)
        cell = given.cells.iloc[0]
        p = evidence.p_values(np.array([cell["value"]]), null, [compare.tail(*others[1:])])
        sides = ((1 - level) / 2, (1 + level) / 2)
        low, high = np.nanquantile(null, sides) if np.isfinite(null).any() else (np.nan, np.nan)
        found.append({"reading": name, **cell, "null_low": low, "null_high": high, "p": p["p"][0]})
    columns = ["reading", "measure", "set", "comparison", "reduction", "value", "low", "high"]
    columns += ["null_low", "null_high", "p", "group_i", "group_j", "n_i", "n_j"]
    return pd.DataFrame(found, columns=columns)


def without_bias(
    rows: Sequence[int],
    group_counts: Sequence[int],
    blocks: Blocks = ("pr", "pairs", "srel", "max"),
    *,
    rate: float = 0.1,
    draws: int = 400,
    seed: int = 0,
) -> pd.DataFrame:
    """What a measure reads where nobody is treated differently, by rows and number of groups.

    Parameters
    ----------
    rows, group_counts : sequences of int
    blocks : (measure of predictions alone, set, comparison, reduction)
    rate : float
        P(prediction = 1) in every group; the groups are equally large on average.
    draws : int
        Tables drawn for every pair.
    seed : int

    Returns
    -------
    DataFrame: n, groups, median, low, high (the middle 90% of the tables where it is estimable)
    """
    rng, found = np.random.default_rng(seed), []
    measure, *others = blocks
    for count in group_counts:
        share = np.outer(np.full(count, 1 / count), [1 - rate, 0, rate, 0]).ravel()
        nothing = np.zeros(count, np.int8)
        empty = np.zeros((count, 4), int)
        data = Table(groups({"group": np.arange(count)}), empty, nothing, None, None, None)
        chosen = grid.grid_of(data, [measure], *([block] for block in others))
        for n in rows:
            drawn = rng.multinomial(n, share, size=draws).reshape(draws, count, 4)
            values = grid.compute(data, chosen, grid.drawn(data, chosen, drawn))[:, 0]
            low, middle, high = np.nanquantile(values, [0.05, 0.5, 0.95])
            found.append([n, count, middle, low, high])
    return pd.DataFrame(found, columns=["n", "groups", "median", "low", "high"])


def same_area(rows: int = 300, wider: float = 2.5) -> pd.DataFrame:
    """Scores of two groups whose roc curves enclose the same area and cross.

    Negatives are standard normal in both groups. Positives are normal with deviation 1 in
    ``narrow`` and `wider` in ``wide``, and the mean at which the area is Φ(1/√2) = 0.76. Scores are
    quantiles, not draws, and rounded to a tenth: some are tied.

    Parameters
    ----------
    rows : int
        Negatives, and positives, of each group.
    wider : float

    Returns
    -------
    DataFrame: group, label (0 or 1), score
    """
    places, found = scipy.stats.norm.ppf((np.arange(rows) + 0.5) / rows), []
    for group, deviation in (("narrow", 1.0), ("wide", wider)):
        mean = np.sqrt((1 + deviation**2) / 2)
        for label, scores in enumerate((places, mean + deviation * places)):
            found.append(pd.DataFrame({"group": group, "label": label, "score": scores.round(1)}))
    return pd.concat(found, ignore_index=True)


def rates(data: Table, measure: str = "pr", strata: bool = False) -> pd.DataFrame:
    """A measure that is a share, for every group with its Wilson interval.

    Parameters
    ----------
    data : Table
    measure : str
        pr, acc or error: shares of all rows of a group.
    strata : bool
        Add `adjusted`: with everyone's mix of the table's strata, over the strata where the group
        has rows.

    Returns
    -------
    DataFrame: group, n, value, low, high, and adjusted
    """
    from helpers import stats

    if measure not in ("pr", "acc", "error"):
        raise ValueError(f"measure {measure!r} is not a share of all rows: give pr, acc or error")
    chosen = grid.grid_of(data, [measure], ["vsany"], ["none"], ["max"])
    sample, g = grid.observed(data, chosen), len(data.groups)
    n, value = sample.sizes[:g].astype(int), sample.f[measure][:g]
    low, high = stats.wilson(np.round(np.nan_to_num(value) * n).astype(int), n)
    found = pd.DataFrame(
        {"group": data.groups.names, "n": n, "value": value, "low": low, "high": high}
    )
    if strata:
        adjusted = grid.grid_of(data, [measure], ["vsany"], ["none"], ["max"], None, "standardised")
        fixed = grid.observed(data, adjusted)
        found["adjusted"] = grid.standardised(fixed, measure, np.arange(g), np.full(g, g))[0]
    return found
