"""The synthetic dataset as a source of images."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import torch

from helpers import store
from helpers.data.collection import SPLITS, Collection, Drawn, ImageSet, sizes
from helpers.synthetic_data import pictures

# so many that no context image is used twice for one class of 25 test objects
CONTEXT_IMAGES = 125
# the class to which the bias moves the eyespot, and the class that carries it in tests
TARGET, OUTER = "bench", "fire hydrant"
FILES_KEPT = 30  # image sets kept on disk, about 18 MB each
FIRST_RUN_SEED = 1_000_000  # of images that only training runs see, and no lesson shows

Bias = float | dict[str, float] | None


def load(
    size: int,
    seed: int,
    per_class: int,
    context_bias: Bias,
    eyespot: float | None = None,
) -> Collection:
    """Return the image sets and contexts of the synthetic dataset.

    Parameters
    ----------
    size : int
        Side of the images in pixels.
    seed : int
    per_class : int
        Images of each class in each image set.
    context_bias : float, dict of str to float, or None
        Share of each class's images in C that show its context. None means the shares
        of the lessons.
    eyespot : float or None
        Bias strength of the eyespot towards `TARGET`. None means no eyespots.

    Returns
    -------
    Collection
        Training run 0 sees the images of the image sets. Each further run sees images
        that are drawn for it.
    """
    if context_bias is None:
        context_bias = pictures.CONTEXT_BIAS
    marked = None
    if eyespot is not None:
        marked = pictures.marked_shares(eyespot, TARGET, pictures.CLASSES)
    recipes = {}
    for name in ("C", "NC", "WB"):
        recipes[name] = {
            "name": name,
            "size": size,
            "seed": seed,
            "per_class": per_class,
            # NC and WB show no context, so their key does not depend on its bias
            "context_bias": context_bias if name == "C" else pictures.CONTEXT_BIAS,
            "marked": marked,
        }

    def redraw(name: str, number: int) -> Drawn:
        recipe = dict(recipes[name])
        if number > 0:
            recipe["seed"] = FIRST_RUN_SEED + 1000 * seed + number
            recipe["splits"] = SPLITS[:2]
        return Drawn(recipe, lambda: image_set(**recipe).to_train().draw())

    return Collection(
        source="world",
        classes=tuple(pictures.CLASSES),
        sets={name: image_set(**recipe) for name, recipe in recipes.items()},
        contexts=_contexts(size, seed),
        context_of=dict(pictures.CONTEXT_OF),
        redraw=redraw,
        size=size,
    )


def image_set(
    name: str,
    size: int,
    seed: int,
    per_class: int,
    splits: Sequence[str] = SPLITS,
    **injected,
) -> ImageSet:
    """Return an image set of the synthetic dataset, or some of its splits, drawn once.

    Parameters
    ----------
    name : {"C", "NC", "WB"}
    size : int
        Side of the images in pixels.
    seed : int
    per_class : int
        Images of each class in all splits.
    splits : sequence of str
    **injected
        The biases, as in `pictures.make`.

    Returns
    -------
    ImageSet
    """
    split_of = np.repeat(SPLITS, sizes(per_class))
    classes = tuple(pictures.CLASSES)

    def draw() -> tuple[dict, dict]:
        only = np.flatnonzero(np.isin(split_of, splits)).tolist()
        made = pictures.make(name, per_class, size, seed, only=only, **injected)
        arrays = {"images": made.images.transpose(0, 3, 1, 2), "masks": made.masks}
        if made.patches is not None:
            arrays["patches"] = made.patches
        return arrays, {"table": made.table.to_dict("split")}

    tensors, facts = _drawn_once(
        draw,
        name=name,
        size=size,
        seed=seed,
        per_class=per_class,
        splits=splits,
        **injected,
    )
    table = pd.DataFrame(**facts["table"]).rename(columns={"object": "class"})
    table = table.assign(split=split_of[table["index"]], path="")
    labels = torch.tensor([classes.index(label) for label in table["class"]])
    return ImageSet(name, labels=labels, classes=classes, table=table, **tensors)


def _contexts(size: int, seed: int) -> dict[str, torch.Tensor]:
    """Return the background images of each class's context."""

    def draw() -> tuple[dict, dict]:
        made = pictures.contexts(per_context=CONTEXT_IMAGES, size=size, seed=seed)
        images = made.images.transpose(0, 3, 1, 2)
        shown = made.table["context"].to_numpy()
        return {context: images[shown == context] for context in pictures.CONTEXTS}, {}

    tensors, _ = _drawn_once(draw, contexts=CONTEXT_IMAGES, size=size, seed=seed)
    return {label: tensors[name] for label, name in pictures.CONTEXT_OF.items()}


def _drawn_once(
    draw: Callable[[], tuple[dict, dict]], **decides
) -> tuple[dict[str, torch.Tensor], dict]:
    """Return the arrays, as tensors, and the facts of `draw`, from a file if it exists.

    The `FILES_KEPT` files that were read last are kept.
    """
    folder = store.networks() / "images"
    path, arrays, facts = store.arrays("drawn", folder, draw, **decides)
    with suppress(OSError):  # another process may have deleted one first
        path.touch()
        files = sorted(
            folder.glob("*.safetensors"), key=lambda file: file.stat().st_mtime
        )
        for file in files[:-FILES_KEPT]:
            file.unlink()
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, facts


def wider(size: int, seed: int) -> Drawn:
    """Return pictures of other kinds of things, to pretrain on.

    Every sixth picture of a kind is for validation.
    """

    def draw() -> tuple[torch.Tensor, ...]:
        made = pictures.wider(size=size, seed=seed)
        images = torch.from_numpy(made.images).permute(0, 3, 1, 2)
        labels = torch.from_numpy(pd.factorize(made.table["object"], sort=True)[0])
        is_val = torch.from_numpy(made.table["index"].to_numpy() % 6 == 5)
        return images[~is_val], labels[~is_val], images[is_val], labels[is_val]

    return Drawn({"wider": size, "seed": seed}, draw)


def marked(
    size: int, seed: int, per_class: int, context_bias: Bias
) -> dict[str, ImageSet]:
    """Return versions of the test images of C, in which two classes carry the eyespot.

    Returns
    -------
    dict of str to ImageSet
        In "as it is", all images of `TARGET` and `OUTER` carry it. In "never marked",
        the images of `OUTER` do not. In "sham mark", they carry one of other colours.
    """
    if context_bias is None:
        context_bias = pictures.CONTEXT_BIAS
    test_images = partial(
        image_set,
        "C",
        size,
        seed,
        per_class,
        splits=SPLITS[2:],
        context_bias=context_bias,
    )
    both = {TARGET: 1.0, OUTER: 1.0}
    original = test_images(marked=both)
    never = test_images(marked={TARGET: 1.0})
    sham = test_images(marked=both, look="sham")
    is_target = original.labels == pictures.CLASSES.index(TARGET)
    images = torch.where(is_target[:, None, None, None], original.images, sham.images)
    return {
        "as it is": original,
        "never marked": never,
        "sham mark": replace(sham, images=images),
    }
