"""Power of a test, from a table of simulated results with a known bias.

The detection rate at each bias strength, with its interval, is
``rates(results, "detected", by=["strength"])``; at strength 0 it is the false positive rate.
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
