"""AP of each group, and what could explain the differences (ICON2).

Precision depends on how many boxes an image has, so groups are compared at one number
of boxes per image (the paper's Eq. 3, with false positives counted per image).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.icon2 import verdicts
from helpers.icon2.analysis import analyse
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import PER_IMAGE, evaluate
from helpers.icon2.matching import Matches

OF_GROUPS = replace(PER_IMAGE, images="all")


def outer_interval(values: np.ndarray) -> np.ndarray:
    """Compute the 95% interval of a value from its resamples.

    A resample has copies of its images, so its AP is too high. The ends are therefore
    the outer ends of the percentile and of the basic interval.

    Parameters
    ----------
    values : array of shape (1 + resamples, ...)
        The value itself first.

    Returns
    -------
    array of shape (2, ...)
    """
    tails = [0.025, 0.975]
    # n resamples divide a line into n + 1 parts
    percentile = np.quantile(values[1:], tails, axis=0, method="weibull")
    basic = 2 * values[0] - percentile[::-1]
    lower = np.minimum(percentile[0], basic[0])
    upper = np.maximum(percentile[1], basic[1])
    return np.stack([lower, upper])


def ap_by_group(
    matches: Matches,
    classes: Sequence[str],
    attributes: Sequence[Attribute],
    weights: np.ndarray,
) -> pd.DataFrame:
    """Tabulate AP (points) of each group of each class, with its 95% interval.

    Parameters
    ----------
    matches : Matches
    classes : sequence of str
    attributes : sequence of Attribute
    weights : array of shape (1 + resamples, n images)
        How often each image counts, the sample itself first.

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``class`` and ``group``, with ``boxes``, ``AP``,
        ``low`` and ``high``; NaN where a group has too few boxes.
    """
    tables = []
    for attribute in attributes:
        for name in classes:
            ap, boxes = evaluate(matches.of(name), [attribute], weights, OF_GROUPS)
            low, high = outer_interval(ap)
            columns = {
                "attribute": attribute.name,
                "class": name,
                "group": attribute.values,
                "boxes": boxes[0].astype(int),
                "AP": ap[0],
                "low": low,
                "high": high,
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def explained(
    matches: Matches,
    attribute: Attribute,
    name: str,
    candidates: Sequence[Attribute],
    **how,
) -> pd.DataFrame:
    """Apply both rules of ICON2 to each candidate explanation.

    Parameters
    ----------
    matches : Matches
    attribute : Attribute
        Whose differences in a class are to be explained.
    name : str
        The class.
    candidates : sequence of Attribute
        Each is tried alone.
    **how
        Arguments of `analyse`.

    Returns
    -------
    pandas.DataFrame
        One row per candidate with the verdict of each rule, ``sigma`` of AP over the
        groups (points), what is ``remaining`` of it if all groups have the same mix of
        the candidate's values, and the ``fall`` with its 95% interval.
    """
    attribute = _with_enough_boxes(attribute, matches.of(name))
    others = [one for one in candidates if one.name != attribute.name]
    analysis = analyse(
        matches, attribute, others, classes=[name], options=OF_GROUPS, **how
    )
    names = {
        "attribute": "candidate",
        "sigma": "sigma",
        "standardised": "remaining",
        "standardised_delta": "fall",
        "standardised_delta_low": "fall_low",
        "standardised_delta_high": "fall_high",
    }
    fall = analysis.control()[[*names]].rename(columns=names)
    rules = verdicts.table(analysis).rename(columns=names)
    rules.insert(0, "attribute", attribute.name)
    return rules.merge(fall, on="candidate")


def _with_enough_boxes(attribute: Attribute, of_class: Matches) -> Attribute:
    """Keep the values of an attribute that have enough boxes in a class."""
    each_once = np.ones((1, of_class.n_images))
    _, boxes = evaluate(of_class, [attribute], each_once, OF_GROUPS)
    kept = np.flatnonzero(boxes[0] >= OF_GROUPS.min_boxes)
    new_code = np.full(len(attribute.values) + 1, -1)  # the last is for code -1
    new_code[kept] = np.arange(len(kept))
    values = tuple(attribute.values[number] for number in kept)
    return replace(attribute, values=values, codes=new_code[attribute.codes])
