"""Gaps in average precision between groups, and gaps that arise by chance.

Precision depends on how many boxes an image has, so groups are compared at one number
of boxes per image (the paper's Eq. 3, with false positives counted per image).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2.analysis import LEVEL, POINTS
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import Options, evaluate
from helpers.icon2.matching import ClassMatches
from helpers.icon2.pooled_recall import RecallBySize
from helpers.store import progress

HOW = Options(precision="per image", images="all")
FALSE_POSITIVES = 0.05  # family-wise error rate
DEFINED = 0.9  # share of the permutations in which a gap must be defined
ALL = "all classes"


def group_ap(
    classes: Mapping[str, ClassMatches],
    attribute: Attribute,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Compute AP of each group, the mean over the classes first.

    Parameters
    ----------
    classes : mapping of str to ClassMatches
    attribute : Attribute
    weights : array of shape (1 + resamples, images), optional
        How often each image counts, the sample itself first; by default once.

    Returns
    -------
    array of shape (1 + resamples, 1 + classes, groups)
        From 0 to 1. NaN where a group has too few boxes. The mean is over the classes
        in which every group has enough, NaN if there are fewer than two.
    """
    every_ap = []
    for of_class in classes.values():
        each_once = np.ones((1, of_class.n_images))
        rows = each_once if weights is None else weights
        ap, _ = evaluate(of_class, (attribute,), rows, HOW)
        every_ap.append(ap)
    by_class = np.stack(every_ap, axis=1)
    is_complete = np.isfinite(by_class[0]).all(1)
    mean = np.full_like(by_class[:, :1], np.nan)
    if is_complete.sum() > 1:
        mean = by_class[:, is_complete].mean(1, keepdims=True)
    return np.hstack([mean, by_class])


def spread(ap: np.ndarray) -> np.ndarray:
    """Return the highest minus the lowest AP of the groups, which are the last axis."""
    lowest = np.fmin.reduce(ap, axis=-1)
    highest = np.fmax.reduce(ap, axis=-1)
    known = np.isfinite(ap).sum(-1)
    return np.where(known > 1, highest - lowest, np.nan)


def every_gap(
    classes: Mapping[str, ClassMatches], attributes: Sequence[Attribute]
) -> np.ndarray:
    """Return the gap of each attribute (row) in all classes together, and in each."""
    return np.array([spread(group_ap(classes, one)[0]) for one in attributes])


def interval(values: np.ndarray) -> np.ndarray:
    """Compute the 95% interval of a value from its resamples.

    A resample has copies of its images, so its AP is too high. The ends are therefore
    the outer ends of the percentile and of the basic interval.

    Parameters
    ----------
    values : array of shape (1 + resamples, ...)
        The value itself first, from 0 to 1.

    Returns
    -------
    array of shape (2, ...)
        In points; NaN with fewer than two resamples.
    """
    if len(values) < 3:
        return np.full((2, *values.shape[1:]), np.nan)
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    # n resamples divide a line into n + 1 parts
    percentile = np.quantile(values[1:], tails, axis=0, method="weibull")
    basic = 2 * values[0] - percentile[::-1]
    lower = np.minimum(percentile[0], basic[0])
    upper = np.maximum(percentile[1], basic[1])
    ends = np.stack([lower, upper])
    return POINTS * ends


def permuted_attributes(
    attributes: Sequence[Attribute],
    boxes: pd.DataFrame,
    clusters: np.ndarray,
    seed: int,
) -> Iterator[list[Attribute]]:
    """Yield the attributes with randomly permuted values.

    Values of images are permuted between images (or clusters of them). Values of boxes
    are permuted between boxes of one class, where the boxes of an image stay together.

    Parameters
    ----------
    attributes : sequence of Attribute
    boxes : pandas.DataFrame
        With ``category`` and ``image``.
    clusters : array of shape (n images,)
        Which images belong together.
    seed : int
    """
    rng = np.random.default_rng(seed)
    images = stats.permuted_labels(np.arange(len(clusters)), rng, clusters=clusters)
    rows = stats.permuted_labels(
        np.arange(len(boxes)),
        rng,
        strata=boxes["category"].to_numpy(),
        clusters=clusters[boxes["image"].to_numpy()],
    )
    while True:
        order = {"image": next(images), "box": next(rows)}
        yield [
            replace(attribute, codes=attribute.codes[order[attribute.level]])
            for attribute in attributes
        ]


@dataclass(frozen=True)
class Null:
    """Hold what differs between random groups, in two families of equal weight.

    One family are the gaps in AP. The deviation of a gap is the number of standard
    deviations by which it exceeds its mean in the permutations. The other family are
    differences of pooled recall, in standard errors. A permutation is summarised by the
    largest value of each family. Both thresholds have the same rank among the
    permutations, such that one permutation in twenty exceeds one of them or both.

    Attributes
    ----------
    mean, deviation : arrays of shape (attributes, 1 + classes)
        Of each gap.
    largest_gap, largest_recall : arrays of shape (permutations,)
        The largest value of any gap, and of any difference of recall.
    """

    mean: np.ndarray
    deviation: np.ndarray
    largest_gap: np.ndarray
    largest_recall: np.ndarray

    @cached_property
    def rank(self) -> np.ndarray:
        """Rank each permutation by the higher rank of its two values."""
        families = (self.largest_gap, self.largest_recall)
        ranks = [np.searchsorted(np.sort(family), family) for family in families]
        return np.maximum(*ranks)

    @cached_property
    def gap_threshold(self) -> float:
        """Return the deviation from which a gap is significant."""
        return self._threshold(self.largest_gap)

    @cached_property
    def recall_threshold(self) -> float:
        """Return the deviation from which a difference of recall is significant."""
        return self._threshold(self.largest_recall)

    def _threshold(self, family: np.ndarray) -> float:
        last = np.quantile(self.rank, 1 - FALSE_POSITIVES, method="higher")
        in_order = np.sort(family)
        return float(in_order[int(last)])

    def deviations(self, gaps: np.ndarray, at=...) -> np.ndarray:
        """Return how many standard deviations gaps lie above their mean by chance."""
        return (gaps - self.mean[at]) / np.maximum(self.deviation[at], 1e-9)

    def gap_p(self, deviations) -> np.ndarray:
        """Return p values of gaps, adjusted over both families."""
        return self._p(deviations, self.largest_gap)

    def recall_p(self, deviations) -> np.ndarray:
        """Return p values of differences of recall, adjusted over both families."""
        return self._p(np.abs(deviations), self.largest_recall)

    def _p(self, deviations, family: np.ndarray) -> np.ndarray:
        rank = np.searchsorted(np.sort(family), deviations)
        reached = (self.rank >= rank[..., None]).sum(-1)
        p = (1 + reached) / (1 + len(family))
        return np.where(np.isnan(deviations), np.nan, p)


def null_distribution(
    classes: Mapping[str, ClassMatches],
    permutations: Iterator[list[Attribute]],
    draws: int,
    recall: RecallBySize,
) -> Null:
    """Compute gaps and differences of recall of randomly permuted groups.

    Parameters
    ----------
    classes : mapping of str to ClassMatches
    permutations : iterator
        From `permuted_attributes`.
    draws : int
        How many permutations.
    recall : RecallBySize
        The comparison of all classes pooled.

    Returns
    -------
    Null
        NaN for a gap that is not defined in at least 90% of the permutations, because
        fewer than two groups have enough boxes.
    """
    gaps = []
    largest_recall = []
    for _ in progress(range(draws), desc="permutations", delay=2):
        permuted = next(permutations)
        gaps.append(every_gap(classes, permuted))
        largest_recall.append(recall.widest(permuted))
    gaps = np.ma.masked_invalid(gaps)
    gaps[:, gaps.count(0) < DEFINED * draws] = np.ma.masked
    mean = gaps.mean(0).filled(np.nan)
    deviation = gaps.std(0, ddof=1).filled(np.nan)
    largest_gap = np.empty(draws)
    numbers = np.arange(draws)
    for number in numbers:  # is compared with all others, as the data are
        others = gaps[numbers != number]
        smallest = np.maximum(others.std(0, ddof=1), 1e-6)
        deviations = (gaps[number] - others.mean(0)) / smallest
        largest_gap[number] = deviations.filled(-np.inf).max()
    return Null(mean, deviation, largest_gap, np.array(largest_recall))
