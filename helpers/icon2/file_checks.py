"""Check detections by their average precision, as COCO's evaluator prints it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.icon2.attributes import Attribute, DetectionDataError, Frames
from helpers.icon2.average_precision import LIKE_COCO, evaluate
from helpers.icon2.matching import IOU_THRESHOLDS, match
from helpers.suggest import listed

LEAST_AP = 0.01  # at IoU 0.5, below which files or classes seem not to belong together


def coco_summary(frames: Frames) -> dict[str, float]:
    """Compute the numbers of pycocotools' summary.

    Parameters
    ----------
    frames : Frames
        Labels and detections, and the sides of medium and large boxes.

    Returns
    -------
    dict of str to float
        AP from 0 to 1 of boxes of ``all`` sizes, ``small``, ``medium`` and ``large``,
        and of all boxes at ``IoU 0.5`` and ``IoU 0.75``; NaN without boxes.

    Raises
    ------
    DetectionDataError
        Unless there are two sides, the smaller first.
    """
    if len(frames.sides) != 2 or frames.sides[0] >= frames.sides[1]:
        raise DetectionDataError(
            f"'sizes' is {list(frames.sides)}. Provide two numbers, the smaller first. "
            "They are the sides of the smallest medium and large boxes, in pixels."
        )
    medium, large = np.square(frames.sides)
    return {
        "all": class_ap(frames).mean(),
        "IoU 0.5": class_ap(frames, [0.5]).mean(),
        "IoU 0.75": class_ap(frames, [0.75]).mean(),
        "small": class_ap(frames, high=medium).mean(),
        "medium": class_ap(frames, low=medium, high=large).mean(),
        "large": class_ap(frames, low=large).mean(),
    }


def class_ap(
    frames: Frames,
    thresholds: Sequence[float] = IOU_THRESHOLDS,
    low: float = 0,
    high: float = np.inf,
) -> pd.Series:
    """Return AP (0 to 1) of the boxes of each class with an area in a range."""
    boxes = frames.boxes
    is_outside = ~boxes["area"].between(low, high)
    boxes = boxes.assign(crowd=boxes["ignore"], ignore=boxes["ignore"] | is_outside)
    matches = match(replace(frames, boxes=boxes), thresholds)
    every_box = np.zeros(len(boxes), int)
    is_inside = frames.detections["extent"].between(low, high)
    of_detection = np.where(is_inside, 0, -1)
    inside = Attribute("inside", ("yes",), every_box, "box", of_detection)
    each_once = np.ones((1, matches.n_images))
    ap = {
        name: evaluate(matches.of(name), [inside], each_once, LIKE_COCO)[0].item()
        for name in matches.classes
    }
    return pd.Series(ap) / 100


def check_classes(frames: Frames) -> list[str]:
    """Return a sentence if there are classes of which almost nothing is detected."""
    ap = class_ap(frames, [0.5])
    missed = ap.index[ap < LEAST_AP]
    if missed.empty:
        return []
    return [
        f"Almost no box of these classes is detected: {listed(missed)}. Classes may be "
        "shifted or exchanged. Check that both files use the same numbers or names."
    ]
