"""How often ICON2 is right: the same question asked of many planted worlds.

A world of each kind is drawn for every seed: income is confounded with the size of boxes, changes
detection itself, both, or neither. Each rule's answers are counted against what was planted.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from helpers import driving_world, stats
from helpers.detection import match
from helpers.icon2 import attributes, statistics, verdicts
from helpers.icon2.analysis import Analysis, analyse
from helpers.icon2.options import PAPER, SOUND, Options

CONFOUNDED, REAL, BOTH, NEITHER = "confounded", "real", "both", "neither"
READINGS = {"paper": PAPER, "per image": SOUND}


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
    confounding: float = 0.3,
    inequity: float = 0.5,
    confounder: str = "size",
    category: str = "car",
    n_images: int = 600,
    resamples: int = 20,
    thresholds: tuple[float, ...] = (0.5, 0.75),
    readings: dict[str, Options] | None = None,
) -> pd.DataFrame:
    """Ask every rule about every planted world.

    Parameters
    ----------
    seeds
    confounding, inequity, confounder
        The knobs of :class:`helpers.driving_world.Law`.
    category
        The one class that is drawn and judged.
    n_images
        Frames of each world.
    resamples
        Bootstrap resamples for the suite's verdict.
    thresholds
        IoU thresholds; two instead of ten to be quick.
    readings
        Options by name (default: the paper's and the one that counts N and F per image).

    Returns
    -------
    DataFrame
        Row a world and reading: ``seed world reading``; ``first`` and ``plain_first``, the
        attribute that ranks first by ProxyAP and by plain sigma; ``sigma``; for the planted
        confounder ``controlled`` and ``standardised`` (AP points), ``paper``, ``half`` and
        ``standardised_half`` (does the rule say it explains the gap?) and ``verdict``.
    """
    rows = []
    for seed in seeds:
        for kind, law in laws(confounding, inequity, confounder).items():
            world = driving_world.make(n_images, seed, law, (category,))
            matches = match(world.truth, world.detections, thresholds)
            income = attributes.from_column(world.truth, "income")
            others = attributes.standard(world.truth, world.detections)
            for name, options in (readings or READINGS).items():
                point = analyse(matches, income, others, options=options)
                planted = [a for a in others if a.name == confounder]
                again = analyse(
                    matches, income, planted, options=options, resamples=resamples, seed=seed
                )
                rows.append({"seed": seed, "world": kind, "reading": name} | _answers(point, again))
    return pd.DataFrame(rows)


def _answers(point: Analysis, again: Analysis) -> dict:
    ranking, ddof = point.ranking(), point.options.ddof
    (estimate,) = again.estimates.values()
    (part,) = estimate.parts
    return {
        "first": ranking.attribute.iloc[0],
        "plain_first": ranking.sort_values("plain_rank").attribute.iloc[0],
        "sigma": 100 * float(statistics.sigma(estimate.group_ap[0], ddof)),
        "controlled": 100 * float(statistics.controlled(part.cell_ap[0], ddof)),
        "standardised": 100 * float(statistics.sigma(part.standardised[0], ddof)),
        "paper": verdicts.paper_says(estimate, part, ddof),
        "half": verdicts.half(estimate, part, ddof),
        "standardised_half": verdicts.half(estimate, part, ddof, standardised=True),
        "verdict": verdicts.verdict(estimate, part, ddof),
    }


def rates(trials: pd.DataFrame, confounder: str = "size") -> pd.DataFrame:
    """Error rates: how often each rule says what, with Wilson intervals.

    Returns
    -------
    DataFrame
        ``world reading question times of share low high``.
    """
    asked = {
        "ProxyAP ranks the planted confounder first": trials["first"] == confounder,
        "plain sigma ranks it first": trials["plain_first"] == confounder,
        "strata, any fall (the paper's rule): explained": trials["paper"],
        "strata, half of sigma gone: explained": trials["half"],
        "standardised, half of sigma gone: explained": trials["standardised_half"],
        "suite's verdict: there is a gap": trials["verdict"] != verdicts.NO_GAP,
        "suite's verdict: explained": trials["verdict"] == verdicts.EXPLAINS,
        "suite's verdict: explained in part": trials["verdict"] == verdicts.IN_PART,
    }
    rows = []
    for (world, reading), group in trials.groupby(["world", "reading"], sort=False):
        for question, answer in asked.items():
            yes = int(answer[group.index].sum())
            low, high = stats.wilson(yes, len(group))
            row = {"world": world, "reading": reading, "question": question}
            rows.append(
                row
                | {
                    "times": yes,
                    "of": len(group),
                    "share": yes / len(group),
                    "low": low,
                    "high": high,
                }
            )
    return pd.DataFrame(rows)


def summary(trials: pd.DataFrame) -> pd.DataFrame:
    """Mean sigma, controlled sigma and standardised sigma of each world and reading (AP points)."""
    columns = ["sigma", "controlled", "standardised"]
    return trials.groupby(["world", "reading"], sort=False)[columns].agg(np.mean).reset_index()
