"""Pasting: objects cut out on white and put into other contexts.

*Assessing Biases through Visual Contexts*, "Results Checks": the second way to set the context and
leave the object. Objects come from WB, where the ground is white, so that how much of each pixel is
object can be solved for, and the white that mixed into its edges taken out again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch.nn.functional import avg_pool2d, interpolate, max_pool2d
from torchvision.transforms.v2.functional import gaussian_blur

from helpers import pairing

POSITIONS = ("own", "centre", "random")
MARGIN = 2  # pixels from the edge inwards that may be part object, part white
NEAR_WHITE = 40.0  # grey levels from white, root mean square, below which colour tells no coverage


@dataclass(frozen=True, eq=False)
class Cutouts:
    """Objects without their ground.

    Attributes
    ----------
    layers : float32 tensor (N, H, W, 4)
        Red, green and blue (0 to 255) times coverage, and coverage (0 to 1).
    """

    layers: torch.Tensor

    @property
    def coverage(self) -> torch.Tensor:
        """float32 tensor (N, H, W): the share of each pixel that is object."""
        return self.layers[..., 3]

    def __len__(self) -> int:
        return len(self.layers)


def cut(images: torch.Tensor, masks: torch.Tensor, softness: float = 0.5) -> Cutouts:
    """Cut objects from a white ground, with soft edges and no white in them.

    Where an edge pixel is part object and part white, the object's colour is taken from the nearest
    pixels well inside, and coverage is what then explains the pixel.

    Parameters
    ----------
    images : uint8 tensor (N, 3, H, W)
        Objects on white (the WB set).
    masks : bool tensor (N, H, W)
        True on the object.
    softness : float
        Standard deviation, in pixels, of a blur of the edges; 0 leaves them as they were.

    Returns
    -------
    Cutouts

    Raises
    ------
    ValueError
        For shapes or types that do not fit, masks without an object, or a negative softness.
    """
    _check_cut(images, masks, softness)
    pixels, on = images.float(), masks[:, None].float()
    depth = _depth(on)
    core = on * (depth == max_pool2d(depth, 2 * MARGIN + 1, 1, MARGIN))
    reach = math.ceil(3 * softness)
    colours = _spread(pixels, core, MARGIN + 1 + reach)
    edge = (depth <= MARGIN) & (max_pool2d(on, 3, 1, 1) > 0)
    coverage = torch.where(edge, _explained(pixels, colours), on)
    colours = torch.where(coverage == 1, pixels, colours)
    if softness:
        coverage = gaussian_blur(coverage, 2 * reach + 1, softness)
    layers = torch.cat([colours * coverage, coverage], 1)
    return Cutouts(layers.permute(0, 2, 3, 1).contiguous())


def _depth(on: torch.Tensor) -> torch.Tensor:
    """How many pixels inside the object, at most `MARGIN` + 1; 0 outside: (N, 1, H, W)."""
    depth, inside = on.clone(), on
    for _ in range(MARGIN):
        inside = -max_pool2d(-inside, 3, 1, 1)
        depth += inside
    return depth


def _spread(colours: torch.Tensor, known: torch.Tensor, steps: int) -> torch.Tensor:
    """Carry the colours of known pixels outwards, one pixel a step, by the mean of neighbours."""
    colours = colours * known
    for _ in range(steps):
        around = avg_pool2d(torch.cat([colours, known], 1), 3, 1, 1)
        reached = (around[:, 3:] > 0).float()
        mean = around[:, :3] / around[:, 3:].clamp(min=1e-6)
        colours = torch.where(known > 0, colours, mean * reached)
        known = torch.maximum(known, reached)
    return colours


def _explained(images: torch.Tensor, colours: torch.Tensor) -> torch.Tensor:
    """Coverage a that best explains pixel = a colour + (1 - a) white: (N, 1, H, W).

    Where the object itself is nearly white, white in a pixel is no evidence: coverage is 1.
    """
    away = 255 - colours
    square = (away * away).sum(1, keepdim=True)
    coverage = ((255 - images) * away).sum(1, keepdim=True) / square.clamp(min=1)
    return torch.where(square > 3 * NEAR_WHITE**2, coverage.clamp(0, 1), torch.ones(()))


def design(
    labels: torch.Tensor,
    contexts: Mapping[str, Sequence],
    classes: Sequence[str],
    *,
    controls: bool = True,
    seed: int = 0,
) -> pd.DataFrame:
    """Decide which object is pasted into which context image: once into each context.

    Parameters
    ----------
    labels, contexts, classes, controls, seed
        As in :func:`helpers.pairing.design`. In the paper 25 objects x 3 contexts x 4 classes =
        300 composites; the controls are the same objects in their own context and on a neutral
        ground.

    Returns
    -------
    DataFrame
        As from :func:`helpers.pairing.design`, so that :mod:`helpers.context` reads it (`side` is
        "left" throughout and means nothing), and down, across : float in [0, 1), the place of the
        object where it is random.
    """
    table = pairing.design(labels, contexts, classes, per_context=1, controls=controls, seed=seed)
    down, across = np.random.default_rng([seed, 1]).random((2, len(table)))
    return table.assign(down=down, across=across)


def batches(
    table: pd.DataFrame,
    cutouts: Cutouts,
    contexts: Mapping[str, torch.Tensor],
    neutral: torch.Tensor | None = None,
    *,
    scale: float = 1.0,
    position: str = "own",
    batch_size: int = 64,
) -> Iterator[torch.Tensor]:
    """Stream the composites of a design, in its order.

    Parameters
    ----------
    table : DataFrame
        From :func:`design`, or any rows of it.
    cutouts : Cutouts
        The objects that `table["object"]` counts.
    contexts : dict from class name to uint8 tensor (M, 3, H, W)
    neutral : uint8 tensor (1, 3, H, W), optional
        From :func:`helpers.mosaics.neutral`; needed where `table` has rows of that kind.
    scale : float in [0.1, 4]
        Of the object; 1 is its size in its own image.
    position : {"own", "centre", "random"}
        Of the object's bounding box: its centre where it was, in the middle of the frame, or
        anywhere inside the frame (where it is larger than the frame, in the middle).
    batch_size : int

    Yields
    ------
    uint8 tensor (B, 3, H, W), B <= `batch_size`

    Raises
    ------
    ValueError
        For an unknown position, a scale out of range, a context or neutral image that is missing
        or of another size than the objects.
    """
    _check_paste(position, scale)
    grounds, ground_of = _grounds(table, contexts, neutral, cutouts.layers.shape[1:3])
    layers = _scaled(cutouts.layers, scale)
    corners = _corners(table, cutouts.coverage, layers[..., 3], position)
    objects = torch.tensor(table["object"].to_numpy())
    moved = scale != 1 or position != "own"
    for at in torch.arange(len(table)).split(batch_size):
        pasted = layers.index_select(0, objects[at])
        if moved:
            pasted = _moved(pasted, corners[at], grounds.shape[1:3])
        ground = grounds.index_select(0, ground_of[at])
        mixed = torch.addcmul(pasted[..., :3], 1 - pasted[..., 3:], ground)
        yield mixed.round_().clamp_(0, 255).to(torch.uint8).permute(0, 3, 1, 2)


def build(table: pd.DataFrame, *args, **kwargs) -> torch.Tensor:
    """All composites of a design in one uint8 tensor: `batches` (same arguments), concatenated."""
    return torch.cat(list(batches(table, *args, **kwargs)))


def _scaled(layers: torch.Tensor, scale: float) -> torch.Tensor:
    """Resize the layers (N, H, W, 4), antialiased; colours are times coverage, so no fringe."""
    size = [max(1, round(side * scale)) for side in layers.shape[1:3]]
    if size == list(layers.shape[1:3]):
        return layers
    planes = layers.permute(0, 3, 1, 2)
    sized = interpolate(planes, size, mode="bilinear", antialias=True, align_corners=False)
    return sized.permute(0, 2, 3, 1).contiguous()


def _corners(table, before, after, position: str) -> torch.Tensor:
    """Where the upper left corner of each row's layer goes: int64 (rows, 2), y and x."""
    frame = torch.tensor(before.shape[1:])
    objects = torch.tensor(table["object"].to_numpy())
    first, size = (part[objects] for part in _boxes(after))
    if position == "random":
        share = torch.from_numpy(table[["down", "across"]].to_numpy())
        free = frame - size
        at = torch.where(free > 0, (share * (free + 1)).floor().long(), free // 2)
    elif position == "centre":
        at = (frame - size) // 2
    else:
        own_first, own_size = (part[objects] for part in _boxes(before))
        at = own_first + (own_size - size) // 2
    return at - first


def _boxes(coverage: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """First row and column, and height and width, of what is covered: int64 (N, 2) each."""
    first, size = [], []
    for axis in (2, 1):
        seen = coverage.amax(axis) > 0.05
        low, high = seen.int().argmax(1), seen.shape[1] - seen.flip(1).int().argmax(1)
        first.append(low)
        size.append(high - low)
    return torch.stack(first, 1), torch.stack(size, 1)


def _moved(layers: torch.Tensor, corners: torch.Tensor, frame) -> torch.Tensor:
    """Layers (B, h, w, 4) with their corners at (B, 2), in a frame (H, W); nothing elsewhere."""
    places, inside = [], []
    for axis, length in enumerate(frame):
        place = torch.arange(length) - corners[:, axis : axis + 1]
        inside.append((place >= 0) & (place < layers.shape[1 + axis]))
        places.append(place.clamp(0, layers.shape[1 + axis] - 1))
    rows = torch.arange(len(layers))[:, None, None]
    taken = layers[rows, places[0][:, :, None], places[1][:, None, :]]
    return taken * (inside[0][:, :, None] & inside[1][:, None, :])[..., None]


def _grounds(table, contexts, neutral, size) -> tuple[torch.Tensor, torch.Tensor]:
    """The grounds in use, float (M, H, W, 3), and each row's index among them."""
    place, images, start = np.empty(len(table), dtype=np.int64), [], 0
    is_neutral = table["kind"] == "neutral"
    for (plain, name), rows in table.groupby([is_neutral, "context_class"]).indices.items():
        bank = neutral if plain else contexts.get(name)
        what = "the neutral ground" if plain else f"contexts[{name!r}]"
        if bank is None or bank.shape[-2:] != size:
            found = "missing" if bank is None else f"{tuple(bank.shape[-2:])} pixels"
            raise ValueError(f"{what} is {found}; the objects have {tuple(size)} pixels")
        used, inverse = np.unique(table["context"].to_numpy()[rows], return_inverse=True)
        place[rows] = start + inverse
        images.append(bank.index_select(0, torch.from_numpy(used)))
        start += len(used)
    grounds = torch.cat(images).permute(0, 2, 3, 1).contiguous().float()
    return grounds, torch.from_numpy(place)


def _check_cut(images: torch.Tensor, masks: torch.Tensor, softness: float) -> None:
    if images.dtype != torch.uint8 or images.ndim != 4 or masks.dtype != torch.bool:
        raise ValueError(
            f"images must be uint8 (N, 3, H, W) and masks bool (N, H, W), not {images.dtype} "
            f"{tuple(images.shape)} and {masks.dtype} {tuple(masks.shape)}"
        )
    if masks.shape != (len(images), *images.shape[-2:]) or len(images) == 0:
        raise ValueError(f"{tuple(masks.shape)} masks do not fit {tuple(images.shape)} images")
    empty = (~masks.flatten(1).any(1)).nonzero().flatten().tolist()
    if empty:
        raise ValueError(f"no object in the masks of images {empty[:10]}: leave them out")
    if softness < 0:
        raise ValueError(f"softness={softness} must be 0 pixels or more")


def _check_paste(position: str, scale: float) -> None:
    if position not in POSITIONS:
        raise ValueError(f"position={position!r} is not known; use one of {POSITIONS}")
    if not 0.1 <= scale <= 4:
        raise ValueError(f"scale={scale} must lie between 0.1 and 4 (1: the object's own size)")
