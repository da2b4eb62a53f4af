"""Mosaics: images joined in a grid. `contexts.mosaics` and `focus.mosaics` say which images."""

from collections.abc import Sequence

import numpy as np
import torch
from torchvision.transforms.v2 import functional as transforms

SHAPES = ("squeezed", "native")


def grid(
    tiles: torch.Tensor | Sequence[torch.Tensor], rows: int, cols: int, shape: str = "squeezed"
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
    heights, widths = cells(height, rows, shape), cells(width, cols, shape)
    lines = []
    for row, h in enumerate(heights):
        line = tiles[row * cols : (row + 1) * cols]
        lines.append(torch.cat([resize(t, h, w) for t, w in zip(line, widths, strict=True)], -1))
    return torch.cat(lines, -2)


def cells(length: int, parts: int, shape: str) -> list[int]:
    """Lengths in pixels of the `parts` cells along a side, which differ by one where they must."""
    if shape == "native":
        return [length] * parts
    return np.diff(np.arange(parts + 1) * length // parts).tolist()


def resize(tiles: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """Tiles, uint8 (N, 3, H, W), at another size, bilinear and antialiased.

    In float32: torch's uint8 kernel differs between processors and fails at one pixel.
    """
    if tiles.shape[-2:] == (height, width):
        return tiles
    sized = (transforms.resize(part.float(), [height, width]) for part in tiles.split(256))
    return torch.cat([part.round_().to(torch.uint8) for part in sized])
