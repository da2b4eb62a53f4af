"""From numbers to words: does a confounder explain the gap between groups? Three rules say so.

Their error rates are counted on worlds with a known answer.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2.analysis import Analysis
from helpers.icon2.attributes import OF_PAPER
from helpers.icon2.formulas import (
    EXPLAINS,
    IN_PART,
    NAMED,
    NO_GAP,
    NOT,
    NOT_NAMED,
    UNKNOWN,
    paper_says,
    suite_says,
)

YES = (NAMED, EXPLAINS, IN_PART)
PAPER_RULE, ANY_RULE, SUITE_RULE = "paper's rule", "Δ > 0 for any", "suite's rule"
RULES = (PAPER_RULE, ANY_RULE, SUITE_RULE)
WITHIN_RULE = "asked within groups"
OF_WORLDS = (PAPER_RULE, WITHIN_RULE, SUITE_RULE)  # of recorded worlds

HARDER, WORSE, BOTH, NEITHER = "scenes harder", "detector worse", "both", "neither"
BESIDE = "detector worse, other scenes"  # the scenes of the groups differ, but none is harder
NO_CAUSE = (NEITHER, WORSE, BESIDE)  # no attribute is to blame for a gap
FIRST, FALLS = "ranks first", "σ falls within its values"
NAMES = "the paper's rule names it"
LEVELS = {"size": "boxes", "occlusion": "boxes", "time": "frames", "weather": "frames"}


def truth(world: str, confounder: str) -> dict[str, str]:
    """The right verdict on each of the paper's five attributes in a kind of planted world."""
    cause = IN_PART if world == BOTH else EXPLAINS
    other = NO_GAP if world == NEITHER else NOT
    return {name: cause if name == confounder else other for name in OF_PAPER}


def table(analysis: Analysis) -> pd.DataFrame:
    """What each of the `RULES` says of every class and confounder (with resamples)."""
    falls = analysis.control()[["class", "attribute", "delta"]]
    table = analysis.ranking()[["class", "attribute", "rank", "proxy_sigma"]].merge(falls)
    numbers = table[["rank", "proxy_sigma", "delta"]].itertuples(index=False)
    table[PAPER_RULE] = [paper_says(*one) for one in numbers]
    table[ANY_RULE] = np.where(table.delta > 0, NAMED, NOT_NAMED)
    estimates = [
        (analysis.estimates[row["class"]], row["attribute"]) for _, row in table.iterrows()
    ]
    table[SUITE_RULE] = [
        suite_says(e.group_ap, e.parts[name].standardised, len(e.parts)) for e, name in estimates
    ]
    table.loc[table.delta.isna(), [PAPER_RULE, ANY_RULE]] = UNKNOWN
    return table


def beside_truth(record: pd.DataFrame) -> pd.DataFrame:
    """Control beside the intervention (``data/streets.csv``), where there is a gap beyond doubt.

    ``looks`` is their share of the gap, ``scenes?`` whether the scenes' part goes the gap's way
    beyond doubt, ``left`` the share of sigma after the paper's control."""
    known = record[(record["gap_low"] > 0) | (record["gap_high"] < 0)].reset_index(drop=True)
    columns = {
        "looks": known.looks / known.gap,
        "scenes?": np.where(known.gap > 0, known.scenes_low > 0, known.scenes_high < 0),
        "attribute": known.attribute,
        PAPER_RULE: [paper_says(1, row.proxy_sigma, row.delta) for row in known.itertuples()],
        "left": 1 - known.delta / known.sigma,
    }
    return known[["harder", "rare", "training", "class", "gap"]].assign(**columns)


def error_rates(worlds: pd.DataFrame, rules: Sequence[str] = OF_WORLDS) -> pd.DataFrame:
    """How often each rule finds what was planted, and blames what was not.

    Outcomes: ``hit`` and ``miss`` (of worlds with a confounder: is it named?), ``false alarm`` (of
    all worlds: is any other attribute named?), and ``exact`` of the suite's rule, which alone tells
    "the gap" from "a part". With Wilson intervals. Of several doses the largest counts.
    """
    rows, worlds = [], with_within(worlds)
    most = worlds.groupby(["world", "confounder"])["strength"].transform("max")
    worlds = worlds[worlds["strength"] == most]
    for rule in rules:
        yes, is_cause = worlds[rule].isin(YES), worlds.truth.isin(YES)
        answers = worlds[["seed", "world", "confounder"]].assign(
            hit=yes & is_cause,
            alarm=yes & ~is_cause,
            exact=is_cause & (worlds[rule] == worlds.truth),
        )
        each = answers.groupby(["world", "confounder", "seed"], sort=False).any().reset_index()
        for world, part in each.groupby("world", sort=False):
            outcomes = {"false alarm": part.alarm}
            if world in (HARDER, BOTH):
                outcomes |= {"hit": part.hit, "miss": ~part.hit}
                outcomes |= {"exact": part.exact} if rule == SUITE_RULE else {}
            for outcome, answer in outcomes.items():
                rows.append((rule, world, outcome, answer.sum(), len(answer)))
    columns = ["rule", "world", "outcome", "times", "of"]
    return _with_shares(pd.DataFrame(rows, columns=columns))


def with_within(worlds: pd.DataFrame) -> pd.DataFrame:
    """The worlds with the answers of the rule that asks within groups: it names the attribute whose
    ProxyAP within the groups has the largest sigma, if this exceeds 1."""
    of = ["seed", "world", "confounder", "strength", "reading"]
    first = worlds.groupby(of)["proxy_within"].rank(ascending=False) == 1
    named = first & (worlds["proxy_within"] > 1)
    return worlds.assign(**{WITHIN_RULE: np.where(named, NAMED, NOT_NAMED)})


def doses(worlds: pd.DataFrame) -> pd.DataFrame:
    """Who blames the scene where the detector is worse, by how far (harmless) scenes differ: a row
    a dose, with the means of sigma, and in how many worlds each of the rules does so."""
    scene = with_within(worlds).query("world == @BESIDE and attribute == 'scene'")
    blamed = {f"{rule} blames it": scene[rule].isin(YES) for rule in OF_WORLDS}
    known = scene.assign(**blamed, first=scene["rank"] == 1)
    sums = {name: (name, "sum") for name in ("first", *blamed)}
    names = {"proxy_sigma": "σ(ProxyAP)", "proxy_within": "σ within", "first": FIRST}
    means = {name: (name, "mean") for name in ("proxy_sigma", "proxy_within")}
    table = known.groupby("strength").agg(**means, **sums, worlds=("seed", "nunique"))
    return table.rename(columns=names).reset_index()


def found_by(worlds: pd.DataFrame, of: str = "confounder") -> pd.DataFrame:
    """Where only the scenes are harder: does the method find the confounder that was planted?

    A row for each value of the column `of` and question: ``times of share low high``.
    """
    own = worlds[(worlds.world == HARDER) & (worlds.attribute == worlds.confounder)]
    answers = {FIRST: own["rank"] == 1, FALLS: own.delta > 0, NAMES: own[PAPER_RULE] == NAMED}
    long = own.assign(**answers).melt(of, list(answers), "question", "yes")
    by = long.groupby([of, "question"], sort=False).yes
    return _with_shares(by.agg(times="sum", of="count").reset_index())


def _with_shares(counts: pd.DataFrame) -> pd.DataFrame:
    low, high = stats.wilson(counts.times, counts.of)
    return counts.assign(share=counts.times / counts.of, low=low, high=high)
