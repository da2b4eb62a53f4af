"""Numbers for the claims of *Focus!* about methods (06) and class pairs (07).

`comparisons` and `slopes` are tables whose rows answer claims
(``data/paper/claim_rows.csv``).
"""

from functools import partial

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
WELL_FIT = 0.9  # smallest accuracy of a well-fit network
LEARNED = 2.0  # logits: a network learned the eyespot if it adds more to the target
NETWORK = ["architecture", "set", "run"]  # what a trained network is
COLUMNS = ["comparison", "value", "low", "high"]
# which networks, and a regression whose last coefficient answers a claim
SLOPES = {
    "slope of LIME minus GradCAM": ("all", "I(LIME - GradCAM) ~ accuracy"),
    "slope of LRP minus GradCAM": ("all", "I(LRP - GradCAM) ~ accuracy"),
    "GradCAM, not well fit": ("not well fit", "GradCAM ~ 1"),
    "LRP, well fit": ("well fit", "LRP ~ 1"),
}


def comparisons(rated: pd.DataFrame) -> pd.DataFrame:
    """Compare methods as the paper does (sections I-B and I-D).

    The weighted sums of methods are rows of ``focus_comparisons.csv``.

    Returns
    -------
    pandas.DataFrame
        The columns ``comparison``, ``value``, ``low`` and ``high``.
    """
    intervals = {}
    methods = set(rated["method"])
    for method in sorted(methods & {"GradCAM", "LRP"}):
        of_method = rated[rated["method"] == method]
        networks = of_method.groupby(["architecture", "set"])
        means = [partial(mean, part) for _, part in networks]
        intervals[f"{method}, lowest"] = smallest(means)
    sums = pd.read_csv(COMPARISONS, index_col="method")
    for name, terms in sums.groupby("comparison", sort=False):
        weights = terms["weight"]
        if {*weights.index} <= {*methods, CHANCE}:
            intervals[name] = contrast(rated, weights)
    of_network = rated.groupby(["run", "architecture", "set", "method"])
    if {"LIME", "LRP"} <= methods:
        spread = of_network["focus"].std().unstack()
        gap = spread["LIME"] - spread["LRP"]
        gap = gap.unstack(["architecture", "set"])
        mean_gap = stats.mean(gap)
        intervals["spread of LIME minus LRP"] = mean_gap.interval()
    mean_focus = of_network["focus"].mean()
    for between, other in (("architecture", "set"), ("set", "architecture")):
        if rated[between].nunique() == 1 or len(methods) < 3:
            continue
        by_method = mean_focus.unstack(between)
        agreement = by_method.groupby(["run", other]).apply(_agreement)
        agreement = agreement.groupby("run").mean()
        intervals[f"ranks by {between}"] = stats.mean(agreement).interval()
    rows = [(name, *interval) for name, interval in intervals.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def _agreement(means: pd.DataFrame) -> float:
    """Return the mean rank correlation between the columns of a table."""
    correlations = means.corr(method="spearman")
    pairs = np.triu_indices(len(correlations), 1)
    return correlations.to_numpy()[pairs].mean()


def slopes(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate how Focus depends on accuracy, with networks as units.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per network and state, with ``architecture``, ``set``, ``run``,
        ``accuracy`` and the mean Focus by method.

    Returns
    -------
    pandas.DataFrame
        The columns ``comparison``, ``value``, ``low``, ``high`` and ``networks`` (the
        number of trained networks). There is no row for fewer than five networks.
    """
    is_well_fit = table["accuracy"] >= WELL_FIT
    parts = {
        "all": table,
        "not well fit": table[~is_well_fit],
        "well fit": table[is_well_fit],
    }
    rows = []
    for name, (fitness, formula) in SLOPES.items():
        methods = [method for method in ("GradCAM", "LRP", "LIME") if method in formula]
        known = parts[fitness].reindex(columns=[*NETWORK, "accuracy", *methods])
        known = known.dropna()
        network = known.groupby(NETWORK).ngroup()
        if network.nunique() < 5:
            continue
        fit = ols(formula, known).fit(
            cov_type="cluster",
            cov_kwds={"groups": network},
            use_t=True,
        )
        low, high = fit.conf_int().iloc[-1]
        rows.append((name, fit.params.iloc[-1], low, high, len(known)))
    return pd.DataFrame(rows, columns=[*COLUMNS, "networks"])


def at_last_map(known: pd.DataFrame) -> pd.DataFrame:
    """Compare GradCAM and GradCAM++ with IG, which also explains the last map.

    Returns
    -------
    pandas.DataFrame
        The columns ``method``, ``difference`` (in Focus from IG's), ``low`` and
        ``high``.
    """
    rated = known[known["setting"] == MAP]
    rows = []
    for method in ("GradCAM", "GradCAM++"):
        if {method, "IG"} <= set(rated["method"]):
            interval = contrast(rated, {method: 1, "IG": -1})
            rows.append((method, *interval))
    return pd.DataFrame(rows, columns=["method", "difference", "low", "high"])


def of_feature(
    pair: tuple[str, str], rated: pd.DataFrame, control: pd.DataFrame | None
) -> list[Estimate]:
    """Estimate what inpainting changes, in the model and minus the control model."""
    about = dict(zip(PAIR, pair, strict=True))
    rise = feature.rise(rated)
    estimates = [Estimate("suite/focus/rise", rise, about)]
    if control is not None:
        learned = stats.mean(feature.rises(rated))
        unbiased = stats.mean(feature.rises(control))
        gap = stats.difference(learned, unbiased)
        estimates.append(Estimate("suite/focus/beyond", gap.interval(), about))
    return estimates


def judged(trials: pd.DataFrame) -> pd.DataFrame:
    """Add the verdicts to the trials of ``eyespot_trials.csv``.

    ``rise`` is the mean over runs. ``detected`` says whether it is at least
    `feature.EFFECT`, and ``learned`` whether the gain is above `LEARNED`. ``first`` and
    ``lowest_3`` say whether the pair's Focus is the lowest, or among the three lowest,
    of all pairs.
    """
    judged = trials.copy()
    judged["rise"] = trials.filter(like="rise_").mean(axis=1)
    judged["detected"] = judged["rise"] >= feature.EFFECT
    judged["learned"] = trials["gain"] > LEARNED
    judged["first"] = trials["rank"] == 1
    judged["lowest_3"] = trials["rank"] <= 3
    return judged


def of_trials(table: pd.DataFrame) -> list[Estimate]:
    """Estimate what `judged` trials show; differences are taken seed by seed."""
    strength = table["bias_strength"]
    full = table[strength == 1]
    none = table[strength == 0].groupby("seed")
    learned = full[full["learned"]]
    weaker = table[strength.between(0, 1, inclusive="neither")]
    weaker = weaker.merge(full, on=["seed", *PAIR], suffixes=("", "_full"))
    weaker["gap"] = weaker["focus"] - weaker["focus_full"]
    first = full.groupby("seed")["first"].mean()
    by_seed = {
        "focus/first": first - none["first"].mean(),
        "focus/remedy": weaker.groupby("seed")["gap"].mean(),
        "suite/focus/names": learned.groupby("seed")["peaks_finer"].mean(),
    }
    estimates = []
    for claim, values in by_seed.items():
        interval = stats.mean(values).interval()
        subject = {"seeds": len(values)}
        estimates.append(Estimate(claim, interval, subject))
    # trials that share their networks count as one
    by_set = {
        "suite/focus/found": learned.groupby(["seed", "target"])["detected"].mean(),
        "suite/focus/alarms": none["detected"].mean(),
    }
    for claim, shares in by_set.items():
        ends = stats.wilson(shares.sum(), len(shares))
        interval = (shares.mean(), *ends)
        subject = {"sets": len(shares)}
        estimates.append(Estimate(claim, interval, subject))
    return estimates
