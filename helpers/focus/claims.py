"""Numbers for the claims of *Focus!* about methods (06) and class pairs (07).

The rows of the tables of `weighted_sums`, `comparisons` and `slopes` answer claims
(``data/paper/claim_rows.csv``).
"""

from functools import partial

import numpy as np
import pandas as pd
from statsmodels.formula.api import ols

from helpers import stats, store
from helpers.focus import feature
from helpers.focus.means import CHANCE, PAIR, contrast, mean
from helpers.stats import Estimate
from helpers.stats.extremes import smallest

PAPER = store.root() / "data" / "paper"
LEARNED = 2.0  # logits: a network learned the eyespot if it adds more to the target
NETWORK = ["architecture", "set", "run"]  # what a trained network is
COLUMNS = ["comparison", "value", "low", "high"]
# which networks, and a regression whose last coefficient answers a claim; a network is
# well fit if its accuracy is at least 0.9
SLOPES = {
    "slope of LIME minus GradCAM": ("accuracy >= 0", "I(LIME - GradCAM) ~ accuracy"),
    "slope of LRP minus GradCAM": ("accuracy >= 0", "I(LRP - GradCAM) ~ accuracy"),
    "GradCAM, not well fit": ("accuracy < 0.9", "GradCAM ~ 1"),
    "LRP, well fit": ("accuracy >= 0.9", "LRP ~ 1"),
}


def weighted_sums(
    rated: pd.DataFrame, table: str, value: str = "focus"
) -> pd.DataFrame:
    """Compute weighted sums of the scores of methods.

    Parameters
    ----------
    rated : pandas.DataFrame
    table : str
        Which rows of ``focus_comparisons.csv`` hold the weights.
    value : str, default="focus"
        The column with the scores.

    Returns
    -------
    pandas.DataFrame
        The columns ``comparison``, ``value``, ``low`` and ``high``. Sums of methods
        that are not rated are left out.
    """
    sums = pd.read_csv(PAPER / "focus_comparisons.csv", index_col="method")
    sums = sums.query("table == @table").groupby("comparison", sort=False)["weight"]
    rows = []
    for name, weights in sums:
        if {*weights.index} <= {*rated["method"], CHANCE}:
            rows.append((name, *contrast(rated, weights, value=value)))
    return pd.DataFrame(rows, columns=COLUMNS)


def comparisons(rated: pd.DataFrame) -> pd.DataFrame:
    """Compare methods as the paper does (sections I-B and I-D).

    Returns
    -------
    pandas.DataFrame
        The columns ``comparison``, ``value``, ``low`` and ``high``.
    """
    rows = weighted_sums(rated, "comparisons").to_numpy().tolist()
    methods = set(rated["method"])
    for method in sorted(methods & {"GradCAM", "LRP"}):
        networks = rated[rated["method"] == method].groupby(["architecture", "set"])
        means = [partial(mean, part) for _, part in networks]
        rows.append((f"{method}, lowest", *smallest(means)))
    if {"LIME", "LRP"} <= methods:
        spread = rated.pivot_table(
            "focus",
            "run",
            ["method", "architecture", "set"],
            "std",
        )
        gap = stats.mean(spread["LIME"] - spread["LRP"])
        rows.append(("spread of LIME minus LRP", *gap.interval()))
    for between, other in (("architecture", "set"), ("set", "architecture")):
        if rated[between].nunique() > 1 and len(methods) > 2:
            by_method = rated.pivot_table(
                "focus",
                ["run", other, "method"],
                between,
            )
            agreement = by_method.groupby(["run", other]).apply(_agreement)
            agreement = stats.mean(agreement.groupby("run").mean())
            rows.append((f"ranks by {between}", *agreement.interval()))
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
        number of trained networks). A comparison of fewer than five networks has no
        row.
    """
    rows = []
    for name, (which, formula) in SLOPES.items():
        methods = [method for method in ("GradCAM", "LRP", "LIME") if method in formula]
        known = table.reindex(columns=[*NETWORK, "accuracy", *methods])
        known = known.query(which).dropna()
        network = known.groupby(NETWORK).ngroup()
        if network.nunique() < 5:
            continue
        fit = ols(formula, known).fit(
            cov_type="cluster",
            cov_kwds={"groups": network},
            use_t=True,
        )
        ends = fit.conf_int().iloc[-1]
        rows.append((name, fit.params.iloc[-1], *ends, len(known)))
    return pd.DataFrame(rows, columns=[*COLUMNS, "networks"])


def of_feature(
    pair: tuple[str, str], rated: pd.DataFrame, control: pd.DataFrame | None
) -> list[Estimate]:
    """Estimate what inpainting changes, in the model and minus the control model."""
    about = dict(zip(PAIR, pair, strict=True))
    estimates = [Estimate("suite/focus/rise", feature.rise(rated), about)]
    if control is not None:
        of_model = stats.mean(feature.rises(rated))
        of_control = stats.mean(feature.rises(control))
        gap = stats.difference(of_model, of_control).interval()
        estimates.append(Estimate("suite/focus/beyond", gap, about))
    return estimates


def judged(trials: pd.DataFrame) -> pd.DataFrame:
    """Add the verdicts to the trials of ``eyespot_trials.csv``.

    ``rise`` is the mean over runs. ``detected`` says whether it is at least
    `feature.EFFECT`, and ``learned`` whether the gain is above `LEARNED`. ``first`` and
    ``lowest_3`` say whether the pair's Focus is the lowest, or among the three lowest,
    of all pairs.
    """
    rise = trials.filter(like="rise_").mean(axis=1)
    return trials.assign(
        rise=rise,
        detected=rise >= feature.EFFECT,
        learned=trials["gain"] > LEARNED,
        first=trials["rank"] == 1,
        lowest_3=trials["rank"] <= 3,
    )


def of_trials(trials: pd.DataFrame) -> list[Estimate]:
    """Estimate what `judged` trials show.

    Each row of ``focus_trials.csv`` answers a claim by the mean of a column over some
    trials, minus its mean over other trials. Trials that share their networks, or their
    seed, count as one unit.
    """
    claims = pd.read_csv(PAPER / "focus_trials.csv", keep_default_na=False)
    estimates = []
    for claim in claims.itertuples():
        units = claim.units.split()
        values = trials.query(claim.where).groupby(units)[claim.value].mean()
        if claim.minus:
            others = trials.query(claim.minus)
            values = values - others.groupby(units)[claim.value].mean()
        values = values.dropna()
        n = len(values)
        interval = stats.mean(values).interval()
        if claim.value == "detected":  # a share
            interval = (values.mean(), *stats.wilson(values.sum(), n))
        estimates.append(Estimate(claim.id, interval, {"n": n}))
    return estimates
