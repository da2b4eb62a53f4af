"""Compare groups as an audit does, on frames instead of files."""

import numpy as np

from helpers.icon2 import match
from helpers.icon2.attributes import from_column, permuted_attributes
from helpers.icon2.comparable import classes_to_compare
from helpers.icon2.group_comparison import (
    compare,
    null_distribution,
)
from helpers.icon2.measures import units_to_compare


def units_of(frames, threshold=0.0):
    matches = match(frames)
    clusters = np.arange(len(frames.images))
    classes = classes_to_compare(frames, None)
    return units_to_compare(frames, matches, threshold, classes, clusters)


def permutations_of(frames, attributes, seed=0):
    clusters = np.arange(len(frames.images))
    return permuted_attributes(attributes, frames.boxes, clusters, seed)


def differences(frames, *columns, draws=79):
    """Return the table of differences between the groups of some columns."""
    attributes = [from_column(frames, name) for name in columns]
    units = units_of(frames)
    permutations = permutations_of(frames, attributes)
    null = null_distribution(units, permutations, draws)
    return compare(units, attributes, null)
