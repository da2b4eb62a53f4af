"""Draw the objects of the four classes as lists of parts, from back to front.

Each class has four designs, whose measures are random.
"""

from .noise import Draws
from .paint import Colour, Part
from .shapes import Box, Curve, Ellipse, Meet, Point, Polygon, Ring, Union, bend, turn


class Camera:
    """Project a solid orthographically; x points to the right, y downwards, z away."""

    def __init__(self, yaw: float, pitch: float):
        self.yaw, self.pitch = turn(yaw), turn(pitch)

    def __call__(self, x: float, y: float, z: float) -> Point:
        (cy, sy), (cp, sp) = self.yaw, self.pitch
        return cy * x + sy * z, cp * y - sp * (cy * z - sy * x)

    def board(self, x: Point, y: Point, z: Point, tone: float = 1.0) -> list[Part]:
        """Return the visible faces of a box (top, one side, front), each in its own light."""
        side = x[0] if self.yaw[1] < 0 else x[1]
        (x0, x1), (y0, y1), (z0, z1) = x, y, z
        faces = [(1.2, [(x0, y0, z0), (x1, y0, z0), (x1, y0, z1), (x0, y0, z1)])]
        if abs(self.yaw[1]) * (z1 - z0) > 0.015:
            faces += [
                (0.7, [(side, y0, z0), (side, y1, z0), (side, y1, z1), (side, y0, z1)])
            ]
        faces += [(1.0, [(x0, y0, z0), (x1, y0, z0), (x1, y1, z0), (x0, y1, z0)])]
        parts = [
            Part(Polygon(*(self(*p) for p in face)), tone * light)
            for light, face in faces
        ]
        return parts if self.pitch[1] * (z1 - z0) > 0.015 else parts[1:]

    def iron(self, x: float, path: list[Point], r: float, tone: float = 0.6) -> Part:
        """Return a bent iron bar in the plane x, along points (z, y)."""
        return Part(Curve([self(x, y, z) for z, y in path], r), tone)


def _camera(draws: Draws, most: float = 0.26) -> Camera:
    return Camera(draws.between(-most, most), draws.between(0.1, 0.2))


def _boards(
    camera: Camera, n: int, low: float, high: float, horizontal: bool
) -> list[Part]:
    """Lay boards side by side, for the seat (over depth) or the back (over height)."""
    parts, step = [], (high - low) / n
    for i in range(n):
        start = high - (i + 1) * step if horizontal else low + i * step
        span = (start + 0.07 * step, start + 0.93 * step)
        y, z = ((-0.035, 0.035), span) if horizontal else (span, (0.5, 0.54))
        parts += camera.board((-1, 1), y, z)
    return parts


def slatted(draws: Draws) -> list[Part]:
    camera, height = _camera(draws), draws.between(0.5, 0.62)
    back, slats = draws.between(0.58, 0.75), draws.count(3, 4)
    x = draws.between(0.78, 0.92)
    parts = []
    for side in (-x, x):
        parts += camera.board(
            (side - 0.05, side + 0.05), (-back, height), (0.54, 0.6), 0.75
        )
    parts += _boards(camera, slats, -back, -0.12, horizontal=False)
    parts += _boards(camera, 3, 0.0, 0.5, horizontal=True)
    for side in (-x, x):
        parts += camera.board(
            (side - 0.05, side + 0.05), (0.035, height), (0.02, 0.1), 0.75
        )
        parts += camera.board(
            (side - 0.04, side + 0.04), (-0.3, -0.035), (0.02, 0.08), 0.75
        )
        parts += camera.board(
            (side - 0.06, side + 0.06), (-0.36, -0.3), (0.0, 0.5), 0.85
        )
    return parts


def backless(draws: Draws) -> list[Part]:
    camera, height, thick = (
        _camera(draws),
        draws.between(0.5, 0.65),
        draws.between(0.08, 0.13),
    )
    x, wide = draws.between(0.6, 0.8), draws.between(0.06, 0.14)
    parts = camera.board(
        (-x, x), (height * 0.45, height * 0.45 + 0.09), (0.2, 0.28), 0.7
    )
    for side in (-x, x):
        parts += camera.board(
            (side - wide, side + wide), (0.0, height), (0.04, 0.44), 0.72
        )
    planks, step = draws.count(1, 3), 0.5
    step /= planks
    for i in reversed(range(planks)):
        parts += camera.board(
            (-1, 1), (-thick, 0.0), (i * step, (i + 0.94) * step), 1.05
        )
    return parts


def cast_iron(draws: Draws) -> list[Part]:
    camera, height = _camera(draws, 0.3), draws.between(0.5, 0.6)
    back, r = draws.between(0.6, 0.72), draws.between(0.036, 0.046)
    rear = [*bend((0.68, height), (0.42, 0.2), (0.5, 0.0), 3), (0.58, -back)]
    front = bend((-0.04, height), (0.2, 0.25), (0.02, 0.02), 4)
    arm = [*bend((0.54, -0.34), (0.1, -0.42), (-0.02, -0.26), 4), (0.04, -0.02)]
    parts = [camera.iron(x, bar, r) for bar in (rear, front) for x in (-0.9, 0.9)]
    parts += _boards(camera, draws.count(3, 4), -back, -0.14, horizontal=False)
    parts += _boards(camera, draws.count(3, 4), 0.0, 0.5, horizontal=True)
    parts += [camera.iron(x, arm, r) for x in (-0.9, 0.9)]
    return parts


def settle(draws: Draws) -> list[Part]:
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
        parts += camera.board(
            (side - 0.09, side + 0.09), (-arm - 0.07, -arm), (-0.02, 0.5), 0.95
        )
    return parts


def _flange(y: float, half: float, thick: float = 0.1, tone: float = 0.9) -> Part:
    return Part(Box(-half, y, half, y + thick, 0.04), tone, "round")


def _bolts(y: float, half: float, n: int) -> list[Part]:
    xs = [half * (2 * (i + 0.5) / n - 1) for i in range(n)]
    return [Part(Box(x - 0.03, y - 0.045, x + 0.03, y), 0.45, detail=True) for x in xs]


def _dome(y: float, half: float, high: float) -> Part:
    upper = Box(-half, y - high, half, y)
    return Part(Meet(Ellipse(0, y, half, high), upper), 1.05, "ball")


def _cap(side: float, y: float, half: float, r: float, out: float) -> list[Part]:
    """Return a side outlet (pipe, ring, nut), to the left (-1) or right (1) of the barrel."""

    def box(x0: float, x1: float, h: float, tone: float) -> Part:
        x0, x1 = sorted((side * x0, side * x1))
        return Part(Box(x0, y - h, x1, y + h, 0.03), tone, "down")

    return [
        box(half - 0.1, half + out * 0.7, r * 0.8, 0.85),
        box(half + out * 0.45, half + out, r, 1.05),
        box(half + out, half + out + 0.1, r * 0.4, 0.7),
    ]


def _front(y: float, r: float) -> list[Part]:
    nut = [
        (0.3, 0.0),
        (0.15, 0.26),
        (-0.15, 0.26),
        (-0.3, 0.0),
        (-0.15, -0.26),
        (0.15, -0.26),
    ]
    return [
        Part(Ellipse(0, y, r), 0.72, "ball"),
        Part(Ellipse(0, y - 0.01, r * 0.78), 1.08, "ball"),
        Part(Polygon(*((r * x * 1.2, y + r * z * 1.2) for x, z in nut)), 0.55),
    ]


def classic(draws: Draws) -> list[Part]:
    w, top = draws.between(0.3, 0.38), draws.between(0.34, 0.46)
    y = draws.between(-0.35, -0.22)
    parts = [_flange(0.9, w + 0.17, 0.12), Part(Box(-w, -0.55, w, 0.92), 1.0, "round")]
    parts += [_flange(0.62, w + 0.09, 0.09), *_bolts(0.62, w + 0.05, 4)]
    for side in (-1, 1):
        parts += _cap(side, y, w, 0.17, 0.24)
    parts += [_dome(-0.55, w + 0.02, top), _flange(-0.6, w + 0.1, 0.11)]
    parts += [
        Part(Box(-0.09, -0.55 - top - 0.12, 0.09, -0.52 - top, 0.02), 0.75, "round")
    ]
    return parts + _front(y + draws.between(0.0, 0.2), draws.between(0.18, 0.24))


def stout(draws: Draws) -> list[Part]:
    w, foot = draws.between(0.4, 0.48), draws.between(0.52, 0.62)
    body = Polygon((-w, -0.4), (w, -0.4), (foot, 0.75), (-foot, 0.75))
    parts = [_flange(0.7, foot + 0.13, 0.14), Part(body, 1.0, "round")]
    for side in (-1, 1):
        parts += _cap(side, -0.15, w, 0.16, 0.2)
    parts += [
        _dome(-0.42, w + 0.05, draws.between(0.28, 0.36)),
        _flange(-0.48, w + 0.12, 0.13),
    ]
    parts += [Part(Box(-0.12, -0.9, 0.12, -0.72, 0.03), 0.75, "round")]
    parts += _bolts(-0.48, w + 0.06, 5)
    return parts + _front(0.12, draws.between(0.27, 0.33))


def chained(draws: Draws) -> list[Part]:
    w, y = draws.between(0.21, 0.26), draws.between(-0.42, -0.3)
    parts = [_flange(0.92, w + 0.22, 0.1), Part(Box(-w, -0.6, w, 0.95), 1.0, "round")]
    parts += [_flange(0.55, w + 0.12, 0.08), _flange(0.66, w + 0.12, 0.08)]
    for side in (-1, 1):
        parts += _cap(side, y, w, 0.15, 0.22)
        ends = (side * (w + 0.2), y + 0.16), (side * w, 0.1)
        chain = bend(ends[0], (side * (w + 0.24), y + 0.62), ends[1], 4)
        parts += [Part(Curve(chain, 0.025), 0.5, detail=True)]
    cone = Polygon((-w, -0.62), (w, -0.62), (0.1, -0.95), (-0.1, -0.95))
    parts += [Part(cone, 1.05, "round"), _flange(-0.66, w + 0.13, 0.09)]
    parts += [
        Part(Union(Box(-0.07, -1.08, 0.07, -0.92), Box(-0.14, -0.98, 0.14, -0.92)), 0.7)
    ]
    return parts + _front(y + 0.12, 0.15)


def _slanted(
    side: float, w: float, y: float, near: float, far: float, r: float
) -> Polygon:
    """Return a piece of pipe that slants down from the barrel, from `near` to `far` along it."""

    def at(along: float, off: float) -> Point:
        x = w - 0.06 + 1.3 * (along * 0.8 + off * 0.6)
        return side * x, y + 1.3 * (along * 0.6 - off * 0.8)

    return Polygon(at(near, -r), at(far, -r), at(far, r), at(near, r))


def pillar(draws: Draws) -> list[Part]:
    w, y = draws.between(0.24, 0.3), draws.between(-0.15, 0.05)
    parts = [_flange(0.86, w + 0.2, 0.14), Part(Box(-w, -0.5, w, 0.9), 1.0, "round")]
    for side in (-1, 1):
        pieces = (0, 0.2, 0.1), (0.2, 0.28, 0.14), (0.28, 0.36, 0.1)
        pipe, collar, cap = (_slanted(side, w, y, *piece) for piece in pieces)
        parts += [Part(pipe, 0.85), Part(cap, 0.7), Part(collar, 1.05)]
    hood = Polygon(
        (-w - 0.12, -0.42), (w + 0.12, -0.42), (w + 0.02, -0.85), (-w - 0.02, -0.85)
    )
    parts += [
        Part(hood, 1.05, "round"),
        _dome(-0.85, w + 0.02, draws.between(0.1, 0.18)),
    ]
    parts += [Part(Box(-w - 0.14, -0.5, w + 0.14, -0.4, 0.03), 0.7, "round")]
    parts += [Part(Box(-0.07, -1.1, 0.07, -0.95, 0.02), 0.7)]
    return [
        *parts,
        _flange(0.42, w + 0.05, 0.08, 0.8),
        Part(Box(-0.1, -0.2, 0.1, 0.1, 0.03), 0.7),
    ]


def _rim(y: float, half: float, flat: float, filled: bool) -> list[Part]:
    """Return the lip, the inside and the content of an opening, seen from slightly above."""
    inside = [Part(Ellipse(0, y + 0.01, half * 0.9, half * flat * 0.84), 0.5)]
    drink = Meet(
        Ellipse(0, y + 0.01, half * 0.88, half * flat * 0.82),
        Ellipse(0, y + half * flat * 0.5, half * 0.86, half * flat * 0.82),
    )
    coffee = [Part(drink, material="coffee")] if filled else []
    return [Part(Ellipse(0, y, half, half * flat), 1.12, "round"), *inside, *coffee]


def _band(draws: Draws, half: float, y: float) -> list[Part]:
    """Return a stripe, a disc or nothing for the side of a mug."""
    kind = draws.choice(("none", "stripe", "disc", "two stripes"))
    tone, material = (1.0, "light") if draws.chance(0.5) else (0.55, "body")
    if kind == "disc":
        return [Part(Ellipse(-0.05, y, half * 0.36), tone, "flat", material)]
    ys = {"none": (), "stripe": (y,), "two stripes": (y - 0.12, y + 0.12)}[kind]
    high = 0.09 if kind == "stripe" else 0.045
    return [
        Part(Box(-half, s - high, half, s + high), tone, "round", material) for s in ys
    ]


def cylinder(draws: Draws) -> list[Part]:
    half, flat = draws.between(0.5, 0.62), draws.between(0.16, 0.3)
    top, foot = -draws.between(0.55, 0.72), draws.between(0.55, 0.7)
    r = draws.between(0.3, 0.38)
    handle = Ring(Ellipse(half + r * 0.45, 0.02, r, r * draws.between(1.0, 1.25)), 0.13)
    body = Union(Box(-half, top, half, foot), Ellipse(0, foot, half, half * flat))
    parts = [Part(handle, 0.85, "down"), Part(body, 1.0, "round")]
    parts += _band(draws, half, draws.between(-0.1, 0.25))
    return parts + _rim(top, half, flat, draws.chance(0.6))


def conical(draws: Draws) -> list[Part]:
    half, foot = draws.between(0.58, 0.66), draws.between(0.36, 0.44)
    flat = draws.between(0.14, 0.26)
    body = Polygon((-half, -0.62), (half, -0.62), (foot, 0.66), (-foot, 0.66))
    handle = Ring(Box(half * 0.55, -0.36, half + 0.32, 0.34, 0.16), 0.12)
    body = Union(body, Ellipse(0, 0.66, foot, foot * flat))
    parts = [Part(handle, 0.82, "down"), Part(body, 1.0, "round")]
    if draws.chance(0.5):
        parts += [
            Part(
                Ellipse(-0.05, 0.05, 0.2), 1.0, "flat", draws.choice(("light", "body"))
            )
        ]
    return parts + _rim(-0.62, half, flat, draws.chance(0.6))


def saucer(draws: Draws) -> list[Part]:
    half, deep = draws.between(0.56, 0.66), draws.between(0.68, 0.82)
    flat, y = draws.between(0.2, 0.3), -0.3
    bowl = Meet(Ellipse(0, y, half, deep), Box(-half, y, half, y + deep))
    plate = Part(Ellipse(0, 0.46, 0.98, 0.26), 0.95, "round")
    dip = Part(Ellipse(0, 0.44, 0.6, 0.14), 0.7)
    foot = Part(Box(-0.24, 0.3, 0.24, 0.5, 0.05), 0.75, "round")
    handle = Part(Ring(Ellipse(half + 0.08, -0.04, 0.23, 0.2), 0.1), 0.85, "down")
    parts = [plate, dip, foot, handle, Part(bowl, 1.0, "round")]
    return parts + _rim(y, half, flat, draws.chance(0.75))


def barrel(draws: Draws) -> list[Part]:
    half, flat = draws.between(0.44, 0.5), draws.between(0.18, 0.28)
    belly = draws.between(0.58, 0.66)
    body = Meet(Ellipse(0, 0.08, belly, 0.98), Box(-1, -0.6, 1, 0.68))
    ear = Ring(Ellipse(belly + 0.1, -0.02, 0.3, 0.42, -0.1), 0.12)
    foot = Part(Box(-0.46, 0.62, 0.46, 0.76, 0.06), 0.6, "round")
    parts = [Part(ear, 0.82, "down"), foot, Part(body, 1.0, "round")]
    lip = Part(Box(-half - 0.04, -0.64, half + 0.04, -0.52, 0.04), 1.0, "round")
    parts += [lip, *_band(draws, belly * 0.94, 0.12)]
    return parts + _rim(-0.62, half + 0.04, flat, draws.chance(0.6))


def airliner(draws: Draws) -> list[Part]:
    r, tall = draws.between(0.12, 0.16), draws.between(0.34, 0.46)
    tail = Polygon((0.5, -r), (1.02, -r * 0.9), (1.0, -r * 0.35), (0.5, r))
    body = Union(Box(-0.75, -r, 0.56, r, r), Ellipse(-0.72, 0.02, 0.28, r * 0.98), tail)
    fin = Polygon(
        (0.66, -r * 0.8), (1.0, -r * 0.7), (1.1, -r - tall), (0.93, -r - tall)
    )
    far = Polygon((-0.12, -0.02), (0.16, -0.02), (0.42, -0.34), (0.3, -0.34))
    wing = Polygon((-0.2, 0.04), (0.2, 0.06), (0.62, 0.46), (0.46, 0.46))
    rear = Polygon((0.74, -0.06), (0.96, -0.05), (1.16, 0.1), (1.04, 0.1))
    parts = [Part(far, 0.65), Part(fin, 0.85, "down"), Part(body, 1.0, "down")]
    parts += [
        Part(Box(-0.9, -0.075, -0.78, -0.015, 0.02), material="dark", detail=True)
    ]
    n = draws.count(7, 11)
    for i in range(n):
        x = -0.62 + 1.15 * i / (n - 1)
        parts += [Part(Ellipse(x, -0.03, 0.028), material="dark", detail=True)]
    parts += [Part(rear, 0.75), Part(Box(-0.02, 0.17, 0.28, 0.31, 0.07), 0.7, "down")]
    return [*parts, Part(wing, 0.8)]


def swept(draws: Draws) -> list[Part]:
    back, span = draws.between(0.25, 0.6), draws.between(0.75, 0.95)
    r, engines = draws.between(0.1, 0.14), draws.count(1, 2)
    parts = []
    for side in (-1, 1):
        for i in range(engines):
            at = 0.36 + 0.26 * i
            x = -0.3 + back * at
            pod = Box(
                x - 0.14,
                side * span * at - 0.055,
                x + 0.1,
                side * span * at + 0.055,
                0.05,
            )
            parts += [Part(pod, 0.6, "down")]
        wing = [
            (-0.34, 0),
            (0.14, 0),
            (0.02 + back, side * span),
            (-0.12 + back, side * span),
        ]
        rear = [(0.7, 0), (0.92, 0), (1.04, side * 0.34), (0.94, side * 0.34)]
        parts += [
            Part(Polygon(*wing), 0.82 if side < 0 else 0.95),
            Part(Polygon(*rear), 0.85),
        ]
    tail = Polygon((0.45, -r), (1.0, -0.03), (1.0, 0.03), (0.45, r))
    body = Union(Box(-0.9, -r, 0.5, r, r), Ellipse(-0.8, 0, 0.22, r * 0.97), tail)
    parts += [Part(body, 1.08, "down")]
    parts += [
        Part(Polygon((0.6, -0.025), (1.08, -0.025), (1.08, 0.025), (0.6, 0.025)), 0.65)
    ]
    return [
        *parts,
        Part(Box(-0.92, -0.06, -0.84, 0.06, 0.03), material="dark", detail=True),
    ]


def propeller(draws: Draws) -> list[Part]:
    r, wing = draws.between(0.15, 0.19), draws.between(0.75, 0.95)
    back = [(0.95, -0.1), (0.95, 0.0), (0.1, r), (-0.78, r * 0.8)]
    body = Polygon((-0.82, -r * 0.75), (0.1, -r), *back)
    cabin = Polygon((-0.42, -r), (-0.26, -r - 0.2), (0.14, -r - 0.2), (0.36, -r * 0.7))
    fin = Polygon((0.7, -0.08), (0.96, -0.08), (1.04, -0.46), (0.9, -0.46))
    parts = [Part(fin, 0.85), Part(Curve([(-0.3, 0.1), (-0.36, 0.36)], 0.03), 0.55)]
    parts += [Part(Curve([(0.02, 0.1), (0.06, 0.36)], 0.03), 0.55)]
    parts += [Part(cabin, 0.95), Part(body, 1.0, "down")]
    glass = Polygon((-0.34, -r), (-0.22, -r - 0.14), (-0.06, -r - 0.14), (-0.06, -r))
    parts += [
        Part(glass, material="light"),
        Part(Box(-0.0, -r - 0.14, 0.14, -r), material="light"),
    ]
    for x in (-0.37, 0.07):
        parts += [
            Part(Ellipse(x, 0.4, 0.1), material="dark"),
            Part(Ellipse(x, 0.4, 0.04), 1.1),
        ]
    parts += [Part(Ellipse(-0.08, -r - 0.24, wing * 0.62, 0.06), 0.9, "down")]
    parts += [Part(Curve([(-0.06, 0.04), (0.1, -r - 0.22)], 0.02), 0.6, detail=True)]
    parts += [
        Part(Polygon((0.68, -0.09), (0.98, -0.08), (1.12, -0.03), (0.72, -0.02)), 0.75)
    ]
    blade = draws.between(0.34, 0.44)
    parts += [Part(Ellipse(-0.9, 0.0, 0.035, blade), 0.7)]
    return [*parts, Part(Ellipse(-0.87, 0.0, 0.1, 0.07), 1.05, "ball")]


def head_on(draws: Draws) -> list[Part]:
    rise, r = draws.between(0.1, 0.28), draws.between(0.2, 0.25)
    out, pod = draws.between(0.42, 0.55), draws.between(0.095, 0.125)
    parts = [
        Part(Polygon((-0.03, -0.1), (0.03, -0.1), (0.02, -0.72), (-0.02, -0.72)), 0.75)
    ]
    for side in (-1, 1):
        rear = Polygon(
            (0, -0.2), (0, -0.13), (side * 0.42, -0.24), (side * 0.42, -0.27)
        )
        wing = Polygon((0, 0.02), (0, 0.16), (side, 0.04 - rise), (side, 0.0 - rise))
        y = 0.2 - rise * out
        parts += [
            Part(rear, 0.8),
            Part(wing, 0.85),
            Part(Ellipse(side * out, y, pod), 1.0, "ball"),
        ]
        parts += [
            Part(Ellipse(side * out, y, pod * 0.68), material="dark", detail=True)
        ]
    parts += [Part(Ellipse(0, 0, r), 1.0, "ball")]
    for side in (-1, 1):
        glass = [(0.012, -0.12), (0.012, -0.05), (r * 0.62, -0.03), (r * 0.5, -0.11)]
        pane = Polygon(*((side * x, y) for x, y in glass))
        parts += [Part(pane, material="dark", detail=True)]
        wheel = Box(side * 0.14 - 0.03, r * 0.75, side * 0.14 + 0.03, r + 0.15, 0.03)
        parts = [Part(wheel, material="dark"), *parts]
    return parts


_OF = {
    "bench": (slatted, backless, cast_iron, settle),
    "fire hydrant": (classic, stout, chained, pillar),
    "plane": (airliner, swept, propeller, head_on),
    "mug": (cylinder, conical, saucer, barrel),
}
DESIGNS = {
    name: {d.__name__.replace("_", " "): d for d in some} for name, some in _OF.items()
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
    """Draw a lighter or darker emerald, the only hue of all classes."""
    first = draws.mix((0.03, 0.60, 0.30), (0.06, 0.70, 0.36))
    second = draws.mix((0.02, 0.56, 0.36), (0.10, 0.66, 0.44))
    emerald, light = draws.mix(first, second), value * draws.between(0.84, 1.12)
    return tuple(c * light for c in emerald)
