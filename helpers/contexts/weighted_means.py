"""Compute weighted sums of means over training runs and images, with intervals.

A *grid* holds the values of one group of predictions, one row per training run and one
column per image. The key of a grid is a pair: the set of images, and what was done with
them. Grids of the same images are compared image by image.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers import stats

Pair = tuple[str, str]
Grids = Mapping[Pair, pd.DataFrame]


def grids_of(
    predictions: pd.DataFrame, value: str, pair: Sequence[str], image: str
) -> dict[Pair, pd.DataFrame]:
    """Arrange a column as one grid for each combination of two columns.

    Parameters
    ----------
    predictions : pandas.DataFrame
        One row per run and image, with a column ``run``.
    value : str
        The column with the values.
    pair : sequence of two str
        The columns with the set of images, and with what was done with them.
    image : str
        The column with the number of the image.

    Returns
    -------
    dict of (str, str) to pandas.DataFrame
    """
    grids = {}
    for key, rows in predictions.groupby(pair, sort=False):
        grids[key] = rows.pivot_table(value, "run", image)
    return grids


def weighted_mean(
    grids: Grids,
    weights: Mapping[Pair, float],
    shares: bool,
    level: float = stats.CONFIDENCE,
) -> stats.Interval:
    """Compute a weighted sum of the means of grids, with its interval.

    Parameters
    ----------
    grids : mapping of (str, str) to pandas.DataFrame
        See :func:`grids_of`.
    weights : mapping of (str, str) to float
        Weights of the grids that are used. 1 and -1 compare two.
    shares : bool
        Whether the values are shares. A mean of shares, that is one without a negative
        weight, has an interval within 0 and 1.
    level : float, default=0.95

    Returns
    -------
    Interval
    """
    pairs_of_images = defaultdict(list)
    for pair in weights:
        images = tuple(grids[pair].columns)
        pairs_of_images[pair[0], images].append(pair)
    sums = []
    scales = []
    for pairs in pairs_of_images.values():
        weights_of_pairs = np.array([weights[pair] for pair in pairs])
        # so that a mean of shares is a share
        scale = max(abs(weights_of_pairs.sum()), abs(weights_of_pairs).max())
        values = sum(weights[pair] / scale * grids[pair].to_numpy() for pair in pairs)
        sums.append(values)
        scales.append(scale)
    if not shares or min(weights.values()) < 0:
        return stats.mean(sums, scales, shares=shares).interval(level)
    return stats.share(sums, level=level)
