"""Mosaics: images in a grid, squeezed and joined as in lesson 03 (`data.mosaic`)."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from helpers.data import mosaic

SHAPES = ("squeezed", "native")


def grid(
    tiles: torch.Tensor | Sequence[torch.Tensor],
    rows: int,
    cols: int,
    shape: str = "squeezed",
    *,
    squeeze: Callable = mosaic.squeeze,
    join: Callable = mosaic.join,
) -> torch.Tensor:
    """Arrange images in a mosaic, row by row.

    Parameters
    ----------
    tiles : torch.Tensor of uint8, shape (N, rows * cols, 3, H, W), or sequence
        A sequence holds one tensor (N, 3, H, W) per cell.
    rows, cols : int
    shape : {"squeezed", "native"}
        A native mosaic keeps the size of its tiles. A squeezed one has the size of one
        tile: every tile is resized *before* they are joined, so that no colour leaks
        across a seam. Cells differ by a pixel where they do not divide H or W.
    squeeze, join : callable
        As in :mod:`helpers.data.mosaic`.

    Returns
    -------
    torch.Tensor of uint8, shape (N, 3, H, W) or (N, 3, rows * H, cols * W)

    Raises
    ------
    ValueError
        If the number of tiles or the shape is wrong.

    References
    ----------
    *Assessing Biases through Visual Contexts*, section 2.2, Figure 4.
    """
    tiles = list(tiles.unbind(1)) if isinstance(tiles, torch.Tensor) else list(tiles)
    if len(tiles) != rows * cols or shape not in SHAPES:
        raise ValueError(
            f"A {rows} x {cols} mosaic has {len(tiles)} tiles and the shape {shape!r}. "
            f"It takes {rows * cols} tiles, and a shape of {', '.join(SHAPES)}."
        )
    height, width = tiles[0].shape[-2:]
    squeezed = []
    for number, tile in enumerate(tiles):
        cell_height = cells(height, rows, shape)[number // cols]
        cell_width = cells(width, cols, shape)[number % cols]
        squeezed.append(squeeze(tile, cell_height, cell_width))
    return join(squeezed, rows, cols)


def cells(length: int, parts: int, shape: str) -> list[int]:
    """Divide a side into cells, in pixels; they differ by one where they must."""
    if shape == "native":
        return [length] * parts
    return np.diff(np.arange(parts + 1) * length // parts).tolist()
