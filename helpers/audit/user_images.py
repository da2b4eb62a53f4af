"""Read the photographs and the background images of a user of the model audit."""

from pathlib import Path

import pandas as pd
import torch
from torchvision.transforms.functional import center_crop

from helpers.data import decoding, folders, splits
from helpers.models.preprocessing import Preprocessing
from helpers.suggest import listed


def read_folders(
    parameter: str,
    where: str,
    prepared: Preprocessing,
    seed: int,
    fewest: int,
    most: int,
) -> tuple[torch.Tensor, pd.DataFrame]:
    """Read the images of a folder with one folder per class, or per context.

    Parameters
    ----------
    parameter : str
        What the folder is called in error messages.
    where : str
    prepared : helpers.models.preprocessing.Preprocessing
        How images are resized and cropped.
    seed : int
        Decides which images are read of a folder that has more than `most`.
    fewest, most : int
        How many images per folder are needed, and how many are read.

    Returns
    -------
    images : torch.Tensor of uint8, shape (N, 3, size, size)
    rows : pandas.DataFrame
        The columns ``path`` and ``class``.

    Raises
    ------
    ValueError
        If there is no such folder, or if there are too few images.
    """
    if where is None or not Path(where).is_dir():
        raise ValueError(
            f"{parameter}: There is no folder {where}. Give the path of a folder that "
            "holds one folder of images per class or context."
        )
    rows = splits.choose(folders.list_images(Path(where), seed), most)
    counts = rows["class"].value_counts()
    few = sorted(counts.index[counts < fewest])
    if few:
        raise ValueError(
            f"{parameter}: There are fewer than {fewest} images of {listed(few)}, "
            "which is too few for an audit. Add images, or leave the folder out."
        )
    resized = max(prepared.size, prepared.resize)
    images = decoding.read(rows["file"], resized, prepared.squash)
    return center_crop(images, prepared.size), rows
