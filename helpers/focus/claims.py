"""What *Focus! Rating XAI Methods and Finding Biases* says of methods, judged by measurement."""

from __future__ import annotations

import pandas as pd

from helpers import stats
from helpers.explain import METHODS
from helpers.focus import comparisons
from helpers.focus.means import differences, mean
from helpers.run import project
from helpers.run.findings import Finding, equal, judge, untested

SECTION = "Focus!, section I-B"
SUITE = "this suite"
RELIABLE, NEAR = 0.75, 0.6  # half the way from chance to one; the paper prints no numbers
BETTER = (
    ("gradcam", "gradcam++"),
    ("lrp", "gradcam++"),
    ("gradcam++", "smoothgrad"),
    ("gradcam++", "integrated-gradients"),
    ("gradcam", "lime"),
)


def paper() -> pd.DataFrame:
    """What the paper says of each method: method, name, reading, says, source."""
    return pd.read_csv(project.root() / "data/paper/focus_methods.csv")


def pooled_means(rated: pd.DataFrame) -> pd.DataFrame:
    """Each method's mean Focus over all networks and sets: method, mean, low, high; best first."""
    rows = [
        {"method": name} | mean(part).interval()._asdict()
        for name, part in rated.groupby("method", sort=False)
    ]
    found = pd.DataFrame(rows).rename(columns={"estimate": "mean"})
    return found.sort_values("mean", ascending=False, ignore_index=True)


def of_methods(rated: pd.DataFrame) -> list[Finding]:
    """Judge what section I-B says of each method, and its order.

    Parameters
    ----------
    rated : DataFrame
        From :func:`helpers.focus.study.ratings`.
    """
    by_method = dict(iter(rated.groupby("method")))
    found = []
    for row in paper().to_dict("records"):
        if row["method"] not in by_method:
            found.append(untested(f"{row['name']} is {row['reading']}", SECTION, "not rated here"))
            continue
        found += _of_reading(row, mean(by_method[row["method"]]).interval())
    for better, worse in BETTER:
        if better in by_method and worse in by_method:
            found.append(_of_order(by_method[better], by_method[worse], better, worse))
    return found + _of_spread(rated)


def _of_reading(row: dict, estimate) -> list[Finding]:
    more = {"unit": "mean Focus"}
    name, shared = row["name"], {"paper": row["says"], **more}
    if row["reading"] == "reliable":
        claim = f"{name} is reliable: Focus above {RELIABLE:g}"
        return [judge(claim, SECTION, estimate, above=RELIABLE, **shared)]
    if row["reading"] == "near chance":
        claim = f"{name} is nearly random: Focus below {NEAR:g}"
        near = judge(claim, SECTION, estimate, below=NEAR, **shared)
        return [near, judge(f"{name} is better than chance", SUITE, estimate, above=0.5, **more)]
    claim = f"{name} is better than chance"
    return [judge(claim, SECTION, estimate, above=0.5, **shared)]


def _of_order(first: pd.DataFrame, second: pd.DataFrame, better: str, worse: str) -> Finding:
    keys = ["architecture", "set", "training", "mosaic"]
    gap = differences(*(part.sort_values(keys) for part in _both(first, second, keys[:2])))
    claim = f"{METHODS[better].name} has more Focus than {METHODS[worse].name}"
    ends = (gap["difference"], gap["low"], gap["high"])
    said = "LIME less reliable on less accurate models" if worse == "lime" else "in this order"
    return judge(claim, SECTION, ends, above=0, paper=said, unit="difference in Focus")


def _both(first: pd.DataFrame, second: pd.DataFrame, keys: list[str]) -> list[pd.DataFrame]:
    """What both methods rated: a method may have refused an architecture."""
    shared = first[keys].drop_duplicates().merge(second[keys].drop_duplicates())
    return [part.merge(shared, on=keys) for part in (first, second)]


def _of_spread(rated: pd.DataFrame) -> list[Finding]:
    """Whether LIME varies more than LRP, by the standard deviations between mosaics."""
    keys = ["training", "architecture", "set"]
    spread = rated.groupby([*keys, "method"])["focus"].std().unstack()
    if not {"lime", "lrp"} <= set(spread):
        return []
    gap = (spread["lime"] - spread["lrp"]).unstack("training").T.to_numpy()
    claim = "LIME's Focus varies more between mosaics than LRP's"
    unit = "difference of standard deviations, over trainings, architectures and sets"
    ends = stats.mean(gap).interval()
    return [judge(claim, SECTION, ends, above=0, paper="larger variance", unit=unit)]


def of_accuracy(table: pd.DataFrame, weak: float = 0.85) -> list[Finding]:
    """Judge that LRP's and LIME's Focus follow accuracy, and that GradCAM's is high without it.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.focus.comparisons.with_accuracy`.
    weak : float
        Accuracy below which a network fits its task badly.
    """
    found = []
    for method, said in FOLLOWS.items():
        claim = f"{METHODS[method].name}'s Focus follows the network's accuracy"
        if method not in table:
            found.append(untested(claim, SECTION, "not rated here", said))
            continue
        ends = comparisons.rank_correlation(table, method)
        unit = f"rank correlation, {_cases(table)}"
        found.append(judge(claim, SECTION, ends, above=0, paper=said, unit=unit))
    bad = table[table["accuracy"] < weak].dropna(subset=["gradcam"])
    claim = f"GradCAM is reliable (above {RELIABLE:g}) in networks of accuracy below {weak:g}"
    each = bad.groupby("network")["gradcam"].mean()
    if len(each) < 3:
        return [*found, untested(claim, SECTION, "fewer than three such networks", "yes")]
    unit = f"mean Focus, {_cases(bad)}"
    return [
        *found,
        judge(claim, SECTION, stats.mean(each).interval(), above=RELIABLE, paper="yes", unit=unit),
    ]


FOLLOWS = {"lrp": "yes", "lime": "yes", "gradcam": "no: good for any model"}


def _cases(table: pd.DataFrame) -> str:
    return f"{len(table)} cases of {table['network'].nunique()} networks"


def of_choices(chosen: pd.DataFrame) -> list[Finding]:
    """Judge which choices move a score (Rao et al. 2022 for the layer).

    Parameters
    ----------
    chosen : DataFrame
        From :func:`helpers.focus.comparisons.choices`.
    """
    found = []
    for claim, choice, method, first, second, side in CHOICES:
        part = chosen[(chosen["choice"] == choice) & (chosen["method"] == method)]
        one, other = (part[part["option"] == option] for option in (first, second))
        if len(one) and len(other):
            gap = differences(one.reset_index(drop=True), other.reset_index(drop=True))
            ends = (gap["difference"], gap["low"], gap["high"])
            found.append(judge(claim, SUITE, ends, unit="difference in Focus", **side))
    return found


INPUT = ("input", "last map")
CHOICES = (
    (
        "IG has more Focus at the last map than at the input",
        "layer",
        "integrated-gradients",
        "last map",
        "input",
        {"above": 0},
    ),
    ("LRP has more Focus at the input than at the last map", "layer", "lrp", *INPUT, {"above": 0}),
    (
        "SmoothGrad has more Focus at the input than at the last map",
        "layer",
        "smoothgrad",
        *INPUT,
        {"above": 0},
    ),
    (
        "A grid of superpixels on the seams raises LIME's Focus",
        "grid",
        "lime",
        "4 × 4, on the seams",
        "5 × 5, across the seams",
        {"above": 0},
    ),
    (
        "The sign counts for IG: more Focus with it than without",
        "sign",
        "integrated-gradients",
        "signed",
        "absolute",
        {"above": 0},
    ),
    (
        "The wrong normalisation costs GradCAM Focus",
        "normalisation",
        "gradcam",
        "as trained",
        "0.5",
        {"above": 0},
    ),
)


def of_controls(checked: pd.DataFrame, positions: pd.DataFrame, p: float) -> list[Finding]:
    """Judge the controls: each must be what it is known to be.

    Parameters
    ----------
    checked : DataFrame
        From :mod:`helpers.focus.checks`, all tables together.
    positions, p
        From :func:`helpers.focus.checks.positions`.
    """
    answered = checked.dropna(subset=["mean"])  # a method that gives no map is neither
    kind = answered["control"].str.partition(":")[0]
    found = []
    for name, claim in CONTROLS.items():
        rows = answered[(kind == name) & (answered["on"] != "shared channels")]
        rows = rows[~rows["control"].isin(LEAKY)]
        if len(rows):
            holds, asked = int(rows["holds"].sum()), len(rows)
            found.append(equal(claim, SUITE, holds, asked, unit=f"of {asked} checks hold"))
    shared = answered[answered["on"] == "shared channels"]
    method = shared["control"].str.partition(": ")[2]
    for claim, rows in (
        (f"{CAMS[0]} and {CAMS[1]} are right in heads that share channels", method.isin(CAMS)),
        ("The other methods are right in heads that share channels", ~method.isin(CAMS)),
    ):
        if rows.any():
            unit = f"of {rows.sum()} methods are ({', '.join(method[rows])})"
            found.append(equal(claim, SUITE, shared["holds"][rows].sum(), rows.sum(), unit=unit))
    claim = "The targets' places change GradCAM's Focus by less than 0.02"
    most = positions.loc[positions["mean"].abs().idxmax()]
    ends = sorted(abs(most[["low", "high"]]))
    unit = f"deviation of the layout {most['layout']!r} (Friedman's p {_p(p)})"
    return [*found, judge(claim, SUITE, (abs(most["mean"]), *ends), below=0.02, unit=unit)]


CAMS = ("GradCAM", "GradCAM++")  # they weigh whole channels
LEAKY = ("disconnected heads: LIME", "disconnected heads: LIME, grid on seams")
CONTROLS = {
    "random map": "A random map has Focus 0.5",
    "uniform map": "A uniform map has Focus 0.5",
    "edge map": "A map of edges has Focus 0.5 where classes and positions are balanced",
    "random weights": "Explanations of networks that know nothing have Focus 0.5",
    "disconnected heads": "Focus is 1 in disconnected heads with channels of their own",
}


def _p(p: float) -> str:
    return "below 0.001" if p < 0.001 else "below 0.05" if p < 0.05 else "above 0.05"
