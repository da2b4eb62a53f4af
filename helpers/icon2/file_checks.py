"""Check labels and detections, and refuse files or warn at the top of a report.

Each check is a function of its own. Those that only warn add a sentence to `Checks`.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

CORNERS = ["x1", "y1", "x2", "y2"]
FORM = "a COCO bbox is x, y, width, height; a CSV has the corners x1, y1, x2, y2"


class DetectionDataError(ValueError):
    """A file or an attribute cannot be used; the message says why and what to do."""


@dataclass
class Checks:
    """Collect `warnings`, and a `report` that counts what was left out."""

    report: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def count(self, number: int, text: str) -> None:
        """Add a number and a text to the report unless the number is 0."""
        if number:
            self.report.append(f"{number:,} {text}")


def positions(
    path: Path, keys: pd.Series, *names: pd.Series, noun: str = "image"
) -> np.ndarray:
    """Find labelled images or boxes by their id or name.

    Parameters
    ----------
    path : Path
        The file with the keys, for messages.
    keys : pandas.Series
        What names an image or a box in each row of the file.
    *names : pandas.Series
        The ids of all labelled ones, and perhaps their names. Those that several have
        count for none.
    noun : str
        What they are, for messages.

    Returns
    -------
    ndarray of int
        The place of each key, -1 where it is not labelled.

    Raises
    ------
    DetectionDataError
        If no key is labelled.
    """
    place = {}
    for column in reversed(names):
        unique = column.drop_duplicates(keep=False)
        place.update(zip(unique, unique.index, strict=True))
    number = keys.astype(str).map(place)
    if number.isna().all():
        raise DetectionDataError(
            f"{path.name}: none of its rows is about a labelled {noun}. They name "
            f"{keys.head(2).tolist()}, and the labels {names[-1].head(2).tolist()}. "
            "Ids or names must agree, and only one may have each."
        )
    return number.fillna(-1).to_numpy(int)


def refuse_impossible(
    path: Path, boxes: pd.DataFrame, images: pd.DataFrame, noun: str
) -> None:
    """Refuse boxes without image, class or numbers, or outside of their image.

    The `boxes` have the number of their image, -1 for none, and detections a score.
    """
    values = boxes.columns.intersection([*CORNERS, "score"])
    numbers = boxes[values].to_numpy(float)
    low, high = np.split(boxes[CORNERS].to_numpy(float), 2, axis=1)
    image = boxes["image"].to_numpy()
    sizes = images.reindex(columns=["width", "height"]).to_numpy(float)[image]
    nameless = (image < 0) | boxes["category"].isna()
    scores = boxes.get("score", pd.Series(0, boxes.index))
    wrong = [  # a reason, which boxes, and the share of them that is tolerated
        ("have no labelled image, or no class", nameless, 0),
        ("have no number where one has to be", ~np.isfinite(numbers).all(1), 0),
        (f"have a negative width or height ({FORM})", (high < low).any(1), 0),
        ("have a score above 1 (divide percents by 100)", scores > 1.001, 0),
        ("are shares of the image (multiply by its size)", (high <= 2).all(1), 0.9),
        (f"end outside of their image ({FORM})", (high > 1.02 * sizes).any(1), 0.2),
    ]
    for reason, rows, tolerated in wrong:
        if rows.mean() > tolerated:
            first = int(np.argmax(rows))
            name = images["name"].get(image[first], "none")
            raise DetectionDataError(
                f"{path.name}: {rows.sum():,} of {len(boxes):,} {noun} {reason}. The "
                f"first is in image {name}, with {', '.join(values)} = "
                f"{numbers[first].tolist()}."
            )


def plausible_area(path: Path, boxes: pd.DataFrame, checks: Checks) -> pd.Series:
    """Return the areas of the file, or width times height if they are implausible."""
    whole = boxes[~boxes["ignore"]]
    ratio = (whole["area"] / whole["extent"]).median()
    if 0.05 <= ratio <= 1.05 or np.isnan(ratio):  # as objects in boxes have
        return boxes["area"]
    checks.warnings.append(
        f"'area' in {path.name} does not fit its boxes: its median is {ratio:.3g} "
        "times width times height. Width times height was used instead. Write the area "
        "of the object or of its box into 'area'."
    )
    return boxes["extent"]
