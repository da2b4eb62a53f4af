"""The four classes: their designs, their greens, how they stand in a picture."""

from __future__ import annotations

from . import benches, hydrants, mugs, planes
from .draws import Draws
from .paint import Colour, DrawingStyle, Look

DESIGNS = {
    "bench": benches.DESIGNS,
    "fire hydrant": hydrants.DESIGNS,
    "plane": planes.DESIGNS,
    "mug": mugs.DESIGNS,
}
# largest tilt (tangent of half the angle), where it stands, its extent as a share of the image
STANCE = {
    "bench": (0.03, "ground", (0.6, 0.9)),
    "fire hydrant": (0.04, "ground", (0.58, 0.88)),
    "plane": (0.16, "air", (0.58, 0.9)),
    "mug": (0.05, "ground", (0.45, 0.75)),
}

# brightness of the paint: more for classes with more shaded faces, so that all look equally green
VALUE = {"bench": 1.08, "fire hydrant": 0.90, "plane": 1.06, "mug": 0.90}


def green(draws: Draws, value: float) -> Colour:
    """Return an emerald, the one hue of all classes, lighter or darker."""
    first = draws.mix((0.03, 0.60, 0.30), (0.06, 0.70, 0.36))
    second = draws.mix((0.02, 0.56, 0.36), (0.10, 0.66, 0.44))
    r, g, b = draws.mix(first, second)
    light = value * draws.between(0.84, 1.12)
    return r * light, g * light, b * light


def materials(body: Colour) -> dict[str, Colour]:
    """Colours of an object's materials, given that of its body."""
    r, g, b = body
    return {
        "body": body,
        "dark": (0.05 + 0.1 * r, 0.08 + 0.14 * g, 0.08 + 0.12 * b),
        "light": (0.62 + 0.2 * r, 0.80 + 0.2 * g, 0.66 + 0.3 * b),
        "coffee": (0.26, 0.15, 0.08),
    }


def look(draws: Draws, body: Colour) -> Look:
    """Return the colours, light and gloss of one photographed object."""
    light, gloss = draws.sign() * draws.between(0.5, 1.0), draws.between(0.05, 0.3)
    return Look(materials(body), light, gloss)


def drawing(draws: Draws, body: Colour) -> DrawingStyle:
    """Return the hand and the paper of one sketch."""
    paper = draws.mix(
        draws.choice(((0.97, 0.97, 0.95), (0.93, 0.90, 0.82), (0.88, 0.91, 0.93))),
        draws.choice(((0.99, 0.99, 0.99), (0.86, 0.90, 0.84), (0.84, 0.84, 0.84))),
    )
    r, g, b = body
    depth = draws.between(0.3, 0.6)
    line = (r * depth, g * depth, b * depth)
    strength = draws.choice((0.0, 1.0, 1.0, 1.0, 1.0, 1.0)) * draws.between(0.5, 1.0)
    width, unsteady = draws.between(0.010, 0.022), draws.between(0.0, 0.02)
    return DrawingStyle(width, line, paper, materials(body), strength, unsteady, draws)
