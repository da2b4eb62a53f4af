"""Read labels and detections with any classes, and attributes from a CSV."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.icon2 import file_checks
from helpers.icon2.attributes import SIZES, Attribute, Frames, made
from helpers.icon2.file_checks import Checks, DetectionDataError
from helpers.icon2.matching import MAX_DETECTIONS, fullest
from helpers.icon2.reading import (
    OWN,
    read_csv,
    read_detections,
    read_labels,
    refusing,
)
from helpers.suggest import listed


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
    labelled = read_labels(Path(labels), checks)
    is_region = labelled.boxes["ignore"]
    counts = labelled.boxes[~is_region].groupby("category").size()
    counts = counts.sort_values(ascending=False, kind="stable")
    kept = [name for name in classes or counts.index if name in counts]
    boxes = _of_classes(
        labelled.boxes, kept, "boxes left out, not a class here", checks
    )
    checks.count(
        is_region.sum(),
        "boxes are crowds, or regions to ignore (pycocotools does not read 'ignore'): "
        "a detection there is neither right nor wrong",
    )
    found = read_detections(Path(detections), labelled, checks)
    ids = [f"{key} {name}" for key, name in labelled.categories.items() if key != name]
    text = "detections left out: no box of their class is labelled"
    if ids:
        text += f"; ids of the labels are {listed(ids)}"
    found = _of_classes(found, kept, text, checks)
    if boxes.empty or found.empty:
        raise DetectionDataError(
            f"There are {len(boxes):,} boxes and {len(found):,} detections of labelled "
            f"images and classes ({listed(kept)}). {'; '.join(checks.report[::-1])}."
        )
    images = labelled.images
    if attributes is not None:
        images, boxes = _with_attributes(Path(attributes), images, boxes, checks)
    most = fullest(boxes)
    if most > MAX_DETECTIONS:
        checks.warnings.append(
            f"The fullest image has {most:,} boxes of one class. COCO's evaluator "
            f"counts the {MAX_DETECTIONS} detections with the highest scores, so it "
            "cannot find them all. Here all detections count, so AP may differ from "
            "pycocotools with its default."
        )
    summary = (
        f"{len(images):,} images, {(~boxes['ignore']).sum():,} boxes, "
        f"{len(found):,} detections of {len(kept)} classes"
    )
    report = (summary, *checks.report)
    return Frames(images, boxes, found, tuple(kept), report, tuple(checks.warnings))


def _of_classes(
    table: pd.DataFrame, classes: list[str], text: str, checks: Checks
) -> pd.DataFrame:
    """Return the rows of some classes, with the class as a number, and count others."""
    number = pd.Index(classes, dtype=str).get_indexer(table["category"])
    others = table["category"][number < 0].value_counts()
    counts = listed(f"{name} {count:,}" for name, count in others.items())
    checks.count(others.sum(), f"{text} ({counts})")
    return table.assign(category=number)[number >= 0].reset_index(drop=True)


def _with_attributes(
    path: Path, images: pd.DataFrame, boxes: pd.DataFrame, checks: Checks
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Join the columns of a CSV to images, or to boxes by the ids of boxes."""
    with refusing(path, "a CSV with one row per 'image' (names) or 'box' (ids)"):
        table = read_csv(path)
        key = "box" if "box" in table and "box" in boxes else "image"
        if table[key].duplicated().any():
            raise ValueError(f"a value of {key!r} is there twice")
    if key == "box":
        target, names = boxes, [boxes["box"]]
    else:
        target, names = images, [images["id"], images["name"]]
    table.index = file_checks.positions(path, table[key], *names, noun=key)
    joined = table[table.index >= 0]
    lost = len(table) - len(joined)
    checks.count(lost, f"rows of {path.name} left out: their {key} is not labelled")
    bare = len(target) - len(joined)
    checks.count(bare, f"rows are missing in {path.name}: their {key} is labelled")
    joined = joined.drop(columns=[*OWN], errors="ignore")
    target = target.drop(columns=joined.columns, errors="ignore").join(joined)
    return (images, target) if key == "box" else (target, boxes)


def explaining(frames: Frames, bounds: Sequence[float]) -> list[Attribute]:
    """Return the attributes of every box that may explain a gap.

    These are its size (by `bounds` of its area, square pixels), its shape, and the
    number of boxes in its image.
    """
    codes = np.digitize(frames.boxes["area"], bounds)
    of_detection = np.digitize(frames.detections["extent"], bounds)
    attributes = [Attribute("size", SIZES, codes, "box", of_detection)]
    names = {"aspect": "shape (width/height)", "crowds": "boxes in the image"}
    for name, text in names.items():
        with suppress(DetectionDataError):  # too few different numbers for thirds
            attributes.append(replace(made(frames, name), name=text))
    return attributes
