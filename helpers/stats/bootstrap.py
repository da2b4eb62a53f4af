"""Bootstrap statistics other than means over training runs and images.

For means and rates of tables use `mean_ci` and `rates`, which need no resampling.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.stats

from helpers.stats.means import CONFIDENCE, Interval

RESAMPLES = 2000


def bootstrap_ci(
    values: Sequence[np.ndarray],
    statistic: Callable,
    *,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """Compute a statistic of runs and images with a bootstrap interval.

    Runs and images are resampled independently, and each combination of a drawn run and
    a drawn image is used. Plain percentiles give too narrow intervals if there are few
    runs, so the percentiles are taken at a wider level. If there are 5 to 10 runs,
    plain percentile intervals of a mean cover in 79 to 99% of simulated cases. The
    wider intervals cover in 89 to 100%.

    Parameters
    ----------
    values : list of arrays of shape (runs, images, ...)
        One array per group of images, without NaN. Runs are the same in all groups.
        Images are resampled within each group.
    statistic : callable
        Takes resampled `values` and returns a number, or an array of numbers.
    resamples : int, default=2000
    confidence : float, default=0.95
    seed : int, default=0

    Returns
    -------
    Interval
        Its ends are NaN if there is only one unit, or if the statistic of a resample is
        NaN.

    References
    ----------
    Owen, *Annals of Applied Statistics* 1, 2007, for two crossed units; Hesterberg,
    *The American Statistician* 69, 2015, for the wider level.
    """
    values = [np.asarray(group, float) for group in values]
    samples = _resampled(values, np.random.default_rng(seed))
    estimate = statistic(values)
    drawn = [statistic(next(samples)) for _ in range(resamples)]
    n_runs = len(values[0])
    n_images = min(group.shape[1] for group in values)
    fewest = n_runs if n_runs > 1 else n_images
    if fewest < 2:
        return Interval(estimate, np.nan, np.nan)
    # the level at which a normal interval is as wide as Student's (Hesterberg)
    quantile = scipy.stats.t.ppf((1 - confidence) / 2, fewest - 1)
    tail = scipy.stats.norm.cdf(quantile * np.sqrt(fewest / (fewest - 1)))
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    if np.ndim(estimate) == 0:
        return Interval(float(estimate), float(low), float(high))
    return Interval(estimate, low, high)


def cluster_bootstrap(
    number: int, resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Count how often each cluster, image or run is drawn in resamples.

    Parameters
    ----------
    number : int
        The number of clusters. Rows of a cluster share its count as their weight.
    resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    int64 array of shape (resamples, number)

    Raises
    ------
    ValueError
        If there is only one cluster.
    """
    if resamples and number < 2:
        raise ValueError(
            "All rows belong to one cluster, so resampling shows no variation. Give a "
            "column with several clusters, or none."
        )
    counts = np.zeros((resamples, number), np.int64)
    for row in counts:
        drawn = rng.integers(number, size=number)
        row += np.bincount(drawn, minlength=number)
    return counts


def _resampled(
    groups: list[np.ndarray], rng: np.random.Generator
) -> Iterator[list[np.ndarray]]:
    """Yield arrays with drawn runs, the same for all groups, and drawn images."""
    n_runs = len(groups[0])
    while True:
        runs = rng.integers(n_runs, size=n_runs)
        resample = []
        for group in groups:
            images = rng.integers(group.shape[1], size=group.shape[1])
            resample.append(group[runs][:, images])
        yield resample
