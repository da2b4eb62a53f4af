"""What lies around the objects: its colour, and how much of an explanation falls on it.
*Assessing Biases through Visual Contexts*, sections 2.1.1 and 4 (Figure 16)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
import torch

from helpers import data, explain, stats
from helpers.contexts import effects, mosaics
from helpers.data import Collection, ImageSet
from helpers.data.grids import cells
from helpers.data.images import Images
from helpers.explain import Maps, layers
from helpers.models import experiment
from helpers.models.recipe import Recipe

SMALLER = {"per_class": 90, "trainings": 3}  # of a test at another size
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


def two_layers(model: torch.nn.Module, images: torch.Tensor) -> dict[str, int]:
    """The layer of :func:`layer_for`, and the last one twice as fine; with their shorter sides."""
    found, least, one = {}, LEAST_MAP, images[:1].float() / 255
    for _ in range(2):
        name = layers.last_map(model, one, least)
        with layers.output_of(model, name) as kept:
            layers.logits_of(model, one)
        found[name] = min(kept[0].shape[-2:])
        least = 2 * found[name]
    return found


def relevance(trainings: Sequence[Maps], images: ImageSet) -> pd.DataFrame:
    """Share of each map's positive relevance that lies on the background, for each training: object
    (index of the image); share and peak (the most relevant pixel is on the background), NaN where a
    map is empty; area, what a uniform map gives; excess, what is more than that."""
    if images.masks is None:
        raise ValueError(f"set {images.name} has no masks: where the background is, is not known")
    ground = ~images.masks.flatten(1)
    area, parts = ground.double().mean(1).numpy(), []
    for training, maps in enumerate(trainings):
        positive = maps.maps.clamp(min=0).flatten(1).double()
        total = positive.sum(1)
        share = ((positive * ground).sum(1) / total).numpy()
        peak = ground.gather(1, positive.argmax(1, keepdim=True))[:, 0].double()
        table = images.table[["class"]].reset_index(drop=True).assign(share=share, area=area)
        table["excess"], table["peak"] = share - area, peak.where(total > 0, torch.nan).numpy()
        parts.append(table.rename_axis("object").reset_index().assign(training=training))
    return pd.concat(parts, ignore_index=True)


def fair_test(model: Sequence, reference: Sequence, images: ImageSet) -> pd.DataFrame:
    """`effects.beyond` of both at two layers; size and pixels are the sides of image and map."""
    parts = []
    for layer, pixels in two_layers(model[0], images.images).items():
        both = [relevance(explained(nets, images, layer), images) for nets in (model, reference)]
        of = {"size": images.images.shape[-1], "layer": layer, "pixels": pixels}
        parts.append(effects.beyond(*both).assign(**of))
    return pd.concat(parts, ignore_index=True)


def fair_test_at(size: int, name: str, images: Images, recipe: Recipe, seed: int) -> pd.DataFrame:
    """:func:`fair_test` of the same world drawn at another size, in small: `SMALLER`."""
    larger = replace(images, size=size, per_class=SMALLER["per_class"])
    few = replace(recipe, trainings=min(SMALLER["trainings"], recipe.trainings))
    collection = data.load(larger, seed)
    model = experiment.model(name, collection, few, seed)
    reference = experiment.without_bias(name, larger, few, seed)
    return fair_test(model, reference, collection.sets["C"].split("test"))


def explained(model: Sequence, images: ImageSet, layer: str | None = None) -> list[Maps]:
    """GradCAM's maps of images for their own class, by every training, at :func:`layer_for`'s."""
    layer = layer or layer_for(model[0], images.images)
    given = images.images, images.labels, "gradcam"
    return [explain.explain(training, *given, layer=layer) for training in model]


def in_mosaics(
    model: Sequence, collection: Collection, *, seed: int, layer=None, neutral="shuffled"
) -> pd.DataFrame:
    """Explain mosaics for their *context's* class: how much relevance lies on the context's half?

    Every test image of C is put beside one image of each other class's context, and beside the
    neutral one: no mask is needed. context and neutral are the shares on the right half (NaN where
    a map is empty), more is their difference."""
    objects, contexts = collection.sets["C"].split("test"), collection.contexts
    given = objects.labels, contexts, collection.classes
    design = mosaics.design(*given, per_context=1, controls=(), seed=seed)
    given = objects.images, contexts, mosaics.neutral(objects.images, neutral, seed)
    images = {
        "context": mosaics.build(design, *given),
        "neutral": mosaics.build(design.assign(kind="neutral", context=0), *given),
    }
    order = list(collection.classes).index
    targets = torch.tensor(design["context_class"].map(order).to_numpy())
    layer = layer or layer_for(model[0], images["context"])
    half, parts = cells(objects.images.shape[-1], 2, "squeezed")[0], []
    for number, training in enumerate(model):
        table = design[effects.IMAGE[1:]].assign(training=number)
        for name, shown in images.items():
            maps = explain.explain(training, shown, targets, "gradcam", layer=layer).maps.double()
            table[name] = (maps[..., half:].sum((1, 2)) / maps.sum((1, 2))).clamp(max=1).numpy()
        parts.append(table.assign(more=table["context"] - table["neutral"]))
    found, by = pd.concat(parts), "context_class"
    return found.sort_values(by, key=lambda n: n.map(order), kind="stable", ignore_index=True)
