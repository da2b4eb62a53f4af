"""Select the classes and attributes that an audit compares, and explain gaps."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.icon2 import verdicts
from helpers.icon2.analysis import POINTS, analyse
from helpers.icon2.attributes import Attribute, Frames, from_column
from helpers.icon2.average_precision import evaluate
from helpers.icon2.file_checks import DetectionDataError
from helpers.icon2.group_gaps import interval
from helpers.icon2.matching import Matches
from helpers.icon2.reading import OWN
from helpers.icon2.size_fixed import HOW

MOST = 8  # classes that are compared by default
VIDEO = "video"  # it says which images belong together


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
    own = {*OWN, VIDEO}
    columns = [name for name in [*frames.images, *frames.boxes] if name not in own]
    unknown = set(wanted or ()) - set(columns)
    if unknown:
        raise DetectionDataError(
            f"There is no attribute {min(unknown)!r}. The attributes are: "
            f"{', '.join(columns) or 'none'}."
        )
    boxes = frames.boxes[~frames.boxes["ignore"].astype(bool)]
    attributes = []
    left_out = []
    for name in dict.fromkeys(wanted or columns):
        try:
            attribute = from_column(frames, name)
        except DetectionDataError as error:
            left_out.append(str(error))
            continue
        codes = attribute.of_boxes(boxes["image"].to_numpy(), boxes.index.to_numpy())
        number = np.bincount(codes[codes >= 0])
        if (number >= HOW.min_boxes).sum() > 1:
            attributes.append(attribute)
        else:
            left_out.append(
                f"{name}: fewer than two of its values have {HOW.min_boxes} boxes"
            )
    return attributes, left_out


def classes_to_compare(matches: Matches, wanted: Sequence[str] | None) -> list[str]:
    """Return the wanted classes, or the eight with most boxes of those with enough.

    Raises
    ------
    DetectionDataError
        If a wanted class has no label.
    """
    unknown = set(wanted or ()) - set(matches.classes)
    if unknown:
        raise DetectionDataError(
            f"There is no labelled class {min(unknown)!r}. The classes are: "
            f"{', '.join(matches.classes[:20])}."
        )
    category = matches.boxes["category"][~matches.boxes["ignore"]]
    number = category.value_counts().reindex(range(len(matches.classes)), fill_value=0)
    enough = np.array(matches.classes)[number >= 2 * HOW.min_boxes]
    return list(wanted or enough[:MOST].tolist() or matches.classes[:1])


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
        its ``fall`` with a 95% interval if all groups have the same mix of the
        candidate's values, and what is ``remaining``.
    """
    attribute = _with_enough_boxes(attribute, matches.of(name))
    others = [one for one in candidates if one.name != attribute.name]
    analysis = analyse(matches, attribute, others, classes=[name], options=HOW, **how)
    estimate = analysis.estimates[name]
    lowest = np.nanargmin(estimate.group_ap[0])
    highest = np.nanargmax(estimate.group_ap[0])
    gap = estimate.group_ap[:, highest] - estimate.group_ap[:, lowest]
    table = verdicts.table(analysis).rename(columns={"attribute": "candidate"})
    table.insert(0, "attribute", attribute.name)
    table.insert(3, "gap", POINTS * gap[0])
    standardised = [estimate.parts[name].standardised for name in table["candidate"]]
    remaining = [ap[:, highest] - ap[:, lowest] for ap in standardised]
    fall = (gap - remaining).T
    table["fall"] = POINTS * fall[0]
    table["fall_low"], table["fall_high"] = interval(fall)
    table["remaining"] = table["gap"] - table["fall"]
    return table


def _with_enough_boxes(attribute: Attribute, of_class: Matches) -> Attribute:
    """Keep the values of an attribute that have enough boxes in a class."""
    each_once = np.ones((1, of_class.n_images))
    _, boxes = evaluate(of_class, [attribute], each_once, HOW)
    kept = np.flatnonzero(boxes[0] >= HOW.min_boxes)
    new_code = np.full(len(attribute.values) + 1, -1)  # the last is for code -1
    new_code[kept] = np.arange(len(kept))
    values = tuple(attribute.values[number] for number in kept)
    return replace(attribute, values=values, codes=new_code[attribute.codes])
