"""Rules that decide whether a confounder explains the gap between groups.

Their error rates are measured on synthetic street scenes with a known answer.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from helpers.icon2.analysis import Analysis
from helpers.icon2.attributes import OF_PAPER
from helpers.icon2.formulas import (
    EXPLAINS,
    FLAGGED,
    IN_PART,
    NO_GAP,
    NOT,
    NOT_FLAGGED,
    UNKNOWN,
    paper_says,
    suite_says,
)

YES = (FLAGGED, EXPLAINS, IN_PART)
PAPER_RULE, ANY_RULE, SUITE_RULE = "paper's rule", "Δ > 0 for any", "suite's rule"
RULES = (PAPER_RULE, ANY_RULE, SUITE_RULE)
WITHIN_RULE = "rule within groups"
COMPARED_RULES = (PAPER_RULE, WITHIN_RULE, SUITE_RULE)  # on recorded settings

HARDER, WORSE, BOTH, NEITHER = "scenes harder", "detector worse", "both", "neither"
BESIDE = "detector worse, other scenes"  # the scenes of the groups differ, but none is harder
NO_CAUSE = (NEITHER, WORSE, BESIDE)  # no attribute is to blame for a gap
FIRST, FALLS = "ranks first", "σ falls within its values"
FLAGS = "the paper's rule flags it"
LEVELS = {"size": "boxes", "occlusion": "boxes", "time": "frames", "weather": "frames"}


def truth(scenario: str, confounder: str) -> dict[str, str]:
    """Return the correct verdict on each of the paper's five attributes in a scenario."""
    cause = IN_PART if scenario == BOTH else EXPLAINS
    other = NO_GAP if scenario == NEITHER else NOT
    return {name: cause if name == confounder else other for name in OF_PAPER}


def table(
    analysis: Analysis,
    paper_says: Callable = paper_says,
    suite_says: Callable = suite_says,
) -> pd.DataFrame:
    """Apply each of the `RULES` to every class and confounder (this needs resamples).

    A lesson passes its own rules."""
    falls = analysis.control()[["class", "attribute", "delta"]]
    table = analysis.ranking()[["class", "attribute", "rank", "proxy_sigma"]].merge(
        falls
    )
    numbers = table[["rank", "proxy_sigma", "delta"]].itertuples(index=False)
    table[PAPER_RULE] = [paper_says(*one) for one in numbers]
    table[ANY_RULE] = np.where(table.delta > 0, FLAGGED, NOT_FLAGGED)
    estimates = [
        (analysis.estimates[row["class"]], row["attribute"])
        for _, row in table.iterrows()
    ]
    table[SUITE_RULE] = [
        suite_says(e.group_ap, e.parts[name].standardised, len(e.parts))
        for e, name in estimates
    ]
    table.loc[table.delta.isna(), [PAPER_RULE, ANY_RULE]] = UNKNOWN
    return table
