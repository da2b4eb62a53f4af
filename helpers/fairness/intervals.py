"""Intervals of cells, from bootstrap draws of the comparisons behind them.

The plain percentile interval fails where bias is read off as a worst case: the largest of many
noisy differences is too large already, and resampling adds the noise a second time, so that with no
bias at all the interval excludes 0 almost surely. What is used instead:

max, min
    Bounds for the largest of several quantities (Chernozhukov, Lee and Rosen, *Intersection
    bounds*, Econometrica 81, 2013): comparisons that could be the largest are found first, the
    lower end allows for all of them at once, the upper end for each. One clear worst pair gives the
    usual interval of that pair; many that are about equal give a longer one. Ratios are handled as
    differences of logarithms.
mean, sum, weighted means
    Of comparisons without sign, those whose sign is in doubt count with the size of their error.
gini, functions, curves
    The percentile and the reversed ("basic") interval together: the outer ends. This one does cover
    too rarely near "no bias"; the p value is the answer there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.stats

FAR = 1e60  # stands for an infinite error, where arithmetic still works


@dataclass(frozen=True)
class Draws:
    """Estimable comparisons, signed, and how far each bootstrap draw is off.

    Attributes
    ----------
    estimate : float array (P,)
    error : float array (D, P)
        Draw less estimate; 0 where a draw is not estimable.
    spread : float array (P,)
        Standard error of each comparison.
    known : bool array
        Which of all comparisons these are.
    """

    estimate: np.ndarray
    error: np.ndarray
    spread: np.ndarray
    known: np.ndarray


def draws_of(estimate: np.ndarray, draws: np.ndarray) -> Draws:
    """Errors and their spread, from estimates (P,) and draws (D, P)."""
    known = ~np.isnan(estimate)
    if not known.all():
        estimate, draws = estimate[known], draws[:, known]
    with np.errstate(invalid="ignore"):
        error = draws - estimate
    if np.isfinite(error).all():
        return Draws(estimate, error, error.std(0), known)
    error = np.nan_to_num(error, nan=0.0, posinf=FAR, neginf=-FAR)
    low, high = np.quantile(error, [0.1587, 0.8413], axis=0)  # a few infinite draws do not matter
    return Draws(estimate, error, (high - low) / 2, known)


def largest(drawn: Draws, signs: tuple[int, ...], level: float) -> tuple[float, float]:
    """Ends of an interval for the largest of all comparisons, each taken with these signs.

    Signs (1, -1) give the largest absolute value, (-1,) the negative of the smallest value.
    """
    if len(drawn.estimate) == 0:
        return np.nan, np.nan
    sign = np.repeat(signs, len(drawn.estimate))
    column = np.tile(np.arange(len(drawn.estimate)), len(signs))
    near = _near(sign * drawn.estimate[column], drawn.spread[column])
    sign, column = sign[near], column[near]
    return _ends(sign * drawn.estimate[column], sign * drawn.error[:, column], level)


def smallest_size(drawn: Draws, level: float) -> tuple[float, float]:
    """Ends of an interval for the smallest absolute value of all comparisons."""
    if len(drawn.estimate) == 0:
        return np.nan, np.nan
    size = np.abs(drawn.estimate)
    near = _near(-size, drawn.spread)
    error = np.abs(drawn.estimate[near] + drawn.error[:, near]) - size[near]
    low, high = _ends(-size[near], -error, level)
    return max(-high, 0.0), -low


def weighted(drawn: Draws, weight: np.ndarray, unsigned: bool, level: float) -> tuple[float, float]:
    """Ends of an interval for sum(weight * x), or with `unsigned` for sum(weight * |x|)."""
    if len(drawn.estimate) == 0:
        return np.nan, np.nan
    side = (1 - level) / 2
    if not unsigned:
        value = drawn.estimate @ weight
        off = np.quantile(drawn.error @ weight, [1 - side, side])
        return float(value - off[0]), float(value - off[1])
    size = np.abs(drawn.estimate)
    doubtful = size < _reach(len(size)) * drawn.spread
    signed = drawn.error @ (np.sign(drawn.estimate) * weight)
    over = drawn.error @ (np.where(doubtful, 0, np.sign(drawn.estimate)) * weight)
    over += np.abs(drawn.error[:, doubtful]) @ weight[doubtful]
    low, high = np.quantile(over, 1 - side), np.quantile(signed, side)
    return float(max(size @ weight - low, 0)), float(size @ weight - high)


def outer(estimate: float, draws: np.ndarray, level: float) -> tuple[float, float]:
    """The outer ends of the percentile and the basic interval of one number: draws (D,)."""
    draws = draws[~np.isnan(draws)]
    if np.isnan(estimate) or len(draws) == 0:
        return np.nan, np.nan
    side = (1 - level) / 2
    low = np.quantile(draws, side, method="lower")
    high = np.quantile(draws, 1 - side, method="higher")
    with np.errstate(invalid="ignore"):
        ends = [low, high, 2 * estimate - high, 2 * estimate - low]
    return float(np.nanmin(ends)), float(np.nanmax(ends))


def of_cell(
    how: str | Callable, reduction: str | Callable, drawn: Draws, weight: np.ndarray, level: float
) -> tuple[float, float] | None:
    """Interval of a cell made of the suite's own blocks; None for other reductions.

    Parameters
    ----------
    how, reduction : blocks
    drawn : Draws
        Of the comparisons; for abs and rel with their sign (sabs, srel).
    weight : float array (all comparisons,)
    level : float in (0, 1)
    """
    unsigned = how in ("abs", "rel")
    if reduction == "max":
        low, high = largest(drawn, (1, -1) if how == "rel" else (1,), level)
        ends = (max(low, 0.0), high) if unsigned else (low, high)
    elif reduction == "min" and unsigned:
        ends = smallest_size(drawn, level)
    elif reduction == "min":
        low, high = largest(drawn, (-1,), level)
        ends = -high, -low
    else:
        heavy = _linear(reduction, weight[drawn.known])
        if heavy is None:
            return None
        ends = weighted(drawn, heavy, unsigned, level)
    return tuple(np.copysign(np.inf, e) if abs(e) > FAR / 1e20 else e for e in ends)


def log_ratio(fi: np.ndarray, fj: np.ndarray) -> np.ndarray:
    """log(fj / fi), with which 1 - fi / fj increases; NaN where a side is negative."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(fj) - np.log(fi)


def of_ratios(how: str, reduction: str, logs: Draws, level: float) -> tuple[float, float] | None:
    """Interval of a largest or smallest relative comparison, on the scale of `log_ratio`.

    A comparison set holds every pair both ways, so with x the largest log ratio the largest of
    1 - fi / fj is 1 - exp(-x), the smallest 1 - exp(x), and the largest |1 - fi / fj| exp(x) - 1.
    """
    if reduction not in ("max", "min") or (how, reduction) == ("rel", "min"):
        return None
    ends = np.clip(largest(logs, (1,), level), 0, None)
    with np.errstate(over="ignore"):
        if how == "rel":
            return tuple(np.expm1(ends))
        return tuple(-np.expm1(-ends)) if reduction == "max" else tuple(-np.expm1(ends)[::-1])


def _linear(reduction: str | Callable, weight: np.ndarray) -> np.ndarray | None:
    """Weights w of a reduction that is sum(w * x) over the estimable comparisons."""
    if not isinstance(reduction, str) or len(weight) == 0:
        return None
    ones = np.ones_like(weight)
    by = {
        "sum": ones,
        "mean": ones / len(weight),
        "wmean": weight,
        "wmean_normalised": weight / weight.sum() if weight.any() else ones,
    }
    return by.get(reduction)


def _near(estimate: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Which quantities could be the largest, given their errors."""
    reach = _reach(len(estimate)) * spread
    return estimate + reach >= np.max(estimate - reach)


def _ends(estimate: np.ndarray, error: np.ndarray, level: float) -> tuple[float, float]:
    """Ends for the largest: below, all at once in units of their errors; above, each."""
    side, spread = (1 - level) / 2, error.std(0)
    steps = np.divide(error, spread, out=np.zeros_like(error), where=spread > 0)
    step = np.quantile(steps.max(1), 1 - side)
    low = np.max(estimate - step * spread)
    high = np.max(estimate - np.quantile(error, side, axis=0))
    return float(low), float(max(high, estimate.max()))


def _reach(count: int) -> float:
    """Standard errors that all estimates at once stay within, nineteen times in twenty."""
    return float(scipy.stats.norm.ppf(1 - 0.05 / (2 * count)))
