"""Contrast and illumination of images and boxes, where the image files are present.

ICON2, section 3.3, names both as common reasons for missing an object.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, UnidentifiedImageError

from helpers.detection import GroundTruth
from helpers.detection.data import CORNERS
from helpers.icon2.attributes import Attribute, AttributeDataError, binned


def measured(
    truth: GroundTruth, folder: str | Path, frame: tuple[int, int] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Illumination and contrast of every image and every box.

    Illumination is the mean luminance, contrast its standard deviation, both in 0..1.

    Parameters
    ----------
    truth
        Its ``images.name`` are file names in `folder`.
    folder
    frame
        Width and height in which the boxes are given, where the pictures are of another size.

    Returns
    -------
    images : DataFrame (n images), boxes : DataFrame (n boxes)
        Columns ``illumination`` and ``contrast``; NaN where the file is missing or unreadable, or
        the box lies outside of the image.
    """
    folder = Path(folder)
    whole = np.full((len(truth.images), 2), np.nan)
    parts = np.full((len(truth.boxes), 2), np.nan)
    corners = truth.boxes[CORNERS].to_numpy()
    rows_of = truth.boxes.groupby("image").indices
    for i, name in enumerate(truth.images.name):
        luminance = _luminance(folder / name)
        if luminance is not None:
            whole[i] = luminance.mean(), luminance.std()
            scale = _scale(luminance, frame)
            for row in rows_of.get(i, ()):
                parts[row] = _inside(luminance, corners[row] * scale)
    names = ["illumination", "contrast"]
    return pd.DataFrame(whole, columns=names), pd.DataFrame(parts, columns=names)


def thirds(name: str, numbers: pd.Series, level: str) -> Attribute:
    """An attribute low, middle, high: three bins with as many images or boxes in each.

    Raises
    ------
    AttributeDataError
        When no number is known.
    """
    known = numbers.dropna()
    if known.empty:
        raise AttributeDataError(f"{name}: no image file could be read, so nothing is known of it")
    first, second = np.quantile(known, [1 / 3, 2 / 3])
    bounds = {"low": first, "middle": second, "high": np.inf}
    return binned(name, numbers.to_numpy(float), bounds, level)


def _luminance(path: Path) -> np.ndarray | None:
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("L"), np.float32) / 255
    except (FileNotFoundError, UnidentifiedImageError, OSError):
        return None


def _scale(luminance: np.ndarray, frame: tuple[int, int] | None) -> np.ndarray:
    height, width = luminance.shape
    x, y = (1.0, 1.0) if frame is None else (width / frame[0], height / frame[1])
    return np.array([x, y, x, y])


def _inside(luminance: np.ndarray, corners: np.ndarray) -> tuple[float, float]:
    x1, y1, x2, y2 = np.round(corners).astype(int)
    patch = luminance[max(y1, 0) : max(y2, y1 + 1), max(x1, 0) : max(x2, x1 + 1)]
    return (float(patch.mean()), float(patch.std())) if patch.size else (np.nan, np.nan)
