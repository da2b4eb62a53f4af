"""The paper's printed numbers, and estimates for the claims of notebooks 08 and 08b.

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
    """Read a table of the paper: ``groups``, ``control``, ``ranking`` (Tables 1 to 3) or ``text``."""
    return pd.read_csv(store.root() / "data" / "paper" / f"icon2_{name}.csv")


def table_1(
    groups: pd.DataFrame, sigmas: pd.DataFrame, paper: pd.DataFrame
) -> pd.DataFrame:
    """Compare Table 1 with the paper's: AP of every class and group with half its interval, and sigma.

    All of the paper's rows are there, also those without a row of ours.
    """
    half = (groups["high"] - groups["low"]) / 2
    texts = [f"{a:.1f} ±{h:.1f}" for a, h in zip(groups["AP"], half, strict=True)]
    ours = groups.assign(text=texts).pivot(
        index="class", columns="value", values="text"
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
    both = pd.concat(
        {"here": ours, "paper": theirs} if len(paper) else {"here": ours}, axis=1
    )
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
    }
    names |= {"delta": "Δ"}
    ours = ranking.drop(columns=["low", "high"]).merge(
        control[[*on, "sigma", "controlled", "delta"]]
    )
    theirs = pd.concat([printed("control"), printed("ranking")])
    theirs["sigma"] = theirs["class"].map(printed("groups").set_index("class")["sigma"])
    parts = {"here": ours, "paper": theirs if known else theirs.iloc[:0]}
    tables = {
        name: t.set_index(on)[list(names)].rename(columns=names)
        for name, t in parts.items()
    }
    tables["here"]["first"] = ours.set_index(on)["first"]
    order = [
        "rank",
        *list(names.values())[2:3],
        "first",
        *list(names.values())[1:2],
        "μ(σ)",
        "Δ",
    ]
    tables["here"] = tables["here"][order]
    classes = list(dict.fromkeys([*theirs["class"], *ours["class"]]))
    both = pd.concat(tables, axis=1)
    place = both.index.get_level_values("class").map(classes.index)
    return both.iloc[np.argsort(place, kind="stable")].dropna(how="all")


def of_analysis(
    analysis: Analysis, null: pd.DataFrame, synthetic: bool
) -> list[Estimate]:
    """Estimate the claims of Table 1, Figures 2 to 6 and Table 2, in their direction.

    In `synthetic` street scenes, gaps and their causes are injected and not judged.
    Control is judged, since it can fail there.
    """
    estimates = _incomes(analysis)
    sigmas = (
        analysis.sigmas()
        .merge(null[["class", "p_holm"]], on="class")
        .set_index("class")
    )
    for name, row in sigmas[sigmas.index.isin(["car", "pedestrian"])].iterrows():
        ends = tuple(row[["sigma", "low", "high"]])
        estimates.append(Estimate(f"icon2/gap/{name}", ends, p=row.p_holm))
    few = analysis.cells().query("`class` in @FEW")
    if len(few):
        estimates.append(
            Estimate("icon2/support", (round(100 * (~few.estimable).mean()),) * 3)
        )
    if synthetic:
        estimates = [Estimate(one.claim, note=INJECTED) for one in estimates]
    return estimates + _control(analysis)


def _incomes(analysis: Analysis) -> list[Estimate]:
    """Compare incomes: AP of all classes (high minus low), small cars and night (low minus high)."""
    groups, every = analysis.sensitive.values, analysis.estimable()
    if (
        analysis.sensitive.name != "income"
        or not {"low", "high"} <= set(groups)
        or not every
    ):
        return []
    low, high = groups.index("low"), groups.index("high")
    mean = np.mean([analysis.estimates[name].group_ap for name in every], axis=0)
    more = {"icon2/falls-with-income": mean[:, high] - mean[:, low]}
    parts = analysis.estimates["car"].parts if "car" in every else {}
    for claim, (attribute, value) in TILTED.items():
        if attribute in parts and value in parts[attribute].values:
            shares = analysis.formulas.shares
            share = shares(parts[attribute].cell_boxes)[
                :, parts[attribute].values.index(value)
            ]
            more[claim] = share[:, low] - share[:, high]
    return [
        Estimate(name, (POINTS * m[0], *interval(POINTS * m)))
        for name, m in more.items()
    ]


def _control(analysis: Analysis) -> list[Estimate]:
    """Estimate whether control lowers sigma where Table 2's attribute ranks first."""
    of, ends = ["class", "attribute"], ["delta", "low", "high"]
    firsts = [
        t.query("rank == 1")[of] for t in (analysis.ranking(), printed("control"))
    ]
    both = analysis.control().merge(firsts[0]).merge(firsts[1]).set_index("class")
    return [
        Estimate(f"icon2/control/{name}", tuple(row[ends]))
        for name, row in both.iterrows()
    ]
