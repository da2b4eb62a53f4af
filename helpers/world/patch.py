"""The shared patch: an eyespot that two classes carry, as peacock and iguana do in the paper.

*Focus! Rating XAI Methods and Finding Biases*, section I-C: ocellus and subtympanic shield look
alike, and a network asked for the one finds the other. Here the same eyespot is painted on objects
of two classes, in the same share of both and in every split. It tells these two from the rest and
not from one another: a network that uses it puts relevance for the one on images of the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.ndimage import distance_transform_cdt

from .draws import Draws
from .paint import Layer
from .shapes import Ellipse, View, coverage, crop

PATCH_CLASSES = ("fire hydrant", "mug")
RINGS = ((1.0, (0.95, 0.62, 0.16)), (0.74, (0.12, 0.16, 0.52)), (0.36, (0.80, 0.93, 0.98)))
RADIUS = (0.09, 0.12)
GOLDEN = (math.sqrt(5) - 1) / 2


def carries(share: float, start: float, n: int) -> list[bool]:
    """Which of the first `n` images of a class carry the patch.

    Image i does where the fractional part of `start` + i times the golden ratio is below `share`.
    These parts fill [0, 1) evenly, so that every run of images (each split, too) has the share but
    for an image or two; and the images of a smaller share are among those of a larger.

    Parameters
    ----------
    share, start : float in [0, 1]
    n : int

    Returns
    -------
    list of n bool
    """
    return [(start + i * GOLDEN) % 1.0 < share for i in range(n)]


def place(alpha: np.ndarray, draws: Draws) -> tuple[float, float]:
    """Draw a point well inside an object, as shares of the image (x to the right, y downwards).

    Parameters
    ----------
    alpha : float32 (H, W)
        The object's coverage, at one and the same size whatever that of the picture.
    """
    depth = distance_transform_cdt(np.pad(alpha >= 0.5, 1))[1:-1, 1:-1]
    rows, columns = np.nonzero(depth >= max(1, math.ceil(0.75 * int(depth.max()))))
    at = draws.count(0, len(rows) - 1)
    return (float(columns[at]) + 0.5) / len(alpha), (float(rows[at]) + 0.5) / len(alpha)


def paint(layer: Layer, where: tuple[float, float], draws: Draws) -> np.ndarray:
    """Paint the eyespot on an object's layer; it hides what is below and is part of the object.

    Parameters
    ----------
    layer : Layer
        Changed in place.
    where : (float, float)
        Its centre, as shares of the image.
    draws : Draws
        Its radius (as `RADIUS`, a share of the image) and how far it is seen from the side.

    Returns
    -------
    bool (H, W)
        Where the patch covers half of a pixel or more.
    """
    size, flat = layer.size, draws.between(0.88, 1.0)
    radius, light = draws.between(*RADIUS) * size, draws.between(0.9, 1.05)
    mask = np.zeros((size, size), bool)
    for share, colour in RINGS:
        disc = Ellipse(where[0] * size, where[1] * size, radius * share * flat, radius * share)
        pixels = crop(View(1, 0, 0, 1), disc.bounds, size)
        covered = coverage(disc.field(pixels))
        lit = np.minimum(np.asarray(colour, np.float32) * np.float32(light), 1)
        layer.cover(pixels, covered, lit[:, None, None])
        mask[pixels.rows, pixels.columns] |= covered >= 0.5
    return mask


def strength(shared_patch: float, patch_classes: Sequence[str], known: Sequence[str]) -> float:
    """The planted share, checked together with the two classes.

    Raises
    ------
    ValueError
        For a share outside 0 to 1, or classes that are not two different ones of `known`.
    """
    number = isinstance(shared_patch, int | float | np.number)
    if not number or isinstance(shared_patch, bool) or not 0 <= shared_patch <= 1:
        raise ValueError(f"shared_patch={shared_patch!r}: give a number from 0 to 1")
    named = tuple(patch_classes)
    if len(set(named)) != len(named) or set(named) - set(known):
        raise ValueError(f"patch_classes={named!r}: name different ones of {tuple(known)}")
    return float(shared_patch)


def planted(
    shared_patch: float, patch_classes: Sequence[str], classes: Sequence[str]
) -> pd.DataFrame:
    """What the patch tells of the class, under equal class sizes.

    Parameters
    ----------
    shared_patch, patch_classes
        As for :func:`helpers.world.make`.
    classes : sequence of str
        All classes, in the order of the rows.

    Returns
    -------
    DataFrame
        One row a class: class, p_patch_given_class (the dose), p_class_given_patch (NaN where no
        image carries it) and p_class_given_none (of the images without the patch).
    """
    share = strength(shared_patch, patch_classes, classes)
    p = np.array([share if name in patch_classes else 0.0 for name in classes])
    given = p / p.sum() if p.sum() else np.full(len(p), np.nan)
    columns = {
        "class": list(classes),
        "p_patch_given_class": p,
        "p_class_given_patch": given,
        "p_class_given_none": (1 - p) / (1 - p).sum(),
    }
    return pd.DataFrame(columns)
