"""Match detections to boxes by COCO's rule.

Libraries do this as well, but they return the matches of 10,000 images as lists of
Python objects, which takes longer than to match them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from helpers.icon2.attributes import CORNERS, Frames, extent

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
        The index is the row of the labels.
    detections : pandas.DataFrame
        Those that count, by falling score, ties by image, with their ``row`` among
        those that were given. At the first threshold, ``box`` is the row of the box
        that each took, -1 for none, ``hit`` says whether this box had to be detected,
        and ``ignored`` whether it is a region to ignore.
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
            raise ValueError(
                f"There is no class {name!r}. Name one of {', '.join(self.classes)}, "
                "for example in 'figure_classes' of lesson 08."
            )
        return self._by_class[name]

    @cached_property
    def _by_class(self) -> dict[str, Matches]:
        """Divide the matches by class."""
        by_class = {}
        for category, name in enumerate(self.classes):
            is_box = self.boxes["category"].to_numpy() == category
            is_detection = self.detections["category"].to_numpy() == category
            # of each box of all classes, among those of this class; the last is for -1
            place = np.append(np.cumsum(is_box) - 1, -1)
            by_class[name] = replace(
                self,
                boxes=self.boxes[is_box],
                detections=self.detections[is_detection],
                taken=place[self.taken[:, is_detection]],
            )
        return by_class


def match(frames: Frames, thresholds: Sequence[float] = IOU_THRESHOLDS) -> Matches:
    """Match detections to boxes at every IoU threshold, by COCO's rule.

    Detections are matched from the highest score down. Each takes the box of its image
    and class that it overlaps most, among the boxes that are not taken. Boxes that have
    to be detected come before regions to ignore, and a crowd can be taken many times. A
    box is as wide as x2 - x1, as for COCO and detectron2, which the paper used;
    Scalabel adds 1. The 100 strongest detections of an image and class count, or all of
    them if an image has more than 100 boxes of a class.
    """
    boxes = frames.boxes.reset_index(drop=True)
    boxes["extent"] = extent(boxes)
    boxes["crowd"] = boxes.get("crowd", boxes["ignore"]).astype(bool)
    per_image = boxes.groupby(["image", "category"]).size()
    detections = _strongest(frames.detections, per_image.max())
    pairs = _overlapping_pairs(detections, boxes)
    is_crowd = boxes["crowd"].tolist()
    taken = np.full((len(thresholds), len(detections)), -1)
    for row, threshold in zip(taken, thresholds, strict=True):
        box_of = _take(pairs[pairs["overlap"] >= threshold], is_crowd)
        row[list(box_of)] = list(box_of.values())
    # the last is found by -1, for no box
    is_ignored = np.append(boxes["ignore"], False)[taken[0]]
    detections["box"] = taken[0]
    detections["ignored"] = is_ignored
    detections["hit"] = (taken[0] >= 0) & ~is_ignored
    return Matches(frames.classes, len(frames.images), boxes, detections, taken)


def _strongest(detections: pd.DataFrame, most_boxes: int) -> pd.DataFrame:
    """Return the detections that count, by falling score, ties by image."""
    row = np.arange(len(detections))
    table = detections.assign(row=row, extent=extent(detections))
    table = table.sort_values(
        ["score", "image"], ascending=[False, True], kind="stable"
    )
    if most_boxes <= MAX_DETECTIONS:
        table = table.groupby(["image", "category"], sort=False).head(MAX_DETECTIONS)
    return table.reset_index(drop=True)


def _overlapping_pairs(detections: pd.DataFrame, boxes: pd.DataFrame) -> pd.DataFrame:
    """Pair detections with the boxes of their image and class that they overlap.

    Each detection's pairs are in the order of its choice. The overlap is the IoU, and
    with a crowd, the share of the detection that it covers.
    """
    keys = ["image", "category"]
    measures = [*keys, *CORNERS, "extent"]
    pairs = pd.merge(
        detections[measures].reset_index(names="detection"),
        boxes[[*measures, "ignore", "crowd"]].reset_index(names="box"),
        on=keys,
        suffixes=("", "_of_box"),
    )
    shared = 1.0
    for axis in "xy":
        end = np.minimum(pairs[f"{axis}2"], pairs[f"{axis}2_of_box"])
        begin = np.maximum(pairs[f"{axis}1"], pairs[f"{axis}1_of_box"])
        shared = shared * (end - begin).clip(lower=0)
    union = pairs["extent"] + pairs["extent_of_box"] - shared
    area = union.mask(pairs["crowd"], pairs["extent"])
    pairs["overlap"] = shared / np.maximum(area, TINY)
    # of equal overlaps, COCO takes the box that comes last
    return pairs[pairs["overlap"] > 0].sort_values(
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
