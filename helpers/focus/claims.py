"""Numbers for the claims of *Focus!* about methods (06) and class pairs (07).

`comparisons` and `slopes` are tables whose rows answer claims
(``data/paper/claim_rows.csv``).
"""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from statsmodels.formula.api import ols

from helpers import stats, store
from helpers.focus import feature
from helpers.focus.controls import MAP
from helpers.focus.means import CHANCE, PAIR, contrast, mean
from helpers.stats import Estimate
from helpers.stats.extremes import smallest

COMPARISONS = store.root() / "data" / "paper" / "focus_comparisons.csv"
ROUNDING = 1e-3
WELL_FIT = 0.9  # smallest accuracy of a well-fit network
LEARNED = 2.0  # logits: a network learned the eyespot if it adds more to the target
COLUMNS = ["comparison", "value", "low", "high", "note"]
# what depends on accuracy, and the coefficient that answers a claim
SLOPES = {
    "slope of LIME minus GradCAM": ("I(LIME - GradCAM) ~ accuracy", "accuracy"),
    "slope of LRP minus GradCAM": ("I(LRP - GradCAM) ~ accuracy", "accuracy"),
    "GradCAM, not well fit": ("GradCAM ~ 1", "Intercept"),
    "LRP, well fit": ("LRP ~ 1", "Intercept"),
}


def comparisons(rated: pd.DataFrame) -> pd.DataFrame:
    """Compare methods as the paper does (sections I-B and I-D).

    The weighted sums of methods are rows of ``focus_comparisons.csv``.

    Returns
    -------
    pandas.DataFrame
        The columns ``comparison``, ``value``, ``low``, ``high`` and ``note`` (the
        network in which a mean is lowest).
    """
    rows = []
    methods = set(rated["method"])
    for method in sorted(methods & {"GradCAM", "LRP"}):
        of_method = rated[rated["method"] == method]
        networks = of_method.groupby(["architecture", "set"])
        least = smallest([partial(mean, part) for _, part in networks])
        where = networks["focus"].mean().idxmin()
        rows.append((f"{method}, lowest", *least, " on ".join(where)))
    for name, terms in pd.read_csv(COMPARISONS).groupby("comparison", sort=False):
        weights = terms.set_index("method")["weight"].to_dict()
        if set(weights) <= {*methods, CHANCE}:
            rows.append((name, *contrast(rated, weights), ""))
    of_network = rated.groupby(["run", "architecture", "set", "method"])["focus"]
    if {"LIME", "LRP"} <= methods:
        spread = of_network.std().unstack()
        gap = spread["LIME"] - spread["LRP"]
        gap = gap.unstack("run").T.to_numpy()
        rows.append(("spread of LIME minus LRP", *stats.mean(gap).interval(), ""))
    means = of_network.mean().unstack(["architecture", "set"])
    for level, between in enumerate(["architecture", "set"]):
        if rated[between].nunique() > 1 and len(methods) > 2:
            agreement = means.groupby("run").apply(_agreement, 1 - level)
            interval = stats.mean(agreement.to_numpy()).interval()
            rows.append((f"ranks by {between}", *interval, ""))
    return pd.DataFrame(rows, columns=COLUMNS)


def _agreement(means: pd.DataFrame, same: int) -> float:
    """Return the mean rank correlation of columns that share one property."""
    correlations = means.corr(method="spearman")
    pairs = combinations(means.columns, 2)
    alike = []
    for one, other in pairs:
        if one[same] == other[same]:
            alike.append(correlations.loc[one, other])
    return float(np.mean(alike))


def slopes(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate how Focus depends on accuracy, with networks as units.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per network and state, with ``network``, ``accuracy`` and the mean Focus
        by method.

    Returns
    -------
    pandas.DataFrame
        The columns ``comparison``, ``value``, ``low``, ``high`` and ``note``. There is
        no row for fewer than five networks.
    """
    is_well_fit = table["accuracy"] >= WELL_FIT
    rows = []
    for name, (formula, coefficient) in SLOPES.items():
        part = table
        if "well fit" in name:
            part = table[is_well_fit != ("not" in name)]
        methods = [method for method in ("GradCAM", "LRP", "LIME") if method in formula]
        known = part.reindex(columns=["network", "accuracy", *methods]).dropna()
        if known["network"].nunique() < 5:
            continue
        network = known["network"].factorize()[0]
        fit = ols(formula, known).fit(
            cov_type="cluster", cov_kwds={"groups": network}, use_t=True
        )
        low, high = fit.conf_int().loc[coefficient]
        note = f"{len(known)} trained networks"
        rows.append((name, fit.params[coefficient], low, high, note))
    return pd.DataFrame(rows, columns=COLUMNS)


def of_controls(known: pd.DataFrame) -> list[Estimate]:
    """Estimate the claims about networks in which the correct Focus is 1."""
    by_name = known.groupby(["reads", "method", "name"], sort=False)
    ends = by_name["focus"].agg(["mean", "min", "max"])
    least = ends.query("reads == 'input' and method != 'LIME'")["min"]
    n_silent = int(least.isna().sum())
    note = f"{n_silent} give no map and are not counted" if n_silent else ""
    n_failed = float((least <= 1 - ROUNDING).sum())
    asked = {"asked": int(least.notna().sum())}
    estimates = [
        Estimate("suite/focus/difull-input", (n_failed,) * 3, asked, note=note)
    ]
    lime = ends.query("method == 'LIME'")
    if len(lime):
        estimates.append(Estimate("suite/focus/difull-lime", tuple(lime.iloc[-1])))
    at_map = known[known["reads"] == MAP]
    for method in ("GradCAM", "GradCAM++"):
        if {method, "IG"} <= set(at_map["method"]):
            gap = contrast(at_map, {method: 1, "IG": -1})
            about = {"method": method}
            estimates.append(Estimate("suite/focus/difull-cam", gap, about))
    return estimates


def of_feature(
    pair: tuple[str, str],
    placed: pd.DataFrame | None,
    rated: pd.DataFrame,
    control: pd.DataFrame | None,
) -> list[Estimate]:
    """Estimate where a pair's misplaced relevance lies, and what inpainting changes.

    `placed` is a table of `feature.by_method`. `rated` and `control` are interventions
    of the model and of the control model.
    """
    about = dict(zip(PAIR, pair, strict=True))
    estimates = [Estimate("suite/focus/rise", feature.rise(rated), about)]
    if control is not None:
        learned = feature.rises(rated)
        unbiased = feature.rises(control)
        gap = stats.difference(stats.mean(learned), stats.mean(unbiased)).interval()
        p = feature.p_against_control(learned, unbiased)
        estimates.append(Estimate("suite/focus/beyond", gap, about, p=p))
    if placed is not None:
        # the last map is too coarse to put most of it on a small feature
        finer = placed.iloc[1]
        note = f"{finer['method']}; the feature is {finer['area']:.0%} of the area"
        share = tuple(finer[["share", "low", "high"]])
        estimates.append(Estimate("focus/most-on-feature", share, note=note))
    return estimates


def judged(trials: pd.DataFrame) -> pd.DataFrame:
    """Add the verdicts to the trials of ``eyespot_trials.csv``.

    ``rise`` is the mean over runs. ``detected`` says whether it is at least
    `feature.EFFECT`, and ``learned`` whether the gain is above `LEARNED`. ``first`` and
    ``lowest_3`` say whether the pair's Focus is the lowest, or among the three lowest,
    of all pairs.
    """
    rises = trials.filter(like="rise_")
    rise = rises.mean(axis=1)
    return trials.assign(
        rise=rise,
        detected=rise >= feature.EFFECT,
        learned=trials["gain"] > LEARNED,
        first=trials["rank"] == 1,
        lowest_3=trials["rank"] <= 3,
    )


def of_trials(table: pd.DataFrame) -> list[Estimate]:
    """Estimate what `judged` trials show; differences are taken seed by seed."""
    strength = table["bias_strength"]
    full = table[strength == 1]
    none = table[strength == 0]
    learned = full[full["learned"]]
    by_seed = {"seeds": table["seed"].nunique()}

    first = full.groupby("seed")["first"].mean()
    first = first - none.groupby("seed")["first"].mean()
    weaker = table[strength.between(0, 1, inclusive="neither")]
    weaker = weaker.merge(full, on=["seed", *PAIR], suffixes=("", "_full"))
    weaker["gap"] = weaker["focus"] - weaker["focus_full"]
    remedy = weaker.groupby("seed")["gap"].mean()
    peaks = learned.groupby("seed")["peaks_finer"].mean()
    found = learned.groupby(["seed", "target"])["detected"].mean()
    alarms = none.groupby("seed")["detected"].mean()
    return [
        Estimate("focus/first", stats.mean(first).interval(), by_seed),
        Estimate("focus/remedy", stats.mean(remedy).interval(), {"seeds": len(remedy)}),
        Estimate("suite/focus/found", _share(found), {"sets": len(found)}),
        Estimate("suite/focus/alarms", _share(alarms), {"sets": len(alarms)}),
        Estimate("suite/focus/names", stats.mean(peaks).interval(), by_seed),
    ]


def _share(shares: pd.Series) -> tuple:
    """Return the mean share of trials, with Wilson's interval over sets of networks.

    Trials that share their networks count as one.
    """
    return shares.mean(), *stats.wilson(shares.sum(), len(shares))
