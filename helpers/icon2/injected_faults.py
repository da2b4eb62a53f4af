"""Measure how often a detector audit detects faults that are injected on purpose."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2.attributes import Attribute
from helpers.icon2.group_gaps import ALL, HOW, Null, every_gap, group_ap, spread
from helpers.icon2.matching import ClassMatches, Matches
from helpers.icon2.pooled_recall import ALL_POOLED, RecallBySize, codes_of
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
    matches: Matches,
    classes: Mapping[str, ClassMatches],
    attributes: Sequence[Attribute],
    null: Null,
    recall: RecallBySize,
    permutations: Iterator[list[Attribute]],
    losses: Sequence[float],
    trials: int,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how often an injected fault of the smallest group is detected.

    The groups are permuted, so that they differ by chance only. Then the smallest group
    loses a share of its detected boxes, in all classes together or in one class. The
    fault is detected if the gap is significant and this group is the lowest.

    Parameters
    ----------
    matches : Matches
    classes : mapping of str to ClassMatches
        Those that are compared.
    attributes : sequence of Attribute
    null : Null
    recall : RecallBySize
        The comparison of all classes pooled.
    permutations : iterator
        From `permuted_attributes`.
    losses : sequence of float
        Shares of detected boxes that are lost.
    trials : int
        How many permutations for each loss; twice as many without a fault.
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``class``, ``group`` and ``loss``. It has the number
        of permutations, of ``n``, in which the fault was ``detected``, and their share
        (``rate``) with its 95% interval. The first row, without a loss, is the false
        positive rate.
    """
    rng = np.random.default_rng(seed)
    strengths = np.repeat(losses, trials)
    rows = []
    for _ in range(2 * trials):
        permuted = next(permutations)
        deviations = null.deviations(every_gap(classes, permuted))
        found = (deviations > null.gap_threshold).any()
        found |= recall.widest(permuted) > null.recall_threshold
        rows.append(("any", "any", "any", 0.0, found))

    for number, attribute in enumerate(attributes):
        if np.isnan(recall.deviations(attribute)).all():
            continue
        codes = codes_of(attribute, recall.boxes)
        boxes = np.bincount(codes[codes >= 0], minlength=len(attribute.values))
        group = smallest_group(boxes)
        about = attribute.name, ALL_POOLED, attribute.values[group]
        for loss in strengths:
            permuted = next(permutations)[number]
            in_group = codes_of(permuted, recall.boxes) == group
            lost = in_group & (rng.random(len(in_group)) < loss)
            deviations = recall.deviations(permuted, recall.found * ~lost)
            rows.append((*about, loss, deviations[group] < -null.recall_threshold))

    cases = np.argwhere(np.isfinite(null.mean))
    for case in progress(map(tuple, cases.tolist()), desc="injected faults", delay=2):
        number, place = case
        attribute = attributes[number]
        name = [ALL, *classes][place]
        affected = classes if name == ALL else {name: classes[name]}
        boxes = [of_class.count(attribute) for of_class in affected.values()]
        group = smallest_group(np.sum(boxes, axis=0))
        about = attribute.name, name, attribute.values[group]
        for loss in strengths:
            permuted = next(permutations)[number]
            lost = _lost_boxes(matches, affected, permuted, group, loss, rng)
            left = without(matches, lost)
            ap = group_ap({name: left.of(name) for name in affected}, permuted)[0]
            ap = ap[0 if name == ALL else 1]  # the first is the mean of all classes
            is_significant = null.deviations(spread(ap), case) > null.gap_threshold
            known_ap = np.where(np.isnan(ap), np.inf, ap)
            is_lowest = known_ap.argmin() == group
            rows.append((*about, loss, is_significant and is_lowest))
    table = pd.DataFrame(rows, columns=[*KEYS, "detected"])
    detected = table.groupby(KEYS, sort=False)["detected"]
    counts = detected.agg(detected="sum", n="size").reset_index()
    counts["rate"] = counts["detected"] / counts["n"]
    counts["low"], counts["high"] = stats.wilson(counts["detected"], counts["n"])
    return counts


def smallest_group(boxes: np.ndarray) -> int:
    """Return the group with the fewest boxes, of those that have enough."""
    enough = boxes >= HOW.min_boxes
    return int(np.where(enough, boxes, boxes.max() + 1).argmin())


def _lost_boxes(
    matches: Matches,
    classes: Mapping[str, ClassMatches],
    attribute: Attribute,
    group: int,
    loss: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw which boxes of a group are lost, in some classes."""
    lost = np.zeros(len(matches.boxes), bool)
    for of_class in classes.values():
        in_group = of_class.codes(attribute) == group
        is_drawn = rng.random(len(in_group)) < loss
        lost[of_class.box_row] = in_group & is_drawn
    return lost
