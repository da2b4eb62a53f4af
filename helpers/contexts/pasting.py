"""Pasting: objects cut out on white and put into other contexts, and what these are taken for.

*Assessing Biases through Visual Contexts*, "Results Checks" and Figures 11 to 14: the second way to
set the context and leave the object. Objects come from WB, where the ground is white, so that how
much of each pixel is object can be solved for, and the white that mixed into its edges taken out
again.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy import ndimage
from torch.nn.functional import interpolate, max_pool2d

from helpers import models, stats
from helpers.contexts import effects, mosaics, paper
from helpers.data import Collection, ImageSet

NOTHING = "nothing"
NO_MASKS = (
    "Pasting needs to know where the objects are, and nothing tells it here: there is no set WB "
    "(the same images with a white background). What remains is to show the contexts alone."
)
SOFTNESS = 0.5  # pixels, standard deviation of the blur of an edge
MARGIN = 2  # pixels from the edge inwards that may be part object, part white
NEAR_WHITE = 40.0  # grey levels from white, root mean square, below which colour tells no coverage


class Cutouts(NamedTuple):
    """Objects without their ground, each cropped to its box.

    A layer is float32 (h, w, 4): red, green and blue times coverage, the share of the pixel that is
    object, and coverage.
    """

    layers: list[np.ndarray]
    corners: np.ndarray  # (N, 2): row and column of the layer's upper left pixel in its image
    frame: tuple[int, int]  # height and width of the images


def cut(images: torch.Tensor, masks: torch.Tensor, softness: float = SOFTNESS) -> Cutouts:
    """Cut objects from a white ground, with soft edges and no white in them.

    Where an edge pixel is part object and part white, the object's colour is taken from the nearest
    pixel well inside, and coverage is what then explains the pixel. `softness` is the standard
    deviation, in pixels, of a blur of the edges; 0 leaves them as they were.
    """
    empty = (~masks.flatten(1).any(1)).nonzero().flatten().tolist()
    if empty:
        raise ValueError(f"no object in the masks of images {empty[:10]}: leave them out")
    layers, corners, frame = [], [], tuple(images.shape[-2:])
    pad = 1 + math.ceil(3 * softness)
    parts = zip(images.permute(0, 2, 3, 1).numpy(), masks.numpy(), *_parts(masks), strict=True)
    for image, *where in parts:
        box = _box(where[0], pad)
        layers.append(_layer(image[box].astype(np.float32), *(w[box] for w in where), softness))
        corners.append([part.start for part in box])
    return Cutouts(layers, np.array(corners), frame)


def _box(mask: np.ndarray, pad: int) -> tuple[slice, slice]:
    """Rows and columns of the object, and `pad` more where the frame has them."""
    [box] = ndimage.find_objects(mask.astype(np.uint8))
    return tuple(
        slice(max(side.start - pad, 0), min(side.stop + pad, length))
        for side, length in zip(box, mask.shape, strict=True)
    )


def _layer(
    pixels: np.ndarray, mask: np.ndarray, is_core: np.ndarray, is_edge: np.ndarray, softness: float
) -> np.ndarray:
    """One object's colours times coverage, and coverage."""
    down, across = ndimage.distance_transform_edt(
        ~is_core, return_distances=False, return_indices=True
    )
    nearest = down * mask.shape[1] + across  # core pixel: its colour is the object's at the edge
    colours = pixels.reshape(-1, 3).take(nearest, axis=0)
    coverage = mask.astype(np.float32)
    explained = _explained(pixels[is_edge], colours[is_edge])
    coverage[is_edge] = np.where(np.isnan(explained), coverage[is_edge], explained)
    np.copyto(colours, pixels, where=(coverage == 1)[..., None])
    if softness:
        coverage = ndimage.gaussian_filter(coverage, softness, mode="nearest", truncate=3)
    layer = np.empty((*mask.shape, 4), np.float32)
    layer[..., 3] = coverage
    np.multiply(colours, coverage[..., None], out=layer[..., :3])
    return layer


def _parts(masks: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Pixels well inside, or in the middle of a part too thin for that; and pixels of the edge.

    An object cut off by the frame has no edge there.
    """
    seen = masks.numpy()
    inside = [~_grown(~seen, steps) for steps in range(MARGIN + 1)]  # 1, 2, ... from the edge
    is_core = inside[-1].copy()
    for here, deeper in pairwise(inside):
        is_core |= here & ~_grown(deeper, MARGIN)
    return is_core, ~inside[-1] & _grown(seen, 1)


def _grown(masks: np.ndarray, steps: int) -> np.ndarray:
    """Masks (N, H, W) and all pixels at most `steps` away, across corners too."""
    return max_pool2d(torch.from_numpy(masks).float(), 2 * steps + 1, 1, steps).bool().numpy()


def _explained(pixels: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """Coverage a that best explains pixel = a colour + (1 - a) white.

    Where the object itself is nearly white, white in a pixel is no evidence: NaN.
    """
    away = 255 - colours
    square = np.einsum("...c,...c", away, away)
    coverage = np.einsum("...c,...c", 255 - pixels, away) / np.maximum(square, 1)
    return np.where(square > 3 * NEAR_WHITE**2, coverage.clip(0, 1), np.nan)


def batches(
    table: pd.DataFrame,
    cutouts: Cutouts,
    contexts: Mapping[str, torch.Tensor],
    neutral: torch.Tensor | None = None,
    *,
    scale: float = 1.0,
    batch_size: int = 64,
) -> Iterator[torch.Tensor]:
    """Stream the composites of a design, in its order: uint8 tensors (B, 3, H, W).

    `table` is from `mosaics.design`, or any rows of it, and its objects are counted in `cutouts`;
    `contexts` and `neutral` are as for :func:`helpers.contexts.mosaics.batches`. `scale` is the
    object's, 1 its size in its own image; its centre stays where it was.
    """
    grounds, ground_of = mosaics.partners(table, contexts, neutral, cutouts.frame)
    grounds = grounds.permute(0, 2, 3, 1).contiguous().numpy()
    layers = [_scaled(layer, scale) for layer in cutouts.layers]
    # what each layer adds to an image (0.5: to uint8, rounded), and how much it leaves of it
    mixed = [(x[..., :3] + 0.5, np.repeat(1 - x[..., 3:], 3, -1)) for x in layers]
    objects = table["object"].to_numpy()
    before, sizes = (
        np.array([layer.shape[:2] for layer in several]) for several in (cutouts.layers, layers)
    )
    places = (cutouts.corners + (before - sizes) // 2)[objects]
    for start in range(0, len(table), batch_size):
        rows = slice(start, start + batch_size)
        canvas = grounds[ground_of[rows]]
        for image, number, place in zip(canvas, objects[rows], places[rows], strict=True):
            _lay(image, *mixed[number], place)
        yield torch.from_numpy(canvas).permute(0, 3, 1, 2)


def objects(collection: Collection) -> ImageSet | None:
    """The test images to cut objects from: WB's, with their masks; None where there are none.

    Images in which no object was found are left out.
    """
    found = collection.sets.get("WB")
    if found is None or found.masks is None:
        return None
    test = found.split("test")
    return test.where(test.masks.flatten(1).any(1).numpy())


def design(collection: Collection, seed: int) -> pd.DataFrame:
    """Which object is pasted into which context image: each once into each context.

    In the paper 25 objects x 3 contexts x 4 classes = 300 composites. The table is that of
    `contexts.mosaics.design`, controls included; `side` means nothing here.
    """
    given = objects(collection).labels, collection.contexts, collection.classes
    return mosaics.design(*given, per_context=1, seed=seed)


def composites(
    table: pd.DataFrame,
    collection: Collection,
    *,
    seed: int,
    neutral: str = "mean",
    scale: float = 1.0,
) -> Iterator[torch.Tensor]:
    """Stream the composites of any rows of a :func:`design`, as :func:`ask` scores them.

    `neutral` and `seed` are those of :func:`helpers.contexts.mosaics.neutral`, `scale` is that of
    :func:`batches`.
    """
    found = objects(collection)
    ground = mosaics.neutral(collection.sets["C"].split("test").images, neutral, seed)
    cutouts = cut(found.images, found.masks)
    return batches(table, cutouts, collection.contexts, ground, scale=scale)


def ask(networks: Sequence, collection: Collection, *, seed: int, **how) -> pd.DataFrame | None:
    """Effects on composites ("Results Checks"), by `effects.per_image`; None without masks.

    `networks` are trainings, numbered from 0; `how` are `neutral` and `scale` of
    :func:`composites`.
    """
    found = objects(collection)
    if found is None:
        return None
    table = design(collection, seed)
    stream = composites(table, collection, seed=seed, **how)
    logits = models.logits(networks, found.images), models.logits(networks, stream)
    return effects.per_image(effects.points(*logits, table, found.classes))


def alone(logits: Mapping[str, torch.Tensor], classes: Sequence[str]) -> dict[str, np.ndarray]:
    """Which images of a context without any object each training takes for the context's class.

    By class of the context, from logits (T, M, K) to floats (T, M), 0 or 1.
    """
    return {
        name: (said.argmax(2) == list(classes).index(name)).numpy().astype(float)
        for name, said in logits.items()
    }


def counts(alone: Mapping[str, np.ndarray], images: pd.DataFrame | None = None) -> pd.DataFrame:
    """The bars of Figures 11 to 14: share of the images taken for the context's class.

    `images` is from :func:`helpers.contexts.effects.per_image`; without it there are only the
    contexts of :func:`alone`. A row a bar: context_class, pasted ("nothing" or an object class),
    predicted (as the context's class, mean over trainings), images, share, low, high.
    """
    bars = {(context, NOTHING): said for context, said in alone.items()}
    if images is not None:
        bars |= effects.grids(images, "taken_share", effects.PAIR)
    order = list(alone)
    rows = [
        (*bar, taken.sum() / len(taken), taken.shape[1], *stats.share(taken))
        for bar, taken in sorted(bars.items(), key=lambda bar: order.index(bar[0][0]))
    ]
    columns = ["context_class", "pasted", "predicted", "images", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def both_counts(
    flipped: pd.DataFrame, pasted: pd.DataFrame, collection: Collection
) -> pd.DataFrame:
    """What the paper counts by either method: mosaics flipped, composites taken for the context.

    `flipped` (mosaics) and `pasted` are from :func:`helpers.contexts.effects.per_image`. A row a
    pair: context_class, object_class, mosaic_share and paste_share (means over trainings and
    images), and the paper's mosaic_share_paper and paste_share_paper (NaN where it prints none).
    """
    pairs = pasted.groupby(effects.PAIR, sort=False)["taken_share"].mean().to_frame("paste_share")
    pairs["mosaic_share"] = flipped.groupby(effects.PAIR)["flip_share"].mean()
    printed = paper.pairs() if collection.has_the_papers_classes() else paper.pairs().iloc[:0]
    printed = printed.set_index(effects.PAIR).add_suffix("_paper")
    return pairs.join(printed).reset_index()


def _lay(image: np.ndarray, adds: np.ndarray, leaves: np.ndarray, place: np.ndarray) -> None:
    """Lay a layer over an image (H, W, 3) in place; what is beyond the frame is cut off."""
    first = np.maximum(place, 0)
    last = np.minimum(place + adds.shape[:2], image.shape[:2])
    (top, left), (bottom, right) = first.tolist(), last.tolist()
    up, back = (first - place).tolist()
    part = slice(up, up + max(bottom - top, 0)), slice(back, back + max(right - left, 0))
    under = image[top:bottom, left:right]
    np.add(leaves[part] * under, adds[part], out=under, casting="unsafe")


def _scaled(layer: np.ndarray, scale: float) -> np.ndarray:
    """Resize a layer (h, w, 4), antialiased; colours are times coverage, so there is no fringe."""
    size = [max(1, round(side * scale)) for side in layer.shape[:2]]
    if size == list(layer.shape[:2]):
        return layer
    planes = torch.from_numpy(layer).permute(2, 0, 1)[None]
    sized = interpolate(planes, size, mode="bilinear", antialias=True, align_corners=False)
    return np.ascontiguousarray(sized[0].permute(1, 2, 0).numpy())
