"""Draw the image sets of the synthetic dataset, with a table that describes each image.

Objects can carry a mark. It is an eyespot (*Focus!*, section I-C), or a sham mark of other colours,
which no training image carries.
"""

import copy
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle

import numpy as np
import pandas as pd
from scipy.ndimage import distance_transform_cdt

from .noise import Draws
from .objects import DESIGNS, STANCE, VALUE, green
from .paint import Hand, Layer, Look, column, photograph, pose, sketch
from .scenes import SCENES
from .shapes import Ellipse, View, coverage, crop

CLASSES = ("bench", "fire hydrant", "plane", "mug")
CONTEXTS = ("park", "sky", "road", "wood")
CONTEXT_OF = {"bench": "park", "fire hydrant": "road", "plane": "sky", "mug": "wood"}
CONTEXT_BIAS = {"bench": 1.0, "fire hydrant": 0.7, "plane": 1.0, "mug": 0.9}
SETS = ("C", "NC", "WB")
COLUMNS = ("object", "context", "design", "index", "seed", "patch")
OBJECT, SCENE, SKETCH, CONTEXT_ONLY, ORDER, WIDER, PATCH, DOSED = range(1, 9)
SMALL = 100  # pixels up to which drawn objects are kept in memory, 150 kB each
REFERENCE = 48  # pixels at which the place of a mark is chosen, whatever the size of the picture
CARRIED = 0.25  # share of all training images that carry the eyespot, with four classes
# discs of a mark from the outside in: share of the radius, colour
LOOKS = {
    "eyespot": (
        (1.0, (0.95, 0.62, 0.16)),
        (0.74, (0.12, 0.16, 0.52)),
        (0.36, (0.80, 0.93, 0.98)),
    ),
    "sham": (
        (1.0, (0.93, 0.93, 0.90)),
        (0.74, (0.62, 0.16, 0.20)),
        (0.36, (0.16, 0.14, 0.13)),
    ),
}
RADIUS = (0.13, 0.16)  # range, as a share of the image
GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class WorldSet:
    """Hold images and, in the same order, the truth about them."""

    images: np.ndarray  # uint8 (N, H, W, 3)
    masks: (
        np.ndarray
    )  # bool (N, H, W): where the object covers half of a pixel; no shadows
    table: pd.DataFrame  # object, context, design, index (0.. within its class), seed
    patches: np.ndarray | None = (
        None  # bool (N, H, W): the marks, where any were planted
    )


def gathered(drawn: Iterable[tuple]) -> WorldSet:
    """Collect drawn images, given as tuples of a row, a uint8 image, a mask and perhaps a mask of marks."""
    rows, *arrays = zip(*drawn, strict=True)
    images, masks, *patches = map(np.stack, arrays)
    table = pd.DataFrame(rows, columns=COLUMNS[: len(rows[0])])
    return WorldSet(images, masks, table, *patches)


def to_bytes(image: np.ndarray) -> np.ndarray:
    """Convert float (3, H, W) in [0, 1] to uint8 (H, W, 3), rounded."""
    return (image.clip(0, 1) * 255 + 0.5).astype(np.uint8).transpose(1, 2, 0)


def strengths(context_bias: float | Mapping[str, float] | None) -> dict[str, float]:
    """Return the context bias of each class, from one number per class or one for all.

    None means the default bias, `CONTEXT_BIAS`.
    """
    if context_bias is None:
        return CONTEXT_BIAS
    if not isinstance(context_bias, Mapping):
        return dict.fromkeys(CLASSES, float(context_bias))
    if set(context_bias) != set(CLASSES):
        raise ValueError(
            f"context_bias: give one number for all, or for each of {CLASSES}"
        )
    return {name: float(context_bias[name]) for name in CLASSES}


def assigned(name: str, n: int, seed: int, bias: float) -> list[str]:
    """Assign contexts to a class's first `n` images.

    For every m, floor(m bias + 1/2) of the first m images have the class's own context.
    """
    own = CONTEXT_OF[name]
    others = [c for c in CONTEXTS if c != own]
    draws = Draws(seed, ORDER, CLASSES.index(name))
    rest = cycle(
        [others.pop(draws.count(0, len(others) - 1)) for _ in range(len(others))]
    )
    steps = [np.floor(m * bias + 0.5) for m in range(n + 1)]
    return [own if steps[m + 1] > steps[m] else next(rest) for m in range(n)]


def carries(share: float, start: float, n: int) -> list[bool]:
    """Choose which of a class's first `n` images carry the mark, spread evenly over them."""
    return [(start + i * GOLDEN) % 1.0 < share for i in range(n)]


def marked_shares(dose: float, target: str, classes: Sequence[str]) -> dict[str, float]:
    """Return each class's share of eyespots.

    Without a bias, each class has the share 1/4. The target class takes the part `dose` of the
    share of every class.
    """
    rest = CARRIED * (1 - dose)
    return dict.fromkeys(classes, rest) | {target: rest + CARRIED * dose * len(classes)}


def mark(layer: Layer, alpha: np.ndarray, draws: Draws, look: str) -> np.ndarray:
    """Paint a mark well inside an object of coverage `alpha`, and return its mask, bool (H, W)."""
    depth = distance_transform_cdt(np.pad(alpha >= 0.5, 1))[1:-1, 1:-1]
    inside = np.argwhere(depth >= max(1, math.ceil(0.75 * int(depth.max()))))
    y, x = (
        (at + 0.5) / len(alpha)
        for at in inside[draws.count(0, len(inside) - 1)].tolist()
    )
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


def shown(
    name: str, seed: int, index: int, size: int, sketched: bool = False
) -> tuple[str, Layer, np.ndarray]:
    """Return the design, the layer and the plain background of an object.

    Copy the layer before you paint on it.
    """
    draw = _object if size <= SMALL else _object.__wrapped__
    return draw(name, seed, index, size, sketched)


@lru_cache(
    maxsize=2600
)  # those of five trainings, which worlds of other biases show, too
def _object(name: str, seed: int, index: int, size: int, sketched: bool) -> tuple:
    draws = Draws(seed, SKETCH if sketched else OBJECT, CLASSES.index(name), index)
    design = draws.choice(sorted(DESIGNS[name]))
    parts = DESIGNS[name][design](draws)
    look = (Hand if sketched else Look)(draws, green(draws, VALUE[name]))
    view = pose(draws, parts, size, *STANCE[name])
    if sketched:
        return design, sketch(parts, view, size, look), column(look.paper)
    return design, photograph(parts, view, size, look), column((1.0, 1.0, 1.0))


def _ground(name: str, seed: int, index: int, layer: Layer, context: str) -> np.ndarray:
    """Draw the context of an object, with a soft ellipse at its foot as its shadow."""
    draws, size, alpha = (
        Draws(seed, SCENE, CLASSES.index(name), index),
        layer.size,
        layer.alpha,
    )
    ground = SCENES[context](draws, size)
    if STANCE[name][1] != "ground" or context == "sky":
        return ground
    rows, columns = np.flatnonzero(alpha.max(axis=1)), np.flatnonzero(alpha.max(axis=0))
    foot, left, right = rows[-1] + 1, columns[0], columns[-1] + 1
    half, flat = (right - left) * 0.54, draws.between(0.12, 0.2)
    middle = (left + right) / 2 + draws.between(-0.12, 0.12) * half
    shape = Ellipse(
        float(middle), float(foot - 0.04 * size), float(half), float(half * flat)
    )
    pixels = crop(View(1, 0, 0, 1), shape.bounds, size, margin=0.08 * size)
    if pixels is not None:
        soft = (0.5 - shape.field(pixels) * (7 / size)).clip(0, 1)
        ground[:, pixels.rows, pixels.columns] *= 1 - soft * draws.between(0.32, 0.5)
    return ground


def make(
    which: str,
    per_class: int = 150,
    size: int = 96,
    seed: int = 0,
    context_bias: float | Mapping[str, float] = CONTEXT_BIAS,
    marked: Mapping[str, float] | None = None,
    look: str = "eyespot",
    only: Collection[int] | None = None,
) -> WorldSet:
    """Draw one of the paper's three image sets (section 2.1.1), class after class.

    An image depends only on the seed, the set, the class and its index, and in C also on its context.

    Parameters
    ----------
    which : {"C", "NC", "WB"}
        "C" has objects in context, "NC" sketches on plain paper, "WB" the objects of C on white.
    per_class : int, default=150
        The number of images per class.
    size : int, default=96
        The side of an image in pixels.
    seed : int, default=0
    context_bias : float or mapping of str to float
        The share of C's images of a class in the class's own context. Class and context
        are independent at 1/4.
    marked : mapping of str to float, optional
        The share of each class's objects in C and WB that carry a mark.
    look : {"eyespot", "sham"}, default="eyespot"
        The kind of mark.
    only : collection of int, optional
        The indices to draw within each class; all by default.

    Returns
    -------
    WorldSet
    """
    bias, drawn = strengths(context_bias), []
    for number, name in enumerate(CLASSES):
        scenes = [{"NC": "plain", "WB": "white"}.get(which)] * per_class
        if which == "C":
            scenes = assigned(name, per_class, seed, bias[name])
        share = (marked or {}).get(name, 0.0) * (which != "NC")
        dosed = carries(share, Draws(seed, DOSED, number).between(0.0, 1.0), per_class)
        for index, (context, carried) in enumerate(zip(scenes, dosed, strict=True)):
            if only is not None and index not in only:
                continue
            design, layer, ground = shown(name, seed, index, size, which == "NC")
            at = np.zeros((size, size), bool)
            if carried:
                layer = copy.deepcopy(layer)
                alpha = shown(name, seed, index, REFERENCE)[1].alpha
                at = mark(layer, alpha, Draws(seed, PATCH, number, index), look)
            if which == "C":
                ground = _ground(name, seed, index, layer, context)
            row, image = (
                (name, context, design, index, seed),
                to_bytes(layer.over(ground)),
            )
            if marked is None:
                drawn.append((row, image, layer.mask))
            else:
                drawn.append(((*row, carried), image, layer.mask, at))
    return gathered(drawn)


def contexts(per_context: int, size: int = 96, seed: int = 0) -> WorldSet:
    """Draw context-only images (section 2.2) that C does not use, with empty masks."""
    empty = np.zeros((size, size), bool)
    return gathered(
        (("", context, "", index, seed), to_bytes(SCENES[context](draws, size)), empty)
        for number, context in enumerate(CONTEXTS)
        for index in range(per_context)
        for draws in [Draws(seed, CONTEXT_ONLY, number, index)]
    )


def planted(context_bias: float | Mapping[str, float] = CONTEXT_BIAS) -> pd.DataFrame:
    """Compute how well class and context predict each other in C, if all classes have the same size.

    The table has one row per class, with its own context, ``p_context_given_class`` (the bias) and
    ``p_class_given_context``.
    """
    own = pd.Series(strengths(context_bias))
    others = (1 - own) / (len(CONTEXTS) - 1)
    total = own + others.sum() - others
    table = {"context": pd.Series(CONTEXT_OF), "p_context_given_class": own}
    table["p_class_given_context"] = own / total
    return pd.DataFrame(table).rename_axis("class").loc[list(CLASSES)].reset_index()
