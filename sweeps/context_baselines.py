"""Measure simple signs of a context bias, and reliance on each context.

``context_worlds`` records them. Lessons 05b and 10 compare them with other methods.
"""

from collections.abc import Sequence

import pandas as pd
import torch
from torch.nn.functional import adaptive_avg_pool2d, interpolate, pad

from helpers import models
from helpers.contexts import colour
from helpers.contexts.relevance import on_regions
from helpers.data import Collection, ImageSet, world
from synthetic.pictures import CONTEXT_OF

MAP_SIDE = 5  # pixels of a coarse map, about as many as a feature map has


def mean_colour(collection: Collection) -> pd.Series:
    """Return how often the background's mean colour reveals each class of C."""
    guesses = colour.guesses({"C": collection.sets["C"]})
    guesses = guesses[guesses["region"] == "background"]
    is_correct = guesses.groupby("class")["correct"]
    return is_correct.mean()


def error_rates(networks: Sequence, collection: Collection) -> pd.DataFrame:
    """Compute how often other objects are misclassified in each class's context.

    Returns one row per class and one column per training run, from C's test images.
    """
    test = collection.sets["C"].split("test")
    class_of = {context: name for name, context in collection.context_of.items()}
    object_class = test.table["class"]
    context_class = test.table["context"].map(class_of)
    predicted = models.logits(networks, test.images).argmax(2)
    errors = (predicted != test.labels).double()
    errors = pd.DataFrame(errors.numpy().T)
    errors = errors[object_class != context_class]
    rates = errors.groupby([context_class, object_class]).mean()
    return rates.groupby(level=0).mean()


def edges(images: torch.Tensor) -> torch.Tensor:
    """Return coarse maps (N, 1, 5, 5) of the edges of images (N, 3, H, W)."""
    grey = images.double().mean(1, keepdim=True)
    down = grey.diff(dim=2).abs()
    across = grey.diff(dim=3).abs()
    total = pad(down, (0, 0, 0, 1)) + pad(across, (0, 1))
    return adaptive_avg_pool2d(total, MAP_SIDE)


def random_maps(number: int, seed: int) -> torch.Tensor:
    """Return coarse maps (N, 1, 5, 5) of random numbers."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(
        (number, 1, MAP_SIDE, MAP_SIDE),
        generator=generator,
        dtype=torch.float64,
    )


def outside_objects(maps: torch.Tensor, images: ImageSet) -> pd.Series:
    """Return the share of coarse maps that lies around the objects of each class."""
    size = images.images.shape[-2:]
    fine = interpolate(maps, size, mode="bilinear")
    shares = on_regions(fine[:, 0], images.masks)["relevance"]
    return shares.groupby(images.table["class"]).mean()


def reliance(networks: Sequence, size: int, seed: int) -> pd.DataFrame:
    """Compute how much predictions rely on each class's own context.

    It is the mean of two differences on held-out synthetic objects: how much more often
    objects of the class are recognised in its context than in others, and how much more
    often other objects are taken for the class in this context.

    Returns
    -------
    pandas.DataFrame
        One row per class and one column per training run.
    """
    predicted = []  # (runs, images) in each place
    for bias in (1.0, 0.0):  # the same objects in their own context, and in others
        images = world.image_set(
            "C",
            size=size,
            seed=seed,
            per_class=240,
            context_bias=bias,
            marked=None,
            splits=["test"],
        )
        predicted.append(models.logits(networks, images.images).argmax(2))
    own, other = predicted
    rows = {}
    for k, name in enumerate(images.classes):
        gain = (own == k).double() - (other == k).double()
        of_class = images.table["class"] == name
        in_context = images.table["context"] == CONTEXT_OF[name]
        need = gain[:, of_class.tolist()].mean(1)
        pull = -gain[:, in_context.tolist()].mean(1)
        reliance_on_context = (need + pull) / 2
        rows[name] = reliance_on_context.tolist()
    return pd.DataFrame.from_dict(rows, orient="index")
