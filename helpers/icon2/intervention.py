"""Divide the gap of a detector into parts due to scenes and to appearance, by intervention.

The same layouts are rendered with the appearances of their own income group and of the opposite
one.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from helpers import store
from helpers.icon2.analysis import analyse
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.formulas import divided as divided
from helpers.icon2.matching import match
from helpers.models import detector as detectors
from helpers.models.detector import Detector
from helpers.synthetic_data import street

SHARES_OF_B = (0.9, 0.5, 0.1)  # of appearance B in the test frames of each income group
TRAINED_ON, TESTED_ON = 600, 900  # frames
CELLS = (
    "low, own",
    "high, own",
    "low, other",
    "high, other",
)  # whose layouts, in whose appearances
CONTROL = "paper's control"


def trained(share_of_b: float, seed: int) -> Detector:
    """Return the stored detector, trained on equal scenes with a share of appearance B."""
    table, things = street.scenes(TRAINED_ON, 1000 + seed)
    images, boxes = street.render(table, street.dressed(table, things, share_of_b))
    settings = {"seed": seed, "folder": store.networks()}
    return detectors.trained(torch.from_numpy(images), boxes, street.KINDS, **settings)


def observed(
    detector: Detector,
    frames: pd.DataFrame,
    things: pd.DataFrame,
    shares_of_b: Sequence[float],
) -> Frames:
    """Render frames with these shares of appearance B, and detect their things."""
    images, boxes = street.render(frames, street.dressed(frames, things, shares_of_b))
    frames = frames.assign(contrast=[round(float(image.std()), 1) for image in images])
    return Frames(frames, boxes, detections(detector, images), street.KINDS)


def detections(detector: Detector, images: np.ndarray) -> pd.DataFrame:
    """Return the (stored) detections of a detector in street scenes, with classes as numbers."""

    def find():
        table = detectors.detect(detector, torch.from_numpy(images))
        return {
            **table,
            "category": pd.Index(street.KINDS).get_indexer(table["category"]),
        }, {}

    decides = {"detector": detector.identity}
    folder = store.networks() / "detections"
    kept = store.arrays("detections", folder, find, images=images, **decides)[1]
    return pd.DataFrame(kept)[["image", "category", *detectors.CORNERS, "score"]]


def swapped(own: Frames, other: Frames, resamples: int = 200) -> dict[str, np.ndarray]:
    """Return the AP (1 + resamples, 4) of each class, 0 to 1, of the combinations in `CELLS`.

    `own` and `other` are the same frames in both appearances. A layout is resampled together with
    both of its renderings."""
    groups = own.images["income"].astype(str)
    names = [*(groups + ", own"), *(groups + ", other")]
    codes = pd.Index(CELLS).get_indexer(names)  # the middle group is in none
    boxes, both = (
        pd.concat(
            [one, two.assign(image=two["image"] + len(groups))], ignore_index=True
        )
        for one, two in ((own.boxes, other.boxes), (own.detections, other.detections))
    )
    images = pd.concat([own.images] * 2, ignore_index=True)
    matches = match(Frames(images, boxes, both, own.classes))
    layouts = np.tile(np.arange(len(groups)), 2)
    cell = Attribute("cell", CELLS, codes, "image")
    analysis = analyse(matches, cell, [], resamples=resamples, clusters=layouts)
    return {name: estimate.group_ap for name, estimate in analysis.estimates.items()}
