"""Classes whose numbers or names differ between the labels and the detections."""

from dataclasses import replace

import numpy as np

from helpers.icon2.attributes import Frames
from helpers.icon2.detector_audit import HOW
from helpers.icon2.matching import Matches, match
from helpers.icon2.pooled_recall import ALL_POOLED

ADVICE = "Do both files have the same numbers or names of classes?"


def mistaken(frames: Frames, matches: Matches) -> dict[str, str]:
    """Find classes whose boxes are detected as another class.

    A class is listed if many of its boxes are detected (IoU 0.5) as any class, but fewer than a fifth
    of these as the class itself.

    Parameters
    ----------
    frames : Frames
        Labels and detections.
    matches : Matches
        Their matches, class by class.

    Returns
    -------
    dict of str to str
        One sentence per class, and one for `ALL_POOLED`, first, if this is so of all boxes
        together.
    """
    of_box, of_detection = _matched_classes(frames, matches)
    number_of_classes = len(frames.classes)
    own_of_all = 0
    boxes_of_all = 0
    sentences = {}
    for k, name in enumerate(frames.classes):
        boxes = int((matches.of(name).box_ignored == 0).sum())
        found_as = np.bincount(of_detection[of_box == k], minlength=number_of_classes)
        own = int(matches.rows(name)["hit"].sum())
        own_of_all += own
        boxes_of_all += boxes
        if boxes < HOW.min_boxes or not _looks_mistaken(boxes, found_as.sum(), own):
            continue
        others = [j for j in range(number_of_classes) if j != k]
        other = frames.classes[
            max(others, key=lambda j, found_as=found_as: found_as[j])
        ]
        sentences[name] = (
            f"{name}: {own / boxes:.0%} of its {boxes:,} boxes are detected as {name}, and "
            f"{found_as.sum() / boxes:.0%} as any class, most often as {other}. {ADVICE}"
        )
    if _looks_mistaken(boxes_of_all, len(of_box), own_of_all):
        pooled = (
            f"Classes look shifted or exchanged: {own_of_all / boxes_of_all:.0%} of the "
            f"{boxes_of_all:,} boxes are detected as their own class, and "
            f"{len(of_box) / boxes_of_all:.0%} as any class. {ADVICE} No groups are compared."
        )
        sentences = {ALL_POOLED: pooled, **sentences}
    return sentences


def _matched_classes(frames: Frames, matches: Matches) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of box and detection of each match that ignores classes."""
    pooled = replace(
        frames,
        boxes=frames.boxes.assign(category=0),
        detections=frames.detections.assign(category=0),
        classes=("any",),
    )
    hits = match(pooled, matches.thresholds[:1]).rows("any").query("hit")
    of_box = frames.boxes["category"].to_numpy()[hits["box"]]
    of_detection = frames.detections["category"].to_numpy()[hits["row"]]
    return of_box, of_detection


def _looks_mistaken(boxes: int, as_any: int, as_own: int) -> bool:
    """Return whether many boxes are detected, and few of them as their own class."""
    return as_any >= 0.3 * boxes and as_own < as_any / 5
