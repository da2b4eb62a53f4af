"""Compare groups as an audit does, on frames instead of files."""

import numpy as np

from helpers.icon2 import match
from helpers.icon2.attributes import from_column
from helpers.icon2.comparable import classes_to_compare
from helpers.icon2.group_comparison import (
    Comparison,
    compare,
    null_distribution,
    permuted_attributes,
)
from helpers.icon2.measures import measures


def comparison(frames, *columns, seed=0, threshold=0.0):
    matches = match(frames)
    clusters = np.arange(len(frames.images))
    classes = classes_to_compare(frames, None)
    attributes = [from_column(frames, name) for name in columns]
    return Comparison(
        measures(frames, matches, threshold, classes, clusters),
        attributes,
        permuted_attributes(attributes, matches.boxes, clusters, seed),
    )


def differences(frames, column="place", draws=79):
    """Return the table of differences between the groups of one column."""
    compared = comparison(frames, column)
    return compare(compared, null_distribution(compared, draws))
