"""Match detections to boxes by COCO's rule.

Libraries do this as well, but they return the matches of 10,000 images as lists of
Python objects, which takes longer than to match them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.icon2.attributes import CORNERS, Attribute, Frames

IOU_THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10))
# of an image and class, as COCO; all, where an image has more boxes
MAX_DETECTIONS = 100


@dataclass(frozen=True)
class Matches:
    """Record which detection took which box.

    Detections are by class and falling score, ties by image.
    """

    thresholds: np.ndarray
    classes: tuple[str, ...]
    n_images: int
    boxes: pd.DataFrame  # image category ignore
    detections: pd.DataFrame  # image category score row (in those that were given)
    taken: np.ndarray  # (T, n detections): row of the box that each took, -1 for none

    def of(self, name: str) -> ClassMatches:
        """Return the matches of one class."""
        if name not in self.classes:
            known = ", ".join(self.classes)
            raise ValueError(
                f"There is no class {name!r}. The classes are: {known} (see "
                "'figure_classes' in lesson 08)."
            )
        return ClassMatches(self, self.classes.index(name))

    def rows(self, name: str) -> pd.DataFrame:
        """Return the detections of one class by falling score.

        ``box`` is the row of the box that each took at the first threshold, -1 for
        none, ``hit`` whether it took one, and ``row`` the row of the detections that
        were given. One that took a region to ignore is left out.
        """
        category = self.of(name).category
        kept = (self.detections["category"] == category).to_numpy()
        box = self.taken[0][kept]
        rows = self.detections[kept].drop(columns="category")
        rows["box"] = box
        rows["hit"] = box >= 0
        ignored = self.boxes["ignore"].to_numpy()[box] & rows["hit"]
        return rows[~ignored].reset_index(drop=True)


class ClassMatches:
    """Hold the matches of one class as arrays.

    Detections are by falling score. ``taken`` (T, n detections) is the place of the box
    that each took among the boxes of the class, -1 for none.
    """

    def __init__(self, matches: Matches, category: int) -> None:
        boxes = matches.boxes[matches.boxes["category"] == category]
        ends = [category, category + 1]
        start, stop = matches.detections["category"].searchsorted(ends)
        detections = matches.detections[start:stop]
        self.category = category
        self.n_images = matches.n_images
        self.box_row = boxes.index.to_numpy()
        self.box_image = boxes["image"].to_numpy()
        self.box_ignored = boxes["ignore"].to_numpy()
        self.detection_row = detections["row"].to_numpy()
        self.detection_image = detections["image"].to_numpy()
        place = np.full(len(matches.boxes) + 1, -1)  # the last is for no box
        place[self.box_row] = np.arange(len(boxes))
        self.taken = place[matches.taken[:, start:stop]]

    def codes(self, attribute: Attribute) -> np.ndarray:
        """Return an attribute's code of each box of the class."""
        return attribute.of_boxes(self.box_image, self.box_row)

    def count(self, attribute: Attribute) -> np.ndarray:
        """Count the boxes that have to be detected, by the value of an attribute."""
        codes = self.codes(attribute)
        counted = (codes >= 0) & ~self.box_ignored
        return np.bincount(codes[counted], minlength=len(attribute.values))


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
    boxes = frames.boxes.reset_index(drop=True)
    detections = _strongest(frames.detections, fullest(boxes))
    is_crowd = boxes.get("crowd", boxes["ignore"])
    is_crowd = is_crowd.to_numpy(bool)
    least = np.minimum(thresholds, 1 - 1e-10)
    pairs = _overlapping_pairs(detections, boxes, is_crowd, least.min())
    taken = []
    number = len(detections)
    for threshold in least:
        near = pairs[pairs["overlap"] >= threshold]
        taken.append(_take(near, number, is_crowd))
    smaller = {"image": np.int32, "category": np.int16}
    return Matches(
        thresholds=thresholds,
        classes=frames.classes,
        n_images=len(frames.images),
        boxes=boxes[["image", "category", "ignore"]].astype(smaller),
        detections=detections[["image", "category", "score", "row"]].astype(smaller),
        taken=np.array(taken, np.int32),
    )


def fullest(boxes: pd.DataFrame) -> int:
    """Count the boxes of one class in the image that has most of them."""
    if boxes.empty:
        return 0
    counts = boxes.groupby(["image", "category"]).size()
    return int(counts.max())


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
    detections: pd.DataFrame, boxes: pd.DataFrame, is_crowd: np.ndarray, least: float
) -> pd.DataFrame:
    """Pair detections with the boxes of their image and class that they overlap enough.

    Each detection's pairs are in the order of its choice.
    """
    on = ["image", "category"]
    pairs = detections[on].assign(detection=np.arange(len(detections)))
    numbered = boxes[on].assign(box=np.arange(len(boxes)))
    pairs = pairs.merge(numbered, on=on)
    detection = pairs["detection"].to_numpy()
    box = pairs["box"].to_numpy()
    overlap = _overlap(
        np.take(_sides_and_area(detections), detection, axis=1),
        np.take(_sides_and_area(boxes), box, axis=1),
        is_crowd[box],
    )
    pairs["overlap"] = overlap
    pairs = pairs[overlap >= least]
    ignored = boxes["ignore"].to_numpy(bool)
    pairs["ignored"] = ignored[pairs["box"]]
    # of equal overlaps, COCO takes the box that comes last
    return pairs.sort_values(
        ["detection", "ignored", "overlap", "box"],
        ascending=[True, True, False, False],
    )


def _sides_and_area(table: pd.DataFrame) -> np.ndarray:
    """Return the corners and areas of boxes (5, n), areas as in the file."""
    corners = table[CORNERS].to_numpy(float).T
    if "extent" in table:
        area = table["extent"].to_numpy(float)
    else:
        area = (corners[2] - corners[0]) * (corners[3] - corners[1])
    return np.vstack([corners, area])


def _overlap(ours: np.ndarray, theirs: np.ndarray, is_crowd: np.ndarray) -> np.ndarray:
    """Compute the IoU of boxes; with a crowd, the share of our box that it covers."""
    begin = np.maximum(ours[:2], theirs[:2])
    end = np.minimum(ours[2:4], theirs[2:4])
    width, height = np.maximum(end - begin, 0)
    shared = width * height
    union = np.where(is_crowd, ours[4], ours[4] + theirs[4] - shared)
    # boxes without an area overlap with none
    return np.divide(shared, union, out=np.zeros(len(union)), where=union > 0)


def _take(pairs: pd.DataFrame, number: int, is_crowd: np.ndarray) -> list[int]:
    """Return the box that each of a number of detections takes, -1 for none."""
    taken = [-1] * number
    is_free = [True] * len(is_crowd)
    crowds = is_crowd.tolist()
    detections = pairs["detection"].tolist()
    boxes = pairs["box"].tolist()
    for detection, box in zip(detections, boxes, strict=True):
        if taken[detection] < 0 and is_free[box]:
            taken[detection] = box
            is_free[box] = crowds[box]
    return taken
