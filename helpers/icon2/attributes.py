"""Frames, and attributes of each image or box (section 3.3), as codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from helpers import stats

CORNERS = ["x1", "y1", "x2", "y2"]
OF_PAPER = {  # the paper's five, and the column that each is made from
    "size": "x1",  # and the other corners
    "occlusion": "occluded",
    "time": "timeofday",
    "scene": "scene",
    "weather": "weather",
}
SIZES = ("small", "medium", "large")
# Sides of the smallest medium and large boxes in pixels, as in COCO; the paper does not
# print its own. A box of exactly 32 x 32 pixels is medium here, where COCO's evaluator
# counts it as small and as medium.
SIDES = (32, 96)
# further ones of section 3.3; the last is a column, the others are made in `made`
OTHERS = ("crowds", "aspect", "contrast")
OCCLUSION = {"False": "visible", "True": "occluded"}
DISTINCT = 6  # numbers with more distinct values are cut into thirds
MOST = 50  # values of an attribute
# what every box has that may explain a gap, and its name in an audit
EXPLAINING = {
    "size": "box size",
    "crowds": "boxes in the image",
    "aspect": "shape (width/height)",
}


class DetectionDataError(ValueError):
    """Say why a file or an attribute cannot be used; Jupyter shows only the message."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class Frames:
    """Frames, their boxes and detections as tables.

    The `report` says what was read, what was left out, and what looks wrong. Tables
    have the columns ``image category x1 y1 x2 y2`` (numbers, pixels); boxes also
    ``ignore``, detections ``score``. All other columns of images and boxes are
    attributes, NaN where absent. Medium and large boxes have at least the area of a
    square with these `sides` (pixels).
    """

    images: pd.DataFrame
    boxes: pd.DataFrame
    detections: pd.DataFrame
    classes: tuple[str, ...]
    report: tuple[str, ...] = ()
    sides: Sequence[float] = SIDES

    def attribute(self, name: str) -> Attribute:
        """Return a sensitive attribute by the name of its column."""
        return from_column(self, name)

    def clusters(self, name: str | None) -> np.ndarray:
        """Return the column of images that belong together, or a number for each."""
        if name is None:
            return np.arange(len(self.images))
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

        Then come crowds, aspect and contrast of section 3.3, and `further` columns.
        Attributes that the frames do not have are left out, but not those in `further`.
        """
        attributes = []
        for name in [*OF_PAPER, *OTHERS]:
            if sensitive not in (name, OF_PAPER.get(name)):
                with suppress(DetectionDataError):  # no column, or too few numbers
                    attributes.append(made(self, name))
        return attributes + [made(self, name) for name in further or ()]


@dataclass(frozen=True)
class Attribute:
    """One value for each image, or one for each box."""

    name: str
    values: tuple[str, ...]
    # of each image or box: place in `values`, -1 where the attribute is absent
    codes: np.ndarray
    level: str  # image or box
    # the code of each detection by its own size, for COCO's rule of false positives
    of_detection: np.ndarray | None = None

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
        bounds = np.square(frames.sides)
        codes = np.digitize(boxes.get("area", extent(boxes)), bounds)
        of_detection = np.digitize(extent(frames.detections), bounds)
        return Attribute(name, SIZES, codes, "box", of_detection)
    attribute = from_column(frames, OF_PAPER.get(name, name))
    if name == "occlusion":
        values = [OCCLUSION.get(value, value) for value in attribute.values]
        attribute = replace(attribute, values=tuple(values))
    return replace(attribute, name=name)


def extent(boxes: pd.DataFrame) -> pd.Series:
    """Return width times height, as in the file if it has them."""
    return boxes.get("extent", boxes.eval("(x2 - x1) * (y2 - y1)"))


def explaining(frames: Frames) -> list[Attribute]:
    """Return the attributes of every box that may explain a gap."""
    attributes = []
    for name, text in EXPLAINING.items():
        with suppress(DetectionDataError):  # too few different numbers
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


def permuted_attributes(
    attributes: Sequence[Attribute],
    boxes: pd.DataFrame,
    clusters: np.ndarray,
    seed: int,
) -> Iterator[list[Attribute]]:
    """Yield the attributes with randomly permuted values.

    Values of images are permuted between images (or clusters of them). Values of boxes
    are permuted between boxes of one class, where the boxes of an image stay together.

    Parameters
    ----------
    attributes : sequence of Attribute
    boxes : pandas.DataFrame
        With ``category`` and ``image``.
    clusters : array of shape (n images,)
        Which images belong together.
    seed : int
    """
    rng = np.random.default_rng(seed)
    images = stats.permuted_labels(np.arange(len(clusters)), rng, clusters=clusters)
    rows = stats.permuted_labels(
        np.arange(len(boxes)),
        rng,
        strata=boxes["category"],
        clusters=clusters[boxes["image"]],
    )
    while True:
        order = {"image": next(images), "box": next(rows)}
        yield [
            replace(attribute, codes=attribute.codes[order[attribute.level]])
            for attribute in attributes
        ]


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
