"""Select the classes, groups and candidate explanations that an audit compares."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.icon2 import verdicts
from helpers.icon2.analysis import POINTS, analyse
from helpers.icon2.attributes import Attribute, Frames, from_column
from helpers.icon2.file_checks import DetectionDataError
from helpers.icon2.formulas import EXPLAINS, IN_PART
from helpers.icon2.group_gaps import HOW, interval
from helpers.icon2.matching import ClassMatches, Matches
from helpers.icon2.reading import OWN

MOST = 8  # classes that are compared by default
VIDEO = "video"  # it says which images belong together
NUMBERS = ("fall", "remaining")


def comparable(
    frames: Frames, wanted: Sequence[str] | None
) -> tuple[list[Attribute], list[str]]:
    """Select the attributes that have two values with enough boxes.

    Parameters
    ----------
    frames : Frames
    wanted : sequence of str, optional
        Names of columns, by default all columns of images and boxes.

    Returns
    -------
    attributes : list of Attribute
    left_out : list of str
        A sentence for each other column.

    Raises
    ------
    DetectionDataError
        If a wanted column is missing.
    """
    columns = [*frames.images, *frames.boxes]
    columns = [name for name in columns if name not in OWN and name != VIDEO]
    unknown = set(wanted or ()) - set(columns)
    if unknown:
        raise DetectionDataError(
            f"There is no attribute {min(unknown)!r}. The attributes are: "
            f"{', '.join(columns) or 'none'}."
        )
    attributes = []
    left_out = []
    for name in dict.fromkeys(wanted or columns):
        try:
            attribute = from_column(frames, name)
        except DetectionDataError as error:
            left_out.append(str(error))
            continue
        if (boxes_by_value(frames, attribute) >= HOW.min_boxes).sum() > 1:
            attributes.append(attribute)
        else:
            left_out.append(
                f"{name}: fewer than two of its values have {HOW.min_boxes} boxes"
            )
    return attributes, left_out


def boxes_by_value(frames: Frames, attribute: Attribute) -> np.ndarray:
    """Count the boxes that have to be detected, by the value of an attribute."""
    boxes = frames.boxes
    codes = attribute.of_boxes(boxes["image"].to_numpy(), boxes.index.to_numpy())
    counted = (codes >= 0) & ~boxes["ignore"].to_numpy(bool)
    return np.bincount(codes[counted], minlength=len(attribute.values))


def classes_to_compare(matches: Matches, wanted: Sequence[str] | None) -> list[str]:
    """Return the wanted classes, or the eight with most boxes of those with enough.

    Raises
    ------
    DetectionDataError
        If a wanted class has no label.
    """
    unknown = [name for name in wanted or () if name not in matches.classes]
    if unknown:
        raise DetectionDataError(
            f"There is no labelled class {unknown[0]!r}. The classes are: "
            f"{', '.join(matches.classes[:20])}."
        )
    if wanted:
        return list(wanted)
    category = matches.boxes["category"][~matches.boxes["ignore"]]
    counts = np.bincount(category, minlength=len(matches.classes))
    enough = np.flatnonzero(counts >= 2 * HOW.min_boxes)
    names = [matches.classes[number] for number in enough]
    return names[:MOST] or list(matches.classes[:1])


def values_table(frames: Frames, attributes: Sequence[Attribute]) -> pd.DataFrame:
    """List the values of each attribute, with their numbers of boxes.

    ``from`` and ``to`` are the numbers behind the thirds of a column of numbers.
    """
    tables = []
    for attribute in attributes:
        table = pd.DataFrame(
            {
                "attribute": attribute.name,
                "group": attribute.values,
                "boxes": boxes_by_value(frames, attribute),
            }
        )
        source = frames.images if attribute.level == "image" else frames.boxes
        column = source.get(attribute.name)
        if column is not None and pd.api.types.is_numeric_dtype(column):
            by_value = column.groupby(attribute.codes)
            table["from"] = by_value.min().reindex(table.index)
            table["to"] = by_value.max().reindex(table.index)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def explained(
    matches: Matches,
    attribute: Attribute,
    name: str,
    candidates: Sequence[Attribute],
    **how,
) -> pd.DataFrame:
    """Apply both rules of ICON2 to each candidate as an explanation of a gap.

    Parameters
    ----------
    matches : Matches
    attribute : Attribute
        Whose gap in a class is to be explained.
    name : str
        The class.
    candidates : sequence of Attribute
        Each is tried alone.
    **how
        Arguments of `analyse`.

    Returns
    -------
    pandas.DataFrame
        One row per candidate with the verdict of each rule, the ``gap`` (AP points),
        its ``fall`` if all groups have the same mix of the candidate's values, and what
        is ``remaining``, with 95% intervals. Empty if no candidate varies.
    """
    of_class = matches.of(name)
    attribute = _with_enough_boxes(attribute, of_class)
    others = []
    for candidate in candidates:
        kept = _with_enough_boxes(candidate, of_class)
        if len(kept.values) > 1 and kept.name != attribute.name:
            others.append(kept)
    if not others:
        return pd.DataFrame()
    analysis = analyse(matches, attribute, others, classes=[name], **how)
    estimate = analysis.estimates[name]
    lowest = np.nanargmin(estimate.group_ap[0])
    highest = np.nanargmax(estimate.group_ap[0])
    gap = estimate.group_ap[:, highest] - estimate.group_ap[:, lowest]
    table = verdicts.table(analysis)
    rows = []
    for candidate in table["attribute"]:
        standardised = estimate.parts[candidate].standardised
        remaining = standardised[:, highest] - standardised[:, lowest]
        row = {}
        for column, values in zip(NUMBERS, (gap - remaining, remaining), strict=True):
            row[column] = POINTS * values[0]
            row[f"{column}_low"], row[f"{column}_high"] = interval(values)
        rows.append(row)
    table = table.rename(columns={"attribute": "candidate"})
    table.insert(0, "attribute", attribute.name)
    table.insert(3, "gap", POINTS * gap[0])
    return pd.concat([table, pd.DataFrame(rows)], axis=1)


def _with_enough_boxes(attribute: Attribute, of_class: ClassMatches) -> Attribute:
    """Keep the values of an attribute that have enough boxes in a class."""
    kept = np.flatnonzero(of_class.count(attribute) >= HOW.min_boxes)
    new_code = np.full(len(attribute.values) + 1, -1)  # the last is for code -1
    new_code[kept] = np.arange(len(kept))
    values = tuple(attribute.values[number] for number in kept)
    return replace(attribute, values=values, codes=new_code[attribute.codes])


def best_explanation(explanations: pd.DataFrame) -> str:
    """Say which candidate leaves least of a gap, of those that explain a part of it."""
    if explanations.empty:
        return "no candidate explanation could be tried"
    is_part = explanations[verdicts.SUITE_RULE].isin([EXPLAINS, IN_PART])
    if not is_part.any():
        return "no candidate significantly explains a part of it"
    row = explanations[is_part].sort_values("remaining", key=abs).iloc[0]
    candidate = row["candidate"]
    if candidate == "size":
        candidate = "size in three classes"  # the gaps hold size fixed in finer strata
    return (
        f"{candidate} explains {row['fall']:.1f} of {row['gap']:.1f} points "
        f"(95% CI {row['fall_low']:.1f} to {row['fall_high']:.1f})"
    )
