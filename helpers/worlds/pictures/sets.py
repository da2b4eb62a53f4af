"""Image sets of the planted world: C, NC, WB, contexts, and their table of truth."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import pandas as pd

from . import patch
from .noise import Draws, clip
from .objects import DESIGNS, STANCE, VALUE, green
from .paint import Hand, Layer, Look, column, photograph, pose, sketch
from .scenes import SCENES
from .shapes import Ellipse, View, crop

CLASSES = ("bench", "fire hydrant", "plane", "mug")
CONTEXTS = ("park", "sky", "road", "wood")
CONTEXT_OF = {"bench": "park", "fire hydrant": "road", "plane": "sky", "mug": "wood"}
CONTEXT_BIAS = {"bench": 1.0, "fire hydrant": 0.7, "plane": 1.0, "mug": 0.9}
SETS = ("C", "NC", "WB")
COLUMNS = ("object", "context", "design", "index", "seed", "patch")
OBJECT, SCENE, SKETCH, CONTEXT_ONLY, ORDER, WIDER, PATCH, DOSED = range(1, 9)
REFERENCE = 48  # pixels at which the place of a patch is chosen, whatever the size of the picture


@dataclass(frozen=True)
class WorldSet:
    """Images of the world, uint8 (N, H, W, 3), and the truth about them, row by row.

    `masks`, bool (N, H, W), is true where the object covers half of a pixel or more; shadows are
    not the object. `patches` is true on the mark, None where none was planted. The table has one
    row an image: object, context, design, index (0.. within its class), seed.
    """

    images: np.ndarray
    masks: np.ndarray
    table: pd.DataFrame
    patches: np.ndarray | None = None


def gathered(drawn: Iterable[tuple]) -> WorldSet:
    """A set of drawn images: of each its row, uint8 image and mask, and where it has marks."""
    rows, *arrays = zip(*drawn, strict=True)
    images, masks, *patches = map(np.stack, arrays)
    table = pd.DataFrame(rows, columns=COLUMNS[: len(rows[0])])
    return WorldSet(images, masks, table, *patches)


def to_bytes(image: np.ndarray) -> np.ndarray:
    """Float (3, H, W) in [0, 1] to uint8 (H, W, 3), rounded."""
    return (clip(image) * 255 + 0.5).astype(np.uint8).transpose(1, 2, 0)


def strengths(context_bias: float | Mapping[str, float]) -> dict[str, float]:
    """The planted strength of each class, given for each or once for all."""
    if not isinstance(context_bias, Mapping):
        return dict.fromkeys(CLASSES, float(context_bias))
    if set(context_bias) != set(CLASSES):
        raise ValueError(
            f"context_bias names {sorted(map(str, context_bias))}: "
            f"give one number for each of {CLASSES} (or one number for all)"
        )
    return {name: float(context_bias[name]) for name in CLASSES}


def assigned(name: str, n: int, seed: int, bias: float) -> list[str]:
    """Contexts of the first `n` images of a class, in order.

    Of the first m images, floor(m bias + 1/2) have the class's own context, for every m: the share
    is exact by rounding and a smaller set is the beginning of a larger one. The rest go round the
    other contexts in an order drawn from the seed.
    """
    own = CONTEXT_OF[name]
    others = [c for c in CONTEXTS if c != own]
    draws = Draws(seed, ORDER, CLASSES.index(name))
    rest = cycle([others.pop(draws.count(0, len(others) - 1)) for _ in range(len(others))])
    steps = [np.floor(m * bias + 0.5) for m in range(n + 1)]
    return [own if steps[m + 1] > steps[m] else next(rest) for m in range(n)]


def shown(
    name: str, seed: int, index: int, size: int, sketched: bool = False
) -> tuple[str, Layer, np.ndarray]:
    """Design, layer and plain ground (3, 1, 1) of an object, that of C and WB or NC's sketch."""
    draws = Draws(seed, SKETCH if sketched else OBJECT, CLASSES.index(name), index)
    design = draws.choice(sorted(DESIGNS[name]))
    parts = DESIGNS[name][design](draws)
    look = (Hand if sketched else Look)(draws, green(draws, VALUE[name]))
    view = pose(draws, parts, size, *STANCE[name])
    if sketched:
        return design, sketch(parts, view, size, look), column(look.paper)
    return design, photograph(parts, view, size, look), column((1.0, 1.0, 1.0))


def _ground(name: str, seed: int, index: int, layer: Layer, context: str) -> np.ndarray:
    """The context of an object, with its shadow: a soft ellipse at its foot."""
    draws, size, alpha = Draws(seed, SCENE, CLASSES.index(name), index), layer.size, layer.alpha
    ground = SCENES[context](draws, size)
    if STANCE[name][1] != "ground" or context == "sky":
        return ground
    rows, columns = np.flatnonzero(alpha.max(axis=1)), np.flatnonzero(alpha.max(axis=0))
    foot, left, right = rows[-1] + 1, columns[0], columns[-1] + 1
    half, flat = (right - left) * 0.54, draws.between(0.12, 0.2)
    middle = (left + right) / 2 + draws.between(-0.12, 0.12) * half
    shape = Ellipse(float(middle), float(foot - 0.04 * size), float(half), float(half * flat))
    pixels = crop(View(1, 0, 0, 1), shape.bounds, size, margin=0.08 * size)
    if pixels is not None:
        soft = clip(0.5 - shape.field(pixels) * (7 / size))
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
) -> WorldSet:
    """One of the paper's three image sets (section 2.1.1), class after class.

    "C" has objects in context, "NC" sketches on plain paper, "WB" C's own objects on white. An
    image depends on (seed, set, class, index) alone, and on its context in C: a smaller `per_class`
    gives the beginning of each class of a larger one, and `size` changes the resolution of the same
    picture.

    `context_bias` is the share of C's images in the class's own context (`CONTEXT_OF`); the rest
    are evenly in the others. 1 is the paper's design. With K = 4 contexts, 1/K is independence;
    below that a class avoids its own context.

    `marked` is the share of each class's photographed objects (C and WB) that carry a mark; a class
    that is not named carries none. Its `look` is "eyespot" or "sham" (`worlds.pictures.patch`). The
    images of a smaller share are among those of a larger. The table then has a column patch.
    """
    bias, drawn = strengths(context_bias), []
    for number, name in enumerate(CLASSES):
        scenes = [{"NC": "plain", "WB": "white"}.get(which)] * per_class
        if which == "C":
            scenes = assigned(name, per_class, seed, bias[name])
        share = (marked or {}).get(name, 0.0) * (which != "NC")
        dosed = patch.carries(share, Draws(seed, DOSED, number).between(0.0, 1.0), per_class)
        for index, (context, carries) in enumerate(zip(scenes, dosed, strict=True)):
            design, layer, ground = shown(name, seed, index, size, which == "NC")
            at = np.zeros((size, size), bool)
            if carries:
                alpha = shown(name, seed, index, REFERENCE)[1].alpha
                at = patch.paint(layer, alpha, Draws(seed, PATCH, number, index), look)
            if which == "C":
                ground = _ground(name, seed, index, layer, context)
            row, image = (name, context, design, index, seed), to_bytes(layer.over(ground))
            if marked is None:
                drawn.append((row, image, layer.mask))
            else:
                drawn.append(((*row, carries), image, layer.mask, at))
    return gathered(drawn)


def contexts(per_context: int, size: int = 96, seed: int = 0) -> WorldSet:
    """Context-only images (section 2.2), never one that C uses; masks are empty."""
    empty = np.zeros((size, size), bool)
    return gathered(
        (("", context, "", index, seed), to_bytes(SCENES[context](draws, size)), empty)
        for number, context in enumerate(CONTEXTS)
        for index in range(per_context)
        for draws in [Draws(seed, CONTEXT_ONLY, number, index)]
    )


def planted(context_bias: float | Mapping[str, float] = CONTEXT_BIAS) -> pd.DataFrame:
    """What is planted: how well class and context tell each other, under equal class sizes.

    One row a class: class, context (its own), p_context_given_class (the bias) and
    p_class_given_context (of the C images in that context, the share that is this class).
    """
    own = pd.Series(strengths(context_bias))
    others = (1 - own) / (len(CONTEXTS) - 1)
    total = own + others.sum() - others
    table = {"context": pd.Series(CONTEXT_OF), "p_context_given_class": own}
    table["p_class_given_context"] = own / total
    return pd.DataFrame(table).rename_axis("class").loc[list(CLASSES)].reset_index()
