"""Pasting: objects are cut out of a white background, put into other contexts, and classified.

*Assessing Biases through Visual Contexts*, "Results Checks" and Figures 11 to 14. Objects come from
WB. Its background is white, so the share of the object in each pixel can be computed.
"""

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
    """Stream the composites of a design, uint8 (B, 3, H, W), in its order, from layers of `cut`.

    An object keeps its centre at any `scale`. Lesson 04 passes its own `paste`.
    """
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
    """Return the rows and columns that a layer (4, H, W) covers."""
    return ndimage.find_objects(np.uint8(layer[3] > 0))[0]


def _scaled(layer: np.ndarray, scale: float) -> np.ndarray:
    """Resize the object of a layer (4, H, W) about its centre, clipped at the frame."""
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
    """Return WB's test images that show an object, with their masks; None without masks."""
    white = collection.sets.get("WB")
    if white is None or white.masks is None:
        return None
    test = white.split("test")
    return test.where(test.masks.flatten(1).any(1).numpy())


def design(
    collection: Collection, seed: int, with_neutral: bool = False
) -> pd.DataFrame:
    """Pair each object with one background image of each other class's context."""
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
    """Stream the composites of any rows of a :func:`design`.

    `neutral` names a background of `mosaics.neutral`. `layers` are the :func:`objects` after
    `cut`; without them, objects are cut by the masks of their image set.
    """
    cut_of = objects(collection)
    ground = mosaics.neutral(collection.sets["C"].split("test").images, neutral, seed)
    layers = cut(cut_of.images, cut_of.masks) if layers is None else layers
    return batches(table, layers, collection.contexts, ground, scale=scale, paste=paste)


def evaluate(
    networks: Sequence, collection: Collection, *, seed: int, **how
) -> pd.DataFrame | None:
    """Measure the effects of composites with every network, as `effects.per_image` rows.

    Each object is pasted once into an image of each other class's context. `how` may hold
    `layers` (objects after `cut`), their `scale`, and another `paste`. Returns None without
    masks.
    """
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
    """Mark context images that are classified as the context's class: (T, M, K) to 0 or 1 (T, M)."""
    place = list(classes).index
    return {
        k: (one.argmax(2) == place(k)).double().numpy() for k, one in logits.items()
    }


def counts(
    alone: Mapping[str, np.ndarray], images: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Count the bars of Figures 11 to 14, from :func:`alone` and rows of `effects.per_image`."""
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
