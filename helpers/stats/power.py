"""Power of a test, from a table of simulated results with a known bias."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy.optimize

from helpers.stats.proportions import rates

POWER = 0.8


def detection_rates(
    results: pd.DataFrame,
    by: Sequence[str] = ("strength",),
    detected: str = "detected",
    units: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Compute how often a bias was detected, with 95% intervals.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per simulation. At strength 0 the rate is the false positive rate.
    by : sequence of str, default=("strength",)
        Columns that name the bias strength, and what else is told apart.
    detected : str, default="detected"
        A 0/1 column.
    units : sequence of str, optional
        What is drawn at random where simulations depend on each other, such as the
        network of several pairs (see `mean_ci`).

    Returns
    -------
    pandas.DataFrame
        One row per group: the columns `by`, ``rate``, ``ci_low``, ``ci_high`` and ``n``.
    """
    return rates(results, detected, by, units)


def smallest_detectable(
    results: pd.DataFrame,
    strength: str = "strength",
    detected: str = "detected",
    power: float = POWER,
) -> float:
    """Compute the smallest bias strength that is detected with a given power.

    The detection rate is taken to rise with the strength (isotonic regression), and
    linearly between two simulated strengths.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per simulation.
    strength, detected : str
        Columns with the bias strength and whether it was detected.
    power : float, default=0.8

    Returns
    -------
    float
        NaN where no simulated strength is detected so often.
    """
    groups = results.groupby(strength)[detected]
    rate = groups.mean().astype(float)
    rising = scipy.optimize.isotonic_regression(rate, weights=groups.size()).x
    enough = np.flatnonzero(rising >= power - 1e-9)
    if not len(enough):
        return np.nan
    at = enough[0]
    if at == 0:
        return float(rate.index[0])
    return float(np.interp(power, rising[at - 1 : at + 1], rate.index[at - 1 : at + 1]))
