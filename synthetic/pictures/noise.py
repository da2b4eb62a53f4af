"""Draw random numbers and textures that have the same bits on every machine.

Only raw integers and uniform doubles of PCG64 are used, because the last digit of `normal` depends
on the C library.
"""

from collections.abc import Sequence

import numpy as np


class Draws:
    """Draw a stream of random numbers, which a seed, a purpose, a class and an index determine."""

    def __init__(self, *key: int):
        self.generator = np.random.Generator(
            np.random.PCG64(np.random.SeedSequence(list(key)))
        )

    def between(self, low: float, high: float) -> float:
        """Draw a uniform double in [low, high)."""
        return low + (high - low) * float(self.generator.random())

    def chance(self, probability: float) -> bool:
        return float(self.generator.random()) < probability

    def sign(self) -> float:
        return 1.0 if self.chance(0.5) else -1.0

    def count(self, low: int, high: int) -> int:
        """Draw an integer from `low` to `high`, both included."""
        return int(self.generator.integers(low, high + 1))

    def choice(self, options: Sequence):
        return options[self.count(0, len(options) - 1)]

    def mix(self, first: Sequence[float], second: Sequence[float]) -> tuple[float, ...]:
        """Draw a point uniformly on the segment between two colours (or any two tuples)."""
        t = self.between(0.0, 1.0)
        return tuple(a + (b - a) * t for a, b in zip(first, second, strict=True))

    def lattice(self, *shape: int) -> np.ndarray:
        return self.generator.random(shape).astype(np.float32)


def axis(size: int) -> np.ndarray:
    """Return the pixel centres as shares of the image, float32 (size,)."""
    return (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)


def smooth(x: np.ndarray) -> np.ndarray:
    """Compute the smooth step 3x^2 - 2x^3 of x clipped to [0, 1]."""
    x = x.clip(0, 1)
    return x * x * (3 - 2 * x)


def off_middle(x: np.ndarray) -> np.ndarray:
    """Compute the distance of x from the middle between two whole numbers, 0 to 1/2."""
    return np.abs(x - np.floor(x) - 0.5)


def _cells(where: np.ndarray, cells: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the lattice cell, and the smoothed position within it."""
    scaled = where * np.float32(cells)
    low = np.floor(scaled)
    return low.astype(np.int64), smooth(scaled - low)


def value_noise(
    draws: Draws, ys: np.ndarray, xs: np.ndarray, fy: float, fx: float
) -> np.ndarray:
    """Compute value noise, float32 (H, W) in [0, 1], at coordinates `ys` and `xs`, which are >= 0."""
    (i, f), (j, g) = _cells(ys, fy), _cells(xs, fx)
    lattice = draws.lattice(int(i.max()) + 2, int(j.max()) + 2)
    f = f[:, None]
    rows = lattice[i] * (1 - f) + lattice[i + 1] * f
    return rows.take(j, axis=1) * (1 - g) + rows.take(j + 1, axis=1) * g


def fractal(
    draws: Draws, ys: np.ndarray, xs: np.ndarray, fy: float, fx: float, octaves: int = 4
) -> np.ndarray:
    """Sum octaves of value noise, each at twice the frequency and 0.55 of the weight."""
    result, total, weight = 0, 0.0, 1.0
    for finer in (2.0**octave for octave in range(octaves)):
        result = result + value_noise(draws, ys, xs, fy * finer, fx * finer) * weight
        total += weight
        weight *= 0.55
    return result / np.float32(total)


def noise_at(
    draws: Draws, y: np.ndarray, x: np.ndarray, fy: float, fx: float
) -> np.ndarray:
    """Compute value noise at points (y, x) of one shape, from a repeated lattice of 64 x 64 values."""
    lattice = draws.lattice(64, 64)
    (i, f), (j, g) = _cells(y, fy), _cells(x, fx)
    j, beside = j % 64, (j + 1) % 64
    above, below = (
        lattice.take(row + j) * (1 - g) + lattice.take(row + beside) * g
        for row in (i % 64 * 64, (i + 1) % 64 * 64)  # places in the flat lattice
    )
    return above * (1 - f) + below * f
