"""Test the gaps between groups, and compute what a test could detect."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.audit.table_counts import MISSING, TableCounts
from helpers.audit.table_rates import compare, measures_of, sides, with_ends
from helpers.blocks import counts
from helpers.blocks.counts import Counts
from helpers.blocks.measures import RATES, ratio

LEVEL = 0.05
SMALL = 30  # rows of a group of which little can be said
MOST_INTERSECTIONS = 100  # that are compared
MOST_POSSIBLE = 1000  # intersections
PERMUTATIONS_PER_TEST = 40  # so that adjusted p values can fall below LEVEL
MOST_PERMUTATIONS = 20_000
TABULATED_GAPS = (0.02, 0.05, 0.1)  # of the power
COLUMNS_OF_GAPS = [
    "measure",
    "attribute",
    "group",
    "value",
    "other",
    "other_value",
    "difference",
    "ci_low",
    "ci_high",
    "p",
    "significant",
]


def gaps(tables: Mapping[str, Counts], draws: int, seed: int) -> pd.DataFrame:
    """Test one gap of each measure and column of groups.

    The gap is between the two groups that are farthest apart, in units of the standard
    deviation of their difference under random permutation. Its p value is adjusted for
    all pairs, measures and columns.

    Returns
    -------
    pandas.DataFrame
        The columns of `compare`, and ``attribute``, ``p`` and ``significant``. The
        group has a higher value than the other. A measure that does not vary has no
        row.
    """
    n_tests = sum(len(measures_of(table)) for table in tables.values())
    number = _permutations(draws, n_tests)
    rows = []
    observed = []
    null = []
    for place, (attribute, table) in enumerate(tables.items()):
        i, j = np.triu_indices(len(table.groups), 1)
        differences = _differences(table, i, j)
        permuted = table.permuted(number, seed + place)
        drawn = counts.over(permuted, lambda part, i=i, j=j: _differences(part, i, j))
        for measure, name in enumerate(measures_of(table)):
            distance, largest = in_spreads(differences[measure], drawn[:, measure])
            if np.isnan(distance).all():
                continue
            pair = np.nanargmax(distance)
            unit = i[[pair]]
            other = j[[pair]]
            if differences[measure, pair] < 0:
                unit, other = other, unit
            gap = compare(table, name, unit, other)
            gap.insert(1, "attribute", attribute)
            rows.append(gap)
            observed.append(distance[pair])
            null.append(largest)
    if not rows:
        return pd.DataFrame(columns=COLUMNS_OF_GAPS).astype({"significant": bool})
    null = np.stack(null, axis=1)
    tested = stats.permutation_test(np.array(observed), null)
    table = _with_p(pd.concat(rows, ignore_index=True), tested)
    return table.sort_values("difference", ascending=False, ignore_index=True)


def number_of_pairs(tables: Mapping[str, Counts]) -> int:
    """Count the pairs of groups over all columns and measures."""
    number = 0
    for table in tables.values():
        number += len(measures_of(table)) * math.comb(len(table.groups), 2)
    return number


def _differences(table: Counts, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Subtract the second from the first unit of each pair: (..., measures, pairs)."""
    parts = []
    for name in measures_of(table):
        first, second = sides(table, name, i, j)
        parts.append(first[0] - second[0])
    return np.stack(parts, axis=-2)


def _permutations(draws: int, n_tests: int) -> int:
    """Return how many permutations a test of so many hypotheses needs."""
    return min(max(draws, PERMUTATIONS_PER_TEST * n_tests), MOST_PERMUTATIONS)


def _with_p(table: pd.DataFrame, tested: pd.DataFrame) -> pd.DataFrame:
    """Add the adjusted p values, and whether they are significant."""
    p = tested["p_adjusted"]
    return table.assign(p=p, significant=p <= LEVEL)


def in_spreads(
    differences: np.ndarray,
    drawn: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Express differences in units of their spread under permutation.

    Parameters
    ----------
    differences : array of shape (pairs,)
    drawn : array of shape (permutations, pairs)

    Returns
    -------
    distance : array of shape (pairs,)
        NaN for a pair that more than a tenth of the permutations leave undefined.
    largest : array of shape (permutations,)
        The largest distance of any pair.
    """
    permutations = pd.DataFrame(drawn)
    spread = permutations.std(ddof=0)
    enough = permutations.count() >= 0.9 * len(drawn)
    spread = spread.where(enough & (spread > 1e-12)).to_numpy()
    distance = np.abs(differences) / spread
    largest = np.nan_to_num(np.abs(drawn) / spread).max(axis=1)
    return distance, largest


def ratio_interval(first: tuple, second: tuple) -> stats.Interval:
    """Compute the ratio of two proportions with its interval (MOVER).

    `first` and `second` are a proportion and the ends of its interval.

    References
    ----------
    Donner and Zou, *Statistical Methods in Medical Research* 21, 2012.
    """
    p, p_low, p_high = first
    q, q_low, q_high = second

    def end(p_end, q_end, sign):
        of_p = p_end * (2 * p - p_end)
        of_q = q_end * (2 * q - q_end)
        root = np.sqrt(((p * q) ** 2 - of_p * of_q).clip(0))
        return ratio(p * q + sign * root, of_q)

    low = end(p_low, q_high, -1).clip(0)
    # the denominator may be 0
    high = np.where(q_low == 0, np.inf, end(p_high, q_low, 1))
    return stats.Interval(ratio(p, q), low, high)


def smallest_ratio(table: Counts, limit: float) -> pd.DataFrame:
    """Compare the smallest positive rate, divided by the largest, with a limit.

    The interval allows for the choice of the two groups: its ends are the smallest ends
    of the intervals of all pairs, whose level is divided by the number of pairs.
    """
    is_named = np.array(table.groups) != MISSING
    named = np.flatnonzero(is_named)
    if len(named) < 2:
        return pd.DataFrame()
    pairs = np.triu_indices(len(named), 1)
    i, j = named[pairs[0]], named[pairs[1]]
    level = (1 - stats.CONFIDENCE) / len(i)
    z = scipy.stats.norm.isf(level / 2)
    first, second = sides(table, "pr", i, j)
    of_pairs = ratio_interval(with_ends(first, z), with_ends(second, z))
    low = np.minimum(of_pairs.low, ratio(1, of_pairs.high))
    high = np.minimum(of_pairs.high, ratio(1, of_pairs.low))
    rate = pd.Series(table.values("pr")[named], np.array(table.groups)[is_named])
    verdict = "inconclusive"
    if high.min() < limit:
        verdict = "fails"
    elif low.min() >= limit:
        verdict = "passes"
    columns = {
        "smallest": rate.idxmin(),
        "largest": rate.idxmax(),
        "ratio": ratio(rate.min(), rate.max()),
        "ci_low": low.min(),
        "ci_high": min(high.min(), 1.0),
        "limit": limit,
        "verdict": verdict,
    }
    return pd.DataFrame([columns])


def against_reference(table: Counts, reference: str) -> pd.DataFrame:
    """Compare each group's rates with a reference, by difference and ratio.

    The reference is ``best`` (the highest rate; the lowest fpr), ``largest``, ``rest``
    (all other groups) or a group.
    """
    groups = np.arange(len(table.groups))
    parts = []
    for measure in [name for name in measures_of(table) if name in RATES]:
        value = pd.Series(table.values(measure)[groups], table.groups)
        value = value.drop(MISSING, errors="ignore").dropna()
        names = {"largest": table.groups[table.shares[groups].argmax()]}
        if len(value):
            names["best"] = value.idxmin() if measure == "fpr" else value.idxmax()
        name = names.get(reference, reference)
        if reference == "rest":
            other = groups + len(groups) + 1
        elif name in table.groups:
            other = np.full(len(groups), table.groups.index(name))
        else:
            continue
        rows = compare(table, measure, groups, other)
        first, second = sides(table, measure, groups, other)
        interval = ratio_interval(
            with_ends(first),
            with_ends(second),
        )
        rows["ratio"] = interval.estimate
        rows["ratio_low"] = interval.low
        rows["ratio_high"] = interval.high
        parts.append(rows[groups != other])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def intersections(
    counted: TableCounts,
    attributes: list[str],
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Compare each intersection of columns with all other rows, by each rate.

    These are the intersections with the most rows, at least `SMALL`. The p values are
    adjusted for all intersections and rates. The significant differences come first,
    and of these the intervals that end farthest from 0.
    """
    if not {"y_pred", "y_true"} & {*counted.columns}:
        return pd.DataFrame()
    table = counted.table(attributes, roles=["y_pred", "y_true"], intersect=True)
    names = measures_of(table)
    n_single = len(counted.table(attributes).groups)
    rows = pd.Series(table.mass.sum(axis=-1)[: len(table.groups)].astype(int))
    rows = rows[n_single:]
    crossed = rows[rows >= SMALL].nlargest(MOST_INTERSECTIONS).index.to_numpy()
    rest = crossed + len(table.groups) + 1
    if not len(crossed) or not names:
        return pd.DataFrame()

    def differences(tables):
        parts = []
        for name in names:
            values = tables.values(name)
            parts.append(values[..., crossed] - values[..., rest])
        return np.concatenate(parts, axis=-1)

    number = _permutations(draws, len(names) * len(crossed))
    null = counts.over(table.permuted(number, seed), differences)
    tested = stats.permutation_test(
        np.abs(differences(table)),
        np.abs(null),
    )
    parts = [compare(table, name, crossed, rest) for name in names]
    result = _with_p(pd.concat(parts, ignore_index=True), tested)
    result.insert(2, "rows", np.tile(rows[crossed], len(names)))
    nearest_end = np.maximum(result["ci_low"], -result["ci_high"])
    order = np.lexsort((-nearest_end, ~result["significant"]))
    return result.iloc[order].reset_index(drop=True)


def power(
    n: float,
    n_other: float,
    rate: float,
    gap: float,
    n_tests: int = 1,
) -> float:
    """Compute the power to detect a gap between two groups, approximately.

    The smaller rate is `rate`, and the level is 0.05 divided by the number of tests.
    This is conservative if the tests are correlated.
    """
    other = np.clip(rate + gap, 0, 1)
    variance = rate * (1 - rate) / n
    other_variance = other * (1 - other) / n_other
    error = np.sqrt(variance + other_variance)
    critical = scipy.stats.norm.isf(LEVEL / 2 / n_tests)
    return float(scipy.stats.norm.sf(critical - (other - rate) / error))


def powers(rates: pd.DataFrame, n_tests: int) -> pd.DataFrame:
    """Compute the power for the smallest and the largest group of each column.

    `n_tests` is the `number_of_pairs`, because `gaps` tests the largest gap of all
    pairs. Dividing the level by it is conservative: the power is higher if measures are
    correlated, or if a group differs from several others.
    """
    of_decisions = rates["measure"].isin({*RATES} - {"prevalence"})
    known = rates[of_decisions & (rates["group"] != MISSING)].dropna()
    rows = []
    for _, part in known.groupby(["attribute", "measure"], sort=False):
        smallest = part.loc[part["n"].idxmin()]
        largest = part.loc[part["n"].idxmax()]
        row = smallest[["measure", "attribute", "group", "n"]].to_dict()
        row["n_largest"] = largest["n"]
        for gap in TABULATED_GAPS:
            rate = min(largest["value"], 1 - gap)
            row[f"{100 * gap:.0f} points"] = power(
                smallest["n"],
                largest["n"],
                rate,
                gap,
                n_tests,
            )
        rows.append(row)
    return pd.DataFrame(rows)
