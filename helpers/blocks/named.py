"""Measures of bias by their names in the literature, as the blocks they are made of (Table 1)."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist

from helpers.blocks import blocks
from helpers.blocks.counts import Table, numbers

TABLE_1 = {
    "|dfpr|": ("fpr", "compl", "sabs", "max"),
    "|dfnr|": ("fnr", "compl", "sabs", "max"),
    "|deo|": ("tpr", "compl", "sabs", "max"),
    "spsf": ("pr", "vsany", "abs", "wmean"),
    "fpsf": ("fpr", "vsany", "abs", "wmean"),
    "cv": ("pr", "compl", "sabs", "max"),
    "1 - prule": ("pr", "compl", "srel", "max"),
    "db": ("pr", "pairs", "srel", "max"),
    "F_bias": ("acc", "vsany", "abs", "max"),
    "wcb": ("acc", "pairs", "srel", "max"),
}
"""The rows of Table 1 but ib (`individual_bias`): the four blocks of each. ``compl`` is for one
group and its complement. F_bias and wcb take any F, here acc, and F_bias any comparison and
reduction; db is of positive outcomes; spsf and fpsf are not normalised."""
MOST_INDIVIDUALS = 10_000


def by_name(data: Table, name: str, group: str | None = None) -> float:
    """A measure of Table 1 by its printed name.

    Those of one group and its complement are of `group`, or the largest over all groups
    (Equation 8).
    """
    if name not in TABLE_1:
        raise ValueError(f"measure {name!r} is not known; there are {', '.join(TABLE_1)}")
    of, which, comparison, reduction = TABLE_1[name]
    if group is not None and which == "compl":
        at = data.groups.place(group)
        which = lambda g: blocks.both_ways(np.array([at]), np.array([g + 1 + at]))  # noqa: E731
    return blocks.bias(data, of, which, comparison, reduction)


def table_1(data: Table, group: str | None = None) -> pd.DataFrame:
    """The rows of Table 1 with the blocks they are made of; `group` as in `by_name`.

    DataFrame: measure, value, base, set, comparison, reduction.
    """
    rows = [[name, by_name(data, name, group), *of] for name, of in TABLE_1.items()]
    columns = ["measure", "value", "base", "set", "comparison", "reduction"]
    return pd.DataFrame(rows, columns=columns)


def individual_bias(outcomes: Any, features: Any) -> float:
    """ib: the largest ratio of outcome distance to input distance (Equation 4); fair up to 1.

    Infinite where equal inputs have different outcomes, NaN where all pairs are 0/0. `outcomes`
    (n,) and `features` (n, d) are finite; a Euclidean distance of 1 between features has to mean
    "may differ by 1 in outcome".
    """
    outcomes, features = numbers(outcomes, "outcomes"), np.asarray(features, float)
    n = len(outcomes)
    if features.shape[:1] != (n,) or not np.isfinite(features).all() or n > MOST_INDIVIDUALS:
        raise ValueError(
            f"expected finite features (n, d) for {n:,} outcomes, at most {MOST_INDIVIDUALS:,}; "
            f"features have shape {features.shape}"
        )
    found = blocks.ratio(pdist(outcomes[:, None]), pdist(features.reshape(n, -1)))
    return float(pd.Series(found).max())
