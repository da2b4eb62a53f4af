"""Which detection took which box: what matching gives, as tables and as arrays of one class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


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
        in each by falling score; ties in the order of the images, as COCO breaks them. At most
        `max_detections` of an image and class.
    taken : int32 array (T, n detections)
        Row of the box that the detection took, -1 for none.
    """

    thresholds: np.ndarray
    classes: tuple[str, ...]
    n_images: int
    boxes: pd.DataFrame
    detections: pd.DataFrame
    taken: np.ndarray

    def of(self, category: int) -> OfClass:
        """The matches of one class."""
        ends = np.searchsorted(self.detections.category.to_numpy(), [category, category + 1])
        where = slice(int(ends[0]), int(ends[1]))
        rows = np.flatnonzero(self.boxes.category.to_numpy() == category)
        taken = self.taken[:, where]
        threshold, detection = np.nonzero(taken >= 0)
        place = np.full(len(self.boxes), -1, np.int32)
        place[rows] = np.arange(len(rows))
        return OfClass(
            self.classes[category],
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

    def table(self) -> pd.DataFrame:
        """The matches as one long table: ``detection threshold box outcome``.

        The outcome is ``true positive``, ``false positive`` or ``ignored``.
        """
        n = len(self.detections)
        box = self.taken.ravel()
        ignored = np.append(self.boxes.ignore.to_numpy(), False)[box]
        outcome = np.where(box < 0, "false positive", np.where(ignored, "ignored", "true positive"))
        return pd.DataFrame(
            {
                "detection": np.tile(self.detections.row.to_numpy(), len(self.thresholds)),
                "threshold": np.repeat(self.thresholds, n),
                "box": box,
                "outcome": outcome,
            }
        )


@dataclass(frozen=True)
class OfClass:
    """The matches of one class, as the arrays that average precision needs.

    Attributes
    ----------
    name : str
    n_images, n_thresholds : int
    box_row, box_image, box_ignored : arrays (n boxes of the class,)
        Row among all boxes, image, and whether it is to be ignored.
    detection_row, detection_image : int arrays (n detections of the class,)
        By falling score.
    event_threshold, event_detection, event_box : int arrays (n matches,)
        Every match, by threshold and then by falling score; detections and boxes by their place
        in the arrays above.
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
