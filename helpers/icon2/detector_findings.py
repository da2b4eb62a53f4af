"""Findings of a detector audit: gaps with box size held fixed, and the headline."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.icon2 import pooled_recall, size_fixed
from helpers.icon2.analysis import POINTS, Analysis
from helpers.icon2.attributes import Attribute
from helpers.icon2.compared import MOST
from helpers.icon2.group_gaps import (
    ALL,
    DEFINED,
    HOW,
    Null,
    group_ap,
    interval,
    spread,
)
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
    analyses: Mapping[str, Analysis],
    null: Null,
    area: np.ndarray | None,
    weights: np.ndarray,
) -> pd.DataFrame:
    """Compare the lowest and the highest group of each attribute and class.

    Parameters
    ----------
    classes : mapping
        The matches of each class that is compared, by its name.
    attributes, analyses
        The attributes, and the analysis of each by its name.
    null : Null
        What differs between random groups.
    area : array of shape (n boxes,), optional
        Area of each box in square pixels. Without it, box size is not held fixed.
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
    for number, attribute in enumerate(attributes):
        ap = group_ap(classes, attribute)
        complete = ~np.isnan(ap[1:]).any(1)
        every_deviation = null.deviations(spread(ap), number)
        for place, deviation in enumerate(every_deviation):
            if not np.isfinite(deviation):
                continue
            name = [ALL, *classes][place]
            used = [name]
            if name == ALL:
                used = np.array([*classes])[complete]
            resampled = analyses[attribute.name].with_mean()[name].group_ap
            row = {"attribute": attribute.name, "class": name}
            row |= _lowest_and_highest(attribute, ap[place], resampled)
            row |= {"deviations": deviation, "p": float(null.gap_p(deviation))}
            pair = row["lowest"], row["highest"]
            if area is None:
                lowest, highest = map(attribute.values.index, pair)
                remaining = resampled[:, highest] - resampled[:, lowest]
            else:
                remaining = _with_equal_sizes(
                    [classes[one] for one in used], attribute, pair, area, weights
                )
            row["remaining"] = POINTS * remaining[0]
            row["remaining_p"] = size_fixed.p_value(remaining)
            rows.append(row)
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["verdict"] = judged(table, null.gap_threshold)
    if area is None:
        table[["remaining", "remaining_p"]] = np.nan
    return table.sort_values("deviations", ascending=False, ignore_index=True)


def not_compared(
    names: Sequence[str], attributes: Sequence[Attribute], table: pd.DataFrame
) -> list[str]:
    """Name the classes without a row in a table of `gaps`, by attribute."""
    sentences = []
    for attribute in attributes:
        rows = table[table["attribute"] == attribute.name]
        left_out = [name for name in names if name not in set(rows["class"])]
        if left_out:
            sentences.append(
                f"{attribute.name}: the AP of {', '.join(left_out)} is not compared, "
                f"because fewer than two groups have {HOW.min_boxes} boxes, in the "
                f"data or in more than {1 - DEFINED:.0%} of the permutations."
            )
    return sentences


def _lowest_and_highest(
    attribute: Attribute, class_ap: np.ndarray, resampled: np.ndarray
) -> dict[str, str | float]:
    """Return the groups with the lowest and the highest AP of a row, and their gap."""
    lowest = np.nanargmin(class_ap)
    highest = np.nanargmax(class_ap)
    low, high = interval(resampled[:, highest] - resampled[:, lowest])
    return {
        "lowest": attribute.values[lowest],
        "highest": attribute.values[highest],
        "AP": POINTS * class_ap[lowest],
        "AP of highest": POINTS * class_ap[highest],
        "gap": POINTS * (class_ap[highest] - class_ap[lowest]),
        "low": low,
        "high": high,
    }


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
    if row["verdict"] in (BY_SIZE, UNCLEAR):
        text += _with_size_fixed(row)
    return text


def _with_size_fixed(row: Mapping) -> str:
    """Describe the remaining gap with box size held fixed, as the end of a sentence."""
    if np.isnan(row["remaining"]):
        return (
            ". The groups share too few boxes of the same size to hold box size fixed"
        )
    text = (
        f", and {row['remaining']:z.1f} points with box size held fixed "
        f"(p = {row['remaining_p']:.3f} before correction)"
    )
    if row["remaining"] < 0:
        text += f". AP is then higher for {row['lowest']}"
    return text


def class_headline(row: Mapping, cause: str) -> str:
    """Say in words for which group the detector is worse in a class."""
    text = (
        f"{row['class']}: worse where {row['attribute']} is {row['lowest']} than where "
        f"it is {row['highest']}: average precision {row['AP']:.1f} against "
        f"{row['AP of highest']:.1f}"
    )
    return f"{text}; {cause}." if cause else f"{text}."


def how_many(
    compared: Sequence[str], enough: Sequence[str], classes: Sequence[str]
) -> str:
    """Say how many of how many classes were, or could be, compared one by one.

    Parameters
    ----------
    compared
        The classes that were compared.
    enough
        The classes with enough boxes, of which the largest are compared.
    classes
        All classes.
    """
    if len(classes) == 1:
        return ""
    verb = "were" if len(compared) < len(enough) else "could be"
    text = f"{len(compared)} of {len(classes)} classes {verb} compared one by one"
    if len(compared) == MOST and len(enough) > MOST:
        return f"{text}, the largest of {len(enough)} with enough boxes."
    return f"{text}."


def headline(
    pooled: pd.DataFrame,
    of_class: str,
    counted: str,
    detectable: float,
) -> str:
    """Return the headline of a detector audit.

    Parameters
    ----------
    pooled : pandas.DataFrame
        A row for each attribute, from `pooled_recall.foremost`.
    of_class : str
        A sentence about the most significant gap of a single class; empty if there is
        none.
    counted : str
        How many classes were compared, from `how_many`.
    detectable : float
        Difference of recall (points) that is detected in four of five cases; NaN if not
        known.
    """
    rows = pooled.to_dict("records")
    significant = [row for row in rows if row["verdict"] == pooled_recall.FOUND]
    explainable = [row for row in rows if pooled_recall.is_open(row)]
    if significant:
        text = pooled_recall.sentence(significant[0])
    elif of_class:
        text = of_class
    elif explainable:
        below_a_point = any(row["verdict"] == pooled_recall.SMALL for row in rows)
        least = "of a point or more " if below_a_point else ""
        text = (
            f"No difference {least}between groups is significant at the same "
            f"{explainable[0]['fixed']}. {pooled_recall.sentence(explainable[0])}"
        )
    else:
        text = f"No group is found to be worse. {_power(detectable)}".strip()
    return f"{text} {counted}".strip()


def _power(detectable: float) -> str:
    """Say which difference of recall (points) would have been detected, if known."""
    if not np.isfinite(detectable):
        return ""
    if detectable > 100:
        return (
            "With this data, even the largest possible difference would often be "
            "missed."
        )
    least = max(math.ceil(detectable), 1)
    points = "1 point" if least == 1 else f"{least} points"
    return (
        f"Over all classes, a difference of {points} of recall would have been "
        "detected in four of five cases."
    )
