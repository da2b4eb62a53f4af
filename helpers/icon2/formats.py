"""Read labels and detections: COCO's or BDD100K's JSON, a CSV, or YOLO's text files.

Each format has a function that returns the same tables: images, their boxes or
detections, and the names of the classes by their id in the file.
"""

import json
from math import nan
from pathlib import Path

import pandas as pd
import yaml
from PIL import Image
from torchvision.datasets.folder import is_image_file

from helpers.icon2.attributes import CORNERS, DetectionDataError

FORMATS = (
    "COCO's JSON (a bbox is x, y, width, height), BDD100K's list of frames with "
    "'labels', a CSV of boxes (with the columns image, class, x1, y1, x2, y2 and, for "
    "detections, score), or a folder of YOLO's text files (detections need scores, by "
    "save_conf=True; the 'width' and 'height' of each image come from images/val next "
    "to labels/val, or from other labels)"
)
OF_DETECTIONS = ["image", "category", *CORNERS, "score", "extent"]
# Columns of images and boxes that are no attributes; the last are fields of COCO.
OWN = {
    "name",
    "crowd",
    "width",
    "height",
    "id",
    "image",
    "category",
    "ignore",
    "score",
    "area",
    "extent",
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
BDD100K_SIZE = {"width": 1280, "height": 720}  # of a frame that does not say its own
# BDD100K's classes that the ICON2 paper evaluates, and older names of some.
CLASSES = (
    "car",
    "pedestrian",
    "truck",
    "traffic sign",
    "traffic light",
    "bus",
    "motorcycle",
    "bicycle",
)
RENAMED = {"bike": "bicycle", "motor": "motorcycle", "person": "pedestrian"}
YOLO_COLUMNS = ["stem", "category", "x", "y", "w", "h", "score"]
YOLO_CORNERS = """
    x1 = (x - w / 2) * width
    y1 = (y - h / 2) * height
    x2 = (x + w / 2) * width
    y2 = (y + h / 2) * height
    extent = w * width * h * height
"""
# Classes whose labels are regions to ignore of another class.
IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}

Tables = tuple[pd.DataFrame, pd.DataFrame, dict]


def read_file(path: Path, labelled: Tables | None = None) -> Tables:
    """Read labels or detections in any of the formats.

    Parameters
    ----------
    path : Path
        A JSON or CSV file, or a folder of YOLO's text files.
    labelled : tuple, optional
        The tables of the labels, if the file holds detections in their images.

    Returns
    -------
    images : pandas.DataFrame
        With an ``id``, a ``name`` and attributes.
    boxes : pandas.DataFrame
        With the id or name of the ``image``, the id or name of the ``category``,
        corners (pixels, missing where an entry has no box), attributes, and what the
        file has of ``score``, ``area``, ``extent`` (width times height), ``iscrowd``
        and ``ignore``.
    classes : dict of str to str
        The name of each class by its id.
    """
    if path.is_dir():
        return read_yolo(path, labelled)
    if ".csv" in path.name.lower():
        return read_csv(path)
    return read_json(path)


def read_json(path: Path) -> Tables:
    """Read COCO's labels or results, or BDD100K's (Scalabel's) frames."""
    content = json.loads(path.read_bytes())
    if "frames" in content:
        content = content["frames"]
    if isinstance(content, dict):
        return read_coco(content)
    if content and "name" in content[0]:
        return read_bdd100k(content)
    return pd.DataFrame(), _coco_boxes(content), {}


def read_coco(content: dict) -> Tables:
    """Read COCO's labels; further fields of images and boxes are attributes."""
    images = pd.DataFrame([_attributes(one) | one for one in content["images"]])
    if "neg_category_ids" in images:  # a field of LVIS
        raise DetectionDataError(
            "its labels are federated (LVIS). Each image has labels of some classes "
            "only, so a detection of another class is neither right nor wrong. Use "
            "images in which all of your classes are labelled."
        )
    images["name"] = images["file_name"]
    classes = {str(one["id"]): str(one["name"]) for one in content["categories"]}
    return images, _coco_boxes(content["annotations"]), classes


def _coco_boxes(entries: list[dict]) -> pd.DataFrame:
    """Return the boxes of COCO's annotations or results, NaN where one has none."""
    boxes = []
    for entry in entries:
        x, y, width, height = entry.get("bbox") or [nan] * 4
        box = {
            "image": entry["image_id"],
            "category": str(entry["category_id"]),
            "x1": x,
            "y1": y,
            "x2": x + width,
            "y2": y + height,
            "extent": width * height,  # not of the rounded corners, as COCO has it
        }
        boxes.append(_attributes(entry) | entry | box)
    return pd.DataFrame(boxes)


def _attributes(entry: dict) -> dict:
    return entry.get("attributes") or {}


def read_bdd100k(frames: list[dict]) -> Tables:
    """Read BDD100K's labels or detections."""
    images = []
    boxes = []
    for frame in frames:
        name = frame["name"]
        size = frame.get("size") or BDD100K_SIZE
        image = _attributes(frame) | size | {"id": name, "name": name}
        if frame.get("videoName"):  # in labels of tracks
            image["video"] = frame["videoName"]
        images.append(image)
        for label in frame.get("labels") or []:
            category = RENAMED.get(label["category"], label["category"])
            box = {
                "image": name,
                "category": IGNORED.get(category, category),
                "score": label.get("score"),
                "ignore": category in IGNORED,
            }
            corners = label.get("box2d") or {}  # lanes have none
            boxes.append(_attributes(label) | corners | box)
    boxes = pd.DataFrame(boxes).rename(columns={"crowd": "iscrowd"})
    return pd.DataFrame(images), boxes, {}


def read_csv(path: Path) -> Tables:
    """Read a CSV of boxes; a row may be an image without a box."""
    boxes = read_table(path)
    boxes["category"] = boxes.pop("class")
    names = boxes["image"].dropna().unique()
    return pd.DataFrame({"id": names, "name": names}), boxes, {}


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV in which only an empty field is missing, and ``NA`` is a value."""
    texts = {"image": str, "class": str}
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])


def read_yolo(folder: Path, labelled: Tables | None) -> Tables:
    """Read a folder of YOLO's text files, one per image, named as the image.

    A line is ``class x y width height``, and a line of detections ends with the score.
    The point (x, y) is the middle of the box. Numbers are shares of the image. The
    images of labels are in a folder ``images`` in the place of ``labels``, and the
    names of the classes in ``data.yaml`` above.
    """
    images = labelled[0] if labelled else _pictures(folder)
    rows = []
    for file in sorted(folder.glob("*.txt")):
        for line in filter(str.strip, file.read_text().splitlines()):
            category, *numbers = line.split()
            x, y, width, height, *score = map(float, numbers)
            [score] = score or [nan]
            rows.append([file.stem, category, x, y, width, height, score])
    boxes = pd.DataFrame(rows, columns=YOLO_COLUMNS)
    stems = images["name"].map(lambda name: Path(name).stem)
    known = images[["id", "width", "height"]].set_index(stems)
    boxes = boxes.join(known, on="stem", validate="m:1").eval(YOLO_CORNERS)
    boxes = boxes.rename(columns={"id": "image"}).reindex(columns=OF_DETECTIONS)
    classes = {}
    for parent in folder.resolve().parents[:2]:
        file = parent / "data.yaml"
        if file.is_file():
            names = yaml.safe_load(file.read_text())["names"]  # a list or by number
            classes = pd.Series(names, dtype=str).rename(str).to_dict()
            break
    return images, boxes, classes


def _pictures(labels: Path) -> pd.DataFrame:
    """List the images of a folder of YOLO's labels, with their sizes."""
    # in place of the last folder of this name, as Ultralytics does
    folder = "/images".join(str(labels).rsplit("/labels", 1))
    images = []
    for file in Path(folder).glob("*"):
        if is_image_file(file.name):
            with Image.open(file) as image:
                images.append([file.name, file.name, *image.size])
    return pd.DataFrame(images, columns=["id", "name", "width", "height"])
