"""Describe plane shapes by signed distance fields on the pixel grid of any image size.

Distances are in pixels, negative inside, and exact to first order at the outline. Only exactly
rounded operations are used, so the bits are the same on every machine. In object coordinates, x
points to the right and y downwards, both from about -1 to 1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

Point = tuple[float, float]
Bounds = tuple[float, float, float, float]
CENTRES = np.arange(4096, dtype=np.float32) + np.float32(0.5)  # of pixels, along a side


def turn(t: float) -> Point:
    """Return the cosine and sine of the angle 2 atan(t), which is about 11 degrees at t = 0.1."""
    return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)


@dataclass(frozen=True)
class View:
    """Map object coordinates to pixels, with u = a x + b y + e and v = c x + d y + f."""

    a: float
    b: float
    c: float
    d: float
    e: float = 0.0
    f: float = 0.0

    def __call__(self, point: Point) -> Point:
        x, y = point
        return self.a * x + self.b * y + self.e, self.c * x + self.d * y + self.f

    @property
    def scale(self) -> float:
        """Return the pixels per unit of object length (geometric mean over directions)."""
        return math.sqrt(abs(self.a * self.d - self.b * self.c))

    def box(self, bounds: Bounds) -> Bounds:
        x0, y0, x1, y1 = bounds
        us, vs = zip(
            *(self(p) for p in ((x0, y0), (x1, y0), (x0, y1), (x1, y1))), strict=True
        )
        return min(us), min(vs), max(us), max(vs)


class Pixels:
    """Hold the pixel centres of a rectangle of the image (rows and columns), seen through a view."""

    def __init__(self, view: View, rows: slice, columns: slice):
        self.view, self.rows, self.columns = view, rows, columns
        self.v, self.u = CENTRES[rows, None], CENTRES[None, columns]

    def plane(self, ku: float, kv: float, k: float) -> np.ndarray:
        """Compute the field ku u + kv v + k, float32, as an outer sum of a row and a column."""
        return self.u * ku + (self.v * kv + k)

    def linear(self, kx: float, ky: float, k: float) -> np.ndarray:
        """Compute the field kx x + ky y + k of object coordinates, float32."""
        ku, kv = self.slopes(kx, ky)
        return self.plane(ku, kv, k - ku * self.view.e - kv * self.view.f)

    def slopes(self, kx: float, ky: float) -> Point:
        """Return by how much kx x + ky y grows per pixel to the right, and per pixel down."""
        w = self.view
        det = w.a * w.d - w.b * w.c
        return (kx * w.d - ky * w.c) / det, (ky * w.a - kx * w.b) / det


def crop(view: View, bounds: Bounds, size: int, margin: float = 1.5) -> Pixels | None:
    """Return the pixels of a square image near `bounds`, or None if there are none."""
    u0, v0, u1, v1 = view.box(bounds)
    r0, r1 = max(0, math.floor(v0 - margin)), min(size, math.ceil(v1 + margin))
    c0, c1 = max(0, math.floor(u0 - margin)), min(size, math.ceil(u1 + margin))
    return Pixels(view, slice(r0, r1), slice(c0, c1)) if r0 < r1 and c0 < c1 else None


def coverage(distance: np.ndarray) -> np.ndarray:
    """Compute the share of each pixel inside an outline, from the distance at its centre."""
    return (np.float32(0.5) - distance).clip(0, 1)


class Shape:
    """Give `bounds` in object coordinates, and a `field` of signed distances in pixels, float32."""

    bounds: Bounds
    field: Callable[[Pixels], np.ndarray]


def _around(points: Sequence[Point], r: float = 0.0) -> Bounds:
    xs, ys = zip(*points, strict=True)
    return min(xs) - r, min(ys) - r, max(xs) + r, max(ys) + r


class Polygon(Shape):
    """Describe a convex polygon by the largest distance to the lines through its edges."""

    def __init__(self, *points: Point):
        self.points, self.bounds = points, _around(points)

    def field(self, pixels: Pixels) -> np.ndarray:
        corners = [pixels.view(p) for p in self.points]
        pairs = list(zip(corners, corners[1:] + corners[:1], strict=True))
        side = 1.0 if sum(p[0] * q[1] - p[1] * q[0] for p, q in pairs) > 0 else -1.0
        edges = []
        for (u0, v0), (u1, v1) in pairs:
            length = side * math.sqrt((u1 - u0) * (u1 - u0) + (v1 - v0) * (v1 - v0))
            if length:
                ku, kv = (v1 - v0) / length, (u0 - u1) / length
                edges.append(pixels.plane(ku, kv, -(ku * u0 + kv * v0)))
        return reduce(np.maximum, edges)


class Ellipse(Shape):
    """Describe an ellipse with half axes `rx`, `ry`, turned by 2 atan(`t`)."""

    def __init__(
        self, x: float, y: float, rx: float, ry: float | None = None, t: float = 0.0
    ):
        self.x, self.y, self.rx, self.ry = x, y, rx, rx if ry is None else ry
        self.cos, self.sin = turn(t)
        cc, ss = self.cos * self.cos, self.sin * self.sin
        xx, yy = self.rx * self.rx, self.ry * self.ry
        hx, hy = math.sqrt(xx * cc + yy * ss), math.sqrt(xx * ss + yy * cc)
        self.bounds = (x - hx, y - hy, x + hx, y + hy)

    def field(self, pixels: Pixels) -> np.ndarray:
        """Compute the first-order distance (|q| - 1) |q| / |A'q|, where A maps pixels to the circle."""
        px, py = self.cos / self.rx, self.sin / self.rx
        qx, qy = -self.sin / self.ry, self.cos / self.ry
        first = pixels.linear(px, py, -px * self.x - py * self.y)
        second = pixels.linear(qx, qy, -qx * self.x - qy * self.y)
        (pu, pv), (qu, qv) = pixels.slopes(px, py), pixels.slopes(qx, qy)
        gu, gv = first * pu + second * qu, first * pv + second * qv
        norm = first * first + second * second
        length = np.maximum(
            np.sqrt(norm), np.float32(1e-6)
        )  # so that the centre is inside
        slope = np.sqrt(gu * gu + gv * gv) + np.float32(1e-6)
        return (norm - length) / slope


class Curve(Shape):
    """Describe a polyline of a round pen of radius `r`, which tapers linearly to `end` if given."""

    def __init__(self, points: Sequence[Point], r: float, end: float | None = None):
        self.points, self.r, self.end = list(points), r, r if end is None else end
        self.bounds = _around(self.points, max(self.r, self.end))

    def field(self, pixels: Pixels) -> np.ndarray:
        corners = [pixels.view(p) for p in self.points]
        n, scale = len(corners) - 1, pixels.view.scale
        radii = [(self.r + (self.end - self.r) * i / n) * scale for i in range(n + 1)]
        ends = zip(corners, corners[1:], radii, radii[1:], strict=False)
        return reduce(np.minimum, (_segment(pixels, *segment) for segment in ends))


def _segment(pixels: Pixels, p: Point, q: Point, r0: float, r1: float) -> np.ndarray:
    """Compute the distance, in pixels, to a segment whose pen radius goes from r0 to r1."""
    du, dv = q[0] - p[0], q[1] - p[1]
    square = du * du + dv * dv + 1e-9
    along = pixels.plane(du / square, dv / square, -(p[0] * du + p[1] * dv) / square)
    along = along.clip(0, 1)
    u, v = pixels.u - p[0] - along * du, pixels.v - p[1] - along * dv
    distance = np.sqrt(u * u + v * v)
    return distance - r0 if r0 == r1 else distance - (along * (r1 - r0) + r0)


class Box(Shape):
    """Describe an upright rectangle from (x0, y0) to (x1, y1), its corners rounded by radius `r`."""

    def __init__(self, x0: float, y0: float, x1: float, y1: float, r: float = 0.0):
        self.bounds, self.r = (x0, y0, x1, y1), min(r, (x1 - x0) / 2, (y1 - y0) / 2)

    def field(self, pixels: Pixels) -> np.ndarray:
        x0, y0, x1, y1 = self.bounds
        if self.r == 0:
            return Polygon((x0, y0), (x1, y0), (x1, y1), (x0, y1)).field(pixels)
        x = np.abs(pixels.linear(1, 0, -(x0 + x1) / 2)) - ((x1 - x0) / 2 - self.r)
        y = np.abs(pixels.linear(0, 1, -(y0 + y1) / 2)) - ((y1 - y0) / 2 - self.r)
        inside = np.minimum(np.maximum(x, y), 0)
        x, y = np.maximum(x, 0), np.maximum(y, 0)
        return (np.sqrt(x * x + y * y) + inside - self.r) * pixels.view.scale


class Union(Shape):
    """Unite shapes into all points of any of them."""

    edges, joined = (min, min, max, max), np.minimum

    def __init__(self, *shapes: Shape):
        self.shapes = shapes
        sides = zip(*(shape.bounds for shape in shapes), strict=True)
        self.bounds = tuple(
            edge(side) for edge, side in zip(self.edges, sides, strict=True)
        )

    def field(self, pixels: Pixels) -> np.ndarray:
        return reduce(self.joined, (shape.field(pixels) for shape in self.shapes))


class Meet(Union):
    """Intersect shapes into the points that all of them share."""

    edges, joined = (max, max, min, min), np.maximum


class Ring(Shape):
    """Describe a band of width `width` along the outline of a shape."""

    def __init__(self, shape: Shape, width: float):
        x0, y0, x1, y1 = shape.bounds
        self.shape, self.half = shape, width / 2
        self.bounds = (x0 - self.half, y0 - self.half, x1 + self.half, y1 + self.half)

    def field(self, pixels: Pixels) -> np.ndarray:
        return np.abs(self.shape.field(pixels)) - self.half * pixels.view.scale


def bend(start: Point, middle: Point, end: Point, n: int = 5) -> list[Point]:
    """Return n + 1 points of the quadratic Bezier curve from `start` over `middle` to `end`."""
    axes = list(zip(start, middle, end, strict=True))
    return [
        tuple(
            (1 - t) * (1 - t) * a + 2 * t * (1 - t) * b + t * t * c for a, b, c in axes
        )
        for t in (i / n for i in range(n + 1))
    ]
