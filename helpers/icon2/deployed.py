"""Misses and false positives at the score threshold at which a detector is used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import size_fixed
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.matching import Matches

MISSED = "missed boxes (%)"
FALSE = "false positives per 100 images"
TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Errors:
    """The errors of a detector at one threshold, of all classes.

    Attributes
    ----------
    row : int array of shape (boxes,)
        The rows of the boxes that have to be detected, in the table of boxes.
    image : int array of shape (boxes,)
        Their images.
    missed : float array of shape (boxes,)
        1.0 if a box is not detected at IoU 0.5.
    false_positives : float array of shape (images,)
        The number of detections that match no box.
    """

    row: np.ndarray
    image: np.ndarray
    missed: np.ndarray
    false_positives: np.ndarray


def errors_at(
    frames: Frames,
    matches: Matches,
    threshold: float,
) -> Errors:
    """Return the errors of the detections with a score of at least the threshold.

    Detections are matched from the highest score down, so those below the threshold
    take no box from the others.
    """
    detected = np.zeros(len(frames.boxes), bool)
    false_positives = np.zeros(len(frames.images))
    for name in matches.classes:
        detections = matches.rows(name)
        detections = detections[detections["score"] >= threshold]
        detected[detections["box"][detections["hit"]]] = True
        false = detections["image"][~detections["hit"]]
        false_positives += np.bincount(false, minlength=len(false_positives))
    ignored = frames.boxes["ignore"].to_numpy(bool)
    row = np.flatnonzero(~ignored)
    image = frames.boxes["image"].to_numpy()[row]
    return Errors(
        row=row,
        image=image,
        missed=(~detected[row]).astype(float),
        false_positives=false_positives,
    )


def by_group(
    errors: Errors,
    attributes: Sequence[Attribute],
    weights: np.ndarray,
    permutations: Iterator[list[Attribute]],
    draws: int,
) -> pd.DataFrame:
    """Compare the errors of each group with those of all others.

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
        One row per ``attribute``, ``group`` and ``error``: the ``rate`` with its 95%
        interval over images, that of all ``others``, and ``p_adjusted`` (min-p over
        all rows) of their difference. Nothing is held fixed.
    """
    tables = [_rates(errors, attribute, weights) for attribute in attributes]
    table = pd.concat(tables, ignore_index=True)
    null = []
    for _ in range(draws):
        permuted = [_rates(errors, one, weights[:1]) for one in next(permutations)]
        null.append(_difference(pd.concat(permuted)))
    p = stats.permutation_test(_difference(table), np.array(null))
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
        One row per ``attribute``, ``group`` and ``error``: the rate of both detectors,
        ``difference`` (second minus first, so it is negative where the second has fewer
        errors) with its 95% interval over images, and ``p_adjusted`` (Holm).
    """
    rows = []
    for attribute in attributes:
        cases = zip(
            _resampled_rates(first, attribute, weights),
            _resampled_rates(second, attribute, weights),
            strict=True,
        )
        for (group, error, before, _), (_, _, after, _) in cases:
            difference = after - before
            low, high = np.quantile(difference[1:], TAILS)
            p = size_fixed.p_value(difference)
            row = {
                "attribute": attribute.name,
                "group": group,
                "error": error,
                "first": before[0],
                "second": after[0],
                "difference": difference[0],
                "low": low,
                "high": high,
                "p": p,
            }
            rows.append(row)
    table = pd.DataFrame(rows)
    return table.assign(p_adjusted=stats.adjust(table.pop("p")))


def _rates(
    errors: Errors,
    attribute: Attribute,
    weights: np.ndarray,
) -> pd.DataFrame:
    rows = []
    for group, error, rates, others in _resampled_rates(errors, attribute, weights):
        low, high = np.nan, np.nan
        if len(rates) > 2:
            low, high = np.quantile(rates[1:], TAILS)
        row = {
            "attribute": attribute.name,
            "group": group,
            "error": error,
            "rate": rates[0],
            "low": low,
            "high": high,
            "others": others,
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _resampled_rates(
    errors: Errors,
    attribute: Attribute,
    weights: np.ndarray,
):
    """Yield group, error, rates (1 + resamples,), and the rate of all other groups.

    A false positive belongs to an image, so it has no group of an attribute of boxes.
    """
    n_images = len(errors.false_positives)
    place = errors.image if attribute.level == "image" else errors.row
    of_box = attribute.codes[place]
    for code, group in enumerate(attribute.values):
        in_group = of_box == code
        in_others = (of_box >= 0) & ~in_group
        counted = _by_image(errors, in_group, n_images)
        others = _by_image(errors, in_others, n_images)
        rate = _rate(*counted, weights)
        rate_of_others = _rate(*others, weights[:1])[0]
        yield group, MISSED, rate, rate_of_others
        if attribute.level == "image":
            is_known = attribute.codes >= 0
            is_other = is_known & (attribute.codes != code)
            counted = _false_by_image(errors, attribute.codes == code)
            others = _false_by_image(errors, is_other)
            rate = _rate(*counted, weights)
            rate_of_others = _rate(*others, weights[:1])[0]
            yield group, FALSE, rate, rate_of_others


def _by_image(
    errors: Errors,
    chosen: np.ndarray,
    n_images: int,
):
    """Count the missed boxes and all boxes of each image."""
    image = errors.image[chosen]
    missed = np.bincount(image, errors.missed[chosen], n_images)
    return missed, np.bincount(image, minlength=n_images)


def _false_by_image(
    errors: Errors,
    chosen: np.ndarray,
):
    return errors.false_positives * chosen, chosen.astype(float)


def _rate(
    events: np.ndarray,
    number: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    drawn = weights @ number
    empty = np.full(len(weights), np.nan)
    return 100 * np.divide(weights @ events, drawn, out=empty, where=drawn > 0)


def _difference(table: pd.DataFrame) -> np.ndarray:
    return (table["rate"] - table["others"]).abs().to_numpy()
