"""User-supplied labels and detections in one of the formats of `reading`, and further attributes.

Classes are arbitrary, and the attributes come from a CSV.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.icon2 import reading
from helpers.icon2.attributes import Attribute, Frames, made
from helpers.icon2.matching import MAX_DETECTIONS, fullest, match
from helpers.icon2.reading import OWN, DetectionDataError

SIZES = ("small", "medium", "large")
BEYOND = 1e6  # pixels, beyond every image
APART = 1.4  # ratio of the extents of boxes and detections from which they do not fit


def read(
    labels: str | Path,
    predictions: str | Path,
    attributes: str | Path | None = None,
    classes: Sequence[str] | None = None,
) -> Frames:
    """Read labels and detections in one of three formats: COCO, BDD100K (Scalabel) or CSV.

    The two files may have different formats. Classes are those of `classes` that are labelled, or
    all, those with most boxes first. `attributes` is a CSV with a column ``image`` (a name) or
    ``box`` (an id). The report has a sentence for everything that was left out or looks wrong. A
    DetectionDataError says what cannot be used."""
    if predictions is None:
        raise DetectionDataError(
            "parameter 'predictions' is missing: name the file of the detections"
        )
    notes, labels, predictions = reading.Notes(), Path(labels), Path(predictions)
    images, boxes = reading.labels(labels, notes)
    verified = notes.verified
    open_classes = _open_classes(images, verified)
    counts = boxes["category"][~boxes["ignore"]].value_counts().sort_index()
    listed = pd.Index(counts.sort_values(ascending=False, kind="stable").index)
    listed = pd.Index([one for one in classes or listed if one in listed])
    others = boxes["category"][~boxes["category"].isin(listed)].value_counts()
    left_out = ", ".join(f"{name} {n:,}" for name, n in others.items())
    if listed.empty:
        raise DetectionDataError(
            f"{labels.name}: no box is left of known classes ({', '.join(classes or ('any',))}) "
            f"that is to be found; not a class here, or regions to ignore only: {left_out}"
        )
    notes[
        f"boxes left out, not a class here, or regions to ignore only: {left_out}"
    ] += others.sum()
    crowds = "boxes are crowds, or regions to ignore: a detection there is neither right nor wrong"
    notes[crowds] += int(boxes["ignore"].sum())
    detections = reading.detections(predictions, images, notes)
    detections = _of_verified_classes(images, verified, boxes, detections, notes)
    unknown = detections["category"][
        ~detections["category"].isin(listed)
    ].value_counts()
    left_out = ", ".join(f"{name} {n:,}" for name, n in unknown.head(5).items())
    own = [f"{key} {name}" for key, name in images.attrs.get("categories", {}).items()]
    if own:
        left_out += f"; ids of the labels are {', '.join(own[:9])}"
    notes[f"detections left out: no box of their class is labelled ({left_out})"] += (
        unknown.sum()
    )
    boxes, detections = (
        t[t["category"].isin(listed)]
        .reset_index(drop=True)
        .assign(category=lambda t: listed.get_indexer(t["category"]))
        for t in (boxes, detections)
    )
    if detections.empty:
        raise DetectionDataError(
            f"{predictions.name}: no detection is left of labelled images and classes "
            f"({', '.join(listed[:9])}); {'; '.join(reversed(_sentences(notes)))}"
        )
    _refuse_ids_of_file_names(images, boxes, detections, predictions)
    if attributes is not None:
        images, boxes = _joined(Path(attributes), images, boxes, notes)
    first = f"{len(images):,} images, {(~boxes['ignore']).sum():,} boxes, {len(detections):,} "
    first += f"detections of {len(listed)} classes"
    _warn_of_scale(boxes, detections, notes)
    _warn_of_crowded_images(boxes, notes)
    report = (first, *_sentences(notes), *_odd(images))
    boxes = _with_open_classes(boxes, open_classes, listed)
    return Frames(
        images, boxes, detections, tuple(listed), report, tuple(notes.warnings)
    )


def _of_verified_classes(
    images, verified, boxes, detections, notes: reading.Notes
) -> pd.DataFrame:
    """Remove detections of classes that were not verified in their image (LVIS).

    In federated labels, a class is verified in an image if it has a box there or is listed in
    ``neg_category_ids``. A detection of any other class is neither right nor wrong.
    """
    if not verified:
        return detections
    names, place = images.attrs["categories"], pd.Series(images.index, images["id"])
    absent = [
        (place[image], names[key])
        for image, of_image in verified.items()
        for key in of_image["neg_category_ids"]
        if key in names
    ]
    absent = pd.DataFrame(absent, columns=["image", "category"])
    known = pd.concat([boxes[["image", "category"]], absent]).drop_duplicates()
    known = pd.MultiIndex.from_frame(known)
    kept = pd.MultiIndex.from_frame(detections[["image", "category"]]).isin(known)
    in_part = sum(len(one["not_exhaustive_category_ids"]) for one in verified.values())
    notes.warnings.append(
        f"The labels are federated, as those of LVIS. {(~kept).sum():,} of {len(kept):,} "
        "detections are of a class that was not verified in their image, and were left out. "
        f"In {in_part:,} pairs of image and class the labels are not complete: detections there "
        "that match no box are neither right nor wrong. Compare AP with LVIS's own evaluation, "
        "not with pycocotools."
    )
    return detections[kept].reset_index(drop=True)


def _open_classes(images, verified: dict) -> pd.DataFrame:
    """List the image and the class where labels are not complete (LVIS)."""
    names = images.attrs.get("categories", {})
    place = dict(zip(images["id"], images.index, strict=True)) if verified else {}
    rows = [
        (place[image], names[key])
        for image, of_image in verified.items()
        for key in of_image["not_exhaustive_category_ids"]
        if key in names
    ]
    return pd.DataFrame(rows, columns=["image", "category"])


def _with_open_classes(
    boxes, open_classes: pd.DataFrame, listed: pd.Index
) -> pd.DataFrame:
    """Add a region to ignore around each image for each class that is not labelled in full.

    These are the ``not_exhaustive_category_ids`` of LVIS."""
    regions = open_classes[open_classes["category"].isin(listed)]
    if regions.empty:
        return boxes
    regions = regions.assign(category=listed.get_indexer(regions["category"]))
    regions = regions.assign(x1=-BEYOND, y1=-BEYOND, x2=BEYOND, y2=BEYOND, ignore=True)
    regions = regions.assign(extent=4 * BEYOND**2, area=4 * BEYOND**2)
    return pd.concat([boxes, regions], ignore_index=True)


def _refuse_ids_of_file_names(images, boxes, detections, path: Path) -> None:
    """Refuse results whose ids are the digits of file names where the labels number otherwise."""
    if "id" not in images:
        return
    image_of_digits = reading.numbers_in_names(images["name"])
    image_by_digits = images["id"].astype(str).map(image_of_digits)
    paired_by_id = detections["image"]
    paired_by_digits = paired_by_id.map(image_by_digits)
    some_unknown = paired_by_digits.isna().any()
    mostly_the_same = (paired_by_digits == paired_by_id).mean() > 0.5
    if some_unknown or mostly_the_same:
        return
    moved = detections.assign(image=paired_by_digits.astype(int))
    by_id = _share_of_matched(images, boxes, detections)
    by_number = _share_of_matched(images, boxes, moved)
    if by_id < 0.1 and by_number > max(0.3, 5 * by_id):
        raise DetectionDataError(
            f"{path.name}: its image ids seem to be the digits of file names, and the labels "
            f"number images otherwise. Paired by id, {by_id:.0%} of the boxes are found; paired "
            f"by the digits of file names, {by_number:.0%}. Write the ids of the labels, or a "
            "'file_name', into the results."
        )


def _share_of_matched(images, boxes, detections) -> float:
    """Return the share of the boxes that a detection of any class overlaps by half."""
    boxes, detections = boxes.assign(category=0), detections.assign(category=0)
    matches = match(Frames(images, boxes, detections, ("any",)), [0.5])
    return len(np.unique(matches.taken[matches.taken >= 0])) / max(len(boxes), 1)


def _warn_of_scale(boxes, detections, notes: reading.Notes) -> None:
    """Say where boxes reach much further than detections, or detections than boxes."""
    right, bottom = boxes[["x2", "y2"]].max()
    detected_right, detected_bottom = detections[["x2", "y2"]].max()
    boxes_further = right > APART * detected_right and bottom > APART * detected_bottom
    detections_further = (
        detected_right > APART * right and detected_bottom > APART * bottom
    )
    if boxes_further or detections_further:
        notes.warnings.append(
            f"Boxes reach to ({right:.0f}, {bottom:.0f}), detections to "
            f"({detected_right:.0f}, {detected_bottom:.0f}). One file may be scaled. Provide both "
            "in pixels of the same images."
        )


def _warn_of_crowded_images(boxes, notes: reading.Notes) -> None:
    """Say that all detections count where an image has more boxes than COCO's limit."""
    most = fullest(boxes)
    if most > MAX_DETECTIONS:
        notes.warnings.append(
            f"The fullest image has {most:,} boxes of one class. COCO's evaluator counts the "
            f"{MAX_DETECTIONS} detections with the highest scores, so it cannot find them all. "
            "Here all detections count, so AP may differ from pycocotools with its default."
        )


def _odd(images) -> list[str]:
    """Return sentences about values that are usable but probably mistakes."""
    sentences = []
    for name, column in images.drop(
        columns=[one for one in images if one in OWN]
    ).items():
        texts = pd.Series(
            sorted({text for text in column if isinstance(text, str)}), dtype=str
        )
        alike = texts[texts.str.strip().str.casefold().duplicated(keep=False)]
        if len(alike):
            sentences.append(
                f"{name!r} holds {' and '.join(map(repr, alike))}: they count as different"
            )
    return sentences


def _sentences(notes: Counter) -> list[str]:
    return [f"{n:,} {text}" for text, n in notes.items() if n]


def _joined(
    path: Path, images, boxes, notes: reading.Notes
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Join the columns of a CSV to images or boxes, by the name of an image or the id of a box."""
    table = reading.csv(path, notes=notes)
    places = {"box": (boxes, "box"), "image": (images, "name")}
    by = next(
        (name for name, (of, key) in places.items() if name in table and key in of),
        None,
    )
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
        forms = [
            own,
            files.map(lambda file: file.name),
            files.map(lambda file: file.stem),
        ]
        if "id" in target:
            forms.append(target["id"].astype(str))
        own = max(forms, key=lambda names: keys.isin(names).sum())
    noun = "boxes" if by == "box" else "images"
    several = own[own.isin(keys) & own.duplicated(keep=False)]
    if len(several):
        other = " Name images by their ids." if "id" in target else ""
        raise DetectionDataError(
            f"{path.name}: {several.iloc[0]!r} is the name of several labelled {noun}, so its "
            f"attributes cannot be joined.{other}"
        )
    lost, bare = (~keys.isin(own)).sum(), (~own.isin(keys)).sum()
    if lost == len(keys):
        raise DetectionDataError(
            f"{path.name}: none of its {len(keys):,} {noun} is labelled. Its first is "
            f"{keys.iloc[0]!r}, the first labelled {own.iloc[0]!r}"
        )
    notes[
        f"rows of {path.name} left out: none of the labelled {noun} has their name"
    ] += lost
    notes[f"labelled {noun} are in no row of {path.name}: they have no value"] += bare
    taken = [name for name in table if name != by and name in OWN]
    fields = f"columns of {path.name} left out, named as a field of boxes: {', '.join(taken)}"
    notes[fields] += len(taken)
    more = table.set_index(keys)[
        [name for name in table if name != by and name not in OWN]
    ]
    more = more.reindex(own).set_axis(target.index)
    target = target.drop(columns=[name for name in more if name in target]).join(more)
    return (images, target) if by == "box" else (target, boxes)


def explaining(frames: Frames, bounds: Sequence[float]) -> list[Attribute]:
    """Return the attributes of every box that may explain a gap.

    These are its size (by `bounds` of its area, square pixels), its shape, and the number of boxes
    in its image."""
    codes, of_detections = (
        np.searchsorted(list(bounds), t[column].to_numpy(float), side="right")
        for t, column in ((frames.boxes, "area"), (frames.detections, "extent"))
    )
    attributes = [
        Attribute("size", SIZES[: len(bounds) + 1], codes, "box", of_detections)
    ]
    for name, text in {
        "aspect": "shape (width/height)",
        "crowds": "boxes in the image",
    }.items():
        with suppress(DetectionDataError):  # too few different numbers for thirds
            attributes.append(replace(made(frames, name), name=text))
    return attributes
