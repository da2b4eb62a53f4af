"""What the paper prints, and what notebooks 08 and 08b measure for its claims and the suite's.

The paper's detector and income table are not to be had: what its printed numbers allow is
recomputed, what its method promises is tested on worlds whose answer is known."""

import numpy as np
import pandas as pd

from helpers import stats, store
from helpers.icon2 import verdicts
from helpers.icon2.analysis import POINTS, Analysis, interval, shares, sigma
from helpers.icon2.verdicts import PAPER_RULE, SUITE_RULE
from helpers.stats import Estimate

PLANTED = "that is what the street plants"
GROUPS = ["low", "middle", "high"]
ABOUT = [5, 2.5, 5]  # percentage points that "about" may be off: of 50, of 10, of 50
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


def printed(name: str) -> pd.DataFrame:
    """A table of the paper: ``groups``, ``control``, ``ranking`` (Tables 1 to 3) or ``text``."""
    return pd.read_csv(store.root() / "data" / "paper" / f"icon2_{name}.csv")


def numbers() -> pd.DataFrame:
    """Every number of the paper's tables and of its section 4, and the same computed from others.

    ``recomputed`` is NaN for what can only be transcribed; ``rounding`` is how far rounding (half a
    unit of the last digit of each number that takes part) or "about" lets the two be apart."""
    table = pd.concat([_table_1(), _tables_2_and_3(), _text()], ignore_index=True)
    off = (table.printed - table.recomputed).abs()
    return table.assign(fits=off.round(6) <= table.rounding)


def _table_1() -> pd.DataFrame:
    wide = printed("groups").set_index("class").drop(columns="source")
    again = pd.DataFrame(np.nan, wide.index, wide.columns)
    again["sigma"] = sigma(wide[GROUPS].to_numpy())
    again.loc["all classes", ["overall", *GROUPS]] = wide.drop("all classes").mean()
    # three APs off by .05 each move their sigma by no more than .05 sqrt(3 / 2)
    rounding = {"sigma": 0.005 + 0.05 * np.sqrt(1.5)} | dict.fromkeys(["overall", *GROUPS], 0.1)
    long = wide.rename_axis("of").reset_index().melt("of", None, "quantity", "printed")
    long["recomputed"] = again.melt().value.to_numpy()
    return long.assign(exhibit="Table 1", rounding=long.quantity.map(rounding))


def _tables_2_and_3() -> pd.DataFrame:
    tables = {"Table 2": printed("control"), "Table 3": printed("ranking")}
    table = pd.concat(tables, names=["exhibit"]).reset_index("exhibit")
    table["of"] = table["class"] + ", " + table.attribute
    sigma = table["class"].map(printed("groups").set_index("class").sigma)
    again = (sigma - table.controlled).set_axis(table.of)
    long = table.melt(
        ["exhibit", "of"], ["proxy_sigma", "controlled", "delta"], "quantity", "printed"
    )
    long["recomputed"] = long.of.map(again).where(long.quantity == "delta")
    return long.dropna(subset="printed").assign(rounding=0.015)


def _text() -> pd.DataFrame:
    table = printed("text")
    long = table.rename(columns={"statement": "of", "value": "printed", "source": "exhibit"})
    rows = printed("groups").set_index("class")
    first = printed("control").query("rank == 1").set_index("class")
    gone = 100 * first.delta / rows.sigma
    mean = rows.drop("all classes")[GROUPS].mean()
    again = [*mean, np.nan, np.nan, *gone.loc[list(first.index)]]
    return long.assign(quantity="in the text", recomputed=again, rounding=[0.055] * 5 + ABOUT)


def formula_of_sigma() -> pd.DataFrame:
    """Table 1: sigma by both formulas beside the printed: ``class printed sample population``."""
    table = printed("groups")
    sample = sigma(table[GROUPS].to_numpy())
    known = {"class": table["class"], "printed": table.sigma, "sample": sample}
    return pd.DataFrame(known | {"population": sample * np.sqrt(2 / 3)})


def of_printed() -> list[Estimate]:
    """What the paper's Tables 1 to 3 and its section 4.2 say when they are computed again."""
    control, formula = printed("control"), formula_of_sigma()
    off = formula[["population", "sample"]].sub(formula["printed"], axis=0).abs()
    first = control[control["rank"] == 1].set_index("class")
    groups, text = printed("groups").set_index("class").drop("all classes"), numbers()
    falls = (groups.low > groups.middle) & (groups.middle > groups.high)
    highest = groups.sigma.drop(RARE).nlargest(3).index
    counts = {
        "formula": off["population"] < off["sample"],
        "table-3": printed("ranking").proxy_sigma < first.proxy_sigma.min(),
        "largest-fall": first.delta == control.groupby("class").delta.max(),
        "not-alike": falls,
        "highest": highest.isin(first.index),
        "reductions": text.fits[text.exhibit == "section 4.2.2"],
    }
    return [Estimate(f"icon2/{name}", (right.sum(),) * 3) for name, right in counts.items()]


def of_analysis(analysis: Analysis, null: pd.DataFrame, planted: bool) -> list[Estimate]:
    """What Table 1, Figures 2 to 6 and Table 2 say, in their direction.
    What a street has `planted` cannot fail, so it is not judged: gaps, and what makes them."""
    estimates = _incomes(analysis) + _control(analysis)
    sigmas = analysis.sigmas().merge(null[["class", "p_holm"]], on="class").set_index("class")
    for name, row in sigmas[sigmas.index.isin(["car", "pedestrian"])].iterrows():
        ends = tuple(row[["sigma", "low", "high"]])
        estimates.append(Estimate(f"icon2/gap/{name}", ends, p=row.p_holm))
    few = analysis.cells().query("`class` in @FEW")
    if len(few):
        estimates.append(Estimate("icon2/support", (round(100 * (~few.estimable).mean()),) * 3))
    return [Estimate(one.claim, note=PLANTED) for one in estimates] if planted else estimates


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
    firsts = [t.query("rank == 1")[of] for t in (analysis.ranking(), printed("control"))]
    both = analysis.control().merge(firsts[0]).merge(firsts[1]).set_index("class")
    return [Estimate(f"icon2/control/{name}", tuple(row[ends])) for name, row in both.iterrows()]


def of_streets(beside: pd.DataFrame) -> list[Estimate]:
    """What :func:`helpers.icon2.verdicts.beside_truth` says of the paper's rule and of control."""
    named, caused = beside[PAPER_RULE] == verdicts.NAMED, beside["scenes?"]
    outcomes = {
        "icon2/rule/street": named[caused],
        "icon2/rule/none": ~named[~caused],
        "icon2/more-reliable": beside["nearer"],
    }
    return [
        Estimate(claim, (right.mean(), *stats.wilson(right.sum(), len(right))))
        for claim, right in outcomes.items()
    ]


def of_worlds(worlds: pd.DataFrame, rates: pd.DataFrame) -> list[Estimate]:
    """What ``data/driving_worlds.csv`` says of the rules: often right, seldom wrong?
    Whether the rule names attributes of boxes and of frames is judged apart."""
    estimates = []
    for claim, (rule, kinds, outcome) in OF_RULES.items():
        rows = rates[(rates["rule"] == rule) & (rates["outcome"] == outcome)]
        times, of = rows.loc[rows["world"].isin(kinds), ["times", "of"]].sum()
        estimates.append(Estimate(claim, (times / of, *stats.wilson(times, of))))
    leveled = worlds.assign(level=worlds.confounder.map(verdicts.LEVELS))
    first = verdicts.found_by(worlds, "world").set_index("question").loc[verdicts.FIRST, ENDS]
    named = verdicts.found_by(leveled, "level").query("question == @verdicts.NAMES")
    estimates.append(Estimate("icon2/ranks-first", tuple(first)))
    return estimates + [
        Estimate("icon2/rule/hit", tuple(row[ENDS]), {"level": row["level"]})
        for _, row in named.iterrows()
    ]
