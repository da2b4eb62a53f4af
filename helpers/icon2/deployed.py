"""Misses and false positives at the score threshold at which a detector is used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import size_fixed
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.matching import Matches
from helpers.icon2.pooled_recall import codes_of, labelled_boxes

MISSED = "missed boxes (%)"
FALSE = "false positives per 100 images"
TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Errors:
    """Hold the errors of a detector at one threshold, of all classes.

    Attributes
    ----------
    boxes : pandas.DataFrame
        From `pooled_recall.labelled_boxes`; a box that is not ``found`` is missed.
    false_positives : float array of shape (images,)
        The number of detections that match no box.
    """

    boxes: pd.DataFrame
    false_positives: np.ndarray


def errors_at(frames: Frames, matches: Matches, threshold: float) -> Errors:
    """Return the errors of the detections with a score of at least the threshold.

    Detections are matched from the highest score down, so those below the threshold
    take no box from the others.
    """
    detections = matches.detections
    is_false = (matches.taken[0] < 0) & (detections["score"] >= threshold)
    image = detections["image"][is_false]
    false_positives = np.bincount(image, minlength=len(frames.images))
    boxes = labelled_boxes(frames, matches, threshold)
    return Errors(boxes, false_positives.astype(float))


def by_group(
    errors: Errors,
    attributes: Sequence[Attribute],
    weights: np.ndarray,
    permutations: Iterator[list[Attribute]],
    draws: int,
) -> pd.DataFrame:
    """Compare the errors of each group with the errors of all other groups.

    Parameters
    ----------
    errors : Errors
    attributes : sequence of Attribute
    weights : array of shape (1 + resamples, images)
        How often each image counts, the sample itself first.
    permutations : iterator
        From `group_gaps.permuted_attributes`.
    draws : int
        How many permutations.

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``group`` and ``error`` with the ``rate``, its 95%
        interval over images, the rate of all ``others``, and ``p_adjusted`` (min-p over
        all rows) of the difference. Nothing is held fixed.
    """
    table, rates, others = _rates(errors, attributes, weights)
    table["rate"] = rates[0]
    table["low"], table["high"] = np.quantile(rates[1:], TAILS, axis=0)
    table["others"] = others
    null = []
    for _ in range(draws):
        _, permuted, permuted_others = _rates(errors, next(permutations), weights[:1])
        null.append(np.abs(permuted[0] - permuted_others))
    p = stats.permutation_test(np.abs(rates[0] - others), np.array(null))
    return table.assign(p_adjusted=p["p_adjusted"])


def compare(
    first: Errors,
    second: Errors,
    attributes: Sequence[Attribute],
    weights: np.ndarray,
) -> pd.DataFrame:
    """Compare two detectors by group, paired by image.

    Parameters
    ----------
    first, second : Errors
        Of the same boxes.
    attributes : sequence of Attribute
    weights : array of shape (1 + resamples, images)

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``group`` and ``error`` with both detectors' rates,
        ``difference`` (second minus first, so it is negative where the second has fewer
        errors) with its 95% interval over images, and ``p_adjusted`` (Holm).
    """
    table, before, _ = _rates(first, attributes, weights)
    _, after, _ = _rates(second, attributes, weights)
    difference = after - before
    table["first"] = before[0]
    table["second"] = after[0]
    table["difference"] = difference[0]
    table["low"], table["high"] = np.quantile(difference[1:], TAILS, axis=0)
    p = [size_fixed.p_value(column) for column in difference.T]
    return table.assign(p_adjusted=stats.adjust(p))


def _rates(
    errors: Errors, attributes: Sequence[Attribute], weights: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Compute the rate of each error in each group.

    A false positive belongs to an image, so it has no group of an attribute of boxes.

    Returns
    -------
    rows : pandas.DataFrame
        With ``attribute``, ``group`` and ``error``.
    rates : array of shape (1 + resamples, rows)
    others : array of shape (rows,)
        The rate in all other groups.
    """
    image = errors.boxes["image"].to_numpy()
    missed = 1 - errors.boxes["found"].to_numpy()
    n_images = len(errors.false_positives)
    every_image = np.arange(n_images)
    rows = []
    rates = []
    others = []
    for attribute in attributes:
        cases = [(MISSED, image, missed, codes_of(attribute, errors.boxes))]
        if attribute.level == "image":
            false = errors.false_positives
            cases.append((FALSE, every_image, false, attribute.codes))
        for code, group in enumerate(attribute.values):
            for error, image_of, events, codes in cases:
                rows.append((attribute.name, group, error))
                is_member = codes == code
                is_other = (codes >= 0) & ~is_member
                rates.append(_rate(image_of, events, is_member, weights))
                others.append(_rate(image_of, events, is_other, weights[:1])[0])
    table = pd.DataFrame(rows, columns=["attribute", "group", "error"])
    return table, np.array(rates).T, np.array(others)


def _rate(
    image: np.ndarray, events: np.ndarray, chosen: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Compute events per 100 chosen boxes or images, for each row of weights."""
    n_images = weights.shape[1]
    total = np.bincount(image[chosen], events[chosen], n_images)
    number = np.bincount(image[chosen], minlength=n_images)
    drawn = weights @ number
    empty = np.full(len(weights), np.nan)
    return 100 * np.divide(weights @ total, drawn, out=empty, where=drawn > 0)
