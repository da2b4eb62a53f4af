"""Labels and detections in BDD100K's format (Scalabel's), JSON or JSON lines, read into tables.

Older files have other names, and their boxes in ``frames[0].objects``. Some classes, and what is
marked ``crowd``, are regions to ignore for others."""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    Field,
    FiniteFloat,
    PositiveInt,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import from_json

from helpers.worlds.driving import CLASSES

WIDTH, HEIGHT = 1280, 720  # pixels of BDD100K's frames; others stand in the labels, in "size"
SHARES = 2  # pixels: corners that never go beyond are shares of the frame
FILES = re.compile(r"[^.].*\.(json|jsonl|ndjson)(\.gz)?", re.IGNORECASE)  # of a folder
CROWD = "crowd", "iscrowd"
CORNERS = ["x1", "y1", "x2", "y2"]
RENAMED = {"bike": "bicycle", "motor": "motorcycle", "person": "pedestrian"}
HIDDEN = "attributes left out: they are named as a field of the frame or box"
IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}


class DetectionDataError(ValueError):
    """A file, a label or an attribute cannot be used; the message says which and what to do."""


class _Box(BaseModel, strict=True):
    x1: FiniteFloat
    y1: FiniteFloat
    x2: FiniteFloat
    y2: FiniteFloat


class _Label(BaseModel, strict=True):
    id: str | int | None = None
    category: str
    box2d: _Box | None = None
    score: FiniteFloat | None = None
    attributes: dict[str, Any] | None = None
    crowd: bool | None = Field(  # "true" and 1 are true, too
        None,
        strict=False,
        validation_alias=AliasChoices(*CROWD, *(AliasPath("attributes", name) for name in CROWD)),
    )


class _Objects(BaseModel, strict=True):
    objects: list[_Label] | None = None


class _Size(BaseModel, strict=True):
    width: PositiveInt
    height: PositiveInt


class _Frame(BaseModel, strict=True):
    name: str
    videoName: str | None = None
    size: _Size | None = None
    attributes: dict[str, Any] | None = None
    labels: list[_Label] | None = None
    frames: list[_Objects] | None = None  # the older style


def read_labels(
    path: str | Path, classes: Sequence[str] | None = CLASSES
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Images and boxes of BDD100K's labels, and sentences about what is missing or left out. Of
    other `classes` than its eight, None keeps all, by their names."""
    frames, left_out = sorted(_frames(path), key=lambda one: one[1].name), Counter()
    rows = []
    for _, frame in frames:
        fields = {"name": frame.name, "video": frame.videoName or Path(frame.name).stem}
        fields |= dict(frame.size or _Size(width=WIDTH, height=HEIGHT))
        left_out[HIDDEN] += len((frame.attributes or {}).keys() & fields)
        rows.append(fields | (frame.attributes or {}) | fields)
    images = pd.DataFrame(rows)
    boxes = _table(frames, images, path, left_out, False, classes)
    twice = boxes.duplicated(["image", "category", *CORNERS]).sum()
    left_out["boxes have the class and corners of another one: each of them counts"] = twice
    for column, absent in images.isna().sum().items():
        left_out[f"of {len(images):,} images have no value for {column!r}"] = absent
    return images, boxes, _sentences(left_out)


def read_detections(
    path: str | Path, images: pd.DataFrame, classes: Sequence[str] | None = CLASSES
) -> tuple[pd.DataFrame, list[str]]:
    """Detections of labelled images, and sentences; without area they are false positives."""
    frames, left_out = _frames(path), Counter()
    names, source = numbered([frame.name for _, frame in frames], path), Path(path).name
    absent = (~images["name"].isin(list(names))).sum()
    if absent == len(images):
        raise DetectionDataError(
            f"{source}: none of its {len(names):,} images is labelled. Its first is "
            f"{next(iter(names))!r}, the first labelled is {images['name'][0]!r}: names must agree"
        )
    left_out["labelled images have no entry in the predictions: taken as no detection"] = absent
    found = _table(frames, images, path, left_out, True, classes)
    twice = found.duplicated(["image", "category", *CORNERS, "score"]).sum()
    left_out["detections are there twice, with one score: each of them counts"] = twice
    empty = (found.x2 == found.x1) | (found.y2 == found.y1)
    left_out["detections have no area: they are false positives, as COCO counts them"] = empty.sum()
    return found[["image", "category", *CORNERS, "score"]], _sentences(left_out)


def load_json(path: Path) -> Any:
    """Content of a JSON file; of JSON lines the list of them."""
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file in {path.parent.name!r}")
    try:
        text = path.read_bytes()
        text = gzip.decompress(text) if text.startswith(b"\x1f\x8b") else text
        text = text.decode(json.detect_encoding(text)).strip()
        if re.match(r"{.*}\s*\n", text):  # a whole object in the first line: JSON lines
            text = "[" + ",\n".join(filter(str.strip, text.split("\n"))) + "]"
        return from_json(text)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise DetectionDataError(
            f"{path.name} is cut short or no JSON ({error}); copy or download it again, unpacked"
        ) from None


def valid(kind: Any, content: Any, name: str) -> Any:
    """Content of a file as what it should be; a refusal names the file and the place in it."""
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ", ".join(map(str, first["loc"]))
        value = f", not {first['input']!r}" if isinstance(first["input"], str | int | float) else ""
        message = ": ".join(filter(None, (name, place, first["msg"] + value)))
        raise DetectionDataError(message) from None


def _frames(path: str | Path) -> list[tuple[str, _Frame]]:
    """Every frame of a file or folder, after the place where it stands, for messages."""
    path = Path(path)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and FILES.fullmatch(p.name))
        if not files:
            raise DetectionDataError(f"{path.name}: the folder holds no .json file")
        return [one for file in files for one in _frames(file)]
    content = load_json(path)
    if isinstance(content, dict):
        content = [content] if "name" in content else content.get("frames")
    if not isinstance(content, list) or not content:
        raise DetectionDataError(
            f"{path.name}: holds no frame; it is a list of frames or an object with 'frames'"
        )
    frames = valid(list[_Frame], content, f"{path.name}, frame")
    return [(f"{path.name}, frame {n} ({frame.name})", frame) for n, frame in enumerate(frames)]


def numbered(names: Sequence[str], source: str | Path) -> dict[str, int]:
    """The number of each name; a file that names something twice is refused."""
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise DetectionDataError(f"{Path(source).name}: {name!r} occurs {times} times")
    return {name: i for i, name in enumerate(names)}


def _table(
    frames, images: pd.DataFrame, path, left_out: Counter, scored: bool, classes
) -> pd.DataFrame:
    """Boxes of known images and classes; what is left out is counted."""
    rows, noun, source = [], "detections" if scored else "boxes", Path(path).name
    number_of, sizes = numbered(images["name"], path), images[["width", "height"]].to_numpy()
    for place, frame in frames:
        lists = [frame.labels, *(one.objects for one in frame.frames or [])]
        lists = [labels for labels in lists if labels is not None]
        if len(lists) > 1:
            raise DetectionDataError(f"{place}: has {len(lists)} lists of labels; give one")
        left_out["frames have no list of labels: taken as empty"] += not lists
        for number, label in enumerate(*lists or [[]]):
            if frame.name not in number_of:
                left_out["detections left out: their image has no labels"] += 1
            elif label.box2d is None:
                left_out["labels left out: they have no box (lanes, drivable areas)"] += 1
            else:
                fields = {"image": number_of[frame.name], "category": label.category}
                size = sizes[number_of[frame.name]]
                fields |= _usable(label, f"{place}, label {number}", size, left_out, scored)
                own = {k: v for k, v in (label.attributes or {}).items() if k not in CROWD}
                own |= {"box": str(label.id)} if classes is None and label.id is not None else {}
                left_out[HIDDEN] += len(own.keys() & fields)
                rows.append(fields | own | fields)
    boxes = pd.DataFrame(rows, columns=None if rows else ["image", "category", *CORNERS, "score"])
    boxes[CORNERS] = boxes[CORNERS].astype(float)
    if rows and (reach := boxes[CORNERS].max(axis=None)) <= SHARES:
        raise DetectionDataError(
            f"{source}: no corner of its {len(rows):,} boxes is beyond {reach:.3g}, so they are "
            "shares of the frame; multiply them by its width and height: 'box2d' is in pixels"
        )
    names = boxes["category"].replace(RENAMED)
    boxes["ignore"] = boxes.get("ignore", False) | names.isin(list(IGNORED))
    if classes is None:
        return boxes.assign(category=names.replace(IGNORED))
    boxes["category"] = pd.Index(classes).get_indexer(names.replace(IGNORED))
    others = names[boxes["category"] < 0].value_counts()
    listed = ", ".join(f"{name} {n:,}" for name, n in others.items())
    left_out[f"{noun} left out, not a class here: {listed}"] = others.sum()
    boxes = boxes[boxes["category"] >= 0].reset_index(drop=True)
    if boxes.empty:
        raise DetectionDataError(
            f"{source}: no {'detection' if scored else 'box'} is left of labelled images and known "
            f"classes ({', '.join(classes)}); "
            + ("; ".join(_sentences(left_out)) or "its frames hold no label")
        )
    return boxes


def _usable(label: _Label, place: str, size, left_out: Counter, scored: bool) -> dict[str, float]:
    """Corners of a box in a frame of a size, and the score of a detection."""
    corners, (width, height) = dict(label.box2d), size
    side = min(corners["x2"] - corners["x1"], corners["y2"] - corners["y1"])
    if side < 0 or (side == 0 and not scored):
        raise DetectionDataError(
            f"{place}: the box {corners} is inverted or empty; correct it or take it out"
        )
    if min(width - corners["x1"], height - corners["y1"], corners["x2"], corners["y2"]) <= 0:
        if not scored:
            raise DetectionDataError(
                f"{place}: the box {corners} is outside of its frame, {width} x {height} pixels; "
                "correct it or take it out, or give the frame's true 'size'"
            )
        left_out["detections are outside of their frame: they are false positives"] += 1
    if not scored:
        if label.score is not None:
            left_out["boxes have a 'score', as predictions do: are these the labels?"] += 1
        return corners | {"ignore": bool(label.crowd)}
    if label.score is None:
        raise DetectionDataError(f"{place}: 'score' is missing; every detection needs one")
    if not -1e-6 <= label.score <= 1 + 1e-6:
        raise DetectionDataError(
            f"{place}: 'score' is {label.score}; scores lie in 0 to 1, so divide percents by 100"
        )
    return corners | {"score": label.score}


def _sentences(counts: Counter) -> list[str]:
    return [f"{n:,} {reason}" for reason, n in counts.items() if n]
