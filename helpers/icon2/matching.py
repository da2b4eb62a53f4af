"""Matching detections to boxes by COCO's rule, all at once; AP is then read off the result.

The rule goes from the highest score down, each detection taking the free box it overlaps most: a
serial dictatorship, whose one stable outcome deferred acceptance finds in a few rounds."""

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
    """Which detection took which box; detections are by class and falling score, ties by image."""

    thresholds: np.ndarray
    classes: tuple[str, ...]
    n_images: int
    boxes: pd.DataFrame  # image category ignore
    detections: pd.DataFrame  # image category score row (in those that were given)
    taken: np.ndarray  # (T, n detections): row of the box that each took, -1 for none

    def of(self, name: str) -> ClassMatches:
        """The matches of one class."""
        if name not in self.classes:
            known = ", ".join(self.classes)
            raise ValueError(
                f"class {name!r} is not known; there are: {known} (see 'figure_classes' in 08)"
            )
        return ClassMatches(self, self.classes.index(name))

    def rows(self, name: str) -> pd.DataFrame:
        """The detections of one class by falling score, and what each took at the first threshold.

        ``row`` is that of the detections that were given, ``box`` the row of the box (-1 for none),
        ``hit`` whether there is one. One that took a region to ignore is left out."""
        kept = (self.detections["category"] == self.of(name).category).to_numpy()
        box = self.taken[0][kept]
        kept_rows = (
            self.detections[kept].drop(columns="category").assign(box=box, hit=box >= 0)
        )
        ignored = self.boxes["ignore"].to_numpy()[box] & kept_rows["hit"]
        return kept_rows[~ignored].reset_index(drop=True)


class ClassMatches:
    """The matches of one class as arrays; events: all of them, by threshold and falling score."""

    def __init__(self, matches: Matches, category: int) -> None:
        boxes = matches.boxes[matches.boxes["category"] == category]
        of_class = slice(
            *matches.detections["category"].searchsorted([category, category + 1])
        )
        detections, taken = matches.detections[of_class], matches.taken[:, of_class]
        self.category, self.n_images = category, matches.n_images
        self.n_thresholds = len(matches.thresholds)
        self.box_row = boxes.index.to_numpy()
        self.box_image = boxes["image"].to_numpy()
        self.box_ignored = boxes["ignore"].to_numpy()
        self.detection_row = detections["row"].to_numpy()
        self.detection_image = detections["image"].to_numpy()
        events = np.nonzero(taken >= 0)
        self.event_threshold, self.event_detection = (
            part.astype(np.int32) for part in events
        )
        place = np.full(len(matches.boxes), -1, np.int32)
        place[self.box_row] = np.arange(len(boxes))
        self.event_box = place[taken[self.event_threshold, self.event_detection]]

    def codes(self, attribute: Attribute) -> np.ndarray:
        """An attribute's code of each box of the class."""
        return attribute.codes[
            self.box_image if attribute.level == "image" else self.box_row
        ]


def match(frames: Frames, thresholds: Sequence[float] = IOU_THRESHOLDS) -> Matches:
    """Match detections to boxes at every IoU threshold (default: the paper's), by COCO's rule. A
    box is as wide as x2 - x1, as for COCO and detectron2, which the paper used; Scalabel adds 1.
    The 100 strongest detections of an image and class count, or all of them if an image has more
    than 100 boxes of a class."""
    thresholds = np.asarray(thresholds, float)
    if not ((thresholds > 0) & (thresholds <= 1)).all():
        raise ValueError(f"thresholds must be in (0, 1], not {thresholds.tolist()}")
    n_classes = len(frames.classes)
    limit = MAX_DETECTIONS if fullest(frames.boxes) <= MAX_DETECTIONS else None
    kept = _strongest(frames.detections, n_classes, limit)
    by_image = np.argsort(_key(frames.boxes, n_classes), kind="stable").astype(np.int32)
    detections = frames.detections.iloc[kept]
    place = _take(detections, frames.boxes.iloc[by_image], n_classes, thresholds)
    listed = np.lexsort((-detections["score"].to_numpy(), detections["category"]))
    taken = np.append(by_image, -1)[place[:, listed]].astype(np.int32)
    detections = detections[["image", "category", "score"]].iloc[listed]
    smaller = {"image": np.int32, "category": np.int16}
    detections = (
        detections.reset_index(drop=True).astype(smaller).assign(row=kept[listed])
    )
    boxes = (
        frames.boxes[["image", "category", "ignore"]]
        .reset_index(drop=True)
        .astype(smaller)
    )
    return Matches(
        thresholds, frames.classes, len(frames.images), boxes, detections, taken
    )


def _key(boxes: pd.DataFrame, n_classes: int) -> np.ndarray:
    """One number for the image and the class of each box."""
    return boxes["image"].to_numpy(np.int64) * n_classes + boxes["category"].to_numpy(
        np.int64
    )


def fullest(boxes: pd.DataFrame) -> int:
    """Count the boxes of one class in the image that has most of them."""
    if boxes.empty:
        return 0
    n_classes = int(boxes["category"].max()) + 1
    return int(np.unique(_key(boxes, n_classes), return_counts=True)[1].max())


def _strongest(boxes: pd.DataFrame, n_classes: int, limit: int | None) -> np.ndarray:
    """Rows by image, class and falling score, at most `limit` of an image and class."""
    key = _key(boxes, n_classes)
    order = np.lexsort((-boxes.score.to_numpy(float), key)).astype(np.int32)
    if limit is None:
        return order
    key = key[order]
    return order[np.arange(len(key)) - np.searchsorted(key, key) < limit]


def _take(
    detections: pd.DataFrame, boxes: pd.DataFrame, n_classes: int, thresholds
) -> np.ndarray:
    """Place of the box that each detection takes at each threshold, -1 for none."""
    key, wanted = _key(boxes, n_classes), _key(detections, n_classes)
    first = np.searchsorted(key, wanted)
    counts = np.searchsorted(key, wanted, side="right") - first
    detection = np.repeat(np.arange(len(detections)), counts)
    step = np.arange(len(detection)) - np.repeat(np.cumsum(counts) - counts, counts)
    box, ignored = np.repeat(first, counts) + step, boxes["ignore"].to_numpy(bool)
    # of COCO's: which of them are crowds, and areas as width times height are, to the last digit
    crowd = boxes["crowd"].to_numpy(bool) if "crowd" in boxes else ignored
    ours, theirs = (
        table[[*CORNERS, *({"extent"} & {*table})]].to_numpy(float).T
        for table in (detections, boxes)
    )
    overlap = iou(np.take(ours, detection, 1), np.take(theirs, box, 1), crowd[box])
    least = np.minimum(thresholds, 1 - 1e-10)
    near = np.flatnonzero(
        overlap >= least.min()
    )  # few pairs: the others are not sorted
    detection, box, overlap = detection[near], box[near], overlap[near]
    preference = np.lexsort((-box, -overlap, ignored[box], detection))
    detection, box, overlap = (
        detection[preference],
        box[preference],
        overlap[preference],
    )
    taken = []
    for threshold in least:
        near = overlap >= threshold
        starts = np.searchsorted(detection[near], np.arange(len(detections) + 1))
        taken.append(_propose(box[near], starts, len(detections), crowd))
    return np.array(taken)


def iou(
    ours: np.ndarray, theirs: np.ndarray, ignored: np.ndarray | bool = False
) -> np.ndarray:
    """Intersection over union of boxes (4, n), x1 y1 x2 y2; over our own area if `ignored`.
    Areas may be a fifth row."""
    sides = np.minimum(ours[2:4], theirs[2:4]) - np.maximum(ours[:2], theirs[:2])
    width, height = np.maximum(sides, 0)
    shared = width * height
    own, other = (
        box[4] if len(box) > 4 else (box[2] - box[0]) * (box[3] - box[1])
        for box in (ours, theirs)
    )
    union = np.where(ignored, own, own + other - shared)
    return np.divide(
        shared, union, out=np.zeros(len(union)), where=union > 0
    )  # no area: none


def _propose(box, starts, n, unlimited) -> np.ndarray:
    """Deferred acceptance: detections propose down their lists, boxes keep the highest score."""
    holder = np.full(len(unlimited), n)  # n: nobody; a lower number takes precedence
    at, end = starts[:-1].copy(), starts[1:]
    active = np.flatnonzero(at < end)
    while len(active):
        wanted = box[at[active]]
        before = holder[wanted]
        limited = ~unlimited[wanted]
        np.minimum.at(holder, wanted[limited], active[limited])
        after = holder[wanted]
        lost = active[limited & (after != active)]
        displaced = np.unique(before[limited & (before < n) & (after != before)])
        losers = np.concatenate([lost, displaced])
        at[losers] += 1
        active = losers[at[losers] < end[losers]]
    settled = at < end
    chosen = np.full(n, -1, np.int32)
    chosen[settled] = box[at[settled]]
    return chosen
