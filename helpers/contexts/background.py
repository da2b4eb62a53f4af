"""What lies around the objects: its colour, and how much of an explanation falls on it.
*Assessing Biases through Visual Contexts*, sections 2.1.1 and 4 (Figure 16)."""

from collections.abc import Mapping, Sequence

import torch

from helpers import explain
from helpers.data import ImageSet
from helpers.explain import Maps, layers

LEAST_MAP = 5  # pixels across and down below which a feature map cannot tell object from background


def examples(images: ImageSet, context_of: Mapping[str, str], n: int = 2) -> list[int]:
    """Indices of the first `n` images of each class, those in its own context first."""
    table = images.table.reset_index(drop=True)
    other = table["context"] != table["class"].map(context_of)
    ranked = table.loc[other.sort_values(kind="stable").index, "class"]
    return [i for name in images.classes for i in ranked.index[ranked == name][:n]]


def layer_for(model: torch.nn.Module, images: torch.Tensor) -> str:
    """The last feature map that can tell where: of `LEAST_MAP` by `LEAST_MAP` pixels or more."""
    return layers.last_map(model, images[:1].float() / 255, LEAST_MAP)


def explained(model: Sequence, images: ImageSet, layer: str | None = None) -> list[Maps]:
    """GradCAM's maps of images for their own class, by every training, at :func:`layer_for`'s."""
    layer = layer or layer_for(model[0], images.images)
    arguments = images.images, images.labels, "gradcam"
    return [explain.explain(training, *arguments, layer=layer) for training in model]
