"""Mosaics: grids of images, and the design that puts objects beside contexts.

*Assessing Biases through Visual Contexts*, section 2.2. A mosaic is J images in a grid (Figure
4); a contextualized mosaic is a 1 x 2 grid of an object image and a context of another class
(Figure 6). Which image goes beside which is decided by `design` (from `contexts.pairing`), the
pixels are made here, and what a model makes of them is `contexts.context`'s business.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torchvision.transforms.v2 import functional as transforms

from helpers.contexts.pairing import design

__all__ = ["batches", "build", "cells", "design", "grid", "neutral", "resize"]

SHAPES = ("squeezed", "native")
NEUTRALS = ("mean", "white", "shuffled")


def grid(
    tiles: torch.Tensor | Sequence[torch.Tensor],
    rows: int,
    cols: int,
    shape: str = "squeezed",
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
        every tile is resized (bilinear, antialiased) to its cell *before* the tiles are joined,
        so that no colour leaks across a seam. Cells differ by one pixel where rows or cols do not
        divide H or W.

    Returns
    -------
    uint8 tensor (N, 3, H, W) if squeezed, (N, 3, rows * H, cols * W) if native.

    Raises
    ------
    ValueError
        For another number of tiles than cells, tiles that differ in shape or are not uint8, an
        unknown `shape`, or more cells than pixels.
    """
    tiles = list(tiles.unbind(1)) if isinstance(tiles, torch.Tensor) else list(tiles)
    _check_tiles(tiles, rows, cols, shape)
    height, width = tiles[0].shape[-2:]
    heights, widths = cells(height, rows, shape), cells(width, cols, shape)
    lines = []
    for row, h in enumerate(heights):
        line = tiles[row * cols : (row + 1) * cols]
        lines.append(torch.cat([resize(t, h, w) for t, w in zip(line, widths, strict=True)], -1))
    return torch.cat(lines, -2)


def neutral(images: torch.Tensor, how: str = "mean", seed: int = 0) -> torch.Tensor:
    """Make the neutral partner: an image that speaks for no class more than for another.

    No image is neutral to every network, so there is more than one; a finding that depends on
    which is used is no finding.

    Parameters
    ----------
    images : uint8 tensor (N, 3, H, W)
        The object images, of all classes.
    how : {"mean", "white", "shuffled"}
        "mean": uniform, the images' mean colour (no structure, and on average no change of colour).
        "white": uniform white, the ground of the WB set. "shuffled": every pixel from a random
        place of a random image (the images' mixture of colours, no structure in it).
    seed : int
        Used by "shuffled" only.

    Returns
    -------
    uint8 tensor (1, 3, H, W)

    Raises
    ------
    ValueError
        For an unknown `how` or images that are not uint8 (N, 3, H, W) with N > 0.
    """
    _check_images(images, "images")
    _, channels, height, width = images.shape
    if how == "mean":
        colour = images.double().mean((0, 2, 3)).round().to(torch.uint8)
    elif how == "white":
        colour = torch.full((channels,), 255, dtype=torch.uint8)
    elif how == "shuffled":
        draw = torch.Generator().manual_seed(seed)
        pick = torch.randint(len(images) * height * width, (height * width,), generator=draw)
        pixels = images.movedim(1, -1).reshape(-1, channels)[pick]
        return pixels.T.reshape(1, channels, height, width).contiguous()
    else:
        raise ValueError(f"how={how!r} is not a neutral partner; use one of {NEUTRALS}")
    return colour[None, :, None, None].repeat(1, 1, height, width)


def batches(
    table: pd.DataFrame,
    objects: torch.Tensor,
    contexts: Mapping[str, torch.Tensor],
    neutral: torch.Tensor | None = None,
    *,
    shape: str = "squeezed",
    batch_size: int = 64,
) -> Iterator[torch.Tensor]:
    """Stream the mosaics of a design, in its order, equal to `grid` of the same pairs.

    Squeezing acts on a tile and not across the seam, so every tile in use is resized once, however
    many mosaics it is in; a batch is then two look-ups and one concatenation.

    Parameters
    ----------
    table : DataFrame
        From `design`, or any rows of it.
    objects : uint8 tensor (N, 3, H, W)
        The images that `table["object"]` counts.
    contexts : dict from class name to uint8 tensor (M, 3, H, W)
    neutral : uint8 tensor (1, 3, H, W), optional
        From `neutral`; needed where `table` has rows of that kind.
    shape : {"squeezed", "native"}
        See `grid`.
    batch_size : int

    Yields
    ------
    uint8 tensor (B, 3, H, W) if squeezed, (B, 3, H, 2 * W) if native; B <= `batch_size`

    Raises
    ------
    ValueError
        For images that are not uint8 or differ in size, a missing context or neutral image, or an
        unknown `shape`.
    """
    _check_shape(shape)
    partners, partner = _partners(table, objects, contexts, neutral)
    used, place = np.unique(table["object"], return_inverse=True)
    tiles, partner = (
        torch.cat([objects.index_select(0, torch.from_numpy(used)), partners]),
        partner + len(used),
    )
    widths = cells(tiles.shape[-1], 2, shape)
    resized = {width: resize(tiles, tiles.shape[-2], width) for width in set(widths)}
    is_left = (table["side"] == "left").to_numpy()
    left = torch.from_numpy(np.where(is_left, place, partner))
    right = torch.from_numpy(np.where(is_left, partner, place))
    for at in torch.arange(len(table)).split(batch_size):
        first = resized[widths[0]].index_select(0, left[at])  # seven times faster than [...]
        yield torch.cat([first, resized[widths[1]].index_select(0, right[at])], -1)


def build(table: pd.DataFrame, *args, **kwargs) -> torch.Tensor:
    """All mosaics of a design in one uint8 tensor: `batches` (same arguments), concatenated."""
    return torch.cat(list(batches(table, *args, **kwargs)))


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
    sized = [
        transforms.resize(part.float(), [height, width], antialias=True).round_().to(torch.uint8)
        for part in tiles.split(256)
    ]
    return torch.cat(sized)


def _partners(table, objects, contexts, neutral) -> tuple[torch.Tensor, np.ndarray]:
    """The partner images in use, each once, and each row's index among them."""
    _check_images(objects, "objects")
    place, images, start = np.empty(len(table), dtype=np.int64), [], 0
    is_neutral = table["kind"] == "neutral"
    for (plain, name), rows in table.groupby([is_neutral, "context_class"]).indices.items():
        bank = neutral if plain else contexts.get(name)
        what = "the neutral partner" if plain else f"contexts[{name!r}]"
        _check_partner(bank, what, objects)
        used, inverse = np.unique(table["context"].to_numpy()[rows], return_inverse=True)
        place[rows] = start + inverse
        images.append(bank.index_select(0, torch.from_numpy(used)))
        start += len(used)
    return torch.cat(images), place


def _check_images(images: torch.Tensor, what: str) -> None:
    if images.dtype != torch.uint8 or images.ndim != 4 or len(images) == 0:
        raise ValueError(
            f"{what} must be uint8 of shape (N, 3, H, W) with N > 0, "
            f"not {images.dtype} of shape {tuple(images.shape)}"
        )


def _check_partner(bank, what: str, objects: torch.Tensor) -> None:
    if bank is None:
        raise ValueError(f"the design asks for {what}, which was not given")
    _check_images(bank, what)
    if bank.shape[1:] != objects.shape[1:]:
        raise ValueError(
            f"{what} has images of shape {tuple(bank.shape[1:])}, the objects "
            f"{tuple(objects.shape[1:])}; resize one to the other"
        )


def _check_shape(shape: str) -> None:
    if shape not in SHAPES:
        raise ValueError(f"shape={shape!r} is not a mosaic shape; use one of {SHAPES}")


def _check_tiles(tiles, rows, cols, shape) -> None:
    _check_shape(shape)
    if rows < 1 or cols < 1 or len(tiles) != rows * cols:
        raise ValueError(f"a {rows} x {cols} mosaic needs {rows * cols} tiles, not {len(tiles)}")
    for number, tile in enumerate(tiles):
        _check_images(tile, f"tile {number}")
        if tile.shape != tiles[0].shape:
            raise ValueError(
                f"tile {number} has shape {tuple(tile.shape)}, tile 0 {tuple(tiles[0].shape)}; "
                "all tiles of a mosaic must have one shape"
            )
    if tiles[0].shape[-2] < rows or tiles[0].shape[-1] < cols:
        raise ValueError(f"{rows} x {cols} cells do not fit {tuple(tiles[0].shape[-2:])} pixels")
