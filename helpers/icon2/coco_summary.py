"""Average precision as COCO's evaluator prints it, of all boxes and of three sizes."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from helpers.icon2.attributes import (
    BOUNDS,
    SIZES,
    Attribute,
    DetectionDataError,
    Frames,
)
from helpers.icon2.average_precision import WHOLE, evaluate
from helpers.icon2.matching import IOU_THRESHOLDS, match

LARGEST = 1e10
LIKE_COCO = replace(WHOLE, false_positives="coco")


def coco_summary(
    frames: Frames,
    bounds: Sequence[float] = BOUNDS,
) -> dict[str, float]:
    """Compute the numbers of pycocotools' summary.

    Parameters
    ----------
    frames : Frames
        Labels and detections.
    bounds : sequence of float
        Where the areas of small and medium boxes end, in square pixels.

    Returns
    -------
    dict of str to float
        AP from 0 to 1 of boxes of ``all`` sizes, ``small``, ``medium`` and ``large``,
        and of all boxes at ``IoU 0.5`` and ``IoU 0.75``; NaN without boxes.

    Raises
    ------
    DetectionDataError
        Unless there are two bounds, the smaller first.
    """
    if len(bounds) != 2 or bounds[0] >= bounds[1]:
        raise DetectionDataError(
            f"The sizes of boxes have {len(bounds)} bounds. Two are expected, the "
            "smaller first: where medium and large boxes begin."
        )
    summary = {
        "all": _mean_ap(frames, 0, LARGEST),
        "IoU 0.5": _mean_ap(frames, 0, LARGEST, (0.5,)),
        "IoU 0.75": _mean_ap(frames, 0, LARGEST, (0.75,)),
    }
    ends = pairwise([0, *bounds, LARGEST])
    for name, (low, high) in zip(SIZES, ends, strict=True):
        summary[name] = _mean_ap(frames, low, high)
    return summary


def _mean_ap(
    frames: Frames,
    low: float,
    high: float,
    thresholds: Sequence[float] = IOU_THRESHOLDS,
) -> float:
    """Return the mean AP over classes of boxes with an area in a range."""
    boxes = frames.boxes
    is_outside = ~boxes["area"].between(low, high)
    boxes = boxes.assign(crowd=boxes["ignore"], ignore=boxes["ignore"] | is_outside)
    matches = match(replace(frames, boxes=boxes), thresholds)
    every_box = np.zeros(len(boxes), int)
    is_inside = frames.detections["extent"].between(low, high)
    of_detection = np.where(is_inside, 0, -1)
    inside = Attribute("inside", ("yes",), every_box, "box", of_detection)
    each_once = np.ones((1, matches.n_images))
    ap = []
    for name in matches.classes:
        of_class, _ = evaluate(matches.of(name), [inside], each_once, LIKE_COCO)
        ap.append(of_class.item() / 100)
    return pd.Series(ap, dtype=float).mean()
