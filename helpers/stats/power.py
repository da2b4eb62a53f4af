"""Power of a test, from a table of simulated results with a known bias.

The detection rate at each bias strength, with its interval, is
``rates(results, "detected", by=["strength"])``; at strength 0 it is the false positive
rate.
"""

import numpy as np
import pandas as pd
import scipy.optimize

POWER = 0.8


def smallest_detectable(
    results: pd.DataFrame,
    strength: str = "strength",
    detected: str = "detected",
    power: float = POWER,
) -> float:
    """Compute the smallest bias strength that is detected with a given power.

    The detection rate is assumed to rise with the strength (isotonic regression), and
    to be linear between two simulated strengths.

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
        NaN if the detection rate of no simulated strength reaches the power.
    """
    groups = results.groupby(strength)[detected]
    rate = groups.mean().astype(float)
    rising = scipy.optimize.isotonic_regression(rate, weights=groups.size()).x
    enough = np.flatnonzero(rising >= power - 1e-9)
    if not len(enough):
        return np.nan
    first = enough[0]
    if first == 0:
        return float(rate.index[0])
    around = slice(first - 1, first + 1)
    return float(np.interp(power, rising[around], rate.index[around]))
