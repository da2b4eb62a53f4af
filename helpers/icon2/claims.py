"""What notebook 08 measures for the claims of ICON2 and of this suite.

The paper's detector and its income table are not to be had, so its values are not compared with
ours. What its printed numbers allow is recomputed; what its method promises is tested on worlds
whose answer is known; what it says of a figure is judged in its direction.
"""

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import error_rates as asked
from helpers.icon2 import formulas, printed
from helpers.icon2.analysis import POINTS, Analysis
from helpers.run.claims import Estimate

CARS = 102_506  # in BDD100K's validation set; the paper's groups are a part of it, so have fewer
ENDS = ["share", "low", "high"]
OF_READINGS = {  # what is asked about every confounder
    "icon2/ranks-first": (asked.FIRST, asked.EQ3),
    "suite/icon2/ranks-first-per-image": (asked.FIRST, asked.PER_IMAGE),
    "icon2/falls": (asked.FALLS, asked.EQ3),
    "suite/icon2/falls-per-image": (asked.FALLS, asked.PER_IMAGE),
}
OF_RULES = {
    "icon2/rule/harder": (asked.PAPER_RULE, asked.CONFOUNDED),
    "icon2/rule/worse": (asked.PAPER_RULE, asked.REAL),
    "suite/icon2/fall-alone": (asked.FALL_RULE, asked.REAL),
    "suite/icon2/verdict/harder": (asked.SUITE_RULE, asked.CONFOUNDED),
    "suite/icon2/verdict/worse": (asked.PART_RULE, asked.REAL),
    "suite/icon2/verdict/both": (asked.PART_RULE, asked.BOTH),
}


def of_printed() -> list[Estimate]:
    """What the paper's Tables 1 to 3 say when they are computed again."""
    averages, deltas, foretold = printed.averages(), printed.deltas(), printed.foretold()
    first = printed.read("control").groupby("class").proxy_sigma.max()
    least = foretold.loc[foretold[printed.CORRELATION].idxmin(), "class"]
    pairs = deltas[deltas["class"] == least]
    correlation = tuple(stats.spearman(pairs.proxy_sigma, pairs.delta))
    return [
        _exact("formula", (printed.sigmas().nearer == "population").sum()),
        _exact("mean-row", (averages.printed - averages["mean of the classes"]).abs().max()),
        _exact("delta", deltas.rounding.sum()),
        _exact("table-3", (printed.read("ranking").proxy_sigma < first.min()).sum()),
        _exact("largest-fall", foretold[printed.LARGEST].sum()),
        Estimate("icon2/lower-ranks", correlation, {"class": least}),
    ]


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
        found.append(_narrow(analysis.groups()))
    cells = analysis.cells()
    rare = cells[cells["class"].isin(["bus", "motorcycle", "bicycle"])]
    if len(rare):
        found.append(_exact("support", round(100 * (~rare.estimable).mean())))
    return found + _control(analysis)


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
        size = analysis.estimates["car"].parts["size"]
        share = formulas.shares(size.cell_boxes)[:, size.values.index("small")]
        more["icon2/small-cars"] = share[:, low] - share[:, high]
    return [
        Estimate(name, (POINTS * m[0], *formulas.interval(POINTS * m))) for name, m in more.items()
    ]


def _narrow(groups: pd.DataFrame) -> Estimate:
    """Half-widths of our intervals, brought to more boxes than the paper can have had.

    Its groups are the frames with GPS in New York City: more boxes than those of the whole
    validation set they cannot hold, and with fewer the intervals would be wider.
    """
    part = groups[groups["class"] == "car"]
    half = ((part.high - part.low) / 2) * np.sqrt(part.boxes / (CARS / 3))
    return Estimate("icon2/intervals", (half.mean(), half.min(), half.max()))


def _control(analysis: Analysis) -> list[Estimate]:
    """Table 2: does controlling for the attribute that ranks first lower sigma?

    Like with like: only for classes in which the paper's attribute ranks first here too.
    """
    of, ends = ["class", "attribute"], ["delta", "low", "high"]
    firsts = [t.query("rank == 1")[of] for t in (analysis.ranking(), printed.read("control"))]
    both = analysis.control().merge(firsts[0]).merge(firsts[1]).set_index("class")
    return [Estimate(f"icon2/control/{name}", tuple(row[ends])) for name, row in both.iterrows()]


def of_error_rates(ranked: pd.DataFrame, rates: pd.DataFrame) -> list[Estimate]:
    """What the planted worlds say of the method: often right, and seldom wrong?

    From :func:`helpers.icon2.error_rates.ask_readings` and :func:`helpers.icon2.error_rates.rates`.
    A claim about every confounder is judged by that with the least share of worlds.
    """
    found = []
    for claim, (question, by) in OF_READINGS.items():
        answers = ranked[(ranked.question == question) & (ranked.by == by)]
        least = answers.loc[answers.share.idxmin()]
        found.append(Estimate(claim, tuple(least[ENDS]), {"least": least.confounder}))
    times = ranked[ranked.question == asked.FIRST].groupby("by")[["times", "of"]].sum()
    more = stats.newcombe(*times.loc[asked.EQ3], *times.loc[asked.PLAIN])
    found.append(Estimate("icon2/own-sigma", tuple(more)))
    share = rates.set_index(["rule", "world"])[ENDS]
    return found + [Estimate(claim, tuple(share.loc[rule])) for claim, rule in OF_RULES.items()]
