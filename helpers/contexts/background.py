"""What lies around the objects: its colour, and how much of an explanation falls on it.
*Assessing Biases through Visual Contexts*, sections 2.1.1 and 4 (Figure 16)."""

from collections.abc import Mapping, Sequence

import pandas as pd
import torch

from helpers import explain, stats
from helpers.data import ImageSet
from helpers.explain import Maps, layers

LEAST_MAP = 5  # pixels across and down below which a feature map cannot tell object from background


def examples(images: ImageSet, context_of: Mapping[str, str], n: int = 2) -> list[int]:
    """Indices of the first `n` images of each class, those in its own context first."""
    table = images.table.reset_index(drop=True)
    other = table["context"] != table["class"].map(context_of)
    ranked = table.loc[other.sort_values(kind="stable").index, "class"]
    return [i for name in images.classes for i in ranked.index[ranked == name][:n]]


def mean_colours(images: ImageSet) -> dict[str, torch.Tensor]:
    """Mean RGB of each image by region, float64 (N, 3), NaN where a region is empty."""
    pixels = images.images.double()
    if images.masks is None:
        return {"image": pixels.mean((2, 3))}
    regions = {"object": images.masks, "background": ~images.masks}
    return {
        region: (pixels * mask[:, None]).sum((2, 3)) / mask.sum((1, 2))[:, None]
        for region, mask in regions.items()
        if region == "object" or images.name == "C"
    }


def guesses(sets: Mapping[str, ImageSet]) -> pd.DataFrame:
    """Guess the class of every test image: that whose mean colour in training is nearest."""
    parts = []
    for name, images in sets.items():
        train, test = images.split("train"), images.split("test")
        learned = mean_colours(train)
        for region, colours in mean_colours(test).items():
            of_class = [learned[region][train.labels == i] for i in range(len(images.classes))]
            centres = torch.stack([part.nanmean(0) for part in of_class])
            right = (torch.cdist(colours, centres).argmin(1) == test.labels).numpy()
            of = {"set": name, "region": region, "class": test.table["class"], "right": right}
            parts.append(pd.DataFrame(of))
    return pd.concat(parts, ignore_index=True)


def given_away(guesses: pd.DataFrame) -> pd.DataFrame:
    """How often a mean colour names the class; chance is to guess always the largest class."""
    groups = guesses.groupby(["set", "region"], sort=False)
    found = groups["right"].agg(accuracy="mean", images="size")
    found["low"], found["high"] = stats.wilson(groups["right"].sum(), found["images"])
    found["chance"] = groups["class"].agg(lambda names: names.value_counts(normalize=True).max())
    return found[["accuracy", "low", "high", "chance", "images"]].reset_index()


def layer_for(model: torch.nn.Module, images: torch.Tensor) -> str:
    """The last feature map that can tell where: of `LEAST_MAP` by `LEAST_MAP` pixels or more."""
    return layers.last_map(model, images[:1].float() / 255, LEAST_MAP)


def explained(model: Sequence, images: ImageSet, layer: str | None = None) -> list[Maps]:
    """GradCAM's maps of images for their own class, by every training, at :func:`layer_for`'s."""
    layer = layer or layer_for(model[0], images.images)
    given = images.images, images.labels, "gradcam"
    return [explain.explain(training, *given, layer=layer) for training in model]
