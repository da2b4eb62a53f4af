"""Image sets of the planted world: C, NC, WB, contexts, and their table of truth."""

from collections.abc import Mapping
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
    order = Draws(seed, ORDER, CLASSES.index(name)).order(len(others))
    rest = cycle(others[i] for i in order)
    steps = [np.floor(m * bias + 0.5) for m in range(n + 1)]
    return [own if steps[m + 1] > steps[m] else next(rest) for m in range(n)]


def photographed(name: str, seed: int, index: int, size: int) -> tuple[str, Layer]:
    """Return design and layer of the photographed object that C and WB share."""
    draws = Draws(seed, OBJECT, CLASSES.index(name), index)
    design = draws.choice(sorted(DESIGNS[name]))
    parts = DESIGNS[name][design](draws)
    look = Look(draws, green(draws, VALUE[name]))
    return design, photograph(parts, pose(draws, parts, size, *STANCE[name]), size, look)


def _sketched(name: str, seed: int, index: int, size: int) -> tuple[str, Layer, np.ndarray]:
    """Return design, layer and paper (3, 1, 1) of a sketched object."""
    draws = Draws(seed, SKETCH, CLASSES.index(name), index)
    design = draws.choice(sorted(DESIGNS[name]))
    parts = DESIGNS[name][design](draws)
    hand = Hand(draws, green(draws, VALUE[name]))
    layer = sketch(parts, pose(draws, parts, size, *STANCE[name]), size, hand)
    return design, layer, column(hand.paper)


def _marked(name: str, seed: int, index: int, layer: Layer, look: str) -> np.ndarray:
    """Paint a mark on an object's layer, which is changed, and return where it is."""
    draws = Draws(seed, PATCH, CLASSES.index(name), index)
    alpha = photographed(name, seed, index, REFERENCE)[1].alpha
    return patch.paint(layer, patch.place(alpha, draws), draws, look)


def _ground(name: str, seed: int, index: int, layer: Layer, context: str) -> np.ndarray:
    """Return the context of an object, with its shadow: a soft ellipse at its foot."""
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


def to_bytes(image: np.ndarray) -> np.ndarray:
    """Float (3, H, W) in [0, 1] to uint8 (H, W, 3), rounded."""
    return (clip(image) * 255 + 0.5).astype(np.uint8).transpose(1, 2, 0)


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
    bias = strengths(context_bias)
    images = np.empty((len(CLASSES) * per_class, size, size, 3), np.uint8)
    masks, patches, rows = np.empty(images.shape[:3], bool), np.zeros(images.shape[:3], bool), []
    for name in CLASSES:
        scenes = [{"NC": "plain", "WB": "white"}.get(which)] * per_class
        if which == "C":
            scenes = assigned(name, per_class, seed, bias[name])
        share = (marked or {}).get(name, 0.0) * (which != "NC")
        start = Draws(seed, DOSED, CLASSES.index(name)).between(0.0, 1.0)
        dosed = patch.carries(share, start, per_class)
        for index, (context, carries) in enumerate(zip(scenes, dosed, strict=True)):
            at = len(rows)
            if which == "NC":
                design, layer, ground = _sketched(name, seed, index, size)
            else:
                design, layer = photographed(name, seed, index, size)
                patches[at] = _marked(name, seed, index, layer, look) if carries else False
                ground = column((1.0, 1.0, 1.0))
            if which == "C":
                ground = _ground(name, seed, index, layer, context)
            images[at], masks[at] = to_bytes(layer.over(ground)), layer.mask
            rows.append((name, context, design, index, seed, carries))
    columns = ["object", "context", "design", "index", "seed", "patch"]
    table = pd.DataFrame(rows, columns=columns)
    if marked is None:
        return WorldSet(images, masks, table.drop(columns="patch"))
    return WorldSet(images, masks, table, patches)


def contexts(per_context: int, size: int = 96, seed: int = 0) -> WorldSet:
    """Context-only images (section 2.2), never one that C uses; masks are empty."""
    images = np.empty((len(CONTEXTS) * per_context, size, size, 3), np.uint8)
    rows = [("", context, "", index, seed) for context in CONTEXTS for index in range(per_context)]
    for row, (_, context, _, index, _) in enumerate(rows):
        draws = Draws(seed, CONTEXT_ONLY, CONTEXTS.index(context), index)
        images[row] = to_bytes(SCENES[context](draws, size))
    table = pd.DataFrame(rows, columns=["object", "context", "design", "index", "seed"])
    return WorldSet(images, np.zeros(images.shape[:3], bool), table)


def planted(context_bias: float | Mapping[str, float] = CONTEXT_BIAS) -> pd.DataFrame:
    """What is planted: how well class and context tell each other, under equal class sizes.

    One row a class: class, context (its own), p_context_given_class (the bias) and
    p_class_given_context (of the C images in that context, the share that is this class).
    """
    bias = strengths(context_bias)
    rest = {name: (1 - p) / (len(CONTEXTS) - 1) for name, p in bias.items()}
    rows = []
    for name, p in bias.items():
        total = p + sum(rest[other] for other in CLASSES if other != name)
        rows.append((name, CONTEXT_OF[name], p, p / total if total else float("nan")))
    names = ["class", "context", "p_context_given_class", "p_class_given_context"]
    return pd.DataFrame(rows, columns=names)
