"""COCO ground truth and results, read and written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.detection import files
from helpers.detection.data import (
    CORNERS,
    DetectionDataError,
    Detections,
    GroundTruth,
    check_boxes,
    check_names,
    coordinate,
    counted,
)


def read_labels(path: str | Path, bad: str = "refuse") -> GroundTruth:
    """Read COCO ground truth (``images``, ``annotations``, ``categories``).

    ``iscrowd`` annotations become regions to ignore. Further plain fields of images become image
    attributes.

    Raises
    ------
    DetectionDataError
        With file and position, for a file cut short, a missing part, an annotation of an unknown
        image or category, a name given twice, or an unusable box.
    """
    path = Path(path)
    content = files.load(path)
    for part in ("images", "annotations", "categories"):
        if not isinstance(content, dict) or not isinstance(content.get(part), list):
            raise DetectionDataError(f"{path.name}: {part!r} is missing; is it COCO ground truth?")
    _check_ids(content, path.name)
    images = [_image(image) for image in content["images"]]
    check_names([image["name"] for image in images], path.name)
    image_ids = tuple(image["id"] for image in content["images"])
    class_ids = tuple(c["id"] for c in content["categories"])
    rows, left_out, places = _rows(content["annotations"], path.name, image_ids, class_ids, False)
    boxes = pd.DataFrame(rows, columns=["image", "category", *CORNERS, "ignore", "area"])
    usable = check_boxes(boxes[CORNERS].to_numpy(float), places, bad)
    left_out["boxes left out: a corner is NaN, or the box inverted or empty"] = int((~usable).sum())
    classes = tuple(c["name"] for c in content["categories"])
    boxes = boxes[usable].reset_index(drop=True)
    return GroundTruth(
        pd.DataFrame(images), boxes, classes, counted(left_out), image_ids, class_ids
    )


def read_results(path: str | Path, truth: GroundTruth, bad: str = "refuse") -> Detections:
    """Read COCO results: a list of ``image_id category_id bbox score``.

    Detections of images or categories that `truth` does not hold are left out and counted.

    Raises
    ------
    DetectionDataError
        With file and position, for a missing score, an unusable box or a file cut short.
    """
    path = Path(path)
    content = files.load(path)
    if not isinstance(content, list):
        raise DetectionDataError(f"{path.name}: COCO results are a list of detections")
    rows, left_out, places = _rows(content, path.name, *ids(truth), True)
    boxes = pd.DataFrame(rows, columns=["image", "category", *CORNERS, "score"])
    usable = check_boxes(boxes[CORNERS].to_numpy(float), places, bad)
    left_out["detections left out: the box is not finite, inverted or empty"] = int((~usable).sum())
    return Detections(boxes[usable].reset_index(drop=True), counted(left_out))


def ids(truth: GroundTruth) -> tuple[tuple, tuple]:
    """What the files call images and classes; 1, 2, 3 and so on where they say nothing."""
    return (
        truth.image_ids or tuple(range(1, len(truth.images) + 1)),
        truth.class_ids or tuple(range(1, len(truth.classes) + 1)),
    )


def as_coco(truth: GroundTruth, detections: Detections) -> tuple[dict, list[dict]]:
    """Ground truth and results as COCO's structures, to hand to another evaluator."""
    image_ids, class_ids = ids(truth)
    annotations = [
        _annotation(row, image_ids, class_ids) | {"id": i + 1, "iscrowd": int(row.ignore)}
        for i, row in enumerate(truth.boxes.itertuples())
    ]
    results = [
        _annotation(row, image_ids, class_ids) | {"score": row.score}
        for row in detections.boxes.itertuples()
    ]
    pairs = zip(image_ids, truth.images.name, strict=True)
    images = [{"id": i, "file_name": name} for i, name in pairs]
    categories = [{"id": i, "name": n} for i, n in zip(class_ids, truth.classes, strict=True)]
    return {"images": images, "annotations": annotations, "categories": categories}, results


def _annotation(row, image_ids: tuple, class_ids: tuple) -> dict:
    width, height = row.x2 - row.x1, row.y2 - row.y1
    return {
        "image_id": image_ids[row.image],
        "category_id": class_ids[row.category],
        "bbox": [row.x1, row.y1, width, height],
        "area": width * height,
    }


def _check_ids(content: dict, name: str) -> None:
    """Refuse images or categories without an id of their own, and categories without a name."""
    for part, needed in (("images", ["id"]), ("categories", ["id", "name"])):
        first: dict = {}
        for position, one in enumerate(content[part]):
            place = f"{name}, {part} {position}"
            absent = [n for n in needed if not isinstance(one, dict) or n not in one]
            if absent:
                raise DetectionDataError(f"{place}: {absent[0]!r} is missing")
            if first.setdefault(one["id"], position) != position:
                raise DetectionDataError(f"{place}: id {one['id']!r} is that of {first[one['id']]}")


def _image(image: dict) -> dict:
    plain = {k: v for k, v in image.items() if isinstance(v, str | int | float)}
    return {"name": str(plain.get("file_name", plain["id"]))} | {
        k: v for k, v in plain.items() if k not in ("id", "file_name")
    }


def _rows(annotations, name, image_ids, class_ids, scored):
    image_of = {i: n for n, i in enumerate(image_ids)}
    class_of = {i: n for n, i in enumerate(class_ids)}
    rows, left_out, places = [], Counter(), []
    for number, one in enumerate(annotations):
        place = f"{name}, {'detection' if scored else 'annotation'} {number}"
        image, category = image_of.get(one.get("image_id")), class_of.get(one.get("category_id"))
        if image is None or category is None:
            what = "image" if image is None else "category"
            if not scored:
                raise DetectionDataError(f"{place}: {what} {one.get(f'{what}_id')!r} is not listed")
            left_out[f"detections left out: their {what} is not in the ground truth"] += 1
            continue
        corners = _corners(one, place)
        last = [_score(one, place)] if scored else [bool(one.get("iscrowd")), one.get("area")]
        rows.append([image, category, *corners, *last])
        places.append(place)
    return rows, left_out, places


def _corners(one: dict, place: str) -> list[float]:
    box = one.get("bbox")
    if not isinstance(box, list) or len(box) != 4:
        raise DetectionDataError(f"{place}: 'bbox' must be [x, y, width, height], not {box!r}")
    x, y, width, height = (coordinate(v, f"{place}, 'bbox'") for v in box)
    return [x, y, x + width, y + height]


def _score(one: dict, place: str) -> float:
    score = one.get("score")
    if not isinstance(score, int | float) or not np.isfinite(score):
        raise DetectionDataError(f"{place}: 'score' is {score!r}; a finite number is needed")
    return float(score)
