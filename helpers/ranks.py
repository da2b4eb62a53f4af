"""Rank correlation with an interval: of independent points, and of two methods over pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.stats

from helpers.stats import Interval

PAIR = ["context_class", "object_class"]


def spearman(x, y, level: float = 0.95) -> Interval:
    """Spearman's correlation of independent points, with Bonett and Wright's interval.

    Fisher's z with variance (1 + r**2 / 2) / (n - 3), from *Sample size requirements for estimating
    Pearson, Kendall and Spearman correlations* (Psychometrika 65, 2000).

    Parameters
    ----------
    x, y : array (n,)
        One value each of every independent unit.
    level : float in (0, 1)

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
    half = scipy.stats.norm.ppf((1 + level) / 2) * np.sqrt((1 + r**2 / 2) / (len(x) - 3))
    low, high = np.tanh(np.arctanh(r) + np.array([-half, half]))
    return Interval(r, float(low), float(high))


def agreement(
    first: pd.DataFrame,
    second: pd.DataFrame,
    *,
    value: str = "context_effect",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """How alike two methods rank the pairs of object and context: Spearman over the pairs.

    The interval resamples each method's object images within their class. It speaks of other images
    in these pairs; the pairs themselves are all there are.

    Parameters
    ----------
    first, second : DataFrame
        From :func:`helpers.context.per_image`, of the same pairs.
    value : str
        The column whose mean over a pair's images is ranked.
    level : float in (0, 1)
    resamples, seed : int

    Returns
    -------
    Interval
        By percentiles of the resampled correlations; NaN ends where a resample has all pairs
        alike, so that it has none.

    Raises
    ------
    ValueError
        When the two have not the same pairs.
    """
    rng = np.random.default_rng(seed)
    pairs = [set(map(tuple, table[PAIR].to_numpy())) for table in (first, second)]
    if pairs[0] != pairs[1]:
        raise ValueError(f"the methods met different pairs: {sorted(pairs[0] ^ pairs[1])}")
    ranked = [
        scipy.stats.rankdata(_resampled(table, value, resamples, rng), axis=1)
        for table in (first, second)
    ]
    found = _pearson(*ranked)
    if np.isnan(found).any():  # all pairs alike, in the sample or in a resample
        return Interval(float(found[0]), np.nan, np.nan)
    low, high = np.quantile(found[1:], [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(found[0]), float(low), float(high))


def _resampled(table: pd.DataFrame, value: str, resamples: int, rng) -> np.ndarray:
    """Mean of every pair, (1 + resamples, pairs): of the sample itself, then of resamples."""
    means = []
    for _, part in table.sort_values(PAIR).groupby("object_class"):
        images = part.pivot(index="object", columns="context_class", values=value).to_numpy()
        draws = rng.integers(len(images), size=(resamples, len(images)))
        means.append(images[np.vstack([np.arange(len(images)), draws])].mean(1))
    return np.concatenate(means, 1)


def _pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correlation along the last axis; NaN where either side is constant."""
    x, y = x - x.mean(-1, keepdims=True), y - y.mean(-1, keepdims=True)
    spread = np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
    return np.divide((x * y).sum(-1), spread, out=np.full(spread.shape, np.nan), where=spread > 0)


def apart(first: pd.DataFrame, second: pd.DataFrame, value: str = "context_effect") -> pd.DataFrame:
    """Pairs side by side, those that the two methods rank most differently first.

    Parameters
    ----------
    first, second : DataFrame
        From :func:`helpers.context.effects`.
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
