"""How often an audit of a detector notices detections that are taken out on purpose."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2.attributes import Attribute
from helpers.icon2.group_gaps import ALL, HOW, Null, group_ap, spread
from helpers.icon2.matching import ClassMatches, Matches
from helpers.icon2.pooled_recall import ALL_POOLED, RecallBySize
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
    gone = is_lost[matches.taken].any(0)
    detections = matches.detections[~gone].reset_index(drop=True)
    return replace(matches, detections=detections, taken=matches.taken[:, ~gone])


def detection_rates(
    matches: Matches,
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

    The groups are permuted, so that they differ by chance only. Then the smallest group
    loses a share of its detected boxes, in all classes together or in one class. The
    fault is detected if the gap is significant and this group is the lowest.

    Parameters
    ----------
    matches : Matches
    names : sequence of str
        The classes that are compared.
    attributes : sequence of Attribute
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
    classes = {name: matches.of(name) for name in names}
    strengths = np.repeat(losses, trials)
    rows = []
    for _ in range(2 * trials):
        permuted = next(permutations)
        found = _is_anything_significant(permuted, classes, null, recall)
        rows.append(("any", "any", "any", 0.0, found))
    for number, attribute in enumerate(attributes):
        if recall is None or not np.isfinite(recall.deviations(attribute)).any():
            continue
        group = smallest_group(recall.codes(attribute), attribute)
        for loss in strengths:
            permuted = next(permutations)[number]
            found = _finds_loss_of_recall(recall, permuted, group, loss, null, rng)
            value = attribute.values[group]
            rows.append((attribute.name, ALL_POOLED, value, loss, found))
    places = [(k + 1, [name]) for k, name in enumerate(names)]  # in `null.mean`
    if len(names) > 1:
        places.insert(0, (0, list(names)))
    cases = [
        (number, *place)
        for number, attribute in enumerate(attributes)
        for place in places
        if np.isfinite(null.mean[number, place[0]])
    ]
    for number, place, some in progress(cases, desc="injected faults", delay=2):
        attribute = attributes[number]
        affected = {name: classes[name] for name in some}
        codes = [
            of_class.codes(attribute)[~of_class.box_ignored]
            for of_class in affected.values()
        ]
        group = smallest_group(np.concatenate(codes), attribute)
        about = attribute.name, ALL if place == 0 else some[0], attribute.values[group]
        for loss in strengths:
            permuted = next(permutations)[number]
            lost = _lost_boxes(matches, affected, permuted, group, loss, rng)
            left = without(matches, lost)
            ap = group_ap({name: left.of(name) for name in some}, permuted)
            ap = ap[0 if place == 0 else 1]  # the first is the mean of all classes
            deviation = null.deviations(spread(ap), (number, place))
            is_lowest = np.where(np.isnan(ap), np.inf, ap).argmin() == group
            rows.append((*about, loss, deviation > null.gap_threshold and is_lowest))
    table = pd.DataFrame(rows, columns=[*KEYS, "detected"])
    detected = table.groupby(KEYS, sort=False)["detected"]
    counts = detected.agg(detected="sum", n="size").reset_index()
    counts["rate"] = counts["detected"] / counts["n"]
    counts["low"], counts["high"] = stats.wilson(counts["detected"], counts["n"])
    return counts


def smallest_group(codes: np.ndarray, attribute: Attribute) -> int:
    """Return the group with the fewest boxes, of those that have enough."""
    boxes = np.bincount(codes[codes >= 0], minlength=len(attribute.values))
    enough = boxes >= HOW.min_boxes
    return int(np.where(enough, boxes, boxes.max() + 1).argmin())


def _is_anything_significant(
    attributes: Sequence[Attribute],
    classes: Mapping[str, ClassMatches],
    null: Null,
    recall: RecallBySize | None,
) -> bool:
    """Return whether any gap or difference is significant."""
    gaps = [spread(group_ap(classes, attribute)) for attribute in attributes]
    if (null.deviations(np.array(gaps)) > null.gap_threshold).any():
        return True
    return recall is not None and recall.widest(attributes) > null.recall_threshold


def _finds_loss_of_recall(
    recall: RecallBySize,
    attribute: Attribute,
    group: int,
    loss: float,
    null: Null,
    rng: np.random.Generator,
) -> bool:
    """Return whether a loss of detected boxes makes a group significantly worse."""
    in_group = recall.codes(attribute) == group
    lost = in_group & (rng.random(len(in_group)) < loss)
    left = recall.with_found(recall.found * ~lost)
    return left.deviations(attribute)[group] < -null.recall_threshold


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
        lost[of_class.box_row] = in_group & (rng.random(len(in_group)) < loss)
    return lost
