"""From numbers to words: does a confounder explain the gap between groups?

The paper's rule and this suite's. :mod:`helpers.icon2.error_rates` measures their error rates on
worlds with a known answer.
"""

import numpy as np
import pandas as pd
import scipy.stats

from helpers.icon2 import formulas
from helpers.icon2.analysis import Analysis
from helpers.worlds.driving import CONFOUNDERS, Law

NO_GAP = "no gap beyond chance"
EXPLAINS = "explains the gap"
IN_PART = "explains a part"
NOT = "does not explain it"
UNKNOWN = "not estimable"
PAPER_YES, PAPER_NO = "explains it", "does not"  # the paper's rule knows no parts

ALPHA = 0.05


def is_right(said: str, truth: str) -> bool:
    """Whether a verdict agrees with what was planted.

    The paper's rule knows no parts: its "explains it" is right where the truth is a part.
    """
    if said in (PAPER_YES, PAPER_NO):
        return (said == PAPER_YES) == (truth in (EXPLAINS, IN_PART))
    return said == truth


def paper_says(rank: int, proxy_sigma: float, delta: float) -> str:
    """The paper's rule: an attribute explains the gap where three things are true of it.

    It ranks first by sigma of its ProxyAP (Algorithm 1); that sigma is more than 1 AP point, which
    makes it "a more probable explanation" (section 4.2.1); and controlling for it lowers sigma, so
    that Delta is positive (section 3.2.2).
    """
    return PAPER_YES if proxy_sigma > 1 and rank == 1 and delta > 0 else PAPER_NO


def verdict(group_ap: np.ndarray, standardised: np.ndarray) -> str:
    """The suite's rule, in words, from AP (1 + R, A) of the groups before and after standardising.

    ``no gap beyond chance``: the groups' APs do not differ (Cochran's Q on bootstrap variances).
    Otherwise, after standardising every group to the same distribution of the confounder:
    ``explains the gap`` when they no longer differ and sigma fell, beyond its resamples' doubt
    (one-sided); ``explains a part`` when sigma fell beyond doubt but they still differ; ``does not
    explain it`` when sigma did not fall beyond doubt.
    """
    gap = formulas.cochrans_q(group_ap)
    if np.isnan(gap) or np.isnan(standardised).any():
        return UNKNOWN
    if gap >= ALPHA:
        return NO_GAP
    fall = formulas.sigma(group_ap) - formulas.sigma(standardised)
    if not fall[0] > scipy.stats.norm.isf(ALPHA) * fall[1:].std(ddof=1):
        return NOT
    return EXPLAINS if formulas.cochrans_q(standardised) >= ALPHA else IN_PART


def planted(law: Law | None, attribute: str) -> str:
    """The right verdict on one of the paper's five attributes, where income is what groups.

    ``""`` for real data (no law) and for attributes of which the law says nothing.
    """
    if law is None or attribute not in (*CONFOUNDERS, "scene"):
        return ""
    if not (law.confounding or law.inequity):
        return NO_GAP
    if not law.tilt(attribute):
        return NOT
    return IN_PART if law.inequity else EXPLAINS


def table(analysis: Analysis, law: Law | None = None) -> pd.DataFrame:
    """The verdict on every class and confounder of an analysis with resamples.

    Columns ``class attribute rank paper verdict``, and ``truth`` where a law says what was planted.
    """
    ranked = analysis.ranking().merge(analysis.control(), on=["class", "attribute"])
    estimates = [analysis.estimates[name] for name in ranked["class"]]
    found = ranked[["class", "attribute", "rank"]].assign(
        paper=[paper_says(r.rank, r.proxy_sigma, r.delta) for r in ranked.itertuples()],
        verdict=[
            verdict(e.group_ap, e.parts[name].standardised)
            for e, name in zip(estimates, ranked.attribute, strict=True)
        ],
    )
    if law is None:
        return found
    return found.assign(truth=[planted(law, name) for name in found.attribute])


def right(said: pd.DataFrame) -> pd.DataFrame:
    """Which rows of :func:`table` are right: ``class attribute paper verdict``, the last two bool.

    Rows without a truth are left out.
    """
    known = said[said.truth != ""]
    judged = {
        rule: [is_right(*pair) for pair in zip(known[rule], known.truth, strict=True)]
        for rule in ("paper", "verdict")
    }
    return known[["class", "attribute"]].assign(**judged)
