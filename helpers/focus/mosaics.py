"""Which images make which mosaic (section I-A), and the mosaics themselves.

A mosaic is a 2 x 2 grid with two images of its target class and two of others. The paper draws
images and positions at random; here they are balanced too, so that no class, image or position
counts more than another: a shuffled deck is dealt out before it is shuffled again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import torch

from helpers.data.mosaics import cells, grid, resize

CELLS = 4
LAYOUTS = tuple(combinations(range(CELLS), 2))  # the two target cells, row by row
IMAGES = [f"image_{cell}" for cell in range(CELLS)]
TARGETS = [f"is_target_{cell}" for cell in range(CELLS)]


def design(
    table: pd.DataFrame,
    classes: Sequence[str],
    *,
    target: str | None = None,
    outer: str = "random",
    per_class: int = 100,
    seed: int = 0,
) -> pd.DataFrame:
    """Decide which four images each mosaic shows, and where.

    Parameters
    ----------
    table : DataFrame
        Of held-out images, one row an image, with the column `class`: the `table` of an image set's
        test split. The images' numbers are the rows' positions.
    classes : sequence of str
        At least two.
    target : str, optional
        The only target class; None for each class in turn.
    outer : "random", "one class" or a class name
        The other two images: each of any other class (the rating), both of one other class, each
        in turn (section I-C), or both of this class.
    per_class : int
        Mosaics of each target class; the paper's code takes 100.
    seed : int
        Not negative.

    Returns
    -------
    DataFrame, one row a mosaic
        mosaic : int, from 0
        target : str, the class to explain
        outer : str, the class of the other two images, or both joined by " + "
        image_0 ... image_3 : int, rows of `table`, cell by cell, row by row; four different images
        is_target_0 ... is_target_3 : bool, two of them true

    Raises
    ------
    ValueError
        For training images, unknown classes, classes of fewer than two images, and the like.
    """
    targets, others = _classes(table, list(classes), target, outer)
    if per_class < 1:
        raise ValueError(f"per_class={per_class}: at least 1 mosaic a class is needed.")
    rng = np.random.default_rng(seed)
    pools = {name: np.flatnonzero(table["class"] == name) for name in classes}
    inner = {name: _Deck(pools[name], rng) for name in targets}
    outers = {name: _Deck(pools[name], rng) for name in classes}
    places = _Deck(np.arange(len(LAYOUTS)), rng)
    rows = []
    for name in targets:
        for pair in _outer_classes(others[name], outer, per_class, rng):
            images = inner[name].deal([]), None
            images = [images[0], inner[name].deal(images[:1])]
            for other in pair:
                images.append(outers[other].deal(images))
            rows.append(_row(len(rows), name, pair, images, LAYOUTS[places.deal([])]))
    return pd.DataFrame(rows)


def layouts(table: pd.DataFrame) -> torch.Tensor:
    """Where the mosaics of a design show their target: bool tensor (N, 2, 2)."""
    return torch.from_numpy(table[TARGETS].to_numpy(dtype=bool).copy()).view(-1, 2, 2)


def batches(
    table: pd.DataFrame, images: torch.Tensor, shape: str = "native", batch_size: int = 32
) -> Iterator[torch.Tensor]:
    """Stream the mosaics of a design, in its order.

    Parameters
    ----------
    table : DataFrame
        From :func:`design`, or any rows of it.
    images : uint8 tensor (M, 3, H, W)
        The images that `table` counts.
    shape : {"native", "squeezed"}
        Tiles at their own size, as in the paper (224 pixels make mosaics of 448), or the mosaic
        in the size of one image; see :func:`helpers.data.mosaics.grid`.
    batch_size : int

    Yields
    ------
    uint8 tensor (B, 3, 2 H, 2 W) if native, (B, 3, H, W) if squeezed; B <= `batch_size`

    Raises
    ------
    ValueError
        For images that are not uint8 (M, 3, H, W), too few images, or an unknown `shape`.
    """
    wanted = torch.from_numpy(table[IMAGES].to_numpy(dtype=np.int64).copy())
    if int(wanted.max()) >= len(images):
        raise ValueError(
            f"The design asks for image {int(wanted.max())}, and there are {len(images)}: give the "
            "images it was made for."
        )
    used, place = wanted.unique(return_inverse=True)
    tiles = images.index_select(0, used)
    sized = _sized(tiles, shape)
    for at in place.split(batch_size):
        yield torch.cat(
            [
                torch.cat([sized[r, c].index_select(0, at[:, 2 * r + c]) for c in range(2)], -1)
                for r in range(2)
            ],
            -2,
        )


def _sized(tiles: torch.Tensor, shape: str) -> dict[tuple[int, int], torch.Tensor]:
    """The tiles at the size of each cell, resized once a size."""
    grid([tiles[:1]] * CELLS, 2, 2, shape)  # refuses what it does not take
    heights, widths = (cells(length, 2, shape) for length in tiles.shape[-2:])
    made = {size: resize(tiles, *size) for size in {(h, w) for h in heights for w in widths}}
    return {(r, c): made[heights[r], widths[c]] for r in range(2) for c in range(2)}


class _Deck:
    """Cards in random order, dealt one by one; reshuffled when all have been dealt."""

    def __init__(self, cards: np.ndarray, rng: np.random.Generator):
        self.cards, self.rng, self.left = cards, rng, []

    def deal(self, but: Sequence[int]) -> int:
        """The next card that is none of `but`; those passed over are dealt later."""
        if all(card in but for card in self.left):
            self.left += self.rng.permutation(self.cards).tolist()
        at = next(i for i, card in enumerate(self.left) if card not in but)
        return self.left.pop(at)


def _outer_classes(others, outer: str, count: int, rng) -> list[tuple[str, str]]:
    """Classes of the other two images of each mosaic, every class as often as another."""
    slots = 2 * count if outer == "random" else count
    names = list(rng.permutation(others))
    names = rng.permutation(np.resize(names, slots)).tolist()
    return (
        list(zip(names[::2], names[1::2], strict=True))
        if outer == "random"
        else [(name, name) for name in names]
    )


def _row(number: int, target: str, pair, images: list[int], cells: tuple[int, int]) -> dict:
    rest = [cell for cell in range(CELLS) if cell not in cells]
    at = dict(zip([*cells, *rest], images, strict=True))
    row = {"mosaic": number, "target": target, "outer": " + ".join(dict.fromkeys(sorted(pair)))}
    row |= {name: at[cell] for cell, name in enumerate(IMAGES)}
    return row | {name: cell in cells for cell, name in enumerate(TARGETS)}


def _classes(table, classes, target, outer) -> tuple[list[str], dict[str, list[str]]]:
    """The target classes, and the other classes of each."""
    _check_table(table, classes)
    named = [name for name in (target, outer) if name not in (None, "random", "one class")]
    for name in named:
        if name not in classes:
            raise ValueError(f"{name!r} is none of the classes {', '.join(classes)}.")
    if target is not None and outer == target:
        raise ValueError(f"outer={outer!r} is the target class itself; take another.")
    targets = [target] if target is not None else [name for name in classes if name != outer]
    free = outer in ("random", "one class")
    others = {name: [o for o in classes if o != name] if free else [outer] for name in targets}
    return targets, others


def _check_table(table: pd.DataFrame, classes: list[str]) -> None:
    if len(classes) < 2:
        raise ValueError(f"Mosaics need 2 classes or more, not {len(classes)}.")
    counts = table["class"].value_counts().reindex(classes, fill_value=0)
    if (counts < 2).any():
        raise ValueError(
            f"Class {counts.idxmin()!r} has {counts.min()} images; a mosaic shows two different "
            "ones: add images or leave the class out."
        )
    trained = int((table["split"] == "train").sum()) if "split" in table else 0
    if trained:
        raise ValueError(
            f"{trained} of the images are training images, and mosaics are of held-out ones: "
            "give the table of the test split, `images.split('test').table`."
        )
