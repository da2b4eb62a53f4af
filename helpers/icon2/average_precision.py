"""Average precision of many cells at once, from the table of matches and image weights.

A cell is a set of boxes of one class with the images whose false positives count for it: all of
them, those of one income group, the small boxes at night. :class:`Curves` arranges the matches by
cell, threshold and score once; its average precision then needs a few passes for any image weights,
which is what resampling asks for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers.icon2.attributes import Attribute
from helpers.icon2.matching import ClassMatches
from helpers.icon2.options import Options

RECALLS = np.linspace(0.0, 1.0, 101)
TINY = 1e-300  # keeps 0 / 0 at 0


@dataclass(frozen=True)
class Cells:
    """Which boxes and which false positives belong to which cell, for one class.

    `of_box` (n boxes of the class,) is the cell of each box, -1 for none; `images` (n images, C)
    and `counted` (C, n detections of the class) say which images, and which detections that take no
    box, count for a cell.
    """

    of_box: np.ndarray
    images: np.ndarray
    counted: np.ndarray


def whole(of_class: ClassMatches) -> Cells:
    """One cell: all boxes of a class in all images."""
    of_box = np.zeros(len(of_class.box_row), int)
    images = np.ones((of_class.n_images, 1), bool)
    return Cells(of_box, images, images.T[:, of_class.detection_image])


def cells(of_class: ClassMatches, attributes: Sequence[Attribute], options: Options) -> Cells:
    """Cells of all combinations of the attributes' values for one class, the last running fastest.

    Of the options, ``false_positives`` and ``images`` are used here.
    """
    sizes = [len(a.values) for a in attributes]
    places = np.indices(sizes).reshape(len(sizes), -1)  # code of each attribute in each cell
    codes = np.array([of_class.codes(a) for a in attributes])
    of_box = np.ravel_multi_index(tuple(np.maximum(codes, 0)), sizes)
    of_box = np.where((codes >= 0).all(0), of_box, -1)
    images = np.zeros((of_class.n_images, places.shape[1]), bool)
    labelled = ~of_class.box_ignored
    if options.images == "with the value":
        inside = labelled & (of_box >= 0)
        images[of_class.box_image[inside], of_box[inside]] = True
    elif options.images == "with the class":
        images[of_class.box_image[labelled]] = True
    else:
        images[:] = True
    for attribute, place in zip(attributes, places, strict=True):
        if attribute.level == "image":
            images &= attribute.codes[:, None] == place
    counted = np.take(np.ascontiguousarray(images.T), of_class.detection_image, axis=1)
    for attribute, place in zip(attributes, places, strict=True):
        if options.false_positives == "coco" and attribute.of_detection is not None:
            counted &= attribute.of_detection[of_class.detection_row] == place[:, None]
    return Cells(of_box, images, counted)


class Curves:
    """The matches of one class arranged by cell, threshold and falling score.

    Events are matches, cell after cell, threshold after threshold (`start` is where each begins).
    `event_before` counts the cell's detections up to and with the event; `event_hit` says whether
    it took a box of the cell, `event_counted` whether it is counted for the cell (None: all).
    """

    def __init__(self, of_class: ClassMatches, chosen: Cells) -> None:
        of_box = np.where(of_class.box_ignored, -1, chosen.of_box)
        self.n_cells, self.n_thresholds = chosen.images.shape[1], of_class.n_thresholds
        self.box_row = np.flatnonzero(of_box >= 0)
        self.box_image, self.box_cell = of_class.box_image[self.box_row], of_box[self.box_row]
        event_cell = of_box[of_class.event_box]
        parts = [
            _one_cell(of_class, counted, event_cell == c)
            for c, counted in enumerate(chosen.counted)
        ]
        counted, events, before, hit, inside, sizes = zip(*parts, strict=True)
        self.counted_image = np.concatenate(counted)
        self.counted_start = _cumulated(np.array([len(images) for images in counted])).astype(int)
        event = np.concatenate(events)
        self.event_image = of_class.detection_image[of_class.event_detection[event]]
        self.event_box = of_class.event_box[event]
        starts = zip(before, self.counted_start, strict=False)
        self.event_before = np.concatenate([b + s for b, s in starts])
        self.event_hit = _unless_all(np.concatenate(hit))
        self.event_counted = _unless_all(np.concatenate(inside))
        self.start = _cumulated(np.concatenate(sizes)).astype(int)

    def positives(self, weights: np.ndarray, box_weights: np.ndarray | None = None) -> np.ndarray:
        """Weight of the boxes of each cell, float64 (C,)."""
        weight = weights[self.box_image]
        if box_weights is not None:
            weight = weight * box_weights[self.box_row]
        return np.bincount(self.box_cell, weight, self.n_cells)

    def average_precision(
        self,
        weights: np.ndarray,
        normal: np.ndarray | None = None,
        box_weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Average precision (C, T) of each cell at each threshold, over 101 recalls as in COCO.

        `weights` (n images,) is 1 for all, or how often a resample drew each image; `box_weights`
        (n boxes of the class,) weighs boxes, and the detections that took them, further. With
        `normal` (C,), a number of boxes N, precision is R N / (R N + F) (Hoiem et al. 2012; ICON2,
        Eq. 3); without it N is the cell's own number (Eq. 2). NaN for a cell without a box.
        """
        positives = self.positives(weights, box_weights)
        own = np.repeat(positives, self.n_thresholds)
        ratio = None if normal is None else normal / np.maximum(positives, TINY)
        hits, precision = self._precision(weights, ratio, box_weights)
        exact = box_weights is None and not (weights % 1).any()
        found = self._at_recalls(hits, precision, own, exact)
        found[own == 0] = np.nan
        return found.reshape(self.n_cells, self.n_thresholds)

    def _precision(self, weights, ratio, box_weights):
        """Cumulative true positives over all events, and precision at each."""
        drawn = _cumulated(weights[self.counted_image])
        weight = weights[self.event_image]
        gain = weight if self.event_hit is None else weight * self.event_hit
        if box_weights is not None:
            gain = gain * box_weights[self.event_box]
        hits = _cumulated(gain)
        inside = weight if self.event_counted is None else weight * self.event_counted
        taken = hits if inside is gain else _cumulated(inside)
        sizes, per_cell = np.diff(self.start), np.diff(self.start[:: self.n_thresholds])
        begins = np.repeat(drawn[self.counted_start[:-1]], self.n_thresholds)
        false = drawn[self.event_before]
        false -= taken[1:]
        false += np.repeat(taken[self.start[:-1]] - begins, sizes)
        true = hits[1:] - np.repeat(hits[self.start[:-1]], sizes)
        if ratio is not None:
            true *= np.repeat(ratio, per_cell)
        np.maximum(false, 0, out=false)
        false += true
        np.maximum(false, TINY, out=false)
        return hits, np.divide(true, false, out=true)

    def _at_recalls(self, hits, precision, positives, exact) -> np.ndarray:
        """Mean over 101 recalls of the best precision at that recall or beyond, per segment."""
        base, end = hits[self.start[:-1]], self.start[1:]
        needed = RECALLS * positives[:, None] * (1 - 1e-12)
        if exact:
            needed = _whole(positives)
        at = np.searchsorted(hits[1:], (base[:, None] + needed).ravel()).reshape(needed.shape)
        at[:, 0] = self.start[:-1]
        reached = at < end[:, None]
        at = np.minimum(at, end[:, None])
        padded = np.append(precision, 0.0)
        best = np.maximum.reduceat(padded, np.column_stack([at, end]).ravel())
        best = best.reshape(len(end), -1)[:, :-1] * reached
        return np.maximum.accumulate(best[:, ::-1], axis=1).mean(1)


def _one_cell(of_class: ClassMatches, counted: np.ndarray, hit: np.ndarray) -> tuple:
    """Counted detections' images, matches, detections before each, hit, counted, and sizes."""
    inside = counted[of_class.event_detection]
    chosen = np.flatnonzero(inside | hit)
    return (
        of_class.detection_image[counted],
        chosen,
        np.cumsum(counted, dtype=np.int32)[of_class.event_detection[chosen]],
        hit[chosen],
        inside[chosen],
        np.bincount(of_class.event_threshold[chosen], minlength=of_class.n_thresholds),
    )


def _unless_all(flags: np.ndarray) -> np.ndarray | None:
    return None if flags.all() else flags


def _cumulated(values: np.ndarray) -> np.ndarray:
    total = np.empty(len(values) + 1)
    total[0] = 0.0
    np.cumsum(values, out=total[1:])
    return total


def _whole(positives: np.ndarray) -> np.ndarray:
    """Smallest count k with k / positives >= recall as floating point has it (S, 101)."""
    total = np.maximum(positives, 1)[:, None]
    count = np.ceil(RECALLS * total)
    count -= (count - 1) / total >= RECALLS
    count += count / total < RECALLS
    return count
