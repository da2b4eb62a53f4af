"""Frames, and attributes of each image or box (section 3.3), as codes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

CORNERS = ["x1", "y1", "x2", "y2"]
BDD100K_SIZE = {"width": 1280, "height": 720}  # of a frame that does not say its own
OF_PAPER = {  # the paper's five, and the column that each is made from
    "size": "x1",
    "occlusion": "occluded",
    "time": "timeofday",
    "scene": "scene",
    "weather": "weather",
}
SIZES = ("small", "medium", "large")
# Where medium and large boxes begin in square pixels, as in COCO; the paper does not
# print its own. A box of exactly 32 x 32 pixels is medium here, where COCO's evaluator
# counts it as small and as medium. They are for frames as wide as BDD100K's, and scaled
# for others.
BOUNDS = (32**2, 96**2)
# further ones of section 3.3; the last is a column
OTHERS = ("crowds", "aspect", "contrast")
OCCLUSION = {"False": "visible", "True": "occluded"}
DISTINCT = 6  # numbers with more distinct values are cut into thirds
MOST = 50  # values of an attribute


class DetectionDataError(ValueError):
    """A file or an attribute cannot be used; the message says why and what to do."""


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
        return from_column(self, name)

    def clusters(self, name: str | None) -> np.ndarray | None:
        """Return the column that says which images belong together, or None."""
        if name is None:
            return None
        column = self.images.get(name, pd.Series())
        if column.isna().any() or column.nunique() < 2:
            raise DetectionDataError(
                f"The images have no column {name!r} with a value for each of them and "
                "at least two different values. Name such a column as 'cluster', for "
                "example 'video'."
            )
        return column.astype(str).to_numpy()

    def explanatory(
        self, sensitive: str, further: Sequence[str] | None = None
    ) -> list[Attribute]:
        """Return the paper's five attributes except the sensitive one.

        Then come `further` columns, and crowds, aspect and contrast of section 3.3.
        Attributes that the frames do not have are left out, but not those in `further`.
        """
        further = further or ()
        attributes = []
        for name in dict.fromkeys([*OF_PAPER, *further, *OTHERS]):
            if sensitive in (name, OF_PAPER.get(name)):
                continue
            try:
                attributes.append(made(self, name))
            except DetectionDataError:  # no column, or too few different numbers
                if name in further:
                    raise
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
    if name == "crowds":
        number = np.bincount(boxes["image"][~boxes["ignore"]], minlength=len(images))
        return coded(name, pd.Series(number), "image")
    if name == "aspect":
        ratio = boxes.eval("(x2 - x1) / (y2 - y1)")
        place = ratio.groupby(boxes["category"]).rank(pct=True)
        return coded(name, place, "box")
    if name == "size":
        codes = np.digitize(_area(boxes, images), BOUNDS)
        of_detection = np.digitize(_area(frames.detections, images), BOUNDS)
        return Attribute(name, SIZES, codes, "box", of_detection)
    attribute = from_column(frames, OF_PAPER.get(name, name))
    if name == "occlusion":
        values = [OCCLUSION.get(value, value) for value in attribute.values]
        attribute = replace(attribute, values=tuple(values))
    return replace(attribute, name=name)


def _area(table: pd.DataFrame, images: pd.DataFrame) -> pd.Series:
    """Return the areas of boxes in a frame as wide as those of BDD100K."""
    area = table.eval("(x2 - x1) * (y2 - y1)")
    if "width" in images:
        scale = BDD100K_SIZE["width"] / images["width"].to_numpy()[table["image"]]
        area = area * np.nan_to_num(scale, nan=1) ** 2
    return area


def explaining(frames: Frames, bounds: Sequence[float]) -> list[Attribute]:
    """Return the attributes of every box that may explain a gap.

    These are its size (by `bounds` of its area, square pixels), its shape, and the
    number of boxes in its image.
    """
    codes = np.digitize(frames.boxes["area"], bounds)
    of_detection = np.digitize(frames.detections["extent"], bounds)
    attributes = [Attribute("size", SIZES, codes, "box", of_detection)]
    names = {"aspect": "shape (width/height)", "crowds": "boxes in the image"}
    for name, text in names.items():
        with suppress(DetectionDataError):  # too few different numbers for thirds
            attributes.append(replace(made(frames, name), name=text))
    return attributes


def from_column(frames: Frames, column: str) -> Attribute:
    """Return an attribute from a column of the images, or else of the boxes."""
    for level, table in (("image", frames.images), ("box", frames.boxes)):
        if column in table:
            return coded(column, table[column], level)
    known = [*frames.images, *frames.boxes]
    raise DetectionDataError(
        f"The images and boxes have no column {column!r}. Name another one, or provide "
        f"it in 'attributes'. The columns are: {', '.join(known)}."
    )


def coded(name: str, column: pd.Series, level: str) -> Attribute:
    """Return an attribute from the values of all images or boxes.

    Values are in the order of categories, or sorted. A column with many different
    numbers is divided into thirds. BDD100K's "undefined" counts as missing.
    """
    if is_numeric_dtype(column) and column.nunique() > DISTINCT:
        least, first, second = np.nanquantile(column, [0, 1 / 3, 2 / 3])
        if not least < first < second:
            raise DetectionDataError(
                f"{name}: too many {level}s have the same number for thirds; name "
                "groups"
            )
        edges = [-np.inf, first, second, np.inf]
        column = pd.cut(column, edges, right=False, labels=["low", "middle", "high"])
    column = column.where(column != "undefined")
    if column.dtype == object:
        column = column.map(str, na_action="ignore")
    codes, values = pd.factorize(column, sort=True)
    if not 2 <= len(values) <= MOST:
        raise DetectionDataError(
            f"{name}: the column holds {len(values):,} values, and 2 to {MOST} can be "
            "compared. Name another column, or give unknown numbers no value: numbers "
            "are cut into thirds if no value is text."
        )
    return Attribute(name, tuple(map(str, values)), codes, level)


def attribute_table(attributes: Sequence[Attribute]) -> pd.DataFrame:
    """Tabulate the values of each attribute, and how many images or boxes have one."""
    rows = [
        {
            "attribute": one.name,
            "of": f"each {one.level}",
            "values": ", ".join(one.values),
            "known": (one.codes >= 0).sum(),
            "absent": (one.codes < 0).sum(),
        }
        for one in attributes
    ]
    return pd.DataFrame(rows)
