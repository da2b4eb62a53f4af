"""From numbers to words: does a confounder explain the gap between groups? Three rules say so.

Their error rates are counted on worlds with a known answer.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.icon2.analysis import Analysis, sigma
from helpers.icon2.attributes import OF_PAPER

NO_GAP = "no gap beyond chance"
NAMED, NOT_NAMED = "names it", "does not name it"  # of a rule that has no third answer
EXPLAINS = "explains the gap"
IN_PART = "explains a part"
NOT = "does not explain it"
UNDECIDED = "undecided"
UNKNOWN = "not estimable"
YES = (NAMED, EXPLAINS, IN_PART)
PAPER_RULE, ANY_RULE, SUITE_RULE = "paper's rule", "Δ > 0 for any", "suite's rule"
RULES = (PAPER_RULE, ANY_RULE, SUITE_RULE)

ALPHA = 0.05
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


def paper_says(rank: int, proxy_sigma: float, delta: float) -> str:
    """Does the paper's rule name an attribute (Algorithm 1, sections 3.2.2 and 4.2.1)?"""
    return NAMED if proxy_sigma > 1 and rank == 1 and delta > 0 else NOT_NAMED


def suite_says(group_ap: np.ndarray, standardised: np.ndarray, confounders: int = 1) -> str:
    """The suite's rule, from AP (1 + R, A) of the groups before and after standardising.

    Sigma must fall beyond its resamples' doubt (one-sided), which all `confounders` share."""
    gap = cochrans_q(group_ap)
    if np.isnan(gap) or np.isnan(standardised).any():
        return UNKNOWN
    if gap >= ALPHA:
        return NO_GAP
    before = sigma(group_ap)
    fall = before - sigma(standardised)
    doubt = scipy.stats.norm.isf(ALPHA / confounders) * fall[1:].std(ddof=1)
    if fall[0] > doubt:
        return EXPLAINS if cochrans_q(standardised) >= ALPHA else IN_PART
    return UNDECIDED if fall[0] + doubt >= before[0] / 2 else NOT


def cochrans_q(ap: np.ndarray) -> float:
    """p-value of "all groups have the same AP" by Cochran's Q on bootstrap variances."""
    if np.isnan(ap).any() or len(ap) < 3:
        return np.nan
    precision = 1 / np.maximum(ap[1:].var(0, ddof=1), 1e-12)
    mean = (precision * ap[0]).sum() / precision.sum()
    q = (precision * (ap[0] - mean) ** 2).sum()
    return float(scipy.stats.chi2.sf(q, ap.shape[1] - 1))


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

    ``due to scenes`` is their share of the gap, ``scenes?`` whether it goes the gap's way beyond
    doubt, ``left`` the share of sigma after the paper's control, and ``nearer`` whether that is
    nearer than 1, the raw gap, to the share that the looks cause.
    """
    known = record[(record["gap_low"] > 0) | (record["gap_high"] < 0)].reset_index(drop=True)
    left, looks = 1 - known.delta / known.sigma, known.looks / known.gap
    columns = {
        "due to scenes": known.scenes / known.gap,
        "scenes?": np.where(known.gap > 0, known.scenes_low > 0, known.scenes_high < 0),
        "attribute": known.attribute,
        PAPER_RULE: [paper_says(1, row.proxy_sigma, row.delta) for row in known.itertuples()],
        "left": left,
        "nearer": (left - looks).abs() < (1 - looks).abs(),
    }
    return known[["harder", "rare", "training", "class", "gap"]].assign(**columns)


def error_rates(worlds: pd.DataFrame, rules: Sequence[str] = RULES) -> pd.DataFrame:
    """How often each rule finds what was planted, and blames what was not.

    Outcomes: ``hit`` and ``miss`` (of worlds with a confounder: is it named?), ``false alarm`` (of
    all worlds: is any other attribute named?), and ``exact`` of the suite's rule, which alone tells
    "the gap" from "a part". With Wilson intervals.
    """
    rows = []
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
