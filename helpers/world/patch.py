"""Eyespots: each class has one of its own, and one class comes to show another's as well.

*Focus! Rating XAI Methods and Finding Biases*, section I-C: the iguana's subtympanic shield looks
like the peacock's ocellus, so a network asked for the peacock finds it on the iguana. Here a share
of each class's objects carry the class's eyespot; a network learns it. In later images, which no
network was trained on, the same share of the objects of a second class carry the first class's
eyespot beside their own: relevance for the first class falls on them. (Where the second class has
it in training too, a network learns that it does not tell the two apart, and is not confused.)
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
WHITE, DEEP = (0.97, 0.96, 0.92), (0.12, 0.16, 0.52)
MARKS = (
    ((0.95, 0.62, 0.16), DEEP, (0.80, 0.93, 0.98)),
    (WHITE, (0.80, 0.10, 0.14), WHITE),
    ((0.16, 0.13, 0.15), (0.62, 0.30, 0.72), (0.98, 0.85, 0.20)),
    ((0.10, 0.45, 0.52), (0.97, 0.75, 0.78), (0.30, 0.12, 0.10)),
)
"""Colours of three rings from the outside in: of the shared eyespot, then of the other classes'."""
SHARES = (1.0, 0.74, 0.36)
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


def place(
    alpha: np.ndarray, draws: Draws, apart_from: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Draw a point well inside an object, as shares of the image (x to the right, y downwards).

    Parameters
    ----------
    alpha : float32 (H, W)
        The object's coverage, at one and the same size whatever that of the picture.
    draws : Draws
    apart_from : (float, float), optional
        Where another eyespot is: of several points the one farthest from it is taken.
    """
    depth = distance_transform_cdt(np.pad(alpha >= 0.5, 1))[1:-1, 1:-1]
    deep = 0.75 if apart_from is None else 0.4
    rows, columns = np.nonzero(depth >= max(1, math.ceil(deep * int(depth.max()))))
    found = []
    for _ in range(1 if apart_from is None else 12):
        at = draws.count(0, len(rows) - 1)
        found.append(
            ((float(columns[at]) + 0.5) / len(alpha), (float(rows[at]) + 0.5) / len(alpha))
        )
    x, y = apart_from or found[0]
    return max(found, key=lambda p: (p[0] - x) * (p[0] - x) + (p[1] - y) * (p[1] - y))


def paint(layer: Layer, where: tuple[float, float], mark: int, draws: Draws) -> np.ndarray:
    """Paint the eyespot on an object's layer; it hides what is below and is part of the object.

    Parameters
    ----------
    layer : Layer
        Changed in place.
    where : (float, float)
        Its centre, as shares of the image.
    mark : int
        Which of `MARKS`.
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
    for share, colour in zip(SHARES, MARKS[mark], strict=True):
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
    pair = tuple(patch_classes)
    if len(pair) != 2 or len(set(pair)) != 2 or set(pair) - set(known):
        raise ValueError(f"patch_classes={pair!r}: name two different ones of {tuple(known)}")
    return float(shared_patch)


def mark_of(name: str, patch_classes: Sequence[str], classes: Sequence[str]) -> int:
    """Which of `MARKS` is a class's own: 0 for the first of `patch_classes`."""
    others = [other for other in classes if other != patch_classes[0]]
    return 0 if name == patch_classes[0] else 1 + others.index(name)


def planted(
    shared_patch: float, patch_classes: Sequence[str], classes: Sequence[str]
) -> pd.DataFrame:
    """What is planted: how many objects show which eyespot, in training and held-out images.

    Parameters
    ----------
    shared_patch, patch_classes
        As for :func:`helpers.world.make`.
    classes : sequence of str
        All classes, in the order of the rows.

    Returns
    -------
    DataFrame
        One row a class: class; own_eyespot (share of its images); shared_eyespot_training and
        shared_eyespot_held_out (share that show that of the first of `patch_classes`).
    """
    share = strength(shared_patch, patch_classes, classes)
    first, second = patch_classes
    trained = [share if name == first else 0.0 for name in classes]
    held_out = [share if name in (first, second) else 0.0 for name in classes]
    columns = {"class": list(classes), "own_eyespot": share, "shared_eyespot_training": trained}
    return pd.DataFrame({**columns, "shared_eyespot_held_out": held_out})
