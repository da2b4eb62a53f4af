"""Intervals, null tests and multiplicity, for samples in which the image is the unit.

Several mosaics made from one object image are not several observations: they share that image. So
values are averaged within an image first (`cluster_means`), and images are what is resampled or
sign flipped.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint


class Interval(NamedTuple):
    """An estimate and the ends of its interval; NaN ends where the data cannot give one."""

    estimate: float
    low: float
    high: float


def wilson(k, n, level: float = 0.95):
    """Wilson's score interval of a share k / n (statsmodels).

    Parameters
    ----------
    k, n : int or array of int
        Successes and trials, 0 <= k <= n. For n = 0 the interval is (0, 1): nothing is known.
    level : float in (0, 1)

    Returns
    -------
    low, high : float, or float64 arrays of the shape of k and n

    Raises
    ------
    ValueError
        For k outside 0..n or a level outside (0, 1).
    """
    _check_level(level)
    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    if not ((k >= 0) & (k <= n)).all():
        raise ValueError(f"k must lie in 0..n, but k={k.tolist()} for n={n.tolist()}")
    low, high = proportion_confint(k, np.where(n > 0, n, 1), alpha=1 - level, method="wilson")
    # The closed form misses 0 and 1 by a last digit at k = 0 and k = n.
    low, high = np.where((n == 0) | (k == 0), 0.0, low), np.where((n == 0) | (k == n), 1.0, high)
    return (float(low), float(high)) if k.ndim == 0 else (low, high)


def newcombe(k1: int, n1: int, k2: int, n2: int, level: float = 0.95) -> Interval:
    """Newcombe's interval of a difference of independent shares, k1 / n1 - k2 / n2 (statsmodels).

    Parameters
    ----------
    k1, n1, k2, n2 : int
        Successes and trials of each, 0 <= k <= n, n > 0.
    level : float in (0, 1)
    """
    low, high = confint_proportions_2indep(
        k1, n1, k2, n2, method="newcomb", compare="diff", alpha=1 - level
    )
    return Interval(k1 / n1 - k2 / n2, low, high)


def cluster_means(values, clusters) -> np.ndarray:
    """Mean of `values` within each cluster, in the order of the sorted cluster names.

    Parameters
    ----------
    values : array (n,) or (n, m)
    clusters : array (n,)
        The image each value belongs to.

    Returns
    -------
    float64 array (number of clusters,) or (number of clusters, m)
    """
    values = np.asarray(values, float)
    frame = pd.DataFrame(values.reshape(len(values), -1))
    return frame.groupby(np.asarray(clusters)).mean().to_numpy().reshape(-1, *values.shape[1:])


def bootstrap(
    samples,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Bootstrap interval of a mean, or of the mean of several groups' means.

    scipy's percentile bootstrap at Hesterberg's expanded level (*What Teachers Should Know About
    the Bootstrap*, The American Statistician 69, 2015): the plain percentile interval is too
    narrow by sqrt((n - 1) / n) and by using the normal's quantile where Student's belongs, which
    matters at the paper's 25 images a class. BCa corrects for skewness and not for this, and
    gives NaN where all values are equal.

    Parameters
    ----------
    samples : array (n,), or a list of arrays (n_g,), one a group
        One value an image (average within the image first: `cluster_means`). The groups are
        resampled separately, each within itself, and count equally whatever their size. The level
        is expanded for the smallest group.
    level : float in (0, 1)
    resamples : int
    seed : int

    Returns
    -------
    Interval
        Values that are all equal give an interval of no width; a group of one value NaN ends.

    Raises
    ------
    ValueError
        For an empty group or values that are not finite.
    """
    _check_level(level)
    groups = [samples] if np.ndim(samples[0]) == 0 else list(samples)
    groups = [np.asarray(group, float) for group in groups]
    for group in groups:
        _check_values(group)
    estimate = float(np.mean([group.mean() for group in groups]))
    if min(len(group) for group in groups) == 1:
        return Interval(estimate, np.nan, np.nan)
    ends = scipy.stats.bootstrap(
        groups,
        _mean_of_means,
        vectorized=True,
        confidence_level=_expanded(level, min(len(group) for group in groups)),
        n_resamples=resamples,
        batch=500,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(estimate, float(ends.low), float(ends.high))


def bootstrap_share(shares, *, level: float = 0.95, resamples: int = 2000, seed: int = 0):
    """`bootstrap` for a share, given each image's share, with ends that stay inside [0, 1].

    Where every image has the same share of 0 or 1, resampling sees no spread and would claim
    certainty; the Wilson interval with images as trials is given instead (0 of 25 images: 0 to
    0.13).

    Parameters
    ----------
    shares : array (n,) of values in [0, 1]
        One an image.
    level, resamples, seed
        As in `bootstrap`.

    Returns
    -------
    Interval
    """
    shares = np.asarray(shares, float)
    _check_values(shares)
    if shares.min() < 0 or shares.max() > 1:
        raise ValueError(f"shares must lie in [0, 1], not {shares.min()}..{shares.max()}")
    if shares.min() == shares.max() and shares[0] in (0, 1):
        return Interval(shares[0], *wilson(int(shares.sum()), len(shares), level))
    found = bootstrap(shares, level=level, resamples=resamples, seed=seed)
    return Interval(found.estimate, max(found.low, 0.0), min(found.high, 1.0))


def sign_flip(differences, *, resamples: int = 9999, seed: int = 0) -> float:
    """Two-sided p-value of "the mean paired difference is zero", by flipping signs (scipy).

    Under the null an image's two values could be swapped, so each difference could have either
    sign. Exact when 2**n <= `resamples`; otherwise the smallest possible value is 2 / (resamples
    + 1).

    Parameters
    ----------
    differences : array (n,)
        One an image.
    resamples, seed : int

    Returns
    -------
    float in (0, 1]; 1 where all differences are zero.

    Raises
    ------
    ValueError
        For an empty array or values that are not finite.
    """
    differences = np.asarray(differences, float)
    _check_values(differences)
    if len(differences) == 1 or not differences.any():
        return 1.0
    found = scipy.stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=500,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)


def adjust(p_values, method: str = "holm") -> np.ndarray:
    """Adjust p-values for being several (statsmodels `multipletests`); NaN stay NaN, uncounted.

    Parameters
    ----------
    p_values : sequence of float in [0, 1], or NaN
    method : str
        "holm" (any false finding at all) or "fdr_bh" (the share of false findings), or any other
        name statsmodels knows.

    Returns
    -------
    float64 array of the same length
    """
    p_values = np.asarray(p_values, float)
    adjusted, known = np.full(p_values.shape, np.nan), ~np.isnan(p_values)
    if known.any():
        adjusted[known] = multipletests(p_values[known], method=method)[1]
    return adjusted


def _mean_of_means(*groups: Sequence[np.ndarray], axis: int = -1) -> np.ndarray:
    return sum(np.mean(group, axis=axis) for group in groups) / len(groups)


def _expanded(level: float, n: int) -> float:
    """Hesterberg's level: the percentile interval at it is as wide as Student's."""
    t = scipy.stats.t.ppf((1 - level) / 2, n - 1)
    return float(1 - 2 * scipy.stats.norm.cdf(np.sqrt(n / (n - 1)) * t))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level={level} must lie between 0 and 1, for example 0.95")


def _check_values(values: np.ndarray) -> None:
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"expected one value an image, not an array of shape {values.shape}")
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise ValueError(
            f"{bad} of {len(values)} values are NaN or infinite; count them apart first"
        )
