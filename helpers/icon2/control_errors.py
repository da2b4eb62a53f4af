"""Average the errors of the paper's control against the intervention's truth."""

import numpy as np
import pandas as pd

from helpers.icon2.analysis import with_interval

MEASURES = ["error_before", "error_after", "error_reduction", "flagged"]


def by_difficulty(compared: pd.DataFrame, draws: int = 2000) -> pd.DataFrame:
    """Average the errors and flags of lesson 08 by scene difficulty.

    Parameters
    ----------
    compared : pandas.DataFrame
        One row per gap, with ``difficulty share_of_b run`` and the `MEASURES`, NaN
        where a measure is not defined.
    draws : int
        Resamples of the training runs (with their layouts) for the 95% intervals.

    Returns
    -------
    pandas.DataFrame
        Each of the `MEASURES` with the ends of its interval (``_low``, ``_high``).
    """
    rng = np.random.default_rng(0)
    rows = []
    for difficulty, part in compared.groupby("difficulty"):
        runs = part.groupby(["share_of_b", "run"])[MEASURES]
        total = runs.sum()
        n_runs = len(total)
        drawn = rng.multinomial(n_runs, [1 / n_runs] * n_runs, draws)
        weights = np.vstack([np.ones(n_runs), drawn])
        means = (weights @ total) / (weights @ runs.count())
        if n_runs == 1:
            means = means[:1]  # one run has no interval
        row = {"difficulty": difficulty, "rows": len(part), "runs": n_runs}
        for measure in MEASURES:
            row |= with_interval(measure, means[measure].to_numpy(), f"{measure}_")
        rows.append(row)
    return pd.DataFrame(rows)
