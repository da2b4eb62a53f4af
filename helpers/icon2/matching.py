"""Match detections to boxes by COCO's rule, all at once.

The rule goes from the highest score down, each detection taking the free box it
overlaps most: a serial dictatorship, whose one stable outcome deferred acceptance finds
in a few rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.file_checks import CORNERS

IOU_THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10))
MAX_DETECTIONS = (
    100  # of an image and class, as COCO; all, where an image has more boxes
)


@dataclass(frozen=True)
class Matches:
    """Which detection took which box.

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
                f"class {name!r} is not known; there are: {known} (see "
                "'figure_classes' in 08)"
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
        rows = rows.assign(box=box, hit=box >= 0)
        ignored = self.boxes["ignore"].to_numpy()[box] & rows["hit"]
        return rows[~ignored].reset_index(drop=True)


class ClassMatches:
    """The matches of one class as arrays.

    Events are all of them, by threshold and falling score.
    """

    def __init__(self, matches: Matches, category: int) -> None:
        boxes = matches.boxes[matches.boxes["category"] == category]
        ends = [category, category + 1]
        start, stop = matches.detections["category"].searchsorted(ends)
        detections = matches.detections[start:stop]
        taken = matches.taken[:, start:stop]
        self.category = category
        self.n_images = matches.n_images
        self.n_thresholds = len(matches.thresholds)
        self.box_row = boxes.index.to_numpy()
        self.box_image = boxes["image"].to_numpy()
        self.box_ignored = boxes["ignore"].to_numpy()
        self.detection_row = detections["row"].to_numpy()
        self.detection_image = detections["image"].to_numpy()
        threshold, detection = np.nonzero(taken >= 0)
        self.event_threshold = threshold.astype(np.int32)
        self.event_detection = detection.astype(np.int32)
        place = np.full(len(matches.boxes), -1, np.int32)
        place[self.box_row] = np.arange(len(boxes))
        self.event_box = place[taken[self.event_threshold, self.event_detection]]

    def codes(self, attribute: Attribute) -> np.ndarray:
        """Return an attribute's code of each box of the class."""
        row = self.box_image if attribute.level == "image" else self.box_row
        return attribute.codes[row]


def match(frames: Frames, thresholds: Sequence[float] = IOU_THRESHOLDS) -> Matches:
    """Match detections to boxes at every IoU threshold, by COCO's rule.

    A box is as wide as x2 - x1, as for COCO and detectron2, which the paper used;
    Scalabel adds 1. The 100 strongest detections of an image and class count, or all of
    them if an image has more than 100 boxes of a class.
    """
    thresholds = np.asarray(thresholds, float)
    if not ((thresholds > 0) & (thresholds <= 1)).all():
        raise ValueError(f"thresholds must be in (0, 1], not {thresholds.tolist()}")
    n_classes = len(frames.classes)
    limit = MAX_DETECTIONS if fullest(frames.boxes) <= MAX_DETECTIONS else None
    kept = _strongest(frames.detections, n_classes, limit)
    detections = frames.detections.iloc[kept]
    key = _key(frames.boxes, n_classes)
    by_image = np.argsort(key, kind="stable")
    place = _take(detections, frames.boxes.iloc[by_image], n_classes, thresholds)
    falling = -detections["score"].to_numpy()
    listed = np.lexsort((falling, detections["category"]))
    taken = np.append(by_image, -1)[place[:, listed]].astype(np.int32)
    detections = detections[["image", "category", "score"]].iloc[listed]
    smaller = {"image": np.int32, "category": np.int16}
    detections = detections.reset_index(drop=True).astype(smaller)
    detections["row"] = kept[listed]
    boxes = frames.boxes[["image", "category", "ignore"]]
    boxes = boxes.reset_index(drop=True).astype(smaller)
    return Matches(
        thresholds=thresholds,
        classes=frames.classes,
        n_images=len(frames.images),
        boxes=boxes,
        detections=detections,
        taken=taken,
    )


def _key(boxes: pd.DataFrame, n_classes: int) -> np.ndarray:
    """Return one number for the image and the class of each box."""
    image = boxes["image"].to_numpy(np.int64)
    category = boxes["category"].to_numpy(np.int64)
    return image * n_classes + category


def fullest(boxes: pd.DataFrame) -> int:
    """Count the boxes of one class in the image that has most of them."""
    if boxes.empty:
        return 0
    n_classes = int(boxes["category"].max()) + 1
    key = _key(boxes, n_classes)
    _, counts = np.unique(key, return_counts=True)
    return int(counts.max())


def _strongest(boxes: pd.DataFrame, n_classes: int, limit: int | None) -> np.ndarray:
    """Order rows by image, class and falling score, at most `limit` of each."""
    key = _key(boxes, n_classes)
    order = np.lexsort((-boxes.score.to_numpy(float), key)).astype(np.int32)
    if limit is None:
        return order
    key = key[order]
    rank = np.arange(len(key)) - np.searchsorted(key, key)
    return order[rank < limit]


def _take(
    detections: pd.DataFrame, boxes: pd.DataFrame, n_classes: int, thresholds
) -> np.ndarray:
    """Return the place of the box that each detection takes at each threshold."""
    key = _key(boxes, n_classes)
    wanted = _key(detections, n_classes)
    first = np.searchsorted(key, wanted)
    counts = np.searchsorted(key, wanted, side="right") - first
    detection = np.repeat(np.arange(len(detections)), counts)
    begin = np.cumsum(counts) - counts
    step = np.arange(len(detection)) - np.repeat(begin, counts)
    box = np.repeat(first, counts) + step
    ignored = boxes["ignore"].to_numpy(bool)
    # of COCO's: which of them are crowds, and areas as width times height are, to the
    # last digit
    crowd = boxes["crowd"].to_numpy(bool) if "crowd" in boxes else ignored
    ours = np.take(_sides_and_area(detections), detection, 1)
    theirs = np.take(_sides_and_area(boxes), box, 1)
    overlap = iou(ours, theirs, crowd[box])
    least = np.minimum(thresholds, 1 - 1e-10)
    # few pairs, so that the others are not sorted
    near = np.flatnonzero(overlap >= least.min())
    detection = detection[near]
    box = box[near]
    overlap = overlap[near]
    order = np.lexsort((-box, -overlap, ignored[box], detection))
    detection = detection[order]
    box = box[order]
    overlap = overlap[order]
    taken = []
    for threshold in least:
        near = overlap >= threshold
        starts = np.searchsorted(detection[near], np.arange(len(detections) + 1))
        taken.append(_propose(box[near], starts, len(detections), crowd))
    return np.array(taken)


def _sides_and_area(table: pd.DataFrame) -> np.ndarray:
    """Return the corners of boxes, and their areas where the table has them."""
    columns = [*CORNERS, "extent"] if "extent" in table else CORNERS
    return table[columns].to_numpy(float).T


def iou(
    ours: np.ndarray, theirs: np.ndarray, ignored: np.ndarray | bool = False
) -> np.ndarray:
    """Compute the intersection over union of boxes (4, n), x1 y1 x2 y2.

    It is the intersection over our own area if `ignored`. Areas may be a fifth row.
    """
    begin = np.maximum(ours[:2], theirs[:2])
    end = np.minimum(ours[2:4], theirs[2:4])
    width, height = np.maximum(end - begin, 0)
    shared = width * height
    own = _area(ours)
    union = np.where(ignored, own, own + _area(theirs) - shared)
    # boxes without an area overlap with none
    return np.divide(shared, union, out=np.zeros(len(union)), where=union > 0)


def _area(boxes: np.ndarray) -> np.ndarray:
    """Return the areas of boxes: the fifth row, or width times height."""
    if len(boxes) > 4:
        return boxes[4]
    return (boxes[2] - boxes[0]) * (boxes[3] - boxes[1])


def _propose(box, starts, n, unlimited) -> np.ndarray:
    """Return the box of each detection by deferred acceptance, -1 for none.

    Detections propose down their lists, and boxes keep the highest score.
    """
    holder = np.full(len(unlimited), n)  # n: nobody; a lower number takes precedence
    at = starts[:-1].copy()
    end = starts[1:]
    active = np.flatnonzero(at < end)
    while len(active):
        wanted = box[at[active]]
        before = holder[wanted]
        limited = ~unlimited[wanted]
        np.minimum.at(holder, wanted[limited], active[limited])
        after = holder[wanted]
        lost = active[limited & (after != active)]
        had_a_holder = limited & (before < n)
        displaced = np.unique(before[had_a_holder & (after != before)])
        losers = np.concatenate([lost, displaced])
        at[losers] += 1
        active = losers[at[losers] < end[losers]]
    settled = at < end
    chosen = np.full(n, -1, np.int32)
    chosen[settled] = box[at[settled]]
    return chosen
