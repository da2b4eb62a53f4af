"""Mugs: four designs."""

from __future__ import annotations

from .draws import Draws
from .paint import Part
from .shapes import Box, Ellipse, Meet, Polygon, Ring, Shape, Union


def _rim(y: float, half: float, flat: float, filled: bool) -> list[Part]:
    """Opening seen from slightly above: lip, inside, what is in it."""
    inside = [Part(Ellipse(0, y + 0.01, half * 0.9, half * flat * 0.84), 0.5)]
    drink = Meet(
        Ellipse(0, y + 0.01, half * 0.88, half * flat * 0.82),
        Ellipse(0, y + half * flat * 0.5, half * 0.86, half * flat * 0.82),
    )
    coffee = [Part(drink, material="coffee")] if filled else []
    return [Part(Ellipse(0, y, half, half * flat), 1.12, "round"), *inside, *coffee]


def _band(draws: Draws, half: float, y: float) -> list[Part]:
    """A stripe, a disc or nothing on the side."""
    kind = draws.choice(("none", "stripe", "disc", "two stripes"))
    tone, material = (1.0, "light") if draws.chance(0.5) else (0.55, "body")
    if kind == "disc":
        return [Part(Ellipse(-0.05, y, half * 0.36), tone, "flat", material)]
    ys = {"none": (), "stripe": (y,), "two stripes": (y - 0.12, y + 0.12)}[kind]
    high = 0.09 if kind == "stripe" else 0.045
    return [Part(Box(-half, s - high, half, s + high), tone, "round", material) for s in ys]


def _body(half: float, top: float, foot: float, flat: float) -> Shape:
    return Union(Box(-half, top, half, foot), Ellipse(0, foot, half, half * flat))


def cylinder(draws: Draws) -> list[Part]:
    """Return the plain straight mug with a round handle."""
    half, flat = draws.between(0.5, 0.62), draws.between(0.16, 0.3)
    top, foot = -draws.between(0.55, 0.72), draws.between(0.55, 0.7)
    r = draws.between(0.3, 0.38)
    handle = Ring(Ellipse(half + r * 0.45, 0.02, r, r * draws.between(1.0, 1.25)), 0.13)
    parts = [Part(handle, 0.85, "down"), Part(_body(half, top, foot, flat), 1.0, "round")]
    parts += _band(draws, half, draws.between(-0.1, 0.25))
    return parts + _rim(top, half, flat, draws.chance(0.6))


def conical(draws: Draws) -> list[Part]:
    """Return a mug that narrows to its foot, with a square handle."""
    half, foot = draws.between(0.58, 0.66), draws.between(0.36, 0.44)
    flat = draws.between(0.14, 0.26)
    body = Polygon((-half, -0.62), (half, -0.62), (foot, 0.66), (-foot, 0.66))
    handle = Ring(Box(half * 0.55, -0.36, half + 0.32, 0.34, 0.16), 0.12)
    parts = [
        Part(handle, 0.82, "down"),
        Part(Union(body, Ellipse(0, 0.66, foot, foot * flat)), 1.0, "round"),
    ]
    if draws.chance(0.5):
        parts += [Part(Ellipse(-0.05, 0.05, 0.2), 1.0, "flat", draws.choice(("light", "body")))]
    return parts + _rim(-0.62, half, flat, draws.chance(0.6))


def saucer(draws: Draws) -> list[Part]:
    """Return a wide round cup on a saucer."""
    half, deep = draws.between(0.56, 0.66), draws.between(0.68, 0.82)
    flat, y = draws.between(0.2, 0.3), -0.3
    bowl = Meet(Ellipse(0, y, half, deep), Box(-half, y, half, y + deep))
    plate = [
        Part(Ellipse(0, 0.46, 0.98, 0.26), 0.95, "round"),
        Part(Ellipse(0, 0.44, 0.6, 0.14), 0.7),
    ]
    foot = Part(Box(-0.24, 0.3, 0.24, 0.5, 0.05), 0.75, "round")
    handle = Part(Ring(Ellipse(half + 0.08, -0.04, 0.23, 0.2), 0.1), 0.85, "down")
    parts = [*plate, foot, handle, Part(bowl, 1.0, "round")]
    return parts + _rim(y, half, flat, draws.chance(0.75))


def barrel(draws: Draws) -> list[Part]:
    """Return a bellied mug with a big ear-shaped handle and a dark foot."""
    half, flat = draws.between(0.44, 0.5), draws.between(0.18, 0.28)
    belly = draws.between(0.58, 0.66)
    body = Meet(Ellipse(0, 0.08, belly, 0.98), Box(-1, -0.6, 1, 0.68))
    ear = Ring(Ellipse(belly + 0.1, -0.02, 0.3, 0.42, -0.1), 0.12)
    foot = Part(Box(-0.46, 0.62, 0.46, 0.76, 0.06), 0.6, "round")
    parts = [Part(ear, 0.82, "down"), foot, Part(body, 1.0, "round")]
    lip = Part(Box(-half - 0.04, -0.64, half + 0.04, -0.52, 0.04), 1.0, "round")
    return [
        *parts,
        lip,
        *_band(draws, belly * 0.94, 0.12),
        *_rim(-0.62, half + 0.04, flat, draws.chance(0.6)),
    ]


DESIGNS = {"cylinder": cylinder, "conical": conical, "saucer": saucer, "barrel": barrel}
