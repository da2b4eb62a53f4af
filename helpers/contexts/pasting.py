"""Pasting: objects cut out on white and put into other contexts, and what these are taken for.

*Assessing Biases through Visual Contexts*, "Results Checks" and Figures 11 to 14. Objects come from
WB, where the ground is white: how much of each pixel is object can be solved for."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from scipy import ndimage
from torch.nn.functional import interpolate, pad

from helpers import models, stats
from helpers.contexts import effects, mosaics
from helpers.contexts.cutting import cut, paste
from helpers.data import Collection, ImageSet

NOTHING = "nothing"
NO_MASKS = (
    "Pasting needs to know where the objects are, and nothing tells it here: there is no set WB "
    "(the same images with a white background). What remains is to show the contexts alone."
)


def batches(
    table: pd.DataFrame, layers: np.ndarray, contexts: Mapping, neutral=None, *, scale: float = 1.0
) -> Iterator[torch.Tensor]:
    """Stream the composites of a design, uint8 (B, 3, H, W), in its order, of layers of `cut`.
    An object's centre stays where it was at any `scale`."""
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
    sized = interpolate(torch.from_numpy(layer)[None], size, mode="bilinear", antialias=True)[0]
    more = [side + start - end for side, start, end in zip(frame, corner, size, strict=True)]
    return pad(sized, (-corner[1], more[1], -corner[0], more[0])).numpy()


def objects(collection: Collection) -> ImageSet | None:
    """WB's test images in which an object was found, with their masks; None without masks."""
    white = collection.sets.get("WB")
    if white is None or white.masks is None:
        return None
    test = white.split("test")
    return test.where(test.masks.flatten(1).any(1).numpy())


def design(collection: Collection, seed: int, controls=("own", "neutral")) -> pd.DataFrame:
    """Which object is pasted into which context image: each once into each class's context."""
    parts = objects(collection).labels, collection.contexts, collection.classes
    return mosaics.design(*parts, per_context=1, controls=controls, seed=seed)


def composites(
    table: pd.DataFrame, collection: Collection, *, seed=0, neutral="mean", scale=1.0, layers=None
) -> Iterator[torch.Tensor]:
    """Stream the composites of any rows of a :func:`design`; `neutral` is `mosaics.neutral`'s.
    `layers` are of :func:`objects`, by `cut`; without them they are cut by the set's own masks."""
    cut_of = objects(collection)
    ground = mosaics.neutral(collection.sets["C"].split("test").images, neutral, seed)
    layers = cut(cut_of.images, cut_of.masks) if layers is None else layers
    return batches(table, layers, collection.contexts, ground, scale=scale)


def ask(
    networks: Sequence, collection: Collection, *, seed: int, controls=("own", "neutral"), **how
) -> pd.DataFrame | None:
    """`effects.per_image` of trainings on composites; None without masks.

    Each object is pasted once into an image of each other class's context, and of the `controls`.
    `how` may be `layers`, objects as `cut` cuts them; their `scale`; and a `neutral` ground."""
    pasted = objects(collection)
    if pasted is None:
        return None
    table = design(collection, seed, controls)
    stream = composites(table, collection, seed=seed, **how)
    logits = models.logits(networks, pasted.images), models.logits(networks, stream)
    return effects.per_image(effects.points(*logits, table, pasted.classes))


def alone(logits: Mapping[str, torch.Tensor], classes: Sequence[str]) -> dict[str, np.ndarray]:
    """Which images of a context alone are taken for its class: from (T, M, K) to 0 or 1 (T, M)."""
    place = list(classes).index
    return {k: (one.argmax(2) == place(k)).double().numpy() for k, one in logits.items()}


def decisions(networks: Mapping, collection: Collection, alone: Mapping, **how) -> pd.DataFrame:
    """Which classes images are taken for: a row a network (by name) and kind of image, with the
    share of images for each class, averaged over trainings. Kinds are contexts `alone` (images by
    class), objects on white and on each other context (:func:`composites`, which `how` is for)."""
    kinds = {f"{collection.context_of[name]} alone": images for name, images in alone.items()}
    if (pasted := objects(collection)) is not None:
        table = design(collection, how.get("seed", 0), ())
        made = torch.cat([*composites(table, collection, **how)])
        parts = table.groupby(effects.PAIR[::-1], sort=False).groups
        for name in collection.classes:
            kinds[f"{name}, white"] = pasted.of(name).images
            for context in [context for label, context in parts if label == name]:
                of_pair = made[parts[name, context].to_list()]
                kinds[f"{name}, {collection.context_of[context]}"] = of_pair
    shares = {}
    for who, several in networks.items():
        for kind, images in kinds.items():
            best = models.logits(several, images).argmax(2).flatten()
            counted = torch.bincount(best, minlength=len(collection.classes))
            shares[who, kind] = (counted / len(best)).tolist()
    return pd.DataFrame(shares, index=list(collection.classes)).T


def examples(collection: Collection, alone: Mapping, **how) -> dict[tuple[str, str], torch.Tensor]:
    """A picture for each of :func:`counts`' bars, by the context's class and what is pasted."""
    pictures = {(name, NOTHING): images[0] for name, images in alone.items()}
    if objects(collection) is not None:
        rows = design(collection, how.get("seed", 0), ()).drop_duplicates(effects.PAIR)
        keys = rows[effects.PAIR].itertuples(index=False, name=None)
        pictures |= dict(zip(keys, torch.cat([*composites(rows, collection, **how)]), strict=True))
    return pictures


def counts(alone: Mapping[str, np.ndarray], images: pd.DataFrame | None = None) -> pd.DataFrame:
    """The bars of Figures 11 to 14, by :func:`alone` and, if given, `effects.per_image`."""
    pairs = {} if images is None else effects.grids(images, "taken_share", effects.PAIR)
    rows = []
    for context, of_context in alone.items():
        bars = [((context, NOTHING), of_context)]
        for of, taken in bars + [bar for bar in pairs.items() if bar[0][0] == context]:
            rows.append((*of, taken.sum() / len(taken), taken.shape[1], *stats.share(taken)))
    columns = ["context_class", "pasted", "predicted", "images", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)
