"""Mosaics: images joined in a grid, squeezed and joined as in notebook 03 (`data.mosaic`)."""

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

    `tiles` are uint8 (N, J, 3, H, W), or J tensors (N, 3, H, W). A "native" mosaic keeps their
    size: (N, 3, rows * H, cols * W). A "squeezed" one is (N, 3, H, W): every tile is resized to its
    cell *before* they are joined, so that no colour leaks across a seam. Cells differ by a pixel
    where rows or cols do not divide H or W. A ValueError tells of tiles that do not fit."""
    tiles = list(tiles.unbind(1)) if isinstance(tiles, torch.Tensor) else list(tiles)
    first = tiles[0] if tiles else torch.empty(0, 3, 0, 0)
    alike = first.ndim == 4 and all(
        t.shape == first.shape and t.dtype == torch.uint8 for t in tiles
    )
    fits = (
        alike
        and 0 < rows <= first.shape[2]
        and 0 < cols <= first.shape[3]
        and len(first) > 0
    )
    if not fits or len(tiles) != rows * cols or shape not in SHAPES:
        raise ValueError(
            f"A {rows} x {cols} mosaic takes {rows * cols} uint8 tiles of one shape (N, 3, H, W), "
            f"H >= {rows} and W >= {cols}; these are {len(tiles)}, the first {first.dtype} of "
            f"{tuple(first.shape)}. `shape` is one of {', '.join(SHAPES)}; this is {shape!r}."
        )
    height, width = first.shape[-2:]
    sizes = [
        (h, w) for h in cells(height, rows, shape) for w in cells(width, cols, shape)
    ]
    return join(
        [squeeze(tile, *size) for tile, size in zip(tiles, sizes, strict=True)],
        rows,
        cols,
    )


def cells(length: int, parts: int, shape: str) -> list[int]:
    """Lengths in pixels of the `parts` cells along a side, which differ by one where they must."""
    if shape == "native":
        return [length] * parts
    return np.diff(np.arange(parts + 1) * length // parts).tolist()
