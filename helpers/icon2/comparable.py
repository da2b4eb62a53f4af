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
from helpers.icon2.measures import FEWEST

MOST_CLASSES = 8  # classes that are compared by default


def comparable(
    frames: Frames, wanted: Sequence[str] | None, cluster: str | None = None
) -> tuple[list[Attribute], list[str]]:
    """Select the attributes that have at least two values with enough boxes.

    Parameters
    ----------
    frames : Frames
    wanted : sequence of str, optional
        Names of columns, by default all columns of images and boxes.
    cluster : str, optional
        The column that says which images belong together, which is no attribute.

    Returns
    -------
    attributes : list of Attribute
    left_out : list of str
        A sentence for each other column.

    Raises
    ------
    DetectionDataError
        If a wanted column cannot be compared.
    """
    own = {*OWN, cluster}
    columns = [name for name in [*frames.images, *frames.boxes] if name not in own]
    boxes = frames.boxes[~frames.boxes["ignore"]]
    attributes = []
    left_out = []
    for name in dict.fromkeys(wanted or columns):
        try:
            attribute = from_column(frames, name)
            codes = attribute.of_boxes(boxes["image"], boxes.index)
            number = np.bincount(codes[codes >= 0])
            if (number >= FEWEST).sum() < 2:
                raise DetectionDataError(
                    f"{name} is not compared, because fewer than two of its values "
                    f"have {FEWEST} boxes."
                )
            attributes.append(attribute)
        except DetectionDataError as error:
            if wanted:
                raise
            left_out.append(str(error))
    return attributes, left_out


def classes_to_compare(frames: Frames, wanted: Sequence[str] | None) -> list[str]:
    """Return the wanted classes, or up to eight with enough boxes, most boxes first.

    Raises
    ------
    DetectionDataError
        If a wanted class has no label.
    """
    unknown = set(wanted or ()) - set(frames.classes)
    if unknown:
        raise DetectionDataError(
            f"There is no labelled class {min(unknown)!r}. The classes are: "
            f"{', '.join(frames.classes)}."
        )
    category = frames.boxes["category"][~frames.boxes["ignore"]]
    n_enough = (category.value_counts() >= 2 * FEWEST).sum()
    number = max(1, min(n_enough, MOST_CLASSES))
    return list(wanted or frames.classes[:number])  # most boxes first
