"""Draw the contexts park, sky, road and wood as images, float32 (3, H, W) in [0, 1]."""

import numpy as np

from .noise import Draws, axis, fractal, noise_at, off_middle, smooth, value_noise
from .paint import Colour, column, stamp
from .shapes import Curve, Ellipse, View, coverage, crop


def lerp(
    first: Colour | np.ndarray, second: Colour | np.ndarray, t: np.ndarray
) -> np.ndarray:
    """Mix two colours or images; t = 0 gives the first."""
    first, second = (
        column(one) if isinstance(one, tuple) else one for one in (first, second)
    )
    return first + (second - first) * t


def lit(
    image: np.ndarray, draws: Draws, slope: float = 0.12, vignette: float = 0.2
) -> np.ndarray:
    """Light an image from one side, darken its corners, and clip it to [0, 1]."""
    where = axis(image.shape[-1]) * 2 - 1
    side, corner = draws.between(-slope, slope), draws.between(0.3, 1.0) * vignette
    across = 1 + side * where - corner * where * where
    down = 1 - corner * where * where
    return (image * (across[None] * down[:, None])).clip(0, 1)


def _below(image: np.ndarray, horizon: float, gap: int = 0) -> tuple:
    """Return the part of an image below a horizon, and its rows and columns as shares."""
    where = axis(image.shape[-1])
    start = int(horizon * len(where)) + gap
    return image[:, start:], where[start:], where


def sky(draws: Draws, size: int) -> np.ndarray:
    """Draw a sky with clouds (cumulus, torn or high and thin), in a blue that is deeper at the top."""
    where = axis(size)
    top = draws.mix((0.20, 0.44, 0.80), (0.40, 0.64, 0.92))
    low = draws.mix((0.62, 0.80, 0.95), (0.80, 0.90, 0.97))
    image = lerp(top, low, smooth(where * draws.between(0.8, 1.2))[:, None])
    clouds = (3.2, 2.2, 0.50, 0.16), (2.6, 1.8, 0.46, 0.22), (7.0, 1.4, 0.47, 0.4)
    fy, fx, threshold, soft = draws.choice((*clouds, (4.5, 3.0, 0.56, 0.14)))
    drift = draws.between(-0.05, 0.05)
    body = fractal(draws, where, where, fy, fx, 5)
    body = body + (where[:, None] - 0.5) * draws.between(-0.12, 0.2)
    share = smooth((body - (threshold + drift)) * (1 / soft))
    shift = max(1, size // 24)
    above = np.concatenate([body[:shift], body[:-shift]])
    shade = ((above - body) * -1.6 + 0.06).clip(-0.03, 0.26)
    warm = draws.mix((1.0, 0.99, 0.97), (0.97, 0.97, 0.99))
    cloud = column(warm) - shade * column((1.0, 0.85, 0.62))
    return lit(image * (1 - share * 0.94) + cloud * (share * 0.94), draws, 0.06, 0.1)


def _foliage(draws: Draws, size: int, cells: float, tone: float = 1.0) -> np.ndarray:
    """Draw leaves in light and shade, (3, size, size)."""
    where = axis(size)
    light = fractal(draws, where, where, cells, cells, 4)
    dark = draws.mix((0.24, 0.34, 0.12), (0.36, 0.44, 0.18))
    bright = draws.mix((0.72, 0.80, 0.36), (0.86, 0.86, 0.48))
    t = smooth((light - 0.22) * 1.6)
    return lerp(dark, bright, t * np.float32(tone))


def _lawn(draws: Draws, image: np.ndarray, horizon: float) -> None:
    """Draw grass below the horizon, finer with distance, with patches of shade and sometimes a path."""
    ground, rows, where = _below(image, horizon)
    near = ((rows - horizon) / (1 - horizon))[:, None]
    depth = 1.6 - 1.0 / (0.6 + near[:, 0])
    far = draws.mix((0.78, 0.84, 0.46), (0.88, 0.90, 0.56))
    close = draws.mix((0.66, 0.76, 0.32), (0.78, 0.82, 0.42))
    blades = fractal(draws, depth, where, 26, 22, 2) - 0.5
    patches = smooth((fractal(draws, depth, where, 6, 2.5, 2) - 0.36) * 3.5)
    ground[:] = lerp(far, close, near) * (0.78 + 0.26 * patches) * (1 + blades * 0.4)
    if not draws.chance(0.45):
        return
    foot, end, sway = (
        draws.between(0.1, 0.9),
        draws.between(0.2, 0.8),
        draws.between(-0.5, 0.5),
    )
    middle = end + (foot - end) * near + sway * near * (1 - near)
    width = 0.012 + draws.between(0.1, 0.2) * near
    share = coverage((np.abs(where[None] - middle) - width) * len(where) * 0.7)
    grain = value_noise(draws, rows, where, 50, 40) * 0.12 + 0.92
    sand = column(draws.mix((0.86, 0.78, 0.62), (0.94, 0.88, 0.76))) * grain
    ground[:] = ground * (1 - share) + sand * share


def _leafy(
    image: np.ndarray, shape: Ellipse, leaves: np.ndarray, ragged, slope, light
) -> None:
    """Draw leaves within a ragged outline, which are darker towards the bottom."""
    size = image.shape[-1]
    pixels = crop(View(size, 0, 0, size), shape.bounds, size, margin=3)
    if pixels is not None:
        leaf = leaves[:, pixels.rows, pixels.columns]
        distance = shape.field(pixels) + (leaf[1] - 0.3) * (ragged * size)
        stamp(
            image,
            pixels,
            coverage(distance * 0.6),
            leaf * pixels.linear(0, slope, light),
        )


def _tree(
    draws: Draws, image: np.ndarray, leaves: np.ndarray, x: float, foot: float
) -> None:
    """Draw a trunk and a crown of leaf clusters."""
    size = image.shape[-1]
    view, width = View(size, 0, 0, size), draws.between(0.016, 0.035)
    top = draws.between(-0.05, 0.16)
    bark = column(draws.mix((0.34, 0.25, 0.17), (0.50, 0.39, 0.28)))
    trunk = Curve(
        [(x, foot), (x + draws.between(-0.03, 0.03), top)], width, width * 0.6
    )
    pixels = crop(view, trunk.bounds, size)
    if pixels is not None:
        across = pixels.linear(0.35 / width, 0, -0.35 * x / width).clip(-1, 1)
        shade = 1.15 - across * 0.35
        stamp(image, pixels, coverage(trunk.field(pixels)), bark * shade)
    for _ in range(draws.count(3, 5)):
        cx, cy = x + draws.between(-0.16, 0.16), top + draws.between(-0.02, 0.16)
        crown = Ellipse(cx, cy, draws.between(0.1, 0.18), draws.between(0.08, 0.14))
        _leafy(image, crown, leaves, 0.16, -2.2, 1.05 + 2.2 * cy)


def park(draws: Draws, size: int) -> np.ndarray:
    """Draw a lawn under trees, with trunks, bushes, gaps of sky and sometimes a path."""
    where, horizon = axis(size), draws.between(0.3, 0.48)
    leaves = _foliage(draws, size, draws.between(7, 11))
    air = draws.mix((0.72, 0.84, 0.92), (0.88, 0.92, 0.90))
    line = value_noise(draws, where[:1], where, 1, draws.between(3, 7))
    top = horizon - draws.between(0.1, 0.5) - 0.14 * line
    gaps = (leaves[1] - 0.3) * 0.3
    share = coverage((top + gaps - where[:, None]) * (0.5 * size))
    haze = draws.between(0.05, 0.3)
    image = lerp(
        lerp(air, leaves, np.float32(1 - haze) * share), leaves, share * (1 - haze)
    )
    _lawn(draws, image, horizon)
    near = _foliage(draws, size, 9.0, 0.85)
    for _ in range(draws.count(2, 4)):
        x, r = draws.between(0.0, 1.0), draws.between(0.07, 0.16)
        _leafy(
            image,
            Ellipse(x, horizon, r, r * draws.between(0.4, 0.7)),
            near,
            0.1,
            0,
            0.9,
        )
    for _ in range(draws.count(1, 3)):
        _tree(
            draws,
            image,
            near,
            draws.between(0.02, 0.98),
            horizon + draws.between(0.0, 0.12),
        )
    return lit(image * 0.95 + 0.05, draws)


def _houses(draws: Draws, size: int, horizon: float) -> np.ndarray:
    """Draw the sky over a row of house fronts with windows."""
    where = axis(size)
    air = draws.mix((0.62, 0.70, 0.78), (0.78, 0.82, 0.86))
    image = lerp(air, (0.88, 0.89, 0.88), where[:, None] * 2)
    image = np.broadcast_to(image, (3, size, size)).copy()
    walls = (
        (0.78, 0.58, 0.50),
        (0.84, 0.78, 0.70),
        (0.70, 0.69, 0.70),
        (0.92, 0.87, 0.80),
    )
    x = -draws.between(0.0, 0.15)
    while x < 1.0:
        width, top = draws.between(0.16, 0.36), horizon - draws.between(0.14, 0.42)
        c0, c1 = max(0, int(x * size)), min(size, int((x + width) * size))
        r0, r1 = max(0, int(top * size)), int(horizon * size) + 1
        if c0 < c1 and r0 < r1:
            wall = column(draws.choice(walls))
            across = (where[c0:c1] - x) / width * draws.count(3, 4)
            down = (where[r0:r1] - top) * draws.between(8.5, 11)
            pane = coverage((off_middle(across) - 0.24) * 8)[None]
            pane = pane * coverage((off_middle(down) - 0.28) * 8)[:, None]
            shade = 0.82 + 0.3 * draws.between(0.0, 1.0)
            image[:, r0:r1, c0:c1] = lerp(
                wall * np.float32(shade), (0.40, 0.45, 0.52), pane * 0.8
            )
        x += width
    return image


def _asphalt(draws: Draws, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    rows, columns = y[:, 0], x[0]
    grey = draws.between(0.46, 0.62)
    grain = fractal(draws, rows, columns, 70, 50, 2) * 0.16
    grain = grain + fractal(draws, rows, columns, 5, 3, 2) * 0.3 + 0.77
    return column((grey, grey * 1.01, grey * 1.05)) * grain


def _along(draws: Draws, y: np.ndarray, x: np.ndarray, horizon: float) -> np.ndarray:
    """Draw a road that leads away from the viewer, with kerbs, pavements and a dashed middle line."""
    depth, vanish = y - horizon, draws.between(0.3, 0.7)
    lean = draws.between(-0.5, 0.5)
    side = (x - vanish) / depth + lean
    sharp = depth * x.size
    half = draws.between(0.85, 1.3)
    ground = _asphalt(draws, y, x)
    paving = 0.9 + 0.14 * coverage((off_middle(1 / depth) - 0.44) * 14)
    slabs = column(draws.mix((0.74, 0.72, 0.69), (0.84, 0.82, 0.78))) * paving
    out = np.abs(side) - half
    ground = lerp(ground, slabs, 1 - coverage(out * sharp))
    ground = lerp(
        ground, (0.92, 0.91, 0.88), coverage((np.abs(out - 0.05) - 0.05) * sharp)
    )
    paint = draws.choice(((0.98, 0.98, 0.97), (0.98, 0.98, 0.97), (0.97, 0.84, 0.36)))
    dashes = coverage((off_middle(0.55 / depth + draws.between(0.0, 1.0)) - 0.28) * 12)
    ground = lerp(ground, paint, coverage((np.abs(side) - 0.035) * sharp) * dashes)
    edge = coverage((np.abs(np.abs(side) - half * 0.86) - 0.025) * sharp)
    return lerp(ground, (0.98, 0.98, 0.97), edge)


def _across(draws: Draws, y: np.ndarray, x: np.ndarray, horizon: float) -> np.ndarray:
    """Draw a road across the picture, with a far pavement, kerbs, asphalt and a lane line."""
    size, kerb, slant = (
        x.size,
        horizon + draws.between(0.06, 0.16),
        draws.between(-0.1, 0.1),
    )
    level = y + slant * (x - 0.5)
    slabs = column(draws.mix((0.74, 0.72, 0.69), (0.84, 0.82, 0.78)))
    slabs = slabs * (0.88 + 0.14 * coverage((off_middle(x * 6) - 0.45) * 12))
    ground = lerp(slabs, _asphalt(draws, y, x), coverage((kerb - level) * size))
    ground = lerp(
        ground, (0.92, 0.91, 0.88), coverage((np.abs(level - kerb) - 0.014) * size)
    )
    line, wide = kerb + draws.between(0.16, 0.34), draws.between(0.012, 0.02)
    dash = x * draws.between(1.8, 3.0) + draws.between(0.0, 1.0)
    dashes = coverage((off_middle(dash) - 0.3) * 20)
    paint = draws.choice(((0.98, 0.98, 0.97), (0.97, 0.84, 0.36)))
    ground = lerp(
        ground, paint, coverage((np.abs(level - line) - wide) * size) * dashes
    )
    if draws.chance(0.6):
        near = draws.between(0.86, 0.97)
        ground = lerp(
            ground, (0.98, 0.98, 0.97), coverage((np.abs(level - near) - wide) * size)
        )
    return ground


def road(draws: Draws, size: int) -> np.ndarray:
    """Draw a road that leads away from the viewer or across the picture, with houses behind it."""
    horizon = draws.between(0.26, 0.44)
    image = _houses(draws, size, horizon)
    painted, rows, where = _below(image, horizon, 1)
    way = _along if draws.chance(0.6) else _across
    painted[:] = way(draws, rows[:, None], where[None], horizon)
    return lit(image, draws)


PALE = (0.93, 0.77, 0.55), (0.78, 0.58, 0.40), (0.87, 0.65, 0.45), (0.96, 0.84, 0.66)
DEEP = (0.74, 0.54, 0.33), (0.58, 0.40, 0.26), (0.66, 0.43, 0.27), (0.82, 0.65, 0.45)


def _planks(draws: Draws, p: np.ndarray, q: np.ndarray, middle: float) -> np.ndarray:
    """Draw planks side by side along p, with their grain along q, and knots near p = `middle`."""
    pale, deep = draws.choice(list(zip(PALE, DEEP, strict=True)))
    n = draws.between(3.0, 6.5)
    plank = p * n + draws.between(0.0, 1.0)
    number = np.floor(plank)
    bump = np.zeros_like(plank)
    for _ in range(draws.count(1, 3)):
        dp, dq = p - middle - draws.between(-0.4, 0.4), q - draws.between(0.1, 1.1)
        bump += 0.005 / (dp * dp + dq * dq * 0.22 + 0.0016)
    rings = p * draws.between(7, 12) + noise_at(draws, q, p, 2.0, 5.0) * 1.6 + bump
    ring = off_middle(rings) * 2
    fibre = noise_at(draws, q + number * 0.37, p, 5.0, 60.0)
    tint = noise_at(draws, number, number, 1.7, 0.3)
    t = ring * 0.4 + fibre * 0.35 + tint * 0.5 - 0.12 + (bump - 0.9).clip(0, 1) * 0.5
    wood = lerp(pale, deep, t.clip(0, 1.2))
    return wood * (1 - 0.62 * smooth((off_middle(plank) - 0.455) * 30))


def wood(draws: Draws, size: int) -> np.ndarray:
    """Draw a table or a board of planks with grain, knots and seams, in warm light."""
    x, y = axis(size)[None], axis(size)[:, None]
    kind = draws.choice(("across", "upright", "table", "table"))
    if kind != "table":
        slant = draws.between(-0.12, 0.12)
        p, q = y + slant * x + 0.2, x - slant * y + 0.2
        image = (
            _planks(draws, p, q, 0.7) if kind == "across" else _planks(draws, q, p, 0.7)
        )
    else:
        horizon = draws.between(0.14, 0.34)
        start = int(horizon * size)
        depth = (y[start:] - horizon) + draws.between(0.35, 0.6)
        p = (x - draws.between(0.3, 0.7)) / depth * 0.75 + 2.0
        q = np.broadcast_to(1.2 - 0.5 / depth, p.shape)
        wall = draws.mix((0.58, 0.47, 0.38), (0.86, 0.78, 0.68))
        blur = fractal(draws, axis(size), axis(size), 2.5, 3.5, 2)
        image = lerp(wall, (0.98, 0.92, 0.80), smooth(blur * 1.6 - 0.6) * 0.5)
        image[:, start:] = _planks(draws, p, q, 2.0)
        edge = coverage((np.abs(y - horizon) - 0.006) * size)
        image = lerp(image, (0.22, 0.13, 0.07), edge * 0.7)
    spot_x, spot_y = x - draws.between(0.1, 0.9), y - draws.between(0.0, 0.7)
    glow = 1.18 - (spot_x * spot_x + spot_y * spot_y) * draws.between(0.25, 0.5)
    return lit(image * glow * column((1.03, 1.0, 0.94)), draws)


SCENES = {"park": park, "sky": sky, "road": road, "wood": wood}
