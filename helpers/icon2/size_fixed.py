"""Gaps in average precision with the size of the boxes held fixed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import scipy.stats

from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import Options, evaluate
from helpers.icon2.matching import Matches

HOW = Options(precision="per image", images="all")  # of an audit
STRATUM = 10  # boxes of neighbouring sizes that are weighted together


def gap(
    of_class: Matches,
    attribute: Attribute,
    pair: Sequence[str],
    area: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Compute AP of one group minus another's, as if their boxes had the same sizes.

    The boxes of both groups are divided into strata of about ten of neighbouring sizes.
    Each box counts as much as the other group's share of its stratum (Mantel-Haenszel
    weights), so that both groups have the same weight in every stratum.

    Parameters
    ----------
    of_class : Matches
        The matches of one class.
    attribute : Attribute
    pair : sequence of str
        The group whose AP is subtracted, and the other group.
    area : array of shape (n boxes of all classes,)
        In square pixels.
    weights : array of shape (1 + resamples, n images)
        How often each image counts, the sample itself first.

    Returns
    -------
    array of shape (1 + resamples,)
        From -1 to 1; NaN where no stratum has boxes of both groups.
    """
    lowest, highest = (attribute.codes == attribute.values.index(name) for name in pair)
    codes = np.select([lowest, highest], [0, 1], -1)
    groups = replace(
        attribute,
        values=tuple(pair),
        codes=codes,
    )
    box_weights = _box_weights(of_class, groups, area[of_class.boxes.index])
    if not box_weights.any():
        return np.full(len(weights), np.nan)
    ap, _ = evaluate(
        of_class,
        [groups],
        weights,
        HOW,
        box_weights=box_weights,
    )
    return ap[:, 1] - ap[:, 0]


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


def _box_weights(of_class: Matches, groups: Attribute, area: np.ndarray) -> np.ndarray:
    """Return the other group's share of the boxes of a stratum, 0 for other boxes."""
    codes = np.where(of_class.boxes["ignore"], -1, of_class.codes(groups))
    rows = np.flatnonzero(codes >= 0)
    stratum = strata(area[rows])
    is_high = codes[rows] == 1
    share = pd.Series(is_high, dtype=float).groupby(stratum).transform("mean")
    weight = np.zeros(len(codes))
    weight[rows] = np.where(is_high, 1 - share, share)
    return weight


def p_values(values: np.ndarray) -> np.ndarray:
    """Test whether differences are 0, by the spread of their resamples.

    Parameters
    ----------
    values : array of shape (1 + resamples, n)
        The differences themselves first. NaN marks a resample that has none.

    Returns
    -------
    array of shape (n,)
        Two-sided p values; NaN without resamples.
    """
    error = pd.DataFrame(values[1:]).std().clip(lower=1e-12)
    return 2 * scipy.stats.norm.sf(np.abs(values[0]) / error)
