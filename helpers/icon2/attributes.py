"""Attributes: what is known of each image or each box, as codes into named values.

ICON2, section 3.3: size, occlusion, truncation, aspect ratio and crowding follow from the labels,
weather, scene and time of day from the files, contrast and illumination from the pixels. Any
column that a reader adds to the images is an attribute as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from PIL import Image, UnidentifiedImageError

from helpers.icon2.reading import CORNERS, DetectionDataError, GroundTruth

# Upper bounds; the bound itself belongs to the next value. The paper does not print its own.
AREAS = {"small": 32**2, "medium": 96**2, "large": np.inf}  # COCO's, pixels squared
ASPECTS = {"tall": 0.8, "square": 1.25, "wide": np.inf}  # width over height
CROWDS = {"1 to 4": 5, "5 to 14": 15, "15 or more": np.inf}  # labelled boxes in the image
DISTINCT = 6  # numbers with more distinct values are cut into thirds


class AttributeDataError(ValueError):
    """An attribute cannot be made from what is given; the message says what is missing."""


@dataclass(frozen=True)
class Attribute:
    """One value for each image, or one for each box.

    Attributes
    ----------
    name, values : str, tuple of str
    codes : int array (n images,) or (n boxes,)
        Place in `values`; -1 where the attribute is absent.
    level : str
        ``image`` or ``box``.
    of_detection : int array (n detections,), optional
        The same for detections, for what they have too, such as a size: COCO's rule for false
        positives needs it.
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


def from_column(truth: GroundTruth, column: str, values: Sequence | None = None) -> Attribute:
    """An attribute from a column of the images, or else of the boxes.

    Parameters
    ----------
    truth, column
    values
        In the order to show them; others count as absent. By default all that occur, in their own
        order for categories, sorted otherwise; of numbers with many values thirds, low to high.

    Raises
    ------
    AttributeDataError
        When neither table has the column, or none of the values occurs.
    """
    for level, table in (("image", truth.images), ("box", truth.boxes)):
        if column in table:
            found = table[column]
            if values is None and is_numeric_dtype(found) and found.nunique() > DISTINCT:
                return thirds(column, found.to_numpy(float), level)
            return _coded(column, found, values, level)
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


def _binned(name: str, numbers: np.ndarray, bounds: dict[str, float], level: str) -> Attribute:
    """An attribute from numbers and each value's upper bound; NaN has no value."""
    codes = np.searchsorted(list(bounds.values()), numbers, side="right")
    codes = np.where(np.isnan(numbers) | (codes == len(bounds)), -1, codes)
    return Attribute(name, tuple(bounds), codes, level)


def thirds(name: str, numbers: np.ndarray, level: str) -> Attribute:
    """An attribute low, middle, high: three bins with as many images or boxes in each."""
    if np.isnan(numbers).all():
        raise AttributeDataError(f"{name}: no number is known (could the images be read?)")
    first, second = np.nanquantile(numbers, [1 / 3, 2 / 3])
    return _binned(name, numbers, {"low": first, "middle": second, "high": np.inf}, level)


def _of_shape(name: str, measure: Callable, bounds: dict, truth: GroundTruth, detections):
    """An attribute of each box's width and height, which detections have as well."""
    of_box, of_detection = (
        _binned(name, measure(t.x2 - t.x1, t.y2 - t.y1).to_numpy(float), bounds, "box")
        for t in (truth.boxes, detections)
    )
    return replace(of_box, of_detection=of_detection.codes)


def size(truth: GroundTruth, detections: pd.DataFrame) -> Attribute:
    """Size of a box by its area."""
    return _of_shape("size", lambda width, height: width * height, AREAS, truth, detections)


def aspect(truth: GroundTruth, detections: pd.DataFrame) -> Attribute:
    """Aspect ratio of a box, width over height."""
    return _of_shape("aspect", lambda width, height: width / height, ASPECTS, truth, detections)


def occlusion(truth: GroundTruth) -> Attribute:
    """Whether the label calls a box occluded."""
    return _flag(truth, "occluded", "occlusion", ("visible", "occluded"))


def truncation(truth: GroundTruth) -> Attribute:
    """Whether the label calls a box truncated, at the image's border."""
    return _flag(truth, "truncated", "truncation", ("whole", "truncated"))


def _flag(truth: GroundTruth, column: str, name: str, values: tuple[str, str]) -> Attribute:
    if column not in truth.boxes:
        raise AttributeDataError(f"the boxes have no column {column!r}, which {name} needs")
    flag = truth.boxes[column]
    codes = np.where(flag.isna(), -1, flag.eq(True).astype(int))
    return Attribute(name, values, codes, "box")


def crowding(truth: GroundTruth) -> Attribute:
    """How many labelled boxes, of any class, an image has."""
    number = np.bincount(truth.boxes.image, minlength=len(truth.images)).astype(float)
    return _binned("crowding", np.where(number > 0, number, np.nan), CROWDS, "image")


def measured_light(truth: GroundTruth, folder: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Mean luminance of each image, and its standard deviation within each box, both in 0..1.

    ``truth.images.name`` are file names in `folder`. NaN where the file is missing or unreadable,
    or the box lies outside of the image.
    """
    brightness = np.full(len(truth.images), np.nan)
    contrast = np.full(len(truth.boxes), np.nan)
    corners = np.round(truth.boxes[CORNERS].to_numpy()).astype(int)
    rows_of = truth.boxes.groupby("image").indices
    for i, name in enumerate(truth.images.name):
        try:
            with Image.open(Path(folder) / name) as image:
                luminance = np.asarray(image.convert("L"), np.float32) / 255
        except (UnidentifiedImageError, OSError):
            continue
        brightness[i] = luminance.mean()
        for row in rows_of.get(i, ()):
            x1, y1, x2, y2 = corners[row]
            patch = luminance[max(y1, 0) : max(y2, y1 + 1), max(x1, 0) : max(x2, x1 + 1)]
            contrast[row] = patch.std() if patch.size else np.nan
    return brightness, contrast


def standard(truth: GroundTruth, detections: pd.DataFrame) -> list[Attribute]:
    """The paper's five, as far as the labels have them: size, occlusion, time, scene, weather."""
    found = [size(truth, detections)]
    if "occluded" in truth.boxes:
        found.append(occlusion(truth))
    for column, name in (("timeofday", "time"), ("scene", "scene"), ("weather", "weather")):
        if column in truth.images:
            table = truth.images[column].replace("undefined", np.nan)
            found.append(_coded(name, table, None, "image"))
    return found


def join_csv(truth: GroundTruth, path: str | Path) -> tuple[GroundTruth, list[str]]:
    """Join the columns of a reader's CSV to the frames, and say which they are.

    The CSV has a column ``name`` (of the frame, with or without its extension) and one column an
    attribute. Frames that it does not list have no value, and are counted in the report.

    Raises
    ------
    DetectionDataError
        When the file is absent or empty, has no column ``name``, lists a frame twice, names a
        column as the frames' own, or lists none of the frames.
    """
    path = Path(path)
    table = _by_stem(path)
    columns = [c for c in table.columns if c != "name"]
    known = [c for c in columns if c in truth.images or c in truth.boxes]
    if known or not columns:
        what = f"column {known[0]!r} is one of the labels'" if known else "no column but 'name'"
        raise DetectionDataError(f"{path.name}: {what}; name your attributes otherwise")
    stem = truth.images.name.map(lambda name: Path(name).stem)
    absent, strange = int((~stem.isin(table.index)).sum()), int((~table.index.isin(stem)).sum())
    if absent == len(stem):
        raise DetectionDataError(f"{path.name}: none of its names is that of a frame")
    report = [f"{absent:,} frames are not listed in {path.name}"] if absent else []
    report += [f"{strange:,} rows of {path.name} are of no frame here"] if strange else []
    found = table[columns].reindex(stem)
    joined = truth.with_images(**{c: found[c].to_numpy() for c in columns})
    return replace(joined, report=(*truth.report, *report)), columns


def _by_stem(path: Path) -> pd.DataFrame:
    """The file, by the stems of its frames' names."""
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file")
    try:
        table = pd.read_csv(path, dtype={"name": str})
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise DetectionDataError(f"{path.name}: is not a CSV table ({error})") from None
    if "name" not in table:
        raise DetectionDataError(f"{path.name}: no column 'name'; it names the frame of each row")
    table = table.set_index(table.name.map(lambda name: Path(str(name)).stem).rename(None))
    twice = table.index[table.index.duplicated()]
    if len(twice):
        raise DetectionDataError(f"{path.name}: frame {twice[0]!r} is listed twice")
    return table


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


def shares_by(truth: GroundTruth, one: Attribute, others: Sequence[Attribute]) -> pd.DataFrame:
    """How an attribute is spread over the boxes with each value of others.

    Rows are the values of `others`, columns those of `one`: its share among the boxes of the row,
    0..1. Boxes without a value of either take no part.
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
