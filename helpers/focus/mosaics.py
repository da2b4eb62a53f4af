"""Which images make which mosaic (section I-A): a shuffled deck is dealt out."""

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
    seed=0,
) -> pd.DataFrame:
    """Decide which four images of a table with the column `class` each mosaic shows, and where.
    Two are of the target class, of which `per_class` mosaics are made (100 in the paper's code),
    the others of any class; or `per_pair` of every ordered pair, both of one (section I-C). Images
    are rows of `table`, by cell. Too few of them, and training images, are a ValueError."""
    counts = table["class"].value_counts().reindex(list(classes), fill_value=0)
    if len(classes) < 2 or counts.min() < 2:
        raise ValueError(
            "Mosaics need 2 classes or more, with 2 images or more of each: of the "
            f"{len(classes)} here {counts.idxmin()!r} has fewest, {counts.min()}. Add images, or "
            "leave the class out."
        )
    if "split" in table and (table["split"] == "train").any():
        raise ValueError(
            "Some of the images are training images, and mosaics are of held-out ones: give the "
            "table of the test split, `images.split('test').table`."
        )
    rng = np.random.default_rng(seed)
    pools = {name: np.flatnonzero(table["class"] == name) for name in classes}
    inner, outer = (
        {name: _Deck(pools[name], rng) for name in classes} for _ in range(2)
    )
    places = _Deck(np.arange(len(LAYOUTS)), rng)
    rows = []
    for target in classes:
        others = [name for name in classes if name != target]
        slots = per_pair * len(others) or 2 * per_class
        names = rng.permutation(np.resize(rng.permutation(others), slots)).tolist()
        columns = (names, names) if per_pair else (names[::2], names[1::2])
        for pair in zip(*columns, strict=True):
            images = [inner[target].deal()]
            images.append(inner[target].deal(images))
            for name in pair:
                images.append(outer[name].deal(images))
            named = " + ".join(dict.fromkeys(sorted(pair)))
            row = {"mosaic": len(rows), "target": target, "outer": named}
            rows.append(row | placed(images, LAYOUTS[places.deal()]))
    return pd.DataFrame(rows)


def placed(images: Sequence[int], cells: tuple[int, int]) -> dict:
    """The columns of a design that say where each image is: the first two in `cells`."""
    rest = [cell for cell in range(CELLS) if cell not in cells]
    at = dict(zip([*cells, *rest], images, strict=True))
    row = {name: at[cell] for cell, name in enumerate(IMAGES)}
    return row | {name: cell in cells for cell, name in enumerate(TARGETS)}


def layouts(table: pd.DataFrame) -> torch.Tensor:
    """Where the mosaics of a design show their target: bool tensor (N, 2, 2)."""
    return torch.from_numpy(table[TARGETS].to_numpy(dtype=bool).copy()).view(-1, 2, 2)


def batches(
    table: pd.DataFrame,
    images: torch.Tensor,
    shape: str = "native",
    batch_size: int = 32,
) -> Iterator[torch.Tensor]:
    """Stream the mosaics of a design, or of any rows of it: uint8 (B, 3, 2 H, 2 W) where the
    `shape` is "native", as in the paper, and (B, 3, H, W) where it is "squeezed"."""
    wanted = torch.from_numpy(table[IMAGES].to_numpy(dtype=np.int64).copy())
    for rows in wanted.split(batch_size):
        yield grid([images[cell] for cell in rows.unbind(1)], 2, 2, shape)


def cut(maps: torch.Tensor) -> torch.Tensor:
    """The four cells of maps (B, C, H, W), one after the other: (4 B, C, H // 2, W // 2)."""
    height, width = (side // 2 for side in maps.shape[-2:])
    lines = maps[..., :height, :], maps[..., -height:, :]
    return torch.cat(
        [part for line in lines for part in (line[..., :width], line[..., -width:])]
    )


def joined(cells: torch.Tensor) -> torch.Tensor:
    """Cells as `cut` gives them, put together again."""
    return mosaic.join(cells.chunk(CELLS), 2, 2)


def in_mosaics(rows: pd.DataFrame, masks: torch.Tensor) -> torch.Tensor:
    """Masks (M, H, W) put together as the images of the mosaics are: bool (N, rows, columns)."""
    stack = masks[:, None].expand(-1, 3, -1, -1).to(torch.uint8)
    return torch.cat([batch[:, 0] for batch in batches(rows, stack)]) > 0


class _Deck:
    """Cards in random order, dealt one by one; reshuffled when all have been dealt."""

    def __init__(self, cards: np.ndarray, rng: np.random.Generator):
        self.cards, self.rng, self.left = cards, rng, []

    def deal(self, but: Sequence[int] = ()) -> int:
        """The next card that is none of `but`; those passed over are dealt later."""
        if all(card in but for card in self.left):
            self.left += self.rng.permutation(self.cards).tolist()
        at = next(i for i, card in enumerate(self.left) if card not in but)
        return self.left.pop(at)
