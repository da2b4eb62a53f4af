"""ICON2's formulas over arrays of average precision; the last axis holds what is compared.

Every function takes leading axes, so that one call serves the estimate and all its resamples.
"""

from __future__ import annotations

import numpy as np


def sigma(ap: np.ndarray, ddof: int = 1, missing: str = "refuse") -> np.ndarray:
    """Standard deviation of AP (..., n values) over an attribute's values (root of Eq. 5).

    `ddof` is 1 for the sample, as in the paper's tables, and 0 for the population, as in Eq. 5.
    Where a value is not estimable (NaN), `missing` says whether to ``refuse`` (NaN) or to
    ``leave out`` that value; NaN where fewer than two are left.
    """
    ap = np.asarray(ap, float)
    known = ~np.isnan(ap)
    number = known.sum(-1)
    mean = np.where(known, ap, 0).sum(-1) / np.maximum(number, 1)
    squares = (np.where(known, ap - mean[..., None], 0) ** 2).sum(-1)
    found = np.sqrt(squares / np.maximum(number - ddof, 1))
    enough = (number == ap.shape[-1]) if missing == "refuse" else number >= 2
    return np.where(enough & (number >= 2), found, np.nan)


def shares(boxes: np.ndarray) -> np.ndarray:
    """P(e|a): share of each value among a group's boxes (..., E, A); NaN for an empty group."""
    total = boxes.sum(-2, keepdims=True)
    return np.divide(boxes, total, out=np.full(boxes.shape, np.nan), where=total > 0)


def proxy(ap: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """ProxyAP of each group (..., A) by Eq. 6: sum over e of P(e|a) AP_e.

    From AP (..., E) and boxes (..., E, A). Values of e that are not estimable are left out, and
    P(e|a) is over the others; NaN where fewer than two are estimable: nothing is compared then.
    """
    known = ~np.isnan(ap)
    given = shares(boxes * known[..., None])
    found = (given * np.where(known, ap, 0)[..., None]).sum(-2)
    return np.where((known.sum(-1) >= 2)[..., None], found, np.nan)


def controlled(cell_ap: np.ndarray, ddof: int = 1) -> np.ndarray:
    """Mean over e of sigma within e (section 3.2.2), from the AP of every cell (..., E, A).

    Only values of e in which all groups are estimable take part; NaN where there is none.
    """
    each = sigma(cell_ap, ddof)
    known = ~np.isnan(each)
    number = known.sum(-1)
    mean = np.where(known, each, 0).sum(-1) / np.maximum(number, 1)
    return np.where(number > 0, mean, np.nan)
