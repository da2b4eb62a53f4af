"""The Focus score (Equation 1): the share of positive relevance that lies on the target's cells."""

from itertools import pairwise

import numpy as np
import torch

CHUNK = 8  # maps whose positive part stays in the processor's cache


def score(maps: torch.Tensor, layouts: torch.Tensor) -> torch.Tensor:
    """Focus of relevance maps: positive relevance on target cells over all positive relevance.

    Parameters
    ----------
    maps : float tensor (N, H, W)
        Relevance toward the target class, in any unit; what is negative does not count.
    layouts : bool tensor (N, rows, columns)
        True where a cell of the mosaic shows the target class. Cells that do not divide the map
        evenly have the edges of :func:`helpers.data.mosaics.grid`.

    Returns
    -------
    float64 tensor (N,)
        Between 0 and 1; NaN where a map has no positive relevance, or NaN or infinite relevance:
        Focus is undefined there, and that is to be counted, not dropped.

    Raises
    ------
    TypeError, ValueError
        For other types, shapes that do not fit, or a layout with no or only target cells.
    """
    _check(maps, layouts)
    sums = _cell_sums(maps, layouts.shape[1:])
    total = sums.sum((1, 2))
    found = (sums * layouts.to(sums.device)).sum((1, 2)) / total
    return torch.where((total > 0) & total.isfinite(), found, torch.nan).cpu()


def _cell_sums(maps: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    """Positive relevance in each cell, float64 (N, rows, columns)."""
    tops, lefts = (
        np.arange(parts + 1) * length // parts
        for parts, length in zip(shape, maps.shape[1:], strict=True)
    )
    room = torch.empty((min(CHUNK, len(maps)), *maps.shape[1:]), dtype=maps.dtype).to(maps.device)
    found = []
    for chunk in maps.detach().split(CHUNK):
        positive = torch.clamp(chunk, min=0, out=room[: len(chunk)])
        lines = torch.stack([positive[:, a:b].sum(1) for a, b in pairwise(tops)], 1).double()
        found.append(torch.stack([lines[..., a:b].sum(-1) for a, b in pairwise(lefts)], -1))
    return torch.cat(found)


def _check(maps: torch.Tensor, layouts: torch.Tensor) -> None:
    if not maps.is_floating_point() or layouts.dtype != torch.bool:
        raise TypeError(f"Maps must be float and layouts bool, not {maps.dtype}, {layouts.dtype}.")
    if maps.ndim != 3 or layouts.ndim != 3 or len(maps) != len(layouts) or len(maps) == 0:
        raise ValueError(
            f"Maps must be (N, H, W) and layouts (N, rows, columns), N > 0; these are "
            f"{tuple(maps.shape)} and {tuple(layouts.shape)}."
        )
    rows, cols = layouts.shape[1:]
    if maps.shape[1] < rows or maps.shape[2] < cols:
        raise ValueError(f"{rows} x {cols} cells do not fit {tuple(maps.shape[1:])} pixels.")
    targets = layouts.flatten(1).sum(1)
    if not ((targets > 0) & (targets < rows * cols)).all():
        raise ValueError(
            "A layout has no target cells, or only target cells, so that every map would have the "
            "same Focus: give mosaics of targets and others."
        )
