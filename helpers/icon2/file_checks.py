"""Check labels and detections, and refuse files or say what looks wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pandas as pd
import yaml

from helpers.icon2.attributes import CORNERS, DetectionDataError, Frames
from helpers.icon2.matching import match
from helpers.icon2.measures import FEWEST as FEWEST_BOXES

# a condition, what it says about boxes, and the share of boxes that is tolerated
IMPOSSIBLE = [
    ("missing", "have no labelled image, no class, or no number", 0),
    ("x2 < x1 or y2 < y1", "have a negative width or height", 0),
    ("score > 1.001", "have a score above 1 (divide percents by 100)", 0),
    ("x2 <= 2 and y2 <= 2", "are shares of the image (multiply by its size)", 0.9),
    ("x2 > 1.02 * width or y2 > 1.02 * height", "end outside of their image", 0.2),
]
MANY = 0.3  # share of the boxes that are detected as any class
FEW = 0.2  # share of these that are detected as their own class


UNREADABLE = (
    AttributeError,
    EOFError,
    LookupError,
    NameError,  # of a missing column in `DataFrame.eval`
    OSError,
    TypeError,
    ValueError,
    yaml.YAMLError,
)


@contextmanager
def refusing(path: str | Path, expected: str) -> Iterator[None]:
    """Say in a sentence why a file cannot be used, and what is expected."""
    try:
        yield
    except DetectionDataError as error:
        problem = f": {error}"
    except UNREADABLE as error:
        reason = " ".join(str(error).split())[:200]
        problem = f" cannot be read ({type(error).__name__}: {reason})."
    else:
        return
    raise DetectionDataError(f"{Path(path).name}{problem} Expected is {expected}.")


def refuse_impossible(
    boxes: pd.DataFrame, images: pd.DataFrame, values: list[str]
) -> None:
    """Refuse boxes without image, class or numbers, or outside of their image.

    The `boxes` have the number of their image, -1 for none. The `values` are the
    columns that need numbers.
    """
    about = images.reindex(columns=["name", "width", "height"])
    table = boxes[["image", "category", *CORNERS, "score"]].join(about, on="image")
    table["missing"] = table[["name", "category", *values]].isna().any(axis=1)
    for condition, reason, tolerated in IMPOSSIBLE:
        rows = table.eval(condition)
        if rows.mean() > tolerated:
            name = table["name"][rows].fillna("none").iloc[0]
            raise DetectionDataError(
                f"{rows.sum():,} of {len(table):,} boxes {reason}. The first is in "
                f"image {name}, with {', '.join(values)} = "
                f"{table.loc[rows, values].iloc[0].tolist()}."
            )


def plausible_area(boxes: pd.DataFrame) -> tuple[pd.Series, list[str]]:
    """Return the areas of the file, or width times height if they are implausible.

    In the second case, the list has a warning.
    """
    area = boxes["area"].fillna(boxes["extent"])
    ratio = (area / boxes["extent"])[~boxes["ignore"]].median()
    if not (ratio < 0.05 or ratio > 1.05):  # as objects in boxes have
        return area, []
    warning = (
        f"'area' of the labels does not fit their boxes: its median is {ratio:.3g} "
        "times width times height. Width times height was used instead. Write the area "
        "of the object or of its box into 'area'."
    )
    return boxes["extent"], [warning]


def check_classes(frames: Frames) -> list[str]:
    """Find classes whose boxes are detected as another class.

    A class is listed if 30 of its boxes are detected (IoU 0.5) as any class, but fewer
    than a fifth of these as the class itself.

    Returns
    -------
    list of str
        A sentence if there are such classes.

    Raises
    ------
    DetectionDataError
        If this is so of all boxes together, and 30% of them are detected.
    """
    pooled = replace(
        frames,
        boxes=frames.boxes.assign(category=0),
        detections=frames.detections.assign(category=0),
        classes=("any",),
    )
    hits = match(pooled, [0.5]).detections.query("hit")
    category = frames.boxes["category"]
    of_box = category.to_numpy()[hits["box"]]
    of_detection = frames.detections["category"].to_numpy()[hits["row"]]
    is_own = pd.Series(of_box == of_detection)
    detected = is_own.groupby(of_box).agg(["size", "mean"])
    is_mistaken = (detected["size"] >= FEWEST_BOXES) & (detected["mean"] < FEW)
    names = [frames.classes[number] for number in detected.index[is_mistaken]]
    sentence = (
        f"Classes look shifted or exchanged ({', '.join(names) or 'all'}): most of "
        "their boxes that are detected are detected as another class. Do both files "
        "have the same numbers or names of classes?"
    )
    n_boxes = (~frames.boxes["ignore"]).sum()
    if len(hits) >= MANY * n_boxes and is_own.mean() < FEW:
        raise DetectionDataError(f"{sentence} No groups are compared.")
    return [sentence] if names else []
