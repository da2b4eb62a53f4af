"""Mosaics: images joined in a grid. `contexts.mosaics` and `focus.mosaics` say which images.

How tiles are squeezed and joined is written in notebook 03, which makes `data.mosaic`.
"""

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
    """Arrange J = rows * cols images in a mosaic (section 2.2, Figure 4), row by row.

    Parameters
    ----------
    tiles : uint8 tensor (N, J, 3, H, W), or J uint8 tensors (N, 3, H, W)
        The j-th image of every mosaic; the first fills the upper left cell.
    rows, cols : int
        Cells down and across, at least 1.
    shape : {"squeezed", "native"}
        "native" keeps every tile at its size. "squeezed" fits the mosaic into one image's frame:
        every tile is resized to its cell *before* they are joined, so that no colour leaks across a
        seam. Cells differ by one pixel where rows or cols do not divide H or W.

    Returns
    -------
    uint8 tensor (N, 3, H, W) if squeezed, (N, 3, rows * H, cols * W) if native. A ValueError tells
    of tiles that are not uint8, not of one shape or not as many as cells, and of too many cells.
    """
    tiles = list(tiles.unbind(1)) if isinstance(tiles, torch.Tensor) else list(tiles)
    if shape not in SHAPES:
        raise ValueError(f"shape={shape!r} is not a mosaic shape; use one of {SHAPES}")
    if rows < 1 or cols < 1 or len(tiles) != rows * cols:
        raise ValueError(f"a {rows} x {cols} mosaic needs {rows * cols} tiles, not {len(tiles)}")
    for number, tile in enumerate(tiles):
        if tile.dtype != torch.uint8 or tile.ndim != 4 or len(tile) == 0:
            raise ValueError(
                f"tile {number} must be uint8 of shape (N, 3, H, W) with N > 0, "
                f"not {tile.dtype} of shape {tuple(tile.shape)}"
            )
        if tile.shape != tiles[0].shape:
            raise ValueError(
                f"tile {number} has shape {tuple(tile.shape)}, tile 0 {tuple(tiles[0].shape)}; "
                "all tiles of a mosaic must have one shape"
            )
    height, width = tiles[0].shape[-2:]
    if height < rows or width < cols:
        raise ValueError(f"{rows} x {cols} cells do not fit {height} x {width} pixels")
    sizes = [(h, w) for h in cells(height, rows, shape) for w in cells(width, cols, shape)]
    return join([squeeze(tile, *size) for tile, size in zip(tiles, sizes, strict=True)], rows, cols)


def cells(length: int, parts: int, shape: str) -> list[int]:
    """Lengths in pixels of the `parts` cells along a side, which differ by one where they must."""
    if shape == "native":
        return [length] * parts
    return np.diff(np.arange(parts + 1) * length // parts).tolist()
