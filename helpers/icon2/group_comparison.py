"""Compare a detector between groups, and measure which faults would be detected.

Random permutations of the groups show which differences arise by chance. Faults that
are injected on purpose show how large a fault has to be to be detected.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy.stats

from helpers import stats
from helpers.icon2.attributes import Attribute, DetectionDataError
from helpers.icon2.measures import (
    ALL_CLASSES,
    AVERAGE_RECALL,
    FALSE_POSITIVES,
    FEWEST,
    Measure,
    sums,
)
from helpers.store import progress

LEVEL = 0.05
SMALLEST = 1.0  # point of recall, or false positive per 100 images, that matters
FOUND = "significant"
EXPLAINED = "may be due to class or size"
NO_GAP = "not significant"
VERDICTS = (FOUND, EXPLAINED, NO_GAP)
Z = scipy.stats.norm.ppf(1 - LEVEL / 2)


@dataclass(frozen=True)
class Comparison:
    """Hold what is compared between groups.

    Attributes
    ----------
    measures : sequence of Measure
        From `measures.measures`.
    attributes : sequence of Attribute
        Whose groups are compared.
    permutations : iterator of list of Attribute
        From `permuted_attributes`.
    """

    measures: Sequence[Measure]
    attributes: Sequence[Attribute]
    permutations: Iterator[list[Attribute]]

    def differences(
        self,
        attributes: Sequence[Attribute] | None = None,
        measures: Sequence[Measure] | None = None,
        adjusted: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute the difference of every attribute, measure and group.

        Parameters
        ----------
        attributes, measures
            Permuted attributes, or measures after a fault; by default those of the
            data.
        adjusted : bool
            Whether class and size are held fixed.

        Returns
        -------
        difference, error : arrays of shape (rows,)
            Mean of the group minus mean of all others (times 100), and the standard
            error. Rows are those of `rows`.
        """
        pairs = itertools.product(
            attributes or self.attributes, measures or self.measures
        )
        each = [
            measure.differences(attribute, adjusted) for attribute, measure in pairs
        ]
        difference, error = 100 * np.hstack(each)
        return difference, error

    def rows(self) -> pd.DataFrame:
        """Compute each measure of each group and of all others.

        Returns
        -------
        pandas.DataFrame
            One row per ``attribute``, ``measure``, ``class`` and ``group``, with the
            ``number`` of boxes or images of the group, its ``value`` (recall in
            percent), and that of all ``others``.
        """
        tables = []
        for attribute, measure in itertools.product(self.attributes, self.measures):
            parts = measure.members(attribute)
            number = parts.sum(axis=0)
            with np.errstate(invalid="ignore"):
                mean = 100 * (measure.units["value"].to_numpy() @ parts) / number
            value, others = np.split(mean, 2)
            columns = {
                "attribute": attribute.name,
                "measure": measure.name,
                "class": measure.class_name,
                "group": attribute.values,
                "number": number[: len(value)].astype(int),
                "value": value,
                "others": others,
            }
            tables.append(pd.DataFrame(columns))
        return pd.concat(tables, ignore_index=True)


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


def null_distribution(comparison: Comparison, draws: int) -> np.ndarray:
    """Compute the differences between randomly permuted groups.

    Returns
    -------
    array of shape (draws, rows)
        In standard errors.
    """
    null = []
    for _ in progress(range(draws), desc="permutations", delay=2):
        permuted = next(comparison.permutations)
        difference, error = comparison.differences(permuted)
        null.append(np.abs(difference / error))
    return np.array(null)


def significance(
    difference: np.ndarray, error: np.ndarray, null: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Test differences against the `null_distribution`.

    Returns
    -------
    p : array
        The share of permutations, the observed order included, in which any difference
        is at least as large, in standard errors. So it is adjusted for their number.
    is_significant : bool array
        Whether p is at most 0.05, and the difference at least 1.
    """
    deviation = np.abs(difference / error)
    largest = np.fmax.reduce(null, axis=1, initial=-np.inf)
    reached = (largest[:, None] >= deviation).sum(axis=0)
    p = np.where(np.isnan(deviation), np.nan, (1 + reached) / (1 + len(null)))
    return p, (p <= LEVEL) & (np.abs(difference) >= SMALLEST)


def compare(comparison: Comparison, null: np.ndarray) -> pd.DataFrame:
    """Compare each measure of each group with that of all other groups.

    Parameters
    ----------
    comparison : Comparison
    null : array
        From `null_distribution`.

    Returns
    -------
    pandas.DataFrame
        The rows of `Comparison.rows`, with the ``gap`` (value minus that of the
        others), the ``difference`` that is left of it at the same class and size, its
        95% interval, and its adjusted ``p``.

        The ``verdict`` is *significant* as `significance` says. Otherwise, a gap that
        is significant itself (Bonferroni, and at least 1) may be due to class or size,
        if less than half of it is left or this is not known.
    """
    table = comparison.rows()
    table["gap"] = table["value"] - table["others"]
    difference, error = comparison.differences()
    table["difference"] = difference
    table["low"] = difference - Z * error
    table["high"] = difference + Z * error
    table["p"], is_significant = significance(difference, error, null)
    gap, error = comparison.differences(adjusted=False)
    gap_p = 2 * len(table) * scipy.stats.norm.sf(np.abs(gap / error))
    is_gap = (gap_p <= LEVEL) & (np.abs(gap) >= SMALLEST)
    is_gap &= table["measure"] != FALSE_POSITIVES  # nothing is held fixed for them
    is_gap &= ~(np.abs(difference) > np.abs(gap) / 2)  # or it is not known
    table["verdict"] = np.select([is_significant, is_gap], [FOUND, EXPLAINED], NO_GAP)
    return table


def compare_detectors(first: Comparison, second: Comparison) -> pd.DataFrame:
    """Compare two detectors in each group, paired by box and image.

    Parameters
    ----------
    first, second : Comparison
        Of the same boxes, images and groups.

    Returns
    -------
    pandas.DataFrame
        The rows of `Comparison.rows` with the values of the ``first`` and the
        ``second`` detector, their ``difference`` (second minus first) with its 95%
        interval, and ``p`` (Holm).
    """
    changes = []
    for attribute in first.attributes:
        for before, after in zip(first.measures, second.measures, strict=True):
            change = (after.units["value"] - before.units["value"]).to_numpy()
            parts, _ = np.hsplit(before.members(attribute), 2)
            number = parts.sum(axis=0)
            number[number < FEWEST] = np.nan
            mean = change @ parts / number
            rest = parts * (change[:, None] - mean)
            error = np.linalg.norm(sums(before.units["cluster"], rest), axis=0)
            error = np.maximum(error, 0.5) / number  # at least half a unit
            changes.append((mean, error))
    difference, error = 100 * np.hstack(changes)
    table = first.rows().rename(columns={"value": "first"}).drop(columns="others")
    table["second"] = second.rows()["value"]
    table["difference"] = difference
    table["low"] = difference - Z * error
    table["high"] = difference + Z * error
    p = 2 * scipy.stats.norm.sf(np.abs(difference / error))
    return table.assign(p=stats.adjust(p))


def detection_rates(
    comparison: Comparison,
    null: np.ndarray,
    losses: Sequence[float],
    trials: int,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how often an injected fault of the smallest group is detected.

    The groups are permuted, so that they differ by chance only. Then the smallest group
    loses a share of its detected boxes, of all classes. The fault is detected by a
    measure if its recall is significantly lower in this group.

    Parameters
    ----------
    comparison : Comparison
    null : array
        From `null_distribution`.
    losses : sequence of float
        Shares of detected boxes that are lost.
    trials : int
        How many permutations for each loss; twice as many without a fault.
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``group``, ``measure``, ``class`` and ``loss``, with
        the ``rate`` of ``n`` permutations in which the fault was detected, and its 95%
        interval. The first row, without a loss, is the false positive rate of the whole
        audit.
    """
    rng = np.random.default_rng(seed)
    keys = ["attribute", "measure", "class", "group"]
    results = []
    for _ in range(2 * trials):
        difference, error = comparison.differences(next(comparison.permutations))
        _, is_significant = significance(difference, error, null)
        no_fault = dict.fromkeys(keys, "any")
        results.append(no_fault | {"loss": 0.0, "detected": is_significant.any()})

    rows = comparison.rows()
    boxes = comparison.measures[0].units
    for number, attribute in enumerate(comparison.attributes):
        of_attribute = rows["attribute"] == attribute.name
        group = _smallest_group(rows[of_attribute])
        is_shown = of_attribute & (rows["group"] == group)
        is_shown &= rows["measure"] != FALSE_POSITIVES
        for loss in progress(np.repeat(losses, trials), desc="faults", delay=2):
            permuted = next(comparison.permutations)
            codes = permuted[number].of_boxes(boxes["image"], boxes["row"])
            in_group = codes == attribute.values.index(group)
            lost = boxes["row"][in_group & (rng.random(len(boxes)) < loss)]
            faulty = [measure.after_loss(lost) for measure in comparison.measures]
            difference, error = comparison.differences(permuted, faulty)
            _, is_significant = significance(difference, error, null)
            detected = rows[keys].assign(loss=loss)
            detected["detected"] = is_significant & (difference < 0)
            results += detected[is_shown].to_dict("records")
    return stats.rates(pd.DataFrame(results), "detected", by=[*keys, "loss"])


def _smallest_group(rows: pd.DataFrame) -> str:
    """Return the group with the fewest boxes, of those with enough to be compared."""
    is_counted = (rows["class"] == ALL_CLASSES) & (rows["measure"] == AVERAGE_RECALL)
    enough = rows[is_counted & (rows["number"] >= FEWEST)]
    if enough.empty:
        raise DetectionDataError(
            f"No group of {rows['attribute'].iloc[0]!r} has {FEWEST} boxes. Use more "
            "images."
        )
    return enough.loc[enough["number"].idxmin(), "group"]
