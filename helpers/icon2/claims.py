"""Read the paper's printed numbers, and estimate the claims of lessons 08 and 08b.

The paper's detector and income table are not available. Its printed numbers are
recomputed as far as possible, and its method is tested on synthetic street scenes with
a known answer.
"""

import pandas as pd

from helpers import store
from helpers.icon2.analysis import Analysis, with_interval
from helpers.icon2.measures import ALL_CLASSES
from helpers.stats import Estimate

INJECTED = "the synthetic street scenes have this as an injected bias"
TILTED = {
    "icon2/small-cars": ("size", "small"),
    "icon2/night": ("time", "night"),
}
RARE = ["bus", "motorcycle", "bicycle"]  # whose APs Table 3 calls not reliable
FEW = [*RARE, "traffic sign", "traffic light"]  # of which Figure 6 has very few
NAMES = {
    "rank": "rank",
    "proxy_sigma": "σ(ProxyAP)",
    "first": "first",
    "sigma": "σ",
    "controlled": "μ(σ)",
    "delta": "Δ",
}


def printed(name: str) -> pd.DataFrame:
    """Read ``groups``, ``control`` or ``ranking`` of the paper (Tables 1 to 3)."""
    return pd.read_csv(store.root() / "data" / "paper" / f"icon2_{name}.csv")


def tables_2_and_3(control: pd.DataFrame, known: bool) -> pd.DataFrame:
    """Compare Tables 2 and 3 with the paper's, one row per class and attribute.

    Parameters
    ----------
    control : pandas.DataFrame
        From `Analysis.control`.
    known : bool
        Whether the paper's columns are about the same sensitive attribute. Otherwise
        they are empty.
    """
    paper = pd.concat([printed("control"), printed("ranking")])
    paper = paper.merge(printed("groups")[["class", "sigma"]])
    if not known:
        paper = paper.iloc[:0]
    both = {}
    for name, table in {"here": control, "paper": paper}.items():
        table = table.set_index(["class", "attribute"])
        table = table.rename(columns=NAMES)
        both[name] = table.filter(NAMES.values())
    return pd.concat(both, axis=1)


def of_frames(
    analysis: Analysis, sigmas: pd.DataFrame, synthetic: bool
) -> list[Estimate]:
    """Estimate the claims of Table 1 and Figures 2, 3 and 6, in their direction.

    Parameters
    ----------
    analysis : Analysis
    sigmas : pandas.DataFrame
        From `Analysis.sigmas`, with ``p_holm`` of `sigma_null`.
    synthetic : bool
        Whether the frames are synthetic street scenes. There, gaps and their causes
        are injected and not judged.
    """
    estimates = _incomes(analysis)
    with_claim = sigmas["class"].isin(["car", "pedestrian"])
    for row in sigmas[with_claim].to_dict("records"):
        claim = f"icon2/gap/{row['class']}"
        sigma = (row["sigma"], row["low"], row["high"])
        gap = Estimate(claim, sigma, p=row["p_holm"])
        estimates.append(gap)
    few = analysis.cells().query("`class` in @FEW")
    if len(few):
        percent = round(100 * few["AP"].isna().mean())
        support = Estimate("icon2/support", (percent, percent, percent))
        estimates.append(support)
    if synthetic:
        return [Estimate(one.claim, note=INJECTED) for one in estimates]
    return estimates


def _incomes(analysis: Analysis) -> list[Estimate]:
    """Compare incomes: AP (high minus low), small cars and night (low minus high)."""
    groups = analysis.sensitive.values
    is_income = analysis.sensitive.name == "income"
    if not (is_income and {"low", "high"} <= set(groups)):
        return []
    low = groups.index("low")
    high = groups.index("high")
    differences = {}
    if ALL_CLASSES in analysis.group_ap:
        ap = analysis.group_ap[ALL_CLASSES]
        differences["icon2/falls-with-income"] = ap[:, high] - ap[:, low]
    for claim, (attribute, value) in TILTED.items():
        part = analysis.parts.get(("car", attribute))
        if part and value in part.shares.index:
            shares = part.shares.loc[value]
            differences[claim] = 100 * (shares.loc["low"] - shares.loc["high"])
    estimates = []
    for claim, difference in differences.items():
        points = with_interval("difference", difference)
        estimates.append(Estimate(claim, tuple(points.values())))
    return estimates


def printed_again() -> pd.DataFrame:
    """Recompute what the paper's Tables 1 to 3 and its section 4.2 say.

    ``consistent`` counts the numbers that follow, of the ``n`` numbers that each claim
    of ``data/paper/claims.csv`` is about.
    """
    groups = printed("groups").set_index("class")
    ap = groups[["low", "middle", "high"]]
    sigma = groups["sigma"]
    error = (ap.std(axis=1, ddof=1) - sigma).abs()
    error_of_eq_5 = (ap.std(axis=1, ddof=0) - sigma).abs()
    change = ap.drop("all classes").diff(axis=1).dropna(axis=1)
    highest = sigma.drop(["all classes", *RARE]).nlargest(3).index
    control = printed("control").set_index("class")
    largest_delta = control.groupby("class")["delta"].max()
    first = control[control["rank"] == 1]
    reduction = 100 * first["delta"] / sigma[first.index]
    is_consistent = {
        "σ by Eq. 5": error_of_eq_5 < error,
        "Table 3": printed("ranking")["proxy_sigma"] < first["proxy_sigma"].min(),
        "the first has the largest Δ": first["delta"] == largest_delta,
        "AP falls with income": (change < 0).all(axis=1),
        "the highest σ": highest.isin(first.index),
        "the text's reductions": reduction.round(-1) == [50, 10, 50],
    }
    rows = []
    for statement, one in is_consistent.items():
        number = one.sum()
        rows.append((statement, number, number, number, len(one)))
    return pd.DataFrame(rows, columns=["statement", "consistent", "low", "high", "n"])
