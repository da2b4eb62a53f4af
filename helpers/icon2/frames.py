"""What notebook 08 analyses: BDD100K, or planted streets that are written as it is given out."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from PIL import Image

from helpers.icon2 import income, reading
from helpers.icon2.attributes import OF_PAPER, Frames
from helpers.icon2.brought import brought
from helpers.icon2.matching import Matches
from helpers.icon2.reading import CLASSES, DetectionDataError
from helpers.worlds.driving import street

PUBLISHED = {  # where BDD100K's folder, as it is given out, has what is read here
    "labels": (
        "labels/det_20/det_val.json",
        "labels/bdd100k_labels_images_val.json",
        "track_sample_anns.json",
    ),
    "images": ("images/100k/val",),
    "gps": ("info/100k/val",),
    # what BDD100K does not hold, and the reader puts beside it
    "predictions": ("predictions.json", "bbox_predictions.json"),
    "areas": ("areas.geojson",),
    "incomes": ("incomes.csv",),
}
CITY = ("gps", "areas", "incomes")


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
    frames = brought(labels, predictions, classes=CLASSES)
    if gps is None:
        return frames
    more = ["the labels' own attribute 'income' is not used, for 'incomes' is given"]
    videos = frames.images.get("video", frames.images["name"].map(lambda name: Path(name).stem))
    table, counts = income.join(videos, gps, areas, incomes, edges)
    more = more * ("income" in frames.images)
    more.append(", ".join(f"{n:,} {name}" for name, n in counts.items()))
    images = frames.images.assign(income=table["bin"])
    return replace(frames, images=images, report=(*frames.report, *more))


def files(settings: SimpleNamespace) -> dict[str, Path | None]:
    """The reader's files by what they hold, none for the rendered street: those that are given,
    and what the folder `frames` holds where BDD100K has it; else that folder has the ``images``."""
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
    """Refuse labels that cannot be read, and columns that they (or a rendered street) lack."""
    own = files(settings)
    if not own:  # the columns of the rendered street
        of_boxes = ("image", *reading.CORNERS, "occluded", "truncated", "look", "distance")
        of_frames = ("name", "video", "weather", "scene", "timeofday", "contrast")
        boxes = pd.DataFrame({name: [0, 1] for name in of_boxes})
        images = pd.DataFrame({name: ["a", "b"] for name in of_frames}).assign(width=street.WIDTH)
    else:
        images, boxes = reading.labels(Path(own["labels"]), Counter())
    if not own or own["gps"]:
        images = images.assign(income=np.where(np.arange(len(images)) % 2, "low", "high"))
    frames = Frames(images, boxes, boxes.iloc[:0], ())
    frames.attribute(settings.sensitive)
    there = [settings.sensitive, *OF_PAPER, *OF_PAPER.values()]
    if twice := [name for name in settings.further or () if name in there]:
        told = f"parameter 'further': {twice[0]!r} is the sensitive one, or one of the five"
        raise ValueError(f"{told} that are held fixed already; take it out")
    frames.explanatory(settings.sensitive, settings.further)
    frames.clusters(settings.cluster)


def example(frames: Frames, matches: Matches, name: str) -> tuple[int, pd.DataFrame, pd.DataFrame]:
    """A frame that shows what matching does: its number, its boxes, and its detections.

    It has a hit, a miss and a false positive of the class, or most of them. The boxes have a column
    ``found``, the detections ``hit`` and ``box`` (the row of the box that they took)."""
    rows, ours = matches.rows(name), matches.of(name)
    boxes = frames.boxes.loc[ours.box_row[~ours.box_ignored]]
    boxes = boxes.assign(found=boxes.index.isin(rows.box[rows.hit]))
    kinds = [rows.image[rows.hit], rows.image[~rows.hit], boxes.image[~boxes.found]]
    seen = np.array([np.bincount(kind, minlength=matches.n_images) for kind in kinds])
    sizes = (boxes.x2 - boxes.x1) * (boxes.y2 - boxes.y1)
    sizes = sizes.groupby(boxes.image).mean().reindex(range(matches.n_images), fill_value=0)
    dark = frames.images.get("timeofday", pd.Series("", frames.images.index)) == "night"
    number = int(np.lexsort((-sizes, seen[1] > 2, dark, -(seen > 0).sum(0)))[0])
    here = rows[rows.image == number].set_index("row")
    detections = frames.detections.loc[here.index].assign(hit=here.hit, box=here.box)
    return number, boxes[boxes.image == number], detections


def labelled(labels: str | Path) -> tuple[list[str], list[str]]:
    """Names of the frames of a labels file, and of the classes that are labelled in it."""
    images, boxes = reading.labels(Path(labels), Counter())
    return list(images["name"]), [one for one in CLASSES if one in set(boxes["category"])]


def picture(frames: Frames, folder: str | Path | None, number: int) -> np.ndarray:
    """The picture of a frame, uint8 (H, W, 3); grey of the usual size where there is none."""
    file = Path(folder or "") / frames.images["name"][number]
    if file.is_file():
        return np.asarray(Image.open(file).convert("RGB"))
    return np.full((720, 1280, 3), 238, np.uint8)
