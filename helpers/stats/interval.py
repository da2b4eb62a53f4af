"""Compute the standard error of a mean over runs and images, and Student's interval.

Runs and images are crossed, so every image is seen in every run. Lesson 02 shows the
formula.
"""

import numpy as np
import scipy.stats


def components(values: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Compute the means of runs, and the variance by images and by the rest.

    Parameters
    ----------
    values : array of shape (runs, images)
        NaN is a value that is not defined.

    Returns
    -------
    run_means : array of shape (runs,)
    image_variance : float
        NaN with one image.
    rest_variance : float
        The variance that neither runs nor images explain.
    """
    n_runs, n_images = values.shape
    run_means = np.nanmean(values, axis=1)
    image_means = np.nanmean(values, axis=0)
    residuals = values - run_means[:, None] - image_means + np.nanmean(values)
    freedom = max((n_runs - 1) * (n_images - 1), 1)
    residual_variance = float(np.nansum(residuals**2)) / freedom
    rest_variance = residual_variance / (n_runs * n_images)
    image_variance = np.nan
    if n_images > 1:
        image_variance = image_means.var(ddof=1) / n_images
    return run_means, float(image_variance), rest_variance


def crossed_error(
    run_means: np.ndarray,
    image_variance: float | np.ndarray,
    rest_variance: float,
    freedom: float | np.ndarray,
) -> tuple[float, float]:
    """Compute the standard error of a mean over runs and images.

    Parameters
    ----------
    run_means : array of shape (runs,)
        With one run the error covers the choice of images only.
    image_variance : float or array of shape (groups,)
        One value per group of images.
    rest_variance : float
    freedom : float or array of shape (groups,)
        Degrees of freedom of `image_variance`.

    Returns
    -------
    error : float
    freedom : float
        Degrees of freedom of `error`.

    References
    ----------
    Satterthwaite, *Biometrics Bulletin* 2, 1946.
    """
    n_runs = len(run_means)
    by_images = np.sum(image_variance)
    if n_runs > 1:
        by_runs = np.var(run_means, ddof=1) / n_runs
        in_both = rest_variance
    else:
        by_runs = in_both = 0.0
    variance = max(by_runs + by_images - in_both, by_runs, by_images, in_both)
    # each part's squared variance, divided by its degrees of freedom
    uncertainty = by_runs**2 / max(n_runs - 1, 1)
    uncertainty += np.sum(np.square(image_variance) / freedom)
    error = float(np.sqrt(variance))
    if uncertainty == 0:
        return error, 1.0
    return error, float(variance**2 / uncertainty)


def student(
    estimate: float, error: float, freedom: float, level: float = 0.95
) -> tuple[float, float]:
    """Compute the lower and the upper end of Student's interval."""
    half = error * scipy.stats.t.ppf((1 + level) / 2, freedom)
    return estimate - half, estimate + half
