"""Error rates: how often ICON2 is right, over many planted worlds.

A world of each kind is drawn for every seed: income makes the scenes harder (by a confounder), the
detector worse on boxes that look the same, both, or neither. Each rule's answers are counted
against what was planted.
"""

from collections.abc import Iterable
from itertools import product

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import attributes, verdicts
from helpers.icon2.analysis import Analysis, analyse
from helpers.icon2.matching import match
from helpers.icon2.options import PAPER, SOUND, Options
from helpers.run.progress import progress
from helpers.worlds import driving

CONFOUNDED, REAL, BOTH, NEITHER = "scenes harder", "detector worse", "both", "neither"
TRUTH = {  # of the confounder, in each kind of world
    CONFOUNDED: verdicts.EXPLAINS,
    REAL: verdicts.NOT,
    BOTH: verdicts.IN_PART,
    NEITHER: verdicts.NO_GAP,
}
STRENGTH = {"size": 0.3, "occlusion": 0.8, "time": 1.2, "weather": 1.5}
PLANTED = "occlusion"  # the confounder of the worlds that the rules are asked about
INEQUITY = 0.25  # its gap is about as large as that of a confounder of this strength
CATEGORY, THRESHOLDS = "car", (0.5, 0.75)  # one class, and two IoU thresholds, to be quick
EQ3, PER_IMAGE, PLAIN = "Eq. 3", "per image", "plain σ"
READINGS = {EQ3: PAPER, PER_IMAGE: SOUND}
FIRST, FALLS = "ranks first", "σ falls within strata"
ORDER = [(FIRST, EQ3), (FIRST, PER_IMAGE), (FIRST, PLAIN), (FALLS, EQ3), (FALLS, PER_IMAGE)]
PAPER_RULE = "the paper's whole rule"
FALL_RULE = "its last part: σ falls in strata"
HALF_RULE = "strata: half of σ is gone"
STANDARD_RULE = "standardised: half of σ is gone"
SUITE_RULE = "suite's verdict: explains it"
PART_RULE = "suite's verdict: explains a part"
YES = {  # what the yes of each rule says
    PAPER_RULE: verdicts.PAPER_YES,
    FALL_RULE: verdicts.PAPER_YES,
    HALF_RULE: verdicts.EXPLAINS,
    STANDARD_RULE: verdicts.EXPLAINS,
    SUITE_RULE: verdicts.EXPLAINS,
    PART_RULE: verdicts.IN_PART,
}


def laws(confounder: str, confounding: float, inequity: float) -> dict[str, driving.Law]:
    """The law of each kind of world."""
    return {
        CONFOUNDED: driving.Law(confounding, confounder),
        REAL: driving.Law(0.0, confounder, inequity),
        BOTH: driving.Law(confounding, confounder, inequity),
        NEITHER: driving.Law(0.0, confounder),
    }


def ask_rules(
    seeds: Iterable[int], *, n_images: int = 800, resamples: int = 20, options: Options = PAPER
) -> pd.DataFrame:
    """Ask every rule about every planted world of `n_images` frames: four worlds a seed.

    A row a world: ``seed world``; ``sigma``, and for the planted confounder ``controlled`` and
    ``standardised`` (AP points); and for each rule, whether it says yes. The suite's verdict needs
    `resamples` of the bootstrap.
    """
    rows = []
    for seed in progress(seeds, desc="worlds", delay=2):
        for kind, law in laws(PLANTED, STRENGTH[PLANTED], INEQUITY).items():
            matches, income, others = _drawn(n_images, seed, law)
            planted = [a for a in others if a.name == PLANTED]
            whole = analyse(matches, income, others, options=options, standardise=False)
            given = {"options": options, "resamples": resamples, "seed": seed}
            alone = analyse(matches, income, planted, **given)
            rows.append({"seed": seed, "world": kind} | _answers(whole, alone))
    return pd.DataFrame(rows)


def ask_readings(
    seeds: Iterable[int],
    confounders: Iterable[str] = driving.CONFOUNDERS,
    *,
    n_images: int = 800,
) -> pd.DataFrame:
    """Confounded worlds by two readings of precision: Eq. 3, and N and F both per image.

    Does the planted confounder rank first (by ProxyAP in both readings, and by the plain sigma of
    its own values; ``chance`` is that of a ranking by lot), and does sigma fall within its strata?
    Columns ``confounder question by times of share low high chance``, with Wilson intervals.
    """
    rows = []
    asked = list(product(confounders, seeds))
    for confounder, seed in progress(asked, desc="worlds", delay=2):
        law, answers = driving.Law(STRENGTH[confounder], confounder), {}
        matches, income, others = _drawn(n_images, seed, law)
        for by, options in READINGS.items():
            found = analyse(matches, income, others, options=options, standardise=False)
            ranking = found.ranking().set_index("attribute").loc[confounder]
            control = found.control().set_index("attribute").loc[confounder]
            answers |= {(FIRST, by): ranking["rank"] == 1, (FALLS, by): control.delta > 0}
            answers.setdefault((FIRST, PLAIN), ranking.plain_rank == 1)
        rows += [
            {"confounder": confounder, "question": question, "by": by, "yes": answers[question, by]}
            for question, by in ORDER
        ]
    found = _shares(pd.DataFrame(rows), ["confounder", "question", "by"])
    return found.assign(chance=np.where(found.question == FIRST, 1 / len(others), np.nan))


def _drawn(n_images: int, seed: int, law: driving.Law):
    world = driving.make(n_images, seed, law, (CATEGORY,))
    others = [attributes.made(world, name) for name in attributes.OF_PAPER]
    return match(world, THRESHOLDS), attributes.from_column(world, "income"), others


def _answers(whole: Analysis, alone: Analysis) -> dict:
    """Every rule's answer, from all attributes and from the planted one alone, with resamples."""
    (estimate,) = alone.estimates.values()
    said = verdicts.verdict(estimate.group_ap, estimate.parts[PLANTED].standardised)
    (found,) = alone.control()[["sigma", "controlled", "standardised"]].to_dict("records")
    sigma, controlled, standardised = found.values()
    ranked = whole.ranking().set_index("attribute").loc[PLANTED]
    paper = verdicts.paper_says(ranked["rank"], ranked.proxy_sigma, sigma - controlled)
    return found | {
        PAPER_RULE: paper == verdicts.PAPER_YES,
        FALL_RULE: controlled < sigma,
        HALF_RULE: controlled <= sigma / 2,
        STANDARD_RULE: standardised <= sigma / 2,
        SUITE_RULE: said == verdicts.EXPLAINS,
        PART_RULE: said == verdicts.IN_PART,
    }


def rates(worlds: pd.DataFrame) -> pd.DataFrame:
    """How often each rule of :func:`ask_rules` says yes in each kind of world; is that right?

    Columns ``rule world times of share low high right``, with Wilson intervals.
    """
    answers = worlds.melt("world", list(YES), "rule", "yes")
    found = _shares(answers, ["rule", "world"])
    return found.assign(
        right=[
            verdicts.is_right(YES[rule], TRUTH[world])
            for rule, world in zip(found.rule, found.world, strict=True)
        ]
    )


def summary(worlds: pd.DataFrame) -> pd.DataFrame:
    """Mean sigma before, within strata and after standardising in each world (AP points)."""
    columns = ["sigma", "controlled", "standardised"]
    return worlds.groupby("world", sort=False)[columns].mean().reset_index()


def _shares(answers: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """How often ``yes`` is so, with Wilson intervals."""
    found = answers.groupby(by, sort=False).yes.agg(times="sum", of="count").reset_index()
    low, high = stats.wilson(found.times, found.of)
    return found.assign(share=found.times / found.of, low=low, high=high)
