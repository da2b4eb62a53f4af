"""Labelled images and detections as columns, and the checks that every reader shares.

Images are numbered from 0 in the order in which they were read; boxes and detections point to them
by that number. Coordinates are pixels, x to the right and y down, (x1, y1) the upper left corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

CORNERS = ["x1", "y1", "x2", "y2"]


class DetectionDataError(ValueError):
    """A label or detection cannot be used; the message names the file, the place and what to do."""


@dataclass(frozen=True)
class GroundTruth:
    """Images with their labelled boxes.

    Attributes
    ----------
    images : DataFrame, one row an image
        ``name``, and one column for each attribute an image has (NaN where it is absent).
    boxes : DataFrame, one row a box
        ``image`` and ``category`` (numbers, from 0), ``x1 y1 x2 y2`` (float64 pixels), ``ignore``
        (bool: a region in which detections count neither for nor against; several detections may
        lie in one), and one column for each attribute of boxes.
    classes : tuple of str
    report : tuple of str
        A sentence for everything that was left out or looked odd, with its count.
    image_ids, class_ids : tuple
        What the files call the images and classes, where that is not their position.
    """

    images: pd.DataFrame
    boxes: pd.DataFrame
    classes: tuple[str, ...]
    report: tuple[str, ...] = ()
    image_ids: tuple = ()
    class_ids: tuple = ()

    def summary(self) -> pd.DataFrame:
        """Boxes and images of each class, regions to ignore apart."""
        boxes = self.boxes.assign(name=pd.Categorical.from_codes(self.boxes.category, self.classes))
        counted = boxes[~boxes.ignore].groupby("name", observed=False)
        return pd.DataFrame(
            {
                "boxes": counted.size(),
                "images": counted.image.nunique(),
                "ignore regions": boxes[boxes.ignore].groupby("name", observed=False).size(),
            }
        ).rename_axis("class")

    def with_images(self, **columns: Sequence) -> GroundTruth:
        """The same with further image attributes: one value an image, any column the user has.

        Raises
        ------
        DetectionDataError
            When a column has not one value an image.
        """
        for name, values in columns.items():
            if len(values) != len(self.images):
                raise DetectionDataError(
                    f"{name}: {len(values)} values for {len(self.images)} images; give one an image"
                )
        return replace(
            self, images=self.images.assign(**{k: np.asarray(v) for k, v in columns.items()})
        )


@dataclass(frozen=True)
class Detections:
    """Scored boxes: columns ``image category x1 y1 x2 y2 score`` and a report."""

    boxes: pd.DataFrame
    report: tuple[str, ...] = ()


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse image names that occur twice.

    Raises
    ------
    DetectionDataError
        Naming the first such name and both its positions.
    """
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in first:
            raise DetectionDataError(
                f"{source}: image {name!r} occurs twice (frames {first[name]} and {position}); "
                "merge the two or rename one"
            )
        first[name] = position


def check_boxes(corners: np.ndarray, places: Sequence[str], bad: str) -> np.ndarray:
    """Which boxes have finite corners and a positive width and height.

    Parameters
    ----------
    corners : float array (n, 4)
    places : sequence of n str
        Where each box stands, for the message.
    bad : str
        ``refuse`` or ``leave out``.

    Returns
    -------
    bool array (n,)

    Raises
    ------
    DetectionDataError
        For the first unusable box, when `bad` is ``refuse``.
    """
    if bad not in ("refuse", "leave out"):
        raise DetectionDataError(f"bad={bad!r} is not known; allowed: refuse, leave out")
    with np.errstate(invalid="ignore"):
        positive = (corners[:, 2] > corners[:, 0]) & (corners[:, 3] > corners[:, 1])
    usable = np.isfinite(corners).all(1) & positive
    if bad == "refuse" and not usable.all():
        at = int(np.argmin(usable))
        what = "is inverted or empty" if np.isfinite(corners[at]).all() else "is not finite"
        raise DetectionDataError(
            f"{places[at]}: the box x1, y1, x2, y2 = {corners[at].tolist()} {what}; correct it, "
            "or read with bad='leave out', which counts such boxes instead"
        )
    return usable


def coordinate(value, place: str) -> float:
    """A coordinate as a float, NaN for none.

    Raises
    ------
    DetectionDataError
        When it is no number; `place` says where it stands.
    """
    if value is None:
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DetectionDataError(f"{place}: {value!r} is no number; a box has pixels")
    return float(value)


def counted(counts: dict[str, int]) -> tuple[str, ...]:
    """Sentences for what was left out: ``3 boxes left out: ...`` for each reason with a count."""
    return tuple(f"{n:,} {reason}" for reason, n in counts.items() if n)
