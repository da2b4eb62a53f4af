"""Frames for notebook 08: BDD100K's folder, with the income of the place of each frame.

GPS tracks, areas and incomes are joined (ICON2, section 4.1).
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import shapely
from PIL import Image

from helpers.icon2 import reading, user_data
from helpers.icon2.attributes import OF_PAPER, Frames
from helpers.icon2.matching import Matches
from helpers.icon2.reading import CLASSES, DetectionDataError, csv, entries, numbered
from helpers.synthetic_data import street

PUBLISHED = {  # where BDD100K's folder, as it is given out, has what is read here
    "labels": (
        "labels/det_20/det_val.json",
        "labels/bdd100k_labels_images_val.json",
        "track_sample_anns.json",
    ),
    "images": ("images/100k/val",),
    "gps": ("info/100k/val",),
    # what BDD100K does not hold, and the user provides
    "predictions": ("predictions.json", "bbox_predictions.json"),
    "areas": ("areas.geojson",),
    "incomes": ("incomes.csv",),
}
CITY = ("gps", "areas", "incomes")
PAPER_EDGES = (21_400.0, 62_100.0, 93_400.0, 250_000.0)  # dollars, section 4.1
PLACE = ["latitude", "longitude"]
LABELLED_AT = 10.0  # seconds into the video, of BDD100K's labelled frame
GAP = 5.0  # seconds from the nearest fix, above which the position is not known
JOINED, NO_GPS = "joined", "without GPS"
NO_AREA, NO_INCOME = "outside of every area", "in an area without income"
OUTSIDE = "outside of the bins' edges"
AMOUNT = re.compile(r"nan|\d+(\.\d+)?|\d{1,3}(,\d{3})+(\.\d+)?")
NO_AMOUNT = ("", "na", "n/a", "#n/a", "<na>", "null", "none", "-")
NO_AMOUNT = (*NO_AMOUNT, "-666666666")  # the Census'
CALLED = {
    "GEOID": "area",
    "GEO_ID": "area",
    "B19013_001E": "income",
}  # in the Census' tables
SUMMARY = re.compile(r"^\d{7}US(?=\d)")  # before a tract's number in them
POOREST = 1_000  # dollars a year: where all incomes are below, they are of another unit


def read(
    labels: str | Path,
    predictions: str | Path,
    *,
    gps: str | None = None,
    areas: str | None = None,
    incomes: str | None = None,
    edges: str = "equal",
) -> Frames:
    """Read BDD100K's labels and detections (files or folders), with incomes where these are given.

    `gps` is the folder of BDD100K's info files ``<video>.json``, `areas` GeoJSON of polygons with a
    property ``area``, `incomes` CSV with the columns ``area`` and ``income`` (dollars a year).
    `edges` are ``equal`` (a third of the joined frames in each bin) or the ``paper``'s. A
    DetectionDataError names a file that cannot be used."""
    frames = user_data.read(labels, predictions, classes=CLASSES)
    frames = replace(frames, report=(*frames.report, *frames.warnings))
    if gps is None:
        return frames
    more = ["the labels' own attribute 'income' is not used, for 'incomes' is given"]
    videos = frames.images.get(
        "video", frames.images["name"].map(lambda name: Path(name).stem)
    )
    table, counts = join(videos, gps, areas, incomes, edges)
    more = more * ("income" in frames.images)
    more.append(", ".join(f"{n:,} {name}" for name, n in counts.items()))
    images = frames.images.assign(income=table["bin"])
    return replace(frames, images=images, report=(*frames.report, *more))


def files(settings: SimpleNamespace) -> dict[str, Path | None]:
    """Return the user's files by their content; there are none for synthetic street scenes.

    These are the files that are given, and those that the folder `frames` has where BDD100K has
    them. Otherwise that folder holds the ``images``."""
    named = {name: getattr(settings, name, None) for name in PUBLISHED}
    if settings.frames is not None:
        folder, here = Path(settings.frames), {}
        for name, places in PUBLISHED.items():
            existing = [folder / place for place in places if (folder / place).exists()]
            here[name] = existing[0] if existing else None
        if not all(named[name] or here[name] for name in CITY):
            here |= dict.fromkeys(CITY)
        named = {name: file or here[name] for name, file in named.items()}
        named["images"] = named["images"] or folder
        if not named["labels"]:
            name, places = folder.resolve().name, ", ".join(PUBLISHED["labels"])
            raise DetectionDataError(
                f"parameter 'frames': {name} has none of {places}; give "
                "BDD100K's folder as it is given out, or 'labels'"
            )
    return named if any(named.values()) else {}


def check(settings: SimpleNamespace) -> None:
    """Refuse labels that cannot be read, and columns that they (or the synthetic scenes) lack."""
    own = files(settings)
    if not own:  # the columns of synthetic street scenes
        of_boxes = (
            "image",
            *reading.CORNERS,
            "occluded",
            "truncated",
            "appearance",
            "distance",
        )
        of_frames = ("name", "video", "weather", "scene", "timeofday", "contrast")
        boxes = pd.DataFrame({name: [0, 1] for name in of_boxes})
        images = pd.DataFrame({name: ["a", "b"] for name in of_frames}).assign(
            width=street.WIDTH
        )
    else:
        images, boxes = reading.labels(Path(own["labels"]), reading.Notes())
    if not own or own["gps"]:
        images = images.assign(
            income=np.where(np.arange(len(images)) % 2, "low", "high")
        )
    frames = Frames(images, boxes, boxes.iloc[:0], ())
    frames.attribute(settings.sensitive)
    there = [settings.sensitive, *OF_PAPER, *OF_PAPER.values()]
    if twice := [name for name in settings.further or () if name in there]:
        raise ValueError(
            f"parameter 'further': {twice[0]!r} is the sensitive attribute, or one of the five "
            "that are held fixed already; remove it"
        )
    frames.explanatory(settings.sensitive, settings.further)
    frames.clusters(settings.cluster)


def example(
    frames: Frames, matches: Matches, name: str
) -> tuple[int, pd.DataFrame, pd.DataFrame]:
    """Return a frame that shows what matching does: its number, boxes, and detections.

    It has a hit, a miss and a false positive of the class, or most of them. The boxes have a column
    ``found``, the detections ``hit`` and ``box`` (the row of the box that they took)."""
    rows, ours = matches.rows(name), matches.of(name)
    boxes = frames.boxes.loc[ours.box_row[~ours.box_ignored]]
    boxes = boxes.assign(found=boxes.index.isin(rows.box[rows.hit]))
    kinds = [rows.image[rows.hit], rows.image[~rows.hit], boxes.image[~boxes.found]]
    seen = np.array([np.bincount(kind, minlength=matches.n_images) for kind in kinds])
    sizes = (boxes.x2 - boxes.x1) * (boxes.y2 - boxes.y1)
    sizes = (
        sizes.groupby(boxes.image).mean().reindex(range(matches.n_images), fill_value=0)
    )
    dark = frames.images.get("timeofday", pd.Series("", frames.images.index)) == "night"
    number = int(np.lexsort((-sizes, seen[1] > 2, dark, -(seen > 0).sum(0)))[0])
    here = rows[rows.image == number].set_index("row")
    detections = frames.detections.loc[here.index].assign(hit=here.hit, box=here.box)
    return number, boxes[boxes.image == number], detections


def labelled(labels: str | Path) -> tuple[list[str], list[str]]:
    """Return the names of the frames of a labels file, and of the labelled classes."""
    images, boxes = reading.labels(Path(labels), reading.Notes())
    return list(images["name"]), [
        one for one in CLASSES if one in set(boxes["category"])
    ]


def picture(frames: Frames, folder: str | Path | None, number: int) -> np.ndarray:
    """Return the picture of a frame, uint8 (H, W, 3), or grey of the usual size."""
    file = Path(folder or "") / frames.images["name"][number]
    if file.is_file():
        return np.asarray(Image.open(file).convert("RGB"))
    return np.full((720, 1280, 3), 238, np.uint8)


def join(
    videos, gps, areas, incomes, edges="equal"
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return each frame's ``video latitude longitude area income bin``, NaN if unknown, and counts."""
    table = positions(videos, Path(gps))
    table["area"] = areas_of(table, Path(areas))
    table["income"] = table.area.map(_incomes(Path(incomes))).astype(float)
    known = table.income.dropna()
    bounds = PAPER_EDGES
    if edges == "equal" and len(known):
        bounds = np.quantile(known, [0, 1 / 3, 2 / 3, 1])
        if not (np.diff(bounds) > 0).all():
            raise DetectionDataError(
                "edges='equal': too many frames have the same income for thirds"
            )
    bounds = [*bounds[:3], np.nextafter(bounds[3], np.inf)]
    table["bin"] = pd.cut(table.income, bounds, labels=street.GROUPS, right=False)
    missing = [table[column].isna() for column in ("latitude", "area", "income", "bin")]
    reasons = [NO_GPS, NO_AREA, NO_INCOME, OUTSIDE]
    outcome = np.select(missing, reasons, JOINED)
    counts = {name: int((outcome == name).sum()) for name in (JOINED, *reasons)}
    if not counts[JOINED]:
        why = ", ".join(f"{counts[name]:,} {name}" for name in reasons if counts[name])
        raise DetectionDataError(
            f"no frame could be joined with an income: {why}. Fixes are in 'gps' as <video>.json, "
            f"such as {table.video[0]}.json, in degrees and milliseconds; the map and the table "
            "name their areas alike in 'area'"
        )
    return table, {"frames": len(table)} | counts


def positions(videos: Iterable[str], folder: Path) -> pd.DataFrame:
    """Return the place of each video's labelled frame, NaN without a file or a fix."""
    if not folder.is_dir():
        raise DetectionDataError(
            f"parameter 'gps': {folder.name} is not a folder with files <video>.json"
        )
    rows = [(v, *_position(folder / f"{v}.json")) for v in videos]
    return pd.DataFrame(rows, columns=["video", *PLACE])


def _position(path: Path) -> tuple[float, float]:
    """Interpolate latitude and longitude between two fixes; NaN in a gap of the track."""
    track = next(entries(path, "")) if path.is_file() else {}
    try:
        fixes = pd.DataFrame(
            track.get("locations") or [], columns=["timestamp", *PLACE]
        )
        fixes, begin = fixes.astype(float), track.get("startTime")
        wrong = ~(np.isfinite(fixes) & (fixes.abs() <= [np.inf, 90, 180])).all(axis=1)
        if wrong.any():
            values = ", ".join(
                f"{name} {n:g}" for name, n in fixes.loc[wrong.idxmax()].items()
            )
            raise ValueError(
                f"fix {wrong.idxmax()} has no time and place in degrees: {values}"
            )
        fixes = fixes.sort_values("timestamp")
        begin = fixes["timestamp"].min() if begin is None else float(begin)
    except (AttributeError, TypeError, ValueError) as error:
        raise DetectionDataError(f"{path.name}: locations: {error}") from None
    if fixes.empty:
        return np.nan, np.nan
    moment = begin + 1000 * LABELLED_AT
    if (fixes.timestamp - moment).abs().min() > 1000 * GAP:
        return np.nan, np.nan
    return tuple(
        float(np.interp(moment, fixes.timestamp, fixes[axis])) for axis in PLACE
    )


def areas_of(places: pd.DataFrame, areas: Path) -> pd.Series:
    """Return the area of each place (``latitude``, ``longitude``), NaN where there is none."""
    content, names = next(entries(areas, "")), []
    with suppress(KeyError, TypeError):  # another form
        known = [feature["properties"] for feature in content["features"]]
        names = [one["area"] if "area" in one else one["GEOID"] for one in known]
    if not names or None in names:
        raise DetectionDataError(
            f"{areas.name}: GeoJSON holds 'features', and each needs a property 'area' or 'GEOID'"
        )
    names = [
        str(int(n) if isinstance(n, float) and n.is_integer() else n) for n in names
    ]
    outlines = [json.dumps(feature.get("geometry")) for feature in content["features"]]
    outlines = shapely.from_geojson(outlines, on_invalid="ignore")
    if (lost := shapely.get_dimensions(outlines) != 2).any():
        name = names[lost.argmax()]
        raise DetectionDataError(
            f"{areas.name}: area {name!r} is no Polygon or MultiPolygon"
        )
    ends = np.abs(shapely.total_bounds(outlines)).reshape(2, 2).max(0)
    if not (ends <= (180, 90)).all():
        raise DetectionDataError(
            f"{areas.name}: coordinates are degrees, longitude before latitude; they reach to "
            f"{ends[0]:.6g}, {ends[1]:.6g}"
        )
    known = places[PLACE].dropna()
    points = shapely.points(known[PLACE[::-1]].to_numpy(float))
    place, area = shapely.STRtree(outlines).query(points, predicate="within")
    inside = pd.DataFrame({"at": known.index[place], "area": np.array(names)[area]})
    inside = inside.drop_duplicates().sort_values(["at", "area"])
    if len(several := inside[inside["at"].duplicated(keep=False)]):
        one, other = several["area"].iloc[:2]
        raise DetectionDataError(
            f"{areas.name}: {several['at'].nunique():,} frames lie in several areas, such as "
            f"{one!r} and {other!r}; areas must not overlap"
        )
    return inside.set_index("at")["area"].reindex(places.index)


def _incomes(path: Path) -> dict[str, float]:
    """Read the income by area, NaN where there is none; "142,500" and "$142,500" are numbers."""
    text = dict.fromkeys(("area", "income", *CALLED), str)
    table = csv(path, ["area", "income"], CALLED, **text)
    areas = table["area"].str.strip().str.replace(SUMMARY, "", regex=True)
    texts = (
        table["income"].fillna("").str.replace(r"[$\s]|\+$", "", regex=True)
    )  # 250,000+ is one
    texts = texts.mask(texts.str.lower().isin(NO_AMOUNT), "nan")
    if (wrong := ~texts.map(AMOUNT.fullmatch).astype(bool)).any():
        area, text = areas[wrong].iloc[0], table["income"][wrong].iloc[0]
        raise DetectionDataError(
            f"{path.name}: the income {text!r} of area {area!r} is no amount; give dollars a year, "
            "such as 142500, or leave it empty"
        )
    incomes = texts.str.replace(",", "").astype(float)
    if incomes.max() < POOREST:
        raise DetectionDataError(
            f"{path.name}: no income is above {incomes.max():g}; give dollars a year, as 142500"
        )
    return dict(zip(numbered(areas, path), incomes, strict=True))
