"""The claims about ICON2 as a method, judged on worlds whose answer is known."""

from __future__ import annotations

import pandas as pd

from helpers.findings import Finding, judge
from helpers.icon2 import trials

SUITE = "this suite"


def of_trials(ranked: pd.DataFrame, rates: pd.DataFrame) -> list[Finding]:
    """What the planted worlds say of the method: how often it is right, and how often wrong.

    Parameters
    ----------
    ranked
        From :func:`helpers.icon2.trials.readings`.
    rates
        From :func:`helpers.icon2.trials.rates`.
    """
    of = ranked.set_index(["confounder", "question", "by"])[["share", "low", "high"]]
    found = []
    for name in ranked.confounder.unique():
        claim = f"ProxyAP ranks a planted confounder first ({name})"
        first = tuple(of.loc[(name, trials.FIRST, trials.EQ3)])
        found.append(judge(claim, "paper, Algorithm 1", first, above=0.8, unit="of worlds"))
    for name in ranked.confounder.unique():
        for by, where in (
            (trials.EQ3, "paper, Eq. 3 and section 3.2.2"),
            (trials.PER_IMAGE, SUITE),
        ):
            claim = f"σ falls within strata of {name}, planted as the confounder ({by})"
            falls = tuple(of.loc[(name, trials.FALLS, by)])
            found.append(judge(claim, where, falls, above=0.8, unit="of worlds"))
    claim = "Per image, ProxyAP ranks first whichever confounder was planted (least of four)"
    worst = ranked[(ranked.question == trials.FIRST) & (ranked.by == trials.PER_IMAGE)]
    least = worst.sort_values("share")[["share", "low", "high"]].iloc[0]
    found.append(judge(claim, SUITE, tuple(least), above=0.8, unit="of worlds"))
    claim = "Ranking by an attribute's own σ does as well (least of four)"
    plain = ranked[ranked.by == trials.PLAIN].sort_values("share")[["share", "low", "high"]].iloc[0]
    found.append(judge(claim, SUITE, tuple(plain), above=0.8, unit="of worlds"))
    asked = rates.set_index(["rule", "world"])[["share", "low", "high"]]
    control = "paper, section 3.2.2"
    questions = [
        (
            "A fall of σ within strata is seen where only the scenes are harder",
            control,
            trials.PAPER_RULE,
            trials.CONFOUNDED,
            {"above": 0.8},
        ),
        (
            "A fall of σ within strata is not seen where only the detector is worse",
            control,
            trials.PAPER_RULE,
            trials.REAL,
            {"below": 0.1},
        ),
        (
            "Where both are planted, half of σ is seldom gone within strata",
            SUITE,
            trials.HALF_RULE,
            trials.BOTH,
            {"below": 0.1},
        ),
        (
            "Where both are planted, half of σ is seldom gone by standardising",
            SUITE,
            trials.STANDARD_RULE,
            trials.BOTH,
            {"below": 0.1},
        ),
        (
            "The suite's verdict explains the gap where only the scenes are harder",
            SUITE,
            trials.SUITE_RULE,
            trials.CONFOUNDED,
            {"above": 0.8},
        ),
        (
            "The suite's verdict does not explain the gap where only the detector is worse",
            SUITE,
            trials.SUITE_RULE,
            trials.REAL,
            {"below": 0.1},
        ),
        (
            "The suite's verdict explains no part where only the detector is worse",
            SUITE,
            trials.PART_RULE,
            trials.REAL,
            {"below": 0.1},
        ),
        (
            "Where both are planted the suite's verdict says: in part",
            SUITE,
            trials.PART_RULE,
            trials.BOTH,
            {"above": 0.8},
        ),
    ]
    for claim, where, rule, world, threshold in questions:
        estimate = tuple(asked.loc[(rule, world)])
        found.append(judge(claim, where, estimate, unit="of worlds", **threshold))
    return found
