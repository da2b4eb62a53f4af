"""What a class's images share besides their object: mean colours, and how much they give away.

*Assessing Biases through Visual Contexts*, section 2.1.1 holds the objects' colour constant (all
green) so that a model cannot tell classes by it. Here that is measured, on the object and on what
surrounds it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from helpers import stats
from helpers.data import ImageSet

REGIONS = ("image", "object", "background")


def mean_colours(images: ImageSet, region: str = "image") -> torch.Tensor:
    """Mean colour of each image, or of its object or background.

    Parameters
    ----------
    images
        With masks where `region` is not ``image``.
    region
        ``image``, ``object`` or ``background``.

    Returns
    -------
    torch.Tensor
        float64 (N, 3), RGB in [0, 255]; NaN where the region is empty.

    Raises
    ------
    ValueError
        For an unknown region, or a region of a set without masks.
    """
    if region not in REGIONS:
        raise ValueError(f"region: {region!r} is none of {', '.join(REGIONS)}")
    if region == "image":
        return images.images.double().mean((2, 3))
    if images.masks is None:
        raise ValueError(f"set {images.name} has no masks, so its {region} is not known")
    chosen = (images.masks if region == "object" else ~images.masks)[:, None].double()
    return (images.images.double() * chosen).sum((2, 3)) / chosen.sum((2, 3))


def regions_of(images: ImageSet) -> list[str]:
    """Regions whose colour says something: a plain ground (NC, WB) is the same for all."""
    if images.masks is None:
        return ["image"]
    return ["object", "background"] if images.name == "C" else ["object"]


def by_class(sets: dict[str, ImageSet]) -> pd.DataFrame:
    """Mean colour of every class in every set and region.

    Returns
    -------
    pandas.DataFrame
        Columns set, region, class, red, green, blue (0 to 255).
    """
    rows = []
    for name, images in sets.items():
        for region in regions_of(images):
            colours = mean_colours(images, region)
            for index, label in enumerate(images.classes):
                mean = colours[images.labels == index].nanmean(0).tolist()
                rows.append([name, region, label, *mean])
    return pd.DataFrame(rows, columns=["set", "region", "class", "red", "green", "blue"])


def given_away(sets: dict[str, ImageSet], level: float = 0.95) -> pd.DataFrame:
    """How often the class of a test image is guessed from one mean colour alone.

    The guess is the class whose mean colour over the training images is nearest: three numbers an
    image, no shape, no texture.

    Returns
    -------
    pandas.DataFrame
        Columns set, region, accuracy, low, high (Wilson), chance, images.
    """
    rows = []
    for name, images in sets.items():
        train, test = images.split("train"), images.split("test")
        for region in regions_of(images):
            colours = mean_colours(train, region)
            centres = torch.stack(
                [colours[train.labels == i].nanmean(0) for i in range(len(images.classes))]
            )
            guess = torch.cdist(mean_colours(test, region), centres).argmin(1)
            right = int((guess == test.labels).sum())
            low, high = stats.wilson(right, len(test), level)
            chance = np.bincount(test.labels).max() / len(test)
            rows.append([name, region, right / len(test), low, high, chance, len(test)])
    columns = ["set", "region", "accuracy", "low", "high", "chance", "images"]
    return pd.DataFrame(rows, columns=columns)
