"""Base measures of scores: means, the area under the roc curve, and what the top holds.

All take resampled rows (the atom of each row and its weight, how often it was drawn) and give a
value for every unit: groups, everyone, complements. Tied scores are treated as an order drawn at
random would be on average: half a win in the auc, a fractional place in the top.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from helpers.fairness.counts import Table
from helpers.fairness.grouping import Groups


def unit_sums(chosen: Groups, atoms: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of `values` (n,) over the rows of every unit -> (2 G + 1,)."""
    per_atom = np.bincount(atoms, values, minlength=chosen.member.shape[1])
    inside, total = chosen.member @ per_atom, per_atom.sum()
    return np.concatenate([inside, [total], total - inside])


def mean_of(value: Callable[[Table], np.ndarray]) -> Callable:
    """Mean over a group of a number that each row has."""

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        sums = unit_sums(data.groups, atoms, weights * value(data))
        return _ratio(sums, sizes(data, atoms, weights))

    return of_rows


def sizes(data: Table, atoms, weights) -> np.ndarray:
    """Rows of every unit, as whole numbers in float64."""
    return np.round(unit_sums(data.groups, atoms, weights))


def exposure(data: Table, atoms, weights, complements=True) -> np.ndarray:
    """Mean of 1 / log2(1 + rank) over a group's rows, ranks among everyone (Singh and Joachims)."""
    total = int(weights.sum())
    value = by_rank(data, weights, np.cumsum(1 / np.log2(2 + np.arange(total))))
    sums = unit_sums(data.groups, atoms, weights * value)
    return _ratio(sums, sizes(data, atoms, weights))


def representation(depth: int) -> Callable:
    """P(x in S | x in top k): the group's share of everyone's k highest scores."""

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        within = _depth(depth, weights)
        held = by_rank(data, weights, np.minimum(np.arange(1, int(weights.sum()) + 1), within))
        return unit_sums(data.groups, atoms, weights * held) / within

    return of_rows


def skew(depth: int) -> Callable:
    """log(representation / the group's share of everyone), Geyik et al.; 0 is proportional."""
    of_top = representation(depth)

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        share = sizes(data, atoms, weights) / weights.sum()
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
        held = by_rank(data, weights, np.cumsum(place))
        return unit_sums(data.groups, atoms, weights * held)

    return of_rows


def by_rank(data: Table, weights: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Worth of each row's rank, averaged over tied rows; the highest score has rank 1.

    Parameters
    ----------
    data : Table
    weights : array (n,)
    total : array (sum of weights,)
        Worth of the first 1, 2, ... ranks together.

    Returns
    -------
    float64 array (n,), 0 for rows of weight 0
    """
    order, block = data.descending
    mass = np.bincount(block, weights[order])
    ends = np.round(np.cumsum(mass)).astype(int)
    worth = np.diff(np.concatenate([[0.0], total])[np.concatenate([[0], ends])])
    found = np.empty(len(data))
    found[order] = _ratio(worth, mass, empty=0.0)[block]
    return found


def hit_rate(depth: int) -> Callable:
    """Share of labels 1 among a group's own k highest scores; NaN for a group of fewer than k."""

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        order, block = data.descending
        label, weight, atom = data.label[order], weights[order], atoms[order]
        found = np.full(len(data.units), np.nan)
        for u, inside in _each(data, complements):
            mine = inside[atom] * weight
            mass, hits = np.bincount(block, mine), np.bincount(block, mine * label)
            if mass.sum() >= depth:
                before = np.concatenate([[0], np.cumsum(mass)[:-1]])
                taken = np.clip(depth - before, 0, mass)
                found[u] = (taken * _ratio(hits, mass, empty=0.0)).sum() / depth
        return found

    return of_rows


def each_unit(of: Callable[[pd.DataFrame], float]) -> Callable:
    """A user's function of a group's rows, for every unit; NaN for a group without rows."""

    def of_rows(data: Table, atoms, weights, complements=True) -> np.ndarray:
        columns = ("prediction", "label", "score", "target")
        given = {c: getattr(data, c) for c in columns if getattr(data, c) is not None}
        rows, found = pd.DataFrame(given), np.full(len(data.units), np.nan)
        times = np.round(weights).astype(int)
        for u, inside in _each(data, complements):
            at = np.repeat(np.arange(len(rows)), times * (inside[atoms] > 0))
            if len(at):
                found[u] = float(of(rows.iloc[at]))
        return found

    return of_rows


def auc(data: Table, atoms, weights, complements=True) -> np.ndarray:
    """Area under the roc curve: how often a positive outscores a negative, ties counting half.

    Wins are added up once for each pair of sides, so the complements cost nothing more: those among
    the complement are all wins less those in which the group takes part.
    """
    order, block = data.descending
    positive = (weights * data.label)[order]
    negative = weights[order] - positive
    below = _half_after(negative, block)
    wins_as_positive = positive * below
    wins_as_negative = negative * _half_before(positive, block)
    atom, total = atoms[order], wins_as_positive.sum()
    as_positive = unit_sums(data.groups, atom, wins_as_positive)
    as_negative = unit_sums(data.groups, atom, wins_as_negative)
    g = len(data.groups)
    inside = np.zeros(g)
    for place, names in data.groups.partitions:
        inside[names] = _wins_within(place[atom], len(names), block, positive, negative)
    outside = total - as_positive[:g] - as_negative[:g] + inside
    wins = np.concatenate([inside, [total], outside])
    p, n = unit_sums(data.groups, atom, positive), unit_sums(data.groups, atom, negative)
    return _ratio(np.round(2 * wins) / 2, np.round(p) * np.round(n))


def _wins_within(place, size, block, positive, negative) -> np.ndarray:
    """Wins of positives over negatives of the same group, for groups that exclude one another."""
    by = np.argsort(place, kind="stable")  # keeps the order of scores within a group
    place, block, positive, negative = place[by], block[by], positive[by], negative[by]
    new = np.concatenate([[True], (place[1:] != place[:-1]) | (block[1:] != block[:-1])])
    tied = np.cumsum(new) - 1
    after = _half_after(negative, tied)  # everything later, later groups too
    of_group = np.bincount(place, negative, minlength=size + 1)
    later = of_group.sum() - np.cumsum(of_group)
    return np.bincount(place, positive * (after - later[place]), minlength=size + 1)[:size]


def _half_after(values: np.ndarray, block: np.ndarray) -> np.ndarray:
    mass = np.bincount(block, values)
    return (mass.sum() - np.cumsum(mass) + mass / 2)[block]


def _half_before(values: np.ndarray, block: np.ndarray) -> np.ndarray:
    mass = np.bincount(block, values)
    return (np.cumsum(mass) - mass / 2)[block]


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


def _ratio(over, under, empty: float = np.nan) -> np.ndarray:
    under = np.asarray(under, float)
    return np.divide(over, under, out=np.full(np.shape(under), empty), where=under != 0)
