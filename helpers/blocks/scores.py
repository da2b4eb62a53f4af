"""Base measures of scores (means and auc), and roc curves.

All take resampled rows (the atom of each row, and its weight: how often it was drawn) and give a
value for every unit: groups, everyone, complements. Tied scores are half a win in the auc and a
slope in a roc curve. Areas between curves are exact sums over segments, crossings included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.blocks.counts import Table, ratio


def mean_score(data: Table, atoms, weights) -> np.ndarray:
    """Mean of the scores of a group's rows."""
    sizes = _sums(data, atoms, weights)
    return ratio(_sums(data, atoms, weights * data.y_score), np.where(sizes > 0, sizes, np.nan))


def each_unit(of: Callable[[pd.DataFrame], float]) -> Callable:
    """A reader's function of a group's rows, for every unit; NaN for a group without rows."""

    def of_rows(data: Table, atoms, weights) -> np.ndarray:
        rows = pd.DataFrame({name: getattr(data, name) for name in sorted(data.has)})
        times = np.round(weights).astype(int)
        chosen = (np.repeat(np.arange(len(rows)), times * i[atoms]) for i in _members(data))
        return np.array([float(of(rows.iloc[at])) if len(at) else np.nan for at in chosen])

    return of_rows


def auc(data: Table, atoms, weights) -> np.ndarray:
    """Area under the roc curve: how often a positive outscores a negative, ties counting half."""
    return np.array([np.trapezoid(c.tpr, c.fpr) for c in _curves(data, atoms, weights)])


class Roc(NamedTuple):
    """Vertices of a roc curve (Equation 1) from (0, 0) to (1, 1); NaN where a label is missing."""

    fpr: np.ndarray
    tpr: np.ndarray


def rocs(data: Table) -> dict[str, Roc]:
    """Roc curves of all units, with one vertex a distinct score, by their names."""
    curves = _curves(data, data.groups.atoms, np.ones(len(data)))
    return dict(zip(data.units, curves, strict=True))


def area_between(first: Roc, second: Roc) -> float:
    """abroca: the integral over the false positive rate of |first - second| (Gardner et al. 2019).

    Exact, ties included; NaN where one of the curves is not estimable.
    """
    if np.isnan(first.fpr).any() or np.isnan(second.fpr).any():
        return float("nan")
    x = np.union1d(first.fpr, second.fpr)
    width = np.diff(x)
    near, far = (_apart(first, second, x[:-1] + part * width) for part in (0.25, 0.75))
    left, right = 1.5 * near - 0.5 * far, 1.5 * far - 0.5 * near  # both are straight in between
    height = np.abs(left) + np.abs(right)
    crossing = left * right < 0
    squares = np.divide(left**2 + right**2, height, out=height.copy(), where=crossing)
    return float((width * squares).sum() / 2)


def _apart(first: Roc, second: Roc, x: np.ndarray) -> np.ndarray:
    return np.interp(x, first.fpr, first.tpr) - np.interp(x, second.fpr, second.tpr)


def between_rocs(data: Table, atoms, weights, i, j) -> np.ndarray:
    """abroca of all pairs of units (i, j): (P,)."""
    curves, known = _curves(data, atoms, weights), {}
    both = list(zip(i.tolist(), j.tolist(), strict=True))
    for pair in both:
        if pair not in known:
            known[pair] = known[pair[::-1]] = area_between(*(curves[u] for u in pair))
    return np.array([known[pair] for pair in both])


def _sums(data: Table, atoms: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of `values` (n,) over the rows of every unit: (2 G + 1,)."""
    member = data.groups.member
    per_atom = np.bincount(atoms, values, minlength=member.shape[1])
    inside, total = member @ per_atom, per_atom.sum()
    return np.concatenate([inside, [total], total - inside])


def _members(data: Table) -> Iterator[np.ndarray]:
    """Which atoms are in each unit, 0 or 1: groups, everyone and complements, each (K,)."""
    member = data.groups.member.astype(int)
    yield from (member[[g]].toarray()[0] for g in range(len(data.groups)))
    yield np.ones(member.shape[1], int)
    yield from (1 - member[[g]].toarray()[0] for g in range(len(data.groups)))


def _curves(data: Table, atoms, weights) -> list[Roc]:
    """Roc curves of all units."""
    order, block = data.descending
    label, every, atom = data.y_true[order], weights[order], atoms[order]
    found = []
    for inside in _members(data):
        mine = inside[atom] * every
        mass, hits = np.bincount(block, mine), np.bincount(block, mine * label)
        right, up = (np.cumsum(part[mass > 0]) for part in (mass - hits, hits))
        if len(up) == 0 or up[-1] == 0 or right[-1] == 0:
            nothing = np.full(2, np.nan)  # two, so that an area under them is NaN and not 0
            found.append(Roc(nothing, nothing))
        else:
            found.append(Roc(*(np.concatenate([[0.0], part / part[-1]]) for part in (right, up))))
    return found
