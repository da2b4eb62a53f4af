"""ICON2's formulas over arrays of average precision, and the bootstrap that gives them intervals.

The last axis holds what is compared. The first may hold the estimate (row 0) and its resamples.
"""

import numpy as np
import scipy.stats

from helpers import stats

LEVEL = 0.95  # of the intervals


def sigma(ap: np.ndarray) -> np.ndarray:
    """Standard deviation of AP (root of Eq. 5, over n - 1 as in the tables); NaN if any is NaN."""
    return np.std(ap, axis=-1, ddof=1)


def shares(boxes: np.ndarray) -> np.ndarray:
    """P(e|a): share of each value among a group's boxes (..., E, A); NaN for an empty group."""
    with np.errstate(invalid="ignore"):
        return boxes / boxes.sum(-2, keepdims=True)


def proxy(ap: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """ProxyAP of each group (..., A) by Eq. 6: sum over e of P(e|a) AP_e.

    From AP (..., E) and boxes (..., E, A). Values of e that are not estimable are left out; NaN
    where fewer than two are left.
    """
    known = ~np.isnan(ap)
    found = (shares(boxes * known[..., None]) * np.nan_to_num(ap)[..., None]).sum(-2)
    return np.where((known.sum(-1) >= 2)[..., None], found, np.nan)


def controlled(cell_ap: np.ndarray, averaged: str = "sigma") -> np.ndarray:
    """Mean over e of sigma within e (section 3.2.2), from the AP of every cell (..., E, A).

    Only values of e in which all groups are estimable take part; NaN where there is none. The text
    of the paper averages the ``variance``; its root is then returned, so that it is in AP too.
    """
    power = {"sigma": 1, "variance": 2}[averaged]
    mean = np.ma.masked_invalid(sigma(cell_ap) ** power).mean(-1)
    return np.ma.filled(mean, np.nan) ** (1 / power)


def image_weights(n_images: int, resamples: int, seed: int = 0, clusters=None) -> np.ndarray:
    """How often each image counts (1 + resamples, n images): once in row 0, then in each resample.

    Images with the same entry in `clusters`, such as frames of one video, are drawn together.
    """
    of = np.arange(n_images) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    number = int(of.max()) + 1
    drawn = stats.cluster_bootstrap(number, resamples, np.random.default_rng(seed))
    return np.vstack([np.ones(number), drawn]).astype(np.float32)[:, of]


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95% percentile interval over the resamples; NaN where one of them or all are missing."""
    if len(values) < 3:
        return np.full((2, *values.shape[1:]), np.nan)
    return np.quantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)


def cochrans_q(ap: np.ndarray) -> float:
    """p-value of "all groups have the same AP" by Cochran's Q on bootstrap variances."""
    if np.isnan(ap).any() or len(ap) < 3:
        return np.nan
    precision = 1 / np.maximum(ap[1:].var(0, ddof=1), 1e-12)
    mean = (precision * ap[0]).sum() / precision.sum()
    q = (precision * (ap[0] - mean) ** 2).sum()
    return float(scipy.stats.chi2.sf(q, ap.shape[1] - 1))
