"""Base measures of scores (means, auc, what the top holds), and the curves behind two of them.

All take resampled rows (the atom of each row, and its weight: how often it was drawn) and give a
value for every unit: groups, everyone, complements. Tied scores are treated as an order drawn at
random would be on average: half a win in the auc, a fractional place in the top, a slope in a roc
curve. Areas between curves are summed segment by segment, crossings included: nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.blocks.counts import Groups, Table


def mean_score(data: Table, atoms, weights, complements=True) -> np.ndarray:
    """Mean of the scores of a group's rows."""
    return _ratio(_sums(data.groups, atoms, weights * data.y_score), _sizes(data, atoms, weights))


def representation(depth: int) -> Callable:
    """P(x in S | x in top k): the group's share of everyone's k highest scores."""

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        within = _depth(depth, weights)
        held = _by_rank(data, weights, np.minimum(np.arange(1, int(weights.sum()) + 1), within))
        return _sums(data.groups, atoms, weights * held) / within

    return of_rows


def skew(depth: int) -> Callable:
    """log(representation / the group's share of everyone), Geyik et al.; 0 is proportional."""
    of_top = representation(depth)

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        share = _sizes(data, atoms, weights) / weights.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(_ratio(np.maximum(of_top(data, atoms, weights), 0), share))

    return of_rows


def average_representation(depth: int) -> Callable:
    """ar_K, the mean of representation over the depths 1..K (section 4.2)."""

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        within, total = _depth(depth, weights), int(weights.sum())
        # the share of a place at rank r in all depths k >= r, each 1 / k, over K
        place = np.zeros(total)
        place[:within] = np.cumsum(1 / np.arange(within, 0, -1))[::-1] / within
        held = _by_rank(data, weights, np.cumsum(place))
        return _sums(data.groups, atoms, weights * held)

    return of_rows


def hit_rate(depth: int) -> Callable:
    """Share of labels 1 among a group's own k highest scores; NaN for a group of fewer than k."""

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        order, block = data.descending
        label, weight, atom = data.y_true[order], weights[order], atoms[order]
        found = np.full(len(data.units), np.nan)
        for u, inside in _each(data, complements):
            mine = inside[atom] * weight
            mass, hits = np.bincount(block, mine), np.bincount(block, mine * label)
            if mass.sum() >= depth:
                before = np.concatenate([[0], np.cumsum(mass)[:-1]])
                taken = np.clip(depth - before, 0, mass)
                found[u] = (taken * _ratio(hits, mass, 0.0)).sum() / depth
        return found

    return of_rows


def each_unit(of: Callable[[pd.DataFrame], float]) -> Callable:
    """A reader's function of a group's rows, for every unit; NaN for a group without rows."""

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        columns = {c: getattr(data, c) for c in ("y_pred", "y_true", "y_score") if c in data.has}
        rows, found = pd.DataFrame(columns), np.full(len(data.units), np.nan)
        times = np.round(weights).astype(int)
        for u, inside in _each(data, complements):
            at = np.repeat(np.arange(len(rows)), times * (inside[atoms] > 0))
            if len(at):
                found[u] = float(of(rows.iloc[at]))
        return found

    return of_rows


def auc(data: Table, atoms, weights, complements=True) -> np.ndarray:
    """Area under the roc curve: how often a positive outscores a negative, ties counting half."""
    found = np.full(len(data.units), np.nan)
    for u, curve in _curves(data, atoms, weights, _each(data, complements)):
        found[u] = np.trapezoid(curve.tpr, curve.fpr)
    return found


class Roc(NamedTuple):
    """Vertices of a roc curve (Equation 1) from (0, 0) to (1, 1); NaN where a label is missing."""

    fpr: np.ndarray
    tpr: np.ndarray


def rocs(data: Table, atoms=None, weights=None) -> dict[str, Roc]:
    """Roc curves of all units, with one vertex a distinct score, by their names."""
    atoms = data.groups.atoms if atoms is None else atoms
    weights = np.ones(len(data)) if weights is None else weights
    return {data.units[u]: c for u, c in _curves(data, atoms, weights, _each(data, True))}


def _curves(data: Table, atoms, weights, units) -> Iterator[tuple[int, Roc]]:
    order, block = data.descending
    positive, every, atom = (weights * data.y_true)[order], weights[order], atoms[order]
    for u, inside in units:
        mine = inside[atom] > 0
        ones = np.bincount(block[mine], positive[mine], minlength=1)
        both = np.bincount(block[mine], every[mine], minlength=1)
        yield u, _vertices(ones[both > 0], (both - ones)[both > 0])


def area_between(first: Roc, second: Roc) -> float:
    """abroca: the integral over the false positive rate of |first - second| (Gardner et al. 2019).

    Exact, ties included; NaN where one of the curves is not estimable.
    """
    if np.isnan(first.fpr).any() or np.isnan(second.fpr).any():
        return float("nan")
    x = np.union1d(first.fpr, second.fpr)
    (a_left, a_right), (b_left, b_right) = _on_segments(first, x), _on_segments(second, x)
    left, right, width = a_left - b_left, a_right - b_right, np.diff(x)
    height = np.abs(left) + np.abs(right)
    crossing = left * right < 0
    squares = np.divide(left**2 + right**2, height, out=height.copy(), where=crossing)
    return float((width * squares).sum() / 2)


def between_rocs(data: Table, i, j, atoms=None, weights=None) -> np.ndarray:
    """abroca of all pairs of units (i, j): (P,)."""
    curves, known = list(rocs(data, atoms, weights).values()), {}
    for pair in zip(i.tolist(), j.tolist(), strict=True):
        if pair not in known:
            known[pair] = known[pair[::-1]] = area_between(*(curves[u] for u in pair))
    return np.array([known[pair] for pair in zip(i.tolist(), j.tolist(), strict=True)])


def between_representations(data: Table, depth: int, dcg: bool, i, j, atoms=None, weights=None):
    """Mean over the depths k = 1..K of |difference of representation|; `dcg`: 1 / log(1 + k) each.

    Returns
    -------
    float64 array (P,)
    """
    atoms = data.groups.atoms if atoms is None else atoms
    weights = np.ones(len(data)) if weights is None else weights
    at = [representation(k)(data, atoms, weights) for k in range(1, depth + 1)]
    held = np.stack(at, axis=-1)
    weight = 1 / np.log(1 + np.arange(1, depth + 1)) if dcg else np.ones(depth)
    return np.abs(held[i] - held[j]) @ weight / weight.sum()


def _by_rank(data: Table, weights: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Worth of each row's rank, averaged over tied rows; the highest score has rank 1.

    `total` holds the worth of the first 1, 2, ... ranks together, as many as the weights' sum.
    """
    order, block = data.descending
    mass = np.bincount(block, weights[order])
    ends = np.round(np.cumsum(mass)).astype(int)
    worth = np.diff(np.concatenate([[0.0], total])[np.concatenate([[0], ends])])
    found = np.empty(len(data))
    found[order] = _ratio(worth, mass, 0.0)[block]
    return found


def _sums(by: Groups, atoms: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of `values` (n,) over the rows of every unit: (2 G + 1,)."""
    per_atom = np.bincount(atoms, values, minlength=by.member.shape[1])
    inside, total = by.member @ per_atom, per_atom.sum()
    return np.concatenate([inside, [total], total - inside])


def _sizes(data: Table, atoms, weights) -> np.ndarray:
    """Rows of every unit, as whole numbers in float64."""
    return np.round(_sums(data.groups, atoms, weights))


def _each(data: Table, complements: bool):
    """Places and atom masks of the units: groups, everyone and, where wanted, complements."""
    g, k = data.groups.member.shape
    for u in range(2 * g + 1 if complements else g + 1):
        if u == g:
            yield u, np.ones(k)
        else:
            inside = data.groups.member[[u % (g + 1)]].toarray()[0]
            yield u, inside if u < g else 1 - inside


def _depth(depth: int, weights: np.ndarray) -> int:
    total = int(weights.sum())
    if depth > total:
        raise ValueError(f"a top of {depth} was asked of {total} rows; give a smaller depth")
    return depth


def _ratio(over: np.ndarray, under: np.ndarray, empty: float = np.nan) -> np.ndarray:
    return np.divide(over, under, out=np.full(np.shape(under), empty), where=under != 0)


def _vertices(positive: np.ndarray, negative: np.ndarray) -> Roc:
    up, right = np.cumsum(positive), np.cumsum(negative)
    if len(up) == 0 or up[-1] == 0 or right[-1] == 0:
        nothing = np.full(2, np.nan)  # two, so that an area under them is NaN and not 0
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
