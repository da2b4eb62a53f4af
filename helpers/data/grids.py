"""Arrange images in a grid, squeezed and joined as in lesson 03 (`data.mosaic`)."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import torch

from helpers.data import mosaic


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
        tile. Every tile is resized *before* they are joined, so that no colour leaks
        across a seam. Cells differ by a pixel where they do not divide H or W.
    squeeze, join : callable
        As in :mod:`helpers.data.mosaic`.

    Returns
    -------
    torch.Tensor of uint8, shape (N, 3, H, W) or (N, 3, rows * H, cols * W)

    References
    ----------
    *Assessing Biases through Visual Contexts*, section 2.2, Figure 4.
    """
    if isinstance(tiles, torch.Tensor):
        tiles = tiles.unbind(1)
    height, width = tiles[0].shape[-2:]
    sizes = product(cells(height, rows, shape), cells(width, cols, shape))
    squeezed = [squeeze(tile, *size) for tile, size in zip(tiles, sizes, strict=True)]
    return join(squeezed, rows, cols)


def cells(length: int, parts: int, shape: str) -> list[int]:
    """Divide a side into cells, in pixels; they differ by one where they must."""
    if shape == "native":
        return [length] * parts
    return np.diff(np.arange(parts + 1) * length // parts).tolist()
