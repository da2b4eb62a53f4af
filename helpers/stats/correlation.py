"""Rank correlation with its interval."""

import numpy as np
import scipy.stats

from helpers.stats.means import CONFIDENCE, Interval


def spearman(x, y) -> Interval:
    """Compute Spearman's correlation of independent points with its 95% interval.

    Parameters
    ----------
    x, y : array_like of shape (n,)

    Returns
    -------
    Interval
        Its ends are NaN for fewer than five points, or a correlation of 1 or -1.

    References
    ----------
    Bonett and Wright, *Psychometrika* 65, 2000.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    constant = len(x) < 2 or (x == x[0]).all() or (y == y[0]).all()
    r = np.nan if constant else float(scipy.stats.spearmanr(x, y).statistic)
    if len(x) < 5 or not abs(r) < 1:
        return Interval(r, np.nan, np.nan)
    error = np.sqrt((1 + r**2 / 2) / (len(x) - 3))
    half = scipy.stats.norm.ppf((1 + CONFIDENCE) / 2) * error
    low, high = np.tanh(np.arctanh(r) + np.array([-half, half]))
    return Interval(r, float(low), float(high))
