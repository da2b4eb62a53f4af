"""Average precision of whole sets and of subsets of images, for those who want only that."""

from __future__ import annotations

import numpy as np
import pandas as pd

from helpers.detection.curves import Cells, curves
from helpers.detection.matches import Matches, OfClass


def whole(of_class: OfClass, images: np.ndarray | None = None) -> Cells:
    """One cell: all boxes of a class, in all images or in those of a bool array (n images,)."""
    kept = np.ones(of_class.n_images, bool) if images is None else np.asarray(images, bool)
    return Cells(np.where(kept[of_class.box_image], 0, -1), kept[:, None])


def average_precision(
    matches: Matches,
    weights: np.ndarray | None = None,
    images: np.ndarray | None = None,
    interpolation: str = "101 points",
) -> pd.DataFrame:
    """Average precision of each class, raw as COCO has it.

    Parameters
    ----------
    matches
    weights : float array (n images,), optional
        How often each image counts.
    images : bool array (n images,), optional
        A subset of images.
    interpolation
        As in :meth:`helpers.detection.curves.Curves.average_precision`.

    Returns
    -------
    DataFrame
        Row a class; ``boxes`` (their weight), ``AP`` (mean over thresholds) and a column
        ``AP50`` etc. for each threshold; in [0, 1], NaN for a class without a box.
    """
    weights = np.ones(matches.n_images) if weights is None else np.asarray(weights, float)
    rows = []
    for category, name in enumerate(matches.classes):
        of_class = matches.of(category)
        arranged = curves(of_class, whole(of_class, images))
        found = arranged.average_precision(weights, interpolation=interpolation)[0]
        each = {f"AP{100 * t:.0f}": ap for t, ap in zip(matches.thresholds, found, strict=True)}
        boxes = arranged.positives(weights)[0]
        rows.append({"class": name, "boxes": boxes, "AP": found.mean()} | each)
    return pd.DataFrame(rows).set_index("class")
