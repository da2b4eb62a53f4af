"""Benches: four designs, built of boards in space and seen from a drawn angle."""

from __future__ import annotations

from .draws import Draws
from .paint import Part
from .shapes import Curve, Point, Polygon, bend, turn


class Camera:
    """An orthographic look at a solid: turned by 2 atan(yaw), seen from above by 2 atan(pitch).

    Space: x to the right, y downwards, z away from the viewer.
    """

    def __init__(self, yaw: float, pitch: float):
        self.yaw, self.pitch = turn(yaw), turn(pitch)

    def __call__(self, x: float, y: float, z: float) -> Point:
        """Where a point of space is seen, in object coordinates."""
        (cy, sy), (cp, sp) = self.yaw, self.pitch
        return cy * x + sy * z, cp * y - sp * (cy * z - sy * x)

    def board(
        self, x: tuple[float, float], y: tuple[float, float], z: tuple[float, float], tone=1.0
    ) -> list[Part]:
        """Visible faces of a box: its top, one side and its front, each in its own light."""
        side = x[0] if self.yaw[1] < 0 else x[1]
        (x0, x1), (y0, y1), (z0, z1) = x, y, z
        faces = [(1.2, [(x0, y0, z0), (x1, y0, z0), (x1, y0, z1), (x0, y0, z1)])]
        if abs(self.yaw[1]) * (z1 - z0) > 0.015:
            faces += [(0.7, [(side, y0, z0), (side, y1, z0), (side, y1, z1), (side, y0, z1)])]
        faces += [(1.0, [(x0, y0, z0), (x1, y0, z0), (x1, y1, z0), (x0, y1, z0)])]
        parts = [Part(Polygon(*(self(*p) for p in face)), tone * light) for light, face in faces]
        return parts if self.pitch[1] * (z1 - z0) > 0.015 else parts[1:]

    def iron(self, x: float, path: list[Point], r: float, tone: float = 0.6) -> Part:
        """Return a bent iron bar in the plane x, along points (z, y)."""
        return Part(Curve([self(x, y, z) for z, y in path], r), tone)


def _camera(draws: Draws, most: float = 0.26) -> Camera:
    return Camera(draws.between(-most, most), draws.between(0.1, 0.2))


def _boards(camera: Camera, n: int, low: float, high: float, horizontal: bool) -> list[Part]:
    """Return n boards side by side, of the seat (over depth) or of the back (over height)."""
    parts, step = [], (high - low) / n
    for i in range(n):
        start = high - (i + 1) * step if horizontal else low + i * step
        span = (start + 0.07 * step, start + 0.93 * step)
        if horizontal:
            parts += camera.board((-1, 1), (-0.035, 0.035), span)
        else:
            parts += camera.board((-1, 1), span, (0.5, 0.54))
    return parts


def slatted(draws: Draws) -> list[Part]:
    """A park bench: slatted seat and back, square legs, arm rests."""
    camera, height = _camera(draws), draws.between(0.5, 0.62)
    back, slats = draws.between(0.58, 0.75), draws.count(3, 4)
    x = draws.between(0.78, 0.92)
    parts = []
    for side in (-x, x):
        parts += camera.board((side - 0.05, side + 0.05), (-back, height), (0.54, 0.6), 0.75)
    parts += _boards(camera, slats, -back, -0.12, horizontal=False)
    parts += _boards(camera, 3, 0.0, 0.5, horizontal=True)
    for side in (-x, x):
        parts += camera.board((side - 0.05, side + 0.05), (0.035, height), (0.02, 0.1), 0.75)
        parts += camera.board((side - 0.04, side + 0.04), (-0.3, -0.035), (0.02, 0.08), 0.75)
        parts += camera.board((side - 0.06, side + 0.06), (-0.36, -0.3), (0.0, 0.5), 0.85)
    return parts


def backless(draws: Draws) -> list[Part]:
    """Return a plank on two trestles with a stretcher between them."""
    camera, height, thick = _camera(draws), draws.between(0.5, 0.65), draws.between(0.08, 0.13)
    x, wide = draws.between(0.6, 0.8), draws.between(0.06, 0.14)
    parts = camera.board((-x, x), (height * 0.45, height * 0.45 + 0.09), (0.2, 0.28), 0.7)
    for side in (-x, x):
        parts += camera.board((side - wide, side + wide), (0.0, height), (0.04, 0.44), 0.72)
    planks, step = draws.count(1, 3), 0.5
    step /= planks
    for i in reversed(range(planks)):
        parts += camera.board((-1, 1), (-thick, 0.0), (i * step, (i + 0.94) * step), 1.05)
    return parts


def cast_iron(draws: Draws) -> list[Part]:
    """Slats on two curved iron frames with scrolled arms."""
    camera, height = _camera(draws, 0.3), draws.between(0.5, 0.6)
    back, r = draws.between(0.6, 0.72), draws.between(0.036, 0.046)
    rear = [*bend((0.68, height), (0.42, 0.2), (0.5, 0.0), 3), (0.58, -back)]
    front = bend((-0.04, height), (0.2, 0.25), (0.02, 0.02), 4)
    arm = [*bend((0.54, -0.34), (0.1, -0.42), (-0.02, -0.26), 4), (0.04, -0.02)]
    parts = [camera.iron(x, rear, r) for x in (-0.9, 0.9)]
    parts += [camera.iron(x, front, r) for x in (-0.9, 0.9)]
    parts += _boards(camera, draws.count(3, 4), -back, -0.14, horizontal=False)
    parts += _boards(camera, draws.count(3, 4), 0.0, 0.5, horizontal=True)
    parts += [camera.iron(x, arm, r) for x in (-0.9, 0.9)]
    return parts


def settle(draws: Draws) -> list[Part]:
    """A heavy bench of planks: closed sides, a high solid back."""
    camera, height = _camera(draws, 0.22), draws.between(0.42, 0.52)
    back, arm = draws.between(0.6, 0.8), draws.between(0.26, 0.36)
    parts = camera.board((-0.95, 0.95), (-back, height), (0.5, 0.56), 0.95)
    panels = draws.count(4, 6)
    for i in range(panels):
        x = -0.86 + 1.72 * (i + 0.5) / panels
        w = 0.7 / panels
        parts += camera.board((x - w, x + w), (-back + 0.1, -0.12), (0.49, 0.5), 0.8)
    parts += camera.board((-0.95, 0.95), (-0.05, 0.06), (0.0, 0.5))
    for side in (-0.98, 0.98):
        wide = (side - 0.07, side + 0.07)
        parts += camera.board(wide, (0.0, height), (0.0, 0.1), 0.85)
        parts += camera.board(wide, (-arm, 0.0), (0.0, 0.08), 0.85)
        parts += camera.board((side - 0.09, side + 0.09), (-arm - 0.07, -arm), (-0.02, 0.5), 0.95)
    return parts


DESIGNS = {"slatted": slatted, "backless": backless, "cast iron": cast_iron, "settle": settle}
