"""Compare AP with box size held fixed, and write the headline of a detector audit."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.icon2 import pooled_recall, size_fixed
from helpers.icon2.analysis import POINTS
from helpers.icon2.attributes import Attribute
from helpers.icon2.group_gaps import ALL, HOW, Null, interval, spread
from helpers.icon2.matching import ClassMatches

LEVEL = 0.05
SMALLEST_GAP = 1.0  # AP points
LEAST_AP = 0.01  # AP at IoU 0.5, below which the files probably do not belong together
YES = pooled_recall.FOUND
NO = pooled_recall.NO_GAP
BY_SIZE = "explained by box size"
UNCLEAR = "not separable from box size"
SMALL = "below one point"
NOT_JUDGED = "not judged: check the files first"
COLUMNS = [
    "attribute",
    "class",
    "lowest",
    "highest",
    "AP",
    "AP of highest",
    "gap",
    "low",
    "high",
    "deviations",
    "p",
    "remaining",
    "remaining_p",
]


def gaps(
    classes: Mapping[str, ClassMatches],
    attributes: Sequence[Attribute],
    every_ap: Sequence[np.ndarray],
    null: Null,
    area: np.ndarray,
    weights: np.ndarray,
) -> pd.DataFrame:
    """Compare the lowest and the highest group of each attribute and class.

    Parameters
    ----------
    classes : mapping
        The matches of each class that is compared, by its name.
    attributes : sequence of Attribute
    every_ap : sequence of array
        From `group_gaps.group_ap`, one per attribute, with resamples.
    null : Null
        What differs between random groups.
    area : array of shape (n boxes,)
        Area of each box in square pixels.
    weights : array of shape (1 + resamples, n images)
        How often each image counts, the sample itself first.

    Returns
    -------
    pandas.DataFrame
        One row per attribute and class, and one for the mean of all classes, the
        largest deviation first. ``gap`` (AP points) is the difference of AP, and
        ``remaining`` what is left of it with box size held fixed. ``verdict`` is
        explained in `judged`.
    """
    rows = []
    for number, (attribute, ap) in enumerate(zip(attributes, every_ap, strict=True)):
        is_complete = np.isfinite(ap[0, 1:]).all(1)
        complete = np.array([*classes])[is_complete]
        deviations = null.deviations(spread(ap[0]), number)
        for place, name in enumerate([ALL, *classes]):
            if np.isnan(deviations[place]):
                continue
            of_class = ap[:, place]
            lowest = np.nanargmin(of_class[0])
            highest = np.nanargmax(of_class[0])
            gap = of_class[:, highest] - of_class[:, lowest]
            low, high = interval(gap)
            row = {
                "attribute": attribute.name,
                "class": name,
                "lowest": attribute.values[lowest],
                "highest": attribute.values[highest],
                "AP": POINTS * of_class[0, lowest],
                "AP of highest": POINTS * of_class[0, highest],
                "gap": POINTS * gap[0],
                "low": low,
                "high": high,
                "deviations": deviations[place],
                "p": float(null.gap_p(deviations[place])),
            }
            used = complete if name == ALL else [name]
            pair = row["lowest"], row["highest"]
            remaining = _with_equal_sizes(
                [classes[one] for one in used], attribute, pair, area, weights
            )
            row["remaining"] = POINTS * remaining[0]
            row["remaining_p"] = size_fixed.p_value(remaining)
            rows.append(row)
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["verdict"] = judged(table, null.gap_threshold)
    return table.sort_values("deviations", ascending=False, ignore_index=True)


def _with_equal_sizes(
    classes: Sequence[ClassMatches],
    attribute: Attribute,
    pair: tuple[str, str],
    area: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Return the gap between two groups with box size held fixed (1 + resamples,).

    It is the mean of the classes in which the groups share sizes, NaN where they do in
    none.
    """
    known = []
    for of_class in classes:
        gap = size_fixed.gap(of_class, attribute, *pair, area, weights, HOW)
        if np.isfinite(gap[0]):
            known.append(gap)
    if not known:
        return np.full(len(weights), np.nan)
    return np.ma.masked_invalid(known).mean(0).filled(np.nan)


def judged(table: pd.DataFrame, threshold: float) -> list[str]:
    """Return the verdict on each row.

    A significant gap exceeds the threshold, is at least one AP point, and is still
    above zero when the size of the boxes is held fixed. That second test is adjusted
    (Bonferroni) for the number of rows that exceed the threshold.
    """
    exceeds = table["deviations"] > threshold
    wide = exceeds & (table["gap"] >= SMALLEST_GAP)
    significant = table["remaining_p"] * wide.sum() <= LEVEL
    significant &= table["remaining"] >= SMALLEST_GAP
    small_rest = table["remaining"] < table["gap"] / 2
    verdicts = np.select(
        [wide & significant, wide & small_rest, wide, exceeds],
        [YES, BY_SIZE, UNCLEAR, SMALL],
        NO,
    )
    return verdicts.tolist()


def too_low(average_precision: Mapping[str, float]) -> list[str]:
    """Return a sentence if the detector detects almost nothing."""
    if not average_precision["IoU 0.5"] < LEAST_AP:
        return []
    return [
        f"The detector finds almost nothing: AP at IoU 0.5 is "
        f"{100 * average_precision['IoU 0.5']:.1f}%. Check that image ids, class names "
        "and coordinates mean the same in both files. No groups are compared."
    ]


def sentence(row: Mapping) -> str:
    """Say in words what a row of `gaps` shows."""
    text = (
        f"{row['class']}, {row['attribute']}: AP {row['AP']:.1f} for {row['lowest']}, "
        f"{row['AP of highest']:.1f} for {row['highest']}; the gap is "
        f"{row['gap']:z.1f} points (95% CI {row['low']:z.1f} to {row['high']:z.1f})"
    )
    if row["verdict"] in (BY_SIZE, UNCLEAR) and np.isfinite(row["remaining"]):
        text += f", of which {row['remaining']:z.1f} remain with box size held fixed"
    return text


def class_headline(row: Mapping, cause: str) -> str:
    """Say in words for which group the detector is worse in a class."""
    text = (
        f"{row['class']}: worse where {row['attribute']} is {row['lowest']} than where "
        f"it is {row['highest']}: average precision {row['AP']:.1f} against "
        f"{row['AP of highest']:.1f}"
    )
    return f"{text}; {cause}." if cause else f"{text}."


def headline(first: Mapping, of_class: str, detectable: float) -> str:
    """Return the most important finding of a detector audit.

    Parameters
    ----------
    first : mapping
        The first row of `pooled_recall.foremost`.
    of_class : str
        A sentence about the most significant gap of a single class; empty if there is
        none.
    detectable : float
        Difference of recall (points) that is detected in four of five cases; NaN if not
        known.
    """
    if first["verdict"] == pooled_recall.FOUND:
        return pooled_recall.sentence(first)
    if of_class:
        return of_class
    if first["verdict"] in pooled_recall.OPEN:
        return (
            "No difference of a point or more between groups is significant at the "
            f"same {first['fixed']}. {pooled_recall.sentence(first)}"
        )
    if detectable <= 100:
        return (
            "No group is found to be worse. Over all classes, a difference of "
            f"{max(detectable, 1):.1f} points of recall would have been detected in "
            "four of five cases."
        )
    return (
        "No group is found to be worse. With this data, even the largest possible "
        "difference would often be missed."
    )
