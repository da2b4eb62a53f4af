"""From a list of parts to pixels: as a shaded photograph or as a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .draws import Draws
from .noise import axis, fractal
from .shapes import Bounds, Pixels, Shape, View, coverage, crop, turn

Colour = tuple[float, ...]


@dataclass(frozen=True)
class Part:
    """One piece of an object, in painting order.

    Parameters
    ----------
    shape : Shape
    tone : float
        Brightness of its surface; 1 is the object's own colour.
    shade : {"flat", "round", "ball", "down"}
        How light falls on it: evenly, as on an upright cylinder, as on a ball, or less towards
        its foot.
    material : str
        A name in the `Look`'s colours: "body", "dark", "light", or a design's own.
    detail : bool
        Too small for an outline: a drawing fills it with the line's colour.
    """

    shape: Shape
    tone: float = 1.0
    shade: str = "flat"
    material: str = "body"
    detail: bool = False


@dataclass(frozen=True)
class Look:
    """How one object is shown: the colours of its materials, its light, its surface."""

    colours: dict[str, Colour]
    light: float = 1.0
    gloss: float = 0.15
    contrast: float = 1.0


@dataclass
class Layer:
    """Premultiplied colour (3, H, W) and coverage (H, W) of an object, float32 in [0, 1]."""

    size: int
    colour: np.ndarray = field(init=False)
    alpha: np.ndarray = field(init=False)

    def __post_init__(self):
        self.colour = np.zeros((3, self.size, self.size), np.float32)
        self.alpha = np.zeros((self.size, self.size), np.float32)

    def cover(self, pixels: Pixels, share: np.ndarray, colour: np.ndarray) -> None:
        """Paint `colour`, (3, h, w) or (3, 1, 1), over the share of each pixel."""
        window = (slice(None), pixels.rows, pixels.columns)
        part = self.colour[window]
        part += (colour - part) * share
        part = self.alpha[window[1:]]
        part += (1 - part) * share

    def over(self, ground: np.ndarray) -> np.ndarray:
        """Return the object in front of a ground of shape (3, H, W)."""
        alpha = np.where(self.alpha > 0.998, np.float32(1), self.alpha)
        return ground * (1 - alpha) + self.colour

    @property
    def mask(self) -> np.ndarray:
        """Return where the object covers half of a pixel or more, bool (H, W)."""
        return self.alpha >= 0.5


def extent(parts: Sequence[Part], view: View) -> Bounds:
    """Pixel bounds of all parts."""
    boxes = [view.box(part.shape.bounds) for part in parts]
    u0, v0, u1, v1 = zip(*boxes, strict=True)
    return min(u0), min(v0), max(u1), max(v1)


def pose(
    draws: Draws,
    parts: Sequence[Part],
    size: int,
    tilt: float,
    place: str,
    span: tuple[float, float] = (0.5, 0.85),
) -> View:
    """Draw how an object stands in the image: mirrored or not, turned, sheared, scaled, placed.

    Parameters
    ----------
    size : int
        Side of the image in pixels.
    tilt : float
        Largest tangent of half the turning angle.
    place : {"ground", "air"}
        On the ground (its foot in the lower part of the image) or anywhere.
    span : (float, float)
        Range of its larger extent, as a share of the image.
    """
    cos, sin = turn(draws.between(-tilt, tilt))
    flip, shear = draws.sign(), draws.between(-0.08, 0.08)
    wide, tall = draws.between(0.92, 1.08), draws.between(0.92, 1.08)
    first = View(flip * wide * cos, tall * (shear * cos - sin), flip * wide * sin, tall * cos)
    u0, v0, u1, v1 = extent(parts, first)
    scale = draws.between(*span) * size / max(u1 - u0, v1 - v0)
    lefts, tops = (0.05, 0.95), (0.55, 1.0) if place == "ground" else (0.1, 0.9)
    left = 0.04 * size + draws.between(*lefts) * max(0.0, 0.92 * size - (u1 - u0) * scale)
    top = 0.04 * size + draws.between(*tops) * max(0.0, 0.92 * size - (v1 - v0) * scale)
    a, b, c, d = (k * scale for k in (first.a, first.b, first.c, first.d))
    return View(a, b, c, d, left - u0 * scale, top - v0 * scale)


def _light(part: Part, pixels: Pixels, light: float) -> np.ndarray | float:
    """Brightness of a part's surface, about 0.6 to 1.15, before its tone."""
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
    """Return the parts as shaded surfaces with darkened rims, painted in order."""
    layer, rim = Layer(size), 0.6 + 0.013 * size
    mirrored = 1.0 if view.a > 0 else -1.0
    for part in parts:
        pixels = crop(view, part.shape.bounds, size)
        if pixels is None:
            continue
        distance = part.shape.field(pixels)
        bright = _light(part, pixels, look.light * mirrored)
        if not part.detail:
            edge = np.minimum(np.maximum(distance + rim, 0), rim) * (0.33 / rim)
            bright = bright - edge
        bright = np.asarray(bright * part.tone, np.float32)
        base = np.asarray(look.colours[part.material], np.float32)[:, None, None]
        shine = np.maximum(bright - np.float32(1.02), 0) * look.gloss * 8
        layer.cover(pixels, coverage(distance), np.minimum(base * bright + shine, 1))
    return layer


def draw(parts: Sequence[Part], view: View, size: int, style: DrawingStyle) -> Layer:
    """Return the parts as a simple drawing: outlines, each hiding what lies behind it."""
    layer, half = Layer(size), style.width * size / 2
    line = np.asarray(style.line, np.float32)[:, None, None]
    wobble = style.wobble(size)
    for part in parts:
        pixels = crop(view, part.shape.bounds, size, margin=2 + half)
        if pixels is None:
            continue
        distance = part.shape.field(pixels) + wobble[pixels.rows, pixels.columns]
        if part.detail:
            layer.cover(pixels, coverage(distance), line)
            continue
        layer.cover(pixels, coverage(distance), style.fill(part))
        layer.cover(pixels, coverage(np.abs(distance + half * 0.7) - half), line)
    return layer


@dataclass(frozen=True)
class DrawingStyle:
    """A hand: line width (share of the image), line colour, fill, unsteadiness.

    Parameters
    ----------
    line, paper : colour
    colours : dict
        Fill of each material.
    strength : float
        0 leaves the paper, 1 fills with the material's colour.
    """

    width: float
    line: Colour
    paper: Colour
    colours: dict[str, Colour]
    strength: float
    unsteady: float
    draws: Draws

    def fill(self, part: Part) -> np.ndarray:
        """Colour of a part's inside, (3, 1, 1)."""
        base = self.colours[part.material]
        tone = min(1.15, 0.4 + 0.6 * part.tone)
        mixed = [
            p + (min(1.0, b * tone) - p) * self.strength
            for p, b in zip(self.paper, base, strict=True)
        ]
        return np.asarray(mixed, np.float32)[:, None, None]

    def wobble(self, size: int) -> np.ndarray:
        """Displacement of the lines in pixels, (size, size)."""
        where = axis(size)
        return (fractal(self.draws, where, where, 9, 9, 1) - 0.5) * (self.unsteady * size)
