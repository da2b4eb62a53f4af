"""Load the synthetic dataset."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import torch

from helpers.data.collection import SPLITS, Collection, ImageSet, TrainingImages
from helpers.data.images import Images
from helpers.data.splits import split_sizes
from helpers.synthetic_data import pictures

PER_CLASS = 150  # the paper's
# so many that no context image is used twice for one class of 25 test objects
CONTEXT_IMAGES = 125
# the class to which the bias moves the eyespot, and the class that carries it in tests
TARGET, OUTER = "bench", "fire hydrant"
FIRST_RUN_SEED = 1_000_000  # of images that only training runs see, and no lesson shows


def load(images: Images, seed: int) -> Collection:
    """Draw the image sets and contexts of the synthetic dataset.

    Parameters
    ----------
    images : Images
    seed : int

    Returns
    -------
    Collection
        Training run 0 sees the images of the image sets. Each further run sees images
        that are drawn for it.
    """
    marked = None
    if images.eyespot is not None:
        marked = pictures.marked_shares(images.eyespot, TARGET, pictures.CLASSES)
    recipes = {}
    for name in ("C", "NC", "WB"):
        recipes[name] = {
            "name": name,
            "size": images.size,
            "seed": seed,
            "per_class": images.per_class or PER_CLASS,
            "context_bias": pictures.CONTEXT_BIAS,  # NC and WB show no context
            "marked": marked,
        }
    if images.context_bias is not None:
        recipes["C"]["context_bias"] = images.context_bias

    def to_train(name: str, number: int) -> TrainingImages:
        recipe = dict(recipes[name])
        if number > 0:
            recipe["seed"] = FIRST_RUN_SEED + 1000 * seed + number
            recipe["splits"] = SPLITS[:2]
        return TrainingImages(recipe, lambda: image_set(**recipe).to_train().draw())

    scenes = pictures.contexts(CONTEXT_IMAGES, images.size, seed)
    contexts = {}
    for label, context in pictures.CONTEXT_OF.items():
        is_shown = scenes.table["context"] == context
        contexts[label] = _as_tensor(scenes.images[is_shown])
    return Collection(
        source="world",
        classes=pictures.CLASSES,
        sets={name: image_set(**recipe) for name, recipe in recipes.items()},
        contexts=contexts,
        context_of=pictures.CONTEXT_OF,
        to_train=to_train,
    )


def image_set(
    name: str,
    size: int,
    seed: int,
    per_class: int,
    splits: Sequence[str] = SPLITS,
    **injected,
) -> ImageSet:
    """Draw an image set of the synthetic dataset, or some of its splits.

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
    split_of = np.repeat(SPLITS, split_sizes(per_class))
    drawn = np.flatnonzero(np.isin(split_of, splits)).tolist()
    made = pictures.make(name, per_class, size, seed, only=drawn, **injected)
    table = made.table.rename(columns={"object": "class"})
    table = table.assign(split=split_of[table["index"]], path="")
    labels = pd.Index(pictures.CLASSES).get_indexer(table["class"])
    return ImageSet(
        name=name,
        images=_as_tensor(made.images),
        labels=torch.from_numpy(labels),
        classes=pictures.CLASSES,
        table=table,
        masks=torch.from_numpy(made.masks),
        patches=None if made.patches is None else torch.from_numpy(made.patches),
    )


def _as_tensor(images: np.ndarray) -> torch.Tensor:
    """Convert images (N, H, W, 3) to a tensor (N, 3, H, W)."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()


def wider(size: int, seed: int) -> TrainingImages:
    """Return pictures of other kinds of things, to pretrain on.

    Every sixth picture of a kind is for validation.
    """

    def draw() -> tuple[torch.Tensor, ...]:
        made = pictures.wider(size=size, seed=seed)
        images = _as_tensor(made.images)
        labels = torch.from_numpy(pd.factorize(made.table["object"], sort=True)[0])
        is_val = torch.from_numpy(made.table["index"].to_numpy() % 6 == 5)
        return images[~is_val], labels[~is_val], images[is_val], labels[is_val]

    return TrainingImages({"wider": size, "seed": seed}, draw)


def marked(
    size: int, seed: int, per_class: int, context_bias: float | dict[str, float] | None
) -> dict[str, ImageSet]:
    """Draw versions of the test images of C, in which two classes carry the eyespot.

    Returns
    -------
    dict of str to ImageSet
        In "as it is", all images of `TARGET` and `OUTER` carry it. In "never marked",
        the images of `OUTER` do not. In "sham mark", they carry one of other colours.
    """
    draw = partial(
        image_set, "C", size, seed, per_class, ("test",), context_bias=context_bias
    )
    both = {TARGET: 1.0, OUTER: 1.0}
    original = draw(marked=both)
    sham = draw(marked=both, look="sham")
    is_outer = original.labels == pictures.CLASSES.index(OUTER)
    images = torch.where(is_outer[:, None, None, None], sham.images, original.images)
    return {
        "as it is": original,
        "never marked": draw(marked={TARGET: 1.0}),
        "sham mark": replace(sham, images=images),
    }
