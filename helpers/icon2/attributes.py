"""Attributes: what is known of each image or each box, as codes into named values.

ICON2, section 3.3: size, occlusion, truncation, aspect ratio and crowding follow from the labels,
weather, scene and time of day from the files. Any column that a reader adds to the images is an
attribute as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from helpers.icon2.reading import DetectionDataError, read_csv
from helpers.worlds.driving import DrivingWorld

OF_PAPER = {  # the paper's five, and the column that each is made from
    "size": "x1",
    "occlusion": "occluded",
    "time": "timeofday",
    "scene": "scene",
    "weather": "weather",
}
# Upper bounds; the bound itself belongs to the next value. The paper does not print its own.
SHAPES = {
    "size": {"small": 32**2, "medium": 96**2, "large": np.inf},  # COCO's, pixels squared
    "aspect": {"tall": 0.8, "square": 1.25, "wide": np.inf},  # width over height
}
CROWDS = {"1 to 4": 5, "5 to 14": 15, "15 or more": np.inf}  # labelled boxes in the image
DISTINCT = 6  # numbers with more distinct values are cut into thirds


@dataclass(frozen=True)
class Attribute:
    """One value for each image, or one for each box."""

    name: str
    values: tuple[str, ...]
    codes: np.ndarray  # of each image or box: place in `values`, -1 where the attribute is absent
    level: str  # image or box
    of_detection: np.ndarray | None = None  # for COCO's rule, of what detections have too: a size


def of_paper(frames: DrivingWorld) -> list[str]:
    """Names of the paper's five attributes, as far as the labels have them."""
    known = [*frames.images, *frames.boxes]
    return [name for name, column in OF_PAPER.items() if column in known]


def made(frames: DrivingWorld, name: str) -> Attribute:
    """One of the paper's attributes by its name, or one from a column of images or boxes."""
    if name in SHAPES:
        found = _shaped(name, frames.boxes)
        return replace(found, of_detection=_shaped(name, frames.detections).codes)
    if name == "occlusion" and "occluded" in frames.boxes:
        words = frames.boxes["occluded"].map({False: "visible", True: "occluded"})
        return _coded(name, words.astype(pd.CategoricalDtype(["visible", "occluded"])), "box")
    if name == "crowding":
        number = np.bincount(frames.boxes["image"], minlength=len(frames.images)).astype(float)
        return _binned(name, np.where(number > 0, number, np.nan), CROWDS, "image")
    return replace(from_column(frames, OF_PAPER.get(name, name)), name=name)


def from_column(frames: DrivingWorld, column: str) -> Attribute:
    """An attribute from a column of the images, or else of the boxes.

    Its values are those that occur, in their own order for categories, sorted otherwise; of numbers
    with many values thirds, low to high. BDD100K's "undefined" is no value.
    """
    for level, table in (("image", frames.images), ("box", frames.boxes)):
        if column in table:
            found = table[column]
            if is_numeric_dtype(found) and found.nunique() > DISTINCT:
                first, second = np.nanquantile(found, [1 / 3, 2 / 3])
                bounds = {"low": first, "middle": second, "high": np.inf}
                return _binned(column, found.to_numpy(float), bounds, level)
            return _coded(column, found.where(found != "undefined"), level)
    known = [*frames.images, *frames.boxes]
    raise DetectionDataError(f"no column {column!r}; there are: {', '.join(known)}")


def _coded(name: str, column: pd.Series, level: str) -> Attribute:
    column = column.astype("category").cat.remove_unused_categories()
    if column.isna().all():
        raise DetectionDataError(f"{name}: the column holds no value")
    values = tuple(map(str, column.cat.categories))
    return Attribute(name, values, column.cat.codes.to_numpy(np.int64), level)


def _binned(name: str, numbers: np.ndarray, bounds: dict[str, float], level: str) -> Attribute:
    """An attribute from numbers and each value's upper bound; NaN has no value."""
    codes = np.searchsorted(list(bounds.values()), numbers, side="right")
    codes = np.where(np.isnan(numbers) | (codes == len(bounds)), -1, codes)
    return Attribute(name, tuple(bounds), codes, level)


def _shaped(name: str, table: pd.DataFrame) -> Attribute:
    """The size (area) or the aspect ratio of boxes."""
    width, height = table.x2 - table.x1, table.y2 - table.y1
    measured = width * height if name == "size" else width / height
    return _binned(name, measured.to_numpy(float), SHAPES[name], "box")


def from_csv(frames: DrivingWorld, path: str | Path) -> tuple[pd.DataFrame, list[str]]:
    """Columns of a reader's CSV for every frame, and sentences about what is left out."""
    source, table = Path(path).name, read_csv(path, "name", [])
    table.index = table.pop("name").map(lambda name: Path(str(name)).stem).rename(None)
    stem = frames.images["name"].map(lambda name: Path(name).stem)
    taken = {*frames.images, *frames.boxes, *OF_PAPER, *SHAPES, "crowding"}
    known = [column for column in table if column in taken]
    twice = table.index[table.index.duplicated()]
    unlisted, strange = (~stem.isin(table.index)).sum(), (~table.index.isin(stem)).sum()
    for wrong, what in (
        (table.columns.empty, "no column but 'name'"),
        (known, f"column {known[:1]} is taken; name your attributes otherwise"),
        (len(twice), f"frame {twice[:1].tolist()} is listed twice"),
        (unlisted == len(stem), "none of its names is that of a frame"),
    ):
        if wrong:
            raise DetectionDataError(f"{source}: {what}")
    report = [f"{unlisted:,} frames are not listed in {source}"] if unlisted else []
    report += [f"{strange:,} rows of {source} are of no frame here"] if strange else []
    return table.reindex(stem).reset_index(drop=True), report


def report(attributes: Sequence[Attribute]) -> pd.DataFrame:
    """What each attribute counts: its values, and how many images or boxes have none."""
    return pd.DataFrame(
        {
            "attribute": a.name,
            "of": f"each {a.level}",
            "values": ", ".join(a.values),
            "known": (a.codes >= 0).sum(),
            "absent": (a.codes < 0).sum(),
        }
        for a in attributes
    )
