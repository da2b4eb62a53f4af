"""Which units are compared, how, and how many comparisons become one number.

*Towards Standardizing AI Bias Exploration*, sections 4.1, 4.3 and 4.4. A comparison set is a pair
of arrays of unit places (`counts.Table.units`); comparisons and reductions work on arrays whose
last axis runs over the pairs, so that a thousand resampled tables are handled like one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helpers.fairness.base import ratio

SETS = ("vsany", "pairs", "compl")
COMPARISONS = ("none", "abs", "rel", "sabs", "srel")
REDUCTIONS = ("max", "min", "mean", "wmean", "wmean_normalised", "sum", "gini")
MOST_PAIRS = 4_000_000


def pairs(g: int, which: str) -> tuple[np.ndarray, np.ndarray]:
    """Places of the first and the second side of all comparisons, none with itself.

    Parameters
    ----------
    g : int
        Number of groups; units are these, everyone, and the complements.
    which : {"vsany", "pairs", "compl"}
        ``vsany``: every group with everyone, both ways (Equation 6). ``pairs``: all ordered pairs
        of groups (Equation 7). ``compl``: every group with its complement, both ways (Equation 8).
        The same over intersections (Equation 10) or individuals (Equation 9) is a matter of the
        table's groups.

    Returns
    -------
    i, j : int arrays (P,)

    Raises
    ------
    ValueError
        For an unknown set, a single group to be paired, or more than `MOST_PAIRS` comparisons.
    """
    every = np.arange(g)
    if which == "vsany":
        return np.concatenate([every, np.full(g, g)]), np.concatenate([np.full(g, g), every])
    if which == "compl":
        return np.concatenate([every, g + 1 + every]), np.concatenate([g + 1 + every, every])
    if which != "pairs":
        raise ValueError(f"comparison set {which!r} is not known; give one of {', '.join(SETS)}")
    if g * (g - 1) > MOST_PAIRS:
        raise ValueError(
            f"pairs: {g:,} groups make {g * (g - 1):,} comparisons, more than {MOST_PAIRS:,}; "
            "merge small groups, or compare each with everyone ('vsany') or with the rest ('compl')"
        )
    if g < 2:
        raise ValueError("pairs: there is one group; give 'vsany' or 'compl' to compare it")
    i, j = np.nonzero(~np.eye(g, dtype=bool))
    return i, j


def compare(fi: np.ndarray, fj: np.ndarray, how: str | Callable, epsilon: float | None = None):
    """Compare two sides (section 4.3).

    Parameters
    ----------
    fi, fj : float arrays of one shape
    how : {"none", "abs", "rel", "sabs", "srel"} or callable (fi, fj) -> array
        fi; |fi - fj|; |1 - fi / fj|; fi - fj; 1 - fi / fj. A ratio over 0 is infinite, 0/0 NaN.
    epsilon : float, optional
        What is accepted: max(0, comparison - epsilon). None leaves the comparison as it is (with
        0 the negative half of a signed comparison becomes 0).

    Raises
    ------
    ValueError
        For an unknown comparison or a negative epsilon.
    """
    if callable(how):
        found = how(fi, fj)
    elif how == "none":
        found = np.array(fi, float)
    elif how in ("abs", "sabs"):
        with np.errstate(invalid="ignore"):
            found = fi - fj
    elif how in ("rel", "srel"):
        found = 1 - ratio(fi, fj)
    else:
        raise ValueError(f"comparison {how!r} is not known; give one of {', '.join(COMPARISONS)}")
    if how in ("abs", "rel"):
        found = np.abs(found)
    return threshold(found, epsilon)


def threshold(compared: np.ndarray, epsilon: float | None) -> np.ndarray:
    """max(0, comparison - epsilon), or the comparison itself for None."""
    if epsilon is None:
        return compared
    if epsilon < 0:
        raise ValueError(f"epsilon={epsilon} must be 0 or more")
    return np.maximum(compared - epsilon, 0)


def weights(sizes: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """1 - |P(x in Si) - P(x in Sj)| of every comparison (section 4.4): (..., U) -> (..., P)."""
    g = (sizes.shape[-1] - 1) // 2
    share = sizes / sizes[..., g : g + 1]
    return 1 - np.abs(share[..., i] - share[..., j])


def reduce(compared: np.ndarray, how: str | Callable, weight: np.ndarray | None = None):
    """Many comparisons to one number (section 4.4); those not estimable (NaN) are left out.

    Parameters
    ----------
    compared : float array (..., P)
    how : {"max", "min", "mean", "wmean", "wmean_normalised", "sum", "gini"} or callable
        ``wmean`` is the paper's sum of weighted comparisons, as printed not divided by the sum of
        the weights; ``wmean_normalised`` divides. ``gini``: mean absolute difference between
        comparisons over twice their mean; NaN where one is negative or all are 0. A callable gets
        the estimable comparisons (m,) and their weights, and returns a number.
    weight : float array (..., P)
        From `weights`; needed by the weighted means.

    Returns
    -------
    float64 array (...), NaN where no comparison is estimable
    """
    if callable(how):
        return _by_row(compared, how, weight)
    known = ~np.isnan(compared)
    complete = bool(known.all())
    some = known.any(-1)
    if how in ("max", "min"):
        worst = -np.inf if how == "max" else np.inf
        filled = compared if complete else np.where(known, compared, worst)
        return np.where(some, getattr(filled, how)(-1), np.nan)
    if how == "gini":
        return _gini(compared, known)
    if how not in REDUCTIONS:
        raise ValueError(f"reduction {how!r} is not known; give one of {', '.join(REDUCTIONS)}")
    with np.errstate(invalid="ignore"):
        weighted = compared * weight if how.startswith("wmean") else compared
        total = (weighted if complete else np.where(known, weighted, 0)).sum(-1)
        if how == "mean":
            total = ratio(total, known.sum(-1))
        if how == "wmean_normalised":
            total = ratio(total, np.where(known, weight, 0).sum(-1))
    return np.where(some, total, np.nan)


def deciding(compared: np.ndarray, how: str | Callable) -> int:
    """Place of the comparison that decides a reduction, -1 where none is estimable.

    The largest for max, the smallest for min; for the others the one that contributes most.
    """
    known = ~np.isnan(compared)
    if not known.any():
        return -1
    if how == "min":
        return int(np.argmin(np.where(known, compared, np.inf)))
    size = compared if how == "max" else np.abs(compared)
    return int(np.argmax(np.where(known, size, -np.inf)))


def tail(comparison: str | Callable, reduction: str | Callable) -> str:
    """Which end of the null speaks of bias: "upper", "lower" or "both".

    Differences without sign speak of bias when large, and so does a largest value; a smallest one
    of measures or of signed differences when small; sums and means of either may err both ways.
    """
    if comparison not in ("none", "sabs", "srel") or reduction in ("max", "gini"):
        return "upper"
    return "lower" if reduction == "min" else "both"


def _gini(compared: np.ndarray, known: np.ndarray) -> np.ndarray:
    m = known.sum(-1)
    ordered = np.sort(np.where(known, compared, np.inf), -1)
    place = np.arange(1, compared.shape[-1] + 1)
    within = place <= m[..., None]
    with np.errstate(invalid="ignore"):
        ordered = np.where(within, ordered, 0)
        over = (ordered * (2 * place - m[..., None] - 1)).sum(-1)
        total = ordered.sum(-1)
        found = ratio(over, m * total)
    usable = (m > 0) & (ordered.min(-1) >= 0) & (total > 0)
    return np.where(usable, np.abs(found), np.nan)


def _by_row(compared: np.ndarray, how: Callable, weight: np.ndarray | None) -> np.ndarray:
    flat = compared.reshape(-1, compared.shape[-1])
    heavy = np.ones_like(flat) if weight is None else np.broadcast_to(weight, compared.shape)
    heavy, found = heavy.reshape(flat.shape), np.full(len(flat), np.nan)
    for row, (values, w) in enumerate(zip(flat, heavy, strict=True)):
        known = ~np.isnan(values)
        if known.any():
            found[row] = float(how(values[known], w[known]))
    return found.reshape(compared.shape[:-1])
