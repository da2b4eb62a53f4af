"""What *Focus!* claims of methods (06) and of class pairs (07): estimates by the claims' ids."""

import numpy as np
import pandas as pd
from statsmodels.regression.linear_model import OLS

from helpers import stats
from helpers.focus import pairs, trials
from helpers.focus.controls import MAP
from helpers.focus.means import CHANCE, contrast, mean
from helpers.run.claims import Estimate

RELIABLE = {"GradCAM": "focus/reliable/gradcam", "LRP": "focus/reliable/lrp"}
MIDDLE = {"GradCAM": -0.5, CHANCE: -0.5}  # between GradCAM and chance
COMBINED = {
    "focus/near-random/smoothgrad": {"SmoothGrad": 1} | MIDDLE,
    "focus/near-random/ig": {"IG": 1} | MIDDLE,
    "focus/above-chance/gradcam++": {"GradCAM++": 1},
    "focus/behind-gradcam/gradcam++": {"GradCAM++": 1, "GradCAM": -1},
    "focus/behind-lrp/gradcam++": {"GradCAM++": 1, "LRP": -1},
}
"""Claims about sums of methods' Focus on the same mosaics and networks, with each one's weight."""


def of_methods(rated: pd.DataFrame) -> list[Estimate]:
    """What sections I-B and I-D say of the methods, from :func:`helpers.focus.rating.ratings`.

    What is consistent is judged on the architecture and set on which it is least so.
    """
    methods, found = {*rated["method"], CHANCE}, []
    for method in [name for name in RELIABLE if name in methods]:
        networks = rated[rated["method"] == method].groupby(["architecture", "set"])
        name, least = min(((n, mean(p)) for n, p in networks), key=lambda one: one[1].estimate)
        found.append(Estimate(RELIABLE[method], least.interval(), note=" on set ".join(name)))
    found += [
        Estimate(claim, contrast(rated, weights).interval())
        for claim, weights in COMBINED.items()
        if methods >= set(weights)
    ]
    by_network = rated.groupby(["training", "architecture", "set", "method"])["focus"]
    if methods >= {"LIME", "LRP"}:
        spread = by_network.std().unstack()
        gap = (spread["LIME"] - spread["LRP"]).unstack("training").T.to_numpy()
        found.append(Estimate("focus/varies/lime", stats.mean(gap).interval()))
    for claim, between in (("focus/consistent", "architecture"), ("focus/other-tasks", "set")):
        if rated[between].nunique() > 1 and len(methods) > 3:
            found.append(Estimate(claim, _alike(by_network.mean(), between).interval()))
    return found


def _alike(means: pd.Series, between: str) -> stats.Mean:
    """Mean rank correlation of the methods' means between architectures or sets, over trainings."""
    ranks = means.unstack("method").rank(axis=1)
    [within] = {"architecture", "set"} - {between}
    each = {}
    for (training, _), part in ranks.groupby(["training", within]):
        apart = part.droplevel(["training", within]).T.corr().to_numpy()
        n = len(apart)
        each.setdefault(training, []).append((apart.sum() - n) / (n * (n - 1)))
    return stats.mean([np.mean(values) for values in each.values()])


def of_accuracy(table: pd.DataFrame) -> list[Estimate]:
    """Whether LRP's and LIME's Focus follow accuracy more than GradCAM's does.

    `table` is from :func:`helpers.focus.choices.with_accuracy`.
    """
    found = []
    for method in sorted({"LRP", "LIME"} & set(table)):
        known = table.dropna(subset=[method, "GradCAM"])
        if known["network"].nunique() >= 5:
            found.append(Estimate(f"focus/accuracy/{method.lower()}", _slope(known, method)))
    return found


def _slope(known: pd.DataFrame, method: str) -> tuple[float, float, float]:
    """How much steeper a method's Focus rises with accuracy than GradCAM's on the same networks.

    The difference of two least-squares slopes is the slope of the difference. Cases of one network
    are not independent, so the error is the cluster-robust one.
    """
    line = OLS(known[method] - known["GradCAM"], known[["accuracy"]].assign(constant=1.0))
    groups = known["network"].factorize()[0]
    fitted = line.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    return fitted.params["accuracy"], *fitted.conf_int().loc["accuracy"]


def of_controls(
    blind: pd.DataFrame, deep: pd.DataFrame, checked: pd.DataFrame, sums: pd.DataFrame
) -> list[Estimate]:
    """What the controls must be, from the functions of these names and `knows_nothing`.

    A method that gives no map of a control's network is in none of the counts; the note says how
    many there are.
    """
    lime = checked["method"] == "LIME"
    found = [
        _failed("suite/focus/blind", blind),
        _failed("suite/focus/difull-input", checked[~lime]),
    ]
    if lime.any():
        best = checked[lime].iloc[-1]
        found.append(Estimate("suite/focus/difull-lime", tuple(best[["mean", "low", "high"]])))
    at_map = deep[(deep["control"] == "DiFull") & (deep["reads"] == MAP)]
    for method in [m for m in ("GradCAM", "GradCAM++") if {m, "IG"} <= set(at_map["method"])]:
        gap = contrast(at_map, {method: 1, "IG": -1}).interval()
        found.append(Estimate("suite/focus/difull-cam", gap, {"method": method}))
    known = sums.set_index("method").dropna(subset=["focus"])
    for method in [m for m in ("IG", "GradCAM", "LRP") if m in known.index]:
        part = known.loc[[method]]
        apart = mean(part.assign(focus=part["focus"] - part["right"])).interval()
        found.append(Estimate("suite/focus/sum", apart, {"method": method}))
    if "IG" in known.index:
        part = known.loc[["IG"]]
        off = mean(part.assign(focus=(part["by_cell"] - part["right"]).abs())).interval()
        found.append(Estimate("suite/focus/sum-cells", off))
    return found


def of_choices(chosen: pd.DataFrame) -> list[Estimate]:
    """The layer at which IG is read, and the authors' normalisation (`choices.tried`)."""
    found = []
    for claim, choice, method in (
        ("suite/focus/layer", "layer", "IG"),
        ("suite/focus/normalisation", "normalisation", "GradCAM"),
    ):
        part = chosen[(chosen["choice"] == choice) & (chosen["method"] == method)]
        if len(part):
            first, second = part["option"].unique()
            gap = contrast(part, {second: 1, first: -1}, of="option").interval()
            empty = int(part["focus"].isna().sum())
            note = f"{empty} of {len(part)} maps have no Focus and are left out" * (empty > 0)
            found.append(Estimate(claim, gap, note=note))
    return found


def _failed(claim: str, rows: pd.DataFrame) -> Estimate:
    """How many controls fail."""
    known = rows.dropna(subset=["mean"])
    silent = len(rows) - len(known)
    note = f"{silent} give no map and are not counted" * (silent > 0)
    return Estimate(claim, (int((~known["holds"]).sum()),) * 3, {"asked": len(known)}, note=note)


def of_pairs(
    table: pd.DataFrame, planted: tuple[str, str] | None, placed: pd.DataFrame | None
) -> list[Estimate]:
    """The pair with the planted feature, or else the pair of the lowest Focus.

    `table` is from :func:`helpers.focus.pairs.ranked`, `placed` from
    :func:`helpers.focus.feature.by_method`. Where `planted` is None the ranking chose the pair, so
    that its p value, corrected for all pairs, decides.
    """
    row = (pairs.of_pair(table, *planted) if planted else table).iloc[0]
    ends = row["difference"], row["difference_low"], row["difference_high"]
    p = None if planted else row["p_adjusted"]
    found = [Estimate("suite/focus/pair", ends, row[pairs.PAIR].to_dict(), p=p)]
    if placed is not None:
        first = placed.iloc[0]
        on = first["share"], first["low"], first["high"]
        note = f"{first['method']}; the feature is {first['area']:.0%} of the area"
        found.append(Estimate("focus/most-on-feature", on, note=note))
    return found


def of_trials(found: pd.DataFrame) -> list[Estimate]:
    """What trials over seeds and doses show, from :func:`helpers.focus.trials.run`.

    A seed, with its several trainings, counts once.
    """
    same, every = trials.alike(found), found[found["carried"] == 1]
    seeds = {"seeds": found["seed"].nunique()}
    judged = []
    for row in trials.rates(same).dropna(subset=["p"]).to_dict("records"):
        ends = row["difference"], row["difference_low"], row["difference_high"]
        of = {"dose": f"{row['dose']:g}"} | seeds
        judged.append(Estimate("focus/first", ends, of, p=row["p_holm"]))
    wide = every.pivot(index="seed", columns="dose", values="focus")
    for dose in wide.columns[(wide.columns > 0) & (wide.columns < 1)]:
        gap = stats.mean((wide[dose] - wide[1.0]).dropna()).interval()
        judged.append(Estimate("focus/remedy", gap, {"dose": f"{dose:g}"} | seeds))
    top = every[every["dose"] == 1]
    for name, shown in trials.EXPLAINED.items():
        beyond = stats.mean(top[f"excess_{name}"]).interval()
        judged.append(Estimate("suite/focus/feature", beyond, {"method": shown} | seeds))
    clean = same[same["dose"] == 0]
    if len(clean):
        starred = int(((clean["alarms"] > 0) | clean["starred"]).sum())
        ends = starred / len(clean), *stats.wilson(starred, len(clean))
        judged.append(Estimate("suite/focus/false-stars", ends, seeds))
    return judged
