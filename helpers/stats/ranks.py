"""Rank correlation of independent points, with an interval."""

from __future__ import annotations

import numpy as np
import scipy.stats

from helpers.stats import Interval


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
    half = scipy.stats.norm.ppf(0.975) * np.sqrt((1 + r**2 / 2) / (len(x) - 3))
    low, high = np.tanh(np.arctanh(r) + np.array([-half, half]))
    return Interval(r, float(low), float(high))
