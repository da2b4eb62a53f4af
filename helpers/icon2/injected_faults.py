"""Measure how often a detector audit detects faults that are injected on purpose."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2.attributes import Attribute
from helpers.icon2.detector_findings import ALL_POOLED, LEVEL
from helpers.icon2.group_gaps import GAPS, RECALL, Comparison, Null, gaps_of, group_ap
from helpers.icon2.matching import Matches
from helpers.icon2.pooled_recall import codes_of
from helpers.icon2.size_fixed import HOW
from helpers.store import progress

KEYS = ["attribute", "class", "group", "loss"]


def without(matches: Matches, lost: np.ndarray) -> Matches:
    """Return the matches without the detections of lost boxes.

    Parameters
    ----------
    matches : Matches
    lost : bool array of shape (n boxes,)
    """
    is_lost = np.append(lost, False)  # the last is for detections that took no box
    is_left = ~is_lost[matches.taken].any(0)
    return replace(
        matches,
        detections=matches.detections[is_left].reset_index(drop=True),
        taken=matches.taken[:, is_left],
    )


def detection_rates(
    compared: Comparison,
    null: Null,
    losses: Sequence[float],
    trials: int,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how often an injected fault of the smallest group is detected.

    The groups are permuted, so that they differ by chance only. Then the smallest group
    loses a share of its detected boxes, of all classes. The fault is detected by all
    classes pooled if their recall is significantly lower in this group. It is detected
    by a class if its gap in AP is significant and this group is the lowest.

    Parameters
    ----------
    compared : Comparison
    null : Null
    losses : sequence of float
        Shares of detected boxes that are lost.
    trials : int
        How many permutations for each loss; twice as many without a fault.
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``class``, ``group`` and ``loss``, with the ``rate``
        of ``n`` permutations in which the fault was detected, and its 95% interval.
        The first row, without a loss, is the false positive rate.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(2 * trials):
        permuted = next(compared.permutations)
        gaps = gaps_of(group_ap(compared.classes, permuted))
        p = null.p(null.deviations(gaps), GAPS)
        of_recall = null.p(compared.recall.widest(permuted), RECALL)
        is_detected = np.fmin.reduce(p, initial=of_recall) <= LEVEL
        rows.append(("any", "any", "any", 0.0, is_detected))

    boxes = compared.matches.boxes.reset_index(names="row")
    strengths = np.repeat(losses, trials)
    for number, attribute in enumerate(compared.attributes):
        group = _smallest_group(attribute, compared.recall.boxes)
        for loss in progress(strengths, desc="injected faults", delay=2):
            permuted = next(compared.permutations)[number]
            in_group = codes_of(permuted, boxes) == group
            is_lost = in_group & (rng.random(len(boxes)) < loss)
            detected = _detected(compared, null, permuted, group, is_lost)
            for target, is_detected in detected.items():
                value = attribute.values[group]
                rows.append((attribute.name, target, value, loss, is_detected))
    table = pd.DataFrame(rows, columns=[*KEYS, "detected"])
    return stats.rates(table, "detected", by=KEYS)


def _smallest_group(attribute: Attribute, boxes: pd.DataFrame) -> int:
    """Return the group with the fewest boxes, of those that have enough."""
    codes = codes_of(attribute, boxes)
    number = np.bincount(codes[codes >= 0])
    enough = np.where(number >= HOW.min_boxes, number, np.inf)
    return int(enough.argmin())


def _detected(
    compared: Comparison,
    null: Null,
    attribute: Attribute,
    group: int,
    is_lost: np.ndarray,
) -> dict[str, bool]:
    """Return whether a group is significantly worse without the lost boxes.

    The keys are all classes pooled, and then each class.
    """
    recall = compared.recall
    found = recall.found * ~is_lost[recall.boxes["row"]]
    deviation = -recall.deviations(attribute, found)[group]
    detected = {ALL_POOLED: null.p(deviation, RECALL) <= LEVEL}
    left = without(compared.matches, is_lost)
    ap = group_ap({name: left.of(name) for name in compared.classes}, [attribute])
    at = [null.keys.index(key) for key in ap]
    p = null.p(null.deviations(gaps_of(ap), at), GAPS)
    for (key, of_groups), p_of_class in zip(ap.items(), p, strict=True):
        is_lowest = of_groups[0, group] == np.fmin.reduce(of_groups[0])
        detected[key[1]] = is_lowest and p_of_class <= LEVEL
    return detected
