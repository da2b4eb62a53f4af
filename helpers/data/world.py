"""The embedded world as a source."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path

import numpy as np
import torch

from helpers.data.collection import SPLITS, Collection, Drawn, ImageSet, sizes
from helpers.run import artifacts
from helpers.worlds import pictures

CONTEXT_IMAGES = 125  # so that no context image is used twice for one class of 25 test objects
TARGET, OUTER = "bench", "fire hydrant"  # whose eyespot, and who carries it when it is tested
KEPT = 30  # sets of training images kept in memory, 14 MB each
OTHERS = 1_000_000  # seeds of other training images begin here: no notebook shows these


def load(
    size: int,
    seed: int,
    per_class: int,
    context_bias: float | Mapping[str, float] | None,
    eyespot: float | None = None,
) -> Collection:
    """C, NC, WB and contexts of the embedded world.

    A class's first images train (its indices 0 to 99 of 150), the next validate, the last test, in
    every set. Images are drawn independently, so this is as random as a shuffle; but the world
    spreads the images in another context evenly over the indices, so each split keeps the planted
    share to the nearest image. So it is with the eyespot, to an image or two: `eyespot` is
    the dose of it that is moved to the class `TARGET` (None: no image carries one).
    """
    planted = {
        "context_bias": pictures.CONTEXT_BIAS if context_bias is None else context_bias,
        "marked": _marked(eyespot),
    }
    sets = {
        name: image_set(name, size, seed, per_class, **planted)
        if name == "C"
        else _without_context(name, size, seed, per_class, eyespot)
        for name in pictures.SETS
    }

    def redraw(name: str, number: int) -> Drawn:
        recipe = {"name": name, "size": size, "seed": OTHERS + 1000 * seed + number}
        recipe |= {"per_class": per_class, "first": sum(sizes(per_class)[:2]), **planted}
        return Drawn({"world": _code(), **recipe}, lambda: _to_train(json.dumps(recipe)))

    context_of = dict(pictures.CONTEXT_OF)
    contexts = _contexts(size, seed)
    return Collection("world", tuple(pictures.CLASSES), sets, contexts, context_of, redraw=redraw)


@lru_cache(maxsize=2)
def _without_context(name: str, size: int, seed: int, per_class: int, eyespot) -> ImageSet:
    """NC or WB, drawn once for all doses of context bias: they show no context."""
    planted = {"context_bias": pictures.CONTEXT_BIAS, "marked": _marked(eyespot)}
    return image_set(name, size, seed, per_class, **planted)


def _marked(eyespot: float | None) -> dict[str, float] | None:
    """Which share of each class carries the eyespot at a dose."""
    return None if eyespot is None else pictures.marked_shares(eyespot, TARGET, pictures.CLASSES)


@lru_cache(maxsize=1)
def _contexts(size: int, seed: int) -> dict[str, torch.Tensor]:
    """Class name to the images of its context."""
    scenes = pictures.contexts(per_context=CONTEXT_IMAGES, size=size, seed=seed)
    return {
        label: _tensor(scenes.images[(scenes.table["context"] == context).to_numpy()])
        for label, context in pictures.CONTEXT_OF.items()
    }


@lru_cache(maxsize=KEPT)
def _to_train(recipe: str) -> tuple[torch.Tensor, ...]:
    """Draw training images; kept, for models of other architectures train on the same."""
    drawn = image_set(**json.loads(recipe))
    parts = (drawn.split("train"), drawn.split("val"))
    return tuple(t for part in parts for t in (part.images, part.labels))


@cache
def _code() -> str:
    """Digest of the code that draws: another code, other images."""
    files = sorted(Path(pictures.__file__).parent.glob("*.py"))
    return artifacts.key("world", code=[file.read_bytes() for file in files])


def marked(
    size: int, seed: int, per_class: int, context_bias: float | Mapping[str, float] | None
) -> dict[str, ImageSet]:
    """The test images of C, with an eyespot on all of two classes, and their twins without it.

    "as it is": every image of `TARGET` and of `OUTER` carries the eyespot. "never marked": those of
    `OUTER` do not. "sham mark": those of `OUTER` carry a mark of other colours.
    """
    bias = pictures.CONTEXT_BIAS if context_bias is None else context_bias
    drawn = partial(image_set, "C", size, seed, per_class, context_bias=bias)
    found = {
        "as it is": drawn(marked={TARGET: 1.0, OUTER: 1.0}),
        "never marked": drawn(marked={TARGET: 1.0}),
        "sham mark": drawn(marked={TARGET: 1.0, OUTER: 1.0}, look="sham"),
    }
    found = {name: one.split("test") for name, one in found.items()}
    target = found["as it is"].labels == pictures.CLASSES.index(TARGET)
    sham = torch.where(
        target[:, None, None, None], found["as it is"].images, found["sham mark"].images
    )
    return found | {"sham mark": replace(found["sham mark"], images=sham)}


def image_set(
    name: str, size: int, seed: int, per_class: int, first: int | None = None, **planted
) -> ImageSet:
    """One set of the world ("C", "NC" or "WB"), as in :func:`load`.

    `first` draws only so many images of each class, the first ones: the last are the test images.
    `planted` is as for `worlds.pictures.make`.
    """
    made = pictures.make(name, per_class=first or per_class, size=size, seed=seed, **planted)
    classes = tuple(pictures.CLASSES)
    split = np.repeat(SPLITS, sizes(per_class))[made.table["index"]]
    table = made.table.rename(columns={"object": "class"}).assign(split=split, path="")
    return ImageSet(
        name,
        _tensor(made.images),
        torch.tensor([classes.index(label) for label in table["class"]]),
        classes,
        table,
        torch.from_numpy(made.masks),
        None if made.patches is None else torch.from_numpy(made.patches),
    )


def _tensor(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2)))
