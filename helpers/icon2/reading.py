"""Read labels and detections: COCO's or BDD100K's JSON, a CSV, or YOLO's text files.

BDD100K's frames are converted to COCO's structures first. What looks wrong is said in
`Checks`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from helpers.icon2 import bdd100k, file_checks, yolo
from helpers.icon2.file_checks import CORNERS, Checks, DetectionDataError

__all__ = ["CORNERS", "OWN", "Checks", "DetectionDataError", "Labels"]

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
OF_COCO = {
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
}
COLUMNS = ["image", "class", *CORNERS]  # of a CSV; detections have `score`, too
FEDERATED = "neg_category_ids"  # a field of LVIS's images
TRUTH = TypeAdapter(bool | None)


@dataclass(frozen=True)
class Labels:
    """Labelled images and boxes, as they are in a file.

    Attributes
    ----------
    images : pandas.DataFrame
        With an ``id``, a ``name`` and attributes.
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
    if _is_csv(path):
        labels = _csv_labels(path)
    elif path.is_dir():
        labels = _yolo_labels(path)
    else:
        content = _read_json(path)
        frames = bdd100k.frames_of(content)
        if frames is not None:
            pairs = _rows(path, "frames", frames, bdd100k.labelled_frame)
            content = bdd100k.labels_to_coco(pairs)
        if not isinstance(content, dict) or "annotations" not in content:
            raise DetectionDataError(
                f"{path.name} holds no labels. Labels are COCO's JSON with 'images', "
                "'annotations' and 'categories', BDD100K's list of frames with "
                "'labels', a CSV, or a folder of YOLO's text files. If this is the "
                "file of detections, exchange the two files."
            )
        labels = _coco_labels(path, content, checks)
    if labels.boxes.empty:
        raise DetectionDataError(
            f"{path.name}: no image has a box, so there is nothing to detect. Name the "
            "file of the labelled boxes."
        )
    number = pd.Index(labels.images["id"], dtype=object)
    labels.boxes["image"] = number.get_indexer(labels.boxes["image"])
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
    if _is_csv(path):
        table = read_csv(path, [*COLUMNS, "score"])
        table = table.rename(columns={"class": "category"})
    elif path.is_dir():
        table = yolo.read_boxes(path, labels.images, scored=True)
    else:
        content = _read_json(path)
        frames = bdd100k.frames_of(content)
        if frames is not None:
            of_frames = _rows(path, "frames", frames, bdd100k.results_of_frame)
            content = [result for results in of_frames for result in results]
        if not isinstance(content, list):
            raise DetectionDataError(
                f"{path.name} holds no detections. Detections are COCO's list of "
                "results, BDD100K's list of frames with 'labels', a CSV, or a folder "
                "of YOLO's text files."
            )
        table = pd.DataFrame(_rows(path, "results", content, _result))
    if table.empty:
        raise DetectionDataError(
            f"{path.name} holds no detection. Name the file that your detector wrote."
        )
    if "extent" not in table:  # else as COCO has it, without rounding
        table["extent"] = (table["x2"] - table["x1"]) * (table["y2"] - table["y1"])
    named = table["category"].astype(str)
    named = named.map(lambda text: labels.categories.get(text, text))
    table["category"] = named.mask(table["category"].isna())
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


def _is_csv(path: Path) -> bool:
    return ".csv" in path.suffixes


def _read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise _no_file(path) from None
    except (ValueError, OSError) as error:
        raise DetectionDataError(
            f"{path.name} cannot be read as JSON ({error}). It may be cut short: copy "
            "or download it again."
        ) from None


def _no_file(path: Path) -> DetectionDataError:
    return DetectionDataError(
        f"There is no file {path.name} in the folder {path.parent.name!r}. Check the "
        "path."
    )


def _rows(path: Path, part: str, entries: list, row: Callable[[dict], Any]) -> list:
    """Return what a function makes of each entry of a file; a bad entry is named."""
    rows = []
    for number, entry in enumerate(entries):
        try:
            rows.append(row(entry))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = str(error)
            if isinstance(error, KeyError):
                reason = f"{error} is missing"
            raise DetectionDataError(
                f"{path.name}: entry {number} of its {part} cannot be read: {reason}. "
                f"The entry is {str(entry)[:80]}"
            ) from None
    return rows


def _coco_labels(path: Path, content: dict, checks: Checks) -> Labels:
    """Return the labels of COCO's structures."""
    parts = {}
    for part, row in (("images", _image), ("categories", _category)):
        parts[part] = pd.DataFrame(_rows(path, part, content.get(part) or [], row))
        if parts[part].empty:
            raise DetectionDataError(
                f"{path.name} has no {part!r}. COCO's labels need 'images', "
                "'annotations' and 'categories'."
            )
        file_checks.refuse_repeated(path, parts[part]["id"], f"ids of {part}")
    images, categories = parts["images"], parts["categories"]
    file_checks.refuse_repeated(path, categories["name"], "names of categories")
    if any(FEDERATED in image for image in content["images"]):
        raise DetectionDataError(
            f"{path.name}: its labels are federated, as those of LVIS: an image has "
            "labels of some classes only, so a detection of another class is neither "
            "right nor wrong. Use images in which all of your classes are labelled."
        )
    annotations = [one for one in content["annotations"] if one.get("bbox")]
    without = len(content["annotations"]) - len(annotations)
    checks.count(without, "labels left out: they have no box")
    boxes = pd.DataFrame(_rows(path, "annotations", annotations, _annotation))
    if images["id"].map(type).nunique() > 1:
        images["id"] = images["id"].astype(str)
        boxes["image"] = boxes["image"].astype(str)
    images = images.sort_values("id", ignore_index=True)
    names = dict(zip(categories["id"], categories["name"], strict=True))
    if len(boxes):
        for column, known in (("image", set(images["id"])), ("category", set(names))):
            unknown = set(boxes[column]) - known
            if unknown:
                raise DetectionDataError(
                    f"{path.name}: boxes are of {column} {min(unknown, key=str)!r}, "
                    "which is not listed. Add it to the file, or remove its boxes."
                )
        boxes["category"] = boxes["category"].map(names)
        boxes = file_checks.with_ignored(path, boxes, checks)
        boxes["area"] = file_checks.plausible_area(path, boxes, checks)
    names = {str(key): name for key, name in names.items()}
    return Labels(images, boxes, names)


def _image(entry: dict) -> dict:
    key = _id(entry["id"])
    row = {"id": key, "name": str(entry.get("file_name", key))}
    for side in ("width", "height"):
        if entry.get(side):
            row[side] = entry[side]
    return row | _attributes(entry)


def _category(entry: dict) -> dict:
    return {"id": _id(entry["id"]), "name": str(entry["name"])}


def _box(entry: dict) -> dict:
    """Return what labels and results have in common."""
    if len(entry["bbox"]) != 4:
        raise ValueError(
            f"'bbox' has {len(entry['bbox'])} numbers, not 4: x, y, width, height"
        )
    x, y, width, height = map(float, entry["bbox"])
    return {
        "image": _id(entry["image_id"]),
        "category": _id(entry["category_id"]),
        "x1": x,
        "y1": y,
        "x2": x + width,
        "y2": y + height,
        "extent": width * height,
    }


def _annotation(entry: dict) -> dict:
    row = _box(entry)
    row["ignore"] = is_true(entry.get("iscrowd"), "iscrowd")
    row["ignore_field"] = is_true(entry.get("ignore"), "ignore")
    row["box"] = str(entry.get("id"))
    row["area"] = row["extent"] if entry.get("area") is None else float(entry["area"])
    return row | _attributes(entry)


def _result(entry: dict) -> dict:
    return _box(entry) | {"score": float(entry["score"])}


def _id(key: Any) -> int | str:
    if not isinstance(key, int | float | str):
        raise ValueError(f"{key!r} is no id: ids are numbers or text")
    if isinstance(key, float) and key.is_integer():
        return int(key)
    return key


def is_true(value: Any, name: str) -> bool:
    """Return a field that is true or false, in a usual way; absent is false."""
    try:
        return bool(TRUTH.validate_python(value))
    except ValueError:
        raise ValueError(f"{name!r} is {value!r}; it has to be 0 or 1") from None


def _attributes(entry: dict) -> dict:
    """Return the attributes of an image or box: further fields with single values."""
    more = {
        key: value
        for key, value in entry.items()
        if key not in OF_COCO and isinstance(value, str | int | float)
    }
    more |= entry.get("attributes") or {}
    return {
        key: value
        for key, value in more.items()
        if key not in OWN and key not in ("crowd", "iscrowd")
    }


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
    named_by = images["id"].astype(str)
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
    boxes["extent"] = (boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"])
    boxes["area"] = boxes["extent"]
    try:
        marks = boxes["ignore"] if "ignore" in boxes else pd.Series(None, boxes.index)
        boxes["ignore"] = [is_true(mark, "ignore") for mark in marks.fillna(0)]
    except ValueError as error:
        raise DetectionDataError(f"{path.name}: {error}.") from None
    return Labels(images, boxes, {})


def _yolo_labels(folder: Path) -> Labels:
    """Return the labels of a folder of YOLO's text files."""
    images = yolo.read_images(folder)
    names = yolo.read_names(folder)
    boxes = yolo.read_boxes(folder, images, scored=False)
    boxes["category"] = boxes["category"].map(lambda number: names.get(number, number))
    boxes["extent"] = (boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"])
    boxes["area"] = boxes["extent"]
    boxes["ignore"] = False
    return Labels(images, boxes, names)


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
        If it cannot be read, a column is missing, or a coordinate or score is no
        number.
    """
    kinds = dict.fromkeys([*CORNERS, "score", "width", "height"], float)
    kinds |= dict.fromkeys(["image", "class", "box"], str)
    try:
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise _no_file(path) from None
    except (ValueError, OSError, EOFError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DetectionDataError(
            f"{path.name} cannot be read as CSV ({reason}). Save it with commas, as "
            "CSV UTF-8; coordinates and scores are numbers or empty."
        ) from None
    missing = [name for name in columns if name not in table]
    if missing:
        raise DetectionDataError(
            f"{path.name} has no column {', '.join(missing)}. It needs "
            f"{', '.join(columns)}, and has {', '.join(map(str, table.columns[:12]))}."
        )
    return table
