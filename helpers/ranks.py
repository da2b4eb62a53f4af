"""Rank correlation with an interval: of independent points, and of two methods on the same images.
"""

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

    The interval resamples object images within their class, the same images for both methods. It
    speaks of other images in these pairs; the pairs themselves are all there are.

    Parameters
    ----------
    first, second : DataFrame
        From :func:`helpers.context.per_image`, of the same object images.
    value : str
        The column whose mean over a pair's images is ranked.
    level : float in (0, 1)
    resamples, seed : int

    Returns
    -------
    Interval
        By percentiles of the resampled correlations.

    Raises
    ------
    ValueError
        When the two have not the same pairs and images.
    """
    keys = [*PAIR, "object"]
    both = first[[*keys, value]].merge(second[[*keys, value]], on=keys)
    if len(both) != len(first) or len(both) != len(second):
        raise ValueError(
            f"the methods must have met the same images in the same pairs: {len(first)} and "
            f"{len(second)} rows, {len(both)} of them in common"
        )
    rng, means = np.random.default_rng(seed), []
    for _, part in both.groupby("object_class", sort=False):
        images = part.pivot_table(
            index="object", columns="context_class", values=[f"{value}_x", f"{value}_y"]
        )
        methods = images.to_numpy().reshape(len(images), 2, -1)
        draws = rng.integers(len(images), size=(resamples, len(images)))
        draws = np.vstack([np.arange(len(images)), draws])  # the sample itself comes first
        means.append(methods[draws].mean(1))
    ranked = scipy.stats.rankdata(np.concatenate(means, 2), axis=2)
    found = _pearson(ranked[:, 0], ranked[:, 1])
    low, high = np.nanquantile(found[1:], [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(found[0]), float(low), float(high))


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
