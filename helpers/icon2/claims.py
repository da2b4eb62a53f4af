"""What notebook 08 measures for the claims of ICON2 and of this suite.

The paper's detector and its income table are not to be had, so its values are not compared with
ours. What its printed numbers allow is recomputed; what its method promises is tested on worlds
whose answer is known; what it says of a figure is judged in its direction.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas, printed
from helpers.icon2.analysis import INTERVALS, POINTS, Analysis
from helpers.icon2.bootstrap import interval
from helpers.icon2.error_rates import (
    BOTH,
    CONFOUNDED,
    EQ3,
    FALL_RULE,
    FALLS,
    FIRST,
    PAPER_RULE,
    PART_RULE,
    PER_IMAGE,
    PLAIN,
    REAL,
    SUITE_RULE,
)
from helpers.run.claims import Estimate
from helpers.stats import ranks

CARS = 102_506  # in BDD100K's validation set; the paper's groups are a part of it, so have fewer
ENDS = ["share", "low", "high"]


def of_printed() -> list[Estimate]:
    """What the paper's Tables 1 to 3 say when they are computed again."""
    averages, deltas, foretold = printed.averages(), printed.deltas(), printed.foretold()
    first = printed.read("control").groupby("class").proxy_sigma.max()
    least = foretold.loc[foretold[printed.CORRELATION].idxmin(), "class"]
    pairs = deltas[deltas["class"] == least]
    exact = {
        "formula": (printed.sigmas().nearer == "population").sum(),
        "mean-row": (averages.printed - averages["mean of the classes"]).abs().max(),
        "delta": deltas.rounding.sum(),
        "table-3": (printed.read("ranking").proxy_sigma < first.min()).sum(),
        "largest-fall": foretold[printed.LARGEST].sum(),
    }
    found = [_exact(name, value) for name, value in exact.items()]
    correlation = tuple(ranks.spearman(pairs.proxy_sigma, pairs.delta))
    return [*found, Estimate("icon2/lower-ranks", correlation, {"class": least})]


def _exact(name: str, value: float) -> Estimate:
    return Estimate(f"icon2/{name}", (value, value, value))


def of_analysis(analysis: Analysis, null: pd.DataFrame, planted: bool) -> list[Estimate]:
    """What Table 1, Figures 2 to 6 and Table 2 say, in their direction.

    From an analysis with resamples and :func:`helpers.icon2.sigma_null`. What a law has `planted`
    is not judged: how AP, and how sizes, go with income.
    """
    found = [] if planted else _incomes(analysis)
    sigmas = analysis.sigmas().merge(null[["class", "p_holm"]], on="class").set_index("class")
    for name, row in sigmas[sigmas.index.isin(["car", "pedestrian"])].iterrows():
        ends = tuple(row[["sigma", "low", "high"]])
        found.append(Estimate(f"icon2/gap/{name}", ends, p=row.p_holm))
    if "car" in analysis.estimates:
        found.append(_narrow(analysis, "car"))
    return [*found, *_control(analysis), *_support(analysis)]


def _incomes(analysis: Analysis) -> list[Estimate]:
    """High less low income: AP of all classes and of cars; low less high: share of small cars."""
    groups, every = analysis.sensitive.values, analysis.estimable()
    if analysis.sensitive.name != "income" or not {"low", "high"} <= set(groups) or not every:
        return []
    low, high = groups.index("low"), groups.index("high")
    ap = {name: analysis.estimates[name].group_ap for name in every}
    mean = np.mean(list(ap.values()), axis=0)
    more = {"icon2/falls-with-income": mean[:, high] - mean[:, low]}
    if "car" in ap:
        more["icon2/car-rises"] = ap["car"][:, high] - ap["car"][:, low]
        (size,) = [part for part in analysis.estimates["car"].parts if part.name == "size"]
        share = formulas.shares(size.cell_boxes)[:, size.values.index("small")]
        more["icon2/small-cars"] = share[:, low] - share[:, high]
    return [Estimate(name, (POINTS * m[0], *interval(POINTS * m))) for name, m in more.items()]


def _narrow(analysis: Analysis, name: str) -> Estimate:
    """Half-widths of our intervals, brought to more boxes than the paper can have had.

    Its groups are the frames with GPS in New York City: more boxes than those of the whole
    validation set they cannot hold, and with fewer the intervals would be wider.
    """
    table = analysis.groups()
    part = table[table["class"] == name]
    half = ((part.high - part.low) / 2) * np.sqrt(part.boxes / (CARS / 3))
    return Estimate("icon2/intervals", (half.mean(), half.min(), half.max()))


def _control(analysis: Analysis) -> list[Estimate]:
    """Table 2: does controlling for the attribute that ranks first lower sigma?

    Like with like: only for classes in which the paper's attribute ranks first here too.
    """
    of, ends = ["class", "attribute"], ["delta", *INTERVALS["delta"]]
    firsts = [t.query("rank == 1")[of] for t in (analysis.ranking(), printed.read("control"))]
    both = analysis.control().merge(firsts[0]).merge(firsts[1]).set_index("class")
    return [Estimate(f"icon2/control/{name}", tuple(row[ends])) for name, row in both.iterrows()]


def _support(analysis: Analysis) -> list[Estimate]:
    """Figure 6 and Table 3: rare classes have too few boxes once they are split."""
    cells = analysis.cells()
    rare = cells[cells["class"].isin(["bus", "motorcycle", "bicycle"])]
    if rare.empty:
        return []
    return [_exact("support", round(100 * (~rare.estimable).mean()))]


def of_error_rates(ranked: pd.DataFrame, rates: pd.DataFrame) -> list[Estimate]:
    """What the planted worlds say of the method: often right, and seldom wrong?

    From :func:`helpers.icon2.error_rates.ask_readings` and :func:`helpers.icon2.error_rates.rates`.
    A claim about every confounder is judged by that with the least share of worlds.
    """
    found = []
    for claim, question, by in (
        ("icon2/ranks-first", FIRST, EQ3),
        ("suite/icon2/ranks-first-per-image", FIRST, PER_IMAGE),
        ("icon2/falls", FALLS, EQ3),
        ("suite/icon2/falls-per-image", FALLS, PER_IMAGE),
    ):
        asked = ranked[(ranked.question == question) & (ranked.by == by)]
        least = asked.loc[asked.share.idxmin()]
        found.append(Estimate(claim, tuple(least[ENDS]), {"least": least.confounder}))
    times = ranked[ranked.question == FIRST].groupby("by")[["times", "of"]].sum()
    more = stats.newcombe(*times.loc[EQ3], *times.loc[PLAIN])
    found.append(Estimate("icon2/own-sigma", tuple(more)))
    share = rates.set_index(["rule", "world"])[ENDS]
    return found + [Estimate(claim, tuple(share.loc[asked])) for claim, asked in RULES.items()]


RULES = {
    "icon2/rule/harder": (PAPER_RULE, CONFOUNDED),
    "icon2/rule/worse": (PAPER_RULE, REAL),
    "suite/icon2/fall-alone": (FALL_RULE, REAL),
    "suite/icon2/verdict/harder": (SUITE_RULE, CONFOUNDED),
    "suite/icon2/verdict/worse": (PART_RULE, REAL),
    "suite/icon2/verdict/both": (PART_RULE, BOTH),
}
