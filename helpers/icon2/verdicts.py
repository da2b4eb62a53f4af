"""Rules that decide whether a confounder explains the gap between groups.

Their error rates are measured on synthetic street scenes with a known answer, which
``data/rules.csv`` holds.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2.analysis import Analysis
from helpers.icon2.formulas import (
    EXPLAINS,
    FLAGGED,
    IN_PART,
    UNKNOWN,
    paper_says,
    suite_says,
)

YES = (FLAGGED, EXPLAINS, IN_PART)
PAPER_RULE, SUITE_RULE = "paper's rule", "suite's rule"
WITHIN_RULE = "rule within groups"
COMPARED_RULES = (PAPER_RULE, WITHIN_RULE, SUITE_RULE)  # on recorded settings

HARDER, WORSE, BOTH, NEITHER = "scenes harder", "detector worse", "both", "neither"
# the scenes of the groups differ, but none is harder
BESIDE = "detector worse, other scenes"
NO_CAUSE = (NEITHER, WORSE, BESIDE)  # no attribute is to blame for a gap
OUTCOMES = ["false positive", "true positive", "exact"]


def table(
    analysis: Analysis,
    paper_says: Callable = paper_says,
    suite_says: Callable = suite_says,
) -> pd.DataFrame:
    """Apply both rules to every class and confounder.

    Parameters
    ----------
    analysis : Analysis
        With resamples, which the suite's rule needs.
    paper_says, suite_says : callable
        The two rules; lesson 08 passes its own.

    Returns
    -------
    pandas.DataFrame
        One row per class and attribute, with its rank, ``proxy_sigma`` and ``delta``
        (AP points), and the verdict of each rule.
    """
    columns = ["class", "attribute", "rank", "proxy_sigma", "delta"]
    table = analysis.control()[columns]
    numbers = table[["rank", "proxy_sigma", "delta"]].astype(float)
    table[PAPER_RULE] = [paper_says(*row) for row in numbers.to_numpy()]
    table.loc[numbers.isna().any(axis=1), PAPER_RULE] = UNKNOWN
    n_attributes = table["attribute"].nunique()
    of_suite = []
    for class_name, attribute in zip(table["class"], table["attribute"], strict=True):
        group_ap = analysis.group_ap[class_name]
        standardised = analysis.parts[class_name, attribute].standardised
        of_suite.append(suite_says(group_ap, standardised, n_attributes))
    return table.assign(**{SUITE_RULE: of_suite})


def by_setting(records: pd.DataFrame) -> pd.DataFrame:
    """Say what each rule flags in each setting of ``data/rules.csv``, by one reading.

    Returns
    -------
    pandas.DataFrame
        One row per rule and setting with the `OUTCOMES` as 0 or 1. A *true positive*
        flags the injected confounder, and a *false positive* flags another attribute.
        *Exact* is for our rule, which alone distinguishes "the gap" from "a part". NaN
        where nothing is injected, or where a rule does not distinguish.
    """
    setting = ["scenario", "confounder", "strength", "seed"]
    long = records.melt([*setting, "truth"], COMPARED_RULES, "rule", "verdict")
    is_flagged = long["verdict"].isin(YES)
    is_cause = long["truth"].isin(YES)
    long["false positive"] = is_flagged & ~is_cause
    long["true positive"] = is_flagged & is_cause
    long["exact"] = is_cause & (long["verdict"] == long["truth"])
    happened = long.groupby(["rule", *setting], sort=False)[OUTCOMES].any()
    happened = happened.astype(float).reset_index()
    has_no_cause = happened["scenario"].isin(NO_CAUSE)
    happened.loc[has_no_cause, ["true positive", "exact"]] = np.nan
    happened.loc[happened["rule"] != SUITE_RULE, "exact"] = np.nan
    return happened


def counted(table: pd.DataFrame, column: str, by: Sequence[str]) -> pd.DataFrame:
    """Count how often a column is true, with its share and 95% (Wilson) interval."""
    counts = stats.rates(table, column, by)
    counts["count"] = (counts["rate"] * counts["n"]).round().astype(int)
    return counts.rename(columns={"rate": "share", "ci_low": "low", "ci_high": "high"})
