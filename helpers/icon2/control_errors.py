"""Compare the paper's control with the intervention of ``data/streets.csv``."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from helpers.icon2.formulas import FLAGGED, paper_says

MEASURES = ["error_before", "error_after", "error_reduction", "flagged"]
KEPT = ["difficulty", "share_of_b", "run", "class", "gap", "attribute"]


def compare_with_truth(
    record: pd.DataFrame, paper_says: Callable = paper_says
) -> pd.DataFrame:
    """Compare the share of sigma that control leaves with the appearance's share.

    Parameters
    ----------
    record : pandas.DataFrame
        ``data/streets.csv``. Only rows with a significant gap are kept.
    paper_says : callable
        The paper's rule; lesson 08 passes its own.

    Returns
    -------
    pandas.DataFrame
        ``appearance_share`` is the appearance's share of the gap. ``error_before`` and
        ``error_after`` are the distances of the whole gap, and of the share of sigma
        that control leaves, from it. ``flagged`` says whether the rule flags a
        confounder; it is NaN where the scenes cause no significant part of the gap.
    """
    is_positive = record["gap_low"] > 0
    is_negative = record["gap_high"] < 0
    known = record[is_positive | is_negative].reset_index(drop=True)
    table = known[KEPT].copy()
    table["appearance_share"] = known["appearance"] / known["gap"]
    table["sigma_left"] = 1 - known["delta"] / known["sigma"]
    truth = table["appearance_share"]
    table["error_before"] = (1 - truth).abs()
    table["error_after"] = (table["sigma_left"] - truth).abs()
    table["error_reduction"] = table["error_before"] - table["error_after"]
    table["paper's rule"] = [
        paper_says(1, row.proxy_sigma, row.delta) for row in known.itertuples()
    ]
    scenes_have_a_part = np.where(
        known["gap"] > 0,
        known["scenes_low"] > 0,
        known["scenes_high"] < 0,
    )
    is_flagged = table["paper's rule"] == FLAGGED
    flagged = is_flagged.astype(float)
    table["flagged"] = flagged.where(scenes_have_a_part)
    return table


def by_difficulty(compared: pd.DataFrame, draws: int = 2000) -> pd.DataFrame:
    """Average the errors and flags of `compare_with_truth` by scene difficulty.

    Parameters
    ----------
    compared : pandas.DataFrame
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
        total = runs.sum().to_numpy()
        number = runs.count().to_numpy()
        n_runs = len(total)
        probability = np.full(n_runs, 1 / n_runs)
        weights = rng.multinomial(n_runs, probability, draws)
        with np.errstate(invalid="ignore"):  # no row may have a part of the scenes
            means = (weights @ total) / (weights @ number)
        drawn = pd.DataFrame(means)
        low, high = drawn.quantile([0.025, 0.975]).to_numpy()
        row = {
            "difficulty": difficulty,
            "rows": len(part),
            "runs": n_runs,
        }
        for place, measure in enumerate(MEASURES):
            row[measure] = part[measure].mean()
            row[f"{measure}_low"] = low[place]
            row[f"{measure}_high"] = high[place]
        rows.append(row)
    return pd.DataFrame(rows)
