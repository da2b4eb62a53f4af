"""What notebooks 08 and 08b measure for the claims of ICON2 and of this suite.

The paper's detector and its income table are not to be had, so its values are not compared with
ours. What its printed numbers allow is recomputed; what its method promises is tested on worlds
whose answer is known; what it says of a figure is judged in its direction.
"""

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import printed, verdicts
from helpers.icon2.analysis import POINTS, Analysis, interval, shares
from helpers.icon2.verdicts import PAPER_RULE, SUITE_RULE
from helpers.stats import Estimate

PLANTED = "that is what the street plants"
ENDS = ["share", "low", "high"]
WORSE = [verdicts.WORSE, verdicts.BESIDE]  # no scenes are harder
OF_RULES = {
    "icon2/rule/alarm": (PAPER_RULE, WORSE, "false alarm"),
    "suite/icon2/verdict/part": (SUITE_RULE, [verdicts.BOTH], "exact"),
    "suite/icon2/verdict/alarm": (SUITE_RULE, WORSE, "false alarm"),
}
TILTED = {"icon2/small-cars": ("size", "small"), "icon2/night": ("time", "night")}
RARE = ["bus", "motorcycle", "bicycle"]  # whose APs Table 3 calls not reliable
FEW = [*RARE, "traffic sign", "traffic light"]  # of which Figure 6 has very few


def of_printed() -> list[Estimate]:
    """What the paper's Tables 1 to 3 and its section 4.2 say when they are computed again."""
    control, formula = printed.read("control"), printed.formula_of_sigma()
    off = formula[["population", "sample"]].sub(formula["printed"], axis=0).abs()
    first = control[control["rank"] == 1].set_index("class")
    groups, text = printed.read("groups").set_index("class").drop("all classes"), printed.numbers()
    falls = (groups.low > groups.middle) & (groups.middle > groups.high)
    highest = groups.sigma.drop(RARE).nlargest(3).index
    counts = {
        "formula": off["population"] < off["sample"],
        "table-3": printed.read("ranking").proxy_sigma < first.proxy_sigma.min(),
        "largest-fall": first.delta == control.groupby("class").delta.max(),
        "not-alike": falls,
        "highest": highest.isin(first.index),
        "reductions": text.fits[text.exhibit == "section 4.2.2"],
    }
    return [Estimate(f"icon2/{name}", (right.sum(),) * 3) for name, right in counts.items()]


def of_analysis(analysis: Analysis, null: pd.DataFrame, planted: bool) -> list[Estimate]:
    """What Table 1, Figures 2 to 6 and Table 2 say, in their direction.

    From an analysis with resamples and :func:`helpers.icon2.sigma_null`. What a street has
    `planted` cannot fail, so it is not judged: gaps, their direction, and what makes them.
    """
    found = _incomes(analysis) + _control(analysis)
    sigmas = analysis.sigmas().merge(null[["class", "p_holm"]], on="class").set_index("class")
    for name, row in sigmas[sigmas.index.isin(["car", "pedestrian"])].iterrows():
        ends = tuple(row[["sigma", "low", "high"]])
        found.append(Estimate(f"icon2/gap/{name}", ends, p=row.p_holm))
    few = analysis.cells().query("`class` in @FEW")
    if len(few):
        found.append(Estimate("icon2/support", (round(100 * (~few.estimable).mean()),) * 3))
    return [Estimate(one.claim, note=PLANTED) for one in found] if planted else found


def _incomes(analysis: Analysis) -> list[Estimate]:
    """High less low income: AP of all classes; low less high: shares of small cars and of night."""
    groups, every = analysis.sensitive.values, analysis.estimable()
    if analysis.sensitive.name != "income" or not {"low", "high"} <= set(groups) or not every:
        return []
    low, high = groups.index("low"), groups.index("high")
    mean = np.mean([analysis.estimates[name].group_ap for name in every], axis=0)
    more = {"icon2/falls-with-income": mean[:, high] - mean[:, low]}
    parts = analysis.estimates["car"].parts if "car" in every else {}
    for claim, (attribute, value) in TILTED.items():
        if attribute in parts and value in parts[attribute].values:
            share = shares(parts[attribute].cell_boxes)[:, parts[attribute].values.index(value)]
            more[claim] = share[:, low] - share[:, high]
    return [Estimate(name, (POINTS * m[0], *interval(POINTS * m))) for name, m in more.items()]


def _control(analysis: Analysis) -> list[Estimate]:
    """Does controlling lower sigma where the attribute that ranks first is Table 2's?"""
    of, ends = ["class", "attribute"], ["delta", "low", "high"]
    firsts = [t.query("rank == 1")[of] for t in (analysis.ranking(), printed.read("control"))]
    both = analysis.control().merge(firsts[0]).merge(firsts[1]).set_index("class")
    return [Estimate(f"icon2/control/{name}", tuple(row[ends])) for name, row in both.iterrows()]


def of_streets(beside: pd.DataFrame) -> list[Estimate]:
    """What :func:`helpers.icon2.verdicts.beside_truth` says of the paper's rule and of control."""
    named, caused = beside[PAPER_RULE] == verdicts.NAMED, beside["scenes?"]
    said = {
        "icon2/rule/street": named[caused],
        "icon2/rule/none": ~named[~caused],
        "icon2/more-reliable": beside["nearer"],
    }
    return [
        Estimate(claim, (right.mean(), *stats.wilson(right.sum(), len(right))))
        for claim, right in said.items()
    ]


def of_worlds(worlds: pd.DataFrame, rates: pd.DataFrame) -> list[Estimate]:
    """What the planted worlds say of the rules and of the method: often right, seldom wrong?

    From :func:`helpers.icon2.verdicts.ask_worlds` and :func:`helpers.icon2.verdicts.error_rates`.
    Whether the rule names attributes of boxes and of frames is judged apart.
    """
    found, by = [], rates.set_index(["rule", "outcome", "world"])[["times", "of"]]
    for claim, (rule, kinds, outcome) in OF_RULES.items():
        times, of = by.loc[rule, outcome].loc[kinds].sum()
        found.append(Estimate(claim, (times / of, *stats.wilson(times, of))))
    leveled = worlds.assign(level=worlds.confounder.map(verdicts.LEVELS))
    first = verdicts.found_by(worlds, "world").set_index("question").loc[verdicts.FIRST, ENDS]
    named = verdicts.found_by(leveled, "level").query("question == @verdicts.NAMES")
    found.append(Estimate("icon2/ranks-first", tuple(first)))
    return found + [
        Estimate("icon2/rule/hit", tuple(row[ENDS]), {"level": row["level"]})
        for _, row in named.iterrows()
    ]
