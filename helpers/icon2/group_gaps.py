"""Gaps in average precision between groups, by chance and with injected faults.

Precision depends on how many boxes an image has, so groups are compared at one number
of boxes per image (the paper's Eq. 3, with false positives counted per image).
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2.analysis import LEVEL, POINTS
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import Options, evaluate
from helpers.icon2.matching import ClassMatches
from helpers.icon2.pooled_recall import ALL_POOLED, RecallBySize
from helpers.store import progress

HOW = Options(precision="per image", images="all")
FALSE_POSITIVES = 0.05  # family-wise error rate
DEFINED = 0.9  # share of the permutations in which a gap must be defined
ALL = "all classes"
EVENTS = ("event_threshold", "event_detection", "event_box")


def group_ap(
    classes: Sequence[ClassMatches],
    attribute: Attribute,
) -> np.ndarray:
    """Compute AP of each group, the mean over the classes first.

    Parameters
    ----------
    classes : sequence of ClassMatches
    attribute : Attribute

    Returns
    -------
    array of shape (1 + classes, groups)
        From 0 to 1. NaN where a group has too few boxes. The mean is over the classes
        in which every group has enough, NaN if there are fewer than two.
    """
    groups = len(attribute.values)
    if not classes:
        return np.full((1, groups), np.nan)
    weights = np.ones((1, classes[0].n_images))
    by_class = []
    for of_class in classes:
        ap, _ = evaluate(of_class, (attribute,), weights, HOW)
        by_class.append(ap[0])
    by_class = np.array(by_class)
    complete = by_class[~np.isnan(by_class).any(1)]
    mean = np.full(groups, np.nan)
    if len(complete) > 1:
        mean = complete.mean(0)
    return np.vstack([mean, by_class])


def spread(ap: np.ndarray) -> np.ndarray:
    """Return the highest minus the lowest AP of the groups, which are the last axis."""
    lowest = np.where(np.isnan(ap), np.inf, ap).min(-1)
    highest = np.where(np.isnan(ap), -np.inf, ap).max(-1)
    known = (~np.isnan(ap)).sum(-1)
    return np.where(known > 1, highest - lowest, np.nan)


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
    return POINTS * np.stack([lower, upper])


def recalls(
    names: Sequence[str],
    classes: Sequence[ClassMatches],
    attributes: Sequence[Attribute],
) -> pd.DataFrame:
    """Compute the share of the boxes that are detected at the first IoU threshold.

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``class`` and ``value``: ``recall`` in percent at any
        score, NaN without boxes.
    """
    rows = []
    for name, of_class in zip(names, classes, strict=True):
        detected = np.zeros(len(of_class.box_row), bool)
        detected[of_class.event_box[of_class.event_threshold == 0]] = True
        for attribute in attributes:
            codes = np.where(of_class.box_ignored, -1, of_class.codes(attribute))
            for code, value in enumerate(attribute.values):
                in_group = detected[codes == code]
                recall = 100 * in_group.mean() if len(in_group) else np.nan
                rows.append((attribute.name, name, value, recall))
    return pd.DataFrame(rows, columns=["attribute", "class", "value", "recall"])


def permuted_attributes(
    attributes: Sequence[Attribute],
    boxes: pd.DataFrame,
    clusters: np.ndarray,
    seed: int,
) -> Iterator[list[Attribute]]:
    """Yield the attributes with randomly permuted values.

    Values are permuted between images (or clusters of them), and those of boxes between
    boxes of one class, where the boxes of an image stay together.

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
    """What differs between random groups, in two families of equal weight.

    The gaps in AP are one family, measured by their deviations from their mean under
    permutation. The differences of pooled recall are the other, in standard errors.
    Both thresholds have the same rank, and one permutation in twenty exceeds either.

    Attributes
    ----------
    mean, deviation : arrays of shape (attributes, 1 + classes)
        Of each gap.
    largest_gap, largest_recall : arrays of shape (permutations,)
        The largest deviation of any gap, and of any difference of recall.
    """

    mean: np.ndarray
    deviation: np.ndarray
    largest_gap: np.ndarray
    largest_recall: np.ndarray

    @cached_property
    def rank(self) -> np.ndarray:
        """The higher rank of a permutation's two values in their families."""
        ranks = [
            np.searchsorted(np.sort(family), family)
            for family in (self.largest_gap, self.largest_recall)
        ]
        return np.maximum(*ranks)

    @cached_property
    def gap_threshold(self) -> float:
        """The deviation from which a gap is significant."""
        return self._threshold(self.largest_gap)

    @cached_property
    def recall_threshold(self) -> float:
        """The number of standard errors from which a difference is significant."""
        return self._threshold(self.largest_recall)

    def _threshold(
        self,
        family: np.ndarray,
    ) -> float:
        last = np.quantile(self.rank, 1 - FALSE_POSITIVES, method="higher")
        return float(np.sort(family)[int(last)])

    def deviations(
        self,
        gaps: np.ndarray,
        at=...,
    ) -> np.ndarray:
        """Return how many standard deviations gaps lie above their mean by chance."""
        return (gaps - self.mean[at]) / np.maximum(self.deviation[at], 1e-9)

    def gap_p(
        self,
        deviations,
    ) -> np.ndarray:
        """Return p values of gaps, adjusted over both families."""
        return self._p(deviations, self.largest_gap)

    def recall_p(
        self,
        deviations,
    ) -> np.ndarray:
        """Return p values of differences of recall, adjusted over both families."""
        return self._p(np.abs(deviations), self.largest_recall)

    def _p(
        self,
        deviations,
        family: np.ndarray,
    ) -> np.ndarray:
        deviations = np.asarray(deviations, float)
        narrower = np.searchsorted(np.sort(family), deviations)
        reached = (self.rank >= narrower[..., None]).sum(-1)
        p = (1 + reached) / (1 + len(family))
        return np.where(np.isnan(deviations), np.nan, p)


def null_distribution(
    classes: Sequence[ClassMatches],
    permutations: Iterator[list[Attribute]],
    draws: int,
    recall: RecallBySize | None = None,
) -> Null:
    """Compute gaps and differences of recall of randomly permuted groups.

    Parameters
    ----------
    classes : sequence of ClassMatches
    permutations : iterator
        From `permuted_attributes`.
    draws : int
        How many permutations.
    recall : RecallBySize, optional
        The comparison of all classes pooled.

    Returns
    -------
    Null
        NaN for a gap that is not defined in at least 90% of the permutations, because
        fewer than two groups have enough boxes.
    """
    gaps = []
    largest_recall = np.full(draws, -np.inf)
    for number in progress(range(draws), desc="permutations", delay=2):
        permuted = next(permutations)
        gaps.append([spread(group_ap(classes, attribute)) for attribute in permuted])
        if recall is not None:
            largest_recall[number] = recall.widest(permuted)
    largest_recall = np.nan_to_num(largest_recall, nan=-np.inf)
    gaps = np.array(gaps)
    share_defined = np.isfinite(gaps).mean(0)
    gaps = np.where(share_defined >= DEFINED, gaps, np.nan)
    known = np.ma.masked_invalid(gaps)
    deviations = _from_the_others(known)
    deviations = deviations.filled(-np.inf)
    return Null(
        mean=known.mean(0).filled(np.nan),
        deviation=known.std(0, ddof=1).filled(np.nan),
        largest_gap=deviations.max((1, 2)),
        largest_recall=largest_recall,
    )


def _from_the_others(values: np.ma.MaskedArray) -> np.ma.MaskedArray:
    """Return each row's deviation from the mean of all others, in their deviation.

    The data are compared with the permutations in the same way.
    """
    n = values.count(0)
    distance = values - values.mean(0)
    squares = (n - 1) * values.var(0, ddof=1) - n / (n - 1) * distance**2
    deviation = np.sqrt(np.maximum(squares / (n - 2), 1e-12))
    return n / (n - 1) * distance / deviation


def without(
    of_class: ClassMatches,
    lost: np.ndarray,
) -> ClassMatches:
    """Return the matches of a class without the detections of lost boxes.

    Parameters
    ----------
    of_class : ClassMatches
    lost : bool array of shape (n boxes of the class,)
    """
    gone = np.zeros(len(of_class.detection_row), bool)
    gone[of_class.event_detection[lost[of_class.event_box]]] = True
    kept = ~gone[of_class.event_detection]
    left = copy.copy(of_class)
    left.detection_row = of_class.detection_row[~gone]
    left.detection_image = of_class.detection_image[~gone]
    for name in EVENTS:
        setattr(left, name, getattr(of_class, name)[kept])
    place = np.cumsum(~gone) - 1
    left.event_detection = place[left.event_detection].astype(np.int32)
    return left


def detection_rates(
    classes: Sequence[ClassMatches],
    names: Sequence[str],
    attributes: Sequence[Attribute],
    null: Null,
    permutations: Iterator[list[Attribute]],
    losses: Sequence[float],
    trials: int,
    seed: int = 0,
    recall: RecallBySize | None = None,
) -> pd.DataFrame:
    """Measure how often an injected fault of the smallest group is detected.

    The groups are permuted, so that their gaps are by chance only. Then the smallest
    group loses a share of its detected boxes, in all classes together or in one class.
    The fault is detected if the gap is significant and this group is the lowest.

    Parameters
    ----------
    classes, names, attributes
        What is compared.
    null : Null
    permutations : iterator
        From `permuted_attributes`.
    losses : sequence of float
        Shares of detected boxes that are lost.
    trials : int
        How many permutations for each loss; twice as many without a fault.
    seed : int
    recall : RecallBySize, optional
        The comparison of all classes pooled, which is tested as well.

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``class``, ``group`` and ``loss``: in how many of
        ``n`` permutations the fault was ``detected``, and their share (``rate``) with
        its 95% interval. The first row, without a loss, is the false positive rate.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(2 * trials):
        false_positive = _is_anything_significant(
            next(permutations), classes, null, recall
        )
        rows.append(("any", "any", "any", 0.0, false_positive))
    strengths = np.repeat(losses, trials)
    for i, attribute in enumerate(attributes):
        if recall is None or not np.isfinite(recall.deviations(attribute)).any():
            continue
        group = smallest_group(recall.boxes.codes(attribute), attribute)
        about = attribute.name, ALL_POOLED, attribute.values[group]
        for loss in strengths:
            permuted = next(permutations)[i]
            deviation = _recall_with_loss(recall, permuted, group, loss, rng)
            rows.append((*about, loss, deviation < -null.recall_threshold))
    tested = [
        (name, [of], k + 1)
        for k, (name, of) in enumerate(zip(names, classes, strict=True))
    ]
    if len(classes) > 1:
        tested.insert(0, (ALL, classes, 0))
    cases = [(i, *case) for i in range(len(attributes)) for case in tested]
    for i, name, some, column in progress(cases, desc="injected faults", delay=2):
        if not np.isfinite(null.mean[i, column]):
            continue  # no two groups have enough boxes
        codes = [of.codes(attributes[i])[~of.box_ignored] for of in some]
        group = smallest_group(np.concatenate(codes), attributes[i])
        about = attributes[i].name, name, attributes[i].values[group]
        for loss in strengths:
            ap = _ap_with_loss(some, next(permutations)[i], group, loss, rng)
            ap = ap[0 if len(some) > 1 else 1]  # the first is the mean of classes
            deviation = null.deviations(spread(ap), (i, column))
            lowest = np.where(np.isnan(ap), np.inf, ap).argmin() == group
            rows.append((*about, loss, deviation > null.gap_threshold and lowest))
    return _rates(rows)


def _is_anything_significant(
    attributes,
    classes,
    null,
    recall,
) -> bool:
    gaps = np.array([spread(group_ap(classes, attribute)) for attribute in attributes])
    if (null.deviations(gaps) > null.gap_threshold).any():
        return True
    return recall is not None and recall.widest(attributes) > null.recall_threshold


def _recall_with_loss(
    recall,
    attribute,
    group,
    loss,
    rng,
) -> float:
    """Return the deviation of a group's recall after a loss of detected boxes."""
    in_group = recall.boxes.codes(attribute) == group
    lost = in_group & (rng.random(len(in_group)) < loss)
    left = recall.with_found(recall.boxes.found * ~lost)
    return left.deviations(attribute)[group]


def _ap_with_loss(
    classes,
    attribute,
    group,
    loss,
    rng,
) -> np.ndarray:
    """Return AP (1 + classes, groups) after a group's loss of detected boxes."""
    left = []
    for of_class in classes:
        in_group = of_class.codes(attribute) == group
        lost = in_group & (rng.random(len(in_group)) < loss)
        left.append(without(of_class, lost))
    return group_ap(left, attribute)


def smallest_group(
    codes: np.ndarray,
    attribute: Attribute,
) -> int:
    """Return the group with the fewest boxes, of those that have enough."""
    boxes = np.bincount(codes[codes >= 0], minlength=len(attribute.values))
    return int(np.where(boxes >= HOW.min_boxes, boxes, boxes.max() + 1).argmin())


def _rates(rows: list[tuple]) -> pd.DataFrame:
    columns = ["attribute", "class", "group", "loss"]
    table = pd.DataFrame(rows, columns=[*columns, "detected"])
    detected = table.groupby(columns, sort=False)["detected"]
    counts = detected.agg(detected="sum", n="size").reset_index()
    low, high = stats.wilson(counts["detected"], counts["n"])
    return counts.assign(rate=counts["detected"] / counts["n"], low=low, high=high)
