"""How often ICON2 is right: the same question asked of many planted worlds.

A world of each kind is drawn for every seed: income is confounded with the size of boxes, changes
detection itself, both, or neither. Each rule's answers are counted against what was planted.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from helpers import driving_world, stats
from helpers.detection import match
from helpers.icon2 import attributes, statistics, verdicts
from helpers.icon2.analysis import POINTS, Analysis, analyse
from helpers.icon2.options import Options

CONFOUNDED, REAL, BOTH, NEITHER = "confounded", "real", "both", "neither"
STRENGTH = {"size": 0.3, "occlusion": 0.8, "time": 1.2, "weather": 1.5}
PAPER_RULE = "strata: σ falls at all (the paper)"
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
    n_images: int = 1000,
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


def rankings(
    seeds: Iterable[int],
    confounders: Iterable[str] = driving_world.CONFOUNDERS,
    *,
    category: str = "car",
    n_images: int = 1000,
    thresholds: tuple[float, ...] = (0.5, 0.75),
    options: Options | None = None,
) -> pd.DataFrame:
    """How often the planted confounder ranks first, by ProxyAP and by plain sigma.

    Returns
    -------
    DataFrame
        ``confounder ranking times of share low high``, with Wilson intervals.
    """
    seeds, rows = list(seeds), []
    for confounder in confounders:
        times = {"ProxyAP": 0, "plain sigma": 0}
        for seed in seeds:
            law = driving_world.Law(STRENGTH[confounder], confounder)
            matches, income, others = _drawn(seed, law, category, n_images, thresholds)
            ranking = analyse(matches, income, others, options=options).ranking()
            times["ProxyAP"] += ranking.attribute.iloc[0] == confounder
            plain = ranking.sort_values("plain_rank").attribute.iloc[0]
            times["plain sigma"] += plain == confounder
        for ranking, yes in times.items():
            rows.append({"confounder": confounder, "ranking": ranking} | _share(yes, len(seeds)))
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

    Right is: always where it does (`confounded`), never elsewhere. Where both are planted the right
    answer is "in part", which only the suite's verdict can give; it is the last rule.

    Returns
    -------
    DataFrame
        ``rule world times of share low high``, with Wilson intervals.
    """
    says = {
        PAPER_RULE: trials["paper"],
        "strata: half of σ is gone": trials["half"],
        "standardised: half of σ is gone": trials["standardised_half"],
        SUITE_RULE: trials["verdict"] == verdicts.EXPLAINS,
        PART_RULE: trials["verdict"] == verdicts.IN_PART,
    }
    return pd.DataFrame(
        {"rule": rule, "world": world} | _share(int(yes[group.index].sum()), len(group))
        for rule, yes in says.items()
        for world, group in trials.groupby("world", sort=False)
    )


def answers() -> pd.DataFrame:
    """For each kind of world, whether "it explains the gap" is right: ``world answer``."""
    return pd.DataFrame(
        {"world": [CONFOUNDED, REAL, BOTH, NEITHER], "answer": [True, False, False, False]}
    )


def summary(trials: pd.DataFrame) -> pd.DataFrame:
    """Mean sigma before, within strata and after standardising in each world (AP points)."""
    columns = ["sigma", "controlled", "standardised"]
    return trials.groupby("world", sort=False)[columns].mean().reset_index()


def _share(yes: int, of: int) -> dict[str, float]:
    low, high = stats.wilson(yes, of)
    return {"times": yes, "of": of, "share": yes / of, "low": low, "high": high}
