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

from helpers.icon2 import user_data
from helpers.icon2.attributes import DetectionDataError, Frames, extent
from helpers.icon2.formats import BDD100K_SIZE, CLASSES
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

    Your files are those that are named, and those that the folder `frames` has where
    BDD100K's folder has them. Without its folder of images, `frames` has the images.

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
    # 'images' is no parameter
    files = {name: getattr(settings, name, None) for name in PUBLISHED}
    folder = settings.frames
    if folder is None and not any(files.values()):
        streets = Streets(
            settings.planted_frames, settings.seed, settings.harder, settings.rare
        )
        return streets.load(), streets.picture, streets
    for name, place in PUBLISHED.items():
        if folder is not None and Path(folder, place).exists():
            files[name] = files[name] or Path(folder, place)
    if files["areas"] is None:
        files["gps"] = settings.gps  # BDD100K's own tracks are of no use without areas
    pictures = Path(files.pop("images") or folder or "")
    data = read(**files, edges=settings.edges)
    return data, partial(picture, data, pictures), None


def read(
    labels: str | Path | None = None,
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
    if labels is None:
        raise DetectionDataError(
            "There is no file of labels. Give one as 'labels', or a folder of BDD100K "
            "as 'frames'."
        )
    if (gps is None) != (areas is None):
        raise DetectionDataError(
            "An income by place needs both 'gps' and 'areas', and only one of them is "
            "given. Give the other one, or incomes in 'attributes'."
        )
    frames = user_data.read(labels, predictions, attributes, classes=CLASSES)
    images = frames.images
    if gps is not None:
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
    fixes = fixes[(fixes["away"] <= GAP) & fixes["video"].isin(videos)]
    fixes = fixes.sort_values("away").drop_duplicates("video")
    points = geopandas.points_from_xy(fixes["longitude"], fixes["latitude"])
    points = geopandas.GeoDataFrame(fixes, geometry=points, crs="EPSG:4326")
    outlines = geopandas.read_file(areas).to_crs("EPSG:4326")
    joined = points.sjoin(outlines, predicate="within").drop_duplicates("video")
    if joined.empty or "income" not in joined:
        raise DetectionDataError(
            "No frame lies in an area with an 'income' (dollars a year): "
            f"{len(fixes):,} labelled videos have a position at {LABELLED_AT:.0f} "
            "seconds. Check the files in 'gps', their names (such as "
            f"{videos[0]}.json) and units (degrees, milliseconds), and the areas."
        )
    return videos.map(joined.set_index("video")["income"])


def example(boxes: pd.DataFrame) -> int:
    """Return the number of the frame with the largest box that was missed.

    If no box was missed, it is the frame with the largest box.

    Parameters
    ----------
    boxes : pandas.DataFrame
        The labelled boxes of a class, with a column ``found``.
    """
    candidates = boxes if boxes["found"].all() else boxes[~boxes["found"]]
    return candidates["image"][extent(candidates).idxmax()]


def picture(frames: Frames, folder: Path, number: int) -> np.ndarray:
    """Return the picture of a frame, uint8 (H, W, 3), or a grey one without a file."""
    image = frames.images.loc[number]
    file = folder / image["name"]
    if file.is_file():
        return np.asarray(Image.open(file).convert("RGB"))
    size = image.reindex(["height", "width"]).fillna(pd.Series(BDD100K_SIZE))
    return np.full((*size.astype(int), 3), 238, np.uint8)
