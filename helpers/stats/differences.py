"""Newcombe's interval of a difference of two proportions, and where Wilson's of each one ends."""

import numpy as np

from helpers.stats import Interval


def wilson_end(share, n, z):
    """Compute where Wilson's interval of a share ends, at `z` standard errors from it.

    Parameters
    ----------
    share, n, z : array_like
        Shares, the numbers of rows that they are shares of, and normal quantiles: the low end
        for a negative z, the high end for a positive one. They are broadcast together.

    Returns
    -------
    numpy.ndarray
        Ends in [0, 1]; NaN where n is 0.
    """
    share, n, z = np.broadcast_arrays(*(np.asarray(x, float) for x in (share, n, z)))
    with np.errstate(divide="ignore", invalid="ignore"):
        per_row = z**2 / n
        centre = share + per_row / 2
        half = np.sign(z) * np.sqrt(share * (1 - share) * per_row + per_row**2 / 4)
        end = np.clip((centre + half) / (1 + per_row), 0, 1)
    end = np.where((share == 0) & (z <= 0), 0.0, end)
    return np.where(n > 0, np.where((share == 1) & (z >= 0), 1.0, end), np.nan)


def newcombe(first, second, correlation=0.0) -> Interval:
    """Compute Newcombe's 95% interval of the difference of two proportions.

    Each end's squared distance is the sum of the squared distances of the two proportions' interval
    ends (square-and-add). So the interval has a width where both proportions are 0 or 1.

    Parameters
    ----------
    first, second : tuple of array_like
        A proportion with the low and the high end of its own interval, such as `wilson`.
    correlation : array_like, default=0
        Of the two estimates: 0 for different rows, above 0 for rows of the same clusters.

    Returns
    -------
    Interval
        First minus second, of numbers or arrays.

    References
    ----------
    Newcombe, *Statistics in Medicine* 17, 1998, methods 10 of both papers (pages 873 and 2635).
    """
    p, p_low, p_high = (np.asarray(x, float) for x in first)
    q, q_low, q_high = (np.asarray(x, float) for x in second)

    def distance(one, other):
        squares = one**2 + other**2 - 2 * np.asarray(correlation) * one * other
        return np.sqrt(np.clip(squares, 0, None))

    low = p - q - distance(p - p_low, q_high - q)
    high = p - q + distance(p_high - p, q - q_low)
    if low.ndim == 0:
        return Interval(float(p - q), float(low), float(high))
    return Interval(p - q, low, high)
