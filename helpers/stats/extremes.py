"""Compute the smallest or the largest of several estimates, with its interval."""

from collections.abc import Callable, Sequence

import numpy as np


def smallest(
    intervals: Sequence[Callable[[float], Sequence[float]]], level: float = 0.95
) -> np.ndarray:
    """Return the smallest of several numbers, and the ends of its interval.

    All numbers lie above the lowest lower end. The upper ends share the error
    (Bonferroni), because any of the numbers may be the smallest.

    Parameters
    ----------
    intervals : sequence of callable
        Each takes a level, and returns a number with the ends of its interval.
    level : float, default=0.95

    Returns
    -------
    array of shape (3,)
        The number, the lower end and the upper end.
    """
    shared_level = 1 - (1 - level) / len(intervals)
    usual = [interval(level) for interval in intervals]
    wider = [interval(shared_level) for interval in intervals]
    estimate, lower, _ = np.min(usual, axis=0)
    _, _, upper = np.min(wider, axis=0)
    return np.array([estimate, lower, upper])


def largest(
    intervals: Sequence[Callable[[float], Sequence[float]]], level: float = 0.95
) -> np.ndarray:
    """Return the largest of several numbers, and the ends of its interval.

    All numbers lie below the highest upper end, and the lower ends share the error. See
    :func:`smallest` for the parameters.
    """
    shared_level = 1 - (1 - level) / len(intervals)
    usual = [interval(level) for interval in intervals]
    wider = [interval(shared_level) for interval in intervals]
    estimate, _, upper = np.max(usual, axis=0)
    _, lower, _ = np.max(wider, axis=0)
    return np.array([estimate, lower, upper])
