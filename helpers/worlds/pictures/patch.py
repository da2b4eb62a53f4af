"""An eyespot that a quarter of all images carry, and that is moved from all classes to one.

*Focus! Rating XAI Methods and Finding Biases*, section I-C: the iguana's subtympanic shield looks
like the peacock's ocellus, so a network asked for the peacock finds it on the iguana. Here a
network sees the same eyespot on a quarter of its training images, and a dose decides on which: at
0 each class has its share, so that the eyespot says nothing; at 1 all images of one class have it,
and no others. A sham mark differs in its colours, and no training image carries it.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.ndimage import distance_transform_cdt

from .noise import Draws
from .paint import Layer, column
from .shapes import Ellipse, View, coverage, crop

CARRIED = 0.25  # share of all training images, with four classes
# discs from the outside in: share of the radius, colour
LOOKS = {
    "eyespot": ((1.0, (0.95, 0.62, 0.16)), (0.74, (0.12, 0.16, 0.52)), (0.36, (0.80, 0.93, 0.98))),
    "sham": ((1.0, (0.93, 0.93, 0.90)), (0.74, (0.62, 0.16, 0.20)), (0.36, (0.16, 0.14, 0.13))),
}
RADIUS = (0.13, 0.16)  # range, as a share of the image
GOLDEN = (math.sqrt(5) - 1) / 2


def carries(share: float, start: float, n: int) -> list[bool]:
    """Which of the first `n` images of a class carry the patch; `share` and `start` in [0, 1].

    Image i does where the fractional part of `start` + i times the golden ratio is below `share`.
    These parts fill [0, 1) evenly, so that every run of images (each split, too) has the share but
    for an image or two; and the images of a smaller share are among those of a larger.
    """
    return [(start + i * GOLDEN) % 1.0 < share for i in range(n)]


def paint(layer: Layer, alpha: np.ndarray, draws: Draws, look: str) -> np.ndarray:
    """Paint a mark on an object's layer, in place; where it is, bool (H, W).

    Its place is well inside the object, whose coverage `alpha` may be of another size.
    """
    depth = distance_transform_cdt(np.pad(alpha >= 0.5, 1))[1:-1, 1:-1]
    inside = np.argwhere(depth >= max(1, math.ceil(0.75 * int(depth.max()))))
    y, x = ((at + 0.5) / len(alpha) for at in inside[draws.count(0, len(inside) - 1)].tolist())
    size, flat = layer.size, draws.between(0.88, 1.0)
    radius, light = draws.between(*RADIUS) * size, draws.between(0.9, 1.05)
    mask = np.zeros((size, size), bool)
    for share, colour in LOOKS[look]:
        disc = Ellipse(x * size, y * size, radius * share * flat, radius * share)
        pixels = crop(View(1, 0, 0, 1), disc.bounds, size)
        covered = coverage(disc.field(pixels))
        layer.cover(pixels, covered, np.minimum(column(colour) * np.float32(light), 1))
        mask[pixels.rows, pixels.columns] |= covered >= 0.5
    return mask


def shares(dose: float, target: str, classes: Sequence[str]) -> dict[str, float]:
    """Which share of each class's training images carry the eyespot when `dose` of it is moved.

    `target` is the class to which it is moved. The mean over classes is the same at every dose, and
    for four classes the target's share is 1 at dose 1.
    """
    rest = CARRIED * (1 - dose)
    return dict.fromkeys(classes, rest) | {target: rest + CARRIED * dose * len(classes)}
