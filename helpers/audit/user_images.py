"""Read the photographs and the background images of a user of the model audit."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from helpers.audit.model import Network
from helpers.data import decoding, folders, splits
from helpers.suggest import listed

# per class
MOST_PHOTOGRAPHS = 100
FEWEST_PHOTOGRAPHS = 8
# per context
MOST_BACKGROUNDS = 50
ENOUGH_BACKGROUNDS = 25
FEWEST_BACKGROUNDS = 5


@dataclass(frozen=True)
class Inputs:
    """A network and the images with which it is audited.

    Attributes
    ----------
    network : Network
    before : Network
        The network with the weights before training (the same object if not known).
    images : torch.Tensor of uint8, shape (N, 3, H, H)
        Photographs.
    rows : pandas.DataFrame
        One row per photograph, with the columns ``path`` and ``class``.
    contexts : dict of str to torch.Tensor of uint8, shape (m, 3, H, H)
        Background images.
    class_table : pandas.DataFrame or None
        Which outputs represent which class, as the user says.
    trained : {"last layer", "all"} or None
        What was trained, as the user says.
    seed : int
    notes : sequence of str
        Warnings about the images.
    """

    network: Network
    before: Network
    images: torch.Tensor
    rows: pd.DataFrame
    contexts: dict[str, torch.Tensor]
    class_table: pd.DataFrame | None = None
    trained: str | None = None
    seed: int = 0
    notes: Sequence[str] = ()

    @property
    def classes(self) -> list[str]:
        """Return the names of the classes, sorted."""
        return sorted(self.rows["class"].unique())

    @property
    def labels(self) -> np.ndarray:
        """Return the number of the class of each photograph."""
        return pd.Index(self.classes).get_indexer(self.rows["class"])


def read_photographs(
    where: str, network: Network, seed: int
) -> tuple[torch.Tensor, pd.DataFrame]:
    """Read photographs of class folders.

    Parameters
    ----------
    where : str
    network : Network
        Says how its images are prepared.
    seed : int
        Decides which images are read of a class that has more than 100.

    Returns
    -------
    images : torch.Tensor of uint8, shape (N, 3, size, size)
    rows : pandas.DataFrame
        The columns ``path`` and ``class``.
    """
    folder = folders.image_sets(_existing(where, "images"))["C"]
    files = splits.choose(folders.list_images(folder, seed), MOST_PHOTOGRAPHS)
    _refuse_few(files, FEWEST_PHOTOGRAPHS, "images")
    return _decode(files, network), files


def read_contexts(
    where: str, network: Network, seed: int
) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Read the background images of a folder with one folder per context.

    Parameters
    ----------
    where : str
    network : Network
        Says how its images are prepared.
    seed : int

    Returns
    -------
    contexts : dict of str to torch.Tensor of uint8, shape (m, 3, size, size)
    notes : list of str
        A warning if there are few images.
    """
    files = folders.list_images(_existing(where, "contexts"), seed)
    files = splits.choose(files, MOST_BACKGROUNDS)
    _refuse_few(files, FEWEST_BACKGROUNDS, "contexts")
    notes = []
    few = _smaller_than(files, ENOUGH_BACKGROUNDS)
    if few:
        notes.append(
            f"Fewer than {ENOUGH_BACKGROUNDS} images of {listed(few)}: the detection "
            "rates below may be too high."
        )
    images = _decode(files, network)
    contexts = {}
    for name, rows in files.groupby("class"):
        contexts[name] = images[rows.index.tolist()]
    return contexts, notes


def _existing(where: str, parameter: str) -> Path:
    """Return the path of a folder, or refuse what is none."""
    if where is None or not Path(where).is_dir():
        raise ValueError(
            f"{parameter}: There is no folder {where}. Give the path of a folder that "
            "holds one folder of images per class or context."
        )
    return Path(where)


def _smaller_than(files: pd.DataFrame, fewest: int) -> list[str]:
    """Return the names of the folders with fewer images."""
    counts = files["class"].value_counts()
    return sorted(counts.index[counts < fewest])


def _refuse_few(files: pd.DataFrame, fewest: int, parameter: str) -> None:
    """Refuse folders with too few images."""
    few = _smaller_than(files, fewest)
    if few:
        raise ValueError(
            f"{parameter}: There are fewer than {fewest} images of {listed(few)}, "
            "which is too few for an audit. Add images, or leave the folder out."
        )


def _decode(files: pd.DataFrame, network: Network) -> torch.Tensor:
    """Decode images, resized and cropped as the network wants them."""
    size, resize = network.input.size, network.input.resize
    resize = max(size, resize)
    images = decoding.read(files["file"], resize)
    start = (resize - size) // 2
    inside = slice(start, start + size)
    return images[..., inside, inside].contiguous()
