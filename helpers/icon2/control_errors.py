"""Average the errors of the paper's control against the intervention's truth."""

import numpy as np
import pandas as pd

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
        probability = np.full(n_runs, 1 / n_runs)
        weights = rng.multinomial(n_runs, probability, draws)
        means = (weights @ total) / (weights @ runs.count())
        row = {
            "difficulty": difficulty,
            "rows": len(part),
            "runs": n_runs,
        }
        for measure in MEASURES:
            drawn = means[measure]
            row[measure] = part[measure].mean()
            row[f"{measure}_low"] = drawn.quantile(0.025)
            row[f"{measure}_high"] = drawn.quantile(0.975)
        rows.append(row)
    return pd.DataFrame(rows)
