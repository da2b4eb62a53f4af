"""Estimates for the claims of *Focus!* about methods (06) and class pairs (07), by claim id."""

import numpy as np
import pandas as pd
from statsmodels.regression.linear_model import OLS

from helpers import stats
from helpers.focus import feature
from helpers.focus.controls import MAP
from helpers.focus.means import CHANCE, PAIR, contrast, mean
from helpers.stats import Estimate
from helpers.stats.extremes import smallest

ROUNDING = 1e-3
WELL_FIT = 0.9  # smallest accuracy of a well-fit network
LEARNED = 2.0  # logits: a network learned the eyespot if it adds more to the target
MIDDLE = {
    "GradCAM++": -0.5,
    CHANCE: -0.5,
}  # between chance and what is better than random
COMBINED = {  # claims about sums of methods' Focus: the weight of each method
    "focus/near-random/smoothgrad": {"SmoothGrad": 1} | MIDDLE,
    "focus/near-random/ig": {"IG": 1} | MIDDLE,
    "focus/above-chance/gradcam++": {"GradCAM++": 1},
    "focus/behind-gradcam/gradcam++": {"GradCAM++": 1, "GradCAM": -1},
    "focus/behind-lrp/gradcam++": {"GradCAM++": 1, "LRP": -1},
}


def of_methods(rated: pd.DataFrame) -> list[Estimate]:
    """Estimate the claims of sections I-B and I-D, each where it fits the data worst."""
    methods, estimates = {*rated["method"], CHANCE}, []
    for method in [name for name in ("GradCAM", "LRP") if name in methods]:
        networks = rated[rated["method"] == method].groupby(["architecture", "set"])
        means = {name: mean(part) for name, part in networks}
        least = tuple(smallest([one.interval for one in means.values()]))
        where = " on image set ".join(min(means, key=lambda name: means[name].estimate))
        estimates.append(
            Estimate(f"focus/reliable/{method.lower()}", least, note=where)
        )
    for claim, weights in COMBINED.items():
        if methods >= set(weights):
            estimates.append(Estimate(claim, contrast(rated, weights).interval()))
    by_network = rated.groupby(["run", "architecture", "set", "method"])["focus"]
    if methods >= {"LIME", "LRP"}:
        spread = by_network.std().unstack()
        gap = (spread["LIME"] - spread["LRP"]).unstack("run").T.to_numpy()
        estimates.append(Estimate("focus/varies/lime", stats.mean(gap).interval()))
    for claim, between in (
        ("focus/consistent", "architecture"),
        ("focus/other-tasks", "set"),
    ):
        if rated[between].nunique() > 1 and len(methods) > 3:
            estimates.append(
                Estimate(claim, _alike(by_network.mean(), between).interval())
            )
    return estimates


def _alike(means: pd.Series, between: str) -> stats.Mean:
    """Return the mean rank correlation of methods between architectures or image sets, over runs."""
    ranks = means.unstack("method").rank(axis=1)
    [within] = {"architecture", "set"} - {between}
    alike = {}
    for case, part in ranks.groupby(["run", within]):
        alike[case] = part.T.corr().to_numpy()[np.triu_indices(len(part), 1)].mean()
    return stats.mean(pd.Series(alike).groupby(level=0).mean())


def of_accuracy(table: pd.DataFrame) -> list[Estimate]:
    """Estimate whether the Focus of LIME and LRP depends on accuracy more than GradCAM's, by slopes.

    Also estimate the mean Focus of GradCAM on networks that are not `WELL_FIT`, and of LRP on
    networks that are."""
    well, slope = table["accuracy"] >= WELL_FIT, ["accuracy"]
    claims = {
        "focus/accuracy/lime": ({"LIME": 1, "GradCAM": -1}, table, slope),
        "focus/accuracy/lrp": ({"LRP": 1, "GradCAM": -1}, table, slope),
        "focus/fit/gradcam": ({"GradCAM": 1}, table[~well], []),
        "focus/fit/lrp": ({"LRP": 1}, table[well], []),
    }
    estimates = []
    for claim, (weights, rows, by) in claims.items():
        known = (
            rows.dropna(subset=list(weights)) if {*weights} <= {*table} else rows[:0]
        )
        if known["network"].nunique() >= 5:  # fewer give no interval
            line = OLS(
                known[list(weights)] @ pd.Series(weights),
                known[by].assign(constant=1.0),
            )
            networks = {"groups": known["network"].factorize()[0]}
            fitted = line.fit(cov_type="cluster", cov_kwds=networks, use_t=True)
            interval = fitted.params.iloc[0], *fitted.conf_int().iloc[0]
            estimates.append(
                Estimate(claim, interval, note=f"{len(known)} trained networks")
            )
    return estimates


def of_controls(known: pd.DataFrame) -> list[Estimate]:
    """Estimate the claims about networks in which the correct Focus is 1 (`in_disconnected`)."""
    ends = known.groupby(["reads", "method", "name"], sort=False)["focus"]
    ends = ends.agg(["mean", "min", "max"])
    least = ends.query("reads == 'input' and method != 'LIME'")["min"]
    silent, answered = int(least.isna().sum()), int(least.notna().sum())
    note = f"{silent} give no map and are not counted" if silent else ""
    fails = (float((least <= 1 - ROUNDING).sum()),) * 3
    estimates = [
        Estimate("suite/focus/difull-input", fails, {"asked": answered}, note=note)
    ]
    for row in ends.query("method == 'LIME'")[-1:].to_numpy():
        estimates.append(Estimate("suite/focus/difull-lime", tuple(row)))
    at_map = known[known["reads"] == MAP]
    for method in [
        m for m in ("GradCAM", "GradCAM++") if {m, "IG"} <= set(at_map["method"])
    ]:
        gap = contrast(at_map, {method: 1, "IG": -1}).interval()
        estimates.append(Estimate("suite/focus/difull-cam", gap, {"method": method}))
    return estimates


def of_feature(pair: tuple[str, str], placed, rated, control) -> list[Estimate]:
    """Estimate where a pair's misplaced relevance lies (`placed`), and what inpainting changes."""
    about = dict(zip(PAIR, pair, strict=True))
    estimates = [Estimate("suite/focus/rise", feature.rise(rated).interval(), about)]
    if control is not None:
        rises = feature.rises(rated), feature.rises(control)
        gap = stats.difference(*map(stats.mean, rises)).interval()
        estimates.append(
            Estimate(
                "suite/focus/beyond", gap, about, p=feature.p_against_control(*rises)
            )
        )
    if placed is not None:
        finer = placed.iloc[
            1
        ]  # the last map is too coarse to put most of it on a small feature
        note = f"{finer['method']}; the feature is {finer['area']:.0%} of the area"
        on = tuple(finer[["share", "low", "high"]])
        estimates.append(Estimate("focus/most-on-feature", on, note=note))
    return estimates


def judged(trials: pd.DataFrame) -> pd.DataFrame:
    """Add the verdicts to the trials of ``eyespot_trials.csv``.

    ``rise`` is the mean over runs. ``detected`` says whether it is at least
    `feature.EFFECT`, and ``learned`` whether the gain is above `LEARNED`. ``first`` and
    ``lowest_3`` say whether the pair's Focus is the lowest, or among the three lowest, of
    all pairs.
    """
    rise = trials.filter(like="rise_").mean(axis=1)
    return trials.assign(
        rise=rise,
        detected=rise >= feature.EFFECT,
        learned=trials["gain"] > LEARNED,
        first=trials["rank"] == 1,
        lowest_3=trials["rank"] <= 3,
    )


def of_trials(table: pd.DataFrame) -> list[Estimate]:
    """Estimate what `judged` trials show; differences are taken seed by seed."""
    trial = table.set_index(["bias_strength", "seed", *PAIR])
    full, none = trial.loc[1], trial.loc[0]
    learned, by_seed = full[full["learned"]], {"seeds": table["seed"].nunique()}
    first = full.groupby("seed")["first"].mean() - none.groupby("seed")["first"].mean()
    between = trial["focus"].drop([0, 1], level="bias_strength")
    between = between.unstack("bias_strength")
    kept = between.sub(full["focus"], axis=0).stack().dropna()
    gaps = kept.groupby("bias_strength").mean().map("{:+.2f}".format)
    note = ", ".join(f"bias strength {at:g}: {gap}" for at, gap in gaps.items())
    remedy = kept.groupby("seed").mean()
    peaks = learned.groupby("seed")["peaks_finer"].mean()
    return [
        Estimate("focus/first", stats.mean(first).interval(), by_seed),
        Estimate(
            "focus/remedy",
            stats.mean(remedy).interval(),
            {"seeds": len(remedy)},
            note=note,
        ),
        _share("found", learned.groupby(["seed", "target"])["detected"].mean()),
        _share(
            "alarms", none.groupby("seed")["detected"].mean()
        ),  # all pairs share their networks
        Estimate("suite/focus/names", stats.mean(peaks).interval(), by_seed),
    ]


def _share(claim: str, shares: pd.Series) -> Estimate:
    """Return the mean share of trials, with Wilson's interval over the sets of networks.

    Trials that share their networks count as one."""
    interval = shares.mean(), *stats.wilson(shares.sum(), len(shares))
    return Estimate(f"suite/focus/{claim}", interval, {"sets": len(shares)})
