"""Findings of a detector audit: gaps of single classes with size held fixed, and the headline."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.icon2 import pooled_recall, size_fixed
from helpers.icon2.analysis import POINTS, Analysis
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.detector_audit import (
    HOW,
    deviations,
    group_ap,
    interval,
    p_values,
    spread,
)
from helpers.icon2.matching import ClassMatches

LEVEL = 0.05
SMALLEST_GAP = 1.0  # AP points
MOST = 8  # classes that are compared by default
LEAST_AP = 0.01  # AP at IoU 0.5, below which the files probably do not belong together
ALL = "all classes"
YES, NO = pooled_recall.FOUND, pooled_recall.NO_GAP
BY_SIZE, UNCLEAR, SMALL = (
    "explained by box size",
    "not separable from box size",
    "below one point",
)
NOT_JUDGED = "not judged: check the files first"
COLUMNS = ["attribute", "class", "lowest", "highest", "AP", "AP of highest", "recall"]
COLUMNS += [
    "recall of highest",
    "gap",
    "low",
    "high",
    "deviations",
    "p",
    "remaining",
    "remaining_p",
    "verdict",
]


def gaps(
    classes: Sequence[ClassMatches],
    names: Sequence[str],
    attributes: Sequence[Attribute],
    analyses: Mapping[str, Analysis],
    recalls: Mapping[tuple[str, str, str], float],
    null,
    area: np.ndarray,
    weights: np.ndarray,
) -> pd.DataFrame:
    """Compare the lowest and the highest group of each attribute and class in average precision.

    Parameters
    ----------
    classes, names
        The matches and names of the classes that are compared.
    attributes, analyses
        The attributes, and the analysis of each by its name.
    recalls
        Recall in percent by attribute, class and value.
    null
        The null distribution, from `detector_audit.by_chance`.
    area : array of shape (n boxes,)
        Area of each box in square pixels.
    weights : array of shape (1 + resamples, n images)
        How often each image counts, the sample itself first.

    Returns
    -------
    pandas.DataFrame
        One row per attribute and class, and one for the mean of all classes, the largest deviation
        first. ``remaining`` is the gap with box size held fixed (AP points), and ``remaining_p`` its
        p value. ``verdict`` is explained in `judged`.
    """
    rows = []
    for number, attribute in enumerate(attributes):
        ap = group_ap(classes, attribute)
        with_mean = analyses[attribute.name].with_mean() if classes else {}
        every_z = deviations(spread(ap), null, number)
        for place, (name, class_ap, z) in enumerate(
            zip([ALL, *names], ap, every_z, strict=True)
        ):
            if not np.isfinite(z):
                continue
            classes_in_row = _whole(classes, ap) if place == 0 else [classes[place - 1]]
            row = {"attribute": attribute.name, "class": name}
            row |= _lowest_and_highest(attribute, class_ap, with_mean[name].group_ap)
            for column, group in {
                "recall": "lowest",
                "recall of highest": "highest",
            }.items():
                row[column] = recalls.get((attribute.name, name, row[group]), np.nan)
            row["deviations"] = z
            row["p"] = float(p_values(z, null.most, null))
            pair = row["lowest"], row["highest"]
            remaining = _with_equal_sizes(
                classes_in_row, attribute, pair, area, weights
            )
            row["remaining"] = POINTS * remaining[0]
            row["remaining_p"] = size_fixed.p_value(remaining)
            rows.append(row)
    table = pd.DataFrame(rows, columns=COLUMNS)
    table = table.assign(verdict=judged(table, null.cut))
    return table.sort_values("deviations", ascending=False, ignore_index=True)


def _lowest_and_highest(
    attribute: Attribute, class_ap: np.ndarray, resampled: np.ndarray
) -> dict[str, str | float]:
    """Return the groups with the lowest and the highest AP of a row, and their gap."""
    low, high = np.nanargmin(class_ap), np.nanargmax(class_ap)
    ci = interval(resampled[:, high] - resampled[:, low])
    return {
        "lowest": attribute.values[low],
        "highest": attribute.values[high],
        "AP": POINTS * class_ap[low],
        "AP of highest": POINTS * class_ap[high],
        "gap": POINTS * (class_ap[high] - class_ap[low]),
        "low": ci[0],
        "high": ci[1],
    }


def _with_equal_sizes(
    classes: Sequence[ClassMatches],
    attribute: Attribute,
    pair: tuple[str, str],
    area: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Return the gap between two groups with box size held fixed, shape (1 + resamples,).

    It is the mean of the classes in which the groups share sizes, NaN where they do in none.
    """
    by_class = [
        size_fixed.gap(one, attribute, *pair, area, weights, HOW) for one in classes
    ]
    known = [gap for gap in by_class if np.isfinite(gap[0])]
    if not known:
        return np.full(len(weights), np.nan)
    return np.ma.masked_invalid(known).mean(0).filled(np.nan)


def _whole(classes: Sequence[ClassMatches], ap: np.ndarray) -> list[ClassMatches]:
    """Return the classes in which every group has an AP."""
    return [
        one for one, row in zip(classes, ap[1:], strict=True) if not np.isnan(row).any()
    ]


def judged(table: pd.DataFrame, cut: float) -> list[str]:
    """Return the verdict on each row.

    A significant gap exceeds the threshold `cut`, is at least one AP point, and is still above zero
    when the size of the boxes is held fixed. That second test is adjusted (Bonferroni) for the
    number of rows that exceed the threshold.
    """
    wide = (table["deviations"] > cut) & (table["gap"] >= SMALLEST_GAP)
    verdicts = []
    for row, is_wide in zip(table.to_dict("records"), wide, strict=True):
        if (
            is_wide
            and row["remaining_p"] * wide.sum() <= LEVEL
            and row["remaining"] >= SMALLEST_GAP
        ):
            verdicts.append(YES)
        elif is_wide:
            verdicts.append(BY_SIZE if row["remaining"] < row["gap"] / 2 else UNCLEAR)
        elif row["deviations"] > cut:
            verdicts.append(SMALL)
        else:
            verdicts.append(NO)
    return verdicts


def with_enough_boxes(
    frames: Frames, attributes: Sequence[Attribute], fewest: int
) -> list[str]:
    """Return the classes in which two groups of an attribute have enough boxes to be compared."""
    boxes = frames.boxes[~frames.boxes["ignore"].to_numpy(bool)]
    enough = np.zeros(len(frames.classes), bool)
    for attribute in attributes:
        codes = attribute.of_boxes(frames.boxes["image"].to_numpy())[boxes.index]
        known = codes >= 0
        counts = np.zeros((len(frames.classes), len(attribute.values)), int)
        np.add.at(counts, (boxes["category"].to_numpy()[known], codes[known]), 1)
        enough |= (counts >= fewest).sum(1) > 1
    return [
        name
        for name, is_enough in zip(frames.classes, enough, strict=True)
        if is_enough
    ]


def too_low(average_precision: Mapping[str, float]) -> list[str]:
    """Return a sentence if the detector detects almost nothing."""
    if not average_precision["IoU 0.5"] < LEAST_AP:
        return []
    return [
        f"The detector finds almost nothing: AP at IoU 0.5 is "
        f"{100 * average_precision['IoU 0.5']:.1f}%. Check that image ids, class names and "
        "coordinates mean the same in both files. No groups are compared."
    ]


def sentence(row: Mapping) -> str:
    """Say in words what a row of `gaps` shows."""
    text = (
        f"{row['class']}, {row['attribute']}: AP {row['AP']:.1f} for {row['lowest']}, "
        f"{row['AP of highest']:.1f} for {row['highest']}; the gap is {row['gap']:z.1f} points "
        f"(95% CI {row['low']:z.1f} to {row['high']:z.1f})"
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
        f"{row['class']}: worse where {row['attribute']} is {row['lowest']} than where it is "
        f"{row['highest']}: average precision {row['AP']:.1f} against {row['AP of highest']:.1f}"
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
    doubts: Sequence[str],
    detectable: float,
) -> tuple[str, list[str]]:
    """Return the headline of a detector audit, and the sentences below it.

    Parameters
    ----------
    pooled : pandas.DataFrame
        A row for each attribute, from `pooled_recall.foremost`.
    of_class : str
        A sentence about the most significant gap of a single class; empty if there is none.
    counted : str
        How many classes were compared, from `how_many`.
    doubts
        Sentences that say why nothing can be compared; the first is the headline then.
    detectable : float
        Difference of recall (points) that is detected in four of five cases; NaN if not known.
    """
    if doubts:
        return doubts[0], list(doubts[1:])
    rows = pooled.to_dict("records")
    found = [
        pooled_recall.sentence(row)
        for row in rows
        if row["verdict"] == pooled_recall.FOUND
    ]
    open_gaps = [
        pooled_recall.sentence(row) for row in rows if pooled_recall.is_open(row)
    ]
    findings = found + ([of_class] if of_class else [])
    if findings:
        first, *others = findings
        return f"{first} {counted}".strip(), others + open_gaps
    if open_gaps:
        below_a_point = any(row["verdict"] == pooled_recall.SMALL for row in rows)
        least = "of a point or more " if below_a_point else ""
        no_finding = f"No difference {least}between groups is significant at the same class and size."
        first, *others = open_gaps
        return f"{no_finding} {first} {counted}".strip(), others
    no_finding = f"No group is found to be worse. {_power(detectable)}".strip()
    return f"{no_finding} {counted}".strip(), []


def _power(detectable: float) -> str:
    """Say which difference of recall (points) would have been detected; empty if not known."""
    if not np.isfinite(detectable):
        return ""
    if detectable > 100:
        return "With this data, even the largest possible difference would often be missed."
    least = max(math.ceil(detectable), 1)
    points = "1 point" if least == 1 else f"{least} points"
    return (
        f"Over all classes, a difference of {points} of recall would have been detected in four "
        "of five cases."
    )
