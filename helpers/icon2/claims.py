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
TILTED = {"icon2/small-cars": ("size", "small"), "icon2/night": ("time", "night")}
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
    half = (groups["high"] - groups["low"]) / 2
    texts = groups["AP"].map("{:.1f}".format) + half.map(" ±{:.1f}".format)
    ours = groups.assign(text=texts)
    ours = ours.pivot(
        index="class",
        columns="value",
        values="text",
    )
    ours = ours[list(dict.fromkeys(groups["value"]))]
    ours.insert(0, "AP", groups.groupby("class")["overall"].first().round(1))
    ours["σ"] = sigmas.set_index("class")["sigma"].round(2)
    theirs = pd.DataFrame(index=paper.index)
    if len(paper):
        for group in GROUPS:
            values = zip(paper[group], paper[f"{group}_half_width"], strict=True)
            theirs[group] = [f"{a} ±{h}" for a, h in values]
        theirs.insert(0, "AP", paper["overall"])
        theirs["σ"] = paper["sigma"]
    names = list(dict.fromkeys([*paper.index, *sigmas["class"]]))
    tables = {"here": ours}
    if len(paper):
        tables["paper"] = theirs
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
        "sigma": "σ",
        "proxy_sigma": "σ(ProxyAP)",
        "controlled": "μ(σ)",
        "delta": "Δ",
    }
    columns = list(names)
    ours = ranking.drop(columns=["low", "high"])
    ours = ours.merge(control[[*on, "sigma", "controlled", "delta"]])
    theirs = pd.concat([printed("control"), printed("ranking")])
    sigmas = printed("groups").set_index("class")["sigma"]
    theirs["sigma"] = theirs["class"].map(sigmas)
    classes = list(dict.fromkeys([*theirs["class"], *ours["class"]]))
    if not known:
        theirs = theirs.iloc[:0]
    paper = theirs.set_index(on)[columns].rename(columns=names)
    here = ours.set_index(on)[["first", *columns]]
    here = here.rename(columns=names)
    here = here[["rank", "σ(ProxyAP)", "first", "σ", "μ(σ)", "Δ"]]
    both = pd.concat({"here": here, "paper": paper}, axis=1)
    place = both.index.get_level_values("class").map(classes.index)
    order = np.argsort(place, kind="stable")
    return both.iloc[order].dropna(how="all")


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
        percent = round(100 * (~few.estimable).mean())
        support = Estimate("icon2/support", (percent, percent, percent))
        estimates.append(support)
    if synthetic:
        estimates = [Estimate(one.claim, note=INJECTED) for one in estimates]
    return estimates + _control(analysis)


def _incomes(analysis: Analysis) -> list[Estimate]:
    """Compare incomes: AP (high minus low), small cars and night (low minus high)."""
    groups = analysis.sensitive.values
    every = analysis.estimable()
    if analysis.sensitive.name != "income" or not every:
        return []
    if not {"low", "high"} <= set(groups):
        return []
    low = groups.index("low")
    high = groups.index("high")
    every_ap = [analysis.estimates[name].group_ap for name in every]
    mean = np.mean(every_ap, axis=0)
    more = {"icon2/falls-with-income": mean[:, high] - mean[:, low]}
    parts = {}
    if "car" in every:
        parts = analysis.estimates["car"].parts
    for claim, (attribute, value) in TILTED.items():
        if attribute in parts and value in parts[attribute].values:
            part = parts[attribute]
            shares = analysis.formulas.shares(part.cell_boxes)
            place = part.values.index(value)
            share = shares[:, place]
            more[claim] = share[:, low] - share[:, high]
    estimates = []
    for claim, values in more.items():
        points = POINTS * values
        ends = interval(points)
        estimates.append(Estimate(claim, (points[0], *ends)))
    return estimates


def _control(analysis: Analysis) -> list[Estimate]:
    """Estimate whether control lowers sigma where Table 2's attribute ranks first."""
    on = ["class", "attribute"]
    ends = ["delta", "low", "high"]
    ours = analysis.ranking().query("rank == 1")[on]
    theirs = printed("control").query("rank == 1")[on]
    both = analysis.control().merge(ours).merge(theirs)
    both = both.set_index("class")
    estimates = []
    for name, row in both.iterrows():
        fall = tuple(row[ends])
        estimates.append(Estimate(f"icon2/control/{name}", fall))
    return estimates
