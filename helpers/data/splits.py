"""Split images by a hash of the file name, and find copies of images."""

import hashlib

import numpy as np
import pandas as pd
import torch

from helpers.data.collection import SPLITS
from helpers.suggest import listed


def split_sizes(n: int) -> tuple[int, int, int]:
    """Divide `n` images 4 : 1 : 1 into splits: 150 into 100, 25 and 25."""
    held_out = (n + 3) // 6
    return n - 2 * held_out, held_out, held_out


def choose(files: pd.DataFrame, per_class: int | None) -> pd.DataFrame:
    """Choose at most `per_class` files of each class, those with the lowest hashes.

    Parameters
    ----------
    files : pandas.DataFrame
        As of :func:`helpers.data.folders.list_images`.
    per_class : int or None
        None means all.

    Returns
    -------
    pandas.DataFrame
        The rows of the chosen files, in their order.
    """
    shuffled = files.sort_values("hash", kind="stable")
    by_class = shuffled.groupby("class")
    chosen = by_class.head(per_class or len(files))
    return chosen.sort_index().reset_index(drop=True)


def split_by_name(files: pd.DataFrame) -> pd.Series:
    """Split the images of each class by the hash of their names, 4 : 1 : 1.

    Images of one name in one class are in the same split in all image sets, so that a
    model that is trained on an object in C is not tested on the same object in WB.

    Parameters
    ----------
    files : pandas.DataFrame
        The columns `set`, `class` and `hash`.

    Returns
    -------
    pandas.Series of str
        "train", "val" or "test", with the index of the files.
    """
    split_of = {}
    for _, hashes in files.groupby(["set", "class"], sort=False)["hash"]:
        new = sorted(set(hashes) - set(split_of))
        sizes = split_sizes(len(new))
        names = np.repeat(SPLITS, sizes).tolist()
        split_of.update(zip(new, names, strict=True))
    return files["hash"].map(split_of)


def refuse_copies(files: pd.DataFrame, images: torch.Tensor) -> None:
    """Raise a ValueError if one image is in two splits or in two classes.

    Parameters
    ----------
    files : pandas.DataFrame
        The columns `split`, `class` and `file`, with the rows 0 to N - 1.
    images : torch.Tensor, shape (N, 3, H, W)
        The images of the files.
    """
    digests = [hashlib.sha256(image.numpy()).digest() for image in images]
    digest = pd.Series(digests)
    places = files["split"] + "/" + files["class"]
    is_refused = places.groupby(digest).transform("nunique") > 1
    names = files["file"].astype(str)[is_refused]
    copies = names.groupby(digest).agg(" = ".join)
    if len(copies):
        raise ValueError(
            f"{len(copies)} images are in two splits or two classes, pixel by pixel, "
            f"so a test would tell nothing: {listed(copies)}. Remove the copies."
        )
