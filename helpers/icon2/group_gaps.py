"""Gaps in average precision between groups, and gaps that arise by chance.

Precision depends on how many boxes an image has, so groups are compared at one number
of boxes per image (the paper's Eq. 3, with false positives counted per image).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import size_fixed
from helpers.icon2.analysis import POINTS
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import evaluate
from helpers.icon2.detector_findings import LEVEL, SMALLEST, verdicts
from helpers.icon2.matching import Matches
from helpers.icon2.pooled_recall import RecallBySize
from helpers.icon2.size_fixed import HOW
from helpers.store import progress

DEFINED = 0.9  # share of the permutations in which a gap must be defined
GAPS, RECALL = 0, 1  # the families of a `Null`
COLUMNS = [
    "attribute",
    "class",
    "lowest",
    "highest",
    "AP",
    "AP of highest",
    "gap",
    "low",
    "high",
    "deviations",
    "p",
    "remaining",
    "remaining_p",
]


@dataclass(frozen=True)
class Comparison:
    """Hold what an audit compares between the groups of some attributes.

    Attributes
    ----------
    matches : Matches
    classes : mapping of str to Matches
        The classes that are compared one by one.
    attributes : sequence of Attribute
    recall : RecallBySize
        The comparison of all classes pooled.
    permutations : iterator
        From `permuted_attributes`.
    """

    matches: Matches
    classes: Mapping[str, Matches]
    attributes: Sequence[Attribute]
    recall: RecallBySize
    permutations: Iterator[list[Attribute]]


def group_ap(
    classes: Mapping[str, Matches],
    attributes: Sequence[Attribute],
    weights: np.ndarray | None = None,
) -> dict:
    """Compute AP of each group in each class.

    Parameters
    ----------
    classes : mapping of str to Matches
    attributes : sequence of Attribute
    weights : array of shape (1 + resamples, images), optional
        How often each image counts, the sample itself first; by default once.

    Returns
    -------
    dict of (str, str) to array of shape (1 + resamples, groups)
        AP from 0 to 1, by attribute and class. NaN where a group has too few boxes.
    """
    every_ap = {}
    for attribute in attributes:
        for name, of_class in classes.items():
            each_once = np.ones((1, of_class.n_images))
            rows = each_once if weights is None else weights
            ap, _ = evaluate(of_class, (attribute,), rows, HOW)
            every_ap[attribute.name, name] = ap
    return every_ap


def gaps_of(ap: Mapping[tuple[str, str], np.ndarray]) -> np.ndarray:
    """Return the highest minus the lowest AP of each attribute and class."""
    gaps = []
    for of_groups in ap.values():
        known = of_groups[0][np.isfinite(of_groups[0])]
        gaps.append(np.ptp(known) if len(known) > 1 else np.nan)
    return np.array(gaps)


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
        In points.
    """
    tails = [LEVEL / 2, 1 - LEVEL / 2]
    # n resamples divide a line into n + 1 parts
    percentile = np.quantile(values[1:], tails, axis=0, method="weibull")
    basic = 2 * values[0] - percentile[::-1]
    lower = np.minimum(percentile[0], basic[0])
    upper = np.maximum(percentile[1], basic[1])
    return POINTS * np.stack([lower, upper])


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
    differences of pooled recall, in standard errors.

    Attributes
    ----------
    keys : list of (str, str)
        Attribute and class of each gap.
    mean, deviation : arrays of shape (gaps,)
        NaN for a gap that is not defined in at least 90% of the permutations, because
        fewer than two groups have enough boxes.
    largest : array of shape (permutations, 2)
        The largest deviation of any gap, and the largest difference of recall.
    """

    keys: list[tuple[str, str]]
    mean: np.ndarray
    deviation: np.ndarray
    largest: np.ndarray

    def deviations(self, gaps: np.ndarray, at=...) -> np.ndarray:
        """Return how many standard deviations gaps lie above their mean by chance."""
        return (gaps - self.mean[at]) / np.maximum(self.deviation[at], 1e-6)

    def p(self, deviations: np.ndarray, family: int) -> np.ndarray:
        """Return p values, adjusted over both families.

        It is the share of permutations, the observed order included, in which a value
        of any family has at least the rank that the deviation has in its own family.
        """
        in_order = np.sort(self.largest, axis=0).T
        ranks = map(np.searchsorted, in_order, self.largest.T)
        highest = np.max([*ranks], axis=0)
        rank = np.searchsorted(in_order[family], deviations)
        reached = (highest >= rank[..., None]).sum(-1)
        p = (1 + reached) / (1 + len(highest))
        return np.where(np.isnan(deviations), np.nan, p)


def null_distribution(compared: Comparison, draws: int) -> Null:
    """Compute gaps and differences of recall of randomly permuted groups.

    Parameters
    ----------
    compared : Comparison
    draws : int
        How many permutations.
    """
    every = []
    widest = []
    for _ in progress(range(draws), desc="permutations", delay=2):
        permuted = next(compared.permutations)
        ap = group_ap(compared.classes, permuted)
        every.append(gaps_of(ap))
        widest.append(compared.recall.widest(permuted))
    gaps = np.ma.masked_invalid(every)
    gaps[:, gaps.count(0) < DEFINED * draws] = np.ma.masked
    largest = []
    for number in range(draws):  # is compared with all others, as the data are
        others = gaps[np.arange(draws) != number]
        deviation = np.maximum(others.std(0, ddof=1), 1e-6)
        deviations = (gaps[number] - others.mean(0)) / deviation
        largest.append(deviations.filled(-np.inf).max())
    mean = gaps.mean(0).filled(np.nan)
    deviation = gaps.std(0, ddof=1).filled(np.nan)
    return Null([*ap], mean, deviation, np.column_stack([largest, widest]))


def ap_table(
    compared: Comparison, ap: Mapping[tuple[str, str], np.ndarray]
) -> pd.DataFrame:
    """Tabulate AP (points) of each group with its interval.

    Parameters
    ----------
    compared : Comparison
    ap : mapping
        From `group_ap`, with resamples.
    """
    values = {attribute.name: attribute.values for attribute in compared.attributes}
    tables = {}
    for (attribute, name), of_groups in ap.items():
        low, high = interval(of_groups)
        columns = {"AP": POINTS * of_groups[0], "low": low, "high": high}
        tables[attribute, name] = pd.DataFrame(columns, values[attribute])
    return pd.concat(tables, names=["attribute", "class", "group"]).reset_index()


def gap_table(
    compared: Comparison,
    null: Null,
    ap: Mapping[tuple[str, str], np.ndarray],
    area: np.ndarray,
    weights: np.ndarray,
) -> pd.DataFrame:
    """Compare the lowest and the highest group of each attribute and class.

    Parameters
    ----------
    compared : Comparison
    null : Null
    ap : mapping
        From `group_ap`, with resamples.
    area : array of shape (n boxes,)
        Area of each box in square pixels.
    weights : array of shape (1 + resamples, n images)
        How often each image counts, the sample itself first.

    Returns
    -------
    pandas.DataFrame
        One row per attribute and class, the largest deviation first. ``gap`` (AP
        points) is the difference of AP, and ``remaining`` what is left of it with box
        size held fixed.

        A gap exceeds chance if its p value is at most 0.05, and it is at least one
        point. The ``verdict`` is *significant* if what remains is at least one point,
        too, and significantly above zero (Bonferroni, for the gaps that exceed chance).
        Otherwise, the gap may be due to size.
    """
    by_name = {attribute.name: attribute for attribute in compared.attributes}
    deviations = null.deviations(gaps_of(ap))
    p = null.p(deviations, GAPS)
    rows = []
    for number in np.flatnonzero(np.isfinite(deviations)):
        attribute, name = null.keys[number]
        of_groups = ap[attribute, name]
        lowest = np.nanargmin(of_groups[0])
        highest = np.nanargmax(of_groups[0])
        gap = of_groups[:, highest] - of_groups[:, lowest]
        low, high = interval(gap)
        pair = [by_name[attribute].values[place] for place in (lowest, highest)]
        remaining = size_fixed.gap(
            compared.classes[name], by_name[attribute], pair, area, weights
        )
        [remaining_p] = size_fixed.p_values(remaining)
        row = {
            "attribute": attribute,
            "class": name,
            "lowest": pair[0],
            "highest": pair[1],
            "AP": POINTS * of_groups[0, lowest],
            "AP of highest": POINTS * of_groups[0, highest],
            "gap": POINTS * gap[0],
            "low": low,
            "high": high,
            "deviations": deviations[number],
            "p": p[number],
            "remaining": POINTS * remaining[0],
            "remaining_p": remaining_p,
        }
        rows.append(row)
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["verdict"] = judge(table)
    return table.sort_values("deviations", ascending=False, ignore_index=True)


def judge(table: pd.DataFrame) -> np.ndarray:
    """Return the verdict on each row of `gap_table`."""
    exceeds = (table["p"] <= LEVEL) & (table["gap"] >= SMALLEST)
    remains = table["remaining_p"] * exceeds.sum() <= LEVEL
    remains &= table["remaining"] >= SMALLEST
    return verdicts(exceeds & remains, exceeds)
