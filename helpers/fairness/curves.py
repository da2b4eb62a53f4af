"""Curves behind base measures, and their comparison (Equation 1, sections 4.2 and 4.3).

Roc curves are piecewise linear in the false positive rate: a step up where a positive comes next, a
step to the right where a negative does, and a slope where tied scores hold both. The area between
two of them is summed segment by segment, crossings included: nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from helpers.fairness import ranking
from helpers.fairness.base import Measure
from helpers.fairness.counts import Table

CURVES = ("curve", "curve_signed", "curve_dcg")


class Roc(NamedTuple):
    """Vertices of a roc curve from (0, 0) to (1, 1); NaN where a group lacks a label."""

    fpr: np.ndarray
    tpr: np.ndarray


def roc(scores, labels, weights=None) -> Roc:
    """Roc curve with one vertex a distinct score (Equation 1).

    Parameters
    ----------
    scores : float array (n,)
    labels : array (n,) of 0 and 1
    weights : array (n,), optional

    Returns
    -------
    Roc
        float64 arrays (distinct scores + 1,), both from 0 to 1.
    """
    scores, labels = np.asarray(scores, float), np.asarray(labels, float)
    weights = np.ones(len(scores)) if weights is None else np.asarray(weights, float)
    _, block = np.unique(-scores, return_inverse=True)
    positive = np.bincount(block, weights * labels, minlength=1)
    return _vertices(positive, np.bincount(block, weights, minlength=1) - positive)


def abroca(first: Roc, second: Roc) -> float:
    """Absolute area between two roc curves, exactly, ties included (Gardner et al. 2019).

    Returns
    -------
    float in [0, 1], or NaN where one of the curves is not estimable
    """
    return area_between(first, second, signed=False)


def area_between(first: Roc, second: Roc, signed: bool = False) -> float:
    """Integral over the false positive rate of |first - second|, or of first - second."""
    if np.isnan(first.fpr).any() or np.isnan(second.fpr).any():
        return float("nan")
    x = np.union1d(first.fpr, second.fpr)
    (a_left, a_right), (b_left, b_right) = _on_segments(first, x), _on_segments(second, x)
    left, right, width = a_left - b_left, a_right - b_right, np.diff(x)
    if signed:
        return float((width * (left + right)).sum() / 2)
    height = np.abs(left) + np.abs(right)
    crossing = left * right < 0
    squares = np.divide(left**2 + right**2, height, out=height.copy(), where=crossing)
    return float((width * squares).sum() / 2)


def compare(data: Table, of: Measure, how: str, i, j, atoms=None, weights=None) -> np.ndarray:
    """Compare the curves of all sides (section 4.3).

    Parameters
    ----------
    data : Table
    of : Measure
        With a curve: auc (roc), ar@K (representation at each depth 1..K).
    how : {"curve", "curve_signed", "curve_dcg"}
        Mean of |first - second| or of first - second over the domain with constant weights (on roc
        curves: abroca), or of |first - second| over depths k with weights 1 / log(1 + k).
    i, j : int arrays (P,)
        From `compare.pairs`.

    Raises
    ------
    ValueError
        For a measure without a curve, or DCG weights on a roc curve, whose integral diverges at 0.
    """
    if of.curve is None:
        raise ValueError(f"{of.name} has no curve to compare; auc and ar@k have")
    atoms = data.groups.atoms if atoms is None else atoms
    weights = np.ones(len(data)) if weights is None else weights
    if of.curve == "roc":
        if how == "curve_dcg":
            raise ValueError("DCG weights are for ranks: on a roc curve their integral is infinite")
        return _compare_rocs(data, how == "curve_signed", i, j, atoms, weights)
    held = representations(data, of.depth, atoms, weights)
    gap = held[i] - held[j]
    depth = np.arange(1, of.depth + 1)
    weight = 1 / np.log(1 + depth) if how == "curve_dcg" else np.ones(of.depth)
    return (gap if how == "curve_signed" else np.abs(gap)) @ weight / weight.sum()


def representations(data: Table, depth: int, atoms=None, weights=None) -> np.ndarray:
    """P(x in S | x in top k) of every unit at the depths 1..K -> (2 G + 1, K)."""
    atoms = data.groups.atoms if atoms is None else atoms
    weights = np.ones(len(data)) if weights is None else weights
    at = [ranking.representation(k)(data, atoms, weights) for k in range(1, depth + 1)]
    return np.stack(at, axis=-1)


def rocs(data: Table, units=None, atoms=None, weights=None) -> dict[int, Roc]:
    """Roc curves of units, by their places."""
    atoms = data.groups.atoms if atoms is None else atoms
    weights = np.ones(len(data)) if weights is None else weights
    order, block = data.descending
    wanted = None if units is None else set(np.asarray(units).tolist())
    positive, all_ = (weights * data.label)[order], weights[order]
    found = {}
    for u, inside in ranking._each(data, True):
        if wanted is None or u in wanted:
            mine = inside[atoms[order]] > 0
            ones = np.bincount(block[mine], positive[mine], minlength=1)
            every = np.bincount(block[mine], all_[mine], minlength=1)
            seen = every > 0
            found[u] = _vertices(ones[seen], (every - ones)[seen])
    return found


def _compare_rocs(data: Table, signed: bool, i, j, atoms, weights) -> np.ndarray:
    curves = rocs(data, np.union1d(i, j), atoms, weights)
    sign: Callable[[bool], int] = lambda turned: -1 if signed and turned else 1  # noqa: E731
    known, found = {}, np.empty(len(i))
    for place, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        key = (min(a, b), max(a, b))
        if key not in known:
            known[key] = area_between(curves[key[0]], curves[key[1]], signed)
        found[place] = sign(a > b) * known[key]
    return found


def _vertices(positive: np.ndarray, negative: np.ndarray) -> Roc:
    up, right = np.cumsum(positive), np.cumsum(negative)
    if len(up) == 0 or up[-1] == 0 or right[-1] == 0:
        nothing = np.array([np.nan])
        return Roc(nothing, nothing)
    zero = [0.0]
    return Roc(np.concatenate([zero, right / right[-1]]), np.concatenate([zero, up / up[-1]]))


def _on_segments(curve: Roc, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values at both ends of every interval of x, on the segment that spans it."""
    k = np.searchsorted(curve.fpr, x[:-1], side="right") - 1
    run = curve.fpr[k + 1] - curve.fpr[k]
    slope = (curve.tpr[k + 1] - curve.tpr[k]) / run
    left = curve.tpr[k] + (x[:-1] - curve.fpr[k]) * slope
    right = curve.tpr[k] + (x[1:] - curve.fpr[k]) * slope
    return left, right
