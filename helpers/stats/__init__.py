"""Intervals, tests and power for samples of training runs and images.

Runs of a model and images are both drawn at random, and every interval covers both.
Public functions take tidy tables or arrays, and are imported from here.
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


@dataclass(frozen=True)
class Estimate:
    """Hold what was measured for one claim.

    Attributes
    ----------
    claim : str
        The id of the claim.
    interval : tuple of float, optional
        The value, and the lower and the upper end of its interval, in the claim's
        quantity. None or NaN if the run cannot measure it.
    subject : mapping of str to object
        What the claim is about. It fills the ``{names}`` in the claim's sentence, and
        distinguishes the estimates of one claim.
    p : float, optional
        An adjusted p value. If there is one, it decides in place of the interval.
    note : str
        What a reader must know about this value, or why it is not measured.
    """

    claim: str
    interval: tuple[float, float, float] | None = None
    subject: Mapping[str, object] = field(default_factory=dict)
    p: float | None = None
    note: str = ""
