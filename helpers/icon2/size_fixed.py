"""Gaps in average precision with the size of the boxes held fixed."""

from dataclasses import replace

import numpy as np
import scipy.stats

from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import Curves, Options
from helpers.icon2.matching import ClassMatches

STRATUM = 10  # boxes of neighbouring sizes that are weighted together


def gap(
    of_class: ClassMatches,
    attribute: Attribute,
    lowest: str,
    highest: str,
    area: np.ndarray,
    weights: np.ndarray,
    options: Options,
) -> np.ndarray:
    """Compute AP of one group minus another's, as if their boxes had the same sizes.

    The boxes of both groups are divided into strata of about ten of neighbouring sizes.
    Each box counts as much as the other group's share of its stratum (Mantel-Haenszel
    weights), so that both groups have the same weight in every stratum.

    Parameters
    ----------
    of_class : ClassMatches
        The matches of one class.
    attribute : Attribute
        With the values `lowest` and `highest`.
    area : array of shape (n boxes of all classes,)
        In square pixels.
    weights : array of shape (1 + resamples, n images)
        How often each image counts, the sample itself first.
    options : Options
        How average precision is computed.

    Returns
    -------
    array of shape (1 + resamples,)
        From -1 to 1; NaN where no stratum has boxes of both groups.
    """
    is_low = attribute.codes == attribute.values.index(lowest)
    is_high = attribute.codes == attribute.values.index(highest)
    codes = np.select([is_low, is_high], [0, 1], -1)
    pair = replace(attribute, values=(lowest, highest), codes=codes)
    box_weights = _box_weights(of_class, pair, area[of_class.box_row])
    if not box_weights.any():
        return np.full(len(weights), np.nan)
    curves = Curves(of_class, [pair], options)
    gaps = []
    for image_weights in weights:
        boxes = curves.positives(image_weights)
        ap = curves.mean(image_weights, boxes, box_weights=box_weights)
        gaps.append(ap[1] - ap[0])
    return np.array(gaps)


def strata(size: np.ndarray) -> np.ndarray:
    """Divide boxes into strata of about ten of neighbouring sizes.

    Boxes of equal size share a stratum, so that the order of the boxes in a file
    decides nothing.

    Parameters
    ----------
    size : array of shape (n,)
        Any measure of size.

    Returns
    -------
    int array of shape (n,)
        The stratum of each box, from 0.
    """
    number = max(1, round(len(size) / STRATUM))
    smaller = np.searchsorted(np.sort(size), size)
    return smaller * number // max(len(size), 1)


def _box_weights(
    of_class: ClassMatches, pair: Attribute, area: np.ndarray
) -> np.ndarray:
    """Return the other group's share of the boxes of a stratum, 0 for other boxes."""
    codes = np.where(of_class.box_ignored, -1, of_class.codes(pair))
    rows = np.flatnonzero(codes >= 0)
    stratum = strata(area[rows])
    is_high = codes[rows] == 1
    high = np.bincount(stratum, is_high)
    both = np.bincount(stratum)
    other = np.where(is_high, (both - high)[stratum], high[stratum])
    weight = np.zeros(len(codes))
    weight[rows] = other / both[stratum]
    return weight


def p_value(gaps: np.ndarray) -> float:
    """Test whether a gap differs from 0, by the spread of its resamples.

    Parameters
    ----------
    gaps : array of shape (1 + resamples,)
        The gap itself first. NaN marks a resample that has none.

    Returns
    -------
    float
        The two-sided p value; NaN with fewer than three resamples.
    """
    known = gaps[1:][np.isfinite(gaps[1:])]
    if not np.isfinite(gaps[0]) or len(known) < 3:
        return np.nan
    error = max(known.std(ddof=1), 1e-12)
    return float(2 * scipy.stats.norm.sf(abs(gaps[0]) / error))
