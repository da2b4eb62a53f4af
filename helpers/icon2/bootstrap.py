"""The cluster bootstrap: image weights, intervals, and Cochran's Q on bootstrap variances."""

from __future__ import annotations

import numpy as np
import scipy.stats


def weights(n_images: int, resamples: int, seed: int = 0, clusters=None) -> np.ndarray:
    """How often each image counts (1 + resamples, n images): once in row 0, then in each resample.

    Images with the same entry in `clusters`, such as frames of one video, are drawn together.
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


def interval(values: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval over the resamples, rows 1 and on; NaN where there are none."""
    values = np.asarray(values, float)
    nothing = np.full(values.shape[1:], np.nan)
    if len(values) < 3:
        return nothing, nothing
    kept = np.where(np.isnan(values[1:]).any(0), np.nan, values[1:])
    with np.errstate(all="ignore"):
        low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def cochrans_q(ap: np.ndarray) -> float:
    """p-value of "all groups have the same AP", from bootstrap resamples.

    Cochran's Q: squared distances from the weighted mean in units of each group's bootstrap
    variance, against chi square with A - 1 degrees of freedom. Groups of different images are
    independent, which Q asks for; it is cheap enough to be used inside simulations. NaN where a
    group is not estimable.
    """
    if np.isnan(ap).any() or len(ap) < 3:
        return np.nan
    precision = 1 / np.maximum(ap[1:].var(0, ddof=1), 1e-12)
    mean = (precision * ap[0]).sum() / precision.sum()
    q = float((precision * (ap[0] - mean) ** 2).sum())
    return float(scipy.stats.chi2.sf(q, ap.shape[1] - 1))
