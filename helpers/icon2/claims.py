"""What notebooks 08 and 08b measure for the claims of ICON2 and of this suite.

The paper's detector and its income table are not to be had, so its values are not compared with
ours. What its printed numbers allow is recomputed; what its method promises is tested on worlds
whose answer is known; what it says of a figure is judged in its direction.
"""

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas, printed, verdicts
from helpers.icon2.analysis import POINTS, Analysis
from helpers.icon2.verdicts import ANY_RULE, PAPER_RULE, SUITE_RULE
from helpers.run.claims import Estimate

CARS = 102_506  # in BDD100K's validation set; the paper's groups are a part of it, so have fewer
ENDS = ["share", "low", "high"]
OF_RULES = {
    "icon2/rule/hit": (PAPER_RULE, verdicts.HARDER, "hit"),
    "icon2/rule/alarm": (PAPER_RULE, verdicts.WORSE, "false alarm"),
    "suite/icon2/fall-alone": (ANY_RULE, verdicts.WORSE, "false alarm"),
    "suite/icon2/verdict/part": (SUITE_RULE, verdicts.BOTH, "exact"),
    "suite/icon2/verdict/alarm": (SUITE_RULE, verdicts.WORSE, "false alarm"),
}
OF_METHOD = {"icon2/ranks-first": verdicts.FIRST, "icon2/falls": verdicts.FALLS}


def of_printed() -> list[Estimate]:
    """What the paper's Tables 1 to 3 say when they are computed again."""
    numbers, sigma = printed.numbers(), printed.formula_of_sigma()
    control, formula = printed.read("control"), sigma.set_index("class")
    nearer = (formula.population - formula.printed).abs() < (
        formula["sample"] - formula.printed
    ).abs()
    mean = numbers[(numbers.of == "all classes") & (numbers.quantity != "sigma")]
    largest = control.groupby("class").delta.max()
    first = control[control["rank"] == 1].set_index("class")
    return [
        _exact("formula", nearer.sum()),
        _exact("mean-row", (mean.printed - mean.recomputed).abs().max()),
        _exact("delta", numbers[numbers.quantity == "delta"].fits.sum()),
        _exact("table-3", (printed.read("ranking").proxy_sigma < first.proxy_sigma.min()).sum()),
        _exact("largest-fall", (first.delta == largest).sum()),
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
    """High less low income: AP of all classes; low less high: share of small cars."""
    groups, every = analysis.sensitive.values, analysis.estimable()
    if analysis.sensitive.name != "income" or not {"low", "high"} <= set(groups) or not every:
        return []
    low, high = groups.index("low"), groups.index("high")
    mean = np.mean([analysis.estimates[name].group_ap for name in every], axis=0)
    more = {"icon2/falls-with-income": mean[:, high] - mean[:, low]}
    if "car" in every:
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


def of_streets(beside: pd.DataFrame) -> list[Estimate]:
    """What the intervention says of the paper's rule and of control.

    From :func:`helpers.icon2.verdicts.beside_truth`: shares of its rows, a class of a training.
    """
    right = (beside[PAPER_RULE] == verdicts.EXPLAINS) == beside["scenes?"]
    caused = beside[beside["scenes?"]]
    less = caused["standardised"] < caused["due to scenes"]
    return [
        Estimate(claim, (said.mean(), *stats.wilson(said.sum(), len(said))))
        for claim, said in {"icon2/rule/street": right, "suite/icon2/undershoots": less}.items()
    ]


def of_worlds(rates: pd.DataFrame, found_by: pd.DataFrame) -> list[Estimate]:
    """What the planted worlds say of the rules and of the method: often right, seldom wrong?

    From :func:`helpers.icon2.verdicts.error_rates` and :func:`helpers.icon2.verdicts.found_by`. A
    claim about every confounder is judged by that with the least share of worlds.
    """
    share = rates.set_index(["rule", "world", "outcome"])[ENDS]
    found = [Estimate(claim, tuple(share.loc[rule])) for claim, rule in OF_RULES.items()]
    for claim, question in OF_METHOD.items():
        answers = found_by[found_by.question == question]
        least = answers.loc[answers.share.idxmin()]
        found.append(Estimate(claim, tuple(least[ENDS]), {"least": least.confounder}))
    return found
