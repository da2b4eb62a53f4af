"""Read labels and detections: COCO's or BDD100K's JSON, a CSV, or YOLO's text files.

Each format has a function that returns the same tables: images, their boxes or
detections, and the names of the classes by their id in the file.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from PIL import Image
from torchvision.datasets.folder import is_image_file

from helpers.icon2.attributes import BDD100K_SIZE, CORNERS, DetectionDataError

FORMATS = (
    "COCO's JSON (a bbox is x, y, width, height), BDD100K's list of frames with "
    "'labels', a CSV of boxes (with the columns image, class, x1, y1, x2, y2 and, for "
    "detections, score), or a folder of YOLO's text files (detections with scores, by "
    "save_conf=True; the 'width' and 'height' of each image are known from images/val "
    "next to labels/val, or from other labels)"
)
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
# Classes whose labels are regions to ignore of another class.
IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}
YOLO_COLUMNS = ["image", "category", "x", "y", "w", "h", "score"]
YOLO_CORNERS = """
    x1 = (x - w / 2) * width
    y1 = (y - h / 2) * height
    x2 = (x + w / 2) * width
    y2 = (y + h / 2) * height
"""

Tables = tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]


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
        With an ``id`` (text), a ``name`` and attributes.
    boxes : pandas.DataFrame
        With the number of the ``image`` (-1 for none), the name of the ``category``,
        corners (pixels), ``extent`` (width times height), attributes, and NaN where the
        file has no ``area``, ``score``, ``iscrowd`` or ``ignore``.
    classes : dict of str to str
        The name of each class by its id.

    Raises
    ------
    DetectionDataError
        If the file cannot be read.
    """
    if path.is_dir():
        tables = read_yolo(path)
    elif ".csv" in path.suffixes:
        tables = read_csv(path)
    else:
        tables = read_json(path)
    boxes = tables[1].reset_index(drop=True)
    images, _, classes = labelled or tables
    if images.empty or boxes.empty:
        raise DetectionDataError("there are no images or no boxes.")
    names = images["name"].drop_duplicates(keep=False)
    keys = pd.concat([images["id"], names]).drop_duplicates()
    if path.is_dir():  # YOLO's files have the names of images, without the suffix
        keys = names.map(lambda name: Path(name).stem).drop_duplicates(keep=False)
    place = boxes["image"].map(pd.Series(keys.index, keys))
    if place.isna().all():
        raise DetectionDataError(
            "none of its rows is about a labelled image. They name "
            f"{boxes['image'][:2].tolist()}, and the labels {names[:2].tolist()}. Ids "
            "or names must agree, and only one image may have each."
        )
    boxes["image"] = place.fillna(-1).astype(int)
    if path.is_dir():
        sizes = images.reindex(columns=["width", "height"])
        boxes = boxes.join(sizes, on="image").eval(YOLO_CORNERS)
        boxes = boxes.drop(columns=["x", "y", "w", "h"])
    for name in [*CORNERS, "score", "area", "iscrowd", "ignore"]:
        boxes[name] = pd.Series(boxes.get(name), boxes.index, float)
    boxes["category"] = boxes["category"].map(
        lambda name: classes.get(name, name), na_action="ignore"
    )
    boxes["extent"] = boxes.get("extent", boxes.eval("(x2 - x1) * (y2 - y1)"))
    return images, boxes, classes


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
    images = images.sort_values("id", ignore_index=True)
    if "neg_category_ids" in images:  # a field of LVIS
        raise DetectionDataError(
            "its labels are federated, as those of LVIS: an image has labels of some "
            "classes only, so a detection of another class is neither right nor wrong. "
            "Use images in which all of your classes are labelled."
        )
    images["id"] = _texts(images["id"])
    images["name"] = images.get("file_name", images["id"]).fillna(images["id"])
    classes = {str(one["id"]): str(one["name"]) for one in content["categories"]}
    return images, _coco_boxes(content["annotations"]), classes


def _coco_boxes(entries: list[dict]) -> pd.DataFrame:
    """Return those of COCO's annotations or results that have a box."""
    boxes = pd.DataFrame([_attributes(one) | one for one in entries if one.get("bbox")])
    if boxes.empty:
        return boxes
    boxes = boxes.rename(columns={"id": "box"})
    boxes["image"] = _texts(boxes["image_id"])
    boxes["category"] = _texts(boxes["category_id"])
    x, y, width, height = np.array(boxes["bbox"].tolist(), float).T
    extent = width * height  # not of the rounded corners, as COCO has it
    return boxes.assign(x1=x, y1=y, x2=x + width, y2=y + height, extent=extent)


def _texts(ids: pd.Series) -> pd.Series:
    """Return ids as text, and whole numbers without a decimal point."""
    return ids.astype("string").str.removesuffix(".0")


def _attributes(entry: dict) -> dict:
    return entry.get("attributes") or {}


def read_bdd100k(frames: list[dict]) -> Tables:
    """Read BDD100K's labels or detections, without lanes and drivable areas."""
    images = []
    boxes = []
    for frame in frames:
        name = frame["name"]
        video = frame.get("videoName") or Path(name).stem
        size = frame.get("size") or BDD100K_SIZE
        image = {"id": name, "name": name, "video": video}
        images.append(_attributes(frame) | size | image)
        for label in frame.get("labels") or []:
            if label.get("box2d"):
                box = {
                    "image": name,
                    "box": label.get("id"),
                    "category": label["category"],
                    "score": label.get("score"),
                }
                boxes.append(_attributes(label) | label["box2d"] | box)
    images = pd.DataFrame(images).sort_values("id", ignore_index=True)
    boxes = pd.DataFrame(boxes).rename(columns={"crowd": "iscrowd"})
    if boxes.empty:
        return images, boxes, {}
    category = boxes["category"].replace(RENAMED)
    boxes["ignore"] = category.isin(IGNORED) & boxes["score"].isna()
    boxes["category"] = category.mask(boxes["ignore"], category.replace(IGNORED))
    return images, boxes, {}


def read_csv(path: Path) -> Tables:
    """Read a CSV of boxes; a row may be an image without a box."""
    boxes = read_table(path).rename(columns={"class": "category"})
    sizes = boxes.columns.intersection(["width", "height"])
    images = boxes.groupby("image")[sizes].first().reset_index(names="id")
    images["name"] = images["id"]
    return images, boxes.dropna(subset=["category", *CORNERS], how="all"), {}


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV in which only an empty field is missing, and ``NA`` is a value."""
    texts = {"image": str, "class": str, "box": str}
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])


def read_yolo(folder: Path) -> Tables:
    """Read a folder of YOLO's text files, one per image; corners are shares of it.

    A line is ``class x y width height``, where x and y are the middle of the box, and
    for detections also the score. The images of labels are in a folder ``images`` in
    the place of ``labels``, and the names of the classes in ``data.yaml`` above.
    """
    rows = []
    for file in sorted(folder.glob("*.txt")):
        for line in file.read_text().splitlines():
            if line.strip():
                category, *numbers = line.split()
                rows.append([file.stem, category, *map(float, numbers)])
    boxes = pd.DataFrame(rows)
    boxes.columns = YOLO_COLUMNS[: boxes.shape[1]]
    # the last folder of this name, as Ultralytics does
    pictures = "/images".join(str(folder).rsplit("/labels", 1))
    images = []
    for file in sorted(Path(pictures).glob("*")):
        if is_image_file(file.name):
            with Image.open(file) as image:
                images.append([file.stem, file.name, *image.size])
    images = pd.DataFrame(images, columns=["id", "name", "width", "height"])
    classes = {}
    for parent in folder.resolve().parents[:2]:
        file = parent / "data.yaml"
        if file.is_file():
            names = pd.Series(yaml.safe_load(file.read_text())["names"])
            classes = {str(number): str(name) for number, name in names.items()}
            break
    return images, boxes, classes
