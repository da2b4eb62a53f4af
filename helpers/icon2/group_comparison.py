"""Compare a detector between groups, and measure which faults would be detected.

Random permutations of the groups show which differences arise by chance. Faults that
are injected on purpose show how large a fault has to be to be detected.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.icon2.attributes import Attribute, DetectionDataError
from helpers.icon2.measures import (
    FALSE_POSITIVES,
    FEWEST,
    KEYS,
    LEVEL,
    PREDICTORS,
    RECALL,
    by_group,
    differences,
    means,
)
from helpers.store import progress

SMALLEST = 1.0  # point of recall, or false positive per 100 images, that matters
LOSSES = (0.02, 0.05, 0.1, 0.2, 0.3)  # injected faults: lost shares of detected boxes
TRIALS = 20  # permutations per injected fault
FOUND = "significant"
EXPLAINED = "may be due to class or size"
NO_GAP = "not significant"
VERDICTS = [FOUND, EXPLAINED, NO_GAP]  # the most important first


def null_distribution(
    units: pd.DataFrame, permutations: Iterator[list[Attribute]], draws: int
) -> pd.Series:
    """Compute the largest difference between randomly permuted groups.

    Parameters
    ----------
    units : pandas.DataFrame
        From `measures.units_to_compare`.
    permutations : iterator of list of Attribute
        From `attributes.permuted_attributes`.
    draws : int

    Returns
    -------
    pandas.Series of length draws
        In standard errors.
    """
    largest = []
    for _ in progress(range(draws), desc="permutations", delay=2):
        table = by_group(units, next(permutations), differences)
        largest.append(table["z"].abs().max())
    return pd.Series(largest)


def p_values(z: pd.Series, null: pd.Series) -> pd.Series:
    """Return the share of permutations with any difference as large as each z.

    The observed groups count as one permutation. Each permutation counts with its
    largest difference, so p is adjusted for the number of differences. It is NaN where
    z is NaN.

    Parameters
    ----------
    z : pandas.Series
        Differences in standard errors.
    null : pandas.Series
        From `null_distribution`.
    """
    size = z.abs()
    reached = size.map(lambda least: (null >= least).sum(), na_action="ignore")
    return (1 + reached) / (1 + len(null))


def compare(
    units: pd.DataFrame, attributes: Sequence[Attribute], null: pd.Series
) -> pd.DataFrame:
    """Compare each group with all other groups, by each measure.

    Parameters
    ----------
    units : pandas.DataFrame
        From `measures.units_to_compare`.
    attributes : sequence of Attribute
    null : pandas.Series
        From `null_distribution`.

    Returns
    -------
    pandas.DataFrame
        One row per measure, class, attribute and group. The ``gap`` is the value of a
        group minus the value of the others. The ``difference`` is what is left of the
        gap at the same class and size, with its 95% interval and adjusted ``p``.

        The ``verdict`` is *significant* if p is at most 0.05 and the difference is at
        least 1. Otherwise, the gap itself may be significant (Bonferroni, and at least
        1). If at most half of such a gap is left, or if this is not known, it *may be
        due to class or size*.
    """
    table = by_group(units, attributes, differences)
    table["gap"] = table["value"] - table["others"]
    table["p"] = p_values(table["z"], null)
    size = table["estimate"].abs()
    is_significant = (table["p"] <= LEVEL) & (size >= SMALLEST)
    # one stratum and no predictors, so that the estimate is the gap
    nothing_fixed = units.copy()
    nothing_fixed[["stratum", *PREDICTORS]] = 0
    raw = by_group(nothing_fixed, attributes, differences)
    gap_p = len(table) * normal_p(raw)
    gap = raw["estimate"].abs()
    is_gap = (gap_p <= LEVEL) & (gap >= SMALLEST)
    is_gap &= ~(size > gap / 2)  # or it is not known
    verdict = np.select([is_significant, is_gap], [FOUND, EXPLAINED], NO_GAP)
    table["verdict"] = pd.Categorical(verdict, VERDICTS)
    return table.rename(columns={"estimate": "difference"})


def select_findings(table: pd.DataFrame) -> pd.DataFrame:
    """Select the most important group of each attribute and measure.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compare`.

    Returns
    -------
    pandas.DataFrame
        One row per measure, class and attribute, with a ``sentence``. It is the row of
        a significant group, or else of the worst. The most important finding comes
        first.
    """
    is_false = table["measure"] == FALSE_POSITIVES
    surplus = table["gap"].where(~is_false, -table["gap"])
    columns = {
        "order": table.groupby(["measure", "class"], sort=False).ngroup(),
        "surplus": surplus.where(table["difference"].notna()),
    }
    ranked = table.assign(**columns).sort_values(["verdict", *columns])
    first = ranked.drop_duplicates(["measure", "class", "attribute"])
    sentences = [write_sentence(row) for row in first.to_dict("records")]
    first = first.assign(sentence=sentences).drop(columns=[*columns])
    return first.reset_index(drop=True)


def write_headline(findings: pd.DataFrame) -> str:
    """Return the sentence of the most important of the `select_findings`."""
    first = findings.iloc[0]
    if first["verdict"] == FOUND:
        return first["sentence"]
    return (
        "No difference of a point or more between groups is significant at the same "
        f"class and size. {first['sentence']}"
    )


def write_sentence(row: Mapping) -> str:
    """Say in words what a row of `compare` shows."""
    group = f"{row['attribute']} is {row['group']}"
    measure = f"{row['measure']} ({row['class']})"
    if np.isnan(row["difference"]):
        return (
            f"Where {group}: {measure} cannot be compared, because the groups share "
            "too few similar boxes or images."
        )
    is_false = row["measure"] == FALSE_POSITIVES
    start = "Where"
    if row["verdict"] == FOUND:
        is_worse = (row["difference"] > 0) == is_false
        start = "Worse where" if is_worse else "Better where"
    unit = "" if is_false else "%"
    text = (
        f"{start} {group}: {row['value']:.0f}{unit} {measure}, against "
        f"{row['others']:.0f}{unit} elsewhere."
    )
    if row["verdict"] == EXPLAINED:
        text += " The class and size of the boxes may explain this gap."
    difference = "At the same class and size of the boxes, the difference"
    unit = " points"
    if is_false:
        difference = "The difference"
        unit = ""
    text += (
        f" {difference} is {row['difference']:+.1f}{unit} (95% CI {row['low']:+.1f} to "
        f"{row['high']:+.1f}, adjusted p = {row['p']:.3f})."
    )
    at_all_scores = row.get("at_all_scores", row["difference"])
    is_due_to_scores = abs(at_all_scores) < abs(row["difference"]) / 2
    if row["verdict"] == FOUND and is_due_to_scores and not is_false:
        text += (
            " If detections with all scores count, the difference is "
            f"{at_all_scores:+.1f}, so a lower threshold may help."
        )
    return text


def compare_detectors(
    first: pd.DataFrame, second: pd.DataFrame, attributes: Sequence[Attribute]
) -> pd.DataFrame:
    """Compare two detectors in each group, paired by box and image.

    Parameters
    ----------
    first, second : pandas.DataFrame
        From `measures.units_to_compare`, of the same boxes and images.
    attributes : sequence of Attribute

    Returns
    -------
    pandas.DataFrame
        One row per measure, class and group, with the values of the ``first`` and the
        ``second`` detector, their ``difference`` (second minus first) with its 95%
        interval, and ``p`` (Holm). NaN where a group is too small.
    """
    change = first.assign(value=second["value"] - first["value"])
    table = by_group(change, attributes, means)
    table["first"] = by_group(first, attributes, means)["estimate"]
    table["second"] = by_group(second, attributes, means)["estimate"]
    table["p"] = stats.adjust(normal_p(table))
    return table.rename(columns={"estimate": "difference"})


def normal_p(table: pd.DataFrame) -> np.ndarray:
    """Return the p value of each estimate by the normal distribution."""
    return 2 * scipy.stats.norm.sf(table["z"].abs())


def detection_rates(
    units: pd.DataFrame,
    compared: pd.DataFrame,
    permutations: Iterator[list[Attribute]],
    null: pd.Series,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how often an injected fault of the smallest group is detected.

    The groups are permuted, so that they differ by chance only. Then the smallest group
    loses a share of its detected boxes, of all classes. The fault is detected by a
    measure if its recall is significantly lower in this group.

    Parameters
    ----------
    units, permutations, null
        As for `null_distribution`, and what it returns.
    compared : pandas.DataFrame
        From `compare`.
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per ``measure``, ``class``, ``attribute``, ``group`` and ``loss``, with
        the ``rate`` of ``n`` permutations in which the fault was detected, and its 95%
        interval. The first row, without a loss, has the rate at which any p of the
        audit is at most 0.05.

    Raises
    ------
    DetectionDataError
        If no group has enough boxes.
    """
    is_counted = compared["number"] >= FEWEST
    is_counted &= compared["measure"] == RECALL  # of all classes
    number = compared["number"][is_counted]
    if number.empty:
        raise DetectionDataError(f"No group has {FEWEST} boxes. Use more images.")
    smallest = number.groupby(compared["attribute"], sort=False).idxmin()

    of_chance = null_distribution(units, permutations, 2 * TRIALS)
    is_false = p_values(of_chance, null) <= LEVEL
    no_fault = dict.fromkeys(KEYS, "any")
    results = [pd.DataFrame(no_fault | {"loss": 0.0, "detected": is_false})]
    rng = np.random.default_rng(seed)
    recall = units[units["measure"] != FALSE_POSITIVES]
    boxes = recall.drop_duplicates("row")
    for number, group in enumerate(compared["group"][smallest]):
        for loss in progress(np.repeat(LOSSES, TRIALS), desc="faults", delay=2):
            attribute = next(permutations)[number]  # attributes are in this order
            codes = attribute.of_boxes(boxes["image"], boxes["row"])
            in_group = codes == attribute.values.index(group)
            lost = boxes["row"][in_group & (rng.random(len(boxes)) < loss)]
            faulty = after_loss(recall, lost)
            table = by_group(faulty, [attribute], differences)
            is_lower = table["estimate"] <= -SMALLEST
            is_detected = (p_values(table["z"], null) <= LEVEL) & is_lower
            table = table.assign(loss=loss, detected=is_detected)
            results.append(table[table["group"] == group])
    return stats.rates(pd.concat(results), "detected", by=[*KEYS, "loss"])


def after_loss(units: pd.DataFrame, lost: pd.Series) -> pd.DataFrame:
    """Return the units as if some rows of boxes had not been detected."""
    is_lost = units["row"].isin(lost)
    return units.assign(value=units["value"].mask(is_lost, 0))
