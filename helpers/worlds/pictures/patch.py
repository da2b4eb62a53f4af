"""An eyespot that two classes share: common on one, and rare on the other until it is asked about.

*Focus! Rating XAI Methods and Finding Biases*, section I-C: the iguana's subtympanic shield looks
like the peacock's ocellus, so a network asked for the peacock finds it on the iguana. Here a share
of one class's objects carry an eyespot, in every split, and a network learns it as this class's. Of
a second class's objects few carry it in training (a fifth of that share), but in images held out as
many as of the first: relevance for the first class falls on them.

Other laws were tried. Where the second class carries it as often in training, a network learns that
it does not tell the two apart, and is not confused. Where it never carries it in training, the
network does not recognise it by its own features any more, so that all pairs in which it is the
target come first.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.ndimage import distance_transform_cdt

from .noise import Draws
from .paint import Layer, column
from .shapes import Ellipse, View, coverage, crop

PATCH_CLASSES = ("bench", "fire hydrant")
# the eyespot's discs from the outside in: share of its radius, colour
RINGS = ((1.0, (0.95, 0.62, 0.16)), (0.74, (0.12, 0.16, 0.52)), (0.36, (0.80, 0.93, 0.98)))
RADIUS = (0.13, 0.16)  # range, as a share of the image
RARE = 5  # in training, one in so many of the second class's objects may carry it
GOLDEN = (math.sqrt(5) - 1) / 2


def carries(share: float, start: float, n: int) -> list[bool]:
    """Which of the first `n` images of a class carry the patch; `share` and `start` in [0, 1].

    Image i does where the fractional part of `start` + i times the golden ratio is below `share`.
    These parts fill [0, 1) evenly, so that every run of images (each split, too) has the share but
    for an image or two; and the images of a smaller share are among those of a larger.
    """
    return [(start + i * GOLDEN) % 1.0 < share for i in range(n)]


def place(alpha: np.ndarray, draws: Draws) -> tuple[float, float]:
    """Draw a point (x, y) well inside an object of coverage `alpha`, as shares of the image."""
    depth = distance_transform_cdt(np.pad(alpha >= 0.5, 1))[1:-1, 1:-1]
    rows, columns = np.nonzero(depth >= max(1, math.ceil(0.75 * int(depth.max()))))
    at = draws.count(0, len(rows) - 1)
    return (float(columns[at]) + 0.5) / len(alpha), (float(rows[at]) + 0.5) / len(alpha)


def paint(layer: Layer, where: tuple[float, float], draws: Draws) -> np.ndarray:
    """Paint the eyespot on an object's layer, in place; return where it is, bool (H, W)."""
    size, flat = layer.size, draws.between(0.88, 1.0)
    radius, light = draws.between(*RADIUS) * size, draws.between(0.9, 1.05)
    mask = np.zeros((size, size), bool)
    for share, colour in RINGS:
        disc = Ellipse(where[0] * size, where[1] * size, radius * share * flat, radius * share)
        pixels = crop(View(1, 0, 0, 1), disc.bounds, size)
        covered = coverage(disc.field(pixels))
        layer.cover(pixels, covered, np.minimum(column(colour) * np.float32(light), 1))
        mask[pixels.rows, pixels.columns] |= covered >= 0.5
    return mask


def planted(
    shared_patch: float, patch_classes: Sequence[str], classes: Sequence[str]
) -> pd.DataFrame:
    """What is planted: how many objects carry the eyespot, in training and in held-out images.

    One row for each of `classes`: class; p_patch_training and p_patch_held_out (shares of its
    images); and p_class_training and p_class_held_out (of the images that carry it, the share that
    is this class, under equal class sizes; NaN where none carries it). The dose and the pair of
    classes are those of :func:`helpers.worlds.pictures.make`.
    """
    table = pd.DataFrame({"class": list(classes)})
    first, second = (table["class"] == name for name in patch_classes)
    for split, rarely in (("training", RARE), ("held_out", 1)):
        p = shared_patch * first + shared_patch / rarely * second
        table[f"p_patch_{split}"] = p
        table[f"p_class_{split}"] = p / p.sum() if shared_patch else np.nan
    return table
