"""Labels and detections as readers have them: COCO's JSON, BDD100K's (Scalabel's, and its older
style) or a CSV of boxes. JSON is read in a stream; what is left out or odd is counted in `notes`,
by the sentence that tells it."""

import gzip
import io
import json
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ijson
import numpy as np
import pandas as pd

from helpers.store import progress
from helpers.worlds.driving import CLASSES as CLASSES

WIDTH, HEIGHT = 1280, 720  # pixels of BDD100K's frames; others stand in the labels, in "size"
SHARES = 2  # pixels: corners that never go beyond are shares of the image
FILES = re.compile(r"[^.].*\.(json|jsonl|ndjson)(\.gz)?", re.IGNORECASE)  # of a folder
CROWD = "crowd", "iscrowd"
CORNERS = ["x1", "y1", "x2", "y2"]
RENAMED = {"bike": "bicycle", "motor": "motorcycle", "person": "pedestrian"}
IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}
OF_COCO = {"license", "coco_url", "flickr_url", "date_captured", "segmentation", "bbox", *CROWD}
OF_COCO |= {"image_id", "category_id", "file_name", "keypoints", "num_keypoints", "attributes"}
OWN = {"name", "width", "height", "id", "image", "category", "ignore", "score", "area", "extent"}
OWN |= {"side", "box", *CORNERS}  # columns that are no attributes
COLUMNS = ["image", "class", *CORNERS]  # of a CSV; detections have `score`, too
TRUE, FALSE = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no", "none", "nan", ""}
KINDS = {("", key): ("coco", "annotations.item") for key in ("images", "annotations", "categories")}
KINDS |= {("item", key): ("results", "item") for key in ("image_id", "category_id")}
KINDS |= {(at, key): ("bdd", at) for at in ("", "item") for key in ("name", "labels", "url")}
KINDS |= {("frames.item", key): ("bdd", "") for key in ("objects", "timestamp")}  # one old frame
NEITHER = "it is no COCO file (a list 'annotations', or of results), no list of BDD100K's frames"
HIDDEN = "attributes left out: they are named as a field of the image or box"
SCORED = "boxes have a 'score', as predictions do: are these the labels?"


class DetectionDataError(ValueError):
    """A file, a label or an attribute cannot be used; the message says which and what to do."""


def labels(
    path: Path, notes: Counter, classes: Sequence[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Images, and boxes with ``category`` by name, ``area`` as COCO has it, ``extent`` and ``box``,
    an id; of some `classes`, or all."""
    kind, prefix = _kind(path)
    if kind == "results":
        raise DetectionDataError(f"{path.name}: these are COCO's results: are files exchanged?")
    if kind == "csv":
        images, boxes = _csv_labels(path)
    else:
        images, boxes = (_coco_labels if kind == "coco" else _bdd_labels)(path, prefix, notes)
    if boxes.empty:
        raise DetectionDataError(f"{path.name}: no image of it has a box: there is nothing to find")
    numbered(images["name"], path)
    boxes["ignore"] = boxes["ignore"].astype(bool)
    boxes = _checked(boxes, images, path, notes, "boxes")
    if classes is not None:
        there, boxes = boxes["category"], boxes[boxes["category"].isin(classes)]
        others = there[~there.isin(classes)].value_counts().items()
        listed = ", ".join(f"{name} {n:,}" for name, n in others)
        if boxes.empty:
            raise DetectionDataError(
                f"{path.name}: no box is left of known classes ({', '.join(classes)}); not a class "
                f"here: {listed}"
            )
        notes[f"boxes left out, not a class here: {listed}"] += len(there) - len(boxes)
    for name, absent in images.isna().sum().items():
        notes[f"of {len(images):,} images have no value for {name!r}"] += absent
    return images, boxes.reset_index(drop=True)


def detections(path: Path, images: pd.DataFrame, notes: Counter) -> pd.DataFrame:
    """Detections of labelled images, with ``category`` by name, ``score`` and ``extent``."""
    kind, prefix = _kind(path)
    if kind == "csv":
        table = csv(path, [*COLUMNS, "score"]).rename(columns={"class": "category"})
        names = table["image"]
        table = _of_corners(table.assign(image=pd.Index(images["name"]).get_indexer(names)))
    elif kind == "bdd":
        place = pd.Series(images.index, images["name"])
        listed, boxes = _bdd(path, prefix, notes, scored=True)
        table = _of_corners(boxes.table(lambda name: place.get(name, -1)))
        names = [one["name"] for one in listed]
    else:
        table, names = _coco_results(path, prefix, images, notes)
    if table.empty:
        raise DetectionDataError(f"{path.name}: it holds no detection")
    known = table["image"].to_numpy() >= 0
    if not known.any():
        names = list(dict.fromkeys(names))
        raise DetectionDataError(
            f"{path.name}: none of its {len(names):,} images is labelled. Its first is "
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


class _Boxes:
    """Boxes as they are read: the image and class of each, four numbers and what `further` there
    is; a box takes few bytes, so that millions can be read."""

    def __init__(self, *further: str) -> None:
        self.columns, self.numbers = ["image", "category", *CORNERS, *further], array("d")
        self.images, self.classes, self.ids, self.more = {}, {}, [], []

    def add(self, image, category, four: Sequence[float], *further: float) -> None:
        if len(four) != 4:
            raise ValueError(f"'bbox' has {len(four)} numbers, not 4: x, y, width, height")
        codes = (
            self.images.setdefault(image, len(self.images)),
            self.classes.setdefault(category, len(self.classes)),
        )
        self.numbers.extend((*codes, *four, *further))

    def table(self, place, names=str) -> pd.DataFrame:
        """The boxes by the `place` of their image and the name of their class."""
        values = np.frombuffer(self.numbers).reshape(-1, len(self.columns))
        table = pd.DataFrame(values, columns=self.columns)
        for at, known, named in ((0, self.images, place), (1, self.classes, names)):
            each = pd.Index([named(key) for key in known])
            table[self.columns[at]] = each.take(values[:, at].astype(int))
        if self.ids:
            table["box"] = [None if one is None else str(one) for one in self.ids]
        return table.join(pd.DataFrame(self.more, table.index)) if any(self.more) else table


def _coco_labels(path: Path, prefix: str, notes: Counter) -> tuple[pd.DataFrame, pd.DataFrame]:
    images, names, boxes, part = [], {}, _Boxes("area", "ignore"), "images"
    try:
        for entry in entries(path, "images.item"):
            about = {"id": entry["id"], "name": str(entry.get("file_name", entry["id"]))}
            about |= {side: entry[side] for side in ("width", "height") if entry.get(side)}
            images.append(_further(entry, notes, entry) | about)
        part = "categories"
        for entry in entries(path, "categories.item"):
            names[entry["id"]] = str(entry["name"])
        part = "annotations"
        for entry in progress(entries(path, prefix), desc=path.name, delay=2):
            if not (bbox := entry.get("bbox")):
                notes["labels left out: they have no box"] += 1
                continue
            crowd = _true(entry.get("iscrowd", 0))
            area = entry["area"] if "area" in entry else bbox[2] * bbox[3]
            boxes.add(entry["image_id"], entry["category_id"], bbox, area, crowd)
            boxes.ids.append(entry.get("id"))
            boxes.more.append(_further(entry, notes, entry))
            notes[SCORED] += "score" in entry
    except DetectionDataError:
        raise
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise _bad(path, f"{part}, entry {str(entry)[:80]}", error) from None
    if not images or not names:
        raise DetectionDataError(f"{path.name}: COCO's labels have 'images' and 'categories'")
    numbered([one["id"] for one in images], f"{path.name}, ids of images")
    images = pd.DataFrame(sorted(images, key=lambda one: (isinstance(one["id"], str), one["id"])))
    place = {one: n for n, one in enumerate(images["id"])}
    if lost := [one for one in boxes.images if one not in place]:
        raise DetectionDataError(
            f"{path.name}: boxes are of image {lost[0]!r}, which is not listed"
        )
    if unnamed := boxes.classes.keys() - names.keys():
        raise DetectionDataError(f"{path.name}: category {min(map(str, unnamed))!r} has no name")
    images.attrs["categories"] = names
    return images, _of_sides(boxes.table(place.get, names.get))


def _coco_results(path: Path, prefix: str, images, notes: Counter) -> tuple[pd.DataFrame, list]:
    """Results by number of image (-1 of those that are not labelled) and by name of class."""
    if "categories" not in images.attrs:
        raise DetectionDataError(
            f"{path.name}: COCO's results name images by the ids of COCO's labels, and the labels "
            "are in another format; bring both as COCO, or detections as CSV"
        )
    place, names = {one: n for n, one in enumerate(images["id"])}, images.attrs["categories"]
    texts = {str(one): n for one, n in place.items()}
    texts |= {Path(name).stem: n for n, name in enumerate(images["name"])}
    texts |= {name: n for n, name in enumerate(images["name"])}
    boxes, by_text = _Boxes("score"), 0
    for n, entry in enumerate(progress(entries(path, prefix), desc=path.name, delay=2)):
        try:
            boxes.add(entry["image_id"], entry["category_id"], entry["bbox"], entry["score"])
            by_text += entry["image_id"] not in place and entry["image_id"] in texts
        except (KeyError, TypeError, ValueError) as error:
            raise _bad(path, f"detection {n} ({str(entry)[:80]})", error) from None
    notes["detections name their image by text; it was read as an id or a file's name"] += by_text

    def named(kind) -> str:
        whole = int(kind) if isinstance(kind, str) and kind.isdigit() else kind
        return names.get(kind, names.get(whole, f"id {kind}"))

    results = boxes.table(lambda key: place.get(key, texts.get(key, -1)), named)
    return _of_sides(results), [*map(str, boxes.images)]


def _bdd_labels(path: Path, prefix: str, notes: Counter) -> tuple[pd.DataFrame, pd.DataFrame]:
    listed, boxes = _bdd(path, prefix, notes, scored=False)
    images = pd.DataFrame(sorted(listed, key=lambda one: one["name"]))
    place = {name: n for n, name in enumerate(images["name"])}
    table = _of_corners(boxes.table(place.get)).sort_values("image", kind="stable")
    # the bounds of sizes are for frames as wide as its own
    scale = (WIDTH / images["width"].to_numpy()[table["image"]]) ** 2
    return images, table.assign(area=table["extent"] * scale).reset_index(drop=True)


def _bdd(path: Path, prefix: str, notes: Counter, scored: bool) -> tuple[list[dict], _Boxes]:
    """The frames of a file or folder as rows of images, and their labels, or detections."""
    files = [path]
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and FILES.fullmatch(p.name))
        if not files:
            raise DetectionDataError(f"{path.name}: the folder holds no .json file")
    images, boxes = [], _Boxes("score" if scored else "ignore")
    for file in files:
        inside = _kind(file)[1] if path.is_dir() else prefix
        for n, frame in enumerate(progress(entries(file, inside), desc=file.name, delay=2)):
            place = f"frame {n}"
            try:
                place += f" ({(name := frame['name'])})"
                size = frame.get("size") or {"width": WIDTH, "height": HEIGHT}
                fields = {"name": name, "video": frame.get("videoName") or Path(name).stem}
                fields |= {side: int(size[side]) for side in ("width", "height")}
                images.append(fields if scored else fields | _further(frame, notes))
                lists = [of.get("objects") for of in frame.get("frames") or []]
                lists = [one for one in (frame.get("labels"), *lists) if one is not None]
                if len(lists) > 1:
                    raise ValueError(f"has {len(lists)} lists of labels; give one")
                notes["frames have no list of labels: taken as empty"] += not lists
                for number, label in enumerate(*lists or [[]]):
                    place = f"frame {n} ({name}), label {number}"
                    if (box := label.get("box2d")) is None:
                        notes["labels left out: they have no box (lanes, drivable areas)"] += 1
                        continue
                    kind = RENAMED.get(label["category"], label["category"])
                    marks = [
                        of.get(k, 0) for of in (label, label.get("attributes") or {}) for k in CROWD
                    ]
                    last = label["score"] if scored else any(map(_true, marks)) or kind in IGNORED
                    boxes.add(name, IGNORED.get(kind, kind), [box[c] for c in CORNERS], last)
                    if not scored:
                        boxes.ids.append(label.get("id"))
                        boxes.more.append(_further(label, notes))
                        notes[SCORED] += label.get("score") is not None
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise _bad(file, place, error) from None
    numbered([one["name"] for one in images], path)
    return images, boxes


def _further(entry: dict, notes: Counter, beside: dict | None = None) -> dict:
    """The attributes of an image or a box, and single values that stand `beside` its fields."""
    own = entry.get("attributes") or {}
    notes[HIDDEN] += len(own.keys() & OWN)
    single = {k: v for k, v in (beside or {}).items() if isinstance(v, str | int | float)}
    single = {k: v for k, v in single.items() if k not in OF_COCO} | own
    return {k: v for k, v in single.items() if k not in OWN and k not in CROWD}


def _true(value: Any) -> bool:
    if (text := str(value).lower()) not in TRUE | FALSE:
        raise ValueError(f"{value!r} stands for a crowd, which is true or false")
    return text in TRUE


def _bad(path: Path, place: str, error: Exception) -> DetectionDataError:
    why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return DetectionDataError(f"{path.name}, {place}: {why}")


def _of_sides(table: pd.DataFrame) -> pd.DataFrame:
    """Boxes of x, y, width and height as corners; the product of the sides is kept as it was."""
    x, y, width, height = (table[name] for name in CORNERS)
    corners = {"x2": x + width, "y2": y + height, "extent": width * height}
    return table.assign(**corners, side=np.minimum(width, height))


def _of_corners(table: pd.DataFrame) -> pd.DataFrame:
    width, height = table["x2"] - table["x1"], table["y2"] - table["y1"]
    return table.assign(extent=width * height, side=np.minimum(width, height))


def _csv_labels(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    table = csv(path, COLUMNS)
    names = pd.Index(sorted(table["image"].unique()))
    images = pd.DataFrame({"name": names})
    for side in {"width", "height"} & set(table):
        images[side] = table.groupby("image")[side].first().reindex(names).to_numpy()
    bare = table[["class", *CORNERS]].isna().all(axis=1)
    boxes = _of_corners(table[~bare].reset_index(drop=True)).rename(columns={"class": "category"})
    try:
        ignore = boxes.get("ignore", pd.Series(0, boxes.index)).map(_true).astype(bool)
    except ValueError as error:
        raise _bad(path, "column 'ignore'", error) from None
    boxes = boxes.assign(image=names.get_indexer(boxes["image"]), ignore=ignore)
    if "box" in boxes:
        boxes["box"] = boxes["box"].astype(str)
    boxes = boxes.drop(columns=["width", "height"], errors="ignore")
    return images, boxes.assign(area=boxes["extent"])


def csv(path: Path, needed: Sequence[str]) -> pd.DataFrame:
    """A CSV with some columns, numbers where there have to be."""
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file in {path.parent.name!r}")
    try:
        table = pd.read_csv(path, dtype=dict.fromkeys(("image", "class", "box"), str))
    except (ValueError, OSError, EOFError, UnicodeError) as error:
        raise DetectionDataError(f"{path.name} cannot be read as CSV: {str(error)[:200]}") from None
    if absent := [name for name in needed if name not in table]:
        raise DetectionDataError(
            f"{path.name}: a CSV of boxes has the columns {', '.join(needed)}; missing: "
            f"{', '.join(absent)} (there are: {', '.join(map(str, table.columns[:12]))})"
        )
    if needed and table["image"].isna().any():
        line = table["image"].isna().idxmax() + 2
        raise DetectionDataError(f"{path.name}, line {line}: no 'image' stands there; name it")
    for name in {*CORNERS, "score", "width", "height"} & set(table):
        numbers = pd.to_numeric(table[name], errors="coerce")
        wrong = table[numbers.isna() & table[name].notna()]
        if len(wrong):
            raise DetectionDataError(
                f"{path.name}, line {wrong.index[0] + 2}: {name!r} is {wrong[name].iloc[0]!r}, "
                f"no number ({len(wrong):,} such lines)"
            )
        table[name] = numbers
    return table


def _checked(boxes, images, path: Path, notes: Counter, noun: str) -> pd.DataFrame:
    """Boxes without what cannot be: NaN, negative sides and scores beyond 1 are refused."""
    values = [*CORNERS, *({"score"} & {*boxes} if noun == "detections" else [])]
    numbers, sides = boxes[values].to_numpy(float), boxes.pop("side").to_numpy()
    negative = "a negative width or height: COCO's are x, y, width, height, a CSV's x1, y1, x2, y2"
    beyond = ((numbers[:, 4:] < -1e-6) | (numbers[:, 4:] > 1 + 1e-6)).any(1)
    for why, wrong in (
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
                f"{images['name'].iloc[first['image']]}, {told}"
            )
    if (reach := numbers[:, :4].max()) <= SHARES:
        raise DetectionDataError(
            f"{path.name}: no corner of its {len(boxes):,} {noun} is beyond {reach:.3g}: they are "
            "shares of the image; multiply them by its sides"
        )
    if {"width", "height"} <= {*images}:
        width, height = (images[name].to_numpy()[boxes["image"]] for name in ("width", "height"))
        beyond = (numbers[:, 2] > 1.02 * width) | (numbers[:, 3] > 1.02 * height)
        if beyond.mean() > 0.2:
            raise DetectionDataError(
                f"{path.name}: {beyond.sum():,} of {len(boxes):,} {noun} end outside of their "
                "image: COCO's bbox is x, y, width, height, a CSV has the corners x1, y1, x2, y2"
            )
        outside = (numbers[:, 2:4] <= 0).any(1) | (numbers[:, 0] >= width)
        outside |= numbers[:, 1] >= height
        notes[f"{noun} lie outside of their image: they count, as for COCO"] += int(outside.sum())
    flat = "are false positives" if noun == "detections" else "can never be found"
    notes[f"{noun} have no area: they {flat}, as for COCO"] += int((sides == 0).sum())
    twice = boxes.duplicated(["image", "category", *values])
    notes[f"{noun} are there twice: each of them counts"] += int(twice.sum())
    return boxes
