"""Read labels and detections with any classes, and attributes from a CSV."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.icon2 import file_checks
from helpers.icon2.attributes import Attribute, Frames, made
from helpers.icon2.file_checks import Checks, DetectionDataError
from helpers.icon2.matching import MAX_DETECTIONS, fullest
from helpers.icon2.reading import (
    OWN,
    Labels,
    numbers_of_images,
    read_csv,
    read_detections,
    read_labels,
)

SIZES = ("small", "medium", "large")


def read(
    labels: str | Path,
    detections: str | Path,
    attributes: str | Path | None = None,
    classes: Sequence[str] | None = None,
) -> Frames:
    """Read labels and detections, and check them.

    Parameters
    ----------
    labels, detections : path
        COCO's JSON, BDD100K's (Scalabel's) JSON, a CSV of boxes, or a folder of YOLO's
        text files; they may differ.
    attributes : path, optional
        A CSV with a column ``image`` (names) or ``box`` (ids), and attributes.
    classes : sequence of str, optional
        Which classes to keep. The default is all labelled classes, the class with the
        most boxes first.

    Returns
    -------
    Frames
        With a report of the entries that were left out, and warnings that name what to
        check first.

    Raises
    ------
    DetectionDataError
        If a file cannot be used.
    """
    if detections is None:
        raise DetectionDataError(
            "There is no file of detections. Name it by 'detections' (in lesson 08 by "
            "'predictions')."
        )
    checks = Checks()
    labels = Path(labels)
    detections_file = Path(detections)
    labelled = read_labels(labels, checks)
    kept_classes = _classes(labels, labelled, classes, checks)
    ignored = int(labelled.boxes["ignore"].sum())
    checks.count(
        ignored,
        "boxes are crowds, or regions to ignore: a detection there is neither right "
        "nor wrong",
    )
    detections = read_detections(detections_file, labelled, checks)
    _count_unlabelled_classes(detections, kept_classes, labelled, checks)
    boxes = _of_classes(labelled.boxes, kept_classes)
    detections = _of_classes(detections, kept_classes)
    if detections.empty:
        listed = ", ".join(kept_classes[:9])
        reasons = "; ".join(reversed(checks.report))
        raise DetectionDataError(
            f"{detections_file.name}: no detection is left of labelled images and "
            f"classes ({listed}). {reasons}."
        )
    images = labelled.images
    if attributes is not None:
        images, boxes = _with_attributes(Path(attributes), images, boxes, checks)
    file_checks.warn_of_crowded_images(fullest(boxes), MAX_DETECTIONS, checks)
    summary = (
        f"{len(images):,} images, {(~boxes['ignore']).sum():,} boxes, "
        f"{len(detections):,} detections of {len(kept_classes)} classes"
    )
    return Frames(
        images,
        boxes,
        detections,
        tuple(kept_classes),
        (summary, *checks.report),
        tuple(checks.warnings),
    )


def _classes(
    path: Path, labels: Labels, wanted: Sequence[str] | None, checks: Checks
) -> list[str]:
    """Return the labelled classes that are kept, those with most boxes first."""
    category, ignore = labels.boxes["category"], labels.boxes["ignore"]
    counts = category[~ignore].value_counts().sort_index()
    labelled = counts.sort_values(ascending=False, kind="stable").index
    kept = [name for name in wanted or labelled if name in labelled]
    others = category[~category.isin(kept)].value_counts()
    left_out = ", ".join(f"{name} {number:,}" for name, number in others.items())
    if not kept:
        raise DetectionDataError(
            f"{path.name}: no box that is to be detected is of the classes "
            f"{', '.join(wanted or ('any',))}. Left out: {left_out}."
        )
    checks.count(
        others.sum(),
        f"boxes left out, not a class here, or regions to ignore only: {left_out}",
    )
    return kept


def _count_unlabelled_classes(
    detections: pd.DataFrame, classes: list[str], labels: Labels, checks: Checks
) -> None:
    """Report the detections of classes without a labelled box."""
    unknown = detections["category"][~detections["category"].isin(classes)]
    counts = unknown.value_counts().head(5)
    listed = ", ".join(f"{name} {number:,}" for name, number in counts.items())
    ids = [f"{key} {name}" for key, name in labels.categories.items() if key != name]
    if ids:
        listed += f"; ids of the labels are {', '.join(ids[:9])}"
    checks.count(
        len(unknown),
        f"detections left out: no box of their class is labelled ({listed})",
    )


def _of_classes(table: pd.DataFrame, classes: list[str]) -> pd.DataFrame:
    """Return the rows of some classes, with the class as a number."""
    number = pd.Index(classes).get_indexer(table["category"])
    return table.assign(category=number)[number >= 0].reset_index(drop=True)


def _with_attributes(
    path: Path, images: pd.DataFrame, boxes: pd.DataFrame, checks: Checks
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Join the columns of a CSV to images, or to boxes by the ids of boxes."""
    table = read_csv(path, [])
    by_box = "box" in table and "box" in boxes
    if not by_box and "image" not in table:
        raise DetectionDataError(
            f"{path.name} needs a column 'image' (names) or 'box' (ids of boxes, if "
            f"the labels have any). It has {', '.join(map(str, table.columns[:9]))}."
        )
    if by_box:
        key, noun, target, names = "box", "boxes", boxes, boxes["box"]
        file_checks.refuse_repeated(path, names.dropna(), "ids of labelled boxes")
        number = table["box"].map(dict(zip(names, boxes.index, strict=True)))
    else:
        key, noun, target, names = "image", "images", images, images["name"]
        number = pd.Series(numbers_of_images(path, table["image"], images))
        number = number.where(number >= 0)
    file_checks.refuse_repeated(path, table[key], noun)
    if number.isna().all():
        raise DetectionDataError(
            f"{path.name}: none of its rows is about a labelled {key}. Its first "
            f"{key} is {table[key].iloc[0]!r}, the first labelled one is "
            f"{names.iloc[0]!r}."
        )
    lost = number.isna().sum()
    checks.count(lost, f"rows of {path.name} left out: their {key} is not labelled")
    bare = len(target) - number.nunique()
    checks.count(
        bare, f"labelled {noun} have no row in {path.name}: they have no value"
    )
    columns = [name for name in table if name not in OWN]
    joined = table[columns].set_index(number)
    joined = joined[joined.index.notna()]
    target = target.drop(columns=columns, errors="ignore").join(joined)
    return (images, target) if by_box else (target, boxes)


def explaining(frames: Frames, bounds: Sequence[float]) -> list[Attribute]:
    """Return the attributes of every box that may explain a gap.

    These are its size (by `bounds` of its area, square pixels), its shape, and the
    number of boxes in its image.
    """
    areas = frames.boxes["area"].to_numpy(float)
    extents = frames.detections["extent"].to_numpy(float)
    size = Attribute(
        "size",
        SIZES[: len(bounds) + 1],
        np.searchsorted(list(bounds), areas, side="right"),
        "box",
        np.searchsorted(list(bounds), extents, side="right"),
    )
    attributes = [size]
    names = {"aspect": "shape (width/height)", "crowds": "boxes in the image"}
    for name, text in names.items():
        with suppress(DetectionDataError):  # too few different numbers for thirds
            attributes.append(replace(made(frames, name), name=text))
    return attributes
