"""Compute rates of groups and their differences, with 95% intervals."""

from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.blocks import counts, measures
from helpers.blocks.counts import Counts
from helpers.blocks.measures import RATES, UNKNOWN, ratio
from helpers.stats.proportions import Z, wilson_end

NAMES = {
    "pr": "positive rate",
    "tpr": "true positive rate",
    "fpr": "false positive rate",
    "ppv": "precision",
    "npv": "negative predictive value",
    "acc": "accuracy",
    "prevalence": "share of positive outcomes",
    "score": "mean score",
    "calibration": "calibration error",
    "auc": "area under the roc curve",
}
NEEDS = {  # columns; all other measures need y_pred and y_true
    "pr": ["y_pred"],
    "prevalence": ["y_true"],
    "score": ["score"],
    "calibration": ["score", "y_true"],
    "auc": ["score", "y_true"],
}
OF_TWO_PREDICTIONS = ("pr", "tpr", "fpr", "ppv", "acc")
DRAWS = 999  # of the bootstrap
# rows that a stratum gets with the rate over all strata, because few rows may be all 0
PRIOR_ROWS = 2


def lacking(table: Counts) -> dict[str, str]:
    """Say what each measure needs that the table does not have."""
    needed = {}
    for name in NAMES:
        roles = NEEDS.get(name, ["y_pred", "y_true"])
        missing = [role for role in roles if role not in table.kinds]
        if missing:
            needed[name] = " and ".join(missing)
    if {"y_pred", "y_true"} <= {*table.kinds}:
        # these do not need the outcomes of rows predicted 0 or 1
        spared = {0: ["pr", "ppv"], 1: ["pr", "npv"]}
        for predicted, kinds in table.kinds.groupby("y_pred"):
            if (kinds["y_true"] == UNKNOWN).all():
                for name in NAMES:
                    if name in RATES and name not in spared[predicted]:
                        needed[name] = f"outcomes of rows predicted {predicted}"
    return needed


def measures_of(table: Counts) -> list[str]:
    """Name the measures that a table has; with strata these are rates."""
    needed = lacking(table)
    names = [name for name in NAMES if name not in needed]
    if table.cells.shape[-3] > 1:
        names = [name for name in names if name in RATES]
    return names


def rates(table: Counts) -> pd.DataFrame:
    """Compute every measure of every group with its interval.

    Rates have Wilson's interval. Measures of scores have a bootstrap interval.
    """
    groups = np.arange(len(table.groups))
    parts = []
    for measure in measures_of(table):
        value = table.values(measure)[groups]
        counted = "score >= 0" if measure == "score" else "y_true >= 0"
        if measure in RATES:
            counted = RATES[measure][1]
        n = table.mass[groups] @ table.kinds.eval(counted).to_numpy()
        if measure in RATES:
            _, low, high = with_ends((value, n))
        else:
            ends = _bootstrap(table, lambda drawn, m=measure: drawn.values(m))
            low, high = (end[groups] for end in ends)
        columns = {
            "measure": measure,
            "group": table.groups,
            "n": n.astype(int),
            "value": value,
            "ci_low": low,
            "ci_high": high,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _bootstrap(table: Counts, statistic) -> tuple:
    """Return the outer ends of the percentile and the basic bootstrap interval."""
    drawn = counts.over(table.resampled(DRAWS, seed=0), statistic)
    low, high = pd.DataFrame(drawn).quantile([0.025, 0.975]).to_numpy()
    estimate = statistic(table)
    basic_low = 2 * estimate - high
    basic_high = 2 * estimate - low
    return np.minimum(low, basic_low), np.maximum(high, basic_high)


def compare(table: Counts, measure: str, i, j) -> pd.DataFrame:
    """Compare pairs of units by a measure.

    Parameters
    ----------
    table : Counts
        With strata, both units of a pair get the mix of strata of all rows.
    measure : str
    i, j : integer arrays of shape (pairs,)
        Places of the units.

    Returns
    -------
    pandas.DataFrame
        ``measure``, ``group``, ``value``, ``other``, ``other_value``, ``difference``
        with its interval ``ci_low`` to ``ci_high``. Differences of rates have
        Newcombe's interval. Differences of measures of scores have a bootstrap
        interval.
    """
    first, second = sides(table, measure, i, j)
    if measure in RATES:
        _, low, high = stats.newcombe(with_ends(first), with_ends(second))
    else:

        def difference(drawn):
            values = drawn.values(measure)
            return values[..., i] - values[..., j]

        low, high = _bootstrap(table, difference)
    units = np.array(table.units, dtype=object)
    columns = {
        "measure": measure,
        "group": units[i],
        "value": first[0],
        "other": units[j],
        "other_value": second[0],
        "difference": first[0] - second[0],
        "ci_low": low,
        "ci_high": high,
    }
    return pd.DataFrame(columns)


def with_ends(side: tuple, z: float = Z) -> tuple:
    """Return a rate with the ends of Wilson's interval, from rate and trials."""
    rate, trials = side
    low = wilson_end(rate, trials, -z)
    high = wilson_end(rate, trials, z)
    return rate, low, high


def sides(table: Counts, measure: str, i, j) -> list[tuple]:
    """Compute a measure of both units of each pair.

    Returns
    -------
    list of two tuples
        The values (..., pairs), and the numbers of independent rows that would have the
        same error. Strata in which one unit has no rows that count are left out.
    """
    if measure not in RATES:
        values = table.values(measure)
        return [(values[..., i], np.nan), (values[..., j], np.nan)]
    mass = table.mass_of_strata
    hits, trials = measures.hits_and_trials(measure, table.kinds, mass)
    everyone = len(table.groups)
    known = (trials[..., i] > 0) & (trials[..., j] > 0)
    rows = known * mass.sum(-1)[..., [everyone]]
    mix = ratio(rows, rows.sum(-2, keepdims=True))
    return [
        _standardized(hits[..., i], trials[..., i], mix),
        _standardized(hits[..., j], trials[..., j], mix),
    ]


def _standardized(hits, trials, mix) -> tuple[np.ndarray, np.ndarray]:
    """Average rates over strata, and count the independent rows with the same error."""
    used = mix > 0
    rates = np.where(used, ratio(hits, trials), np.nan)
    total = np.where(used, mix * rates, 0).sum(-2)
    rate = np.where(used.any(-2), total, np.nan)
    all_zero = (~used | (rates == 0)).all(-2)
    all_one = (~used | (rates == 1)).all(-2)
    rate = np.where(all_one & ~all_zero, 1, rate)  # without rounding errors
    smooth = ratio(hits + PRIOR_ROWS * rate[..., None, :], trials + PRIOR_ROWS)
    weight = np.where(used, ratio(mix**2, trials), 0)
    variance = (weight * smooth * (1 - smooth)).sum(-2)
    independent = np.where(
        all_zero | all_one,
        ratio(1, weight.sum(-2)),
        ratio(rate * (1 - rate), variance),
    )
    return rate, np.nan_to_num(independent, posinf=0)


def changes(table: Counts) -> pd.DataFrame:
    """Compare the rates of each group by two predictions of the same rows.

    The intervals are Newcombe's for paired proportions.
    """
    swapped = table.kinds.drop(columns="y_pred").rename(columns={"second": "y_pred"})
    known = {*measures_of(table)} & {*measures_of(replace(table, kinds=swapped))}
    parts = []
    for measure in [name for name in OF_TWO_PREDICTIONS if name in known]:
        first, first_errors = _errors(table, measure, table.kinds)
        second, second_errors = _errors(table, measure, swapped)
        covariance = (first_errors * second_errors).sum(1)
        variances = (first_errors**2).sum(1) * (second_errors**2).sum(1)
        correlation = np.nan_to_num(ratio(covariance, np.sqrt(variances)))
        change = stats.newcombe(second, first, correlation)
        columns = {
            "measure": measure,
            "group": table.groups,
            "first": first[0],
            "second": second[0],
            "change": change.estimate,
            "ci_low": change.low,
            "ci_high": change.high,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def changed_gaps(changes: pd.DataFrame) -> pd.DataFrame:
    """Compute by how much the gap of two groups changes, for each measure and column.

    They are the groups that are farthest apart over both predictions.
    """
    gaps = []
    together = changes["first"] + changes["second"]
    known = changes.assign(together=together).dropna()
    for _, rows in known.groupby(["attribute", "measure"], sort=False):
        one = rows.loc[rows["together"].idxmax()]
        other = rows.loc[rows["together"].idxmin()]
        interval = ["change", "ci_low", "ci_high"]
        of_gap = stats.newcombe(one[interval], other[interval])
        gap = {
            "measure": one["measure"],
            "attribute": one["attribute"],
            "group": f"{one['group']} minus {other['group']}",
            "first": one["first"] - other["first"],
            "second": one["second"] - other["second"],
            "change": of_gap.estimate,
            "ci_low": of_gap.low,
            "ci_high": of_gap.high,
        }
        gaps.append(gap)
    return pd.DataFrame(gaps)


def _errors(table: Counts, measure: str, kinds: pd.DataFrame) -> tuple:
    """Return a rate with its ends, and what each kind adds to its error."""
    hit, counted = RATES[measure]
    hits = kinds.eval(hit).to_numpy()
    trials = kinds.eval(counted).to_numpy()
    mass = table.mass[: len(table.groups)]
    n = mass @ trials
    rate = ratio(mass @ hits, n)
    errors = np.sqrt(mass) * np.where(trials, hits - rate[:, None], 0)
    return with_ends((rate, n)), errors
