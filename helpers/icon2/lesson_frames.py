"""Load the frames of lesson 08: synthetic streets, or your own files, with incomes."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from PIL import Image

from helpers import store
from helpers.icon2 import detector, user_data
from helpers.icon2.attributes import DetectionDataError, Frames
from helpers.icon2.formats import CLASSES
from helpers.icon2.streets import Streets
from helpers.icon2.user_data import refusing

PUBLISHED = {  # where BDD100K's folder, as it is published, has what is read here
    "labels": "labels/det_20/det_val.json",
    "images": "images/100k/val",
    "gps": "info/100k/val",
    # what BDD100K does not hold, and you provide
    "predictions": "predictions.json",
    "areas": "areas.geojson",
    "attributes": "attributes.csv",
}
PAPER_EDGES = (21_400.0, 62_100.0, 93_400.0, 250_000.0)  # dollars, section 4.1
GROUPS = ("low", "middle", "high")
LABELLED_AT = 10.0  # seconds into the video, of BDD100K's labelled frame
GAP = 5.0  # seconds from the nearest fix, above which the position is not known


def load(settings: SimpleNamespace) -> tuple[Frames, Callable, Streets | None]:
    """Load labelled frames with detections.

    Parameters
    ----------
    settings : SimpleNamespace
        The parameters of lesson 08.

    Returns
    -------
    data : Frames
    picture : callable
        Returns the picture of a frame, given its number.
    streets : Streets or None
        None for your own frames.
    """
    files = find_files(settings)
    if not files:
        streets = Streets(
            settings.planted_frames, settings.seed, settings.harder, settings.rare
        )
        return streets.load(), streets.picture, streets
    folder = files.pop("images", None)
    if folder is not None and "predictions" not in files:
        images = sorted(Path(folder).glob("*.*"))
        stored = store.outputs() / "predictions"
        files["predictions"] = detector.predict(
            settings.weights, images, stored, settings.device
        )
        print("Classes that the detector knows:", *detector.COCO.values())
    data = read(**files, edges=settings.edges)
    return data, partial(picture, data, folder), None


def read(
    labels: str | Path,
    predictions: str | Path | None = None,
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
    images = frames.images
    if areas is not None and gps is not None:
        videos = images.get("video", images["name"].str.split(".").str[0])
        images = images.assign(income=incomes(videos, Path(gps), Path(areas)))
    if edges == "paper" and "income" in images:
        groups = pd.cut(images["income"], PAPER_EDGES, labels=GROUPS, right=False)
        images = images.assign(income=groups)
    return replace(frames, images=images)


def incomes(videos: pd.Series, gps: Path, areas: Path) -> pd.Series:
    """Look up the income of the area in which each video's labelled frame lies.

    Parameters
    ----------
    videos : pandas.Series
        Names of videos.
    gps : Path
        The folder of BDD100K's info files ``<video>.json``, with fixes in degrees and
        milliseconds. The fix next to the labelled frame counts.
    areas : Path
        Outlines that geopandas can read, such as GeoJSON, with a column ``income``.

    Returns
    -------
    pandas.Series
        One income per video, NaN where the place or the income is not known.

    Raises
    ------
    DetectionDataError
        If no frame has an income.
    """
    import geopandas  # of the extra 'gps'

    with refusing(gps, "the folder of BDD100K's info files, one per video"):
        tracks = []
        for path in gps.glob("*.json"):
            track = {"locations": None} | json.loads(path.read_text())
            fixes = pd.json_normalize(track, "locations", "startTime")
            tracks.append(fixes.assign(video=path.stem))
        fixes = pd.concat(tracks, ignore_index=True)
        seconds = (fixes["timestamp"] - fixes["startTime"]) / 1000
        fixes["away"] = (seconds - LABELLED_AT).abs()
    fixes = fixes[fixes["away"] <= GAP].sort_values("away").drop_duplicates("video")
    points = geopandas.points_from_xy(fixes["longitude"], fixes["latitude"])
    points = geopandas.GeoDataFrame(fixes, geometry=points, crs="EPSG:4326")
    outlines = geopandas.read_file(areas).to_crs("EPSG:4326")
    joined = points.sjoin(outlines, predicate="within").drop_duplicates("video")
    if joined.empty or "income" not in joined:
        raise DetectionDataError(
            "No frame lies in an area with an 'income' (dollars a year): "
            f"{len(fixes):,} videos have a position at {LABELLED_AT:.0f} seconds. "
            "Check the files in 'gps', their units (degrees, milliseconds), and the "
            "areas."
        )
    return videos.map(joined.set_index("video")["income"])


def find_files(settings: SimpleNamespace) -> dict[str, Path]:
    """Return the user's files by their content; none for synthetic street scenes.

    These are the files that are given, and those that the folder `frames` has where
    BDD100K has them. Otherwise that folder holds the ``images``.
    """
    given = {name: getattr(settings, name, None) for name in PUBLISHED}
    named = {name: path for name, path in given.items() if path is not None}
    if settings.frames is None:
        if named and "labels" not in named:
            raise DetectionDataError("There are no labels. Give a file as 'labels'.")
        return named
    folder = Path(settings.frames)
    for name, place in PUBLISHED.items():
        if (folder / place).exists():
            named.setdefault(name, folder / place)
    if "labels" not in named:
        raise DetectionDataError(
            f"The folder {folder.resolve().name!r} of 'frames' has no "
            f"{PUBLISHED['labels']}. Give BDD100K's folder as it is published, or "
            "'labels'."
        )
    named.setdefault("images", folder)
    return named


def example(images: pd.DataFrame, boxes: pd.DataFrame, rows: pd.DataFrame) -> int:
    """Return the number of a frame that shows what matching does.

    It has a hit, a miss and one or two false positives of a class by day, or most of
    that, and large boxes.

    Parameters
    ----------
    images : pandas.DataFrame
    boxes : pandas.DataFrame
        The labelled boxes of the class, with a column ``found``.
    rows : pandas.DataFrame
        From `Matches.rows`.
    """
    area = boxes.eval("(x2 - x1) * (y2 - y1)")
    seen = boxes.assign(area=area).groupby("image")[["found", "area"]].mean()
    seen["false"] = rows.query("not hit")["image"].value_counts()
    seen["timeofday"] = images.get("timeofday", "")
    criteria = ("0 < found < 1", "0 < false < 3", "timeofday != 'night'")
    suits = sum(seen.eval(criterion) for criterion in criteria)
    return int(seen["area"][suits == suits.max()].idxmax())


def picture(frames: Frames, folder: str | Path | None, number: int) -> np.ndarray:
    """Return the picture of a frame, uint8 (H, W, 3), or grey of the usual size."""
    file = Path(folder or "") / frames.images["name"][number]
    if file.is_file():
        return np.asarray(Image.open(file).convert("RGB"))
    return np.full((720, 1280, 3), 238, np.uint8)
