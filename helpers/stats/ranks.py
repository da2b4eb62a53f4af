"""Rank correlation with an interval: of independent points, and of two methods over pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.stats

from helpers.stats import UPPER, Interval, bootstrap

PAIR = ["context_class", "object_class"]


def spearman(x, y) -> Interval:
    """Spearman's correlation of independent points, with Bonett and Wright's 95% interval.

    Fisher's z with variance (1 + r**2 / 2) / (n - 3), from *Sample size requirements for estimating
    Pearson, Kendall and Spearman correlations* (Psychometrika 65, 2000).

    Parameters
    ----------
    x, y : array (n,)
        One value each of every independent unit.

    Returns
    -------
    Interval
        NaN ends for fewer than five points, or a correlation of 1 or -1.

    Raises
    ------
    ValueError
        For x and y of different lengths.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"x and y must be one value a unit, not {x.shape} and {y.shape}")
    constant = len(x) < 2 or (x == x[0]).all() or (y == y[0]).all()
    r = np.nan if constant else float(scipy.stats.spearmanr(x, y).statistic)
    if len(x) < 5 or not abs(r) < 1:
        return Interval(r, np.nan, np.nan)
    half = scipy.stats.norm.ppf(UPPER) * np.sqrt((1 + r**2 / 2) / (len(x) - 3))
    low, high = np.tanh(np.arctanh(r) + np.array([-half, half]))
    return Interval(r, float(low), float(high))


def agreement(
    first: pd.DataFrame, second: pd.DataFrame, *, value: str = "context_effect"
) -> Interval:
    """How alike two methods rank the pairs of object and context: Spearman over the pairs.

    The interval speaks of other trainings and other images in these pairs (`stats.bootstrap`); the
    pairs themselves are all there are.

    Parameters
    ----------
    first, second : DataFrame
        From :func:`helpers.contexts.context.per_image`, of the same pairs and trainings.
    value : str
        The column whose mean over a pair's trainings and images is ranked.

    Returns
    -------
    Interval
        NaN ends where all pairs are alike, so that there is no correlation.

    Raises
    ------
    ValueError
        When the two have not the same pairs.
    """
    pairs = [set(map(tuple, table[PAIR].to_numpy())) for table in (first, second)]
    if pairs[0] != pairs[1]:
        raise ValueError(f"the methods met different pairs: {sorted(pairs[0] ^ pairs[1])}")
    groups = [_of_objects(table, value) for table in (first, second)]
    number = len(groups[0])

    def correlation(parts: list[np.ndarray]) -> float:
        means = [
            np.concatenate([g.mean((0, 1)) for g in h]) for h in (parts[:number], parts[number:])
        ]
        x, y = (scipy.stats.rankdata(mean) for mean in means)
        return float(np.corrcoef(x, y)[0, 1]) if x.std() and y.std() else np.nan

    return bootstrap(correlation, [*groups[0], *groups[1]])


def _of_objects(table: pd.DataFrame, value: str) -> list[np.ndarray]:
    """One array (trainings, images, contexts) an object class: its images met every context."""
    found = []
    for _, part in table.sort_values(PAIR).groupby("object_class"):
        wide = part.set_index(["training", "object", "context_class"])[value].unstack()
        found.append(wide.to_numpy().reshape(part["training"].nunique(), -1, wide.shape[1]))
    return found


def apart(first: pd.DataFrame, second: pd.DataFrame, value: str = "context_effect") -> pd.DataFrame:
    """Pairs side by side, those that the two methods rank most differently first.

    Parameters
    ----------
    first, second : DataFrame
        From :func:`helpers.contexts.context.effects`.
    value : str

    Returns
    -------
    DataFrame
        context_class, object_class, `value` with its interval of each (suffixes ``_first`` and
        ``_second``), rank_first, rank_second (1 is the smallest effect), and ranks_apart.
    """
    columns = [*PAIR, value, f"{value}_low", f"{value}_high"]
    both = first[columns].merge(second[columns], on=PAIR, suffixes=("_first", "_second"))
    for name in ("first", "second"):
        both[f"rank_{name}"] = both[f"{value}_{name}"].rank()
    both["ranks_apart"] = (both["rank_first"] - both["rank_second"]).abs()
    return both.sort_values("ranks_apart", ascending=False, kind="stable", ignore_index=True)
