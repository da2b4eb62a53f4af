"""Average precision of many cells at once, from the table of matches and image weights.

A cell is a set of boxes of one class with the images whose false positives count for it: all of
them, those of one income group, the small boxes at night. :func:`curves` arranges the matches by
cell, threshold and score once; :meth:`Curves.average_precision` then needs a few passes for any
image weights, which is what resampling asks for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.icon2.matching import ClassMatches

RECALLS = np.linspace(0.0, 1.0, 101)
TINY = 1e-300  # keeps 0 / 0 at 0


@dataclass(frozen=True)
class Cells:
    """Which boxes and which false positives belong to which cell, for one class.

    Attributes
    ----------
    of_box : int array (n boxes of the class,)
        Cell of each box in the order of `ClassMatches`, -1 for none.
    images : bool array (n images, C)
        Images whose false positives count for the cell.
    of_detection, bucket : int arrays (n detections of the class,) and (C,), optional
        Where given, an unmatched detection counts only in the cells of its bucket (COCO's rule),
        -1 nowhere.
    """

    of_box: np.ndarray
    images: np.ndarray
    of_detection: np.ndarray | None = None
    bucket: np.ndarray | None = None

    def __len__(self) -> int:
        return self.images.shape[1]


@dataclass(frozen=True)
class Curves:
    """The matches of one class arranged by cell, threshold and falling score."""

    counted_image: np.ndarray  # image of each detection that can be a false positive
    counted_start: np.ndarray  # (C + 1,) where each cell's begin
    event_image: np.ndarray  # image of each match of any kind
    event_before: np.ndarray  # detections counted so far in the cell, this one included
    event_hit: np.ndarray | None  # it took a box of the cell (else one outside); None: all
    event_counted: np.ndarray | None  # among the counted detections; None: all
    event_box: np.ndarray  # box taken, for weights of boxes
    start: np.ndarray  # (C * T + 1,) where each cell and threshold begins
    box_image: np.ndarray  # image of each box that belongs to a cell
    box_cell: np.ndarray
    box_row: np.ndarray  # place of that box among the boxes of the class
    n_cells: int
    n_thresholds: int

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
        interpolation: str = "101 points",
    ) -> np.ndarray:
        """Average precision of each cell at each threshold.

        Parameters
        ----------
        weights : float array (n images,)
            Weight of each image: 1 for all, or how often a resample drew it.
        normal : float array (C,), optional
            Number of boxes that each cell is normalised to (Hoiem et al. 2012; ICON2, Eq. 3):
            precision is R N / (R N + F). Without it N is the cell's own number (Eq. 2).
        box_weights : float array (n boxes of the class,), optional
            Further weight of boxes and of the detections that took them.
        interpolation
            ``101 points`` (COCO) or ``all points`` (area under the interpolated curve).

        Returns
        -------
        float64 array (C, T) in [0, 1]; NaN for a cell without a box.
        """
        positives = self.positives(weights, box_weights)
        own = np.repeat(positives, self.n_thresholds)
        ratio = None if normal is None else normal / np.maximum(positives, TINY)
        hits, gain, precision = self._precision(weights, ratio, box_weights)
        if interpolation == "101 points":
            exact = box_weights is None and not (weights % 1).any()
            found = self._at_recalls(hits, precision, own, exact)
        else:
            found = self._under_curve(gain, precision, own)
        found[own == 0] = np.nan
        return found.reshape(self.n_cells, self.n_thresholds)

    def _precision(self, weights, ratio, box_weights):
        """Cumulative true positives over all events, each one's gain, and precision there."""
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
        return hits, gain, np.divide(true, false, out=true)

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

    def _under_curve(self, gain, precision, positives) -> np.ndarray:
        found = np.zeros(len(positives))
        for s, (begin, end) in enumerate(zip(self.start[:-1], self.start[1:], strict=True)):
            if end > begin and positives[s] > 0:
                best = np.maximum.accumulate(precision[begin:end][::-1])[::-1]
                found[s] = best @ gain[begin:end] / positives[s]
        return found


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


def whole(of_class: ClassMatches) -> Cells:
    """One cell: all boxes of a class in all images."""
    n_boxes, n_images = len(of_class.box_row), of_class.n_images
    return Cells(np.zeros(n_boxes, int), np.ones((n_images, 1), bool))


def curves(of_class: ClassMatches, cells: Cells) -> Curves:
    """Arrange the matches of a class by cell, threshold and falling score."""
    of_box = np.where(of_class.box_ignored, -1, cells.of_box)
    event_cell = of_box[of_class.event_box]
    parts = [_one_cell(of_class, cells, c, event_cell) for c in range(len(cells))]
    counted, event, before, hit, inside, sizes = zip(*parts, strict=True)
    counted_start = _cumulated(np.array([len(images) for images in counted])).astype(int)
    kept = np.flatnonzero(of_box >= 0)
    chosen = np.concatenate(event)
    return Curves(
        np.concatenate(counted),
        counted_start,
        of_class.detection_image[of_class.event_detection[chosen]],
        np.concatenate([b + s for b, s in zip(before, counted_start, strict=False)]),
        _unless_all(np.concatenate(hit)),
        _unless_all(np.concatenate(inside)),
        of_class.event_box[chosen],
        _cumulated(np.concatenate(sizes)).astype(int),
        of_class.box_image[kept],
        of_box[kept],
        kept,
        len(cells),
        of_class.n_thresholds,
    )


def _one_cell(of_class: ClassMatches, cells: Cells, c: int, event_cell: np.ndarray) -> tuple:
    """Counted detections' images, matches, detections before each, hit, counted, and sizes."""
    of_image = cells.images[:, c]
    counted = of_image[of_class.detection_image]
    if cells.of_detection is not None:
        counted &= cells.of_detection == cells.bucket[c]
    hit = event_cell == c
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
