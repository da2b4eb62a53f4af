"""What readers bring to an analysis of their detector: labels and detections in one of the formats
that `reading` knows, of any classes, and more attributes in a CSV."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.icon2 import reading
from helpers.icon2.attributes import Attribute, Frames, made
from helpers.icon2.reading import OWN, DetectionDataError

SIZES = ("small", "medium", "large")
APART = 1.4  # boxes that reach so much further than detections, or these, are of other frames


def brought(
    labels: str | Path,
    predictions: str | Path,
    attributes: str | Path | None = None,
    classes: Sequence[str] | None = None,
) -> Frames:
    """The reader's labels and detections in one of three formats, which may differ: COCO, BDD100K
    (Scalabel) or CSV. Of `classes` those that are labelled; of all, those with most boxes first.
    `attributes` is a CSV with a column ``image`` (a name) or ``box`` (an id). The report has a
    sentence for all that was left out or looks wrong; a DetectionDataError says what cannot be
    used."""
    if predictions is None:
        raise DetectionDataError("parameter 'predictions' is missing: what did the detector find?")
    notes, labels, predictions = Counter(), Path(labels), Path(predictions)
    images, boxes = reading.labels(labels, notes)
    counts = boxes["category"][~boxes["ignore"]].value_counts().sort_index()
    listed = pd.Index(counts.sort_values(ascending=False, kind="stable").index)
    listed = pd.Index([one for one in classes or listed if one in listed])
    others = boxes["category"][~boxes["category"].isin(listed)].value_counts()
    told = ", ".join(f"{name} {n:,}" for name, n in others.items())
    if listed.empty:
        raise DetectionDataError(
            f"{labels.name}: no box is left of known classes ({', '.join(classes or ('any',))}) "
            f"that is to be found; not a class here, or regions to ignore only: {told}"
        )
    notes[f"boxes left out, not a class here, or regions to ignore only: {told}"] += others.sum()
    crowds = "boxes are crowds, or regions to ignore: a detection there is neither right nor wrong"
    notes[crowds] += int(boxes["ignore"].sum())
    detections = reading.detections(predictions, images, notes)
    unknown = detections["category"][~detections["category"].isin(listed)].value_counts()
    told = ", ".join(f"{name} {n:,}" for name, n in unknown.head(5).items())
    own = [f"{key} {name}" for key, name in images.attrs.get("categories", {}).items()]
    told += f"; ids of the labels are {', '.join(own[:9])}" * bool(own)
    notes[f"detections left out: no box of their class is labelled ({told})"] += unknown.sum()
    boxes, detections = (
        t[t["category"].isin(listed)]
        .reset_index(drop=True)
        .assign(category=lambda t: listed.get_indexer(t["category"]))
        for t in (boxes, detections)
    )
    if detections.empty:
        raise DetectionDataError(
            f"{predictions.name}: no detection is left of labelled images and classes "
            f"({', '.join(listed[:9])}); {'; '.join(reversed(_told(notes)))}"
        )
    if attributes is not None:
        images, boxes = _joined(Path(attributes), images, boxes, notes)
    first = f"{len(images):,} images, {(~boxes['ignore']).sum():,} boxes, {len(detections):,} "
    first += f"detections of {len(listed)} classes"
    report = (first, *_told(notes), *_odd(images, boxes, detections))
    return Frames(images, boxes, detections, tuple(listed), report)


def _odd(images, boxes, detections) -> list[str]:
    """Sentences about what is usable and probably not what was meant."""
    told = []
    for name, column in images.drop(columns=[one for one in images if one in OWN]).items():
        texts = pd.Series(sorted({text for text in column if isinstance(text, str)}), dtype=str)
        alike = texts[texts.str.strip().str.casefold().duplicated(keep=False)]
        if len(alike):
            told.append(f"{name!r} holds {' and '.join(map(repr, alike))}: they count as different")
    reach = [table[["x2", "y2"]].max() for table in (boxes, detections)]
    if (np.divide(*reach) > APART).all() | (np.divide(*reach[::-1]) > APART).all():
        ends = ["({:.0f}, {:.0f})".format(*one) for one in reach]
        told.append("boxes reach to {}, detections to {}: is one of them scaled?".format(*ends))
    return told


def _told(notes: Counter) -> list[str]:
    return [f"{n:,} {text}" for text, n in notes.items() if n]


def _joined(path: Path, images, boxes, notes: Counter) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Images and boxes with the columns of a CSV, by the name of an image or the id of a box."""
    table, places = reading.csv(path), {"box": (boxes, "box"), "image": (images, "name")}
    by = next((name for name, (of, key) in places.items() if name in table and key in of), None)
    if by is None:
        raise DetectionDataError(
            f"{path.name}: it needs a column 'image' (names) or 'box' (ids of boxes, if the "
            f"labels have any); there are: {', '.join(map(str, table.columns[:9]))}"
        )
    target, key = places[by]
    keys = table[by].astype(str)
    reading.numbered(keys, path)
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


def explaining(frames: Frames, bounds: Sequence[float]) -> list[Attribute]:
    """What every box has and may explain a gap: its size (by `bounds` of its area, square pixels),
    its shape, and how many boxes its image has, as 08 has them."""
    codes, of_detections = (
        np.searchsorted(list(bounds), t[column].to_numpy(float), side="right")
        for t, column in ((frames.boxes, "area"), (frames.detections, "extent"))
    )
    attributes = [Attribute("size", SIZES[: len(bounds) + 1], codes, "box", of_detections)]
    for name, text in {"aspect": "shape (width/height)", "crowds": "boxes in the image"}.items():
        with suppress(DetectionDataError):  # too few different numbers for thirds
            attributes.append(replace(made(frames, name), name=text))
    return attributes
