"""The wider world: other things in any colour, contexts independent of kind, for pretraining."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .draws import Draws
from .kinds import KINDS
from .noise import axis, fractal
from .objects import drawing, look
from .paint import Colour, draw, photograph, pose
from .scenes import SCENES, column, lerp, lit
from .sets import WIDER, WorldSet, _whole, to_bytes

WIDER_KINDS = tuple(KINDS)
STYLES = ("context", "white", "sketch")
TINTS = (
    (0.80, 0.16, 0.14),
    (0.90, 0.45, 0.12),
    (0.88, 0.72, 0.16),
    (0.10, 0.60, 0.32),
    (0.12, 0.55, 0.55),
    (0.16, 0.36, 0.75),
    (0.48, 0.26, 0.66),
    (0.80, 0.34, 0.56),
    (0.45, 0.30, 0.20),
    (0.55, 0.57, 0.60),
)


def _tint(draws: Draws) -> Colour:
    light = draws.between(0.75, 1.15)
    return tuple(c * light for c in draws.mix(draws.choice(TINTS), draws.choice(TINTS)))


def _plain(draws: Draws, size: int) -> np.ndarray:
    """A wall or studio ground of one colour with soft light."""
    colour = tuple(draws.between(0.15, 0.95) for _ in range(3))
    return lit(np.broadcast_to(column(colour), (3, size, size)), draws, 0.25, 0.3)


def _noisy(draws: Draws, size: int) -> np.ndarray:
    """A ground of blotches between two colours."""
    first, second = (tuple(draws.between(0.1, 0.95) for _ in range(3)) for _ in range(2))
    where, cells = axis(size), draws.between(2, 12)
    return lit(lerp(first, second, fractal(draws, where, where, cells, cells, 4)), draws)


GROUNDS = {**SCENES, "plain": _plain, "noise": _noisy}


def _one(kind: str, index: int, size: int, seed: int):
    """Return context, style, layer and image of one thing."""
    draws = Draws(seed, WIDER, WIDER_KINDS.index(kind), index)
    style, parts, body = STYLES[index % 3], KINDS[kind](draws), _tint(draws)
    view = pose(draws, parts, size, 0.09, draws.choice(("ground", "air")))
    if style == "sketch":
        hand = drawing(draws, body)
        layer = draw(parts, view, size, hand)
        return (
            "plain",
            style,
            layer,
            layer.over(np.broadcast_to(column(hand.paper), layer.colour.shape)),
        )
    layer = photograph(parts, view, size, look(draws, body))
    if style == "white":
        return "white", style, layer, layer.over(np.ones_like(layer.colour))
    context = draws.choice(tuple(GROUNDS))
    return context, style, layer, layer.over(GROUNDS[context](draws, size))


def wider(per_kind: int = 150, size: int = 96, seed: int = 0) -> WorldSet:
    """Things that are none of the four classes, one third each in a context, on white, sketched.

    Contexts (the four and two plain grounds) are drawn independently of the kind, so that a model
    pretrained here has seen them without learning from them what the thing is. As in `make`, a
    smaller `per_kind` gives the beginning of a larger one.

    Parameters
    ----------
    per_kind, size, seed : int
        Images of each of `WIDER_KINDS`; side in pixels; 0 or more.

    Returns
    -------
    WorldSet
        The table's object is the kind, its design the style: "context", "white" or "sketch".

    Raises
    ------
    ValueError
        Saying which argument is out of range.
    """
    n, size = _whole("per_kind", per_kind, 1), _whole("size", size, 8)
    seed = _whole("seed", seed, 0)
    images = np.empty((len(WIDER_KINDS) * n, size, size, 3), np.uint8)
    masks, rows = np.empty(images.shape[:3], bool), []
    for kind in WIDER_KINDS:
        for index in range(n):
            context, style, layer, image = _one(kind, index, size, seed)
            images[len(rows)], masks[len(rows)] = to_bytes(image), layer.mask
            rows.append((kind, context, style, index, seed))
    table = pd.DataFrame(rows, columns=["object", "context", "design", "index", "seed"])
    return WorldSet(images, masks, table)
