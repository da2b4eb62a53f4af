"""Textures: value noise by separable interpolation, for any image size."""

from __future__ import annotations

import numpy as np

from .draws import Draws


def axis(size: int) -> np.ndarray:
    """Pixel centres as shares of the image, float32 (size,)."""
    return (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)


def smooth(x: np.ndarray) -> np.ndarray:
    """Return the smooth step of x clipped to [0, 1]: 3x^2 - 2x^3."""
    x = np.minimum(np.maximum(x, 0), 1)
    return x * x * (3 - 2 * x)


def _cells(where: np.ndarray, cells: float) -> tuple[np.ndarray, np.ndarray]:
    scaled = where * np.float32(cells)
    low = np.floor(scaled)
    return low.astype(np.int64), smooth(scaled - low)


def value_noise(draws: Draws, ys: np.ndarray, xs: np.ndarray, fy: float, fx: float) -> np.ndarray:
    """Value noise on the outer product of two coordinate axes.

    Parameters
    ----------
    ys, xs : float32 (H,), (W,)
        Coordinates >= 0 of rows and columns, in any monotone scale (perspective, say).
    fy, fx : float
        Lattice cells per unit.

    Returns
    -------
    float32 (H, W) in [0, 1]
    """
    (i, f), (j, g) = _cells(ys, fy), _cells(xs, fx)
    lattice = draws.lattice(int(i.max()) + 2, int(j.max()) + 2)
    f = f[:, None]
    rows = lattice[i] * (1 - f) + lattice[i + 1] * f
    return rows.take(j, axis=1) * (1 - g) + rows.take(j + 1, axis=1) * g


def fractal(
    draws: Draws, ys: np.ndarray, xs: np.ndarray, fy: float, fx: float, octaves: int = 4
) -> np.ndarray:
    """Sum of octaves of value noise, each at twice the frequency and 0.55 of the weight.

    Returns
    -------
    float32 (H, W) in [0, 1], mean about 0.5
    """
    result, weight, total = value_noise(draws, ys, xs, fy, fx), 1.0, 1.0
    for octave in range(1, octaves):
        weight *= 0.55
        total += weight
        finer = float(1 << octave)
        result += value_noise(draws, ys, xs, fy * finer, fx * finer) * weight
    return result / np.float32(total)


def noise_at(draws: Draws, y: np.ndarray, x: np.ndarray, fy: float, fx: float) -> np.ndarray:
    """Value noise at arbitrary points: a lattice of 64 x 64 values, repeated.

    Parameters
    ----------
    y, x : float32, any one shape
        Coordinates; `fy` and `fx` lattice cells per unit.

    Returns
    -------
    float32 of that shape in [0, 1]
    """
    lattice = draws.lattice(64, 64).ravel()
    (i, f), (j, g) = _cells(y, fy), _cells(x, fx)
    i0, i1, j0, j1 = (i & 63) << 6, ((i + 1) & 63) << 6, j & 63, (j + 1) & 63
    upper = lattice[i0 | j0] * (1 - g) + lattice[i0 | j1] * g
    lower = lattice[i1 | j0] * (1 - g) + lattice[i1 | j1] * g
    return upper * (1 - f) + lower * f
