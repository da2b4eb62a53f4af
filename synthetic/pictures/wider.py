"""Draw sixteen other kinds of things, in any colour and on any background, for pretraining."""

import numpy as np

from .noise import Draws, axis, fractal
from .paint import Hand, Look, Part, column, photograph, pose, sketch
from .scenes import SCENES, lerp, lit
from .sets import WIDER, WorldSet, gathered, to_bytes
from .shapes import Box, Curve, Ellipse, Meet, Polygon, Ring, Union, bend


def chair(draws: Draws) -> list[Part]:
    back, lean = draws.between(0.75, 1.0), draws.between(0.0, 0.08)
    parts = [Part(Curve([(x, 0.1), (x, 0.82)], 0.05), 0.7) for x in (-0.22, 0.52)]
    parts += [
        Part(Curve([(x, 0.1), (x + lean, -back)], 0.055), 0.85) for x in (-0.24, 0.5)
    ]
    for i in range(draws.count(2, 4)):
        y = -back + 0.08 + 0.24 * i
        parts += [Part(Curve([(-0.22 + lean, y), (0.5 + lean, y)], 0.06), 1.0)]
    seat = Polygon((-0.28, -0.04), (0.55, -0.04), (0.4, 0.24), (-0.5, 0.24))
    parts += [Part(Curve([(x, 0.24), (x, 1.0)], 0.055), 0.85) for x in (-0.44, 0.34)]
    return [*parts, Part(seat, 1.1), Part(Box(-0.5, 0.2, 0.4, 0.3, 0.03), 0.8)]


def car(draws: Draws) -> list[Part]:
    roof, a, b = (
        draws.between(0.42, 0.55),
        draws.between(0.5, 0.62),
        draws.between(0.3, 0.5),
    )
    cabin = Polygon((-a, -0.08), (-b, -roof), (b * 0.8, -roof), (0.62, -0.08))
    parts = [Part(cabin, 0.9), Part(Box(-1, -0.12, 1, 0.28, 0.14), 1.0, "down")]
    y = -roof + 0.08
    left = Polygon((-a + 0.12, -0.1), (-b + 0.05, y), (-0.04, y), (-0.04, -0.1))
    right = Polygon((0.04, -0.1), (0.04, y), (b * 0.8 - 0.06, y), (0.5, -0.1))
    parts += [Part(left, material="light"), Part(right, material="light")]
    for x in (-0.58, 0.58):
        parts += [
            Part(Ellipse(x, 0.28, 0.23), material="dark"),
            Part(Ellipse(x, 0.28, 0.1), 1.1),
        ]
    return [
        *parts,
        Part(Ellipse(-0.93, 0.02, 0.06, 0.08), material="light", detail=True),
    ]


def bottle(draws: Draws) -> list[Part]:
    w, neck = draws.between(0.28, 0.36), draws.between(0.09, 0.13)
    y = draws.between(-0.3, -0.1)
    shoulder = Polygon((-w, y), (-neck, y - 0.32), (neck, y - 0.32), (w, y))
    body = Union(
        Box(-w, y - 0.02, w, 1.0, 0.08), shoulder, Box(-neck, -0.95, neck, y - 0.2)
    )
    label = Box(-w, y + 0.3, w, y + 0.75)
    cork = Part(Box(-neck - 0.03, -1.05, neck + 0.03, -0.88, 0.03), 0.6)
    return [Part(body, 1.0, "round"), cork, Part(label, 1.0, "round", "light")]


def plant(draws: Draws) -> list[Part]:
    parts = []
    for i in range(draws.count(5, 7)):
        x = -0.75 + 0.25 * i + draws.between(-0.08, 0.08)
        path = bend(
            (0, 0.2), (x * 0.3, -0.6), (x, -0.65 - 0.3 * draws.between(0, 1)), 3
        )
        parts += [Part(Curve(path, 0.11, 0.03), 0.75 + 0.08 * (i % 4), "down")]
    pot = Polygon((-0.42, 0.25), (0.42, 0.25), (0.3, 0.95), (-0.3, 0.95))
    rim = Part(Box(-0.48, 0.15, 0.48, 0.32, 0.04), 0.85, "round")
    return [*parts, Part(pot, 0.7, "round"), rim]


def house(draws: Draws) -> list[Part]:
    w, roof = draws.between(0.6, 0.75), draws.between(0.5, 0.75)
    parts = [Part(Box(w * 0.35, -0.2 - roof, w * 0.35 + 0.16, -0.2), 0.6)]
    parts += [
        Part(Box(-w, -0.2, w, 0.8), 1.0, "down"),
        Part(Box(-0.14, 0.3, 0.14, 0.8), 0.5),
    ]
    gable = Polygon((-w - 0.18, -0.15), (0, -0.15 - roof), (w + 0.18, -0.15))
    parts += [Part(gable, 0.72)]
    for x in (-w * 0.62, w * 0.62):
        parts += [Part(Box(x - 0.13, 0.02, x + 0.13, 0.28), material="light")]
    return parts


def fish(draws: Draws) -> list[Part]:
    deep = draws.between(0.3, 0.48)
    upper = Polygon((0.45, 0), (1.0, -0.38), (0.86, 0.02))
    tail = Union(upper, Polygon((0.45, 0), (0.86, -0.02), (1.0, 0.38)))
    edge = (0.35, -deep - 0.22), (0.1, -deep - 0.2)
    fin = Polygon((-0.25, -deep * 0.7), (0.3, -deep * 0.5), *edge)
    parts = [
        Part(tail, 0.8),
        Part(fin, 0.75),
        Part(Ellipse(-0.15, 0, 0.75, deep), 1.0, "down"),
    ]
    parts += [Part(Polygon((-0.1, 0.08), (0.22, 0.02), (0.2, 0.26)), 0.72)]
    parts += [Part(Ellipse(-0.58, -0.08, 0.09), material="light")]
    return [*parts, Part(Ellipse(-0.6, -0.08, 0.045), material="dark", detail=True)]


def umbrella(draws: Draws) -> list[Part]:
    high, n = draws.between(0.6, 0.8), draws.count(3, 5)
    canopy = Meet(Ellipse(0, 0, 1, high), Box(-1, -high, 1, 0.02))
    hook = [(0, -high), (0, 0.75), *bend((0, 0.8), (0.1, 1.05), (0.24, 0.8), 4)]
    parts = [Part(Curve(hook, 0.04), material="dark"), Part(canopy, 0.75, "ball")]
    for i in range(0, n, 2):
        x0, x1 = -1 + 2 * i / n, -1 + 2 * (i + 1) / n
        panel = Polygon((0, -high), (x1, 0.02), (x0, 0.02))
        parts += [Part(Meet(canopy, panel), 1.1, "down")]
    return parts


def lamp(draws: Draws) -> list[Part]:
    w, top = draws.between(0.55, 0.7), draws.between(0.25, 0.4)
    shade = Polygon((-top, -0.9), (top, -0.9), (w, -0.1), (-w, -0.1))
    belly = draws.choice((0.08, 0.26))
    parts = [Part(Box(-0.05, -0.12, 0.05, 0.85), 0.6, "round")]
    parts += [Part(Ellipse(0, 0.42, belly, 0.34), 0.85, "ball")]
    return [
        *parts,
        Part(Ellipse(0, 0.86, 0.4, 0.12), 0.7, "round"),
        Part(shade, 1.1, "round"),
    ]


def boat(draws: Draws) -> list[Part]:
    tall, w = draws.between(0.9, 1.05), draws.between(0.55, 0.75)
    hull = Polygon((-0.9, 0.4), (0.95, 0.4), (0.6, 0.8), (-0.65, 0.8))
    parts = [Part(Box(-0.03, -tall, 0.03, 0.42), material="dark", detail=True)]
    parts += [
        Part(Polygon((0.06, -tall), (0.06, 0.28), (w, 0.28)), 1.1, "flat", "light")
    ]
    parts += [Part(Polygon((-0.07, -tall * 0.8), (-0.07, 0.28), (-w * 0.8, 0.28)), 0.9)]
    return [*parts, Part(hull, 1.0, "down"), Part(Box(-0.9, 0.38, 0.95, 0.48), 0.6)]


def bird(draws: Draws) -> list[Part]:
    r = draws.between(0.24, 0.3)
    legs = [Curve([(x, 0.3), (x - 0.05, 0.8)], 0.03) for x in (0.0, 0.2)]
    parts = [Part(leg, material="dark", detail=True) for leg in legs]
    parts += [Part(Polygon((0.35, 0.0), (1.0, 0.25), (0.95, 0.42), (0.3, 0.3)), 0.7)]
    parts += [Part(Ellipse(0.05, 0.1, 0.55, 0.38, 0.12), 1.0, "ball")]
    parts += [
        Part(Polygon((-0.6, -0.36), (-0.95, -0.2), (-0.55, -0.18)), material="dark")
    ]
    parts += [Part(Ellipse(-0.42, -0.3, r), 1.05, "ball")]
    parts += [Part(Ellipse(0.2, 0.08, 0.4, 0.2, 0.16), 0.7, "down")]
    return [*parts, Part(Ellipse(-0.5, -0.34, 0.05), material="dark", detail=True)]


def key(draws: Draws) -> list[Part]:
    r = draws.between(0.26, 0.34)
    parts = [Part(Box(-0.5, -0.07, 1.0, 0.07, 0.05), 0.95, "down")]
    for i in range(draws.count(2, 3)):
        parts += [
            Part(Box(0.84 - 0.2 * i, 0.03, 0.96 - 0.2 * i, 0.26 + 0.06 * (i % 2)), 0.85)
        ]
    bow = draws.choice((Ellipse(-0.68, 0, r), Ellipse(-0.68, 0, r * 0.75, r * 1.2)))
    return [*parts, Part(Ring(bow, 0.15), 1.0, "down")]


def cupcake(draws: Draws) -> list[Part]:
    case = Polygon((-0.55, 0.1), (0.55, 0.1), (0.38, 0.85), (-0.38, 0.85))
    parts = [Part(case, 0.75, "round")]
    for i in range(-2, 3):
        parts += [
            Part(Curve([(i * 0.2, 0.15), (i * 0.15, 0.82)], 0.022), 0.5, detail=True)
        ]
    for i in range(3):
        parts += [
            Part(
                Ellipse(0, 0.06 - 0.27 * i, 0.66 - 0.17 * i, 0.25),
                1.05,
                "ball",
                "light",
            )
        ]
    return [*parts, Part(Ellipse(draws.between(-0.06, 0.06), -0.74, 0.14), 0.8, "ball")]


def guitar(draws: Draws) -> list[Part]:
    low, up = draws.between(0.42, 0.52), draws.between(0.3, 0.38)
    bouts = Ellipse(0, 0.55, low, 0.42), Ellipse(0, 0.05, up, 0.32)
    body = Union(*bouts, Box(-0.26, 0.1, 0.26, 0.5))
    parts = [Part(body, 1.0, "round"), Part(Ellipse(0, 0.2, 0.14), material="dark")]
    parts += [
        Part(Box(-0.065, -0.95, 0.065, 0.1), 0.55),
        Part(Box(-0.22, 0.55, 0.22, 0.63), 0.5),
    ]
    return [
        *parts,
        Part(Polygon((-0.11, -1.25), (0.11, -1.25), (0.08, -0.9), (-0.08, -0.9)), 0.75),
    ]


def clock(draws: Draws) -> list[Part]:
    parts = [Part(Curve([(x * 0.5, 0.6), (x * 0.7, 0.95)], 0.07), 0.7) for x in (-1, 1)]
    parts += [
        Part(Ellipse(x * 0.45, -0.72, 0.24, 0.18, x * 0.2), 0.85, "ball")
        for x in (-1, 1)
    ]
    parts += [
        Part(Ellipse(0, 0, 0.8), 1.0, "ball"),
        Part(Ellipse(0, 0, 0.64), material="light"),
    ]
    crosses = [(0, 1), (0, -1), (1, 0), (-1, 0)]
    for x, y in [*crosses, (0.87, 0.5), (-0.87, 0.5), (0.87, -0.5), (-0.87, -0.5)]:
        parts += [
            Part(Ellipse(0.54 * x, 0.54 * y, 0.045), material="dark", detail=True)
        ]
    hour, minute = draws.between(-0.3, 0.3), draws.between(-0.4, 0.4)
    parts += [Part(Curve([(0, 0), (hour, -0.28)], 0.05), material="dark", detail=True)]
    return [
        *parts,
        Part(Curve([(0, 0), (0.38, minute)], 0.04), material="dark", detail=True),
    ]


def mushroom(draws: Draws) -> list[Part]:
    w, high = draws.between(0.75, 0.95), draws.between(0.65, 0.85)
    stalk = Polygon((-0.2, -0.1), (0.2, -0.1), (0.3, 0.9), (-0.3, 0.9))
    cap = Meet(Ellipse(0, 0.05, w, high), Box(-1, -1, 1, 0.1))
    parts = [Part(stalk, 1.0, "round", "light"), Part(cap, 1.0, "ball")]
    spots = [
        (-0.4, -0.2, 0.12),
        (0.05, -0.4, 0.14),
        (0.45, -0.15, 0.1),
        (-0.05, -0.05, 0.08),
    ]
    for x, y, r in spots:
        parts += [Part(Ellipse(x, y, r, r * 0.85), 1.0, "flat", "light")]
    return parts


def balloon(draws: Draws) -> list[Part]:
    w = draws.between(0.62, 0.74)
    mouth = Polygon((-w * 0.75, 0.02), (w * 0.75, 0.02), (0.16, 0.5), (-0.16, 0.5))
    envelope = Union(Ellipse(0, -0.35, w, 0.68), mouth)
    ropes = [Curve([(x, 0.4), (x, 0.75)], 0.02) for x in (-0.13, 0.13)]
    parts = [Part(rope, material="dark", detail=True) for rope in ropes]
    parts += [Part(envelope, 1.0, "ball")]
    parts += [
        Part(Meet(envelope, Ellipse(0, -0.3, w * 0.36, 0.85)), 1.0, "down", "light")
    ]
    return [*parts, Part(Box(-0.19, 0.7, 0.19, 0.98, 0.04), 0.55, "down")]


_KINDS = (chair, car, bottle, plant, house, fish, umbrella, lamp)
_KINDS += (boat, bird, key, cupcake, guitar, clock, mushroom, balloon)
KINDS = {kind.__name__: kind for kind in _KINDS}
WIDER_KINDS = tuple(KINDS)
TINTS = (0.80, 0.16, 0.14), (0.90, 0.45, 0.12), (0.88, 0.72, 0.16), (0.10, 0.60, 0.32)
TINTS += (0.12, 0.55, 0.55), (0.16, 0.36, 0.75), (0.48, 0.26, 0.66), (0.80, 0.34, 0.56)
TINTS += (0.45, 0.30, 0.20), (0.55, 0.57, 0.60)


def _plain(draws: Draws, size: int) -> np.ndarray:
    colour = tuple(draws.between(0.15, 0.95) for _ in range(3))
    return lit(np.broadcast_to(column(colour), (3, size, size)), draws, 0.25, 0.3)


def _noisy(draws: Draws, size: int) -> np.ndarray:
    first, second = (
        tuple(draws.between(0.1, 0.95) for _ in range(3)) for _ in range(2)
    )
    where, cells = axis(size), draws.between(2, 12)
    return lit(
        lerp(first, second, fractal(draws, where, where, cells, cells, 4)), draws
    )


GROUNDS = {**SCENES, "plain": _plain, "noise": _noisy}


def _one(
    kind: str, index: int, size: int, seed: int
) -> tuple[tuple, np.ndarray, np.ndarray]:
    """Draw one thing, and return its row, image and mask."""
    draws = Draws(seed, WIDER, WIDER_KINDS.index(kind), index)
    style, parts = ("context", "white", "sketch")[index % 3], KINDS[kind](draws)
    light = draws.between(0.75, 1.15)
    tint = tuple(c * light for c in draws.mix(draws.choice(TINTS), draws.choice(TINTS)))
    view = pose(draws, parts, size, 0.09, draws.choice(("ground", "air")), (0.5, 0.85))
    if style == "sketch":
        hand = Hand(draws, tint)
        context, layer, ground = (
            "plain",
            sketch(parts, view, size, hand),
            column(hand.paper),
        )
    else:
        layer = photograph(parts, view, size, Look(draws, tint))
        context, ground = "white", column((1.0, 1.0, 1.0))
        if style == "context":
            context = draws.choice(tuple(GROUNDS))
            ground = GROUNDS[context](draws, size)
    return (kind, context, style, index, seed), to_bytes(layer.over(ground)), layer.mask


def wider(per_kind: int = 150, size: int = 96, seed: int = 0) -> WorldSet:
    """Draw things of none of the four classes, a third each in a context, on white and sketched."""
    every = ((kind, index) for kind in WIDER_KINDS for index in range(per_kind))
    return gathered(_one(kind, index, size, seed) for kind, index in every)
