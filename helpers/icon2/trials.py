"""How often ICON2 is right: the same question asked of many planted worlds.

A world of each kind is drawn for every seed: income makes the scenes harder (by a confounder), the
detector worse on boxes that look the same, both, or neither. Each rule's answers are counted
against what was planted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pandas as pd

from helpers import driving_world, stats
from helpers.detection import match
from helpers.icon2 import attributes, statistics, verdicts
from helpers.icon2.analysis import analyse
from helpers.icon2.options import PAPER, SOUND, Options
from helpers.icon2.tables import POINTS, Analysis

CONFOUNDED, REAL, BOTH, NEITHER = "scenes harder", "detector worse", "both", "neither"
STRENGTH = {"size": 0.3, "occlusion": 0.8, "time": 1.2, "weather": 1.5}
EQ3, PER_IMAGE, PLAIN = "Eq. 3", "per image", "plain σ"
READINGS = {EQ3: PAPER, PER_IMAGE: SOUND}
FIRST, FALLS = "ranks first", "σ falls within strata"
ORDER = [(FIRST, EQ3), (FIRST, PER_IMAGE), (FIRST, PLAIN), (FALLS, EQ3), (FALLS, PER_IMAGE)]
PAPER_RULE = "strata: σ falls at all (the paper)"
HALF_RULE = "strata: half of σ is gone"
STANDARD_RULE = "standardised: half of σ is gone"
SUITE_RULE = "suite's verdict: explains it"
PART_RULE = "suite's verdict: explains a part"


def laws(confounding: float, inequity: float, confounder: str = "size") -> dict:
    """The four kinds of world, by name."""
    law = driving_world.Law
    return {
        CONFOUNDED: law(confounding, confounder),
        REAL: law(0.0, confounder, inequity),
        BOTH: law(confounding, confounder, inequity),
        NEITHER: law(0.0, confounder),
    }


def run(
    seeds: Iterable[int],
    *,
    confounder: str = "occlusion",
    confounding: float | None = None,
    inequity: float = 0.25,
    category: str = "car",
    n_images: int = 800,
    resamples: int = 20,
    thresholds: tuple[float, ...] = (0.5, 0.75),
    options: Options | None = None,
) -> pd.DataFrame:
    """Ask every rule about every planted world.

    Parameters
    ----------
    seeds
    confounder, confounding, inequity
        The knobs of :class:`helpers.driving_world.Law`; without `confounding`, as strong as
        `STRENGTH` has it: the gap is then about as large as that of the default inequity.
    category
        The one class that is drawn and judged.
    n_images
        Frames of each world.
    resamples
        Bootstrap resamples for the suite's verdict.
    thresholds
        IoU thresholds; two instead of ten to be quick.
    options
        Default: the paper's reading.

    Returns
    -------
    DataFrame
        Row a world: ``seed world``; ``sigma``, and for the planted confounder ``controlled`` and
        ``standardised`` (AP points); ``paper``, ``half`` and ``standardised_half`` (does the rule
        say that it explains the gap?) and ``verdict``.
    """
    rows = []
    strength = STRENGTH[confounder] if confounding is None else confounding
    for seed in seeds:
        for kind, law in laws(strength, inequity, confounder).items():
            matches, income, others = _drawn(seed, law, category, n_images, thresholds)
            planted = [a for a in others if a.name == confounder]
            asked = analyse(
                matches, income, planted, options=options, resamples=resamples, seed=seed
            )
            rows.append({"seed": seed, "world": kind} | _answers(asked))
    return pd.DataFrame(rows)


def readings(
    seeds: Iterable[int],
    confounders: Iterable[str] = driving_world.CONFOUNDERS,
    *,
    category: str = "car",
    n_images: int = 800,
    thresholds: tuple[float, ...] = (0.5, 0.75),
) -> pd.DataFrame:
    """Confounded worlds by two readings of precision: Eq. 3, and N and F both per image.

    Returns
    -------
    DataFrame
        ``confounder question by times of share low high``, with Wilson intervals. The questions:
        does the planted confounder rank first (by ProxyAP in both readings, and by the plain sigma
        of its own values), and does sigma fall within its strata?
    """
    seeds, rows = list(seeds), []
    for confounder in confounders:
        yes = Counter()
        for seed in seeds:
            law = driving_world.Law(STRENGTH[confounder], confounder)
            drawn = _drawn(seed, law, category, n_images, thresholds)
            for by, options in READINGS.items():
                asked = analyse(*drawn, options=options, standardise=False)
                ranking = asked.ranking()
                yes[FIRST, by] += ranking.attribute.iloc[0] == confounder
                control = asked.control().set_index("attribute")
                yes[FALLS, by] += control.delta[confounder] > 0
                if by == EQ3:
                    plain = ranking.sort_values("plain_rank").attribute.iloc[0]
                    yes[FIRST, PLAIN] += plain == confounder
        for (question, by), times in sorted(yes.items(), key=lambda item: ORDER.index(item[0])):
            row = {"confounder": confounder, "question": question, "by": by}
            rows.append(row | _share(int(times), len(seeds)))
    return pd.DataFrame(rows)


def _drawn(seed, law, category, n_images, thresholds):
    world = driving_world.make(n_images, seed, law, (category,))
    matches = match(world.truth, world.detections, thresholds)
    income = attributes.from_column(world.truth, "income")
    return matches, income, attributes.standard(world.truth, world.detections)


def _answers(asked: Analysis) -> dict:
    ddof = asked.options.ddof
    (estimate,) = asked.estimates.values()
    (part,) = estimate.parts
    return {
        "sigma": POINTS * float(statistics.sigma(estimate.group_ap[0], ddof)),
        "controlled": POINTS * float(statistics.controlled(part.cell_ap[0], ddof)),
        "standardised": POINTS * float(statistics.sigma(part.standardised[0], ddof)),
        "paper": verdicts.paper_says(estimate, part, ddof),
        "half": verdicts.half(estimate, part, ddof),
        "standardised_half": verdicts.half(estimate, part, ddof, standardised=True),
        "verdict": verdicts.verdict(estimate, part, ddof),
    }


def rates(trials: pd.DataFrame) -> pd.DataFrame:
    """How often each rule says that the planted confounder explains the gap.

    Right is: always where only the scenes are harder, never elsewhere. Where both are planted the
    right answer is "in part", which only the suite's verdict can give; it is the last rule.

    Returns
    -------
    DataFrame
        ``rule world times of share low high``, with Wilson intervals.
    """
    says = {
        PAPER_RULE: trials["paper"],
        HALF_RULE: trials["half"],
        STANDARD_RULE: trials["standardised_half"],
        SUITE_RULE: trials["verdict"] == verdicts.EXPLAINS,
        PART_RULE: trials["verdict"] == verdicts.IN_PART,
    }
    return pd.DataFrame(
        {"rule": rule, "world": world} | _share(int(yes[group.index].sum()), len(group))
        for rule, yes in says.items()
        for world, group in trials.groupby("world", sort=False)
    )


def answers() -> pd.DataFrame:
    """For each rule and kind of world, whether its yes is right: ``rule world right``."""
    rules = (PAPER_RULE, HALF_RULE, STANDARD_RULE, SUITE_RULE, PART_RULE)
    wanted = {rule: BOTH if rule == PART_RULE else CONFOUNDED for rule in rules}
    return pd.DataFrame(
        {"rule": rule, "world": world, "right": world == wanted[rule]}
        for rule in rules
        for world in (CONFOUNDED, REAL, BOTH, NEITHER)
    )


def summary(trials: pd.DataFrame) -> pd.DataFrame:
    """Mean sigma before, within strata and after standardising in each world (AP points)."""
    columns = ["sigma", "controlled", "standardised"]
    return trials.groupby("world", sort=False)[columns].mean().reset_index()


def _share(yes: int, of: int) -> dict[str, float]:
    low, high = stats.wilson(yes, of)
    return {"times": yes, "of": of, "share": yes / of, "low": low, "high": high}
