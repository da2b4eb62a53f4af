"""Read the photographs and the background images of a user of the model audit."""

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


def read_photographs(
    where: str, network: Network, seed: int
) -> tuple[torch.Tensor, pd.DataFrame, list[str]]:
    """Read photographs of class folders.

    Parameters
    ----------
    where : str
    network : Network
        Whose images have a size.
    seed : int
        Decides which images are read of a class that has more than 100.

    Returns
    -------
    images : torch.Tensor of uint8, shape (N, 3, size, size)
    rows : pandas.DataFrame
        The columns ``path``, ``class``, ``number`` (of the class) and ``of`` (classes).
    notes : list of str
        What was not used.
    """
    files = folders.list_images(folders.image_sets(Path(where))["C"], seed)
    names, number = np.unique(files["class"], return_inverse=True)
    files = files.assign(number=number, of=len(names))
    counts = files["class"].value_counts()
    few = sorted(counts.index[counts < FEWEST_PHOTOGRAPHS])
    if few:
        raise ValueError(
            f"images: There are fewer than {FEWEST_PHOTOGRAPHS} of {listed(few)}, "
            "which is too few to audit. Add photographs, or leave the class out."
        )
    rows, notes = _choose(files, MOST_PHOTOGRAPHS, "images")
    return _decode(rows, network), rows, notes


def _choose(
    files: pd.DataFrame, most: int, parameter: str
) -> tuple[pd.DataFrame, list[str]]:
    """Choose at most some files of each class, and say if not all are used."""
    chosen = splits.choose(files, most)
    notes = []
    if len(chosen) < len(files):
        notes.append(
            f"{parameter}: {len(chosen)} of {len(files)} images are used, at most "
            f"{most} of each class, chosen by the seed."
        )
    return chosen, notes


def _decode(files: pd.DataFrame, network: Network) -> torch.Tensor:
    """Decode images, resized and cropped as the network wants them."""
    resize = network.size
    if isinstance(network.input.resize, int):
        resize = max(network.input.resize, network.size)
    images = decoding.read(files["file"], resize, network.input.squash)
    start = (resize - network.size) // 2
    inside = slice(start, start + network.size)
    return images[..., inside, inside].contiguous()


def read_contexts(
    where: str, network: Network, photographs: torch.Tensor, seed: int
) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Read the background images of a folder with one folder per context.

    Parameters
    ----------
    where : str
    network : Network
        Whose images have a size.
    photographs : torch.Tensor of uint8, shape (N, 3, size, size)
        Backgrounds that are copies of one of these are left out.
    seed : int

    Returns
    -------
    contexts : dict of str to torch.Tensor of uint8, shape (m, 3, size, size)
    notes : list of str
    """
    names = [path.name for path in folders.subfolders(Path(where))]
    if len(names) < 2:
        raise ValueError(
            f"contexts: {where} holds {len(names)} folders. The audit compares "
            "contexts. Give at least two."
        )
    files = folders.list_images(Path(where), seed)
    rows, notes = _choose(files, MOST_BACKGROUNDS, "contexts")
    images = _decode(rows, network)
    is_copy = splits.digests(images).isin(splits.digests(photographs))
    if is_copy.any():
        notes.append(
            "Background images that are also photographs of a class are left out: "
            f"{listed(rows['path'][is_copy])}."
        )
    contexts = {}
    for name in names:
        of_context = (rows["class"] == name) & ~is_copy
        contexts[name] = images[np.flatnonzero(of_context)]
    few = [name for name in contexts if len(contexts[name]) < FEWEST_BACKGROUNDS]
    if few:
        raise ValueError(
            f"contexts: There are fewer than {FEWEST_BACKGROUNDS} images of "
            f"{listed(few)}. Give {ENOUGH_BACKGROUNDS} of each context."
        )
    few = [name for name in contexts if len(contexts[name]) < ENOUGH_BACKGROUNDS]
    if few:
        notes.append(
            f"Fewer than {ENOUGH_BACKGROUNDS} images of {listed(few)}: the detection "
            "rates below may be too high."
        )
    return contexts, notes
