"""The synthetic dataset as a source."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import torch

from helpers import store
from helpers.data.collection import SPLITS, Collection, Drawn, ImageSet, Sets, sizes
from helpers.synthetic_data import pictures

CONTEXT_IMAGES = (
    125  # so that no context image is used twice for one class of 25 test objects
)
TARGET, OUTER = (
    "bench",
    "fire hydrant",
)  # whose eyespot, and who carries it when it is tested
KEPT = 30  # sets kept on disk, about 18 MB each
OTHERS = 1_000_000  # seeds of other training images begin here: no notebook shows these


def load(
    size: int, seed: int, per_class: int, context_bias, eyespot: float | None = None
) -> Collection:
    """Return C, NC, WB and contexts of the synthetic dataset.

    `eyespot` is the bias strength of the eyespot towards `TARGET`."""
    marks = (
        None
        if eyespot is None
        else pictures.marked_shares(eyespot, TARGET, pictures.CLASSES)
    )
    bias = pictures.CONTEXT_BIAS if context_bias is None else context_bias
    recipe = {"size": size, "seed": seed, "per_class": per_class, "marked": marks}
    # NC and WB show no context: they and their networks are the same at all strengths of its bias
    shown = {"C": bias, "NC": pictures.CONTEXT_BIAS, "WB": pictures.CONTEXT_BIAS}
    recipes = {
        name: {"name": name, "context_bias": b, **recipe} for name, b in shown.items()
    }

    def redraw(name: str, number: int) -> Drawn:
        recipe = recipes[name]
        if number:
            others = OTHERS + 1000 * seed + number
            recipe = recipe | {"seed": others, "splits": SPLITS[:2]}
        return Drawn(recipe, lambda: image_set(**recipe).to_train().draw())

    sets = Sets(
        {name: partial(image_set, **recipe) for name, recipe in recipes.items()}
    )
    classes, context_of = tuple(pictures.CLASSES), dict(pictures.CONTEXT_OF)
    contexts, more = _contexts(size, seed), {"redraw": redraw, "size": size}
    return Collection("world", classes, sets, contexts, context_of, **more)


def image_set(
    name: str,
    size: int,
    seed: int,
    per_class: int,
    splits: Sequence[str] = SPLITS,
    **planted,
) -> ImageSet:
    """Return an image set of the synthetic dataset, or some of its splits, drawn once."""
    split_of = np.repeat(SPLITS, sizes(per_class))
    classes = tuple(pictures.CLASSES)

    def draw() -> tuple[dict, dict]:
        only = np.flatnonzero(np.isin(split_of, splits)).tolist()
        made = pictures.make(name, per_class, size, seed, only=only, **planted)
        arrays = {"images": made.images.transpose(0, 3, 1, 2), "masks": made.masks}
        if made.patches is not None:
            arrays["patches"] = made.patches
        return arrays, {"table": made.table.to_dict("split")}

    decides = {"name": name, "size": size, "seed": seed, "per_class": per_class}
    parts, facts = _once(draw, **decides, splits=splits, **planted)
    table = pd.DataFrame(**facts["table"]).rename(columns={"object": "class"})
    table = table.assign(split=split_of[table["index"]], path="")
    labels = torch.tensor([classes.index(label) for label in table["class"]])
    return ImageSet(name, labels=labels, classes=classes, table=table, **parts)


def _contexts(size: int, seed: int) -> dict[str, torch.Tensor]:
    """Class name to the images of its context."""

    def draw() -> tuple[dict, dict]:
        scenes = pictures.contexts(per_context=CONTEXT_IMAGES, size=size, seed=seed)
        images, shown = scenes.images.transpose(0, 3, 1, 2), scenes.table["context"]
        return {context: images[shown == context] for context in pictures.CONTEXTS}, {}

    drawn, _ = _once(draw, contexts=CONTEXT_IMAGES, size=size, seed=seed)
    return {of: drawn[context] for of, context in pictures.CONTEXT_OF.items()}


def _once(draw: Callable[[], tuple[dict, dict]], **decides) -> tuple[dict, dict]:
    """Return tensors and facts of `draw`, drawn once; the `KEPT` files read last are kept."""
    folder = store.networks() / "images"
    path, arrays, facts = store.arrays("drawn", folder, draw, **decides)
    with suppress(OSError):  # another process may have deleted one first
        path.touch()
        for old in sorted(
            folder.glob("*.safetensors"), key=lambda p: p.stat().st_mtime
        )[:-KEPT]:
            old.unlink()
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, facts


def wider(size: int, seed: int) -> Drawn:
    """Return things of other kinds for pretraining; every sixth of a kind is for validation."""

    def draw() -> tuple[torch.Tensor, ...]:
        things = pictures.wider(size=size, seed=seed)
        held_out = torch.from_numpy(things.table["index"].to_numpy() % 6 == 5)
        labels = torch.from_numpy(
            np.unique(things.table["object"], return_inverse=True)[1]
        )
        images = torch.from_numpy(things.images).permute(0, 3, 1, 2)
        return images[~held_out], labels[~held_out], images[held_out], labels[held_out]

    return Drawn({"wider": size, "seed": seed}, draw)


def marked(size: int, seed: int, per_class: int, context_bias) -> dict[str, ImageSet]:
    """Return versions of the test images of C, in which `TARGET` and `OUTER` carry the eyespot.

    In "as it is" all of them carry it. In "never marked" the images of `OUTER` do not, and in "sham
    mark" they carry one of other colours."""
    bias = pictures.CONTEXT_BIAS if context_bias is None else context_bias
    both, test = {TARGET: 1.0, OUTER: 1.0}, {"splits": SPLITS[2:], "context_bias": bias}
    drawn = partial(image_set, "C", size, seed, per_class, **test)
    marked, never = drawn(marked=both), drawn(marked={TARGET: 1.0})
    sham = drawn(marked=both, look="sham")
    target = (marked.labels == pictures.CLASSES.index(TARGET))[:, None, None, None]
    sham = replace(sham, images=torch.where(target, marked.images, sham.images))
    return {"as it is": marked, "never marked": never, "sham mark": sham}
