"""Describe the scores of groups: by threshold, and against the outcomes."""

import numpy as np
import pandas as pd

from helpers import stats
from helpers.blocks import measures
from helpers.blocks.counts import Counts
from helpers.blocks.measures import ratio


def thresholds(table: Counts) -> pd.DataFrame:
    """Compute the positive rate of each group at each of 21 thresholds of the score."""
    parts = []
    for threshold in np.linspace(0, 1, 21).round(2):
        rate = table.values((f"score >= {threshold}", "score >= 0"))
        columns = {
            "threshold": threshold,
            "group": table.groups,
            "positive_rate": rate[: len(table.groups)],
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def calibration(table: Counts) -> pd.DataFrame:
    """Compute the share of positives of each group in each bin of the score."""
    parts = []
    n, score, positive = measures.score_bins(table.kinds, table.mass)
    for unit, group in enumerate(table.groups):
        low, high = stats.wilson(positive[unit], n[unit])
        columns = {
            "group": group,
            "n": n[unit],
            "score": ratio(score[unit], n[unit]),
            "share": ratio(positive[unit], n[unit]),
            "ci_low": low,
            "ci_high": high,
        }
        parts.append(pd.DataFrame(columns))
    bins = pd.concat(parts, ignore_index=True)
    return bins[bins["n"] > 0].reset_index(drop=True)
