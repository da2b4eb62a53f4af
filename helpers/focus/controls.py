"""Controls: maps, networks and mosaics whose Focus is known beforehand.

A map that ignores the class that is asked for has Focus 1/2 on average over a mosaic and its twin,
in which the other class is asked for: what lies on one's targets lies on the other's others. A
network of disconnected heads, whose target logit sees the target cells only, has Focus 1.
"""

from __future__ import annotations

import copy
import zlib

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.nn.functional import conv2d, interpolate, pad

from helpers.focus.design import CELLS, IMAGES, LAYOUTS, TARGETS

LAYOUT_NAMES = ("top", "left", "falling", "rising", "right", "bottom")  # in the order of LAYOUTS


def random_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """A map of random blobs, another for every image: noise of 6 x 6 places, made smooth.

    Parameters
    ----------
    model, targets
        Not used: this is what an explanation is compared with.
    images : float tensor (B, 3, H, W)
        Their bytes decide the noise.

    Returns
    -------
    float tensor (B, H, W), in [0, 1]
    """
    found = []
    for image in images.cpu():
        draw = torch.Generator().manual_seed(zlib.crc32(image.contiguous().numpy().tobytes()))
        found.append(torch.rand(1, 6, 6, generator=draw))
    size = images.shape[-2:]
    return interpolate(torch.stack(found), size, mode="bilinear", align_corners=False)[:, 0]


def uniform_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """A map of ones, (B, H, W)."""
    return torch.ones(len(images), *images.shape[-2:])


def edge_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Sobel's edges of the grey image: float tensor (B, H, W), not negative.

    Busy images have more of them, so a class may have; over mosaics and their twins it is 1/2.
    """
    grey = pad(images.float().mean(1, keepdim=True), (1, 1, 1, 1), mode="replicate").cpu()
    across = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    filters = torch.stack([across, across.T])[:, None]
    return conv2d(grey, filters).square().sum(1).sqrt()


MAPS = {"random map": random_map, "uniform map": uniform_map, "edge map": edge_map}


def twins(table: pd.DataFrame) -> pd.DataFrame:
    """Each mosaic of two classes twice: as it is, and asked for its other class.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.focus.design` with ``outer="one class"`` or a class.

    Raises
    ------
    ValueError
        For mosaics of more than two classes: their others are no target.
    """
    if table["outer"].str.contains(" + ", regex=False).any():
        raise ValueError('Twins need mosaics of two classes: design them with outer="one class".')
    other = table.assign(target=table["outer"], outer=table["target"])
    other[TARGETS] = ~table[TARGETS]
    return pd.concat([table, other], ignore_index=True).assign(mosaic=range(2 * len(table)))


def six_layouts(table: pd.DataFrame) -> pd.DataFrame:
    """Each mosaic's four images in all six layouts.

    Returns
    -------
    DataFrame
        As a design, six rows a mosaic, with the columns group (the mosaic they come from) and
        layout ("top": the targets are in the upper cells; "left", "falling", "rising", "right",
        "bottom").
    """
    rows = []
    for group, row in enumerate(table.to_dict("records")):
        images = [row[name] for name in IMAGES]
        inner = [i for i, name in zip(images, TARGETS, strict=True) if row[name]]
        others = [i for i in images if i not in inner]
        for name, cells in zip(LAYOUT_NAMES, LAYOUTS, strict=True):
            order = [c for c in range(CELLS) if c not in cells]
            at = dict(zip([*cells, *order], inner + others, strict=True))
            made = {"mosaic": len(rows), "target": row["target"], "outer": row["outer"]}
            made |= {column: at[cell] for cell, column in enumerate(IMAGES)}
            made |= {column: cell in cells for cell, column in enumerate(TARGETS)}
            rows.append(made | {"group": group, "layout": name})
    return pd.DataFrame(rows)


def randomized(model: nn.Module, seed: int = 0) -> nn.Module:
    """A copy with weights drawn anew, layer by layer as its layers draw them: it knows nothing."""
    model = copy.deepcopy(model)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        for module in model.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
    return model.eval()


class DisconnectedHeads(nn.Module):
    """Four heads that each see one cell; the target's logit adds the heads of the target cells.

    Filters of 4 x 4 pixels do not cross cells whose sides are multiples of 4, and features at the
    rim of a cell are zero, so that a map of features stays inside its cell when it is enlarged.

    Parameters
    ----------
    layout : bool tensor (2, 2)
        The target cells. The other cells' heads add up to the logit of the other class.
    own_channels : bool
        Each cell has channels of its own. If not, cells share channels as those of a convolutional
        network do, and what a method reads off a whole channel mixes cells.
    channels : int
        Of each head.
    seed : int
    """

    def __init__(
        self, layout: torch.Tensor, *, own_channels: bool = True, channels: int = 8, seed: int = 0
    ):
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        copies = CELLS if own_channels else 1
        conv = nn.Conv2d(3, channels, 4, stride=4)
        with torch.no_grad():
            conv.weight.copy_(torch.randn(conv.weight.shape, generator=draw) / 7)
            conv.bias.zero_()
        wide = nn.Conv2d(3, copies * channels, 4, stride=4, bias=False)
        wide.weight = nn.Parameter(conv.weight.detach().repeat(copies, 1, 1, 1))
        self.features = nn.Sequential(wide, nn.ReLU(), _Inside(copies))
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.classifier = nn.Linear(copies * channels * CELLS, 2, bias=False)
        head = torch.rand(channels, generator=draw) + 0.5
        weight = torch.zeros(2, copies, channels, CELLS)
        for cell, is_target in enumerate(layout.flatten().tolist()):
            weight[0 if is_target else 1, cell if own_channels else 0, :, cell] = head
        self.classifier.weight = nn.Parameter(weight.flatten(1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits (B, 2) of mosaics (B, 3, H, W): the target class, and the other."""
        images = images.float() / 255 if images.dtype == torch.uint8 else images
        return self.classifier(self.pool(self.features(images)).flatten(1))


class _Inside(nn.Module):
    """Zero at the rims of the four cells, and in each block of channels but one cell's."""

    def __init__(self, copies: int):
        super().__init__()
        self.copies = copies

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        height, width = maps.shape[-2:]
        inside = maps.new_zeros(CELLS, height, width)
        for cell in range(CELLS):
            top, left = (cell // 2) * height // 2, (cell % 2) * width // 2
            bottom, right = (cell // 2 + 1) * height // 2, (cell % 2 + 1) * width // 2
            inside[cell, top + 1 : bottom - 1, left + 1 : right - 1] = 1
        inside = inside if self.copies == CELLS else inside.sum(0, keepdim=True)
        return maps * inside.repeat_interleave(maps.shape[1] // self.copies, 0)


def disconnected(
    images: torch.Tensor, table: pd.DataFrame, method: str, *, own_channels: bool = True, **settings
) -> np.ndarray:
    """Focus of a method in disconnected heads, each mosaic explained by its layout's network.

    Parameters
    ----------
    images, table
        As for :func:`helpers.focus.rate`, tiles of a multiple of 4 pixels.
    method, settings
        As for :func:`helpers.explain.explain`.
    own_channels : bool
        As for :class:`DisconnectedHeads`.

    Returns
    -------
    float64 array (N,)
        1 for a method that is right; NaN where a map has no positive relevance.
    """
    from helpers.focus.rating import rate

    found = np.full(len(table), np.nan)
    for cells in LAYOUTS:
        layout = torch.tensor([cell in cells for cell in range(CELLS)])
        mine = (table[TARGETS].to_numpy(dtype=bool) == layout.numpy()).all(1)
        if mine.any():
            part = table[mine].assign(target="target")
            model = DisconnectedHeads(layout, own_channels=own_channels).eval()
            rated = rate(model, images, part, method, classes=("target", "other"), **settings)
            found[mine] = rated["focus"]
    return found
