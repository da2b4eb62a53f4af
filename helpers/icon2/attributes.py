"""Frames, and attributes of each image or box (section 3.3), as codes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from helpers.icon2.bdd100k import SIZE
from helpers.icon2.file_checks import DetectionDataError

OF_PAPER = {  # the paper's five, and the column that each is made from
    "size": "x1",
    "occlusion": "occluded",
    "time": "timeofday",
    "scene": "scene",
    "weather": "weather",
}
# Upper bounds of the area in square pixels, as in COCO; the paper does not print its
# own. A box of exactly 32 x 32 pixels is medium here, where COCO's evaluator counts it
# as small and as medium. They are for frames as wide as BDD100K's, and scaled for
# others.
SIZES = {"small": 32**2, "medium": 96**2, "large": np.inf}
OTHERS = (
    "crowds",
    "aspect",
    "contrast",
)  # further ones of section 3.3; the last is a column
DISTINCT = 6  # numbers with more distinct values are cut into thirds
MOST = 50  # values of an attribute
OCCLUDED = dict.fromkeys(("false", "0", "0.0"), "visible")
OCCLUDED |= dict.fromkeys(("true", "1", "1.0"), "occluded")


@dataclass(frozen=True)
class Frames:
    """Frames, their boxes and detections as tables.

    The `report` says what was read or left out, and `warnings` have to be checked
    first. Tables have the columns ``image category x1 y1 x2 y2`` (numbers, pixels);
    boxes also ``ignore``, detections ``score``. All other columns of images and boxes
    are attributes, NaN where absent.
    """

    images: pd.DataFrame
    boxes: pd.DataFrame
    detections: pd.DataFrame
    classes: tuple[str, ...]
    report: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def attribute(self, name: str) -> Attribute:
        """Return a sensitive attribute by the name of its column."""
        attribute = from_column(self, name)
        if len(attribute.values) < 2:
            raise DetectionDataError(
                f"The sensitive attribute {name!r} has one value only, "
                f"{attribute.values[0]!r}, so there are no groups to compare. Set "
                "'sensitive' to another column."
            )
        return attribute

    def clusters(self, name: str | None) -> np.ndarray | None:
        """Return the column that says which images belong together, or None."""
        if name is None:
            return None
        column = self.images.get(name, pd.Series(None, self.images.index))
        if column.isna().any() or column.nunique() < 2:
            raise DetectionDataError(
                f"The column {name!r} of 'cluster' has {column.nunique():,} different "
                f"values, and {column.isna().sum():,} of {len(column):,} images have "
                "none. Name a column of the images with a value in each, such as "
                "'video'."
            )
        return column.astype(str).to_numpy()

    def explanatory(
        self, sensitive: str, further: Sequence[str] | None = None
    ) -> list[Attribute]:
        """Return the paper's five attributes except the sensitive one.

        Then come `further` columns and, where the frames allow it, crowds, aspect and
        contrast of section 3.3.
        """
        known = [*self.images, *self.boxes]
        five = [name for name, column in OF_PAPER.items() if column in known]
        names = dict.fromkeys([*five, *(further or ())])
        attributes = [
            made(self, n) for n in names if sensitive not in (n, OF_PAPER.get(n))
        ]
        for name in OTHERS:
            with suppress(
                DetectionDataError
            ):  # no column, or too few different numbers
                attributes += (
                    [made(self, name)] if name not in (sensitive, *names) else []
                )
        return attributes


@dataclass(frozen=True)
class Attribute:
    """One value for each image, or one for each box."""

    name: str
    values: tuple[str, ...]
    codes: (
        np.ndarray
    )  # of each image or box: place in `values`, -1 where the attribute is absent
    level: str  # image or box
    of_detection: np.ndarray | None = (
        None  # for COCO's rule: the size of each detection
    )

    def of_boxes(self, image: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Return the code of each box, given the number of its image and its row."""
        return self.codes[image if self.level == "image" else row]


def made(frames: Frames, name: str) -> Attribute:
    """Return an attribute of the paper by its name, or an attribute from a column.

    ``crowds`` are thirds of the frames by their boxes, ``aspect`` thirds of a class's
    boxes.
    """
    images, boxes = frames.images, frames.boxes
    if name == "crowds" and name not in images:
        number = np.bincount(boxes["image"][~boxes["ignore"]], minlength=len(images))
        return from_column(replace(frames, images=images.assign(crowds=number)), name)
    if name == "aspect" and name not in boxes:
        ratio = (boxes["x2"] - boxes["x1"]) / (boxes["y2"] - boxes["y1"])
        place = ratio.groupby(boxes["category"]).rank(pct=True)
        return from_column(replace(frames, boxes=boxes.assign(aspect=place)), name)
    if name == "size":
        sized = _sized(frames.boxes, frames.images)
        return replace(
            sized, of_detection=_sized(frames.detections, frames.images).codes
        )
    if name == "occlusion" and "occluded" in frames.boxes:
        column = frames.boxes["occluded"]
        words = (
            column.astype(str).str.lower().map(OCCLUDED)
        )  # other words stay as they are
        if words.notna().equals(column.notna()):
            return _coded(
                name, words.astype(pd.CategoricalDtype(["visible", "occluded"])), "box"
            )
    return replace(from_column(frames, OF_PAPER.get(name, name)), name=name)


def from_column(frames: Frames, column: str) -> Attribute:
    """Return an attribute from a column of the images, or else of the boxes.

    Values are in the order of categories, or sorted. A column with many different
    numbers is divided into thirds. BDD100K's "undefined" counts as missing.
    """
    for level, table in (("image", frames.images), ("box", frames.boxes)):
        if column in table:
            values = table[column]
            if is_numeric_dtype(values) and values.nunique() > DISTINCT:
                least, first, second = np.nanquantile(values, [0, 1 / 3, 2 / 3])
                if not least < first < second:
                    raise DetectionDataError(
                        f"{column}: too many {level}s have the same number for thirds; "
                        "name groups"
                    )
                bounds = {"low": first, "middle": second, "high": np.inf}
                return _binned(column, values.to_numpy(float), bounds, level)
            return _coded(column, values.where(values != "undefined"), level)
    known = [*frames.images, *frames.boxes]
    raise DetectionDataError(
        f"The images and boxes have no column {column!r}. Name another one, or provide "
        f"it in 'attributes'. The columns are: {', '.join(known)}."
    )


def _coded(name: str, column: pd.Series, level: str) -> Attribute:
    if column.dtype == object:
        for value in column[
            column.map(lambda value: isinstance(value, list | dict))
        ].head(1):
            raise DetectionDataError(
                f"{name}: the column holds {value!r}; give single values"
            )
        column = column.map(str, na_action="ignore")
    column = column.astype("category").cat.remove_unused_categories()
    if column.isna().all():
        raise DetectionDataError(f"{name}: the column holds no value")
    values = tuple(map(str, column.cat.categories))
    if len(values) > MOST:
        raise DetectionDataError(
            f"{name}: the column holds {len(values):,} values, such as {values[0]!r}, "
            f"and at most {MOST} can be compared. Numbers are cut into thirds if no "
            "value is text (leave unknown numbers empty)."
        )
    return Attribute(name, values, column.cat.codes.to_numpy(np.int64), level)


def _binned(
    name: str, numbers: np.ndarray, bounds: dict[str, float], level: str
) -> Attribute:
    """Return an attribute from numbers and each value's upper bound; NaN has none."""
    codes = np.searchsorted(list(bounds.values()), numbers, side="right")
    codes = np.where(np.isnan(numbers) | (codes == len(bounds)), -1, codes)
    return Attribute(name, tuple(bounds), codes, level)


def _sized(table: pd.DataFrame, images: pd.DataFrame) -> Attribute:
    area = ((table.x2 - table.x1) * (table.y2 - table.y1)).to_numpy(float)
    if "width" in images:
        area = area * (SIZE["width"] / images["width"].to_numpy()[table["image"]]) ** 2
    return _binned("size", area, SIZES, "box")


def crossed(codes: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """Combine the codes of attributes with so many values, the last fastest.

    The code is -1 where the code of any attribute is -1.
    """
    place = np.ravel_multi_index(tuple(np.maximum(codes, 0)), sizes)
    return np.where((np.array(codes) >= 0).all(0), place, -1)


def attribute_table(attributes: Sequence[Attribute]) -> pd.DataFrame:
    """Tabulate the values of each attribute, and how many images or boxes have one."""
    rows = [
        (
            a.name,
            f"each {a.level}",
            ", ".join(a.values),
            (a.codes >= 0).sum(),
            (a.codes < 0).sum(),
        )
        for a in attributes
    ]
    return pd.DataFrame(rows, columns=["attribute", "of", "values", "known", "absent"])
