"""Average precision as COCO's evaluator prints it, of all boxes and of three sizes."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from helpers.icon2.attributes import Attribute, DetectionDataError, Frames
from helpers.icon2.average_precision import Curves, Options
from helpers.icon2.matching import match

BOUNDS = (32**2, 96**2)  # square pixels: COCO's small, medium and large
LARGEST = 1e10
LIKE_COCO = Options(precision="raw", images="all", false_positives="coco")
SIZES = ("small", "medium", "large")


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
    ap = _by_class_and_threshold(frames, 0, LARGEST)
    summary = {
        "all": _mean(ap),
        "IoU 0.5": _mean(ap[:, 0]),
        "IoU 0.75": _mean(ap[:, 5]),
    }
    ends = pairwise([0, *bounds, LARGEST])
    for name, (low, high) in zip(SIZES, ends, strict=True):
        ap = _by_class_and_threshold(frames, low, high)
        summary[name] = _mean(ap)
    return summary


def _by_class_and_threshold(
    frames: Frames,
    low: float,
    high: float,
) -> np.ndarray:
    """Return AP (classes, thresholds) of boxes with an area in a range."""
    area = frames.boxes["area"]
    crowd = frames.boxes["ignore"]
    outside = (area < low) | (area > high)
    boxes = frames.boxes.assign(crowd=crowd, ignore=crowd | outside)
    extent = frames.detections["extent"].to_numpy()
    outside = (extent < low) | (extent > high)
    inside = Attribute(
        name="inside",
        values=("yes",),
        codes=np.zeros(len(boxes), int),
        level="box",
        of_detection=np.where(outside, -1, 0),
    )
    matches = match(replace(frames, boxes=boxes))
    weights = np.ones(matches.n_images)
    ap = []
    for name in matches.classes:
        curves = Curves(matches.of(name), [inside], LIKE_COCO)
        ap.append(curves.average_precision(weights)[0])
    ap = np.array(ap)
    return ap[~np.isnan(ap).all(1)]


def _mean(ap: np.ndarray) -> float:
    return float(ap.mean()) if ap.size else np.nan
