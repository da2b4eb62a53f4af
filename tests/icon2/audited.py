"""Compare groups as an audit does, on frames instead of files."""

import pandas as pd

from helpers.audit import detector_audit
from helpers.icon2 import detector_findings, group_gaps
from helpers.icon2.analysis import image_weights
from helpers.icon2.coco_summary import BOUNDS


def comparison(frames, *columns, seed=0):
    compared, _ = detector_audit.comparison(
        frames,
        columns,
        classes=None,
        cluster=None,
        seed=seed,
    )
    return compared


def audited(frames, column="place", draws=79):
    """Return the tables of an audit of one column, without its power and errors."""
    compared = comparison(frames, column)
    null = group_gaps.null_distribution(compared, draws)
    weights = image_weights(len(frames.images), 60)
    return detector_audit.differences(
        frames,
        compared,
        null,
        BOUNDS,
        weights,
        seed=0,
    )


def is_found(tables):
    """Return whether any table says that a group is worse or better."""
    every = pd.concat([tables["findings"], tables["pooled"], tables["gaps"]])
    is_found = every["verdict"] == detector_findings.FOUND
    return bool(is_found.any())
