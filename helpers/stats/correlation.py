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
    n = len(x)
    if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Interval(np.nan, np.nan, np.nan)
    r = float(scipy.stats.spearmanr(x, y).statistic)
    if n < 5 or abs(r) >= 1:
        return Interval(r, np.nan, np.nan)
    variance = (1 + r**2 / 2) / (n - 3)
    upper = (1 + CONFIDENCE) / 2
    half = scipy.stats.norm.ppf(upper) * np.sqrt(variance)
    z = np.arctanh(r)
    low = np.tanh(z - half)
    high = np.tanh(z + half)
    return Interval(r, float(low), float(high))
