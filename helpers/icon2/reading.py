"""Read labels and detections: COCO's JSON, BDD100K's (Scalabel's) JSON or a CSV of boxes.

JSON is read in a stream. Entries that are left out or odd are counted in `notes`, by a sentence.
"""

import gzip
import io
import json
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
WIDTH, HEIGHT = (
    1280,
    720,
)  # pixels of BDD100K's frames; others stand in the labels, in "size"
SHARES = 2  # pixels: corners that never go beyond are shares of the image
AT_ONCE = 50_000  # boxes that are held as Python's objects
FILES = re.compile(r"[^.].*\.(json|jsonl|ndjson)(\.gz)?", re.IGNORECASE)  # of a folder
CROWD = "crowd", "iscrowd"
CORNERS = ["x1", "y1", "x2", "y2"]
RENAMED = {"bike": "bicycle", "motor": "motorcycle", "person": "pedestrian"}
IGNORED = {"other person": "pedestrian", "other vehicle": "car", "trailer": "truck"}
OF_COCO = {
    "license",
    "coco_url",
    "flickr_url",
    "date_captured",
    "segmentation",
    "bbox",
    *CROWD,
}
OF_COCO |= {
    "image_id",
    "category_id",
    "file_name",
    "keypoints",
    "num_keypoints",
    "attributes",
}
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
}
OWN |= {"box", *CORNERS}  # columns that are no attributes
COLUMNS = ["image", "class", *CORNERS]  # of a CSV; detections have `score`, too
FEDERATED = {
    "neg_category_ids",
    "not_exhaustive_category_ids",
}  # of images in LVIS's labels
PLAUSIBLE = (
    0.05,
    1.05,
)  # median of area over width times height, which are those of objects
MISSING = {
    "na",
    "n/a",
    "#n/a",
    "<na>",
    "nan",
    "null",
    "none",
    "nil",
    "-",
}  # words among numbers
BOOLEANS = {
    "1": True,
    "1.0": True,
    "true": True,
    "0": False,
    "0.0": False,
    "false": False,
}
MANY_COPIES = 0.01  # share of labelled boxes
FEW = 6  # a column of numbers with more values than this is no column of groups
DIGITS = re.compile(r"(\d+)$")
KINDS = {
    ("", key): ("coco", "annotations.item")
    for key in ("images", "annotations", "categories")
}
KINDS |= {("item", key): ("results", "item") for key in ("image_id", "category_id")}
KINDS |= {
    (at, key): ("bdd", at) for at in ("", "item") for key in ("name", "labels", "url")
}
NEITHER = "it is no COCO file (a list 'annotations', or of results), no list of frames with 'labels'"
HIDDEN = "attributes left out: they are named as a field of the image or box"
SCORED = "boxes have a 'score', as predictions do: are these the labels?"
TRUTH = TypeAdapter(bool | None)


class DetectionDataError(ValueError):
    """A file, a label or an attribute cannot be used; the message says which and what to do."""


class Notes(Counter):
    """Counts of what was left out, by their sentence, and `warnings` to check first.

    ``verified`` holds the lists of categories of LVIS's images by image id. It is no attribute of
    the table of images, since pandas copies those with each operation.
    """

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        super().__init__(counts or {})
        self.warnings: list[str] = []
        self.verified: dict[int | str, dict[str, list[int | str]]] = {}

    def __reduce__(self) -> tuple:
        """Copy and pickle the attributes, too, which a Counter leaves out."""
        return type(self), (dict(self),), self.__dict__


def labels(path: Path, notes: Notes) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Images, and boxes with ``category`` by name, ``area`` as COCO has it, ``extent`` and ``box``,
    an id. Images of COCO's labels have an ``id``, by which they are told apart."""
    if (kind := _kind(path)[0]) == "results":
        raise DetectionDataError(
            f"{path.name}: these are COCO's results: are files exchanged?"
        )
    images, boxes = {"csv": _csv_labels, "coco": _coco_labels, "bdd": _bdd}[kind](
        path, notes
    )
    if boxes.empty:
        raise DetectionDataError(
            f"{path.name}: no image of it has a box: there is nothing to find"
        )
    if "id" in images:
        _warn_of_repeated_names(images, path, notes)
    else:
        numbered(images["name"], path)
    key = images["id"] if "id" in images else images["name"]
    boxes["image"] = pd.Index(key, dtype=object).get_indexer(boxes["image"])
    boxes = _checked(boxes, images, path, notes, "boxes")
    if notes[SCORED]:
        notes.warnings.append(
            f"{notes.pop(SCORED):,} boxes of {path.name} have a 'score', as predictions have. "
            "If this is the file of predictions, exchange the two files."
        )
    for name, absent in images.isna().sum().items():
        notes[f"of {len(images):,} images have no value for {name!r}"] += absent
    return images, boxes


def _warn_of_repeated_names(images: pd.DataFrame, path: Path, notes: Notes) -> None:
    """Say that images are told apart by id where several have one file name."""
    repeated = images["name"].duplicated(keep=False)
    if repeated.any():
        name = images["name"][repeated].iloc[0]
        ids = images["id"][images["name"] == name]
        notes.warnings.append(
            f"{repeated.sum():,} of {len(images):,} images in {path.name} share their file name "
            f"with another one, such as {name!r} (ids {' and '.join(map(str, ids[:3]))}). They "
            "were told apart by id. If they are the same image, remove the copies."
        )


def detections(path: Path, images: pd.DataFrame, notes: Notes) -> pd.DataFrame:
    """Detections of labelled images, with ``category`` by name, ``score`` and ``extent``."""
    kind = _kind(path)[0]
    if kind == "csv":
        table = csv(path, [*COLUMNS, "score"], notes=notes)
        table = _of_corners(table).rename(columns={"class": "category"})
    elif kind == "bdd":
        table = _bdd(path, notes, scored=True)[1]
    else:
        table = _coco_results(path, images, notes)
    if table.empty:
        raise DetectionDataError(f"{path.name}: it holds no detection")
    names = table["image"]
    if kind in ("csv", "bdd"):
        table["image"] = _places_by_name(path, table, images)
    else:
        table["image"] = table.pop("place")
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


def _places_by_name(
    path: Path, table: pd.DataFrame, images: pd.DataFrame
) -> np.ndarray:
    """Number of the image of each detection, by its name; -1 where it is not labelled."""
    repeated = images["name"][images["name"].duplicated()]
    ambiguous = set(repeated) & set(table["image"])
    if ambiguous:
        raise DetectionDataError(
            f"{path.name}: several labelled images are called {min(ambiguous)!r}, and its "
            "detections name images by file name. Write the name of the video or folder before "
            "the file name in both files, or provide the detections as COCO's results by image_id."
        )
    several = images.attrs.get("repeated_categories", [])
    ambiguous = set(several) & set(table["category"])
    if ambiguous:
        raise DetectionDataError(
            f"{path.name}: several categories of the labels are called {min(ambiguous)!r}, and "
            "its detections name classes by name. Give each category its own name, or provide the "
            "detections as COCO's results by category_id."
        )
    place = dict(zip(images["name"], range(len(images)), strict=True))
    return table["image"].map(place).fillna(-1).astype(int).to_numpy()


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A JSON file, packed or not, as bytes in UTF-8; a sentence says where it cannot be read."""
    if not path.is_file():
        raise DetectionDataError(
            f"{path.name}: there is no such file in {path.parent.name!r}"
        )
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
        todo = (
            "NaN is no number in JSON: take such entries out" if "NaN" in why else todo
        )
        raise DetectionDataError(
            f"{path.name} is cut short or no JSON ({why}); {todo}"
        ) from None


def entries(path: Path, prefix: str) -> Iterator[Any]:
    """Each entry of a list in a JSON file, or of JSON lines, in a stream."""
    with opened(path) as file:
        yield from ijson.items(file, prefix, multiple_values=True, use_float=True)


def numbered(names: Sequence[str], source: str | Path) -> dict[str, int]:
    """The number of each name; a file that names something twice is refused."""
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise DetectionDataError(
                f"{Path(source).name}: {name!r} occurs {times} times"
            )
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


def _read(
    path: Path, rows: Callable[[dict], Iterable[dict]], part: str = ""
) -> pd.DataFrame:
    """A table of the rows that each entry gives, of a `part` of a file or of a folder's files."""
    files, tables, batch = [path], [], []
    if path.is_dir():
        files = sorted(
            p for p in path.rglob("*") if p.is_file() and FILES.fullmatch(p.name)
        )
        if not files:
            raise DetectionDataError(f"{path.name}: the folder holds no .json file")
    for file in files:
        listed = entries(file, f"{part}.item" if part else _kind(file)[1])
        for n, entry in enumerate(progress(listed, desc=file.name, delay=2)):
            try:
                batch += rows(entry)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                why = (
                    f"{error} is missing" if isinstance(error, KeyError) else str(error)
                )
                at = f"{file.name}, {part} entry {n}".replace("  ", " ")
                raise DetectionDataError(f"{at} ({str(entry)[:80]}): {why}") from None
            if len(batch) > AT_ONCE:
                tables, batch = [*tables, pd.DataFrame(batch)], []
    tables += [pd.DataFrame(batch)] if batch or not tables else []
    return pd.concat(tables, ignore_index=True)


def _coco_labels(path: Path, notes: Notes) -> tuple[pd.DataFrame, pd.DataFrame]:
    def image(one: dict) -> Iterator[dict]:
        about = {"id": _id(one["id"]), "name": str(one.get("file_name", one["id"]))}
        about |= {side: one[side] for side in ("width", "height") if one.get(side)}
        if FEDERATED & one.keys():
            lists = {key: list(map(_id, one.get(key) or [])) for key in FEDERATED}
            notes.verified[about["id"]] = lists
        yield _further(one, notes, one) | about

    def category(one: dict) -> Iterator[dict]:
        yield {"id": _id(one["id"]), "name": str(one["name"])}

    def box(one: dict) -> Iterator[dict]:
        if one.get("bbox"):
            row = _of_coco(one) | {"ignore": _crowd(one), "box": str(one.get("id"))}
            row |= {"flagged": _is_true(one.get("ignore"), "'ignore'")}
            area = row["extent"] if one.get("area") is None else float(one["area"])
            yield row | _further(one, notes, one) | {"area": area}
        notes["labels left out: they have no box"] += not one.get("bbox")
        notes[SCORED] += "score" in one

    images = _read(path, image, "images")
    categories = _read(path, category, "categories")
    if images.empty or categories.empty:
        raise DetectionDataError(
            f"{path.name}: COCO's labels have 'images' and 'categories'"
        )
    numbered(images["id"], f"{path.name}, ids of images")
    numbered(categories["id"], f"{path.name}, ids of categories")
    names, repeated = _category_names(categories, path, notes)
    order = sorted(
        images.index, key=lambda n: (isinstance(images["id"][n], str), images["id"][n])
    )
    images, boxes = (
        images.loc[order].reset_index(drop=True),
        _read(path, box, "annotations"),
    )
    if len(boxes):
        for column, known in (("image", set(images["id"])), ("category", set(names))):
            if lost := set(boxes[column]) - known:
                told = (
                    f"boxes are of {column} {min(lost, key=str)!r}, which is not listed"
                )
                raise DetectionDataError(f"{path.name}: {told}")
        boxes["category"] = boxes["category"].map(names)
        boxes = _with_ignored(boxes, path, notes)
        boxes["area"] = _plausible_area(boxes, path, notes)
    images.attrs["categories"] = names
    images.attrs["repeated_categories"] = repeated
    return images, boxes


def _category_names(
    categories: pd.DataFrame, path: Path, notes: Notes
) -> tuple[dict[int | str, str], list[str]]:
    """Name of each category by id, with the id where several have one name; and these names."""
    repeated = categories["name"].duplicated(keep=False)
    named = categories["name"] + " (id " + categories["id"].astype(str) + ")"
    names = categories["name"].mask(repeated, named)
    if repeated.any():
        notes.warnings.append(
            f"Several categories of {path.name} have one name: {', '.join(names[repeated][:6])}. "
            "They were evaluated apart, by id, as pycocotools does. If they are the same class, "
            "give them one id in both files."
        )
    several = sorted(set(categories["name"][repeated]))
    return dict(zip(categories["id"], names, strict=True)), several


def _with_ignored(boxes: pd.DataFrame, path: Path, notes: Notes) -> pd.DataFrame:
    """Boxes where those that carry ``ignore`` are regions to ignore, as crowds are."""
    flagged = boxes.pop("flagged").to_numpy(bool)
    if flagged.any():
        notes.warnings.append(
            f"{flagged.sum():,} of {len(boxes):,} boxes of {path.name} carry 'ignore': 1. They "
            "need not be found, and a detection there is neither right nor wrong. pycocotools "
            "does not read this field, so its AP differs; remove the field if these boxes are to "
            "be found."
        )
    return boxes.assign(ignore=boxes["ignore"].to_numpy(bool) | flagged)


def _plausible_area(boxes: pd.DataFrame, path: Path, notes: Notes) -> pd.Series:
    """The areas of the file, or width times height where the file's cannot be areas."""
    whole = ~boxes["ignore"] & (boxes["extent"] > 0)
    ratio = float((boxes["area"][whole] / boxes["extent"][whole]).median())
    if np.isnan(ratio) or PLAUSIBLE[0] <= ratio <= PLAUSIBLE[1]:
        return boxes["area"]
    notes.warnings.append(
        f"'area' in {path.name} does not fit its boxes: half of the areas are "
        f"{'below' if ratio < 1 else 'above'} {ratio:.3g} times width times height. Width times "
        "height was used instead. Write the area of the object or of its box into 'area'."
    )
    return boxes["extent"]


def _of_coco(one: dict) -> dict:
    """A box or result; the product of its sides is kept as it was."""
    if len(one["bbox"]) != 4:
        raise ValueError(
            f"'bbox' has {len(one['bbox'])} numbers, not 4: x, y, width, height"
        )
    x, y, width, height = map(float, one["bbox"])
    row = {"image": _id(one["image_id"]), "category": _id(one["category_id"])}
    row |= {"x1": x, "y1": y, "x2": x + width, "y2": y + height}
    return row | {"extent": width * height}


def _id(key: Any) -> int | str:
    if not isinstance(key, int | float | str):
        raise ValueError(f"{key!r} is no id: ids are numbers or text")
    return int(key) if isinstance(key, float) and key.is_integer() else key


def _coco_results(path: Path, images: pd.DataFrame, notes: Notes) -> pd.DataFrame:
    """Results with the ``place`` of their image, whether ids are numbers or text."""
    if "categories" not in images.attrs:
        raise DetectionDataError(
            f"{path.name}: COCO's results name images by the ids of COCO's labels, and the labels "
            "are in another format; bring both as COCO, or detections as CSV"
        )

    def result(one: dict) -> Iterator[dict]:
        yield _of_coco(one) | {
            "score": float(one["score"]),
            "file": one.get("file_name"),
        }

    table = _read(path, result)
    if len(table):
        kinds = {str(key): name for key, name in images.attrs["categories"].items()}
        table["category"] = [
            kinds.get(key, f"id {key}") for key in map(str, table["category"])
        ]
        table["place"] = _places_of_results(path, table, images, notes)
    return table


def _places_of_results(
    path: Path, table: pd.DataFrame, images: pd.DataFrame, notes: Notes
) -> np.ndarray:
    """Number of the image of each result, -1 where it is not labelled.

    By ``image_id``, an id of the labels or else a full file name. If none is an id of the labels,
    names without folder or ending count, too. Where results carry a ``file_name``, too, and it is
    of another image than the id, it decides, and a warning says so.
    """
    names = _unique_names(images["name"])
    ids = dict(zip(images["id"].astype(str), range(len(images)), strict=True))
    keys = table["image"].map(str)
    if keys.isin(ids.keys()).any():
        # The id of an image without labels may be the stem of another image's name.
        full_names = {name: names[name] for name in images["name"] if name in names}
        by_id = keys.map(full_names | ids)
    else:
        by_id = keys.map(names)
    by_id = by_id.fillna(-1).astype(int).to_numpy()
    files = table.pop("file")
    if files.isna().all():
        return by_id
    by_name = np.array([_place_of_file(file, names) for file in files])
    differ = (by_name >= 0) & (by_name != by_id)
    if not differ.any():
        return by_id
    first = int(differ.argmax())
    other = images["name"][by_id[first]] if by_id[first] >= 0 else "no image"
    told = (
        f"'image_id' and 'file_name' of {path.name} disagree in {differ.sum():,} of "
        f"{len(table):,} detections: id {table['image'].iloc[first]} is {other} in the labels, "
        f"and {files.iloc[first]} in the results."
    )
    if (by_name < 0).any():
        raise DetectionDataError(
            f"{told} They cannot be paired by file name, since {(by_name < 0).sum():,} detections "
            "have a name that is not in the labels, or is there twice. Write the ids of the "
            "labels into 'image_id'."
        )
    notes.warnings.append(
        f"{told} Images were paired by file name. Write the ids of the labels into 'image_id', so "
        "that other tools pair them rightly, too."
    )
    return by_name


def _unique_names(names: pd.Series) -> dict[str, int]:
    """Number of the image by its file name, the name without folder, and without ending; a name
    that several images have is left out."""
    paths = names.map(Path)
    places = {}
    for form in (
        paths.map(lambda one: one.stem),
        paths.map(lambda one: one.name),
        names,
    ):
        unique = ~form.duplicated(keep=False)
        for several in form[~unique]:
            places.pop(several, None)
        places |= dict(zip(form[unique], np.flatnonzero(unique), strict=True))
    return places


def _place_of_file(file: str | None, names: dict[str, int]) -> int:
    """Number of the image that a result's file name is of, -1 where none is."""
    name = str(file)
    return names.get(name, names.get(Path(name).name, -1))


def numbers_in_names(names: pd.Series) -> dict[str, int]:
    """Number of the image by the digits at the end of its file name, without leading zeros."""
    digits = names.map(lambda name: DIGITS.search(Path(name).stem))
    known = digits[digits.notna()].map(lambda found: str(int(found[1])))
    known = known[~known.duplicated(keep=False)]
    return dict(zip(known, known.index, strict=True))


def _bdd(
    path: Path, notes: Notes, scored: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The frames of a file or folder by name, and their labels, or detections."""
    images = []

    def boxes(frame: dict) -> Iterator[dict]:
        name, size = (
            frame["name"],
            frame.get("size") or {"width": WIDTH, "height": HEIGHT},
        )
        fields = {"name": name, "video": frame.get("videoName") or Path(name).stem}
        fields |= {side: int(size[side]) for side in ("width", "height")}
        images.append(fields | ({} if scored else _further(frame, notes)))
        notes["frames have no list of labels: taken as empty"] += (
            frame.get("labels") is None
        )
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
            marks = {
                "ignore": _crowd(label) or kind in IGNORED,
                "box": str(label.get("id")),
            }
            scale = (
                WIDTH / fields["width"]
            ) ** 2  # bounds of sizes are for frames as wide as its
            yield row | marks | _further(label, notes) | {"scale": scale}
            notes[SCORED] += label.get("score") is not None

    table = _read(path, boxes)
    if len(table):
        table = _of_corners(table)
    if not scored and len(table):
        table = table.assign(area=table["extent"] * table.pop("scale"))
    numbered([one["name"] for one in images], path)
    return pd.DataFrame(sorted(images, key=lambda one: one["name"])), table


def _further(entry: dict, notes: Notes, beside: dict | None = None) -> dict:
    """Return the attributes of an image or a box, and further single values of an entry."""
    own = entry.get("attributes") or {}
    notes[HIDDEN] += len(own.keys() & OWN)
    single = {
        k: v for k, v in (beside or {}).items() if isinstance(v, str | int | float)
    }
    single = {k: v for k, v in single.items() if k not in OF_COCO} | own
    return {k: v for k, v in single.items() if k not in OWN and k not in CROWD}


def _crowd(label: dict) -> bool:
    marks = [of.get(k) for of in (label, label.get("attributes") or {}) for k in CROWD]
    try:
        return any(map(TRUTH.validate_python, marks))
    except ValueError:
        raise ValueError(f"{marks} stand for a crowd, which is true or false") from None


def _is_true(mark: Any, field: str) -> bool:
    """A field that is true or false, in one of the usual ways to write it; absent is false."""
    try:
        return bool(TRUTH.validate_python(mark))
    except ValueError:
        raise ValueError(f"{field} is {mark!r}; it has to be 0 or 1") from None


def _of_corners(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(
        extent=(table["x2"] - table["x1"]) * (table["y2"] - table["y1"])
    )


def _csv_labels(path: Path, notes: Notes) -> tuple[pd.DataFrame, pd.DataFrame]:
    table = csv(path, COLUMNS, notes=notes, ignore="boolean")
    sides = [side for side in ("width", "height") if side in table]
    images = table.groupby("image")[sides].first().rename_axis("name").reset_index()
    has_class = ~_is_missing(table["class"])
    has_corner = table[CORNERS].notna().any(axis=1)
    table = table[has_class | has_corner].reset_index(drop=True)
    boxes = _of_corners(table.drop(columns=sides)).rename(columns={"class": "category"})
    ignore = (
        boxes.get("ignore", pd.Series(False, boxes.index)).fillna(False).astype(bool)
    )
    return images, boxes.assign(ignore=ignore, area=boxes["extent"])


def csv(
    path: Path,
    needed: Sequence[str] = (),
    called: dict | None = None,
    notes: Notes | None = None,
    **kinds,
) -> pd.DataFrame:
    """A CSV with the columns that are `needed`, of some `kinds`; numbers where there have to be.

    In columns of text only an empty field is missing: ``NA`` and ``None`` are values like others.
    They are missing in columns that have to be numbers or booleans. Among other numbers they are
    taken as missing, and a note says so.
    """
    kinds = dict.fromkeys(("image", "class", "box"), str) | kinds
    booleans = [name for name, kind in kinds.items() if kind == "boolean"]
    kinds |= dict.fromkeys(booleans, str)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error", pd.errors.ParserWarning
            )  # rows longer than the header
            table = pd.read_csv(
                path,
                dtype=kinds,
                index_col=False,
                keep_default_na=False,
                na_values=[""],
            ).rename(columns=called or {})
    except FileNotFoundError:
        why = f"there is no such file in {path.parent.name!r}"
        raise DetectionDataError(f"{path.name}: {why}") from None
    except (
        ValueError,
        OSError,
        EOFError,
        zlib.error,
        pd.errors.ParserWarning,
    ) as error:
        why = f"{' '.join(str(error).split())[:200]}; save it with commas, as CSV UTF-8"
        raise DetectionDataError(f"{path.name} cannot be read as CSV: {why}") from None
    if absent := [name for name in needed if name not in table]:
        raise DetectionDataError(
            f"{path.name}: a column is needed for each of {', '.join(needed)}; missing: "
            f"{', '.join(absent)} (there are: {', '.join(map(str, table.columns[:12]))})"
        )
    for name in {*CORNERS, "score", "width", "height"} & set(table):
        numbers = pd.to_numeric(table[name], errors="coerce")
        wrong = table[name][numbers.isna() & ~_is_missing(table[name])]
        if len(wrong):
            told = ", ".join(
                f"{one!r} in line {n + 2}" for n, one in wrong.head(3).items()
            )
            raise DetectionDataError(
                f"{path.name}: {name!r} is no number in {len(wrong):,} lines: {told}"
            )
        table[name] = numbers
    for name in set(booleans) & set(table):
        table[name] = _booleans(path, table[name])
    for name in table.columns.difference(list(kinds)):
        numbers = _numbers_but_for_words(table[name])
        if numbers is not None:
            if notes is not None:
                words = f"values of {name!r} are words among numbers, such as NA: taken as missing"
                notes[words] += int((numbers.isna() & table[name].notna()).sum())
            table[name] = numbers
    return table


def _is_missing(column: pd.Series) -> pd.Series:
    """Whether each value is missing, or a word that stands for a missing one, such as NA."""
    if pd.api.types.is_numeric_dtype(column):
        return column.isna()
    words = column.astype(str).str.strip().str.casefold()
    return column.isna() | words.isin(MISSING | {""})


def _booleans(path: Path, column: pd.Series) -> pd.Series:
    """A column of texts such as 0, 1, true and false as nullable booleans."""
    missing = _is_missing(column)
    values = column.str.strip().str.casefold().map(BOOLEANS)
    wrong = column[values.isna() & ~missing]
    if len(wrong):
        line, text = next(wrong.items())
        raise DetectionDataError(
            f"{path.name}: {column.name!r} is {text!r} in line {line + 2}; it has to be 0 or 1"
        )
    return values.mask(missing).astype("boolean")


def _numbers_but_for_words(column: pd.Series) -> pd.Series | None:
    """A column of many different numbers and words that stand for none, as numbers; else None."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return None
    texts = column.dropna().astype(str).str.strip()
    words = texts.str.casefold().isin(MISSING)
    if not words.any() or words.all():
        return None
    numbers = pd.to_numeric(texts[~words], errors="coerce")
    if numbers.isna().any() or numbers.nunique() <= FEW:
        return None
    return numbers.reindex(column.index)


def _checked(boxes, images, path: Path, notes: Notes, noun: str) -> pd.DataFrame:
    """Boxes without what cannot be: NaN, negative sides and scores beyond 1 are refused."""
    values = [*CORNERS, *({"score"} & {*boxes} if noun == "detections" else [])]
    numbers = boxes[values].to_numpy(float)
    sides = np.minimum(boxes["x2"] - boxes["x1"], boxes["y2"] - boxes["y1"]).to_numpy(
        float
    )
    negative = "a negative width or height: COCO's are x, y, width, height, a CSV's x1, y1, x2, y2"
    beyond = ((numbers[:, 4:] < -1e-6) | (numbers[:, 4:] > 1 + 1e-6)).any(1)
    for why, wrong in (
        ("name no image", boxes["image"].to_numpy() < 0),
        (
            "hold NaN, infinity or nothing where a number has to be",
            ~np.isfinite(numbers).all(1),
        ),
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
        width, height = (
            images[name].to_numpy()[boxes["image"]] for name in ("width", "height")
        )
        beyond = (numbers[:, 2] > 1.02 * width) | (numbers[:, 3] > 1.02 * height)
        if beyond.mean() > 0.2:
            raise DetectionDataError(
                f"{path.name}: {beyond.sum():,} of {of} end outside of their image: COCO's bbox is "
                "x, y, width, height, a CSV has the corners x1, y1, x2, y2"
            )
        outside = (numbers[:, 2:4] <= 0).any(1) | (numbers[:, 0] >= width)
        outside |= numbers[:, 1] >= height
        notes[f"of {of} lay outside of the image: counted, as for COCO"] += (
            outside.sum()
        )
    notes[f"of {of} had no area: never matched, as for COCO"] += (sides == 0).sum()
    again = boxes.duplicated(["image", "category", *values])
    if again.any() and noun == "detections":
        notes.warnings.append(
            f"{again.sum():,} of {of} in {path.name} are there twice: with the same image, class, "
            "corners and score. Each was counted once. pycocotools counts the copies as false "
            "positives, so its AP is lower; find out what wrote them twice."
        )
        return boxes[~again].reset_index(drop=True)
    notes[f"of {of} came twice: each counts"] += again.sum()
    if again.mean() > MANY_COPIES:
        notes.warnings.append(
            f"{again.sum():,} of {of} in {path.name} are there twice. A detector finds a copy only "
            "by a second detection, so recall is too low. Remove the copies."
        )
    return boxes
