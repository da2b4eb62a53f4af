"""What a detector audit finds: gaps of single classes with size held fixed, and the headline."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers.icon2 import pooled_recall, size_fixed
from helpers.icon2.analysis import POINTS, Analysis
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.detector_audit import HOW, deviations, group_ap, interval, p_values, spread
from helpers.icon2.matching import ClassMatches

LEVEL = 0.05
SMALLEST_GAP = 1.0  # AP points
MOST = 8  # classes that are compared by default
LEAST_AP = 0.01  # AP at IoU .5, below which the files probably do not belong together
ALL = "all classes"
YES, NO, CLOSE = "yes", "no", "close: not told"
BY_SIZE, UNCLEAR, SMALL = "explained by size", "not separable from size", "below one point"
VERDICTS = {
    YES: pooled_recall.FOUND,
    NO: pooled_recall.NO_GAP,
    CLOSE: CLOSE,
    BY_SIZE: "explained by box size",
    UNCLEAR: "not separable from box size",
    SMALL: SMALL,
}
NOT_JUDGED = "not judged: check the files first"
COLUMNS = ["attribute", "class", "lowest", "highest", "AP", "AP of highest", "recall"]
COLUMNS += ["recall of highest", "gap", "low", "high", "deviations", "p", "left", "left_p", "told"]


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
        What chance gives, from `detector_audit.by_chance`.
    area : array of shape (n boxes,)
        Area of each box in square pixels.
    weights : array of shape (1 + resamples, n images)
        How often each image counts, the sample itself first.

    Returns
    -------
    pandas.DataFrame
        A row for each attribute and class, and one for the mean of all classes; the surest gap
        first. ``left`` is what is left of the gap with box size held fixed (AP points), ``left_p``
        its p value, and ``told`` one of the keys of `VERDICTS`.
    """
    rows = []
    for number, attribute in enumerate(attributes):
        ap = group_ap(classes, attribute)
        with_mean = analyses[attribute.name].with_mean() if classes else {}
        every_z = deviations(spread(ap), null, number)
        for place, (name, of_row, z) in enumerate(zip([ALL, *names], ap, every_z, strict=True)):
            if not np.isfinite(z):
                continue
            low, high = np.nanargmin(of_row), np.nanargmax(of_row)
            lowest, highest = attribute.values[low], attribute.values[high]
            resampled = with_mean[name].group_ap
            ends = interval(resampled[:, high] - resampled[:, low])
            chosen = _whole(classes, ap) if place == 0 else [classes[place - 1]]
            pair = lowest, highest
            left = [size_fixed.gap(one, attribute, *pair, area, weights, HOW) for one in chosen]
            left = np.mean(left, axis=0)
            row = {
                "attribute": attribute.name,
                "class": name,
                "lowest": lowest,
                "highest": highest,
                "AP": POINTS * of_row[low],
                "AP of highest": POINTS * of_row[high],
                "recall": recalls.get((attribute.name, name, lowest), np.nan),
                "recall of highest": recalls.get((attribute.name, name, highest), np.nan),
                "gap": POINTS * (of_row[high] - of_row[low]),
                "low": ends[0],
                "high": ends[1],
                "deviations": z,
                "p": float(p_values(z, null.most, null)),
                "left": POINTS * left[0],
                "left_p": size_fixed.p_value(left),
            }
            rows.append(row)
    table = pd.DataFrame(rows, columns=COLUMNS)
    told = judged(table, null.cut)
    table = table.assign(told=told)
    return table.sort_values("deviations", ascending=False, ignore_index=True)


def _whole(classes: Sequence[ClassMatches], ap: np.ndarray) -> list[ClassMatches]:
    """The classes in which every group has an AP."""
    return [one for one, row in zip(classes, ap[1:], strict=True) if not np.isnan(row).any()]


def judged(table: pd.DataFrame, cut: float) -> list[str]:
    """Say for each row whether the gap is a finding.

    A finding passes the cut, is at least one AP point, and is still above zero when the size of
    the boxes is held fixed. That second test is corrected (Bonferroni) for the number of rows
    that pass the cut.
    """
    wide = (table["deviations"] > cut) & (table["gap"] >= SMALLEST_GAP)
    told = []
    for row, is_wide in zip(table.to_dict("records"), wide, strict=True):
        if is_wide and row["left_p"] * wide.sum() <= LEVEL and row["left"] >= SMALLEST_GAP:
            told.append(YES)
        elif is_wide:
            told.append(BY_SIZE if row["left"] < row["gap"] / 2 else UNCLEAR)
        elif row["deviations"] > cut:
            told.append(SMALL)
        else:
            told.append(CLOSE if row["p"] <= 0.2 else NO)
    return told


def with_enough_boxes(frames: Frames, attributes: Sequence[Attribute], fewest: int) -> list[str]:
    """The classes in which two groups of an attribute have boxes enough to be compared."""
    boxes = frames.boxes[~frames.boxes["ignore"].to_numpy(bool)]
    enough = np.zeros(len(frames.classes), bool)
    for attribute in attributes:
        codes = attribute.of_boxes(frames.boxes["image"].to_numpy())[boxes.index]
        known = codes >= 0
        counts = np.zeros((len(frames.classes), len(attribute.values)), int)
        np.add.at(counts, (boxes["category"].to_numpy()[known], codes[known]), 1)
        enough |= (counts >= fewest).sum(1) > 1
    return [name for name, is_enough in zip(frames.classes, enough, strict=True) if is_enough]


def too_low(average_precision: Mapping[str, float]) -> list[str]:
    """A sentence if the detector finds almost nothing, so that nothing can be compared."""
    if not average_precision["IoU .5"] < LEAST_AP:
        return []
    return [
        f"The detector finds almost nothing: AP at IoU 0.5 is "
        f"{100 * average_precision['IoU .5']:.1f}. Check that image ids, class names and "
        "coordinates mean the same in both files. No groups are compared."
    ]


def sentence(row: Mapping) -> str:
    """Say in words what a row of `gaps` shows."""
    text = (
        f"{row['class']}, {row['attribute']}: AP {row['AP']:.1f} for {row['lowest']}, "
        f"{row['AP of highest']:.1f} for {row['highest']}; the gap is {row['gap']:z.1f} points "
        f"(95% {row['low']:z.1f} to {row['high']:z.1f})"
    )
    if row["told"] in (BY_SIZE, UNCLEAR):
        text += f", and {row['left']:z.1f} points with box size held fixed (not significant)"
    return text


def class_headline(row: Mapping, cause: str) -> str:
    """Say in words for which group a class is found worse."""
    text = (
        f"{row['class']}: worse where {row['attribute']} is {row['lowest']} than where it is "
        f"{row['highest']}: average precision {row['AP']:.1f} against {row['AP of highest']:.1f}"
    )
    return f"{text}; {cause}." if cause else f"{text}."


def how_many(compared: Sequence[str], enough: Sequence[str], classes: Sequence[str]) -> str:
    """Say how many of how many classes could be compared one by one.

    Parameters
    ----------
    compared
        The classes that were compared.
    enough
        The classes with boxes enough, of which the largest are compared.
    classes
        All classes.
    """
    if len(classes) == 1:
        return ""
    text = f"{len(compared)} of {len(classes)} classes could be compared one by one"
    if len(compared) == MOST and len(enough) > MOST:
        return f"{text}, the largest of {len(enough)} with enough boxes."
    return f"{text}."


def headline(
    pooled: pd.DataFrame, of_class: str, counted: str, doubts: Sequence[str], detectable: float
) -> tuple[str, list[str]]:
    """The headline of a detector audit, and the sentences that come right below it.

    Parameters
    ----------
    pooled : pandas.DataFrame
        A row for each attribute, from `pooled_recall.foremost`.
    of_class : str
        A sentence about the surest gap of a single class; empty where there is none.
    counted : str
        How many classes could be compared, from `how_many`.
    doubts
        Sentences that say why nothing can be compared; the first is the headline then.
    detectable : float
        Difference of recall (points) that is detected in four of five cases; NaN if not known.
    """
    if doubts:
        return doubts[0], list(doubts[1:])
    rows = pooled.to_dict("records")
    found = [pooled_recall.sentence(row) for row in rows if row["verdict"] == pooled_recall.FOUND]
    open_gaps = [
        pooled_recall.sentence(row)
        for row in rows
        if row["verdict"] in (pooled_recall.EXPLAINED, pooled_recall.UNCLEAR)
    ]
    findings = found + ([of_class] if of_class else [])
    if findings:
        first, *others = findings
        return f"{first} {counted}".strip(), others + open_gaps
    no_finding = "No group is found to be worse."
    if open_gaps:
        first, *others = open_gaps
        return f"{no_finding} {first} {counted}".strip(), others
    if np.isfinite(detectable):
        no_finding += (
            f" Over all classes, a difference of {max(detectable, 1):.0f} points of recall would "
            "have been detected in four of five cases."
        )
    return f"{no_finding} {counted}".strip(), []
