"""Attributes: what is known of each image or each box, as codes into named values.

ICON2, section 3.3: size, occlusion, truncation, aspect ratio and crowding follow from the labels,
weather, scene and time of day from the files, contrast and illumination from the pixels. Any
column that a user adds to the images or boxes is an attribute as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.detection import Detections, GroundTruth

COCO_AREAS = {"small": 32**2, "medium": 96**2, "large": np.inf}  # upper bounds, pixels squared
ASPECTS = {"tall": 0.8, "square": 1.25, "wide": np.inf}  # upper bounds of width over height
CROWDS = {"1 to 4": 5, "5 to 14": 15, "15 or more": np.inf}  # boxes in the image, upper bounds


class AttributeDataError(ValueError):
    """An attribute cannot be made from what is given; the message says what is missing."""


@dataclass(frozen=True)
class Attribute:
    """One value for each image, or one for each box.

    Attributes
    ----------
    name : str
    values : tuple of str
    codes : int array (n images,) or (n boxes,)
        Place in `values`; -1 where the attribute is absent.
    level : str
        ``image`` or ``box``.
    of_detection : int array (n detections,), optional
        The same for detections, in their own order, for what a detection has too, such as a size:
        COCO's rule for false positives needs it.
    """

    name: str
    values: tuple[str, ...]
    codes: np.ndarray
    level: str
    of_detection: np.ndarray | None = None

    @property
    def absent(self) -> int:
        """How many images or boxes have no value."""
        return int((self.codes < 0).sum())


def from_column(
    truth: GroundTruth,
    column: str,
    *,
    name: str | None = None,
    values: Sequence | None = None,
) -> Attribute:
    """An attribute from a column of the images, or else of the boxes.

    Parameters
    ----------
    truth
    column
        A column of ``truth.images`` or ``truth.boxes``.
    name
        What to call it (default: the column's name).
    values
        Values in the order to show them; others count as absent. By default all that occur:
        in their own order for categories, sorted otherwise.

    Raises
    ------
    AttributeDataError
        When neither table has the column, or none of the values occurs.
    """
    for level, table in (("image", truth.images), ("box", truth.boxes)):
        if column in table:
            return _coded(name or column, table[column], values, level)
    known = [*truth.images.columns, *truth.boxes.columns]
    raise AttributeDataError(f"no column {column!r}; there are: {', '.join(map(str, known))}")


def _coded(name: str, column: pd.Series, values: Sequence | None, level: str) -> Attribute:
    if values is None and isinstance(column.dtype, pd.CategoricalDtype):
        values = list(column.cat.remove_unused_categories().cat.categories)
    if values is None:
        values = sorted(column.dropna().unique().tolist(), key=str)
    codes = pd.Index(list(values)).get_indexer(column.astype(object)).astype(np.int64)
    if not (codes >= 0).any():
        raise AttributeDataError(f"{name}: none of {list(values)} occurs in the column")
    return Attribute(name, tuple(map(str, values)), codes, level)


def binned(
    name: str, numbers: np.ndarray, bounds: dict[str, float], level: str, detections=None
) -> Attribute:
    """An attribute from numbers: each value's upper bound, the bound itself belonging to the next.

    NaN numbers have no value.
    """
    return Attribute(
        name,
        tuple(bounds),
        _bin(numbers, bounds),
        level,
        None if detections is None else _bin(detections, bounds),
    )


def _bin(numbers: np.ndarray, bounds: dict[str, float]) -> np.ndarray:
    codes = np.searchsorted(list(bounds.values()), numbers, side="right")
    return np.where(np.isnan(numbers) | (codes == len(bounds)), -1, codes)


def size(truth: GroundTruth, detections: Detections, areas: dict | None = None) -> Attribute:
    """Size of a box by its area (pixels squared); COCO's bounds by default.

    The paper does not print its bounds.
    """
    bounds = areas or COCO_AREAS
    return binned("size", _area(truth.boxes), bounds, "box", _area(detections.boxes))


def aspect(truth: GroundTruth, detections: Detections, bounds: dict | None = None) -> Attribute:
    """Aspect ratio of a box, width over height."""
    ratios = [_ratio(truth.boxes), _ratio(detections.boxes)]
    return binned("aspect", ratios[0], bounds or ASPECTS, "box", ratios[1])


def occlusion(truth: GroundTruth) -> Attribute:
    """Whether the label calls a box occluded."""
    return _flag(truth, "occluded", "occlusion", ("visible", "occluded"))


def truncation(truth: GroundTruth) -> Attribute:
    """Whether the label calls a box truncated, at the image's border."""
    return _flag(truth, "truncated", "truncation", ("whole", "truncated"))


def crowding(truth: GroundTruth, bounds: dict | None = None) -> Attribute:
    """How many labelled boxes, of any class, an image has."""
    number = np.bincount(truth.boxes.image, minlength=len(truth.images)).astype(float)
    return binned("crowding", np.where(number > 0, number, np.nan), bounds or CROWDS, "image")


def standard(truth: GroundTruth, detections: Detections) -> list[Attribute]:
    """The paper's five, as far as the labels have them: size, occlusion, time, scene, weather."""
    found = [size(truth, detections)]
    if "occluded" in truth.boxes:
        found.append(occlusion(truth))
    for column, name in (("timeofday", "time"), ("scene", "scene"), ("weather", "weather")):
        if column in truth.images:
            table = truth.images[column].replace("undefined", np.nan)
            found.append(_coded(name, table, None, "image"))
    return found


def report(attributes: Sequence[Attribute]) -> pd.DataFrame:
    """What each attribute counts: its values, and how many images or boxes have none."""
    return pd.DataFrame(
        {
            "attribute": a.name,
            "of": f"each {a.level}",
            "values": ", ".join(a.values),
            "known": int((a.codes >= 0).sum()),
            "absent": a.absent,
        }
        for a in attributes
    )


def _flag(truth: GroundTruth, column: str, name: str, values: tuple[str, str]) -> Attribute:
    if column not in truth.boxes:
        raise AttributeDataError(f"the boxes have no column {column!r}, which {name} needs")
    flag = truth.boxes[column]
    codes = np.where(flag.isna(), -1, flag.eq(True).astype(int))
    return Attribute(name, values, codes, "box")


def _area(boxes: pd.DataFrame) -> np.ndarray:
    return ((boxes.x2 - boxes.x1) * (boxes.y2 - boxes.y1)).to_numpy(float)


def _ratio(boxes: pd.DataFrame) -> np.ndarray:
    return ((boxes.x2 - boxes.x1) / (boxes.y2 - boxes.y1)).to_numpy(float)


def shares_by(truth: GroundTruth, one: Attribute, others: Sequence[Attribute]) -> pd.DataFrame:
    """How an attribute is spread over the boxes with each value of others.

    Parameters
    ----------
    truth
    one
        The attribute whose values are the columns.
    others
        The attributes whose values are the rows.

    Returns
    -------
    DataFrame
        Index ``attribute value``, a column for each value of `one`: its share among the boxes of
        the row, 0..1. Boxes without a value of either take no part.
    """
    image, rows = truth.boxes.image.to_numpy(), {}
    code = one.codes[image] if one.level == "image" else one.codes
    for other in others:
        of = other.codes[image] if other.level == "image" else other.codes
        for number, value in enumerate(other.values):
            counts = np.bincount(code[(of == number) & (code >= 0)], minlength=len(one.values))
            rows[other.name, value] = counts / max(counts.sum(), 1)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(one.values))
    table.index = pd.MultiIndex.from_tuples(rows, names=["attribute", "value"])
    return table
