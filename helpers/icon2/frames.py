"""Frames for lesson 08: BDD100K's folder, with the income of each frame's place."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from PIL import Image

from helpers.icon2 import user_data
from helpers.icon2.attributes import Frames
from helpers.icon2.bdd100k import CLASSES
from helpers.icon2.file_checks import Checks, DetectionDataError
from helpers.icon2.matching import Matches
from helpers.icon2.reading import read_labels

PUBLISHED = {  # where BDD100K's folder, as it is published, has what is read here
    "labels": (
        "labels/det_20/det_val.json",
        "labels/bdd100k_labels_images_val.json",
    ),
    "images": ("images/100k/val",),
    "gps": ("info/100k/val",),
    # what BDD100K does not hold, and you provide
    "predictions": ("predictions.json",),
    "areas": ("areas.geojson",),
    "attributes": ("attributes.csv",),
}
PAPER_EDGES = (21_400.0, 62_100.0, 93_400.0, 250_000.0)  # dollars, section 4.1
GROUPS = ("low", "middle", "high")
LABELLED_AT = 10.0  # seconds into the video, of BDD100K's labelled frame
GAP = 5.0  # seconds from the nearest fix, above which the position is not known


def read(
    labels: str | Path,
    predictions: str | Path,
    *,
    attributes: str | Path | None = None,
    gps: str | Path | None = None,
    areas: str | Path | None = None,
    edges: str = "equal",
) -> Frames:
    """Read labels and detections of the paper's classes, with incomes where known.

    Parameters
    ----------
    labels, predictions : path
        BDD100K's (Scalabel's) or COCO's JSON, or a CSV of boxes.
    attributes : path, optional
        A CSV with the columns ``image`` and, for example, ``income`` (dollars a year).
    gps, areas : path, optional
        BDD100K's folder of info files, and outlines with a property ``income`` (see
        `incomes`).
    edges : {"equal", "paper"}
        Whether income groups have a third of the frames each, or the paper's bounds.

    Returns
    -------
    Frames

    Raises
    ------
    DetectionDataError
        If a file cannot be used.
    """
    frames = user_data.read(labels, predictions, attributes, classes=CLASSES)
    images, report = frames.images, [*frames.report, *frames.warnings]
    if areas is not None and gps is not None:
        videos = images["name"].map(lambda name: Path(name).stem)
        if "video" in images:
            videos = images["video"]
        income = incomes(videos, Path(gps), Path(areas))
        images = images.assign(income=income.to_numpy())
        report.append(
            f"{income.notna().sum():,} of {len(images):,} frames have an income"
        )
    if edges == "paper" and "income" in images:
        income = pd.to_numeric(images["income"])
        groups = pd.cut(income, PAPER_EDGES, labels=GROUPS, right=False)
        images = images.assign(income=groups)
    return Frames(
        images, frames.boxes, frames.detections, frames.classes, tuple(report)
    )


def incomes(videos: pd.Series, gps: Path, areas: Path) -> pd.Series:
    """Look up the income of the area in which each video's labelled frame lies.

    Parameters
    ----------
    videos : pandas.Series
        Names of videos.
    gps : Path
        The folder of BDD100K's info files ``<video>.json``, with fixes in degrees and
        milliseconds.
    areas : Path
        Outlines that geopandas can read, such as GeoJSON, with a column ``income``.

    Returns
    -------
    pandas.Series
        One income per video, NaN where the place or the income is not known.

    Raises
    ------
    DetectionDataError
        If geopandas is not installed, the areas have no income, or no frame has one.
    """
    try:
        import geopandas
    except ImportError:
        raise DetectionDataError(
            "'gps' and 'areas' need geopandas, which is not installed. Install the "
            "extra 'gps' (pip install -e '.[gps]'), or give a column 'income' in "
            "'attributes'."
        ) from None
    outlines = geopandas.read_file(areas)
    if "income" not in outlines:
        raise DetectionDataError(
            f"{areas.name}: each area needs an 'income' (dollars a year). It has "
            f"{', '.join(map(str, outlines.columns))}."
        )
    places = pd.DataFrame([_position(gps / f"{video}.json") for video in videos])
    points = geopandas.points_from_xy(places["longitude"], places["latitude"])
    points = geopandas.GeoDataFrame(geometry=points, crs="EPSG:4326")
    outlines = outlines[["income", "geometry"]].to_crs("EPSG:4326")
    joined = points.sjoin(outlines, predicate="within")
    income = joined.groupby(level=0)["income"].first().reindex(places.index)
    if income.isna().all():
        raise DetectionDataError(
            "No frame lies in an area with an income: "
            f"{places['latitude'].notna().sum():,} of {len(places):,} videos have a "
            f"position at {LABELLED_AT:.0f} seconds. Check the names of the files in "
            "'gps', their units (degrees, milliseconds), and the areas."
        )
    return income


def _position(path: Path) -> dict[str, float]:
    """Interpolate the place of a video's labelled frame; NaN in a gap of the track."""
    unknown = {"latitude": np.nan, "longitude": np.nan}
    if not path.is_file():
        return unknown
    track = json.loads(path.read_text())
    fixes = pd.DataFrame(track.get("locations") or [])
    if fixes.empty:
        return unknown
    fixes = fixes.astype(float).sort_values("timestamp")
    begin = track.get("startTime", fixes["timestamp"].iloc[0])
    moment = begin + 1000 * LABELLED_AT
    if (fixes["timestamp"] - moment).abs().min() > 1000 * GAP:
        return unknown
    return {
        name: float(np.interp(moment, fixes["timestamp"], fixes[name]))
        for name in unknown
    }


def files(settings: SimpleNamespace) -> dict[str, Path | None]:
    """Return the user's files by their content; none for synthetic street scenes.

    These are the files that are given, and those that the folder `frames` has where
    BDD100K has them. Otherwise that folder holds the ``images``.
    """
    named = {name: getattr(settings, name, None) for name in PUBLISHED}
    if settings.frames is not None:
        folder = Path(settings.frames)
        for name, places in PUBLISHED.items():
            there = [folder / place for place in places if (folder / place).exists()]
            if there and named[name] is None:
                named[name] = there[0]
        if named["images"] is None:
            named["images"] = folder
        if named["labels"] is None:
            raise DetectionDataError(
                f"The folder {folder.resolve().name!r} of 'frames' has none of "
                f"{', '.join(PUBLISHED['labels'])}. Give BDD100K's folder as it is "
                "published, or 'labels'."
            )
    return named if any(named.values()) else {}


def example(
    frames: Frames, matches: Matches, name: str
) -> tuple[int, pd.DataFrame, pd.DataFrame]:
    """Return the number, boxes and detections of a frame that shows what matching does.

    It has a hit, a miss and a false positive of the class, or most of them. The boxes
    have a column ``found``, the detections ``hit`` and ``box`` (the row of the box that
    they took).
    """
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
    content = read_labels(Path(labels), Checks())
    classes = set(content.boxes["category"])
    return list(content.images["name"]), [one for one in CLASSES if one in classes]


def picture(frames: Frames, folder: str | Path | None, number: int) -> np.ndarray:
    """Return the picture of a frame, uint8 (H, W, 3), or grey of the usual size."""
    file = Path(folder or "") / frames.images["name"][number]
    if file.is_file():
        return np.asarray(Image.open(file).convert("RGB"))
    return np.full((720, 1280, 3), 238, np.uint8)
