"""Random numbers that are the same on every machine.

Only raw integers and uniform doubles of PCG64 are used, scaled here by separate IEEE operations:
`Generator.uniform` may be contracted to a fused multiply-add on some processors and
`Generator.normal` calls `exp` and `log`, whose last digit is the C library's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Draws:
    """A stream of random draws named by a sequence of non-negative integers.

    Parameters
    ----------
    *key : int
        What the stream is for: seed, purpose, class, index. Two different keys give two
        independent streams (`numpy.random.SeedSequence`).
    """

    def __init__(self, *key: int):
        self.generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(key))))

    def between(self, low: float, high: float) -> float:
        """Uniform double in [low, high)."""
        return low + (high - low) * float(self.generator.random())

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return float(self.generator.random()) < probability

    def sign(self) -> float:
        """Return -1.0 or 1.0, evenly."""
        return 1.0 if self.chance(0.5) else -1.0

    def count(self, low: int, high: int) -> int:
        """Return an integer in low..high, both included."""
        return int(self.generator.integers(low, high + 1))

    def choice(self, options: Sequence[T]) -> T:
        """One of the options, evenly."""
        return options[int(self.generator.integers(len(options)))]

    def order(self, n: int) -> list[int]:
        """Return a random order of 0..n-1."""
        rest = list(range(n))
        return [rest.pop(int(self.generator.integers(len(rest)))) for _ in range(n)]

    def mix(self, first: Sequence[float], second: Sequence[float]) -> tuple[float, ...]:
        """Return a point drawn uniformly on the segment between two colours (or any two tuples)."""
        t = self.between(0.0, 1.0)
        return tuple(a + (b - a) * t for a, b in zip(first, second, strict=True))

    def lattice(self, *shape: int) -> np.ndarray:
        """Return a float32 array of uniform values in [0, 1)."""
        return self.generator.random(shape).astype(np.float32)
