"""Select the attributes and classes that an audit of a detector compares."""

from collections.abc import Sequence

import numpy as np

from helpers.icon2.attributes import (
    Attribute,
    DetectionDataError,
    Frames,
    from_column,
)
from helpers.icon2.formats import OWN
from helpers.icon2.matching import Matches
from helpers.icon2.measures import FEWEST

MOST_CLASSES = 8  # classes that are compared by default
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
        if (number >= FEWEST).sum() > 1:
            attributes.append(attribute)
        else:
            left_out.append(f"{name}: fewer than two of its values have {FEWEST} boxes")
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
    enough = np.array(matches.classes)[number >= 2 * FEWEST]
    return list(wanted or enough[:MOST_CLASSES].tolist() or matches.classes[:1])
