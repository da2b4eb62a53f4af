"""AP of each group, and what could explain the differences (ICON2).

Precision depends on how many boxes an image has, so groups are compared at one number
of boxes per image (the paper's Eq. 3, with false positives counted per image).
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.icon2 import verdicts
from helpers.icon2.analysis import analyse
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import PER_IMAGE
from helpers.icon2.matching import Matches

OF_GROUPS = replace(PER_IMAGE, images="all")
MOST_EXPLAINED = 3  # pairs of an attribute and a class


def outer_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the 95% interval of a value from its resamples.

    A resample has copies of its images, so its AP is too high. The ends are therefore
    the outer ends of the percentile and of the basic interval.

    Parameters
    ----------
    values : array of shape (1 + resamples, ...)
        The value itself first.

    Returns
    -------
    low, high : arrays of shape (...)
        In points.
    """
    # n resamples divide a line into n + 1 parts
    percentile = np.quantile(values[1:], [0.025, 0.975], axis=0, method="weibull")
    basic = 2 * values[0] - percentile[::-1]
    low = np.minimum(percentile, basic)[0]
    high = np.maximum(percentile, basic)[1]
    return low, high


def ap_by_group(
    matches: Matches, attributes: Sequence[Attribute], classes: Sequence[str], **how
) -> pd.DataFrame:
    """Tabulate AP (points) of each group of each class, with its 95% interval.

    Parameters
    ----------
    matches : Matches
    attributes : sequence of Attribute
    classes : sequence of str
    **how
        Arguments of `analyse`, with ``resamples``.

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``class`` and ``group``, with ``boxes``, ``AP``,
        ``low`` and ``high``; NaN where a group has too few boxes.
    """
    tables = {}
    for attribute in attributes:
        analysis = analyse(
            matches, attribute, [], classes=classes, options=OF_GROUPS, **how
        )
        for name, boxes in analysis.group_boxes.items():
            ap = analysis.group_ap[name]
            low, high = outer_interval(ap)
            columns = {
                "boxes": boxes[0].astype(int),
                "AP": ap[0],
                "low": low,
                "high": high,
            }
            tables[attribute.name, name] = pd.DataFrame(columns, attribute.values)
    return pd.concat(tables, names=["attribute", "class", "group"]).reset_index()


def explained(
    matches: Matches,
    gaps: pd.DataFrame,
    candidates: Sequence[Attribute],
    **how,
) -> pd.DataFrame:
    """Apply both rules of ICON2 to each candidate explanation of gaps in AP.

    Parameters
    ----------
    matches : Matches
    gaps : pandas.DataFrame
        Rows of `ap_by_group`. The first three pairs of an attribute and a class are
        explained, except where fewer than two groups have enough boxes.
    candidates : sequence of Attribute
        All attributes. Each is tried alone for each other attribute.
    **how
        Arguments of `analyse`.

    Returns
    -------
    pandas.DataFrame
        One row per attribute, class and candidate with the verdict of each rule,
        ``sigma`` of AP over the groups (points), what is ``remaining`` of it if all
        groups have the same mix of the candidate's values, and the ``fall`` with its
        95% interval.
    """
    names = {
        "attribute": "candidate",
        "standardised": "remaining",
        "standardised_delta": "fall",
        "standardised_delta_low": "fall_low",
        "standardised_delta_high": "fall_high",
    }
    tables = [pd.DataFrame()]
    known = gaps.dropna(subset="AP")
    by_class = known.groupby(["attribute", "class"], sort=False)
    for (name, class_name), rows in itertools.islice(by_class, MOST_EXPLAINED):
        if len(rows) < 2:
            continue
        by_name = {candidate.name: candidate for candidate in candidates}
        attribute = by_name.pop(name)
        # groups without an AP become unknown, or sigma would not be known
        group = pd.Categorical.from_codes(attribute.codes, attribute.values)
        codes = group.set_categories(rows["group"]).codes
        attribute = replace(attribute, values=tuple(rows["group"]), codes=codes)
        analysis = analyse(
            matches,
            attribute,
            by_name.values(),
            classes=[class_name],
            options=OF_GROUPS,
            **how,
        )
        fall = analysis.control()[["class", "sigma", *names]]
        table = verdicts.table(analysis).merge(fall).rename(columns=names)
        table.insert(0, "attribute", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
