"""Match detections to boxes by COCO's rule.

Libraries do this as well, but they return the matches of 10,000 images as lists of
Python objects, which takes longer than to match them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from helpers.icon2.attributes import CORNERS, Attribute, Frames

IOU_THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10))
# of an image and class, as COCO; all, where an image has more boxes
MAX_DETECTIONS = 100
TINY = 1e-300  # boxes without an area overlap with none


@dataclass(frozen=True)
class Matches:
    """Record which detection took which box.

    Attributes
    ----------
    classes : tuple of str
    n_images : int
    boxes : pandas.DataFrame
        With ``image``, ``category`` and ``ignore``. The index is the row of the labels.
    detections : pandas.DataFrame
        With ``image``, ``category``, ``score`` and the ``row`` in those that were
        given, by class and falling score, ties by image. ``box`` is the row of the box
        that each took at the first threshold, -1 for none.
    taken : array of shape (thresholds, n detections)
        The place in `boxes` of the box that each detection took, -1 for none.
    """

    classes: tuple[str, ...]
    n_images: int
    boxes: pd.DataFrame
    detections: pd.DataFrame
    taken: np.ndarray

    def of(self, name: str) -> Matches:
        """Return the matches of one class."""
        if name not in self.classes:
            known = ", ".join(self.classes)
            raise ValueError(
                f"There is no class {name!r}. The classes are: {known} (see "
                "'figure_classes' in lesson 08)."
            )
        category = self.classes.index(name)
        is_own = self.boxes["category"].to_numpy() == category
        place = np.append(np.cumsum(is_own) - 1, -1)  # the last is for no box
        ends = [category, category + 1]
        start, stop = self.detections["category"].searchsorted(ends)
        return replace(
            self,
            boxes=self.boxes[is_own],
            detections=self.detections[start:stop],
            taken=place[self.taken[:, start:stop]],
        )

    def rows(self, name: str) -> pd.DataFrame:
        """Return the detections of one class, and whether each is a ``hit``.

        One that took a region to ignore at the first threshold is left out.
        """
        rows = self.of(name).detections
        rows = rows.assign(hit=rows["box"] >= 0)
        is_ignored = np.append(self.boxes["ignore"], False)[rows["box"]]
        return rows[~is_ignored].reset_index(drop=True)

    def codes(self, attribute: Attribute) -> np.ndarray:
        """Return the code of an attribute of each box."""
        image = self.boxes["image"].to_numpy()
        return attribute.of_boxes(image, self.boxes.index.to_numpy())


def match(frames: Frames, thresholds: Sequence[float] = IOU_THRESHOLDS) -> Matches:
    """Match detections to boxes at every IoU threshold, by COCO's rule.

    Detections are matched from the highest score down. Each takes the box of its image
    and class that it overlaps most, among the boxes that are not taken. Boxes that have
    to be detected come before regions to ignore, and a crowd can be taken many times. A
    box is as wide as x2 - x1, as for COCO and detectron2, which the paper used;
    Scalabel adds 1. The 100 strongest detections of an image and class count, or all of
    them if an image has more than 100 boxes of a class.
    """
    thresholds = np.asarray(thresholds, float)
    if not ((thresholds > 0) & (thresholds <= 1)).all():
        raise ValueError(f"thresholds must be in (0, 1], not {thresholds.tolist()}")
    thresholds = np.minimum(thresholds, 1 - 1e-10)
    boxes = _with_extent(frames.boxes.reset_index(drop=True))
    boxes["crowd"] = boxes.get("crowd", boxes["ignore"]).astype(bool)
    detections = _strongest(_with_extent(frames.detections), fullest(boxes))
    pairs = _overlapping_pairs(detections, boxes, thresholds.min())
    is_crowd = boxes["crowd"].tolist()
    taken = np.full((len(thresholds), len(detections)), -1)
    for row, threshold in zip(taken, thresholds, strict=True):
        box_of = _take(pairs[pairs["overlap"] >= threshold], is_crowd)
        row[list(box_of)] = list(box_of.values())
    detections["box"] = taken[0]
    return Matches(
        classes=frames.classes,
        n_images=len(frames.images),
        boxes=boxes[["image", "category", "ignore"]],
        detections=detections[["image", "category", "score", "row", "box"]],
        taken=taken,
    )


def _with_extent(table: pd.DataFrame) -> pd.DataFrame:
    """Add the areas of boxes in square pixels, as in the file if it has them."""
    extent = (table["x2"] - table["x1"]) * (table["y2"] - table["y1"])
    return table.assign(extent=table.get("extent", extent))


def fullest(boxes: pd.DataFrame) -> int:
    """Count the boxes of one class in the image that has most of them."""
    return boxes.groupby(["image", "category"]).size().max()


def _strongest(detections: pd.DataFrame, most_boxes: int) -> pd.DataFrame:
    """Return the detections that count, by class and falling score, ties by image."""
    table = detections.assign(row=np.arange(len(detections)))
    table = table.sort_values(
        ["category", "score", "image"],
        ascending=[True, False, True],
        kind="stable",
    )
    if most_boxes <= MAX_DETECTIONS:
        table = table.groupby(["image", "category"], sort=False).head(MAX_DETECTIONS)
    return table.reset_index(drop=True)


def _overlapping_pairs(
    detections: pd.DataFrame, boxes: pd.DataFrame, least: float
) -> pd.DataFrame:
    """Pair detections with the boxes of their image and class that they overlap enough.

    Each detection's pairs are in the order of its choice. The overlap is the IoU, and
    with a crowd, the share of the detection that it covers.
    """
    keys = ["image", "category"]
    measures = [*CORNERS, "extent"]
    numbered = boxes[[*keys, "ignore", "crowd"]].reset_index(names="box")
    pairs = detections[keys].reset_index(names="detection").merge(numbered, on=keys)
    ours = detections[measures].to_numpy().T
    ours = np.take(ours, pairs["detection"], axis=1)
    theirs = boxes[measures].to_numpy().T
    theirs = np.take(theirs, pairs["box"], axis=1)
    begin = np.maximum(ours[:2], theirs[:2])
    end = np.minimum(ours[2:4], theirs[2:4])
    width, height = np.maximum(end - begin, 0)
    shared = width * height
    union = np.where(
        pairs["crowd"],
        ours[4],
        ours[4] + theirs[4] - shared,
    )
    pairs["overlap"] = shared / np.maximum(union, TINY)
    pairs = pairs[pairs["overlap"] >= least]
    # of equal overlaps, COCO takes the box that comes last
    return pairs.sort_values(
        ["detection", "ignore", "overlap", "box"],
        ascending=[True, True, False, False],
    )


def _take(pairs: pd.DataFrame, is_crowd: list[bool]) -> dict[int, int]:
    """Return the box that each detection takes, if it takes one."""
    box_of = {}
    is_free = [True] * len(is_crowd)
    detections = pairs["detection"].tolist()
    for detection, box in zip(detections, pairs["box"].tolist(), strict=True):
        if detection not in box_of and is_free[box]:
            box_of[detection] = box
            is_free[box] = is_crowd[box]
    return box_of
