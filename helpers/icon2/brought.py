"""What readers bring to an audit of their detector: labels and detections as COCO's JSON, BDD100K's
or a CSV of boxes, of any classes, and more attributes in a CSV."""

import gzip
import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.icon2 import reading
from helpers.icon2.attributes import Attribute, Frames, from_column
from helpers.icon2.average_precision import Curves, Options
from helpers.icon2.matching import match
from helpers.icon2.reading import CORNERS, DetectionDataError
from helpers.store import progress

CHUNK, LONGEST = 1 << 20, 1 << 28  # characters read at once; of one entry of a list
WHOLE = 1_000_000_000  # bytes of a BDD100K file, which is not read in a stream
SIZES = ("small", "medium", "large")
BOUNDS = (32**2, 96**2)  # square pixels: COCO's small, medium and large
OF_COCO = {"license", "coco_url", "flickr_url", "date_captured", "segmentation", "area", "bbox"}
OF_COCO |= {"id", "image_id", "category_id", "iscrowd", "ignore", "file_name", "width", "height"}
OF_COCO |= {"keypoints", "num_keypoints", "attributes"}
OWN = {"name", "video", "width", "height", "id", "image", "category", "ignore", "score", "area"}
OWN |= {"extent", "box", *CORNERS}  # columns that are no attributes
OF_BDD = {"frames", "name", "labels", "videoName", "url", "config", "groups"}
COLUMNS = ["image", "class", *CORNERS]  # of a CSV; detections have `score`, too
LIKE_COCO = Options(precision="raw", images="all", false_positives="coco")
NEITHER = "it is no COCO file (a list 'annotations', or of results), no list of BDD100K's frames"


def brought(
    labels: str | Path, predictions: str | Path, attributes: str | Path | None = None
) -> Frames:
    """The reader's labels and detections in one of three formats, which may differ: COCO, BDD100K
    (Scalabel) or CSV. Classes are those that are labelled, most boxes first. `attributes` is a CSV
    with a column ``image`` (a name) or ``box`` (an id). The report has a sentence for all that was
    left out or looks wrong; a DetectionDataError says what cannot be used."""
    if predictions is None:
        raise DetectionDataError("parameter 'predictions' is missing: what did the detector find?")
    notes: Counter = Counter()
    images, boxes = _labels(Path(labels), notes)
    left = _ignored_alone(boxes, notes)
    counts = boxes["category"][left].value_counts().sort_index()
    classes = tuple(map(str, counts.sort_values(ascending=False, kind="stable").index))
    detections = _detections(Path(predictions), images, boxes, notes)
    listed = pd.Index(classes)
    unknown = detections["category"][~detections["category"].isin(listed)].value_counts()
    told = ", ".join(f"{name} {n:,}" for name, n in unknown.head(5).items())
    notes[f"detections left out: no box of their class is labelled ({told})"] = unknown.sum()
    boxes, detections = (
        t[t["category"].isin(listed)]
        .reset_index(drop=True)
        .assign(category=lambda t: listed.get_indexer(t["category"]))
        for t in (boxes, detections)
    )
    if detections.empty:
        raise DetectionDataError(
            f"{Path(predictions).name}: no detection is left of labelled images and classes "
            f"({', '.join(classes[:9])}); {'; '.join(_told(notes))}"
        )
    if attributes is not None:
        images, boxes = _joined(Path(attributes), images, boxes, notes)
    first = f"{len(images):,} images, {(~boxes['ignore']).sum():,} boxes, {len(detections):,} "
    first += f"detections of {len(classes)} classes"
    return Frames(images, boxes, detections, classes, (first, *_told(notes)))


def entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Each entry of the lists of a JSON file, in a stream: the key of its list ("" at the top) and
    itself; of other values the key and the value."""
    decode = json.JSONDecoder().raw_decode
    text, at, whole = "", 0, False
    with _opened(path) as file:

        def ahead() -> str:
            """The next character that is no space or comma, "" at the end of the file."""
            nonlocal text, at, whole
            while True:
                while at < len(text) and text[at] in " \t\r\n,":
                    at += 1
                if at < len(text) or whole:
                    return text[at : at + 1]
                text, at = _next(file, path), 0
                whole = not text

        def value() -> Any:
            nonlocal text, at, whole
            while True:
                try:
                    one, end = decode(text, at)
                    if end < len(text) or whole:  # a number may go on
                        at = end
                        return one
                except ValueError as error:
                    if whole or len(text) - at > LONGEST:
                        raise _cut_short(path, error) from None
                more = _next(file, path, len(text) - at)
                text, at, whole = text[at:] + more, 0, not more

        def listed(key: str) -> Iterator[tuple[str, Any]]:
            nonlocal at
            at += 1
            while ahead() != "]":
                yield key, value()
            at += 1

        if ahead() == "[":
            yield from listed("")
        elif ahead() == "{":
            at += 1
            while ahead() != "}":
                key = value()
                if ahead() != ":":
                    raise _cut_short(path, f"no colon after {str(key)[:40]!r}")
                at += 1
                if ahead() == "[":
                    yield from listed(key)
                else:
                    yield key, value()
        else:
            raise _cut_short(path, "it holds neither a list nor an object")


def _opened(path: Path):
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file in {path.parent.name!r}")
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(path, "rb") as file:
        encoding = json.detect_encoding(file.read(4))
    return (gzip.open if packed else open)(path, "rt", encoding=encoding)


def _next(file, path: Path, size: int = 0) -> str:
    try:
        return file.read(max(size, CHUNK))
    except (ValueError, OSError, EOFError) as error:
        raise _cut_short(path, error) from None


def _cut_short(path: Path, error) -> DetectionDataError:
    return DetectionDataError(
        f"{path.name} is cut short or no JSON ({error}); copy or download it again, unpacked"
    )


def _kind(path: Path) -> str:
    """What a file is: csv, coco, results (of COCO) or bdd."""
    if path.is_dir():
        return "bdd"
    if ".csv" in path.suffixes[-2:]:
        return "csv"
    for key, entry in entries(path):
        if key in ("images", "annotations", "categories"):
            return "coco"
        if key in OF_BDD or (key == "" and isinstance(entry, dict) and "name" in entry):
            if (size := path.stat().st_size) > WHOLE:
                raise DetectionDataError(
                    f"{path.name}: {size / 1e9:.1f} GB of BDD100K's JSON is read at once, which "
                    "takes several times its size of memory; split it into a folder of files, or "
                    "bring COCO's JSON or a CSV, which are read in a stream"
                )
            return "bdd"
        if key == "":
            if isinstance(entry, dict) and "image_id" in entry:
                return "results"
            break
    raise DetectionDataError(f"{path.name}: {NEITHER} and no CSV; which format is it?")


def _labels(path: Path, notes: Counter) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Images, and boxes with ``category`` by name, ``area`` as COCO has it, ``extent`` and ``box``,
    an id."""
    kind = _kind(path)
    if kind == "results":
        raise DetectionDataError(f"{path.name}: these are COCO's results; labels have annotations")
    if kind == "bdd":
        images, boxes, sentences = reading.read_labels(path, None)
        notes.update({sentence: -1 for sentence in sentences})
    else:
        images, boxes = _coco_labels(path, notes) if kind == "coco" else _csv_labels(path)
    if boxes.empty:
        raise DetectionDataError(f"{path.name}: no image of it has a box: there is nothing to find")
    if kind == "bdd":  # whose bounds of sizes are for frames as wide as its own
        scale = (reading.WIDTH / images["width"].to_numpy()[boxes["image"]]) ** 2
        boxes["extent"] = (boxes.x2 - boxes.x1) * (boxes.y2 - boxes.y1)
        return images, boxes.assign(area=boxes["extent"] * scale)
    reading.numbered(images["name"], path)
    return images, _checked(boxes, images, path, notes, scored=False)


def _coco_labels(path: Path, notes: Counter) -> tuple[pd.DataFrame, pd.DataFrame]:
    images, names, numbers, ids, more = [], {}, array("d"), [], []
    of_image: dict = {}
    for key, entry in progress(entries(path), desc=path.name, delay=2):
        try:
            if key == "images":
                about = {"id": entry["id"], "name": str(entry.get("file_name", entry["id"]))}
                about |= {side: entry[side] for side in ("width", "height") if entry.get(side)}
                images.append(_further(entry) | about)
            elif key == "categories":
                names[entry["id"]] = str(entry["name"])
            elif key == "annotations":
                if not entry.get("bbox"):
                    notes["labels left out: they have no box"] += 1
                    continue
                of, category = entry["image_id"], entry["category_id"]
                x, y, width, height = _four(entry["bbox"])
                area, crowd = entry.get("area", width * height), bool(entry.get("iscrowd", 0))
                numbers.extend((of_image.setdefault(of, len(of_image)), x, y, width, height))
                numbers.extend((area, crowd))
                ids.append((entry.get("id"), category))
                more.append(_further(entry))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _bad(path, f"{key}, entry {str(entry)[:80]}", error) from None
    if not images or not names:
        raise DetectionDataError(f"{path.name}: COCO's labels have 'images' and 'categories'")
    if twice := [i for i, n in Counter(one["id"] for one in images).items() if n > 1]:
        raise DetectionDataError(
            f"{path.name}: {len(twice)} image ids occur twice, such as {twice[0]!r}"
        )
    images = pd.DataFrame(sorted(images, key=lambda one: (isinstance(one["id"], str), one["id"])))
    place = {one: n for n, one in enumerate(images["id"])}
    if lost := [one for one in of_image if one not in place]:
        raise DetectionDataError(
            f"{path.name}: boxes are of image {lost[0]!r}, which is not listed"
        )
    table = np.array(numbers).reshape(-1, 7)
    number = np.array([place[one] for one in of_image], np.int64)[table[:, 0].astype(int)]
    boxes = _cornered(number, table[:, 1:5])
    if unnamed := {category for _, category in ids} - names.keys():
        raise DetectionDataError(f"{path.name}: category {min(map(str, unnamed))!r} has no name")
    boxes["category"] = [names[category] for _, category in ids]
    boxes["box"] = [None if one is None else str(one) for one, _ in ids]
    boxes = boxes.assign(area=table[:, 5], ignore=table[:, 6] > 0)
    if any(more):
        boxes = boxes.join(pd.DataFrame(more, boxes.index))
    images.attrs["categories"] = names
    return images, boxes


def _further(entry: dict) -> dict:
    """The attributes of one of COCO's images or boxes: single values that COCO does not define."""
    every = entry | (entry.get("attributes") or {})
    single = {k: v for k, v in every.items() if isinstance(v, str | int | float)}
    return {k: v for k, v in single.items() if k not in OF_COCO | OWN}


def _four(bbox: Sequence[float]) -> Sequence[float]:
    if len(bbox) != 4:
        raise ValueError(f"'bbox' has {len(bbox)} numbers, not 4: x, y, width, height")
    return bbox


def _bad(path: Path, place: str, error: Exception) -> DetectionDataError:
    why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return DetectionDataError(f"{path.name}: {place}: {why}")


def _cornered(image, bbox: np.ndarray) -> pd.DataFrame:
    """Boxes of x, y, width and height as corners; the product of the sides is kept as it was."""
    x, y, width, height = bbox.T
    corners = dict(zip(CORNERS, (x, y, x + width, y + height), strict=True))
    return pd.DataFrame(
        {"image": image} | corners | {"extent": width * height, "side": np.minimum(width, height)}
    )


def _csv_labels(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    table = _csv(path, COLUMNS)
    names = pd.Index(sorted(table["image"].unique()))
    images = pd.DataFrame({"name": names})
    for side in {"width", "height"} & set(table):
        images[side] = table.groupby("image")[side].first().reindex(names).to_numpy()
    bare = table[["class", *CORNERS]].isna()
    boxes = table[~bare.all(axis=1)].reset_index(drop=True)
    boxes["image"] = names.get_indexer(boxes["image"])
    boxes = _of_csv(boxes).rename(columns={"class": "category"})
    ignore = boxes["ignore"] if "ignore" in boxes else pd.Series("", boxes.index)
    boxes["ignore"] = ignore.astype(str).str.lower().isin(("1", "1.0", "true", "yes"))
    if "box" in boxes:
        boxes["box"] = boxes["box"].astype(str)
    return images, boxes.assign(area=boxes["extent"]).drop(
        columns=["width", "height"], errors="ignore"
    )


def _of_csv(table: pd.DataFrame) -> pd.DataFrame:
    width, height = table.x2 - table.x1, table.y2 - table.y1
    return table.assign(extent=width * height, side=np.minimum(width, height))


def _csv(path: Path, needed: Sequence[str]) -> pd.DataFrame:
    """A CSV with some columns, numbers where there have to be."""
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file in {path.parent.name!r}")
    try:
        table = pd.read_csv(path, dtype={"image": str, "class": str, "box": str})
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


def _detections(path: Path, images, boxes, notes: Counter) -> pd.DataFrame:
    """Detections of labelled images, with ``category`` by name."""
    kind = _kind(path)
    if kind == "bdd":
        detections, sentences = reading.read_detections(path, images, None)
        notes.update({sentence: -1 for sentence in sentences})
        return detections.assign(
            extent=(detections.x2 - detections.x1) * (detections.y2 - detections.y1)
        )
    if kind == "csv":
        table = _csv(path, [*COLUMNS, "score"])
        number = pd.Index(images["name"]).get_indexer(table["image"])
        detections = _of_csv(table.assign(image=number)).rename(columns={"class": "category"})
        names = table["image"]
    else:
        detections, names = _coco_results(path, images, notes)
    known = detections["image"].to_numpy() >= 0
    if not known.any():
        raise DetectionDataError(
            f"{path.name}: none of its {names.nunique():,} images is labelled. Its first is "
            f"{names.iloc[0]!r}, the first labelled is {images['name'].iloc[0]!r}: names must agree"
        )
    notes["detections left out: their image has no labels"] += int((~known).sum())
    detections = detections[known].reset_index(drop=True)
    silent = len(images) - detections["image"].nunique()
    notes["labelled images have no detection"] += silent
    detections = _checked(detections, images, path, notes, scored=True)
    return detections[["image", "category", *CORNERS, "score", "extent"]]


def _coco_results(path: Path, images, notes: Counter) -> tuple[pd.DataFrame, pd.Series]:
    """Results by number of image (-1 of those that are not labelled) and by name of class."""
    if "categories" not in images.attrs:
        raise DetectionDataError(
            f"{path.name}: COCO's results name images by the ids of COCO's labels, and the labels "
            "are in another format; bring both as COCO, or detections as CSV"
        )
    place = {one: n for n, one in enumerate(images["id"])}
    texts = {str(one): n for one, n in place.items()}
    texts |= {Path(name).stem: n for n, name in enumerate(images["name"])}
    texts |= {name: n for n, name in enumerate(images["name"])}
    numbers, names, by_text = array("d"), images.attrs["categories"], 0
    kinds, unlabelled = {}, {}
    for key, entry in progress(entries(path), desc=path.name, delay=2):
        if key not in ("", "annotations"):
            continue
        try:
            of, kind = entry["image_id"], entry["category_id"]
            number = place.get(of, -1)
            if number < 0 and isinstance(of, str):
                number, by_text = texts.get(of, -1), by_text + 1
            if number < 0:
                unlabelled.setdefault(str(of), None)
            numbers.extend((number, kinds.setdefault(kind, len(kinds)), *_four(entry["bbox"])))
            numbers.append(entry["score"])
        except (KeyError, TypeError, ValueError) as error:
            raise _bad(path, f"detection {len(numbers) // 7} ({str(entry)[:80]})", error) from None
    if not numbers:
        raise DetectionDataError(f"{path.name}: it holds no detection")
    notes["detections name their image by text; it was read as an id or a file's name"] += by_text
    table = np.frombuffer(numbers).reshape(-1, 7)
    detections = _cornered(table[:, 0].astype(np.int64), table[:, 2:6])
    spelled = pd.Index([names.get(kind, names.get(_whole(kind), f"id {kind}")) for kind in kinds])
    detections["category"] = spelled.to_numpy()[table[:, 1].astype(int)]
    return detections.assign(score=table[:, 6]), pd.Series([*unlabelled] or images["name"])


def _whole(text: Any) -> Any:
    return int(text) if isinstance(text, str) and text.isdigit() else text


def _checked(boxes, images, path: Path, notes: Counter, scored: bool) -> pd.DataFrame:
    """Boxes without what cannot be: NaN, negative sides and scores beyond 1 are refused."""
    noun = "detections" if scored else "boxes"
    numbers = boxes[[*CORNERS, *(["score"] if scored else [])]].to_numpy(float)
    sides = boxes.pop("side").to_numpy()
    negative = "a negative width or height: COCO's are x, y, width, height, a CSV's x1, y1, x2, y2"
    rules = [
        ("hold NaN, infinity or nothing where a number has to be", ~np.isfinite(numbers).all(1)),
        (f"have {negative}", sides < 0),
        ("have no class; give each of them one", boxes["category"].isna().to_numpy()),
    ]
    if scored:
        beyond = (numbers[:, 4] < -1e-6) | (numbers[:, 4] > 1 + 1e-6)
        rules.append(("have a score that is not in 0 to 1; divide percents by 100", beyond))
    for why, wrong in rules:
        if wrong.any():
            first = boxes.iloc[int(wrong.argmax())]
            place = f"{images['name'].iloc[first['image']]}, {first[CORNERS].tolist()}"
            place += f", score {first['score']}" if scored else ""
            raise DetectionDataError(
                f"{path.name}: {wrong.sum():,} of {len(boxes):,} {noun} {why}. The first: {place}"
            )
    if numbers[:, :4].max() <= reading.SHARES:
        raise DetectionDataError(
            f"{path.name}: no corner of its {len(boxes):,} {noun} is beyond "
            f"{numbers[:, :4].max():.3g}: they are shares of the image; multiply them by its sides"
        )
    if "width" in images and "height" in images:
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
    flat = "are false positives" if scored else "can never be found"
    notes[f"{noun} have no area: they {flat}, as for COCO"] += int((sides == 0).sum())
    twice = boxes.duplicated(["image", "category", *CORNERS, *(["score"] if scored else [])])
    notes[f"{noun} are there twice: each of them counts"] += int(twice.sum())
    return boxes


def _ignored_alone(boxes: pd.DataFrame, notes: Counter) -> np.ndarray:
    """Which boxes are to be found; classes that have none are left out."""
    kept = ~boxes["ignore"].to_numpy(bool)
    if not kept.any():
        raise DetectionDataError("all labelled boxes are regions to ignore: nothing is to be found")
    alone = ~boxes["category"].isin(boxes["category"][kept].unique())
    notes["boxes left out: their class has regions to ignore only"] += int(alone.sum())
    crowds = "boxes are crowds, or regions to ignore: a detection there is neither right nor wrong"
    notes[crowds] += int((~kept).sum())
    return kept


def _joined(path: Path, images, boxes, notes: Counter) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Images and boxes with the columns of a CSV, by the name of an image or the id of a box."""
    table = _csv(path, [])
    by = next((name for name in ("box", "image") if name in table), None)
    if by is None:
        there = ", ".join(map(str, table.columns[:9]))
        raise DetectionDataError(
            f"{path.name}: it needs a column 'image' (names) or 'box' (ids); there are: {there}"
        )
    target, key = (boxes, "box") if by == "box" else (images, "name")
    if key not in target:
        raise DetectionDataError(
            f"{path.name}: it names boxes by id, and the labels have none; COCO's annotations and "
            "BDD100K's labels have an 'id', a CSV a column 'box'"
        )
    reading.numbered(table[by].astype(str), path)
    keys = table[by].astype(str)
    own = target[key].astype(str)
    if by == "image":  # or ids, or names without their folder
        files = own.map(Path)
        ways = own, files.map(lambda file: file.name), files.map(lambda file: file.stem)
        ways = [*ways, target["id"].astype(str)] if "id" in target else ways
        own = max(ways, key=lambda names: keys.isin(names).sum())
    noun = "boxes" if by == "box" else "images"
    lost, bare = (~keys.isin(own)).sum(), (~own.isin(keys)).sum()
    if lost == len(keys):
        raise DetectionDataError(
            f"{path.name}: none of its {len(keys):,} {noun} is labelled. Its first is "
            f"{keys.iloc[0]!r}, the first labelled {own.iloc[0]!r}"
        )
    notes[f"rows of {path.name} left out: none of the labelled {noun} has their name"] += lost
    notes[f"labelled {noun} are in no row of {path.name}: they have no value"] += bare
    taken = [name for name in table if name != by and name in OWN]
    fields = f"columns of {path.name} left out, named as a field of boxes: {', '.join(taken)}"
    notes[fields] += len(taken)
    more = table.set_index(keys)[[name for name in table if name != by and name not in OWN]]
    more = more.reindex(own).set_axis(target.index)
    target = target.drop(columns=[name for name in more if name in target]).join(more)
    return (images, target) if by == "box" else (target, boxes)


def _told(notes: Counter) -> list[str]:
    """The notes as sentences; those of a reader that counts itself have the number -1."""
    return [text if n < 0 else f"{n:,} {text}" for text, n in notes.items() if n]


def comparable(
    frames: Frames, wanted: Sequence[str] | None, fewest: int
) -> tuple[list[Attribute], list[str]]:
    """The attributes that can be asked about, those of `wanted` or all that there are, and a
    sentence for each that cannot: it has one value only, too many, or none with `fewest` boxes."""
    columns = [name for name in [*frames.images, *frames.boxes] if name not in OWN]
    if unknown := set(wanted or ()) - set(columns):
        there = ", ".join(columns) or "none"
        raise DetectionDataError(f"no attribute {min(unknown)!r}; there are: {there}")
    attributes, cannot = [], []
    image, labelled = frames.boxes["image"].to_numpy(), ~frames.boxes["ignore"].to_numpy(bool)
    for name in dict.fromkeys(wanted or columns):
        try:
            one = from_column(frames, name)
        except DetectionDataError as error:
            cannot.append(str(error))
            continue
        codes = one.of_boxes(image)
        counts = np.bincount(codes[(codes >= 0) & labelled], minlength=len(one.values))
        if (counts >= fewest).sum() < 2:
            few = f"fewer than two of its values have {fewest} boxes ({', '.join(one.values[:5])})"
            cannot.append(f"{name}: {few}")
        else:
            attributes.append(one)
    return attributes, cannot


def explaining(frames: Frames, bounds: Sequence[float] = BOUNDS) -> list[Attribute]:
    """What every box has and may explain a gap: its size (by `bounds` of its area, square pixels),
    its shape, and how many boxes its image has."""
    boxes = frames.boxes
    codes, of_detections = (
        np.searchsorted(list(bounds), t[column].to_numpy(float), side="right")
        for t, column in ((boxes, "area"), (frames.detections, "extent"))
    )
    attributes = [Attribute("size", SIZES[: len(bounds) + 1], codes, "box", of_detections)]
    width, height = boxes.x2 - boxes.x1, boxes.y2 - boxes.y1
    made = {
        "shape (width/height)": width / height.where(height > 0),
        "boxes in the image": boxes.groupby("image")["image"].transform("size"),
    }
    wider = Frames(frames.images, boxes.assign(**made), frames.detections, frames.classes)
    for name in made:
        try:
            one = from_column(wider, name)
        except DetectionDataError:
            continue
        attributes += [one] if len(one.values) > 1 else []
    return attributes


def like_coco(frames: Frames, bounds: Sequence[float] = BOUNDS) -> dict[str, float]:
    """AP as COCO's evaluator prints it: the mean over IoUs, at .5, at .75, and of boxes of three
    sizes, whose areas end at `bounds` (square pixels)."""
    ends = list(pairwise([0, *bounds, 1e10]))
    ranges = {"all": (0, 1e10)} | dict(zip(SIZES, ends, strict=False))
    numbers, ignored = {}, frames.boxes["ignore"]
    for name, (low, high) in ranges.items():
        area, extent = frames.boxes["area"], frames.detections["extent"].to_numpy()
        outside = (area < low) | (area > high)
        boxes = frames.boxes.assign(crowd=ignored, ignore=ignored | outside)
        other = np.where((extent < low) | (extent > high), -1, 0)
        inside = Attribute("inside", ("yes",), np.zeros(len(boxes), int), "box", other)
        matches = match(replace(frames, boxes=boxes))
        curves = [Curves(matches.of(one), [inside], LIKE_COCO) for one in matches.classes]
        ap = np.array([one.average_precision(np.ones(matches.n_images))[0] for one in curves])
        ap = ap[~np.isnan(ap).all(1)]
        numbers[name] = ap.mean() if len(ap) else np.nan
        if name == "all":
            numbers |= {"IoU .5": ap[:, 0].mean(), "IoU .75": ap[:, 5].mean()}
    return numbers


def most(matches, wanted: Sequence[str] | None, fewest: int) -> list[str]:
    """The classes that are compared: those that are `wanted`, or the eight with the most boxes that
    have `fewest`."""
    if unknown := [name for name in wanted or () if name not in matches.classes]:
        there = ", ".join(matches.classes[:20])
        raise DetectionDataError(f"no class {unknown[0]!r} is labelled; there are: {there}")
    boxes = matches.boxes["category"][~matches.boxes["ignore"]]
    counts = np.bincount(boxes, minlength=len(matches.classes))
    enough = [name for name, n in zip(matches.classes, counts, strict=True) if n >= 2 * fewest]
    if not (wanted or enough):
        raise DetectionDataError(
            f"no class has {2 * fewest} boxes, so no two groups can have {fewest} each; the most "
            f"are {counts.max()} of {matches.classes[0]!r}: bring more images"
        )
    return list(wanted or enough[:8])
