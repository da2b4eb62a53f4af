"""Read labels and detections: COCO's or BDD100K's JSON, a CSV, or YOLO's text files.

BDD100K's frames are converted to COCO's structures first. `Checks` lists what looks
wrong.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from helpers.icon2 import bdd100k, file_checks, yolo
from helpers.icon2.file_checks import CORNERS, Checks, DetectionDataError

# Columns of images and boxes that are no attributes.
OWN = {
    "name",
    "width",
    "height",
    "id",
    "image",
    "category",
    "ignore",
    "score",
    "area",
    "extent",
    "box",
    *CORNERS,
}
# Fields of COCO's entries that are no attributes either.
OF_COCO = [
    "license",
    "coco_url",
    "flickr_url",
    "date_captured",
    "segmentation",
    "bbox",
    "crowd",
    "iscrowd",
    "image_id",
    "category_id",
    "file_name",
    "keypoints",
    "num_keypoints",
    "attributes",
]
COLUMNS = ["image", "class", *CORNERS]  # of a CSV; detections have `score`, too
FEDERATED = "neg_category_ids"  # a field of LVIS's images
TRUTH = TypeAdapter(bool)
FORMS = (
    "COCO's JSON, BDD100K's list of frames with 'labels', a CSV of boxes, or a folder "
    "of YOLO's text files"
)


@dataclass(frozen=True)
class Labels:
    """Labelled images and boxes, as they are in a file.

    Attributes
    ----------
    images : pandas.DataFrame
        With an ``id`` (text), a ``name`` and attributes.
    boxes : pandas.DataFrame
        With the number of the ``image``, the name of the ``category``, corners in
        pixels, ``area`` and ``extent`` (width times height), ``ignore`` and attributes.
    categories : dict
        Name of each class by its id, as text.
    """

    images: pd.DataFrame
    boxes: pd.DataFrame
    categories: dict[str, str]


def read_labels(path: Path, checks: Checks) -> Labels:
    """Read the labelled images and boxes of a file.

    Parameters
    ----------
    path : Path
        JSON of COCO or BDD100K, a CSV, or a folder of YOLO's text files.
    checks : Checks
        To which sentences are added about what looks wrong.

    Returns
    -------
    Labels

    Raises
    ------
    DetectionDataError
        If the file cannot be used.
    """
    with _refusing(path):
        if ".csv" in path.suffixes:
            labels = _csv_labels(path)
        elif path.is_dir():
            labels = _yolo_labels(path)
        else:
            content = _read_json(path)
            frames = bdd100k.frames_of(content)
            if frames is not None:
                content = bdd100k.labels_to_coco(frames)
            if "annotations" not in content:
                raise DetectionDataError(
                    f"{path.name} holds no labels. Labels are {FORMS}. If this is the "
                    "file of detections, exchange the two files."
                )
            labels = _coco_labels(path, content, checks)
    if labels.boxes.empty:
        raise DetectionDataError(
            f"{path.name}: no image has a box, so there is nothing to detect. Name the "
            "file of the labelled boxes."
        )
    images = pd.Index(labels.images["id"])
    labels.boxes["image"] = images.get_indexer(labels.boxes["image"])
    file_checks.refuse_impossible(path, labels.boxes, labels.images, "boxes")
    return labels


def read_detections(path: Path, labels: Labels, checks: Checks) -> pd.DataFrame:
    """Read the detections of labelled images.

    Parameters
    ----------
    path : Path
        JSON of COCO's results or of BDD100K, a CSV, or a folder of YOLO's text files.
    labels : Labels
        By whose ids or names detections are paired with images.
    checks : Checks
        To which sentences are added about what looks wrong.

    Returns
    -------
    pandas.DataFrame
        With the number of the ``image``, the name of the ``category``, corners,
        ``score`` and ``extent``.

    Raises
    ------
    DetectionDataError
        If the file cannot be used.
    """
    with _refusing(path):
        if ".csv" in path.suffixes:
            table = read_csv(path, [*COLUMNS, "score"])
            table = table.rename(columns={"class": "category"})
        elif path.is_dir():
            table = yolo.read_boxes(path, labels.images, scored=True)
        else:
            content = _read_json(path)
            frames = bdd100k.frames_of(content)
            if frames is not None:
                content = bdd100k.results_to_coco(frames)
            entries = pd.DataFrame(content)
            if entries.empty:
                raise DetectionDataError(
                    f"{path.name} holds no detection. Detections are COCO's list of "
                    f"results, or in the form of labels: {FORMS}."
                )
            table = _boxes(path, entries)
            table["score"] = entries["score"].astype(float)
    if "extent" not in table:  # else as COCO has it, without rounding
        table["extent"] = _extent(table)
    table["category"] = _named(table["category"], labels.categories)
    first = table["image"].iloc[0]
    table["image"] = numbers_of_images(path, table["image"], labels.images)
    known = table["image"] >= 0
    if not known.any():
        raise DetectionDataError(
            f"{path.name}: none of its images is labelled. Its first image is "
            f"{first!r}, the first labelled one is {labels.images['name'].iloc[0]!r}. "
            "Names or ids must agree."
        )
    checks.count((~known).sum(), "detections left out: their image has no labels")
    table = table[known].reset_index(drop=True)
    without = len(labels.images) - table["image"].nunique()
    checks.count(without, "labelled images have no detection")
    file_checks.refuse_impossible(path, table, labels.images, "detections")
    table = file_checks.without_copies(path, table, checks)
    return table[["image", "category", *CORNERS, "score", "extent"]]


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say in a sentence why a file cannot be read."""
    try:
        yield
    except DetectionDataError:
        raise
    except FileNotFoundError:
        raise DetectionDataError(
            f"There is no file {path.name} in the folder {path.parent.name!r}. Check "
            "the path."
        ) from None
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OSError,
        EOFError,
    ) as error:
        reason = " ".join(str(error).split())[:200]
        if isinstance(error, KeyError):
            reason = f"{reason} is missing"
        raise DetectionDataError(
            f"{path.name} cannot be read: {reason}. Labels and detections are {FORMS}."
        ) from None


def _read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise DetectionDataError(
            f"{path.name} cannot be read as JSON ({error}). It may be cut short: copy "
            "or download it again."
        ) from None


def _coco_labels(path: Path, content: dict, checks: Checks) -> Labels:
    """Return the labels of COCO's structures."""
    images = pd.DataFrame(content["images"])
    if FEDERATED in images:
        raise DetectionDataError(
            f"{path.name}: its labels are federated, as those of LVIS: an image has "
            "labels of some classes only, so a detection of another class is neither "
            "right nor wrong. Use images in which all of your classes are labelled."
        )
    if not pd.api.types.is_numeric_dtype(images["id"]):
        images["id"] = images["id"].astype(str)
    images = images.sort_values("id", ignore_index=True)
    images["id"] = _texts(images["id"])
    images["name"] = images.get("file_name", images["id"]).fillna(images["id"])
    categories = pd.DataFrame(content["categories"]).astype({"name": str})
    file_checks.refuse_repeated(path, images["id"], "ids of images")
    file_checks.refuse_repeated(path, categories["name"], "names of categories")
    names = dict(zip(_texts(categories["id"]), categories["name"], strict=True))

    annotations = pd.DataFrame(content["annotations"])
    has_box = annotations["bbox"].map(bool, na_action="ignore").eq(True)
    checks.count((~has_box).sum(), "labels left out: they have no box")
    annotations = annotations[has_box].reset_index(drop=True)
    boxes = _boxes(path, annotations)
    boxes["box"] = _texts(annotations["id"]) if "id" in annotations else None
    boxes["area"] = boxes["extent"]
    if "area" in annotations:
        boxes["area"] = annotations["area"].astype(float).fillna(boxes["extent"])
    for column, known in (("image", images["id"]), ("category", [*names])):
        unknown = boxes[column][~boxes[column].isin(known)]
        if len(unknown):
            raise DetectionDataError(
                f"{path.name}: boxes are of {column} {unknown.iloc[0]!r}, which is not "
                "listed. Add it to the file, or remove its boxes."
            )
    boxes["category"] = boxes["category"].map(names)
    boxes["ignore"] = flags(annotations, "iscrowd")
    marked = flags(annotations, "ignore")
    boxes = file_checks.with_ignored(path, boxes, marked, checks)
    boxes["area"] = file_checks.plausible_area(path, boxes, checks)
    return Labels(
        _with_attributes(images, images), _with_attributes(boxes, annotations), names
    )


def _boxes(path: Path, entries: pd.DataFrame) -> pd.DataFrame:
    """Return the boxes of COCO's annotations or results, with ids as text."""
    wrong = entries["bbox"][entries["bbox"].map(len) != 4]
    if len(wrong):
        raise DetectionDataError(
            f"{path.name}: entry {wrong.index[0]} has the 'bbox' {wrong.iloc[0]}. "
            "Expected are 4 numbers: x, y, width, height."
        )
    x, y, width, height = np.array(entries["bbox"].tolist(), float).T
    boxes = {"image": _texts(entries["image_id"])}
    boxes["category"] = _texts(entries["category_id"])
    boxes |= {"x1": x, "y1": y, "x2": x + width, "y2": y + height}
    return pd.DataFrame({**boxes, "extent": width * height})


def _texts(ids: pd.Series) -> pd.Series:
    """Return ids as text, and whole numbers without a decimal point."""
    texts = ids.astype(str).str.removesuffix(".0")
    return texts.where(ids.notna())


def _named(categories: pd.Series, names: dict[str, str]) -> pd.Series:
    """Return the names of classes, given their ids or names."""
    return categories.map(lambda name: names.get(name, name), na_action="ignore")


def flags(table: pd.DataFrame, name: str) -> pd.Series:
    """Return a column that is true or false, in a usual way; absent is false."""
    if name not in table:
        return pd.Series(False, table.index)
    truth = {}
    for value in table[name].dropna().unique().tolist():
        try:
            truth[value] = TRUTH.validate_python(value)
        except ValueError:
            raise ValueError(f"{name!r} is {value!r}; it has to be 0 or 1") from None
    return table[name].map(truth).eq(True)


def _with_attributes(table: pd.DataFrame, entries: pd.DataFrame) -> pd.DataFrame:
    """Add the further fields of COCO's entries, and those in ``attributes``."""
    parts = [entries.drop(columns=OF_COCO, errors="ignore")]
    if "attributes" in entries:
        dictionaries = [one or {} for one in entries["attributes"]]
        parts.append(pd.DataFrame(dictionaries, index=entries.index))
    for part in parts:
        new = [name for name in part if name not in OWN and name not in OF_COCO]
        table = table.assign(**part[new])
    return table.drop(columns=OF_COCO, errors="ignore")


def numbers_of_images(path: Path, keys: pd.Series, images: pd.DataFrame) -> np.ndarray:
    """Find images by their ids in the labels or, if no key is an id, by file name.

    Parameters
    ----------
    path : Path
        The file with the keys, for messages.
    keys : pandas.Series
        What names an image in each row of the file.
    images : pandas.DataFrame
        The labelled images, with ``id`` and ``name``.

    Returns
    -------
    ndarray of int
        The number of each row's image, -1 where it is not labelled.

    Raises
    ------
    DetectionDataError
        If several images have the same name, and the file names images by name.
    """
    keys = keys.astype(str)
    named_by = images["id"]
    if not keys.isin(named_by).any():
        named_by = images["name"]
    repeated = named_by[named_by.duplicated()]
    ambiguous = set(repeated) & set(keys)
    if ambiguous:
        raise DetectionDataError(
            f"{path.name}: several labelled images are called {min(ambiguous)!r}, and "
            "its rows name images by file name. Name images by the ids of the labels."
        )
    number = dict(zip(named_by, images.index, strict=True))
    return keys.map(number).fillna(-1).to_numpy(int)


def _csv_labels(path: Path) -> Labels:
    """Return the labels of a CSV; an image without a box is a row with its name."""
    table = read_csv(path, COLUMNS)
    sides = [side for side in ("width", "height") if side in table]
    images = table.groupby("image")[sides].first().rename_axis("name").reset_index()
    images.insert(0, "id", images["name"])
    is_box = table[["class", *CORNERS]].notna().any(axis=1)
    boxes = table[is_box].drop(columns=sides).reset_index(drop=True)
    boxes = boxes.rename(columns={"class": "category"})
    return Labels(images, _with_areas(boxes, flags(boxes, "ignore")), {})


def _yolo_labels(folder: Path) -> Labels:
    """Return the labels of a folder of YOLO's text files."""
    images = yolo.read_images(folder)
    names = yolo.read_names(folder)
    boxes = yolo.read_boxes(folder, images, scored=False)
    boxes["category"] = _named(boxes["category"], names)
    return Labels(images, _with_areas(boxes, False), names)


def _extent(boxes: pd.DataFrame) -> pd.Series:
    return (boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"])


def _with_areas(boxes: pd.DataFrame, ignore: pd.Series | bool) -> pd.DataFrame:
    extent = _extent(boxes)
    return boxes.assign(extent=extent, area=extent, ignore=ignore)


def read_csv(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read a CSV in which only an empty field is missing, and ``NA`` is a value.

    Parameters
    ----------
    path : Path
        With commas, in UTF-8.
    columns : list of str
        Columns that have to be there.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DetectionDataError
        If the file cannot be read, a column is missing, or a coordinate or score is not
        a number.
    """
    kinds = dict.fromkeys([*CORNERS, "score", "width", "height"], float)
    kinds |= dict.fromkeys(["image", "class", "box"], str)
    with _refusing(path):
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
    missing = [name for name in columns if name not in table]
    if missing:
        raise DetectionDataError(
            f"{path.name} has no column {', '.join(missing)}. It needs "
            f"{', '.join(columns)}, and has {', '.join(map(str, table.columns[:12]))}."
        )
    return table
