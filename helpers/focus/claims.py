"""What *Focus!* claims of methods (06) and of class pairs (07): estimates by the claims' ids."""

import pandas as pd
from statsmodels.regression.linear_model import OLS

from helpers import stats
from helpers.focus import feature, pairs
from helpers.focus.controls import CAMS
from helpers.focus.means import CHANCE, contrast
from helpers.run.claims import Estimate

MIDDLE = {"GradCAM": -0.5, CHANCE: -0.5}  # between GradCAM and chance
COMBINED = {
    "focus/reliable/gradcam": {"GradCAM": 1},
    "focus/reliable/lrp": {"LRP": 1},
    "focus/near-random/smoothgrad": {"SmoothGrad": 1} | MIDDLE,
    "focus/near-random/ig": {"IG": 1} | MIDDLE,
    "focus/above-chance/gradcam++": {"GradCAM++": 1},
    "focus/behind-gradcam/gradcam++": {"GradCAM++": 1, "GradCAM": -1},
    "focus/behind-lrp/gradcam++": {"GradCAM++": 1, "LRP": -1},
}
"""Claims about sums of methods' Focus on the same mosaics and networks, with each one's weight."""


def of_methods(rated: pd.DataFrame) -> list[Estimate]:
    """What sections I-B and I-D say of the methods, from :func:`helpers.focus.rating.ratings`."""
    methods = {*rated["method"], CHANCE}
    found = [
        Estimate(claim, contrast(rated, weights).interval())
        for claim, weights in COMBINED.items()
        if methods >= set(weights)
    ]
    by_network = rated.groupby(["training", "architecture", "set", "method"])["focus"]
    if methods >= {"LIME", "LRP"}:
        spread = by_network.std().unstack()
        gap = (spread["LIME"] - spread["LRP"]).unstack("training").T.to_numpy()
        found.append(Estimate("focus/varies/lime", stats.mean(gap).interval()))
    if rated["architecture"].nunique() > 1 and len(methods) > 3:
        found.append(Estimate("focus/consistent", _alike(by_network.mean()).interval()))
    return found


def _alike(means: pd.Series) -> stats.Mean:
    """Mean rank correlation of the methods' means between architectures, over trainings."""
    ranks = means.unstack("method").rank(axis=1)
    each = []
    for _, part in ranks.groupby("training"):
        apart = part.droplevel(["training", "set"]).T.corr().to_numpy()
        n = len(apart)
        each.append((apart.sum() - n) / (n * (n - 1)))
    return stats.mean(each)


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


def of_controls(checked: pd.DataFrame, chosen: pd.DataFrame) -> list[Estimate]:
    """What the controls must be, and the one choice that explains most: the layer.

    `checked` are all tables of :mod:`helpers.focus.controls` together, `chosen` is from
    :func:`helpers.focus.choices.tried`. A method that gives no map of a control's network is in
    none of the counts; the note says how many there are. Mosaics without their twins are shown and
    not counted: the classes there may differ in what a blind map follows.
    """
    heads = checked["expected"] == 1
    fooled = heads & (checked["on"] == "shared channels") & checked["method"].isin(CAMS)
    found = [
        _failed("suite/focus/blind", checked[~heads & (checked["on"] != "mosaics")]),
        _failed("suite/focus/heads", checked[heads & ~fooled]),
    ]
    shown = checked[fooled].dropna(subset=["mean"])
    if len(shown):
        ends = shown["mean"].mean(), shown["low"].min(), shown["high"].max()
        found.append(Estimate("suite/focus/shared-channels", ends))
    read = chosen[(chosen["choice"] == "layer") & (chosen["method"] == "IG")]
    if len(read):
        gap = contrast(read, {"last map": 1, "input": -1}, of="option").interval()
        empty = int(read["focus"].isna().sum())
        note = f"{empty} of {len(read)} maps have no Focus and are left out" * (empty > 0)
        found.append(Estimate("suite/focus/layer", gap, note=note))
    return found


def _failed(claim: str, rows: pd.DataFrame) -> Estimate:
    """How many controls fail; a method that has several settings must be right in one of them."""
    known = rows.dropna(subset=["mean"])
    right = known.groupby(["control", "method", "on"])["holds"].any()
    silent = len(rows) - len(known)
    note = f"{silent} give no map and are not counted" * (silent > 0)
    return Estimate(claim, (int((~right).sum()),) * 3, {"asked": len(right)}, note=note)


def of_feature(
    pair: tuple[str, str],
    placed: pd.DataFrame | None,
    rated: pd.DataFrame,
    reference: pd.DataFrame | None,
) -> list[Estimate]:
    """One pair: where its wrong relevance lies, and what painting the feature over does.

    `placed` is from :func:`helpers.focus.feature.by_method`, `rated` and `reference` are from
    :func:`helpers.focus.feature.intervention`.
    """
    about = dict(zip(pairs.PAIR, pair, strict=True))
    found = [Estimate("suite/focus/rise", feature.rise(rated).interval(), about)]
    if reference is not None:
        rises = feature.rises(rated), feature.rises(reference)
        gap = stats.difference(*map(stats.mean, rises)).interval()
        found.append(Estimate("suite/focus/beyond", gap, about, p=feature.beyond(*rises)))
    if placed is not None:
        first = placed.iloc[0]
        on = first["share"], first["low"], first["high"]
        note = f"{first['method']}; the feature is {first['area']:.0%} of the area"
        found.append(Estimate("focus/most-on-feature", on, note=note))
    return found


def of_trials(table: pd.DataFrame) -> list[Estimate]:
    """What trials over seeds, pairs and doses show, from :func:`helpers.focus.trials.judged`.

    The trials of a seed share images and networks, so differences are taken seed by seed.
    """
    full, none = (table[table["dose"] == dose] for dose in (1, 0))
    seeds = table["seed"].nunique()
    first = full.groupby("seed")["first"].mean() - none.groupby("seed")["first"].mean()
    found = [Estimate("focus/first", stats.mean(first).interval(), {"seeds": seeds})]
    dose = min(set(table["dose"]) - {0})
    kept = _focus_of_pair(table[table["dose"] == dose]) - _focus_of_pair(full)
    gap = stats.mean(kept.dropna().groupby("seed").mean()).interval()
    found.append(Estimate("focus/remedy", gap, {"dose": f"{dose:g}", "seeds": seeds}))
    learned = full[full["learned"]]
    counts = int(learned["found"].sum()), len(learned)
    ends = counts[0] / counts[1], *stats.wilson(*counts)
    found.append(Estimate("suite/focus/found", ends, {"trials": counts[1]}))
    alarmed = none.groupby("seed")["found"].any()
    ends = alarmed.mean(), *stats.wilson(alarmed.sum(), len(alarmed))
    found.append(Estimate("suite/focus/alarms-by-seed", ends, {"seeds": len(alarmed)}))
    ends = none["found"].mean(), *stats.wilson(none["found"].sum(), len(none))
    found.append(Estimate("suite/focus/alarms", ends, {"trials": len(none)}))
    peaks = stats.mean(learned.groupby("seed")["peaks_finer"].mean()).interval()
    return [*found, Estimate("suite/focus/names", peaks, {"seeds": seeds})]


def _focus_of_pair(rows: pd.DataFrame) -> pd.Series:
    """Mean Focus of each trial's own pair, by seed and pair."""
    own = [row[f"{row['target']} > {row['outer']}"] for row in rows.to_dict("records")]
    return rows.assign(own=own).set_index(["seed", *pairs.PAIR])["own"]
