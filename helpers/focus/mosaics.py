"""Mosaics (section I-A): their design, and how they are put together."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import torch

from helpers.data import mosaic
from helpers.data.grids import grid

CELLS = 4
LAYOUTS = tuple(combinations(range(CELLS), 2))  # the two target cells, row by row
IMAGES = [f"image_{cell}" for cell in range(CELLS)]
TARGETS = [f"is_target_{cell}" for cell in range(CELLS)]


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
        A class has too few images, or there are training images.
    """
    counts = table["class"].value_counts().reindex(list(classes), fill_value=0)
    if len(classes) < 2 or counts.min() < 2:
        raise ValueError(
            "Mosaics need at least 2 classes with at least 2 images each. Here are "
            f"{len(classes)}; {counts.idxmin()!r} has {counts.min()} images. Add "
            "images, or leave the class out."
        )
    if "split" in table and (table["split"] == "train").any():
        raise ValueError(
            "Some of the images are training images, but mosaics need held-out images. "
            "Pass the table of the test split, images.split('test').table."
        )
    rng = np.random.default_rng(seed)
    pools = {name: np.flatnonzero(table["class"] == name) for name in classes}
    inner = {name: _EvenSampler(pools[name], rng) for name in classes}
    outer = {name: _EvenSampler(pools[name], rng) for name in classes}
    places = _EvenSampler(np.arange(len(LAYOUTS)), rng)
    rows = []
    for target in classes:
        others = [name for name in classes if name != target]
        n_names = per_pair * len(others) or 2 * per_class
        names = rng.permutation(np.resize(rng.permutation(others), n_names)).tolist()
        if per_pair:
            pairs = [(name, name) for name in names]
        else:
            pairs = zip(names[::2], names[1::2], strict=True)
        for pair in pairs:
            images = [inner[target].draw()]
            images.append(inner[target].draw(images))
            for name in pair:
                images.append(outer[name].draw(images))
            named = " + ".join(dict.fromkeys(sorted(pair)))
            row = {"mosaic": len(rows), "target": target, "outer": named}
            rows.append({**row, **placed(images, LAYOUTS[places.draw()])})
    return pd.DataFrame(rows)


def placed(images: Sequence[int], cells: tuple[int, int]) -> dict:
    """Return the columns that place four images, the first two in `cells`."""
    rest = [cell for cell in range(CELLS) if cell not in cells]
    image_in = dict(zip([*cells, *rest], images, strict=True))
    row = {}
    for cell in range(CELLS):
        row[IMAGES[cell]] = image_in[cell]
        row[TARGETS[cell]] = cell in cells
    return row


def layouts(table: pd.DataFrame) -> torch.Tensor:
    """Return where the mosaics of a design show their target: bool tensor (N, 2, 2)."""
    return torch.from_numpy(table[TARGETS].to_numpy(dtype=bool).copy()).view(-1, 2, 2)


def batches(
    table: pd.DataFrame,
    images: torch.Tensor,
    shape: str = "native",
    batch_size: int = 32,
) -> Iterator[torch.Tensor]:
    """Yield the mosaics of a design in batches.

    They are uint8 (B, 3, 2 H, 2 W) where the `shape` is "native", as in the paper, and
    (B, 3, H, W) where it is "squeezed".
    """
    wanted = torch.from_numpy(table[IMAGES].to_numpy(dtype=np.int64).copy())
    for rows in wanted.split(batch_size):
        yield grid([images[cell] for cell in rows.unbind(1)], 2, 2, shape)


def cut(maps: torch.Tensor) -> torch.Tensor:
    """Cut maps (B, C, H, W) into their four cells: (4 B, C, H // 2, W // 2).

    The first B are the upper left cells.
    """
    height, width = maps.shape[-2] // 2, maps.shape[-1] // 2
    upper, lower = maps[..., :height, :], maps[..., -height:, :]
    cells = [upper[..., :width], upper[..., -width:]]
    cells += [lower[..., :width], lower[..., -width:]]
    return torch.cat(cells)


def joined(cells: torch.Tensor) -> torch.Tensor:
    """Put cells together again that `cut` returned."""
    return mosaic.join(cells.chunk(CELLS), 2, 2)


def in_mosaics(rows: pd.DataFrame, masks: torch.Tensor) -> torch.Tensor:
    """Put masks (M, H, W) together like the images of mosaics: bool (N, H, W)."""
    stack = masks[:, None].expand(-1, 3, -1, -1).to(torch.uint8)
    return torch.cat([batch[:, 0] for batch in batches(rows, stack)]) > 0


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
