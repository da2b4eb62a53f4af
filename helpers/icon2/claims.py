"""Read the paper's printed numbers, and estimate the claims of notebooks 08 and 08b.

The paper's detector and income table are not available. Its printed numbers are
recomputed as far as possible, and its method is tested on synthetic street scenes with
a known answer.
"""

import numpy as np
import pandas as pd

from helpers import store
from helpers.icon2.analysis import POINTS, Analysis, interval
from helpers.stats import Estimate

INJECTED = "the synthetic street scenes have this as an injected bias"
GROUPS = ["low", "middle", "high"]
TILTED = {
    "icon2/small-cars": ("size", "small"),
    "icon2/night": ("time", "night"),
}
RARE = ["bus", "motorcycle", "bicycle"]  # whose APs Table 3 calls not reliable
FEW = [*RARE, "traffic sign", "traffic light"]  # of which Figure 6 has very few


def printed(name: str) -> pd.DataFrame:
    """Read ``groups``, ``control`` or ``ranking`` of the paper (Tables 1 to 3)."""
    return pd.read_csv(store.root() / "data" / "paper" / f"icon2_{name}.csv")


def table_1(
    groups: pd.DataFrame, sigmas: pd.DataFrame, paper: pd.DataFrame
) -> pd.DataFrame:
    """Compare Table 1 with the paper's: AP of each group, half its interval, and sigma.

    All of the paper's rows are there, also those without a row of ours.
    """
    half_width = (groups["high"] - groups["low"]) / 2
    text = groups["AP"].map("{:.1f}".format) + half_width.map(" ±{:.1f}".format)
    ours = groups.assign(text=text)
    ours = ours.pivot(
        index="class",
        columns="value",
        values="text",
    )
    ours = ours[groups["value"].unique()]
    ours.insert(0, "AP", groups.groupby("class")["overall"].first().round(1))
    ours["σ"] = sigmas.set_index("class")["sigma"].round(2)
    tables = {"here": ours}
    if len(paper):
        theirs = paper[["overall", *GROUPS]].rename(columns={"overall": "AP"})
        theirs = theirs.astype(str)
        for group in GROUPS:
            theirs[group] += " ±" + paper[f"{group}_half_width"].astype(str)
        theirs["AP"] = paper["overall"]
        theirs["σ"] = paper["sigma"]
        tables["paper"] = theirs
    names = list(dict.fromkeys([*paper.index, *sigmas["class"]]))
    both = pd.concat(tables, axis=1)
    return both.loc[names].astype(object).fillna("")


def tables_2_and_3(
    ranking: pd.DataFrame, control: pd.DataFrame, known: bool
) -> pd.DataFrame:
    """Compare Tables 2 and 3 with the paper's, one row per class and attribute.

    Columns are the rank, sigma, σ of ProxyAP, the mean σ within values and Δ. The
    paper's columns are filled where they are `known` to be about the same attribute.
    """
    on = ["class", "attribute"]
    names = {
        "rank": "rank",
        "proxy_sigma": "σ(ProxyAP)",
        "first": "first",
        "sigma": "σ",
        "controlled": "μ(σ)",
        "delta": "Δ",
    }
    here = ranking.merge(control[[*on, "sigma", "controlled", "delta"]])
    paper = pd.concat([printed("control"), printed("ranking")])
    sigmas = printed("groups").set_index("class")["sigma"]
    paper["sigma"] = paper["class"].map(sigmas)
    classes = list(dict.fromkeys([*paper["class"], *here["class"]]))
    if not known:
        paper = paper.iloc[:0]
    both = {}
    for name, table in {"here": here, "paper": paper}.items():
        columns = [column for column in names if column in table]
        table = table.set_index(on)[columns]
        both[name] = table.rename(columns=names)
    both = pd.concat(both, axis=1).dropna(how="all")
    place = both.index.get_level_values("class").map(classes.index)
    return both.iloc[np.argsort(place, kind="stable")]


def of_analysis(
    analysis: Analysis, null: pd.DataFrame, synthetic: bool
) -> list[Estimate]:
    """Estimate the claims of Table 1, Figures 2 to 6 and Table 2, in their direction.

    In `synthetic` street scenes, gaps and their causes are injected and not judged.
    Control is judged, since it can fail there.
    """
    estimates = _incomes(analysis)
    sigmas = analysis.sigmas().merge(null[["class", "p_holm"]], on="class")
    for row in sigmas.to_dict("records"):
        if row["class"] in ("car", "pedestrian"):
            claim = f"icon2/gap/{row['class']}"
            ends = (row["sigma"], row["low"], row["high"])
            gap = Estimate(claim, ends, p=row["p_holm"])
            estimates.append(gap)
    few = analysis.cells().query("`class` in @FEW")
    if len(few):
        percent = round(100 * few["AP"].isna().mean())
        support = Estimate("icon2/support", (percent, percent, percent))
        estimates.append(support)
    if synthetic:
        estimates = [Estimate(one.claim, note=INJECTED) for one in estimates]
    return estimates + _control(analysis)


def _incomes(analysis: Analysis) -> list[Estimate]:
    """Compare incomes: AP (high minus low), small cars and night (low minus high)."""
    groups = analysis.sensitive.values
    every = analysis.estimable()
    is_income = analysis.sensitive.name == "income"
    if not (is_income and every and {"low", "high"} <= set(groups)):
        return []
    low = groups.index("low")
    high = groups.index("high")
    ap = np.mean([analysis.estimates[name].group_ap for name in every], axis=0)
    differences = {"icon2/falls-with-income": ap[:, high] - ap[:, low]}
    parts = analysis.estimates["car"].parts if "car" in every else {}
    for claim, (attribute, value) in TILTED.items():
        part = parts.get(attribute)
        if part and value in part.values:
            shares = analysis.formulas.shares(part.cell_boxes)
            share = shares[:, part.values.index(value)]
            differences[claim] = share[:, low] - share[:, high]
    estimates = []
    for claim, difference in differences.items():
        points = POINTS * difference
        ends = (points[0], *interval(points))
        estimates.append(Estimate(claim, ends))
    return estimates


def _control(analysis: Analysis) -> list[Estimate]:
    """Estimate whether control lowers sigma where Table 2's attribute ranks first."""
    on = ["class", "attribute"]
    ours = analysis.ranking().query("rank == 1")[on]
    theirs = printed("control").query("rank == 1")[on]
    both = analysis.control().merge(ours).merge(theirs)
    estimates = []
    for row in both.to_dict("records"):
        claim = f"icon2/control/{row['class']}"
        fall = (row["delta"], row["low"], row["high"])
        estimates.append(Estimate(claim, fall))
    return estimates
