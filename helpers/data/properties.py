"""Measure cheap properties of images, and test if they give the class away.

A property that differs between classes is a candidate shortcut. A model that uses it
need not look at the object.
"""

import numpy as np
import pandas as pd
from PIL import Image
from scipy.ndimage import laplace

from helpers import stats
from helpers.data.collection import ImageSet

ORIENTATION = 0x0112  # the EXIF tag; from 5 on, the file is stored on its side


def image_properties(images: ImageSet) -> pd.DataFrame:
    """Measure cheap properties of images.

    Parameters
    ----------
    images : ImageSet

    Returns
    -------
    pandas.DataFrame
        One row per image: its `class` and, of the pixels as a network sees them,

        - `brightness`: mean of the luma Y = 0.299 R + 0.587 G + 0.114 B (0 to 255);
        - `contrast`: standard deviation of the luma;
        - `colourfulness`: the measure of Hasler and Süsstrunk;
        - `sharpness`: standard deviation of the Laplacian of the luma.

        Images that come from files also have `file size` (kB), `resolution` (width
        times height in megapixels) and `aspect ratio` (width divided by height).

    References
    ----------
    Hasler and Süsstrunk, *Measuring colourfulness in natural images*, 2003, section 7.
    """
    rows = [_pixel_properties(image.double().numpy()) for image in images.images]
    table = pd.DataFrame(rows)
    if "file" in images.table:
        of_files = [_file_properties(file) for file in images.table["file"]]
        table = table.join(pd.DataFrame(of_files))
    table.insert(0, "class", images.table["class"].to_numpy())
    return table


def _pixel_properties(pixels: np.ndarray) -> dict[str, float]:
    """Measure the properties of pixels, (3, H, W)."""
    red, green, blue = pixels
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    red_green = red - green
    yellow_blue = (red + green) / 2 - blue
    spread = np.hypot(red_green.std(), yellow_blue.std())
    mean = np.hypot(red_green.mean(), yellow_blue.mean())
    return {
        "brightness": luma.mean(),
        "contrast": luma.std(),
        "colourfulness": spread + 0.3 * mean,
        "sharpness": laplace(luma).std(),
    }


def _file_properties(file) -> dict[str, float]:
    """Measure the properties of an image file, without decoding it."""
    with Image.open(file) as image:
        width, height = image.size
        if image.getexif().get(ORIENTATION, 1) >= 5:
            width, height = height, width
    return {
        "file size": file.stat().st_size / 1000,
        "resolution": width * height / 1e6,
        "aspect ratio": width / height,
    }


def explained_by_class(
    properties: pd.DataFrame, *, permutations: int = 999, seed: int = 0
) -> pd.DataFrame:
    """Test how much of the variance of each property the class explains.

    Parameters
    ----------
    properties : pandas.DataFrame
        As of :func:`image_properties`.
    permutations : int
        Random permutations of the classes, for the null.
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per property, the largest share first: `property`, `share` (eta squared,
        the variance between class means divided by the total variance), `null_low` and
        `null_high` (the middle 95% of the permutations), `p`, `p_adjusted` (by min-p
        over all properties) and `significant` (at 5%). Properties that are the same in
        all images are left out.
    """
    table = properties.drop(columns="class").astype(float)
    table = table.loc[:, table.nunique() > 1]
    values = table.to_numpy()
    classes = pd.get_dummies(properties["class"]).to_numpy(float)
    rng = np.random.default_rng(seed)
    observed = eta_squared(values, classes)
    null = [eta_squared(values, rng.permutation(classes)) for _ in range(permutations)]
    null_low, null_high = np.quantile(null, [0.025, 0.975], axis=0)
    table = pd.DataFrame(
        {
            "property": table.columns,
            "share": observed,
            "null_low": null_low,
            "null_high": null_high,
        }
    )
    table = table.join(stats.permutation_test(observed, null))
    table["significant"] = table["p_adjusted"] <= 0.05
    return table.sort_values("share", ascending=False, ignore_index=True)


def eta_squared(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Compute the share of variance that classes explain.

    Parameters
    ----------
    values : array of shape (N, S)
        Not all the same in any column.
    classes : array of shape (N, K)
        One column per class: 1 for its rows and 0 for the others.

    Returns
    -------
    array of shape (S,)
        Between 0 and 1.
    """
    class_means = classes.T @ values / classes.sum(axis=0)[:, None]
    return (classes @ class_means).var(axis=0) / values.var(axis=0)
