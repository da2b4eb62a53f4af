"""Read labels and detections with any classes, and attributes from a CSV."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from helpers.icon2.attributes import CORNERS, DetectionDataError, Frames
from helpers.icon2.file_checks import plausible_area, refuse_impossible, refusing
from helpers.icon2.formats import FORMATS, OWN, read_file, read_table
from helpers.icon2.matching import MAX_DETECTIONS, fullest
from helpers.suggest import listed

IGNORED = (
    "boxes are crowds, or regions to ignore (pycocotools does not read 'ignore'): a "
    "detection there is neither right nor wrong"
)

ATTRIBUTES = (
    "a CSV with one row per 'image' (its name, which only one image may have) or 'box' "
    "(its id)"
)


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
    counts = {}  # how much is left out, by a text for the report
    with refusing(labels, FORMATS):
        labelled = read_file(Path(labels))
        images, boxes, names = labelled
        refuse_impossible(boxes, images, CORNERS)
    boxes["ignore"] = boxes[["iscrowd", "ignore"]].any(axis=1)
    boxes["area"], warnings = plausible_area(boxes)
    boxes = boxes.drop(columns=["iscrowd", "crowd", "score"], errors="ignore")
    if attributes is not None:
        images, boxes = _with_attributes(attributes, images, boxes, counts)
    sizes = boxes[~boxes["ignore"]].groupby("category").size()
    sizes = sizes.sort_values(ascending=False, kind="stable")
    kept = [name for name in classes or sizes.index if name in sizes]
    counts[IGNORED] = boxes["ignore"].sum()
    boxes = _of_classes(boxes, kept, "boxes left out, not a class here", counts)

    columns = ["image", "category", *CORNERS, "score", "extent"]
    with refusing(detections, FORMATS):
        _, found, _ = read_file(Path(detections), labelled)
        is_labelled = found["image"] >= 0
        found = found.loc[is_labelled, columns]
        refuse_impossible(found, images, [*CORNERS, "score"])
    counts["detections left out: their image has no labels"] = (~is_labelled).sum()
    n_without = len(images) - found["image"].nunique()
    counts["labelled images have no detection"] = n_without
    text = "detections left out: no box of their class is labelled"
    if names:
        ids = [f"{key} {name}" for key, name in names.items()]
        text += f"; ids of the labels are {listed(ids)}"
    found = _of_classes(found, kept, text, counts)

    report = [
        f"{len(images):,} images, {(~boxes['ignore']).sum():,} boxes, "
        f"{len(found):,} detections of {len(kept)} classes"
    ]
    report += [f"{number:,} {text}" for text, number in counts.items() if number]
    if boxes.empty or found.empty:
        raise DetectionDataError(f"Nothing can be compared: {'; '.join(report)}.")
    most = fullest(boxes)
    if most > MAX_DETECTIONS:
        warnings.append(
            f"The fullest image has {most:,} boxes of one class. COCO's evaluator "
            f"counts the {MAX_DETECTIONS} detections with the highest scores, so it "
            "cannot find them all. Here all detections count, so AP may differ from "
            "pycocotools with its default."
        )
    return Frames(images, boxes, found, tuple(kept), tuple(report), tuple(warnings))


def _of_classes(
    table: pd.DataFrame, classes: list[str], text: str, counts: dict[str, int]
) -> pd.DataFrame:
    """Return the rows of some classes, with the class as a number, and count others."""
    number = pd.Index(classes).get_indexer(table["category"])
    others = table["category"][number < 0].value_counts()
    names = listed(f"{name} {count:,}" for name, count in others.items())
    counts[f"{text} ({names})"] = others.sum()
    return table.assign(category=number)[number >= 0].reset_index(drop=True)


def _with_attributes(
    path: str | Path, images: pd.DataFrame, boxes: pd.DataFrame, counts: dict[str, int]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Join the columns of a CSV to images by their names, or to boxes by their ids."""
    with refusing(path, ATTRIBUTES):
        table = read_table(path)
        key, target, column = "image", images, "name"
        if "box" in table:
            key, target, column = "box", boxes, "box"
            boxes["box"] = boxes["box"].astype(str)
        table = table.set_index(key).drop(columns=OWN, errors="ignore")
        is_known = table.index.isin(target[column])
        if not is_known.any():
            raise DetectionDataError(
                f"none of its rows is about a labelled {key}. They name "
                f"{table.index[:2].tolist()}, and the labels "
                f"{target[column][:2].tolist()}."
            )
        target = target.drop(columns=table.columns, errors="ignore")
        target = target.join(table, on=column, validate="1:1")
    name = Path(path).name
    counts[f"rows of {name} left out: their {key} is not labelled"] = (~is_known).sum()
    n_bare = len(target) - is_known.sum()
    counts[f"rows are missing in {name}: their {key} is labelled"] = n_bare
    return (images, target) if key == "box" else (target, boxes)
