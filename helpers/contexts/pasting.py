"""Pasting: objects cut out on white and put into other contexts, and what these are taken for.

*Assessing Biases through Visual Contexts*, "Results Checks" and Figures 11 to 14. Objects come from
WB, where the ground is white: how much of each pixel is object can be solved for."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from scipy import ndimage
from torch.nn.functional import interpolate, pad

from helpers import models, stats
from helpers.contexts import cutting, effects, mosaics
from helpers.contexts.cutting import cut
from helpers.data import Collection, ImageSet

NOTHING = "nothing"


def batches(
    table: pd.DataFrame,
    layers: np.ndarray,
    contexts: Mapping,
    neutral=None,
    *,
    scale: float = 1.0,
    paste: Callable = cutting.paste,
) -> Iterator[torch.Tensor]:
    """Stream the composites of a design, uint8 (B, 3, H, W), in its order, of layers of `cut`.
    An object's centre stays where it was at any `scale`. Lesson 04 hands on its own `paste`."""
    grounds, ground_of = mosaics.partners(table, contexts, neutral, layers.shape[2:])
    if scale != 1:
        layers = np.stack([_scaled(layer, scale) for layer in layers])
    boxes = [(slice(None), *_box(layer)) for layer in layers]
    for start in range(0, len(table), mosaics.BATCH):
        rows = slice(start, start + mosaics.BATCH)
        made = grounds.numpy()[ground_of[rows]]
        for image, number in zip(made, table["object"].to_numpy()[rows], strict=True):
            box = boxes[number]
            image[box] = paste(layers[number][box], image[box])
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
    sized = interpolate(
        torch.from_numpy(layer)[None], size, mode="bilinear", antialias=True
    )[0]
    more = [
        side + start - end for side, start, end in zip(frame, corner, size, strict=True)
    ]
    return pad(sized, (-corner[1], more[1], -corner[0], more[0])).numpy()


def objects(collection: Collection) -> ImageSet | None:
    """WB's test images in which an object was found, with their masks; None without masks."""
    white = collection.sets.get("WB")
    if white is None or white.masks is None:
        return None
    test = white.split("test")
    return test.where(test.masks.flatten(1).any(1).numpy())


def design(
    collection: Collection, seed: int, with_neutral: bool = False
) -> pd.DataFrame:
    """Which object is pasted into which context image: each once into each class's context."""
    parts = objects(collection).labels, collection.contexts, collection.classes
    return mosaics.design(*parts, per_context=1, with_neutral=with_neutral, seed=seed)


def composites(
    table: pd.DataFrame,
    collection: Collection,
    *,
    seed=0,
    neutral="mean",
    scale=1.0,
    layers=None,
    paste: Callable = cutting.paste,
) -> Iterator[torch.Tensor]:
    """Stream the composites of any rows of a :func:`design`; `neutral` is `mosaics.neutral`'s.
    `layers` are of :func:`objects`, by `cut`; without them they are cut by the set's own masks."""
    cut_of = objects(collection)
    ground = mosaics.neutral(collection.sets["C"].split("test").images, neutral, seed)
    layers = cut(cut_of.images, cut_of.masks) if layers is None else layers
    return batches(table, layers, collection.contexts, ground, scale=scale, paste=paste)


def ask(
    networks: Sequence, collection: Collection, *, seed: int, **how
) -> pd.DataFrame | None:
    """`effects.per_image` of trainings on composites; None without masks.

    Each object is pasted once into an image of each other class's context. `how` may be `layers`,
    objects as `cut` cuts them, their `scale`, and another `paste`."""
    pasted = objects(collection)
    if pasted is None:
        return None
    table = design(collection, seed)
    stream = composites(table, collection, seed=seed, **how)
    logits = models.logits(networks, pasted.images), models.logits(networks, stream)
    return effects.per_image(effects.points(*logits, table, pasted.classes))


def alone(
    logits: Mapping[str, torch.Tensor], classes: Sequence[str]
) -> dict[str, np.ndarray]:
    """Which images of a context alone are taken for its class: from (T, M, K) to 0 or 1 (T, M)."""
    place = list(classes).index
    return {
        k: (one.argmax(2) == place(k)).double().numpy() for k, one in logits.items()
    }


def counts(
    alone: Mapping[str, np.ndarray], images: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The bars of Figures 11 to 14, by :func:`alone` and, if given, `effects.per_image`."""
    pairs = {} if images is None else effects.grids(images, "taken_share", effects.PAIR)
    rows = []
    for context, of_context in alone.items():
        bars = [((context, NOTHING), of_context)]
        for of, taken in bars + [bar for bar in pairs.items() if bar[0][0] == context]:
            rows.append(
                (*of, taken.sum() / len(taken), taken.shape[1], *stats.share(taken))
            )
    columns = ["context_class", "pasted", "predicted", "images", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)
