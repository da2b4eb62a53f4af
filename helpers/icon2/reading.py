"""Labels and detections as readers have them: COCO's JSON, BDD100K's (Scalabel's) or a CSV of
boxes. JSON is read in a stream; what is left out or odd is counted in `notes`, by the sentence that
tells it."""

import gzip
import io
import json
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from sys import intern
from typing import Any

import ijson
import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from helpers.store import progress

CLASSES = (  # BDD100K's that the paper evaluates
    "car", "pedestrian", "truck", "traffic sign", "traffic light", "bus", "motorcycle", "bicycle",
)  # fmt: skip
WIDTH, HEIGHT = 1280, 720  # pixels of BDD100K's frames; others stand in the labels, in "size"
SHARES = 2  # pixels: corners that never go beyond are shares of the image
AT_ONCE = 50_000  # boxes that are held as Python's objects
FILES = re.compile(r"[^.].*\.(json|jsonl|ndjson)(\.gz)?", re.IGNORECASE)  # of a folder
CROWD = "crowd", "iscrowd"
CORNERS = ["x1", "y1", "x2", "y2"]
RENAMED = {"bike": "bicycle", "motor": "motorcycle", "person": "pedestrian"}
IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}
OF_COCO = {"license", "coco_url", "flickr_url", "date_captured", "segmentation", "bbox", *CROWD}
OF_COCO |= {"image_id", "category_id", "file_name", "keypoints", "num_keypoints", "attributes"}
OWN = {"name", "width", "height", "id", "image", "category", "ignore", "score", "area", "extent"}
OWN |= {"box", *CORNERS}  # columns that are no attributes
COLUMNS = ["image", "class", *CORNERS]  # of a CSV; detections have `score`, too
KINDS = {("", key): ("coco", "annotations.item") for key in ("images", "annotations", "categories")}
KINDS |= {("item", key): ("results", "item") for key in ("image_id", "category_id")}
KINDS |= {(at, key): ("bdd", at) for at in ("", "item") for key in ("name", "labels", "url")}
NEITHER = (
    "it is no COCO file (a list 'annotations', or of results), no list of frames with 'labels'"
)
HIDDEN = "attributes left out: they are named as a field of the image or box"
SCORED = "boxes have a 'score', as predictions do: are these the labels?"
TRUTH = TypeAdapter(bool | None)


class DetectionDataError(ValueError):
    """A file, a label or an attribute cannot be used; the message says which and what to do."""


def labels(path: Path, notes: Counter) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Images, and boxes with ``category`` by name, ``area`` as COCO has it, ``extent`` and ``box``,
    an id."""
    if (kind := _kind(path)[0]) == "results":
        raise DetectionDataError(f"{path.name}: these are COCO's results: are files exchanged?")
    images, boxes = {"csv": _csv_labels, "coco": _coco_labels, "bdd": _bdd}[kind](path, notes)
    if boxes.empty:
        raise DetectionDataError(f"{path.name}: no image of it has a box: there is nothing to find")
    numbered(images["name"], path)
    boxes["image"] = pd.Index(images["name"]).get_indexer(boxes["image"])
    boxes = _checked(boxes, images, path, notes, "boxes")
    for name, absent in images.isna().sum().items():
        notes[f"of {len(images):,} images have no value for {name!r}"] += absent
    return images, boxes


def detections(path: Path, images: pd.DataFrame, notes: Counter) -> pd.DataFrame:
    """Detections of labelled images, with ``category`` by name, ``score`` and ``extent``."""
    kind = _kind(path)[0]
    if kind == "csv":
        table = _of_corners(csv(path, [*COLUMNS, "score"])).rename(columns={"class": "category"})
    elif kind == "bdd":
        table = _bdd(path, notes, scored=True)[1]
    else:
        table = _coco_results(path, images)
    if table.empty:
        raise DetectionDataError(f"{path.name}: it holds no detection")
    names = table["image"]
    table["image"] = pd.Index(images["name"]).get_indexer(names)
    known = table["image"] >= 0
    if not known.any():
        raise DetectionDataError(
            f"{path.name}: none of its {names.nunique():,} images is labelled. Its first is "
            f"{names[0]!r}, the first labelled is {images['name'].iloc[0]!r}: names must agree"
        )
    notes["detections left out: their image has no labels"] += int((~known).sum())
    table = table[known].reset_index(drop=True)
    notes["labelled images have no detection"] += len(images) - table["image"].nunique()
    table = _checked(table, images, path, notes, "detections")
    return table[["image", "category", *CORNERS, "score", "extent"]]


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A JSON file, packed or not, as bytes in UTF-8; a sentence says where it cannot be read."""
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file in {path.parent.name!r}")
    with path.open("rb") as file:
        unpack = gzip.open if file.read(2) == b"\x1f\x8b" else open
    try:
        with unpack(path, "rb") as file:
            encoding = json.detect_encoding(file.read(4))
            file.seek(0)
            utf_8 = encoding == "utf-8"  # what is in another encoding is read at once
            yield file if utf_8 else io.BytesIO(file.read().decode(encoding).encode())
    except (ijson.JSONError, ValueError, OSError, EOFError, zlib.error) as error:
        why = " ".join(str(error).split("(right here)")[0].split())
        todo = "copy or download it again, unpacked"
        todo = "NaN is no number in JSON: take such entries out" if "NaN" in why else todo
        raise DetectionDataError(f"{path.name} is cut short or no JSON ({why}); {todo}") from None


def entries(path: Path, prefix: str) -> Iterator[Any]:
    """Each entry of a list in a JSON file, or of JSON lines, in a stream."""
    with opened(path) as file:
        yield from ijson.items(file, prefix, multiple_values=True, use_float=True)


def numbered(names: Sequence[str], source: str | Path) -> dict[str, int]:
    """The number of each name; a file that names something twice is refused."""
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise DetectionDataError(f"{Path(source).name}: {name!r} occurs {times} times")
    return {name: i for i, name in enumerate(names)}


def _kind(path: Path) -> tuple[str, str]:
    """What a file is (csv, coco, results of COCO, or bdd), and where in its JSON the boxes are."""
    if path.is_dir() or ".csv" in path.suffixes[-2:]:
        return "bdd" if path.is_dir() else "csv", ""
    with opened(path) as file:
        for place, event, key in ijson.parse(file, multiple_values=True):
            if event == "map_key" and (place, key) in KINDS:
                return KINDS[place, key]
            if event == "map_key" and place == "frames.item":
                return "bdd", place
            if event == "end_map" and place == "item":
                break
    raise DetectionDataError(f"{path.name}: {NEITHER} and no CSV; which format is it?")


def _read(path: Path, rows: Callable[[dict], Iterable[dict]], part: str = "") -> pd.DataFrame:
    """A table of the rows that each entry gives, of a `part` of a file or of a folder's files."""
    files, tables, batch = [path], [], []
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and FILES.fullmatch(p.name))
        if not files:
            raise DetectionDataError(f"{path.name}: the folder holds no .json file")
    for file in files:
        listed = entries(file, f"{part}.item" if part else _kind(file)[1])
        for n, entry in enumerate(progress(listed, desc=file.name, delay=2)):
            try:
                batch += rows(entry)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
                at = f"{file.name}, {part} entry {n}".replace("  ", " ")
                raise DetectionDataError(f"{at} ({str(entry)[:80]}): {why}") from None
            if len(batch) > AT_ONCE:
                tables, batch = [*tables, pd.DataFrame(batch)], []
    tables += [pd.DataFrame(batch)] if batch or not tables else []
    return pd.concat(tables, ignore_index=True)


def _coco_labels(path: Path, notes: Counter) -> tuple[pd.DataFrame, pd.DataFrame]:
    names = {}

    def image(one: dict) -> Iterator[dict]:
        about = {"id": _id(one["id"]), "name": str(one.get("file_name", one["id"]))}
        about |= {side: one[side] for side in ("width", "height") if one.get(side)}
        yield _further(one, notes, one) | about

    def box(one: dict) -> Iterator[dict]:
        if one.get("bbox"):
            row = _of_coco(one) | {"ignore": _crowd(one), "box": str(one.get("id"))}
            yield row | _further(one, notes, one) | {"area": float(one.get("area", row["extent"]))}
        notes["labels left out: they have no box"] += not one.get("bbox")
        notes[SCORED] += "score" in one

    images = _read(path, image, "images")
    _read(path, lambda one: names.update({_id(one["id"]): str(one["name"])}) or [], "categories")
    if images.empty or not names:
        raise DetectionDataError(f"{path.name}: COCO's labels have 'images' and 'categories'")
    numbered(images["id"], f"{path.name}, ids of images")
    order = sorted(images.index, key=lambda n: (isinstance(images["id"][n], str), images["id"][n]))
    images, boxes = images.loc[order].reset_index(drop=True), _read(path, box, "annotations")
    of_id = dict(zip(images["id"], images["name"], strict=True))
    for column, known in (("image", of_id), ("category", names)) if len(boxes) else ():
        if lost := {*boxes[column]} - {*known}:
            told = f"boxes are of {column} {min(lost, key=str)!r}, which is not listed"
            raise DetectionDataError(f"{path.name}: {told}")
        boxes[column] = boxes[column].map(known)
    images.attrs["categories"] = names
    return images, boxes


def _of_coco(one: dict) -> dict:
    """A box or result; the product of its sides is kept as it was."""
    if len(one["bbox"]) != 4:
        raise ValueError(f"'bbox' has {len(one['bbox'])} numbers, not 4: x, y, width, height")
    x, y, width, height = map(float, one["bbox"])
    row = {"image": _id(one["image_id"]), "category": _id(one["category_id"])}
    row |= {"x1": x, "y1": y, "x2": x + width, "y2": y + height}
    return row | {"extent": width * height}


def _id(key: Any) -> int | str:
    if not isinstance(key, int | float | str):
        raise ValueError(f"{key!r} is no id: ids are numbers or text")
    return int(key) if isinstance(key, float) and key.is_integer() else key


def _coco_results(path: Path, images: pd.DataFrame) -> pd.DataFrame:
    """Results by the names of images and classes, whether ids are numbers or text."""
    if "categories" not in images.attrs:
        raise DetectionDataError(
            f"{path.name}: COCO's results name images by the ids of COCO's labels, and the labels "
            "are in another format; bring both as COCO, or detections as CSV"
        )
    if len(table := _read(path, lambda one: [_of_coco(one) | {"score": float(one["score"])}])):
        ids = dict(zip(images["id"].astype(str), images["name"], strict=True))
        kinds = {str(key): name for key, name in images.attrs["categories"].items()}
        table["image"] = [ids.get(key, key) for key in map(str, table["image"])]
        table["category"] = [kinds.get(key, f"id {key}") for key in map(str, table["category"])]
    return table


def _bdd(path: Path, notes: Counter, scored: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The frames of a file or folder by name, and their labels, or detections."""
    images = []

    def boxes(frame: dict) -> Iterator[dict]:
        name, size = frame["name"], frame.get("size") or {"width": WIDTH, "height": HEIGHT}
        fields = {"name": name, "video": frame.get("videoName") or Path(name).stem}
        fields |= {side: int(size[side]) for side in ("width", "height")}
        images.append(fields | ({} if scored else _further(frame, notes)))
        notes["frames have no list of labels: taken as empty"] += frame.get("labels") is None
        for label in frame.get("labels") or []:
            if (box := label.get("box2d")) is None:
                notes["labels left out: they have no box (lanes, drivable areas)"] += 1
                continue
            kind = RENAMED.get(label["category"], label["category"])
            row = {"image": name, "category": intern(IGNORED.get(kind, kind))}
            row |= {corner: float(box[corner]) for corner in CORNERS}
            if scored:
                yield row | {"score": float(label["score"])}
                continue
            marks = {"ignore": _crowd(label) or kind in IGNORED, "box": str(label.get("id"))}
            scale = (WIDTH / fields["width"]) ** 2  # bounds of sizes are for frames as wide as its
            yield row | marks | _further(label, notes) | {"scale": scale}
            notes[SCORED] += label.get("score") is not None

    table = _read(path, boxes)
    if len(table):
        table = _of_corners(table)
    if not scored and len(table):
        table = table.assign(area=table["extent"] * table.pop("scale"))
    numbered([one["name"] for one in images], path)
    return pd.DataFrame(sorted(images, key=lambda one: one["name"])), table


def _further(entry: dict, notes: Counter, beside: dict | None = None) -> dict:
    """The attributes of an image or a box, and single values that stand `beside` its fields."""
    own = entry.get("attributes") or {}
    notes[HIDDEN] += len(own.keys() & OWN)
    single = {k: v for k, v in (beside or {}).items() if isinstance(v, str | int | float)}
    single = {k: v for k, v in single.items() if k not in OF_COCO} | own
    return {k: v for k, v in single.items() if k not in OWN and k not in CROWD}


def _crowd(label: dict) -> bool:
    marks = [of.get(k) for of in (label, label.get("attributes") or {}) for k in CROWD]
    try:
        return any(map(TRUTH.validate_python, marks))
    except ValueError:
        raise ValueError(f"{marks} stand for a crowd, which is true or false") from None


def _of_corners(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(extent=(table["x2"] - table["x1"]) * (table["y2"] - table["y1"]))


def _csv_labels(path: Path, _: Counter) -> tuple[pd.DataFrame, pd.DataFrame]:
    table = csv(path, COLUMNS, ignore="boolean")
    sides = [side for side in ("width", "height") if side in table]
    images = table.groupby("image")[sides].first().rename_axis("name").reset_index()
    table = table[table[["class", *CORNERS]].notna().any(axis=1)].reset_index(drop=True)
    boxes = _of_corners(table.drop(columns=sides)).rename(columns={"class": "category"})
    ignore = boxes.get("ignore", pd.Series(False, boxes.index)).fillna(False).astype(bool)
    return images, boxes.assign(ignore=ignore, area=boxes["extent"])


def csv(
    path: Path, needed: Sequence[str] = (), called: dict | None = None, **kinds
) -> pd.DataFrame:
    """A CSV with the columns that are `needed`, of some `kinds`; numbers where there have to be."""
    kinds = dict.fromkeys(("image", "class", "box"), str) | kinds
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            table = pd.read_csv(path, dtype=kinds, index_col=False).rename(columns=called or {})
    except FileNotFoundError:
        why = f"there is no such file in {path.parent.name!r}"
        raise DetectionDataError(f"{path.name}: {why}") from None
    except (ValueError, OSError, EOFError, zlib.error, pd.errors.ParserWarning) as error:
        why = f"{' '.join(str(error).split())[:200]}; save it with commas, as CSV UTF-8"
        raise DetectionDataError(f"{path.name} cannot be read as CSV: {why}") from None
    if absent := [name for name in needed if name not in table]:
        raise DetectionDataError(
            f"{path.name}: a column is needed for each of {', '.join(needed)}; missing: "
            f"{', '.join(absent)} (there are: {', '.join(map(str, table.columns[:12]))})"
        )
    for name in {*CORNERS, "score", "width", "height"} & set(table):
        numbers = pd.to_numeric(table[name], errors="coerce")
        wrong = table[name][numbers.isna() & table[name].notna()]
        if len(wrong):
            told = ", ".join(f"{one!r} in line {n + 2}" for n, one in wrong.head(3).items())
            raise DetectionDataError(
                f"{path.name}: {name!r} is no number in {len(wrong):,} lines: {told}"
            )
        table[name] = numbers
    return table


def _checked(boxes, images, path: Path, notes: Counter, noun: str) -> pd.DataFrame:
    """Boxes without what cannot be: NaN, negative sides and scores beyond 1 are refused."""
    values = [*CORNERS, *({"score"} & {*boxes} if noun == "detections" else [])]
    numbers = boxes[values].to_numpy(float)
    sides = np.minimum(boxes["x2"] - boxes["x1"], boxes["y2"] - boxes["y1"]).to_numpy(float)
    negative = "a negative width or height: COCO's are x, y, width, height, a CSV's x1, y1, x2, y2"
    beyond = ((numbers[:, 4:] < -1e-6) | (numbers[:, 4:] > 1 + 1e-6)).any(1)
    for why, wrong in (
        ("name no image", boxes["image"].to_numpy() < 0),
        ("hold NaN, infinity or nothing where a number has to be", ~np.isfinite(numbers).all(1)),
        (f"have {negative}", sides < 0),
        ("have no class; give each of them one", boxes["category"].isna().to_numpy()),
        ("have a score that is not in 0 to 1; divide percents by 100", beyond),
    ):
        if wrong.any():
            first = boxes.iloc[int(wrong.argmax())]
            told = ", ".join(f"{name} {first[name]:g}" for name in values)
            raise DetectionDataError(
                f"{path.name}: {wrong.sum():,} of {len(boxes):,} {noun} {why}. The first: "
                f"{images['name'].get(first['image'], 'a box')}, {told}"
            )
    if (reach := numbers[:, :4].max()) <= SHARES:
        raise DetectionDataError(
            f"{path.name}: no corner of its {len(boxes):,} {noun} is beyond {reach:.3g}: they are "
            "shares of the image; multiply them by its sides"
        )
    of = f"{len(boxes):,} {noun}"
    if {"width", "height"} <= {*images}:
        width, height = (images[name].to_numpy()[boxes["image"]] for name in ("width", "height"))
        beyond = (numbers[:, 2] > 1.02 * width) | (numbers[:, 3] > 1.02 * height)
        if beyond.mean() > 0.2:
            raise DetectionDataError(
                f"{path.name}: {beyond.sum():,} of {of} end outside of their image: COCO's bbox is "
                "x, y, width, height, a CSV has the corners x1, y1, x2, y2"
            )
        outside = (numbers[:, 2:4] <= 0).any(1) | (numbers[:, 0] >= width)
        outside |= numbers[:, 1] >= height
        notes[f"of {of} lay outside of the image: counted, as for COCO"] += outside.sum()
    notes[f"of {of} had no area: never matched, as for COCO"] += (sides == 0).sum()
    twice = boxes.duplicated(["image", "category", *values]).sum()
    notes[f"of {of} came twice: each counts"] += twice
    return boxes
