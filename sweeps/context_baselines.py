"""Simple signs of a context bias, and how much a network relies on each context.

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
    return guesses.groupby("class")["right"].mean()


def error_rates(networks: Sequence, collection: Collection) -> pd.DataFrame:
    """Compute how often objects of other classes are misclassified in a class's context.

    Returns one row per class and one column per training run, from the test images of C.
    """
    test = collection.sets["C"].split("test")
    class_of = {context: name for name, context in collection.context_of.items()}
    errors = models.logits(networks, test.images).argmax(2) != test.labels
    keys = [test.table["context"].map(class_of), test.table["class"]]
    rates = pd.DataFrame(errors.double().numpy().T).groupby(keys).mean()
    in_own_context = rates.index.get_level_values(0) == rates.index.get_level_values(1)
    return rates[~in_own_context].groupby(level=0).mean()


def edges(images: torch.Tensor) -> torch.Tensor:
    """Return coarse maps (N, 1, 5, 5) of the edges of images (N, 3, H, W)."""
    grey = images.double().mean(1, keepdim=True)
    down = pad(grey.diff(dim=2).abs(), (0, 0, 0, 1))
    across = pad(grey.diff(dim=3).abs(), (0, 1))
    return adaptive_avg_pool2d(down + across, MAP_SIDE)


def random_maps(number: int, seed: int) -> torch.Tensor:
    """Return coarse maps (N, 1, 5, 5) of random numbers."""
    generator = torch.Generator().manual_seed(seed)
    size = (number, 1, MAP_SIDE, MAP_SIDE)
    return torch.rand(size, generator=generator, dtype=torch.float64)


def outside_objects(maps: torch.Tensor, images: ImageSet) -> pd.Series:
    """Return the share of coarse maps that lies around the objects of each class."""
    fine = interpolate(maps, images.images.shape[-2:], mode="bilinear")[:, 0]
    shares = on_regions(fine, images.masks)["relevance"]
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
    images = {}
    predicted = {}
    for place, bias in (("own", 1.0), ("other", 0.0)):  # the same objects
        images[place] = world.image_set(
            "C",
            size=size,
            seed=seed,
            per_class=240,
            context_bias=bias,
            marked=None,
            splits=["test"],
        )
        predicted[place] = models.logits(networks, images[place].images).argmax(2)
    table = images["other"].table
    rows = {}
    for k, name in enumerate(images["other"].classes):
        gain = (predicted["own"] == k).double() - (predicted["other"] == k).double()
        of_class = (table["class"] == name).to_numpy()
        in_context = (table["context"] == CONTEXT_OF[name]).to_numpy()
        need = gain[:, of_class].mean(1)
        pull = -gain[:, in_context].mean(1)
        rows[name] = ((need + pull) / 2).tolist()
    return pd.DataFrame.from_dict(rows, orient="index")
