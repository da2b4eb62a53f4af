"""Classes whose numbers or names differ between the labels and the detections."""

from dataclasses import replace

import numpy as np
import pandas as pd

from helpers.icon2.attributes import Frames
from helpers.icon2.group_gaps import HOW
from helpers.icon2.matching import match
from helpers.icon2.pooled_recall import ALL_POOLED


def mistaken(frames: Frames) -> dict[str, str]:
    """Find classes whose boxes are detected as another class.

    A class is listed if many of its boxes are detected (IoU 0.5) as any class, but
    fewer than a fifth of these as the class itself.

    Returns
    -------
    dict of str to str
        One sentence per class, and one for `ALL_POOLED`, first, if this is so of all
        boxes together.
    """
    as_class = _confusion(frames)
    category = frames.boxes["category"][~frames.boxes["ignore"]]
    boxes = np.bincount(category, minlength=len(frames.classes))
    table = pd.DataFrame({"boxes": boxes, "any": as_class.sum(1)})
    table["own"] = np.diag(as_class)
    np.fill_diagonal(as_class, -1)
    table["other"] = np.array(frames.classes)[as_class.argmax(1)]
    table.index = [*frames.classes]
    total = table[["boxes", "any", "own"]].sum()
    table.loc[ALL_POOLED] = [*total, "other classes"]
    is_mistaken = table["boxes"] >= HOW.min_boxes
    is_mistaken &= table["any"] >= 0.3 * table["boxes"]
    is_mistaken &= table["own"] < table["any"] / 5
    sentences = {}
    for name, row in table[is_mistaken][::-1].iterrows():
        sentences[name] = (
            f"Classes look shifted or exchanged: {row['any'] / row['boxes']:.0%} of "
            f"the {row['boxes']:,} boxes of {name} are detected, but "
            f"{row['own'] / row['boxes']:.0%} as their own class, and most as "
            f"{row['other']}. Do both files have the same numbers or names of classes?"
        )
    return sentences


def _confusion(frames: Frames) -> np.ndarray:
    """Count the matches that ignore classes, by the class of box and of detection."""
    pooled = replace(
        frames,
        boxes=frames.boxes.assign(category=0),
        detections=frames.detections.assign(category=0),
        classes=("any",),
    )
    hits = match(pooled, [0.5]).rows("any").query("hit")
    of_box = frames.boxes["category"].to_numpy()[hits["box"]]
    of_detection = frames.detections["category"].to_numpy()[hits["row"]]
    number = len(frames.classes)
    counts = np.zeros((number, number), int)
    np.add.at(counts, (of_box, of_detection), 1)
    return counts
