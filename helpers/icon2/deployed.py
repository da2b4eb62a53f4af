"""Misses and false positives at the score threshold at which a detector is used."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import size_fixed
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.group_gaps import Comparison
from helpers.icon2.matching import Matches
from helpers.icon2.pooled_recall import labelled_boxes, members, sums

MISSED = "missed boxes (%)"
FALSE = "false positives per 100 images"
TAILS = (0.025, 0.975)
Errors = Mapping[str, pd.DataFrame]


def errors_at(frames: Frames, matches: Matches, threshold: float) -> Errors:
    """Return the errors of the detections with a score of at least the threshold.

    Detections are matched from the highest score down, so those below the threshold
    take no box from the others.

    Returns
    -------
    dict of str to pandas.DataFrame
        Of `MISSED`, a row per box that has to be detected, and of `FALSE`, a row per
        image. ``number`` is the number of errors.
    """
    boxes = labelled_boxes(frames, matches, threshold)
    detections = matches.detections
    is_false = matches.taken[0] < 0
    is_false &= detections["score"] >= threshold
    n_images = len(frames.images)
    number = np.bincount(detections["image"][is_false], minlength=n_images)
    images = pd.DataFrame({"image": range(n_images), "row": -1, "number": number})
    return {MISSED: boxes.assign(number=1 - boxes["found"]), FALSE: images}


def by_group(
    errors: Errors, compared: Comparison, weights: np.ndarray, draws: int
) -> pd.DataFrame:
    """Compare the errors of each group with the errors of all other groups.

    Parameters
    ----------
    errors
        From `errors_at`.
    compared : Comparison
        With the attributes, and their permutations.
    weights : array of shape (1 + resamples, images)
        How often each image counts, the sample itself first.
    draws : int
        How many permutations.

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``group`` and ``error`` with the ``rate``, its 95%
        interval over images, the rate of all ``others``, and ``p_adjusted`` (min-p over
        all rows) of the difference. Nothing is held fixed.
    """
    table, rates, others = _rates(errors, compared.attributes, weights)
    table["rate"] = rates[0]
    table["low"], table["high"] = np.quantile(rates[1:], TAILS, axis=0)
    table["others"] = others[0]
    once = weights[:1]
    null = []
    for _ in range(draws):
        permuted = next(compared.permutations)
        _, drawn, drawn_others = _rates(errors, permuted, once)
        null.append(np.abs(drawn[0] - drawn_others[0]))
    difference = np.abs(rates[0] - others[0])
    p = stats.permutation_test(difference, np.array(null))
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
    first, second
        From `errors_at`, of the same boxes.
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
    return table.assign(p_adjusted=stats.adjust(size_fixed.p_values(difference)))


def _rates(
    errors: Errors, attributes: Sequence[Attribute], weights: np.ndarray
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Compute errors per 100 boxes or images of each group, and of all other groups.

    A false positive belongs to an image, so it has no group of an attribute of boxes.

    Returns
    -------
    rows : pandas.DataFrame
        With ``attribute``, ``group`` and ``error``.
    rates, others : arrays of shape (1 + resamples, rows)
    """
    rows = []
    rates = []
    others = []
    for attribute in attributes:
        for name, units in errors.items():
            if name == FALSE and attribute.level == "box":
                continue
            parts = members(attribute, units)
            number = units["number"].to_numpy()[:, None]
            image = units["image"].to_numpy()
            of_images = weights[:, : image.max() + 1]
            drawn_errors = of_images @ sums(image, parts * number)
            drawn_units = of_images @ sums(image, parts)
            with np.errstate(invalid="ignore"):
                of_each = 100 * drawn_errors / drawn_units
            of_groups, of_others = np.hsplit(of_each, 2)
            rates.append(of_groups)
            others.append(of_others)
            rows += [(attribute.name, group, name) for group in attribute.values]
    table = pd.DataFrame(rows, columns=["attribute", "group", "error"])
    return table, np.hstack(rates), np.hstack(others)
