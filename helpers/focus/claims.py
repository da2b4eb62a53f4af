"""What *Focus!* claims of methods (06) and of class pairs (07): estimates by the claims' ids."""

import numpy as np
import pandas as pd
from statsmodels.regression.linear_model import OLS

from helpers import stats
from helpers.focus import feature, pairs
from helpers.focus.controls import MAP
from helpers.focus.means import CHANCE, contrast, mean
from helpers.stats import Estimate

ROUNDING = 1e-3
LEARNED = 2.0  # logits: an eyespot that adds more to the target was learned
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
    """What sections I-B and I-D say of the methods, from `rating.ratings`; what is consistent is
    judged on the architecture and set on which it is least so."""
    methods, found = {*rated["method"], CHANCE}, []
    for method in [name for name in ("GradCAM", "LRP") if name in methods]:
        networks = rated[rated["method"] == method].groupby(["architecture", "set"])
        name, least = min(((n, mean(p)) for n, p in networks), key=lambda one: one[1].estimate)
        claim = f"focus/reliable/{method.lower()}"
        found.append(Estimate(claim, least.interval(), note=" on set ".join(name)))
    for claim, weights in COMBINED.items():
        if methods >= set(weights):
            found.append(Estimate(claim, contrast(rated, weights).interval()))
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
    alike = {}
    for case, part in ranks.groupby(["training", within]):
        alike[case] = part.T.corr().to_numpy()[np.triu_indices(len(part), 1)].mean()
    return stats.mean(pd.Series(alike).groupby(level=0).mean())


def of_accuracy(table: pd.DataFrame) -> list[Estimate]:
    """Whether the Focus of LRP and LIME follows accuracy more than GradCAM's does: slopes of the
    difference, with cluster-robust errors, for cases of one network are not independent."""
    found = []
    for method in sorted({"LRP", "LIME"} & set(table)):
        known = table.dropna(subset=[method, "GradCAM"])
        if known["network"].nunique() >= 5:
            line = OLS(known[method] - known["GradCAM"], known[["accuracy"]].assign(constant=1.0))
            groups = {"groups": known["network"].factorize()[0]}
            fitted = line.fit(cov_type="cluster", cov_kwds=groups, use_t=True)
            slope = fitted.params["accuracy"], *fitted.conf_int().loc["accuracy"]
            found.append(Estimate(f"focus/accuracy/{method.lower()}", slope))
    return found


def of_controls(blind: pd.DataFrame, known: pd.DataFrame) -> list[Estimate]:
    """What the controls must be, from `controls.knows_nothing` and `controls.in_disconnected`."""
    full = known[known["control"] == "DiFull"]
    ends = full.groupby(["method", "name", "reads"], sort=False)["focus"]
    ends = ends.agg(["mean", "min", "max"]).reset_index()
    lime = ends[ends["method"] == "LIME"][["mean", "min", "max"]]
    least = ends[(ends["reads"] == "input") & (ends["method"] != "LIME")]["min"]
    fails = (least <= 1 - ROUNDING).where(least.notna())
    found = [
        _failed("blind", (~blind["holds"]).where(blind["mean"].notna())),
        _failed("difull-input", fails),
        *(Estimate("suite/focus/difull-lime", tuple(row)) for row in lime[-1:].to_numpy()),
    ]
    at_map = full[full["reads"] == MAP]
    for method in [m for m in ("GradCAM", "GradCAM++") if {m, "IG"} <= set(at_map["method"])]:
        gap = contrast(at_map, {method: 1, "IG": -1}).interval()
        found.append(Estimate("suite/focus/difull-cam", gap, {"method": method}))
    return found


def _failed(claim: str, fails: pd.Series) -> Estimate:
    """How many controls fail of those that give a map; the others, NaN, are in the note."""
    silent, asked = int(fails.isna().sum()), int(fails.notna().sum())
    note = f"{silent} give no map and are not counted" * (silent > 0)
    return Estimate(f"suite/focus/{claim}", (fails.sum(),) * 3, {"asked": asked}, note=note)


def of_choices(gaps: pd.DataFrame) -> list[Estimate]:
    """The layer at which IG is read, and the authors' normalisation, from `controls.paired`."""
    found = []
    for row in gaps.itertuples():
        if (row.choice, row.method) in (("layer", "IG"), ("normalisation", "GradCAM")):
            some = f"{row.undefined} of {row.maps} pairs of maps have no Focus"
            interval, note = (row.difference, row.low, row.high), some * (row.undefined > 0)
            found.append(Estimate(f"suite/focus/{row.choice}", interval, note=note))
    return found


def of_feature(pair: tuple[str, str], placed, rated, reference) -> list[Estimate]:
    """Where a pair's wrong relevance lies (`placed`, of `feature.by_method`), and what painting it
    over does (`rated` and `reference`, from `feature.intervention`)."""
    about = dict(zip(pairs.PAIR, pair, strict=True))
    found = [Estimate("suite/focus/rise", feature.rise(rated).interval(), about)]
    if reference is not None:
        rises = feature.rises(rated), feature.rises(reference)
        gap = stats.difference(*map(stats.mean, rises)).interval()
        found.append(Estimate("suite/focus/beyond", gap, about, p=feature.beyond(*rises)))
    if placed is not None:
        finer = placed.iloc[1]  # the last map is too coarse to put most of it on a small feature
        note = f"{finer['method']}; the feature is {finer['area']:.0%} of the area"
        on = tuple(finer[["share", "low", "high"]])
        found.append(Estimate("focus/most-on-feature", on, note=note))
    return found


def judged(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials of `sweeps/eyespot_trials.py` about the planted pair, and all of dose 0, with rise
    (mean over trainings); found (at least `feature.EFFECT`); learned (the gain is above `LEARNED`);
    first and lowest_3 (of all pairs by mean Focus)."""
    own = trials[(trials["dose"] == 0) | (trials["target"] == trials["planted"])]
    rise, ranks = own.filter(like="rise_").mean(axis=1), own.filter(like=" > ").rank(axis=1)
    rank = own.apply(lambda row: ranks.loc[row.name, f"{row['target']} > {row['outer']}"], axis=1)
    verdicts = {"rise": rise, "found": rise >= feature.EFFECT, "learned": own["gain"] > LEARNED}
    return own.assign(**verdicts, first=rank == 1, lowest_3=rank <= 3).reset_index(drop=True)


def of_trials(table: pd.DataFrame) -> list[Estimate]:
    """What the trials show that are `judged`. Those of a seed share images and networks, so
    differences are taken seed by seed."""
    trial = table.set_index(["dose", "seed", *pairs.PAIR])
    own = trial.apply(lambda row: row[f"{row.name[2]} > {row.name[3]}"], axis=1)
    full, none = trial.loc[1], trial.loc[0]
    learned, by_seed = full[full["learned"]], {"seeds": table["seed"].nunique()}
    first = full.groupby("seed")["first"].mean() - none.groupby("seed")["first"].mean()
    between = own.drop([0, 1], level="dose").unstack("dose")
    kept = between.sub(own.loc[1], axis=0).stack().dropna()
    note = kept.groupby("dose").mean().map("{:+.2f}".format)
    note = ", ".join(f"dose {dose:g}: {gap}" for dose, gap in note.items())
    remedy = kept.groupby("seed").mean()
    peaks = learned.groupby("seed")["peaks_finer"].mean()
    alarms = none.groupby("seed")["found"].any()
    return [
        Estimate("focus/first", stats.mean(first).interval(), by_seed),
        Estimate("focus/remedy", stats.mean(remedy).interval(), {"seeds": len(remedy)}, note=note),
        _share("found", "trials", learned["found"]),
        _share("alarms-by-seed", "seeds", alarms),
        _share("alarms", "trials", none["found"]),
        Estimate("suite/focus/names", stats.mean(peaks).interval(), by_seed),
    ]


def _share(claim: str, of: str, known: pd.Series) -> Estimate:
    """The share of trials or seeds in which something is so, with Wilson's interval."""
    interval = known.mean(), *stats.wilson(known.sum(), len(known))
    return Estimate(f"suite/focus/{claim}", interval, {of: len(known)})
