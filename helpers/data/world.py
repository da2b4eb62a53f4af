"""The embedded world as a source."""

import json
from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch

from helpers import source
from helpers.data.collection import SPLITS, Collection, Drawn, ImageSet, sizes
from helpers.worlds import pictures

CONTEXT_IMAGES = 125  # so that no context image is used twice for one class of 25 test objects
TARGET, OUTER = "bench", "fire hydrant"  # whose eyespot, and who carries it when it is tested
KEPT = 30  # sets kept in memory, about 18 MB each
DRAWING = source.Source("worlds/pictures", "data/collection", "data/world")
OTHERS = 1_000_000  # seeds of other training images begin here: no notebook shows these


def load(
    size: int, seed: int, per_class: int, context_bias, eyespot: float | None = None
) -> Collection:
    """C, NC, WB and contexts of the embedded world: a class's first images train (0 to 99 of 150),
    the next validate, the last test. `eyespot` is its dose that is moved to `TARGET`."""
    given = {"size": size, "seed": seed, "per_class": per_class}
    planted, plain = _planted(context_bias, eyespot), _planted(None, eyespot)
    # NC and WB show no context: the same at all doses of its bias
    recipes = {name: {"name": name, **given, **plain} for name in pictures.SETS}
    recipes["C"] |= planted

    def redraw(name: str, number: int) -> Drawn:
        recipe = recipes["C"] | {"name": name, "seed": OTHERS + 1000 * seed + number}
        recipe["first"] = sum(sizes(per_class)[:2])
        return Drawn({"world": DRAWING.digest(), **recipe}, lambda: _to_train(recipe))

    sets = {name: _drawn(json.dumps(recipe)) for name, recipe in recipes.items()}
    classes, context_of = tuple(pictures.CLASSES), dict(pictures.CONTEXT_OF)
    return Collection("world", classes, sets, _contexts(size, seed), context_of, redraw=redraw)


def _planted(context_bias, eyespot: float | None) -> dict:
    """What `worlds.pictures.make` takes: which share of a class is in its context, or is marked."""
    marks = None if eyespot is None else pictures.marked_shares(eyespot, TARGET, pictures.CLASSES)
    bias = pictures.CONTEXT_BIAS if context_bias is None else context_bias
    return {"context_bias": bias, "marked": marks}


@lru_cache(maxsize=1)
def _contexts(size: int, seed: int) -> dict[str, torch.Tensor]:
    """Class name to the images of its context."""
    scenes = pictures.contexts(per_context=CONTEXT_IMAGES, size=size, seed=seed)
    shown, images = scenes.table["context"].to_numpy(), _tensor(scenes.images)
    return {label: images[shown == context] for label, context in pictures.CONTEXT_OF.items()}


@lru_cache(maxsize=KEPT)
def _drawn(recipe: str) -> ImageSet:
    """The set of a recipe in JSON; kept, for models of other architectures train on the same."""
    return image_set(**json.loads(recipe))


def _to_train(recipe: dict) -> tuple[torch.Tensor, ...]:
    drawn = _drawn(json.dumps(recipe))
    parts = (drawn.split("train"), drawn.split("val"))
    return tuple(t for part in parts for t in (part.images, part.labels))


def marked(size: int, seed: int, per_class: int, context_bias) -> dict[str, ImageSet]:
    """The test images of C, every one of `TARGET` and of `OUTER` with the eyespot: "as it is". And
    "never marked", those of `OUTER`; or "sham mark", they carry one of other colours."""
    both, bias = {TARGET: 1.0, OUTER: 1.0}, _planted(context_bias, None)["context_bias"]

    def drawn(**marks) -> ImageSet:
        return image_set("C", size, seed, per_class, context_bias=bias, **marks).split("test")

    marked, never = drawn(marked=both), drawn(marked={TARGET: 1.0})
    sham = drawn(marked=both, look="sham")
    target = (marked.labels == pictures.CLASSES.index(TARGET))[:, None, None, None]
    sham = replace(sham, images=torch.where(target, marked.images, sham.images))
    return {"as it is": marked, "never marked": never, "sham mark": sham}


def image_set(
    name: str, size: int, seed: int, per_class: int, first: int | None = None, **planted
) -> ImageSet:
    """One set of the world ("C", "NC" or "WB"), or only its `first` images of each class; `planted`
    is as for `worlds.pictures.make`."""
    made = pictures.make(name, per_class=first or per_class, size=size, seed=seed, **planted)
    classes = tuple(pictures.CLASSES)
    split = np.repeat(SPLITS, sizes(per_class))[made.table["index"]]
    table = made.table.rename(columns={"object": "class"}).assign(split=split, path="")
    labels = torch.tensor([classes.index(label) for label in table["class"]])
    patches = None if made.patches is None else torch.from_numpy(made.patches)
    masks = torch.from_numpy(made.masks)
    return ImageSet(name, _tensor(made.images), labels, classes, table, masks, patches)


def _tensor(images: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2)))
