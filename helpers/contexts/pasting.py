"""Pasting: objects cut out on white and put into other contexts, and what these are taken for.

*Assessing Biases through Visual Contexts*, "Results Checks" and Figures 11 to 14. Objects come from
WB, where the ground is white: how much of each pixel is object can be solved for."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
import torch
from scipy import ndimage
from torchvision.transforms.v2 import functional as transforms

from helpers import models, stats
from helpers.contexts import effects, mosaics
from helpers.data import Collection, ImageSet

NOTHING = "nothing"
NO_MASKS = (
    "Pasting needs to know where the objects are, and nothing tells it here: there is no set WB "
    "(the same images with a white background). What remains is to show the contexts alone."
)
SOFTNESS = 0.5  # pixels, standard deviation of the blur of an edge
MARGIN = 2  # pixels from the edge inwards that may be part object, part white
NEAR_WHITE = 40.0  # grey levels from white, root mean square, below which colour tells no coverage


def cut(images: torch.Tensor, masks: torch.Tensor, softness: float = SOFTNESS) -> np.ndarray:
    """Cut objects, uint8 (N, 3, H, W), from a white ground, with soft edges and no white in them:
    float32 (N, 4, H, W), colours times coverage, and coverage, the share that is object."""
    pad = 1 + math.ceil(3 * softness)
    layers = np.zeros((len(masks), 4, *masks.shape[1:]), np.float32)
    parts = zip(images.permute(0, 2, 3, 1).numpy(), masks.numpy(), *_parts(masks), strict=True)
    for layer, (image, *where) in zip(layers, parts, strict=True):
        [box] = ndimage.find_objects(np.uint8(where[0]))
        box = tuple(slice(max(side.start - pad, 0), side.stop + pad) for side in box)
        pixels, (mask, core, edge) = image[box].astype(np.float32), (part[box] for part in where)
        nearest = ndimage.distance_transform_edt(~core, return_distances=False, return_indices=True)
        colours = pixels[tuple(nearest)]  # the object's at its edge: that of the nearest core pixel
        coverage = mask.astype(np.float32)
        coverage[edge] = _explained(pixels[edge], colours[edge], coverage[edge])
        np.copyto(colours, pixels, where=(coverage == 1)[..., None])
        coverage = ndimage.gaussian_filter(coverage, softness, mode="nearest", truncate=3)
        layer[:, *box] = [*(colours.transpose(2, 0, 1) * coverage), coverage]
    return layers


def _parts(masks: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Pixels well inside, or amid a part too thin for that; and those of edges inside the frame."""
    seen = masks.numpy()
    inside = [~_grown(~seen, steps) for steps in range(MARGIN + 1)]  # 1, 2, ... from the edge
    is_core = inside[-1].copy()
    for here, deeper in pairwise(inside):
        is_core |= here & ~_grown(deeper, MARGIN)
    return is_core, ~inside[-1] & _grown(seen, 1)


def _grown(masks: np.ndarray, steps: int) -> np.ndarray:
    """Masks (N, H, W) and all pixels at most `steps` away, across corners too."""
    return ndimage.maximum_filter(masks, (1, 2 * steps + 1, 2 * steps + 1), mode="constant")


def _explained(pixels: np.ndarray, colours: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Coverage a that best explains pixel = a colour + (1 - a) white, unless it is nearly white."""
    away = 255 - colours
    square = np.einsum("...c,...c", away, away)
    coverage = np.einsum("...c,...c", 255 - pixels, away) / np.maximum(square, 1)
    return np.where(square > 3 * NEAR_WHITE**2, coverage.clip(0, 1), otherwise)


def batches(
    table: pd.DataFrame, layers: np.ndarray, contexts: Mapping, neutral=None, *, scale: float = 1.0
) -> Iterator[torch.Tensor]:
    """Stream the composites of a design, uint8 (B, 3, H, W), in its order, of layers of `cut`.
    An object's centre stays where it was at any `scale`."""
    grounds, ground_of = mosaics.partners(table, contexts, neutral, layers.shape[2:])
    if scale != 1:
        layers = np.stack([_scaled(layer, scale) for layer in layers])
    boxes = [(slice(3), *_box(layer)) for layer in layers]
    adds = [layer[box] + 0.5 for layer, box in zip(layers, boxes, strict=True)]  # to be rounded
    leaves = [1 - layer[3:, *box[1:]] for layer, box in zip(layers, boxes, strict=True)]
    for start in range(0, len(table), mosaics.BATCH):
        rows = slice(start, start + mosaics.BATCH)
        made = grounds.numpy()[ground_of[rows]]
        for image, number in zip(made, table["object"].to_numpy()[rows], strict=True):
            under = image[boxes[number]]
            np.add(leaves[number] * under, adds[number], out=under, casting="unsafe")
        yield torch.from_numpy(made)


def _box(layer: np.ndarray) -> tuple[slice, slice]:
    """Rows and columns of what a layer (4, H, W) covers."""
    return ndimage.find_objects(np.uint8(layer[3] > 0))[0]


def _scaled(layer: np.ndarray, scale: float) -> np.ndarray:
    """Resize the object of a layer (4, H, W) about its centre; what leaves the frame is cut off."""
    frame = layer.shape[1:]
    corner = [round((side.start + side.stop) / 2 * (scale - 1)) for side in _box(layer)]
    size = [round(side * scale) for side in frame]
    # Colours are times coverage, so that there is no fringe.
    sized = transforms.resize(torch.from_numpy(layer), size, antialias=True)
    return transforms.crop(sized, *corner, *frame).numpy()


def objects(collection: Collection) -> ImageSet | None:
    """WB's test images in which an object was found, with their masks; None without masks."""
    found = collection.sets.get("WB")
    if found is None or found.masks is None:
        return None
    test = found.split("test")
    return test.where(test.masks.flatten(1).any(1).numpy())


def design(collection: Collection, seed: int) -> pd.DataFrame:
    """Which object is pasted into which context image: each once into each class's context."""
    given = objects(collection).labels, collection.contexts, collection.classes
    return mosaics.design(*given, per_context=1, seed=seed)


def composites(
    table: pd.DataFrame, collection: Collection, *, seed: int, neutral="mean", scale=1.0
) -> Iterator[torch.Tensor]:
    """Stream the composites of any rows of a :func:`design`; `neutral` is `mosaics.neutral`'s."""
    found = objects(collection)
    ground = mosaics.neutral(collection.sets["C"].split("test").images, neutral, seed)
    layers = cut(found.images, found.masks)
    return batches(table, layers, collection.contexts, ground, scale=scale)


def ask(networks: Sequence, collection: Collection, *, seed: int, **how) -> pd.DataFrame | None:
    """`effects.per_image` of trainings on composites (:func:`composites`); None without masks."""
    found = objects(collection)
    if found is None:
        return None
    table = design(collection, seed)
    stream = composites(table, collection, seed=seed, **how)
    logits = models.logits(networks, found.images), models.logits(networks, stream)
    return effects.per_image(effects.points(*logits, table, found.classes))


def alone(logits: Mapping[str, torch.Tensor], classes: Sequence[str]) -> dict[str, np.ndarray]:
    """Which images of a context alone are taken for its class: from (T, M, K) to 0 or 1 (T, M)."""
    place = list(classes).index
    return {k: (said.argmax(2) == place(k)).double().numpy() for k, said in logits.items()}


def counts(alone: Mapping[str, np.ndarray], images: pd.DataFrame | None = None) -> pd.DataFrame:
    """The bars of Figures 11 to 14, by :func:`alone` and, if given, `effects.per_image`."""
    found = {} if images is None else effects.grids(images, "taken_share", effects.PAIR)
    rows = []
    for context, said in alone.items():
        bars = [((context, NOTHING), said)] + [bar for bar in found.items() if bar[0][0] == context]
        for of, taken in bars:
            rows.append((*of, taken.sum() / len(taken), taken.shape[1], *stats.share(taken)))
    columns = ["context_class", "pasted", "predicted", "images", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)
