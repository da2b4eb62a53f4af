"""Design mosaics, and put them together (section I-A)."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import torch

from helpers.data import mosaic

CELLS = 4
LAYOUTS = tuple(combinations(range(CELLS), 2))  # the two target cells, row by row
IMAGES = [f"image_{cell}" for cell in range(CELLS)]
TARGETS = [f"is_target_{cell}" for cell in range(CELLS)]
BATCH_SIZE = 24  # mosaics at most; gradients of more do not fit the cache of a CPU


def design(
    table: pd.DataFrame,
    classes: Sequence[str],
    *,
    per_class: int = 0,
    per_pair: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """Decide which four images each mosaic shows, and where.

    Two images are of the target class, and two of any other class.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per held-out image, with the column `class`.
    classes : sequence of str
    per_class : int
        Mosaics of each target class (100 in the paper's code).
    per_pair : int
        Instead, mosaics of each ordered pair, whose two other images are of one class
        (section I-C).
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per mosaic, with its `target` and `outer` classes, and the row of
        `table` in each cell (`IMAGES`) and whether it is of the target (`TARGETS`).

    Raises
    ------
    ValueError
        A class has too few images.
    """
    counts = table["class"].value_counts().reindex(list(classes), fill_value=0)
    if len(classes) < 2 or counts.min() < 2:
        raise ValueError(
            "Mosaics need at least 2 classes with at least 2 images each. Here are "
            f"{len(classes)}; {counts.idxmin()!r} has {counts.min()} images. Add "
            "images, or leave the class out."
        )
    rng = np.random.default_rng(seed)
    images_of = table.groupby("class").indices
    inner = {name: _EvenSampler(images_of[name], rng) for name in classes}
    outer = {name: _EvenSampler(images_of[name], rng) for name in classes}
    places = _EvenSampler(np.arange(len(LAYOUTS)), rng)
    rows = []
    for target in classes:
        others = [name for name in classes if name != target]
        n_names = per_pair * len(others) or 2 * per_class
        names = np.resize(rng.permutation(others), n_names)
        names = rng.permutation(names)
        if per_pair:
            names = names.repeat(2)
        for pair in names.reshape(-1, 2).tolist():
            images = [inner[target].draw()]
            images.append(inner[target].draw(images))
            for name in pair:
                images.append(outer[name].draw(images))
            row = placed(images, LAYOUTS[places.draw()])
            row["mosaic"] = len(rows)
            row["target"] = target
            row["outer"] = " + ".join(sorted(set(pair)))
            rows.append(row)
    return pd.DataFrame(rows)


def placed(images: Sequence[int], cells: tuple[int, int]) -> dict:
    """Return the columns that place four images, the first two in `cells`."""
    rest = [cell for cell in range(CELLS) if cell not in cells]
    row = {}
    for cell, image in zip([*cells, *rest], images, strict=True):
        row[IMAGES[cell]] = image
        row[TARGETS[cell]] = cell in cells
    return row


def layouts(rows: pd.DataFrame) -> torch.Tensor:
    """Return where the mosaics of a design show their target: bool tensor (N, 2, 2)."""
    is_target = rows[TARGETS].to_numpy(bool)
    return torch.tensor(is_target).view(-1, 2, 2)


def compose(rows: pd.DataFrame, images: torch.Tensor) -> torch.Tensor:
    """Put the mosaics of a design together: images (M, C, H, W) to (N, C, 2 H, 2 W)."""
    cells = [images[rows[column].tolist()] for column in IMAGES]
    return mosaic.join(cells, 2, 2)


def in_batches(design: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield the rows of a design in parts of nearly the same size."""
    n_parts = math.ceil(len(design) / BATCH_SIZE)
    for places in np.array_split(range(len(design)), n_parts):
        yield design.iloc[places]


def cut(maps: torch.Tensor) -> torch.Tensor:
    """Cut maps (B, C, 2 H, 2 W) into their four cells: (4 B, C, H, W).

    The first B are the upper left cells.
    """
    upper, lower = maps.chunk(2, -2)
    return torch.cat([*upper.chunk(2, -1), *lower.chunk(2, -1)])


def joined(cells: torch.Tensor) -> torch.Tensor:
    """Put cells together again that `cut` returned."""
    return mosaic.join(cells.chunk(CELLS), 2, 2)


class _EvenSampler:
    """Draw items in random order, and start again when all are drawn."""

    def __init__(self, items: np.ndarray, rng: np.random.Generator):
        self.items = items
        self.rng = rng
        self.left = []

    def draw(self, exclude: Sequence[int] = ()) -> int:
        """Return the next item not in `exclude`; others are drawn later."""
        if all(item in exclude for item in self.left):
            self.left += self.rng.permutation(self.items).tolist()
        item = next(item for item in self.left if item not in exclude)
        self.left.remove(item)
        return item
