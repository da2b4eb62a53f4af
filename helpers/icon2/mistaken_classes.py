"""Classes whose numbers or names differ between the labels and the detections."""

from dataclasses import replace

import numpy as np

from helpers.icon2.attributes import Frames
from helpers.icon2.group_gaps import HOW
from helpers.icon2.matching import Matches, match
from helpers.icon2.pooled_recall import ALL_POOLED

ADVICE = "Do both files have the same numbers or names of classes?"


def mistaken(frames: Frames, matches: Matches) -> dict[str, str]:
    """Find classes whose boxes are detected as another class.

    A class is listed if many of its boxes are detected (IoU 0.5) as any class, but
    fewer than a fifth of these as the class itself.

    Parameters
    ----------
    frames : Frames
        Labels and detections.
    matches : Matches
        Their matches, class by class.

    Returns
    -------
    dict of str to str
        One sentence per class, and one for `ALL_POOLED`, first, if this is so of all
        boxes together.
    """
    detected_as = _confusion(frames, matches)
    detected = detected_as.sum(1)
    boxes = [(matches.of(name).box_ignored == 0).sum() for name in frames.classes]
    own = [matches.rows(name)["hit"].sum() for name in frames.classes]
    sentences = {}
    total = sum(boxes)
    total_own = sum(own)
    total_detected = detected.sum()
    if _looks_mistaken(total, total_detected, total_own):
        sentences[ALL_POOLED] = (
            f"Classes look shifted or exchanged: {total_own / total:.0%} of the "
            f"{total:,} boxes are detected as their own class, and "
            f"{total_detected / total:.0%} as any class. {ADVICE} No groups are "
            "compared."
        )
    np.fill_diagonal(detected_as, -1)
    for k, name in enumerate(frames.classes):
        is_mistaken = _looks_mistaken(boxes[k], detected[k], own[k])
        if is_mistaken and boxes[k] >= HOW.min_boxes:
            other = frames.classes[detected_as[k].argmax()]
            sentences[name] = (
                f"{name}: {own[k] / boxes[k]:.0%} of its {boxes[k]:,} boxes are "
                f"detected as {name}, and {detected[k] / boxes[k]:.0%} as any class, "
                f"most often as {other}. {ADVICE}"
            )
    return sentences


def _confusion(frames: Frames, matches: Matches) -> np.ndarray:
    """Count the matches that ignore classes, by the class of box and of detection."""
    pooled = replace(
        frames,
        boxes=frames.boxes.assign(category=0),
        detections=frames.detections.assign(category=0),
        classes=("any",),
    )
    hits = match(pooled, matches.thresholds[:1]).rows("any").query("hit")
    of_box = frames.boxes["category"].to_numpy()[hits["box"]]
    of_detection = frames.detections["category"].to_numpy()[hits["row"]]
    counts = np.zeros((len(frames.classes), len(frames.classes)), int)
    np.add.at(counts, (of_box, of_detection), 1)
    return counts


def _looks_mistaken(boxes: int, as_any: int, as_own: int) -> bool:
    """Return whether many boxes are detected, and few of them as their own class."""
    return as_any >= 0.3 * boxes and as_own < as_any / 5
