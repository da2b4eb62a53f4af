"""Labels and detections in BDD100K's format (Scalabel's), read into tables.

Two styles of names are in use: older files say bike, motor and person where newer ones say bicycle,
motorcycle and pedestrian, and keep the boxes in ``frames[0].objects``. What BDD100K calls other
person, other vehicle and trailer are regions to ignore for pedestrian, car and truck, as in the
data set's own evaluation; boxes marked ``crowd`` are such regions for their own class.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.worlds.driving import DrivingWorld

CORNERS = ["x1", "y1", "x2", "y2"]
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


class DetectionDataError(ValueError):
    """A label or detection cannot be used; the message names the file, the place and what to do."""


@dataclass(frozen=True)
class GroundTruth:
    """Images with their labelled boxes.

    Attributes
    ----------
    images : DataFrame, one row an image
        ``name``, and one column for each attribute an image has (NaN where it is absent). Images
        are numbered from 0 in the order of their names.
    boxes : DataFrame, one row a box
        ``image`` and ``category`` (numbers, from 0), ``x1 y1 x2 y2`` (pixels, y down), ``ignore``
        (a region in which detections, one or several, count neither for nor against), and one
        column for each attribute of boxes.
    classes : tuple of str
    report : tuple of str
        A sentence for everything that was left out or looked odd, with its count.
    """

    images: pd.DataFrame
    boxes: pd.DataFrame
    classes: tuple[str, ...]
    report: tuple[str, ...] = ()

    @classmethod
    def of(cls, world: DrivingWorld) -> GroundTruth:
        """What is labelled in a planted world."""
        return cls(world.images, world.boxes, world.classes)

    def with_images(self, **columns: Sequence) -> GroundTruth:
        """The same with further image attributes: one value an image."""
        columns = {name: np.asarray(values) for name, values in columns.items()}
        return replace(self, images=self.images.assign(**columns))


def read_labels(path: str | Path) -> GroundTruth:
    """Read BDD100K labels: a file (list, object with frames, JSON lines) or a folder of such files.

    Attributes of images are those of the files (weather, scene, timeofday where present) and
    ``video``; those of boxes likewise (occluded, truncated). Attributes named as a field of the
    frame or box are left out, and counted.

    Raises
    ------
    DetectionDataError
        With file, frame and label, for a file cut short, a name given twice, or an unusable box.
    """
    images, rows, places, left_out = [], [], [], Counter()
    for place, frame in _frames(path):
        fields = {
            "name": frame["name"],
            "video": frame.get("videoName") or Path(frame["name"]).stem,
        }
        images.append(_with_attributes(fields, frame, set(fields), left_out))
        for number, label in enumerate(_labels(frame, place)):
            if label.get("box2d") is None:
                left_out["labels left out: they have no box (lanes, drivable areas)"] += 1
                continue
            places.append(f"{place} ({frame['name']}), label {number}")
            fields = _box(label, len(images) - 1, places[-1])
            reserved = {*fields, "category", "ignore"}
            rows.append(_with_attributes(fields, label, reserved, left_out))
    table = _by_name(images, Path(path).name)
    boxes = _table(rows, CLASSES, left_out, "boxes")
    _check_corners(boxes, places, empty_allowed=False)
    boxes = boxes[boxes.category >= 0].reset_index(drop=True)
    if "crowd" in boxes:
        boxes["ignore"] |= boxes.pop("crowd").eq(True)
    boxes["image"] = table["read"].argsort().to_numpy()[boxes.image]
    boxes = boxes.sort_values("image", kind="stable", ignore_index=True)
    table = table.drop(columns="read")
    for column in table:
        absent = int(table[column].isna().sum())
        left_out[f"of {len(table):,} images have no value for {column!r}"] = absent
    return GroundTruth(table, boxes, CLASSES, _sentences(left_out))


def read_detections(path: str | Path, truth: GroundTruth) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read predictions in Scalabel's format for labelled images.

    Detections for images that `truth` does not hold, and of classes that it does not have, are left
    out and counted; so are images without any detection. A box without area stays: it is a false
    positive, as COCO counts it.

    Returns
    -------
    detections : DataFrame
        ``image category x1 y1 x2 y2 score``.
    report : tuple of str
        A sentence for everything that was left out or looked odd, with its count.

    Raises
    ------
    DetectionDataError
        With file, frame and label, for a missing score, a score that is not a number, an unusable
        box or a file cut short; and where no image or no detection is one of `truth`.
    """
    source, number_of = Path(path).name, {name: i for i, name in enumerate(truth.images.name)}
    rows, places, names, left_out = [], [], [], Counter()
    for place, frame in _frames(path):
        names.append(frame["name"])
        image = number_of.get(frame["name"])
        for number, label in enumerate(_labels(frame, place)):
            if image is None:
                left_out["detections left out: their image has no labels"] += 1
                continue
            places.append(f"{place} ({frame['name']}), label {number}")
            row = _box(label, image, places[-1])
            rows.append(row | {"score": _score(label, places[-1])})
    _check_names(names, source)
    absent = len(set(number_of) - set(names))
    if absent == len(number_of):
        raise DetectionDataError(
            f"{source}: none of its {len(names):,} images is labelled. Its first is {names[0]!r}, "
            f"the first labelled is {truth.images.name[0]!r}: names must be the same in both"
        )
    left_out["labelled images have no entry in the predictions: taken as no detection"] = absent
    found = _table(rows, truth.classes, left_out, "detections", ["score"])
    _check_corners(found, places, empty_allowed=True)
    found = found.loc[found.category >= 0, ["image", "category", *CORNERS, "score"]]
    if found.empty:
        raise DetectionDataError(
            f"{source}: no detection is left of labelled images and known classes; "
            + ("; ".join(_sentences(left_out)) or "its frames hold no label")
        )
    empty = (found.x2 == found.x1) | (found.y2 == found.y1)
    left_out["detections have no area: they are false positives, as COCO counts them"] = empty.sum()
    return found.reset_index(drop=True), _sentences(left_out)


def load_json(path: Path) -> Any:
    """Content of one JSON file; a refusal names the file, the line and what to do."""
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file in {path.parent.name!r}")
    return _parse(_text(path), path.name)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DetectionDataError(
            f"{path.name}, byte {error.start}: not UTF-8 text; give the JSON file itself, unpacked"
        ) from None


def _parse(text: str, name: str, line: int = 0) -> Any:
    """JSON from text that begins after `line` lines of a file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        ends = error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
        what = "was cut short" if ends else "is not JSON there"
        raise DetectionDataError(
            f"{name}, line {line + error.lineno}, column {error.colno} (character {error.pos} of "
            f"{len(text)}): the file {what} ({error.msg}); copy or download it again"
        ) from None


def _frames(path: str | Path) -> Iterator[tuple[str, dict]]:
    """Where each frame stands, for messages, and the frame."""
    path = Path(path)
    if path.is_dir():
        paths = sorted(p for p in path.rglob("*.json*") if p.is_file())
        if not paths:
            raise DetectionDataError(f"{path.name}: the folder holds no .json file")
        for one in paths:
            yield from _frames(one)
        return
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file or folder")
    if path.suffix in (".jsonl", ".ndjson"):
        lines = enumerate(_text(path).splitlines())
        content = [_parse(line, path.name, n) for n, line in lines if line.strip()]
    else:
        content = _parse(_text(path), path.name)
    if isinstance(content, dict) and "name" in content:
        content = [content]
    elif isinstance(content, dict):
        content = content.get("frames")
    if not isinstance(content, list):
        raise DetectionDataError(
            f"{path.name}: neither a list of frames, nor an object with 'frames', nor one frame"
        )
    if not content:
        raise DetectionDataError(f"{path.name}: holds no frame")
    for number, frame in enumerate(content):
        place = f"{path.name}, frame {number}"
        if not isinstance(frame, dict) or not isinstance(frame.get("name"), str):
            raise DetectionDataError(f"{place}: a frame is an object with a 'name'")
        if not isinstance(frame.get("attributes") or {}, dict):
            raise DetectionDataError(f"{place}: 'attributes' is an object, name and value each")
        yield place, frame


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
    for corner in CORNERS:
        value = box[corner]
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise DetectionDataError(f"{place}, {corner}: {value!r} is no number; a box has pixels")
    return {"image": image, "name": label["category"]} | {k: box[k] for k in CORNERS}


def _score(label: dict, place: str) -> float:
    score = label.get("score")
    if not isinstance(score, int | float) or not np.isfinite(score):
        raise DetectionDataError(
            f"{place}: 'score' is {score!r}; every detection needs a finite score"
        )
    return float(score)


def _with_attributes(fields: dict, given: dict, reserved: set, left_out: Counter) -> dict:
    """The fields, and the attributes that are not named as one of them."""
    attributes = given.get("attributes") or {}
    for name in reserved & attributes.keys():
        left_out[f"attributes {name!r} left out: a field has that name"] += 1
    return fields | {k: v for k, v in attributes.items() if k not in reserved}


def _by_name(images: list[dict], source: str) -> pd.DataFrame:
    """Images in the order of their names, with the place in which they were read.

    COCO breaks ties among scores by the images' ids, which Scalabel gives by name.
    """
    _check_names([image["name"] for image in images], source)
    table = pd.DataFrame(images).assign(read=np.arange(len(images)))
    return table.sort_values("name", ignore_index=True)


def _check_names(names: list[str], source: str) -> None:
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        if first.setdefault(name, position) != position:
            raise DetectionDataError(
                f"{source}: image {name!r} occurs twice (frames {first[name]} and {position}); "
                "merge the two or rename one"
            )


def _table(rows, classes, left_out: Counter, noun: str, columns: Sequence[str] = ()):
    """Boxes with their category (-1 for another class, which is counted) and ``ignore``."""
    boxes = pd.DataFrame(rows, columns=None if rows else ["image", "name", *CORNERS, *columns])
    names = boxes.pop("name").replace(RENAMED)
    boxes[CORNERS] = boxes[CORNERS].astype(float)
    boxes["ignore"] = names.isin(list(IGNORED))
    category = pd.Index(classes).get_indexer(names.replace(IGNORED))
    boxes.insert(1, "category", category.astype(np.int64))
    others = Counter(names[category < 0])
    listed = ", ".join(f"{name} {n:,}" for name, n in others.most_common())
    left_out[f"{noun} left out, not a class here: {listed}"] = others.total()
    return boxes


def _check_corners(boxes: pd.DataFrame, places: list[str], empty_allowed: bool) -> None:
    x1, y1, x2, y2 = boxes[CORNERS].to_numpy().T
    finite = np.isfinite(boxes[CORNERS]).all(axis=1).to_numpy()
    right = (x2 >= x1) & (y2 >= y1) if empty_allowed else (x2 > x1) & (y2 > y1)
    bad = np.flatnonzero(~(finite & right))
    if len(bad):
        at = bad[0]
        wrong = "inverted" if empty_allowed else "inverted or empty"
        raise DetectionDataError(
            f"{places[at]}: the box x1, y1, x2, y2 = {boxes[CORNERS].iloc[at].tolist()} is "
            f"{wrong if finite[at] else 'not finite'}; correct it or take it out"
        )


def _sentences(counts: Counter) -> tuple[str, ...]:
    return tuple(f"{n:,} {reason}" for reason, n in counts.items() if n)
