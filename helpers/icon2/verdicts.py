"""Rules that decide whether a confounder explains the gap between groups.

Their error rates are measured on synthetic street scenes with a known answer.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from helpers.icon2.analysis import Analysis
from helpers.icon2.formulas import (
    EXPLAINS,
    FLAGGED,
    IN_PART,
    NOT_FLAGGED,
    UNKNOWN,
    paper_says,
    suite_says,
)

YES = (FLAGGED, EXPLAINS, IN_PART)
PAPER_RULE, ANY_RULE, SUITE_RULE = "paper's rule", "Δ > 0 for any", "suite's rule"
WITHIN_RULE = "rule within groups"
COMPARED_RULES = (PAPER_RULE, WITHIN_RULE, SUITE_RULE)  # on recorded settings

HARDER, WORSE, BOTH, NEITHER = "scenes harder", "detector worse", "both", "neither"
# the scenes of the groups differ, but none is harder
BESIDE = "detector worse, other scenes"
NO_CAUSE = (NEITHER, WORSE, BESIDE)  # no attribute is to blame for a gap
FIRST, FALLS = "ranks first", "σ falls within its values"
FLAGS = "the paper's rule flags it"
LEVELS = {"size": "boxes", "occlusion": "boxes", "time": "frames", "weather": "frames"}


def table(
    analysis: Analysis,
    paper_says: Callable = paper_says,
    suite_says: Callable = suite_says,
) -> pd.DataFrame:
    """Apply three rules to every class and confounder.

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
    falls = analysis.control()[["class", "attribute", "delta"]]
    ranking = analysis.ranking()[["class", "attribute", "rank", "proxy_sigma"]]
    table = ranking.merge(falls)
    of_paper = []
    of_suite = []
    for row in table.to_dict("records"):
        estimate = analysis.estimates[row["class"]]
        part = estimate.parts[row["attribute"]]
        verdict = suite_says(estimate.group_ap, part.standardised, len(estimate.parts))
        of_suite.append(verdict)
        of_paper.append(paper_says(row["rank"], row["proxy_sigma"], row["delta"]))
    table[PAPER_RULE] = of_paper
    table[ANY_RULE] = np.where(table["delta"] > 0, FLAGGED, NOT_FLAGGED)
    table[SUITE_RULE] = of_suite
    table.loc[table["delta"].isna(), [PAPER_RULE, ANY_RULE]] = UNKNOWN
    return table
