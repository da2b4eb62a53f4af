"""Check labels and detections, and refuse files or warn at the top of a report.

Each check is a function of its own. Those that only warn add a sentence to `Checks`.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

CORNERS = ["x1", "y1", "x2", "y2"]
# Median of area over width times height, which objects in boxes have.
PLAUSIBLE_AREA = (0.05, 1.05)


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


def refuse_impossible(
    path: Path, boxes: pd.DataFrame, images: pd.DataFrame, noun: str
) -> None:
    """Refuse boxes without image, class or numbers, or outside of their image."""
    values = [*CORNERS, "score"] if noun == "detections" else CORNERS
    numbers = boxes[values].to_numpy(float)
    sides = numbers[:, 2:4] - numbers[:, :2]
    wrong = {
        "have no image": boxes["image"].to_numpy() < 0,
        "have no number where one has to be": ~np.isfinite(numbers).all(1),
        "have a negative width or height (a COCO bbox is x, y, width, height; a CSV "
        "has x1, y1, "
        "x2, y2)": (sides < 0).any(1),
        "have no class": boxes["category"].isna().to_numpy(),
    }
    if noun == "detections":
        beyond = (boxes["score"] < -1e-6) | (boxes["score"] > 1 + 1e-6)
        wrong["have a score outside of 0 to 1 (divide percents by 100)"] = (
            beyond.to_numpy()
        )
    for reason, rows in wrong.items():
        if rows.any():
            first = boxes.iloc[int(rows.argmax())]
            name = images["name"].get(first["image"], "none")
            listed = ", ".join(f"{value} {first[value]:g}" for value in values)
            raise DetectionDataError(
                f"{path.name}: {rows.sum():,} of {len(boxes):,} {noun} {reason}. The "
                f"first is in image {name}: {listed}."
            )
    reach = numbers[:, :4].max()
    if reach <= 2:
        raise DetectionDataError(
            f"{path.name}: no corner of its {len(boxes):,} {noun} is beyond "
            f"{reach:.3g}, so they are shares of the image. Multiply them by the width "
            "and height of the image."
        )
    if {"width", "height"} <= set(images):
        ends = images[["width", "height"]].to_numpy()[boxes["image"]]
        beyond = (numbers[:, 2:4] > 1.02 * ends).any(1)
        if beyond.mean() > 0.2:
            raise DetectionDataError(
                f"{path.name}: {beyond.sum():,} of {len(boxes):,} {noun} end outside "
                "of their image. A COCO bbox is x, y, width, height; a CSV has the "
                "corners x1, y1, x2, y2."
            )


def refuse_repeated(path: Path, names: pd.Series, noun: str) -> None:
    """Refuse names or ids that are there twice."""
    repeated = names[names.duplicated()]
    if len(repeated):
        name = repeated.tolist()[0]
        times = (names == name).sum()
        raise DetectionDataError(
            f"{path.name}: {name!r} occurs {times} times among the {noun}. Each has "
            "to be there once."
        )


def with_ignored(
    path: Path, boxes: pd.DataFrame, marked: pd.Series, checks: Checks
) -> pd.DataFrame:
    """Return boxes where those that carry ``ignore`` are regions to ignore."""
    if marked.any():
        checks.warnings.append(
            f"{marked.sum():,} of {len(boxes):,} boxes of {path.name} carry 'ignore': "
            "1. They need not be found, and a detection there is neither right nor "
            "wrong. pycocotools does not read this field, so its AP differs; remove "
            "the field if these boxes are to be found."
        )
    return boxes.assign(ignore=boxes["ignore"] | marked)


def plausible_area(path: Path, boxes: pd.DataFrame, checks: Checks) -> pd.Series:
    """Return the areas of the file, or width times height if they are implausible."""
    whole = ~boxes["ignore"] & (boxes["extent"] > 0)
    ratio = float((boxes["area"][whole] / boxes["extent"][whole]).median())
    lowest, highest = PLAUSIBLE_AREA
    if np.isnan(ratio) or lowest <= ratio <= highest:
        return boxes["area"]
    side = "below" if ratio < 1 else "above"
    checks.warnings.append(
        f"'area' in {path.name} does not fit its boxes: half of the areas are {side} "
        f"{ratio:.3g} times width times height. Width times height was used instead. "
        "Write the area of the object or of its box into 'area'."
    )
    return boxes["extent"]


def without_copies(path: Path, table: pd.DataFrame, checks: Checks) -> pd.DataFrame:
    """Return each detection once."""
    copies = table.duplicated(["image", "category", *CORNERS, "score"])
    if copies.any():
        checks.warnings.append(
            f"{copies.sum():,} of {len(table):,} detections in {path.name} are there "
            "twice: with the same image, class, corners and score. Each was counted "
            "once. pycocotools counts the copies as false positives, so its AP is "
            "lower; find out what wrote them twice."
        )
    return table[~copies].reset_index(drop=True)


def warn_of_crowded_images(most: int, limit: int, checks: Checks) -> None:
    """Say that all detections count where an image has more boxes than COCO's limit."""
    if most > limit:
        checks.warnings.append(
            f"The fullest image has {most:,} boxes of one class. COCO's evaluator "
            f"counts the {limit} detections with the highest scores, so it cannot find "
            "them all. Here all detections count, so AP may differ from pycocotools "
            "with its default."
        )
