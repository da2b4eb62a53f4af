"""From numbers to words: does a confounder explain the gap between groups?

Three rules, whose error rates :mod:`helpers.icon2.trials` measures on worlds with a known answer.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.stats

from helpers.driving_world import CONFOUNDERS, Law
from helpers.icon2 import resampling, statistics
from helpers.icon2.estimates import Estimate, Part
from helpers.icon2.tables import Analysis

NO_GAP = "no gap beyond chance"
EXPLAINS = "explains the gap"
IN_PART = "explains a part"
NOT = "does not explain it"
UNKNOWN = "not estimable"

ALPHA = 0.05


def paper_says(estimate: Estimate, part: Part, ddof: int = 1) -> bool:
    """The paper's rule (3.2.2): sigma after controlling is less than before."""
    before = statistics.sigma(estimate.group_ap[0], ddof)
    return bool(statistics.controlled(part.cell_ap[0], ddof) < before)


def half(estimate: Estimate, part: Part, ddof: int = 1, standardised: bool = False) -> bool:
    """At least half of sigma is gone, by strata or by standardisation."""
    before = statistics.sigma(estimate.group_ap[0], ddof)
    if standardised:
        return bool(statistics.sigma(part.standardised[0], ddof) <= before / 2)
    return bool(statistics.controlled(part.cell_ap[0], ddof) <= before / 2)


def verdict(estimate: Estimate, part: Part, ddof: int = 1, alpha: float = ALPHA) -> str:
    """The suite's rule, in words.

    ``no gap beyond chance``: the groups' APs do not differ (Cochran's Q on bootstrap variances).
    Otherwise, after standardising every group to the same distribution of the confounder:
    ``explains the gap`` when they no longer differ and sigma fell, beyond its resamples' doubt;
    ``explains a part`` when sigma fell beyond doubt but they still differ; ``does not explain it``
    when sigma did not fall beyond doubt.

    Parameters
    ----------
    estimate, part
        With bootstrap resamples.
    ddof
    alpha
        Of the tests; the fall of sigma is judged one-sided by its bootstrap deviation.

    Returns
    -------
    str
    """
    gap = resampling.heterogeneity(estimate.group_ap)
    if np.isnan(gap) or np.isnan(part.standardised).any():
        return UNKNOWN
    if gap >= alpha:
        return NO_GAP
    fall = statistics.sigma(estimate.group_ap, ddof) - statistics.sigma(part.standardised, ddof)
    if not fall[0] > scipy.stats.norm.isf(alpha) * fall[1:].std(ddof=1):
        return NOT
    return EXPLAINS if resampling.heterogeneity(part.standardised) >= alpha else IN_PART


def planted(law: Law | None, attribute: str) -> str:
    """The right verdict on one of the paper's five attributes, where income is what groups.

    Parameters
    ----------
    law
        What was planted; None for real data.
    attribute
        Name of an attribute.

    Returns
    -------
    str
        A verdict; ``""`` for real data and for attributes of which the law says nothing.
    """
    if law is None or attribute not in (*CONFOUNDERS, "scene"):
        return ""
    if not (law.confounding or law.inequity):
        return NO_GAP
    if not law.tilt(attribute):
        return NOT
    return IN_PART if law.inequity else EXPLAINS


def table(analysis: Analysis, law: Law | None = None) -> pd.DataFrame:
    """The verdict on every class and confounder, the paper's rule beside it.

    Parameters
    ----------
    analysis
        With resamples.
    law : Law, optional
        What was planted, for the column ``truth`` of :func:`planted`.

    Returns
    -------
    DataFrame
        ``class attribute rank paper verdict``, and ``truth`` where a law is given.
    """
    ddof, ranking = analysis.options.ddof, analysis.ranking().set_index(["class", "attribute"])
    rows = [
        {
            "class": name,
            "attribute": part.name,
            "rank": int(ranking.loc[(name, part.name), "rank"]),
            "paper": "explains it" if paper_says(estimate, part, ddof) else "does not",
            "verdict": verdict(estimate, part, ddof),
            "truth": planted(law, part.name),
        }
        for name, estimate in analysis.estimates.items()
        for part in sorted(estimate.parts, key=lambda p: ranking.loc[(name, p.name), "rank"])
    ]
    columns = ["class", "attribute", "rank", "paper", "verdict", *(["truth"] if law else [])]
    return pd.DataFrame(rows, columns=columns)


def right(said: pd.DataFrame) -> pd.DataFrame:
    """Which rows of :func:`table` agree with what was planted.

    The paper's rule knows no parts: "explains it" counts as right where the truth is a part.

    Returns
    -------
    DataFrame
        ``class attribute paper verdict``, the last two bool; rows without a truth are left out.
    """
    known = said[said.truth != ""]
    explained = known.truth.isin([EXPLAINS, IN_PART])
    return known[["class", "attribute"]].assign(
        paper=known.paper.eq("explains it") == explained, verdict=known.verdict == known.truth
    )
