"""ICON2's formulas over arrays of average precision; the last axis holds what is compared.

Every function takes leading axes, so that one call serves the estimate and all its resamples.
"""

from __future__ import annotations

import numpy as np


def sigma(ap: np.ndarray, ddof: int = 1, missing: str = "refuse") -> np.ndarray:
    """Standard deviation of AP over an attribute's values (Eq. 5 and its square root).

    Parameters
    ----------
    ap : float array (..., n values)
    ddof : int
        1: sample, as the paper's tables; 0: population, as its Eq. 5.
    missing
        ``refuse``: NaN when any value is not estimable. ``leave out``: over those that are.

    Returns
    -------
    float array (...); NaN where fewer than two values are estimable.
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
    """ProxyAP of each group (Eq. 6): sum over e of P(e|a) AP_e.

    Parameters
    ----------
    ap : float array (..., E)
    boxes : float array (..., E, A)

    Returns
    -------
    float array (..., A). Values of e that are not estimable are left out, and P(e|a) is over the
    others; NaN where fewer than two are estimable, for then nothing is compared.
    """
    known = ~np.isnan(ap)
    given = shares(boxes * known[..., None])
    found = (given * np.where(known, ap, 0)[..., None]).sum(-2)
    return np.where((known.sum(-1) >= 2)[..., None], found, np.nan)


def controlled(cell_ap: np.ndarray, ddof: int = 1) -> np.ndarray:
    """Mean over e of sigma within e (section 3.2.2), over the e in which all groups are estimable.

    Parameters
    ----------
    cell_ap : float array (..., E, A)

    Returns
    -------
    float array (...); NaN where there is no such e.
    """
    each = sigma(cell_ap, ddof)
    known = ~np.isnan(each)
    number = known.sum(-1)
    mean = np.where(known, each, 0).sum(-1) / np.maximum(number, 1)
    return np.where(number > 0, mean, np.nan)
