"""Paint a list of parts as a shaded photograph or as a sketch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .noise import Draws, axis, fractal
from .shapes import Pixels, Point, Shape, View, coverage, crop, turn

Colour = tuple[float, ...]


@dataclass(frozen=True)
class Part:
    """Describe one piece of an object; pieces are painted in their order."""

    shape: Shape
    tone: float = 1.0  # of its surface, 1 being the object's own brightness
    shade: str = (
        "flat"  # or as on an upright cylinder "round", a "ball", or less light "down"
    )
    material: str = "body"  # or "dark", "light", "coffee"
    detail: bool = (
        False  # too small for an outline: a sketch fills it with the line's colour
    )


def column(colour: Colour) -> np.ndarray:
    """Return a colour as float32 (3, 1, 1)."""
    return np.asarray(colour, np.float32)[:, None, None]


def stamp(image: np.ndarray, pixels: Pixels, share: np.ndarray, colour) -> None:
    """Paint a colour over the share of each pixel of an image (..., H, W), in place."""
    window = image[..., pixels.rows, pixels.columns]
    change = colour - window
    change *= share
    window += change


def materials(body: Colour) -> dict[str, Colour]:
    r, g, b = body
    return {
        "body": body,
        "dark": (0.05 + 0.1 * r, 0.08 + 0.14 * g, 0.08 + 0.12 * b),
        "light": (0.62 + 0.2 * r, 0.80 + 0.2 * g, 0.66 + 0.3 * b),
        "coffee": (0.26, 0.15, 0.08),
    }


class Look:
    """Draw the colours of the materials, the light and the gloss of one photographed object."""

    def __init__(self, draws: Draws, body: Colour):
        self.colours = materials(body)
        self.light, self.gloss = (
            draws.sign() * draws.between(0.5, 1.0),
            draws.between(0.05, 0.3),
        )


class Hand:
    """Draw the paper, the line (width as a share of the image) and the fill of one sketch."""

    def __init__(self, draws: Draws, body: Colour):
        self.draws, self.colours = draws, materials(body)
        self.paper = draws.mix(
            draws.choice(((0.97, 0.97, 0.95), (0.93, 0.90, 0.82), (0.88, 0.91, 0.93))),
            draws.choice(((0.99, 0.99, 0.99), (0.86, 0.90, 0.84), (0.84, 0.84, 0.84))),
        )
        depth = draws.between(0.3, 0.6)
        self.line = tuple(c * depth for c in body)
        # of the fill: 0 leaves the paper, 1 is the material's colour
        self.strength = draws.choice((0.0, 1.0, 1.0, 1.0, 1.0, 1.0)) * draws.between(
            0.5, 1.0
        )
        self.width, self.unsteady = (
            draws.between(0.010, 0.022),
            draws.between(0.0, 0.02),
        )

    def fill(self, part: Part) -> np.ndarray:
        tone, colours = min(1.15, 0.4 + 0.6 * part.tone), self.colours[part.material]
        pairs = zip(self.paper, colours, strict=True)
        return column([p + (min(1.0, b * tone) - p) * self.strength for p, b in pairs])

    def wobble(self, size: int) -> np.ndarray:
        where = axis(size)
        return (fractal(self.draws, where, where, 9, 9, 1) - 0.5) * (
            self.unsteady * size
        )


class Layer:
    """Hold the premultiplied colour (3, H, W) and coverage (H, W) of an object, float32 in [0, 1]."""

    def __init__(self, size: int):
        self.size = size
        self.colour = np.zeros((3, size, size), np.float32)
        self.alpha = np.zeros((size, size), np.float32)

    def cover(self, pixels: Pixels, share: np.ndarray, colour: np.ndarray) -> None:
        """Paint `colour`, (3, h, w) or (3, 1, 1), over the share of each pixel."""
        stamp(self.colour, pixels, share, colour)
        stamp(self.alpha, pixels, share, 1)

    def over(self, ground: np.ndarray) -> np.ndarray:
        """Place the object in front of a background of shape (3, H, W) or (3, 1, 1)."""
        alpha = np.where(self.alpha > 0.998, np.float32(1), self.alpha)
        return ground * (1 - alpha) + self.colour

    @property
    def mask(self) -> np.ndarray:
        """Mark the pixels that the object covers by half or more, bool (H, W)."""
        return self.alpha >= 0.5


def pose(
    draws: Draws, parts: Sequence[Part], size: int, tilt: float, place: str, span: Point
) -> View:
    """Draw how an object is turned (by 2 atan(`tilt`) at most), scaled (`span`) and placed."""
    cos, sin = turn(draws.between(-tilt, tilt))
    flip, shear = draws.sign(), draws.between(-0.08, 0.08)
    wide, tall = draws.between(0.92, 1.08), draws.between(0.92, 1.08)
    first = View(
        flip * wide * cos, tall * (shear * cos - sin), flip * wide * sin, tall * cos
    )
    us, vs, to_us, to_vs = zip(
        *(first.box(part.shape.bounds) for part in parts), strict=True
    )
    u0, v0, u1, v1 = min(us), min(vs), max(to_us), max(to_vs)
    scale = draws.between(*span) * size / max(u1 - u0, v1 - v0)
    lefts, tops = (0.05, 0.95), (0.55, 1.0) if place == "ground" else (0.1, 0.9)
    left = 0.04 * size + draws.between(*lefts) * max(
        0.0, 0.92 * size - (u1 - u0) * scale
    )
    top = 0.04 * size + draws.between(*tops) * max(0.0, 0.92 * size - (v1 - v0) * scale)
    turned = (k * scale for k in (first.a, first.b, first.c, first.d))
    return View(*turned, left - u0 * scale, top - v0 * scale)


def _light(part: Part, pixels: Pixels, light: float) -> np.ndarray | float:
    """Compute the brightness of a part's surface, about 0.6 to 1.15, before its tone."""
    if part.shade == "flat":
        return 1.0
    x0, y0, x1, y1 = part.shape.bounds
    w, h = (x1 - x0) / 2, (y1 - y0) / 2
    if part.shade == "down":
        return pixels.linear(0, -0.22 / h, 1 + 0.22 * (y0 + y1) / 2 / h)
    x = pixels.linear(1 / w, 0, -(x0 + x1) / 2 / w - 0.35 * light)
    if part.shade == "round":
        return 1.18 - x * x * 0.34
    y = pixels.linear(0, 1 / h, -(y0 + y1) / 2 / h + 0.4)
    return 1.2 - (x * x + y * y) * 0.22


def photograph(parts: Sequence[Part], view: View, size: int, look: Look) -> Layer:
    """Paint the parts in order, as shaded surfaces with darkened rims."""
    layer, rim = Layer(size), 0.6 + 0.013 * size
    mirrored = 1.0 if view.a > 0 else -1.0
    for part in parts:
        pixels = crop(view, part.shape.bounds, size)
        if pixels is None:
            continue
        distance = part.shape.field(pixels)
        bright = _light(part, pixels, look.light * mirrored)
        if not part.detail:
            bright = bright - (distance + rim).clip(0, rim) * (0.33 / rim)
        bright = np.asarray(bright * part.tone, np.float32)
        base = column(look.colours[part.material])
        shine = np.maximum(bright - np.float32(1.02), 0) * look.gloss * 8
        layer.cover(pixels, coverage(distance), np.minimum(base * bright + shine, 1))
    return layer


def sketch(parts: Sequence[Part], view: View, size: int, hand: Hand) -> Layer:
    """Draw the parts as outlines, and let each hide what lies behind it."""
    layer, half = Layer(size), hand.width * size / 2
    line, wobble = column(hand.line), hand.wobble(size)
    for part in parts:
        pixels = crop(view, part.shape.bounds, size, margin=2 + half)
        if pixels is None:
            continue
        distance = part.shape.field(pixels) + wobble[pixels.rows, pixels.columns]
        layer.cover(
            pixels, coverage(distance), line if part.detail else hand.fill(part)
        )
        if not part.detail:
            layer.cover(pixels, coverage(np.abs(distance + half * 0.7) - half), line)
    return layer
