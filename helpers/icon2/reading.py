"""Read labels and detections: COCO's or BDD100K's JSON, a CSV, or YOLO's text files.

All are converted to the same tables, which are checked once. `Checks` lists what looks
wrong.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.icon2 import bdd100k, file_checks, yolo
from helpers.icon2.file_checks import CORNERS, Checks, DetectionDataError

# Columns of images and boxes that are no attributes; the last are fields of COCO.
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
    "license",
    "coco_url",
    "flickr_url",
    "date_captured",
    "file_name",
    "image_id",
    "category_id",
    "bbox",
    "iscrowd",
    "segmentation",
    "keypoints",
    "num_keypoints",
    "attributes",
}
FEDERATED = "neg_category_ids"  # a field of LVIS's images
FORMS = (
    "COCO's JSON, BDD100K's list of frames with 'labels', a CSV of boxes (with the "
    "columns image, class, x1, y1, x2, y2 and, for detections, score), or a folder of "
    "YOLO's text files (detections with scores, by save_conf=True)"
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
    with refusing(path, FORMS):
        images, boxes, names = _tables(path)
        boxes["ignore"] = _flags(boxes, "iscrowd") | _flags(boxes, "ignore")
        area = boxes.get("area", boxes["extent"]).astype(float)
        boxes["area"] = area.fillna(boxes["extent"])
    boxes["area"] = file_checks.plausible_area(path, boxes, checks)
    boxes = boxes.drop(columns=["crowd", "score"], errors="ignore")
    file_checks.refuse_impossible(path, boxes, images, "boxes")
    return Labels(images, boxes, names)


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
    with refusing(path, FORMS):
        images, table, _ = _tables(path, labels)
        table["score"] = table["score"].astype(float)
    table = table[["image", "category", *CORNERS, "score", "extent"]]
    is_labelled = table["image"] >= 0
    left_out = (~is_labelled).sum()
    checks.count(left_out, "detections left out: their image has no labels")
    table = table[is_labelled].reset_index(drop=True)
    without = len(images) - table["image"].nunique()
    checks.count(without, "labelled images have no detection")
    file_checks.refuse_impossible(path, table, images, "detections")
    return table


@contextmanager
def refusing(path: Path, expected: str) -> Iterator[None]:
    """Say in a sentence why a file cannot be read, and what is expected."""
    try:
        yield
    except DetectionDataError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DetectionDataError(
            f"{path.name} cannot be read ({type(error).__name__}: {reason}). Expected "
            f"is {expected}."
        ) from None


def _tables(
    path: Path, labels: Labels | None = None
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Return images, boxes or detections, and the names of classes by id.

    Detections are of the images and classes of the `labels`.
    """
    names = {}
    if labels is not None:
        images, names = labels.images, labels.categories
    if path.is_dir():
        if labels is None:
            images, names = yolo.read_images(path), yolo.read_names(path)
        boxes = yolo.read_boxes(path, images, scored=labels is not None)
    elif ".csv" in path.suffixes:
        boxes = read_csv(path).rename(columns={"class": "category"})
        if labels is None:
            sides = boxes.columns.intersection(["width", "height"])
            images = boxes.groupby("image")[sides].first().reset_index(names="name")
            images["id"] = images["name"]
        # a row may be an image without a box
        boxes = boxes.dropna(subset=["category", *CORNERS], how="all")
    else:
        content = _read_json(path)
        boxes = _coco_boxes(content["annotations"])
        if labels is None:
            images = _coco_images(path, content["images"])
            categories = content["categories"]
            names = {str(one["id"]): str(one["name"]) for one in categories}
    if boxes.empty:
        raise DetectionDataError(f"{path.name} has no box. Expected is {FORMS}.")
    extent = boxes.eval("(x2 - x1) * (y2 - y1)")
    boxes = boxes.assign(extent=boxes.get("extent", extent)).reset_index(drop=True)
    boxes["image"] = file_checks.positions(
        path, boxes["image"], images["id"], images["name"]
    )
    boxes["category"] = boxes["category"].map(
        lambda name: names.get(name, name), na_action="ignore"
    )
    return images, boxes, names


def _read_json(path: Path) -> dict:
    """Return COCO's labels, or its results as ``annotations``."""
    content = json.loads(path.read_bytes())
    if isinstance(content, dict):
        content = content.get("frames", content)
    if isinstance(content, dict):
        return content
    if content and "name" in content[0]:
        return bdd100k.to_coco(content)
    return {"annotations": content}


def _coco_images(path: Path, entries: list[dict]) -> pd.DataFrame:
    """Return COCO's images in the order of their ids."""
    images = _entries(entries)
    if FEDERATED in images:
        raise DetectionDataError(
            f"{path.name}: its labels are federated, as those of LVIS: an image has "
            "labels of some classes only, so a detection of another class is neither "
            "right nor wrong. Use images in which all of your classes are labelled."
        )
    images = images.sort_values("id", ignore_index=True)
    images["id"] = _texts(images["id"])
    images["name"] = images.get("file_name", images["id"]).fillna(images["id"])
    return images


def _coco_boxes(entries: list[dict]) -> pd.DataFrame:
    """Return COCO's annotations or results with a box; ids are text."""
    table = _entries(entries)
    if table.empty:
        return table
    table = table.dropna(subset="bbox", ignore_index=True)
    x, y, width, height = np.array(table["bbox"].tolist(), float).T
    if "id" in table:
        table["box"] = _texts(table["id"])
    return table.assign(
        image=_texts(table["image_id"]),
        category=_texts(table["category_id"]),
        x1=x,
        y1=y,
        x2=x + width,
        y2=y + height,
        extent=width * height,  # not rounded, as COCO has it
    )


def _entries(entries: list[dict]) -> pd.DataFrame:
    """Return a table of COCO's entries, and of the fields in their ``attributes``."""
    return pd.DataFrame([(one.get("attributes") or {}) | one for one in entries])


def _texts(ids: pd.Series) -> pd.Series:
    """Return ids as text, and whole numbers without a decimal point."""
    texts = ids.astype(str).str.removesuffix(".0")
    return texts.where(ids.notna())


def _flags(table: pd.DataFrame, name: str) -> pd.Series:
    """Return a column of zeros and ones, or of truth values; absent is false."""
    column = table.get(name, pd.Series(False, table.index))
    return pd.to_numeric(column).fillna(0).astype(bool)


def read_csv(path: Path) -> pd.DataFrame:
    """Read a CSV in which only an empty field is missing, and ``NA`` is a value.

    Parameters
    ----------
    path : Path
        With commas, in UTF-8.

    Returns
    -------
    pandas.DataFrame
    """
    kinds = dict.fromkeys([*CORNERS, "score", "width", "height"], float)
    kinds |= dict.fromkeys(["image", "class", "box"], str)
    return pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
