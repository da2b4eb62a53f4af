"""Image weights for bootstrap intervals, and shuffles for the permutation nulls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.stats

from helpers import exchange
from helpers.icon2.attributes import Attribute


def weights(n_images: int, resamples: int, seed: int = 0, clusters=None) -> np.ndarray:
    """How often each image counts: once in row 0, then in each bootstrap resample.

    Parameters
    ----------
    n_images, resamples, seed
    clusters : array (n images,), optional
        Images that are not independent, such as frames of one video, are drawn together.

    Returns
    -------
    float32 array (1 + resamples, n images)

    Raises
    ------
    ValueError
        When there is but one cluster to draw from.
    """
    rng = np.random.default_rng(seed)
    of = np.arange(n_images) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    number = int(of.max()) + 1
    if resamples and number < 2:
        raise ValueError("all images belong to one cluster: resampling it shows no variation")
    drawn = [
        np.bincount(rng.integers(0, number, number), minlength=number) for _ in range(resamples)
    ]
    return np.array([np.ones(number), *drawn], np.float32)[:, of]


def shuffled(
    attribute: Attribute,
    rng,
    within: np.ndarray | None = None,
    together: np.ndarray | None = None,
) -> Attribute:
    """The attribute with its known codes permuted, within groups where these are given.

    Parameters
    ----------
    attribute
    rng : numpy.random.Generator
    within : int array like the codes, optional
        Codes are exchanged only between entries with the same number.
    together : int array like the codes, optional
        Entries with the same number are a cluster. Each takes the codes of another of nearly its
        size, whole where the sizes are equal, else stretched or squeezed to fit.
    """
    codes = attribute.codes.copy()
    within = np.zeros(len(codes), int) if within is None else within
    known = codes >= 0
    for group in np.unique(within[known]):
        where = np.flatnonzero(known & (within == group))
        if together is None:
            codes[where] = rng.permutation(codes[where])
        else:
            codes[where] = codes[where[exchange.Clusters(together[where]).between(rng)]]
    return replace(attribute, codes=codes)


def interval(values: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval over the resamples in rows 1 and on; NaN where there are none.

    Parameters
    ----------
    values : float array (1 + R, ...)
    """
    values = np.asarray(values, float)
    nothing = np.full(values.shape[1:], np.nan)
    if len(values) < 3:
        return nothing, nothing
    kept = np.where(np.isnan(values[1:]).any(0), np.nan, values[1:])
    with np.errstate(all="ignore"):
        low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def p_value(observed: float, null: np.ndarray) -> float:
    """Share of the null that is at least as large, the observed one counted in: never zero."""
    null = null[~np.isnan(null)]
    if np.isnan(observed) or not len(null):
        return np.nan
    return float((1 + (null >= observed).sum()) / (1 + len(null)))


def heterogeneity(ap: np.ndarray) -> float:
    """p-value of "all groups have the same AP", from bootstrap resamples.

    Cochran's Q: squared distances from the weighted mean in units of each group's bootstrap
    variance, against chi square with A - 1 degrees of freedom. Groups of different images are
    independent, which Q asks for; it is cheap enough to be used inside simulations.

    Parameters
    ----------
    ap : float array (1 + R, A)

    Returns
    -------
    float in [0, 1]; NaN where a group is not estimable.
    """
    if np.isnan(ap).any() or len(ap) < 3:
        return np.nan
    precision = 1 / np.maximum(ap[1:].var(0, ddof=1), 1e-12)
    mean = (precision * ap[0]).sum() / precision.sum()
    q = float((precision * (ap[0] - mean) ** 2).sum())
    return float(scipy.stats.chi2.sf(q, ap.shape[1] - 1))
