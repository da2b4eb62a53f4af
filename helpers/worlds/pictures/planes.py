"""Planes: four designs, from the side, from above and from ahead."""

from __future__ import annotations

from .draws import Draws
from .paint import Part
from .shapes import Box, Curve, Ellipse, Polygon, Union


def airliner(draws: Draws) -> list[Part]:
    """Return an airliner from the side: row of windows, swept fin, near wing and engine."""
    r, tall = draws.between(0.12, 0.16), draws.between(0.34, 0.46)
    tail = Polygon((0.5, -r), (1.02, -r * 0.9), (1.0, -r * 0.35), (0.5, r))
    body = Union(Box(-0.75, -r, 0.56, r, r), Ellipse(-0.72, 0.02, 0.28, r * 0.98), tail)
    fin = Polygon((0.66, -r * 0.8), (1.0, -r * 0.7), (1.1, -r - tall), (0.93, -r - tall))
    far = Polygon((-0.12, -0.02), (0.16, -0.02), (0.42, -0.34), (0.3, -0.34))
    wing = Polygon((-0.2, 0.04), (0.2, 0.06), (0.62, 0.46), (0.46, 0.46))
    rear = Polygon((0.74, -0.06), (0.96, -0.05), (1.16, 0.1), (1.04, 0.1))
    parts = [Part(far, 0.65), Part(fin, 0.85, "down"), Part(body, 1.0, "down")]
    parts += [Part(Box(-0.9, -0.075, -0.78, -0.015, 0.02), material="dark", detail=True)]
    n = draws.count(7, 11)
    for i in range(n):
        x = -0.62 + 1.15 * i / (n - 1)
        parts += [Part(Ellipse(x, -0.03, 0.028), material="dark", detail=True)]
    parts += [Part(rear, 0.75), Part(Box(-0.02, 0.17, 0.28, 0.31, 0.07), 0.7, "down")]
    return [*parts, Part(wing, 0.8)]


def swept(draws: Draws) -> list[Part]:
    """Return a jet from above: swept wings, tail plane, engines; nose to the left."""
    back, span = draws.between(0.25, 0.6), draws.between(0.75, 0.95)
    r, engines = draws.between(0.1, 0.14), draws.count(1, 2)
    parts = []
    for side in (-1, 1):
        for i in range(engines):
            at = 0.36 + 0.26 * i
            x = -0.3 + back * at
            pod = Box(x - 0.14, side * span * at - 0.055, x + 0.1, side * span * at + 0.055, 0.05)
            parts += [Part(pod, 0.6, "down")]
        wing = [(-0.34, 0), (0.14, 0), (0.02 + back, side * span), (-0.12 + back, side * span)]
        rear = [(0.7, 0), (0.92, 0), (1.04, side * 0.34), (0.94, side * 0.34)]
        parts += [Part(Polygon(*wing), 0.82 if side < 0 else 0.95), Part(Polygon(*rear), 0.85)]
    tail = Polygon((0.45, -r), (1.0, -0.03), (1.0, 0.03), (0.45, r))
    parts += [
        Part(Union(Box(-0.9, -r, 0.5, r, r), Ellipse(-0.8, 0, 0.22, r * 0.97), tail), 1.08, "down")
    ]
    parts += [Part(Polygon((0.6, -0.025), (1.08, -0.025), (1.08, 0.025), (0.6, 0.025)), 0.65)]
    return [*parts, Part(Box(-0.92, -0.06, -0.84, 0.06, 0.03), material="dark", detail=True)]


def propeller(draws: Draws) -> list[Part]:
    """Return a small high-winged propeller plane from the side, on its wheels."""
    r, wing = draws.between(0.15, 0.19), draws.between(0.75, 0.95)
    body = Polygon(
        (-0.82, -r * 0.75), (0.1, -r), (0.95, -0.1), (0.95, 0.0), (0.1, r), (-0.78, r * 0.8)
    )
    cabin = Polygon((-0.42, -r), (-0.26, -r - 0.2), (0.14, -r - 0.2), (0.36, -r * 0.7))
    fin = Polygon((0.7, -0.08), (0.96, -0.08), (1.04, -0.46), (0.9, -0.46))
    parts = [Part(fin, 0.85), Part(Curve([(-0.3, 0.1), (-0.36, 0.36)], 0.03), 0.55)]
    parts += [Part(Curve([(0.02, 0.1), (0.06, 0.36)], 0.03), 0.55)]
    parts += [Part(cabin, 0.95), Part(body, 1.0, "down")]
    glass = Polygon((-0.34, -r), (-0.22, -r - 0.14), (-0.06, -r - 0.14), (-0.06, -r))
    parts += [Part(glass, material="light"), Part(Box(-0.0, -r - 0.14, 0.14, -r), material="light")]
    for x in (-0.37, 0.07):
        parts += [Part(Ellipse(x, 0.4, 0.1), material="dark"), Part(Ellipse(x, 0.4, 0.04), 1.1)]
    parts += [Part(Ellipse(-0.08, -r - 0.24, wing * 0.62, 0.06), 0.9, "down")]
    parts += [Part(Curve([(-0.06, 0.04), (0.1, -r - 0.22)], 0.02), 0.6, detail=True)]
    parts += [Part(Polygon((0.68, -0.09), (0.98, -0.08), (1.12, -0.03), (0.72, -0.02)), 0.75)]
    blade = draws.between(0.34, 0.44)
    parts += [
        Part(Ellipse(-0.9, 0.0, 0.035, blade), 0.7),
        Part(Ellipse(-0.87, 0.0, 0.1, 0.07), 1.05, "ball"),
    ]
    return parts


def head_on(draws: Draws) -> list[Part]:
    """Return an airliner coming towards the viewer: round nose, raised wings, an engine on each."""
    rise, r = draws.between(0.1, 0.28), draws.between(0.2, 0.25)
    out, pod = draws.between(0.42, 0.55), draws.between(0.095, 0.125)
    parts = [Part(Polygon((-0.03, -0.1), (0.03, -0.1), (0.02, -0.72), (-0.02, -0.72)), 0.75)]
    for side in (-1, 1):
        rear = Polygon((0, -0.2), (0, -0.13), (side * 0.42, -0.24), (side * 0.42, -0.27))
        wing = Polygon((0, 0.02), (0, 0.16), (side, 0.04 - rise), (side, 0.0 - rise))
        y = 0.2 - rise * out
        parts += [Part(rear, 0.8), Part(wing, 0.85)]
        parts += [Part(Ellipse(side * out, y, pod), 1.0, "ball")]
        parts += [Part(Ellipse(side * out, y, pod * 0.68), material="dark", detail=True)]
    parts += [Part(Ellipse(0, 0, r), 1.0, "ball")]
    for side in (-1, 1):
        glass = [(0.012, -0.12), (0.012, -0.05), (r * 0.62, -0.03), (r * 0.5, -0.11)]
        pane = Polygon(*((side * x, y) for x, y in glass))
        parts += [Part(pane, material="dark", detail=True)]
        wheel = Box(side * 0.14 - 0.03, r * 0.75, side * 0.14 + 0.03, r + 0.15, 0.03)
        parts = [Part(wheel, material="dark"), *parts]
    return parts


DESIGNS = {"airliner": airliner, "swept": swept, "propeller": propeller, "head on": head_on}
