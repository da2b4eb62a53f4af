"""Fire hydrants: four designs."""

from __future__ import annotations

from .draws import Draws
from .paint import Part
from .shapes import Box, Curve, Ellipse, Meet, Point, Polygon, Union, bend


def _flange(y: float, half: float, thick: float = 0.1, tone: float = 0.9) -> Part:
    return Part(Box(-half, y, half, y + thick, 0.04), tone, "round")


def _bolts(y: float, half: float, n: int) -> list[Part]:
    xs = [half * (2 * (i + 0.5) / n - 1) for i in range(n)]
    return [Part(Box(x - 0.03, y - 0.045, x + 0.03, y), 0.45, detail=True) for x in xs]


def _dome(y: float, half: float, high: float) -> Part:
    upper = Box(-half, y - high, half, y)
    return Part(Meet(Ellipse(0, y, half, high), upper), 1.05, "ball")


def _cap(side: float, y: float, half: float, r: float, out: float) -> list[Part]:
    """Return a side outlet: pipe, ring and nut, to the left (-1) or right (1) of the barrel."""

    def box(x0: float, x1: float, h: float, tone: float) -> Part:
        x0, x1 = sorted((side * x0, side * x1))
        return Part(Box(x0, y - h, x1, y + h, 0.03), tone, "down")

    return [
        box(half - 0.1, half + out * 0.7, r * 0.8, 0.85),
        box(half + out * 0.45, half + out, r, 1.05),
        box(half + out, half + out + 0.1, r * 0.4, 0.7),
    ]


def _front(y: float, r: float) -> list[Part]:
    nut = [(0.3, 0.0), (0.15, 0.26), (-0.15, 0.26), (-0.3, 0.0), (-0.15, -0.26), (0.15, -0.26)]
    return [
        Part(Ellipse(0, y, r), 0.72, "ball"),
        Part(Ellipse(0, y - 0.01, r * 0.78), 1.08, "ball"),
        Part(Polygon(*((r * x * 1.2, y + r * z * 1.2) for x, z in nut)), 0.55),
    ]


def classic(draws: Draws) -> list[Part]:
    """Return the American hydrant: flanged barrel, domed bonnet, two side caps and a front cap."""
    w, top = draws.between(0.3, 0.38), draws.between(0.34, 0.46)
    y = draws.between(-0.35, -0.22)
    parts = [_flange(0.9, w + 0.17, 0.12), Part(Box(-w, -0.55, w, 0.92), 1.0, "round")]
    parts += [_flange(0.62, w + 0.09, 0.09), *_bolts(0.62, w + 0.05, 4)]
    for side in (-1, 1):
        parts += _cap(side, y, w, 0.17, 0.24)
    parts += [_dome(-0.55, w + 0.02, top), _flange(-0.6, w + 0.1, 0.11)]
    parts += [Part(Box(-0.09, -0.55 - top - 0.12, 0.09, -0.52 - top, 0.02), 0.75, "round")]
    return parts + _front(y + draws.between(0.0, 0.2), draws.between(0.18, 0.24))


def stout(draws: Draws) -> list[Part]:
    """Return a short fat hydrant: tapering body, one big nozzle, flat bonnet."""
    w, foot = draws.between(0.4, 0.48), draws.between(0.52, 0.62)
    body = Polygon((-w, -0.4), (w, -0.4), (foot, 0.75), (-foot, 0.75))
    parts = [_flange(0.7, foot + 0.13, 0.14), Part(body, 1.0, "round")]
    for side in (-1, 1):
        parts += _cap(side, -0.15, w, 0.16, 0.2)
    parts += [_dome(-0.42, w + 0.05, draws.between(0.28, 0.36)), _flange(-0.48, w + 0.12, 0.13)]
    parts += [Part(Box(-0.12, -0.9, 0.12, -0.72, 0.03), 0.75, "round")]
    parts += _bolts(-0.48, w + 0.06, 5)
    return parts + _front(0.12, draws.between(0.27, 0.33))


def chained(draws: Draws) -> list[Part]:
    """Return a tall slim hydrant with a stepped bonnet, wide flanges and chained caps."""
    w, y = draws.between(0.21, 0.26), draws.between(-0.42, -0.3)
    parts = [_flange(0.92, w + 0.22, 0.1), Part(Box(-w, -0.6, w, 0.95), 1.0, "round")]
    parts += [_flange(0.55, w + 0.12, 0.08), _flange(0.66, w + 0.12, 0.08)]
    for side in (-1, 1):
        parts += _cap(side, y, w, 0.15, 0.22)
        chain = bend(
            (side * (w + 0.2), y + 0.16), (side * (w + 0.24), y + 0.62), (side * w, 0.1), 4
        )
        parts += [Part(Curve(chain, 0.025), 0.5, detail=True)]
    cone = Polygon((-w, -0.62), (w, -0.62), (0.1, -0.95), (-0.1, -0.95))
    parts += [Part(cone, 1.05, "round"), _flange(-0.66, w + 0.13, 0.09)]
    parts += [Part(Union(Box(-0.07, -1.08, 0.07, -0.92), Box(-0.14, -0.98, 0.14, -0.92)), 0.7)]
    return parts + _front(y + 0.12, 0.15)


def _slanted(side: float, w: float, y: float, near: float, far: float, r: float) -> Polygon:
    """Return a piece of pipe that slants down from the barrel, from near to far along it."""

    def at(along: float, off: float) -> Point:
        x = w - 0.06 + 1.3 * (along * 0.8 + off * 0.6)
        return side * x, y + 1.3 * (along * 0.6 - off * 0.8)

    return Polygon(at(near, -r), at(far, -r), at(far, r), at(near, r))


def pillar(draws: Draws) -> list[Part]:
    """Return the European pillar hydrant: a hood over a column, two outlets bent downwards."""
    w, y = draws.between(0.24, 0.3), draws.between(-0.15, 0.05)
    parts = [_flange(0.86, w + 0.2, 0.14), Part(Box(-w, -0.5, w, 0.9), 1.0, "round")]
    for side in (-1, 1):
        pipe, collar, cap = (
            _slanted(side, w, y, *p) for p in ((0, 0.2, 0.1), (0.2, 0.28, 0.14), (0.28, 0.36, 0.1))
        )
        parts += [Part(pipe, 0.85), Part(cap, 0.7), Part(collar, 1.05)]
    hood = Polygon((-w - 0.12, -0.42), (w + 0.12, -0.42), (w + 0.02, -0.85), (-w - 0.02, -0.85))
    parts += [Part(hood, 1.05, "round"), _dome(-0.85, w + 0.02, draws.between(0.1, 0.18))]
    parts += [Part(Box(-w - 0.14, -0.5, w + 0.14, -0.4, 0.03), 0.7, "round")]
    parts += [Part(Box(-0.07, -1.1, 0.07, -0.95, 0.02), 0.7)]
    return [*parts, _flange(0.42, w + 0.05, 0.08, 0.8), Part(Box(-0.1, -0.2, 0.1, 0.1, 0.03), 0.7)]


DESIGNS = {"classic": classic, "stout": stout, "chained": chained, "pillar": pillar}
