"""Image sets of the planted world: C, NC, WB, contexts, and their table of truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from . import patch
from .draws import Draws
from .objects import DESIGNS, STANCE, VALUE, drawing, green, look
from .paint import Layer, draw, photograph, pose
from .scenes import SCENES, column
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
    """Images of the world and the truth about them, row by row.

    Parameters
    ----------
    images : uint8 (N, H, W, 3)
        RGB.
    masks : bool (N, H, W)
        Where the object covers half of a pixel or more; shadows are not the object.
    table : DataFrame
        One row an image: object, context, design, index (0.. within its class), seed.
    patches : bool (N, H, W), optional
        Where the eyespot is, a part of the object; None where none was planted.
    """

    images: np.ndarray
    masks: np.ndarray
    table: pd.DataFrame
    patches: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.images)


def strengths(
    context_bias: float | Mapping[str, float], classes: Sequence[str] = CLASSES
) -> dict[str, float]:
    """Return the planted strength of each class, checked.

    Raises
    ------
    ValueError
        A class or a strength outside what is allowed, or a class without a strength.
    """
    unknown = [name for name in classes if name not in CLASSES]
    if unknown or not classes or len(set(classes)) < len(classes):
        raise ValueError(f"classes={tuple(classes)!r}: choose one or more of {CLASSES}, each once")
    if not isinstance(context_bias, Mapping):
        context_bias = dict.fromkeys(classes, context_bias)
    if set(context_bias) - set(CLASSES) or set(classes) - set(context_bias):
        raise ValueError(
            f"context_bias names {sorted(map(str, context_bias))}: "
            f"give one number for each of {tuple(classes)} (or one number for all)"
        )
    for name, value in context_bias.items():
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1:
            raise ValueError(f"context_bias[{name!r}]={value!r}: give a number from 0 to 1")
    return {name: float(context_bias[name]) for name in classes}


def _whole(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r}: give a whole number, {least} or more")
    return int(value)


def assigned(name: str, n: int, seed: int, bias: float) -> list[str]:
    """Contexts of the first `n` images of a class, in order.

    Of the first m images, floor(m bias + 1/2) have the class's own context, for every m: the share
    is exact by rounding and a smaller set is the beginning of a larger one. The rest go round the
    other contexts in an order drawn from the seed.
    """
    own = CONTEXT_OF[name]
    others = [c for c in CONTEXTS if c != own]
    order = Draws(seed, ORDER, CLASSES.index(name)).order(len(others))
    result, rest = [], 0
    for i in range(n):
        if np.floor((i + 1) * bias + 0.5) > np.floor(i * bias + 0.5):
            result.append(own)
        else:
            result.append(others[order[rest % len(others)]])
            rest += 1
    return result


def _shadow(ground: np.ndarray, layer: Layer, draws: Draws) -> np.ndarray:
    """Darken the ground below the object: a soft ellipse at its foot."""
    size, alpha = layer.size, layer.alpha
    rows, columns = np.flatnonzero(alpha.max(axis=1)), np.flatnonzero(alpha.max(axis=0))
    foot, left, right = rows[-1] + 1, columns[0], columns[-1] + 1
    half, flat = (right - left) * 0.54, draws.between(0.12, 0.2)
    middle = (left + right) / 2 + draws.between(-0.12, 0.12) * half
    shape = Ellipse(float(middle), float(foot - 0.04 * size), float(half), float(half * flat))
    pixels = crop(View(1, 0, 0, 1), shape.bounds, size, margin=0.08 * size)
    if pixels is None:
        return ground
    soft = np.minimum(np.maximum(0.5 - shape.field(pixels) * (7 / size), 0), 1)
    ground[:, pixels.rows, pixels.columns] *= 1 - soft * draws.between(0.32, 0.5)
    return ground


def _object(name: str, seed: int, index: int, size: int) -> tuple[str, Layer]:
    """Return design and layer of the photographed object that C and WB share."""
    draws = Draws(seed, OBJECT, CLASSES.index(name), index)
    design = draws.choice(sorted(DESIGNS[name]))
    parts = DESIGNS[name][design](draws)
    body = green(draws, VALUE[name])
    style = look(draws, body)
    view = pose(draws, parts, size, *STANCE[name])
    return design, photograph(parts, view, size, style)


def _one(which: str, name: str, seed: int, index: int, size: int, context: str, carries: bool):
    """Return design, layer and image of one object, and where its eyespot is (False: nowhere)."""
    if which == "NC":
        return *_sketched(name, seed, index, size), False
    design, layer = _object(name, seed, index, size)
    where = _patched(name, seed, index, layer) if carries else False
    ground = {"C": _in_context, "WB": _on_white}[which]
    return design, layer, ground(name, seed, index, layer, context), where


def _patched(name: str, seed: int, index: int, layer: Layer) -> np.ndarray:
    """Paint the eyespot on an object's layer, which is changed, and return where it is."""
    draws = Draws(seed, PATCH, CLASSES.index(name), index)
    alpha = _object(name, seed, index, REFERENCE)[1].alpha
    return patch.paint(layer, patch.place(alpha, draws), draws)


def _in_context(name: str, seed: int, index: int, layer: Layer, context: str) -> np.ndarray:
    draws = Draws(seed, SCENE, CLASSES.index(name), index)
    ground = SCENES[context](draws, layer.size)
    if STANCE[name][1] == "ground" and context != "sky":
        ground = _shadow(ground, layer, draws)
    return layer.over(ground)


def _on_white(name: str, seed: int, index: int, layer: Layer, context: str) -> np.ndarray:
    return layer.over(np.ones((3, layer.size, layer.size), np.float32))


def _sketched(name: str, seed: int, index: int, size: int) -> tuple[str, Layer, np.ndarray]:
    draws = Draws(seed, SKETCH, CLASSES.index(name), index)
    design = draws.choice(sorted(DESIGNS[name]))
    parts = DESIGNS[name][design](draws)
    style = drawing(draws, green(draws, VALUE[name]))
    layer = draw(parts, pose(draws, parts, size, *STANCE[name]), size, style)
    paper = np.broadcast_to(column(style.paper), (3, size, size))
    return design, layer, layer.over(paper)


def to_bytes(image: np.ndarray) -> np.ndarray:
    """Float (3, H, W) in [0, 1] to uint8 (H, W, 3), rounded."""
    return (np.minimum(np.maximum(image, 0), 1) * 255 + 0.5).astype(np.uint8).transpose(1, 2, 0)


def make(
    which: str,
    per_class: int = 150,
    size: int = 96,
    seed: int = 0,
    context_bias: float | Mapping[str, float] = CONTEXT_BIAS,
    classes: Sequence[str] = CLASSES,
    shared_patch: float = 0.0,
    patch_classes: Sequence[str] = patch.PATCH_CLASSES,
    shared_from: int = 0,
) -> WorldSet:
    """One of the paper's three image sets (section 2.1.1), class after class.

    An image depends on (seed, set, class, index) alone, and on its context in C: a smaller
    `per_class` gives the beginning of each class of a larger one, and `size` changes the resolution
    of the same picture.

    Parameters
    ----------
    which : {"C", "NC", "WB"}
        In context; a sketch on plain paper; C's own objects on white.
    per_class, size, seed : int
        Images a class; side in pixels (8 or more); 0 or more.
    context_bias : float or dict of class to float
        Share in [0, 1] of C's images in the class's own context (`CONTEXT_OF`), the rest evenly in
        the others. 1 is the paper's design. With K = 4 contexts, 1/K is independence; below that
        a class avoids its own context.
    classes : sequence of str
        Which of `CLASSES`.
    shared_patch : float in [0, 1]
        Share of the photographed objects (C and WB) of both `patch_classes` that carry the same
        eyespot (`worlds.pictures.patch`); of the second's, only every fifth may before the index
        `shared_from`. The images of a smaller share are among those of a larger; one without is the
        same bytes as at 0.
    patch_classes : two of `CLASSES`
        Whose eyespot it is, and who comes to carry it.
    shared_from : int
        The first index that is held out.

    Returns
    -------
    WorldSet
        The table's context is "white" for WB, "plain" for NC. Where it was planted,
        the table has a column patch (bool: carries it) and `patches` says where.

    Raises
    ------
    ValueError
        Saying which argument is out of range and what is allowed.
    """
    if which not in SETS:
        raise ValueError(f"which={which!r}: choose one of {SETS}")
    bias = strengths(context_bias, classes)
    share, pair = patch.strength(shared_patch, patch_classes, CLASSES), tuple(patch_classes)
    shared_from = _whole("shared_from", shared_from, 0)
    per_class, size = _whole("per_class", per_class, 1), _whole("size", size, 8)
    seed = _whole("seed", seed, 0)
    images = np.empty((len(classes) * per_class, size, size, 3), np.uint8)
    masks, patches, rows = np.empty(images.shape[:3], bool), np.zeros(images.shape[:3], bool), []
    for name in classes:
        plain = [{"NC": "plain", "WB": "white"}.get(which, "")] * per_class
        scenes = assigned(name, per_class, seed, bias[name]) if which == "C" else plain
        dosed = _dosed(name, per_class, seed, 0.0 if which == "NC" else share, pair, shared_from)
        for index, (context, carries) in enumerate(zip(scenes, dosed, strict=True)):
            at = len(rows)
            design, layer, image, where = _one(which, name, seed, index, size, context, carries)
            images[at], masks[at], patches[at] = to_bytes(image), layer.mask, where
            rows.append((name, context, design, index, seed, carries))
    columns = ["object", "context", "design", "index", "seed", "patch"]
    table = pd.DataFrame(rows, columns=columns)
    if not share:
        return WorldSet(images, masks, table.drop(columns="patch"))
    return WorldSet(images, masks, table, patches)


def _dosed(
    name: str, n: int, seed: int, share: float, pair: Sequence[str], shared_from: int
) -> list[bool]:
    """Which of a class's first `n` objects carry the eyespot."""
    if name not in pair:
        return [False] * n
    carried = patch.carries(share, Draws(seed, DOSED, CLASSES.index(name)).between(0.0, 1.0), n)
    if name == pair[0]:
        return carried
    return [c and (i >= shared_from or i % patch.RARE == 0) for i, c in enumerate(carried)]


def contexts(per_context: int = 50, size: int = 96, seed: int = 0) -> WorldSet:
    """Context-only images (section 2.2), never one that C uses; masks are empty.

    Parameters
    ----------
    per_context, size, seed : int
        As in `make`.

    Returns
    -------
    WorldSet
        The table's object and design are "".
    """
    n, size = _whole("per_context", per_context, 1), _whole("size", size, 8)
    seed = _whole("seed", seed, 0)
    images = np.empty((len(CONTEXTS) * n, size, size, 3), np.uint8)
    rows = [("", context, "", index, seed) for context in CONTEXTS for index in range(n)]
    for row, (_, context, _, index, _) in enumerate(rows):
        draws = Draws(seed, CONTEXT_ONLY, CONTEXTS.index(context), index)
        images[row] = to_bytes(SCENES[context](draws, size))
    table = pd.DataFrame(rows, columns=["object", "context", "design", "index", "seed"])
    return WorldSet(images, np.zeros(images.shape[:3], bool), table)


def planted(context_bias: float | Mapping[str, float] = CONTEXT_BIAS) -> pd.DataFrame:
    """What is planted: how well class and context tell each other, under equal class sizes.

    Returns
    -------
    DataFrame
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
