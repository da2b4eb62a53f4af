"""Matching detections to boxes, once: every average precision afterwards is read off the result.

COCO's rule goes through the detections of an image and class from the highest score down; each
takes the box it overlaps most among those still free, if the overlap reaches the threshold. That
is a serial dictatorship, so it has the one stable outcome in which boxes prefer the detection with
the higher score: all detections may propose at once, every box keeps the best, the others propose
to their next. A few rounds over whole arrays settle all images and classes of a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.icon2.reading import CORNERS, GroundTruth

IOU_THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10))
BOX_WIDTHS = ("plain", "plus one")
MAX_DETECTIONS = 100  # of an image and class, as COCO
PAIRS_AT_ONCE = 2_000_000  # bounds the memory of the overlaps


@dataclass(frozen=True)
class Matches:
    """Which detection took which box.

    Attributes
    ----------
    thresholds : float array (T,)
    classes : tuple of str
    n_images : int
    boxes : DataFrame
        ``image category ignore``, one row a box, in the order of the ground truth.
    detections : DataFrame
        ``image category score row`` (row in the detections that were given), class after class,
        in each by falling score; ties in the order of the images, as COCO breaks them.
    taken : int32 array (T, n detections)
        Row of the box that the detection took, -1 for none.
    """

    thresholds: np.ndarray
    classes: tuple[str, ...]
    n_images: int
    boxes: pd.DataFrame
    detections: pd.DataFrame
    taken: np.ndarray

    def of(self, name: str) -> ClassMatches:
        """The matches of one class."""
        if name not in self.classes:
            raise ValueError(f"class {name!r} is not known; there are: {', '.join(self.classes)}")
        category = self.classes.index(name)
        ends = np.searchsorted(self.detections.category.to_numpy(), [category, category + 1])
        where = slice(int(ends[0]), int(ends[1]))
        rows = np.flatnonzero(self.boxes.category.to_numpy() == category)
        taken = self.taken[:, where]
        threshold, detection = np.nonzero(taken >= 0)
        place = np.full(len(self.boxes), -1, np.int32)
        place[rows] = np.arange(len(rows))
        return ClassMatches(
            name,
            self.n_images,
            len(self.thresholds),
            rows,
            self.boxes.image.to_numpy()[rows].astype(np.int32),
            self.boxes.ignore.to_numpy()[rows],
            self.detections.row.to_numpy()[where],
            self.detections.image.to_numpy()[where].astype(np.int32),
            threshold.astype(np.int16),
            detection.astype(np.int32),
            place[taken[threshold, detection]],
        )


@dataclass(frozen=True)
class ClassMatches:
    """The matches of one class, as the arrays that average precision needs.

    Boxes are in the order of the ground truth, detections by falling score. Events are all matches,
    by threshold and then by falling score; they name boxes and detections by their place here.
    """

    name: str
    n_images: int
    n_thresholds: int
    box_row: np.ndarray
    box_image: np.ndarray
    box_ignored: np.ndarray
    detection_row: np.ndarray
    detection_image: np.ndarray
    event_threshold: np.ndarray
    event_detection: np.ndarray
    event_box: np.ndarray


def match(
    truth: GroundTruth,
    detections: pd.DataFrame,
    thresholds: Sequence[float] = IOU_THRESHOLDS,
    box_width: str = "plain",
) -> Matches:
    """Match detections to boxes at every IoU threshold, by COCO's rule.

    Parameters
    ----------
    truth
    detections : DataFrame
        ``image category x1 y1 x2 y2 score``, from :func:`helpers.icon2.read_detections`.
    thresholds
        IoU thresholds in (0, 1]; 0.5 to 0.95 in steps of 0.05 by default, as in the paper.
    box_width
        ``plain`` (x2 - x1, as COCO) or ``plus one`` (x2 - x1 + 1, as Scalabel's evaluator): it
        moved the AP of a real fixture by 0.9 points. The paper does not say; detectron2's
        evaluator, which it used, is COCO's.

    Raises
    ------
    ValueError
        For a threshold outside (0, 1], or an unknown `box_width`.
    """
    thresholds = np.asarray(thresholds, float)
    if thresholds.ndim != 1 or not ((thresholds > 0) & (thresholds <= 1)).all():
        raise ValueError(f"thresholds must be in (0, 1], not {thresholds.tolist()}")
    if box_width not in BOX_WIDTHS:
        raise ValueError(f"box_width={box_width!r} is not known; allowed: {', '.join(BOX_WIDTHS)}")
    grow = float(box_width == "plus one")
    kept = _strongest(detections, len(truth.classes))
    given, boxes = detections.iloc[kept], truth.boxes
    ignored = boxes.ignore.to_numpy(bool)
    pairs = _overlapping(given, boxes, len(truth.classes), ignored, thresholds.min(), grow)
    taken = _take(*pairs, len(given), ignored, thresholds)
    order = np.lexsort((-given.score.to_numpy(), given.category.to_numpy()))
    listed = given.iloc[order][["image", "category", "score"]].reset_index(drop=True)
    return Matches(
        thresholds,
        truth.classes,
        len(truth.images),
        boxes[["image", "category"]].assign(ignore=ignored),
        listed.assign(row=kept[order]),
        taken[:, order],
    )


def _strongest(boxes: pd.DataFrame, n_classes: int) -> np.ndarray:
    """Rows by image, class and falling score, at most `MAX_DETECTIONS` an image and class."""
    score = boxes.score.to_numpy(float)
    key = boxes.image.to_numpy(np.int64) * n_classes + boxes.category.to_numpy(np.int64)
    order = np.lexsort((-score, key))
    key = key[order]
    first = np.searchsorted(key, key)
    return order[np.arange(len(key)) - first < MAX_DETECTIONS]


def _overlapping(given, boxes, n_classes, ignored, least, grow):
    """Pairs (detection, box, IoU) of the same image and class that overlap by `least` or more."""
    key = boxes.image.to_numpy(np.int64) * n_classes + boxes.category.to_numpy(np.int64)
    order = np.argsort(key, kind="stable")
    wanted = given.image.to_numpy(np.int64) * n_classes + given.category.to_numpy(np.int64)
    first = np.searchsorted(key[order], wanted)
    counts = np.searchsorted(key[order], wanted, side="right") - first
    ends = np.cumsum(counts)
    ours, theirs = _corners(given, grow), _corners(boxes.iloc[order], grow)
    found, begin = [], 0
    while begin < len(given):
        done = ends[begin - 1] if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, done + PAIRS_AT_ONCE)))
        n = counts[begin:stop]
        detection = np.repeat(np.arange(begin, min(stop, len(given))), n)
        step = np.arange(len(detection)) - np.repeat(np.cumsum(n) - n, n)
        box = np.repeat(first[begin:stop], n) + step
        iou = _iou(ours, theirs, detection, box, ignored[order])
        near = iou >= min(least, 1 - 1e-10)
        found.append((detection[near], order[box[near]], iou[near]))
        begin = stop
    empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return tuple(np.concatenate(part) for part in zip(*found or [empty], strict=True))


def _corners(boxes: pd.DataFrame, grow: float) -> list[np.ndarray]:
    x1, y1, x2, y2 = (boxes[c].to_numpy(float) for c in CORNERS)
    return [x1, y1, x2 + grow, y2 + grow, (x2 + grow - x1) * (y2 + grow - y1)]


def _iou(ours, theirs, detection, box, ignored) -> np.ndarray:
    """Intersection over union; over the detection's own area for a region to ignore."""
    sides = []
    for low, high in ((0, 2), (1, 3)):
        top = np.minimum(ours[high][detection], theirs[high][box])
        sides.append(top - np.maximum(ours[low][detection], theirs[low][box]))
    shared = np.maximum(sides[0], 0) * np.maximum(sides[1], 0)
    own = ours[4][detection]
    union = np.where(ignored[box], own, own + theirs[4][box] - shared)
    return np.divide(shared, union, out=np.zeros(len(box)), where=union > 0)  # no area: no overlap


def _take(detection, box, iou, n, ignored, thresholds) -> np.ndarray:
    """Box taken by each detection at each threshold; detections are in order of precedence."""
    preference = np.lexsort((-box, -iou, ignored[box], detection))
    detection, box, iou = detection[preference], box[preference], iou[preference]
    taken = np.full((len(thresholds), n), -1, np.int32)
    for t, threshold in enumerate(thresholds):
        near = iou >= min(threshold, 1 - 1e-10)
        starts = np.searchsorted(detection[near], np.arange(n + 1))
        taken[t] = _propose(box[near], starts, n, ignored)
    return taken


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
