"""Intervals, tests and power, for samples in which training runs and images are the units.

Runs of a model and images are both drawn at random, and every interval speaks of both. Public
functions take tidy tables or arrays, and are imported from here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from helpers.stats.bootstrap import bootstrap_ci, cluster_bootstrap
from helpers.stats.correlation import spearman
from helpers.stats.means import CONFIDENCE, Interval, Mean, difference, mean, mean_ci
from helpers.stats.permutation import (
    adjust,
    min_p,
    permutation_test,
    permuted_labels,
)
from helpers.stats.power import smallest_detectable
from helpers.stats.proportions import newcombe, rates, share, wilson

__all__ = [
    "CONFIDENCE",
    "Estimate",
    "Interval",
    "Mean",
    "adjust",
    "bootstrap_ci",
    "cluster_bootstrap",
    "difference",
    "mean",
    "mean_ci",
    "min_p",
    "newcombe",
    "permutation_test",
    "permuted_labels",
    "rates",
    "share",
    "smallest_detectable",
    "spearman",
    "wilson",
]

UPPER = (1 + CONFIDENCE) / 2


@dataclass(frozen=True)
class Estimate:
    """What was measured for one claim."""

    claim: str  # its id
    # value, lower and upper end, in the claim's quantity; None or NaN where a run cannot measure it
    interval: tuple[float, float, float] | None = None
    # what the claim is about: fills the sentence's ``{names}`` and tells its estimates apart
    of: Mapping[str, object] = field(default_factory=dict)
    # corrected for multiplicity: it decides, with the side of the value, and not the interval
    p: float | None = None
    note: str = ""  # what the reader must know of this value, or why it is not measured
    # the same quantity of networks that cannot know what is claimed
    reference: tuple[float, float, float] | None = None
