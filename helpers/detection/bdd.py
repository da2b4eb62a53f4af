"""BDD100K labels and Scalabel predictions.

Two styles of names are in use: older files say bike, motor and person where newer ones say bicycle,
motorcycle and pedestrian, and keep the boxes in ``frames[0].objects``. What BDD100K calls other
person, other vehicle and trailer are regions to ignore for pedestrian, car and truck, as in the
data set's own evaluation; boxes marked ``crowd`` are such regions for their own class.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

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
IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}
WEATHER, SCENE, TIME = "weather", "scene", "timeofday"


def read_labels(
    path: str | Path, classes: tuple[str, ...] = CLASSES, bad: str = "refuse"
) -> GroundTruth:
    """Read BDD100K labels.

    Parameters
    ----------
    path
        A file (list, object with frames, JSON lines) or a folder with a file a frame.
    classes
        Classes to keep; boxes of others are counted in the report.
    bad
        ``refuse`` a box with NaN or inverted corners, or ``leave out`` and count them.

    Returns
    -------
    GroundTruth
        Image attributes are those of the files (weather, scene, timeofday where present, and
        ``video``); box attributes likewise (occluded, truncated).

    Raises
    ------
    DetectionDataError
        With file, frame and label, for a file cut short, a name given twice, or an unusable box.
    """
    images, rows, places, boxless = [], [], [], 0
    for place, frame in files.frames(path):
        images.append(_image(frame))
        for number, label in enumerate(_labels(frame, place)):
            if label.get("box2d") is not None:  # lanes and drivable areas have no box
                rows.append(_box(label, len(images) - 1, f"{place}, label {number}"))
                places.append(f"{place} ({frame['name']}), label {number}")
            else:
                boxless += 1
    check_names([image["name"] for image in images], Path(path).name)
    if not images:
        raise DetectionDataError(f"{Path(path).name}: holds no frame")
    boxes, report = _kept(rows, places, classes, bad)
    if "crowd" in boxes:
        boxes["ignore"] |= boxes.pop("crowd").eq(True)
    table = pd.DataFrame(images)
    report += counted({"labels left out: they have no box (lanes, drivable areas)": boxless})
    return GroundTruth(table, boxes, tuple(classes), (*report, *_absent(table)))


def read_predictions(path: str | Path, truth: GroundTruth, bad: str = "refuse") -> Detections:
    """Read predictions in Scalabel's format for labelled images.

    Detections for images that `truth` does not hold, and of classes that it does not have, are
    left out and counted in the report; so are images without any detection.

    Raises
    ------
    DetectionDataError
        With file, frame and label, for a missing score, a score that is not a number, an unusable
        box or a file cut short.
    """
    number_of = {name: i for i, name in enumerate(truth.images.name)}
    rows, places, seen, unknown = [], [], [], Counter()
    for place, frame in files.frames(path):
        seen.append(frame["name"])
        image = number_of.get(frame["name"])
        for number, label in enumerate(_labels(frame, place)):
            where = f"{place} ({frame['name']}), label {number}"
            if image is None:
                unknown["detections left out: their image has no labels"] += 1
            else:
                rows.append(_box(label, image, where) | {"score": _score(label, where)})
                places.append(where)
    check_names(seen, Path(path).name)
    boxes, report = _kept(rows, places, truth.classes, bad, "detections", ["score"])
    without = len(set(truth.images.name) - set(seen))
    unknown["labelled images have no entry in the predictions: taken as no detection"] = without
    return Detections(boxes[["image", "category", *CORNERS, "score"]], (*counted(unknown), *report))


def read_tags(path: str | Path) -> pd.DataFrame:
    """Image attributes from a file of frames without boxes: ``name`` and a column an attribute."""
    return pd.DataFrame([_image(frame) for _, frame in files.frames(path)])


def _image(frame: dict) -> dict:
    video = frame.get("videoName") or Path(frame["name"]).stem
    return {"name": frame["name"], "video": video} | (frame.get("attributes") or {})


def _labels(frame: dict, place: str) -> list[dict]:
    if frame.get("frames"):  # the older style
        frame = {"labels": frame["frames"][0].get("objects")}
    labels = frame.get("labels") or []
    if not isinstance(labels, list) or not all(isinstance(one, dict) for one in labels):
        raise DetectionDataError(f"{place}: the labels of a frame are a list of objects")
    return labels


def _box(label: dict, image: int, place: str) -> dict[str, Any]:
    box = label.get("box2d")
    if not isinstance(box, dict) or not set(CORNERS) <= set(box):
        raise DetectionDataError(f"{place}: 'box2d' needs {', '.join(CORNERS)}")
    if not isinstance(label.get("category"), str):
        raise DetectionDataError(f"{place}: 'category' is missing")
    return (
        {"image": image, "name": label["category"]}
        | {k: coordinate(box[k], f"{place}, {k}") for k in CORNERS}
        | (label.get("attributes") or {})
    )


def _score(label: dict, place: str) -> float:
    score = label.get("score")
    if not isinstance(score, int | float) or not np.isfinite(score):
        raise DetectionDataError(
            f"{place}: 'score' is {score!r}; every detection needs a finite score"
        )
    return float(score)


def _kept(
    rows: list[dict],
    places: list[str],
    classes: tuple[str, ...],
    bad: str,
    noun: str = "boxes",
    columns: list[str] | None = None,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The usable boxes of known classes, and sentences about the others."""
    boxes = pd.DataFrame(
        rows, columns=None if rows else ["image", "name", *CORNERS, *(columns or [])]
    )
    names = boxes.pop("name").replace(RENAMED)
    boxes[CORNERS] = boxes[CORNERS].astype(float)
    boxes["ignore"] = names.isin(list(IGNORED))
    category = pd.Index(classes).get_indexer(names.replace(IGNORED))
    boxes.insert(1, "category", category.astype(np.int64))
    known = category >= 0
    usable = check_boxes(boxes[CORNERS].to_numpy(), places, bad)
    others = Counter(names[~known])
    report = counted(
        {
            f"{noun} left out, not a class here: "
            + ", ".join(f"{name} {n:,}" for name, n in others.most_common()): int((~known).sum()),
            f"{noun} left out: a corner is NaN, or the box inverted or empty": int((~usable).sum()),
        }
    )
    return boxes[known & usable].reset_index(drop=True), report


def _absent(images: pd.DataFrame) -> tuple[str, ...]:
    return counted(
        {
            f"of {len(images):,} images have no value for {column!r}": int(
                images[column].isna().sum()
            )
            for column in images.columns
        }
    )
