"""Classes whose numbers or names differ between the labels and the detections."""

from dataclasses import replace

import pandas as pd

from helpers.icon2.attributes import Frames
from helpers.icon2.file_checks import DetectionDataError
from helpers.icon2.matching import match
from helpers.icon2.measures import FEWEST

MANY = 0.3  # share of the boxes of a class that are detected as any class
FEW = 0.2  # share of these that are detected as their own class


def check_classes(frames: Frames) -> list[str]:
    """Find classes whose boxes are detected as another class.

    A class is listed if many of its boxes are detected (IoU 0.5) as any class, but
    fewer than a fifth of these as the class itself.

    Returns
    -------
    list of str
        A sentence if there are such classes.

    Raises
    ------
    DetectionDataError
        If this is so of all boxes together.
    """
    pooled = replace(
        frames,
        boxes=frames.boxes.assign(category=0),
        detections=frames.detections.assign(category=0),
        classes=("any",),
    )
    hits = match(pooled, [0.5]).rows("any").query("hit")
    of_box = frames.boxes["category"].to_numpy()[hits["box"]]
    of_detection = frames.detections["category"].to_numpy()[hits["row"]]
    is_own = pd.Series(of_box == of_detection)
    is_counted = ~frames.boxes["ignore"].astype(bool)
    boxes = frames.boxes["category"][is_counted].value_counts()
    detected = is_own.groupby(of_box).agg(["size", "mean"]).reindex(boxes.index)
    is_often = (detected["size"] >= MANY * boxes) & (boxes >= FEWEST)
    is_mistaken = is_often & (detected["mean"] < FEW)
    names = [frames.classes[number] for number in boxes.index[is_mistaken]]
    sentence = (
        f"Classes look shifted or exchanged ({', '.join(names) or 'all'}): most of "
        "their boxes that are detected are detected as another class. Do both files "
        "have the same numbers or names of classes?"
    )
    if len(hits) >= MANY * is_counted.sum() and is_own.mean() < FEW:
        raise DetectionDataError(f"{sentence} No groups are compared.")
    return [sentence] if names else []
