"""The models whose explanations are rated: trainings of an architecture on an image set."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import models, stats
from helpers.data import Collection, ImageSet
from helpers.data.folders import plain
from helpers.focus.mosaics import IMAGES, design
from helpers.models import experiment
from helpers.models.inference import logits
from helpers.models.networks import Classifier, read
from helpers.models.recipe import Recipe

AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Model:
    """A model that is explained: its trainings, and the logit of each class."""

    recipe: Recipe
    trained_on: str  # the image set
    trainings: Sequence[Classifier]
    logit: Mapping[str, int]

    @property
    def name(self) -> str:
        return f"{self.recipe.architecture} {self.trained_on}"


def main_set(collection: Collection) -> str:
    """C, or the first set where there is none, as of the mosaics that the authors published."""
    return "C" if "C" in collection.sets else next(iter(collection.sets))


def held_out(collection: Collection, recipe: Recipe) -> dict[str, ImageSet]:
    """The images that mosaics are made of: test splits, or all images where nothing is trained."""
    sets = collection.sets.items()
    if recipe.fit == AS_IT_IS:
        return {
            name: replace(s, table=s.table.assign(split="test")) for name, s in sets
        }
    return {name: images.split("test") for name, images in sets}


def designs(collection: Collection, recipe: Recipe, per_class: int, seed: int) -> dict:
    """Mosaics of each set's held-out images, `per_class` of each target; or published ones."""
    images, designs_of = held_out(collection, recipe), {}
    for name, one in images.items():
        ready = collection.mosaics.get(name)
        if ready is None:
            designs_of[name] = design(
                one.table, one.classes, per_class=per_class, seed=seed
            )
            continue
        if recipe.fit != AS_IT_IS:
            held = np.flatnonzero(collection.sets[name].table["split"] == "test")
            ready = ready[ready[IMAGES].isin(held).all(axis=1)]
            ready = ready.assign(
                **{cell: np.searchsorted(held, ready[cell]) for cell in IMAGES}
            )
        if ready.empty:
            raise ValueError(f"{name}: no published mosaic is free of training images.")
        designs_of[name] = (
            ready.groupby("target").head(per_class).reset_index(drop=True)
        )
    return designs_of


def model(
    collection: Collection, recipe: Recipe, seed: int, trained_on: str = ""
) -> Model:
    """The trainings of one architecture on a set, by default the `main_set`; a network as it is has
    one, and a class that is no ImageNet category is refused."""
    trained_on = trained_on or main_set(collection)
    classes = collection.sets[trained_on].classes
    if recipe.fit != AS_IT_IS:
        [name] = experiment.model_names(collection, [recipe.fit], [trained_on])
        trainings = experiment.model(name, collection, recipe, seed)
        return Model(
            recipe, trained_on, trainings, {c: i for i, c in enumerate(classes)}
        )
    entry = import_module("torchvision.models").get_model_weights(recipe.architecture)
    categories = entry.DEFAULT.meta["categories"]
    often = Counter(map(plain, categories))  # "cardigan" is a dog, and is worn
    known = {
        plain(n): number for number, n in enumerate(categories) if often[plain(n)] == 1
    }
    known |= {str(number): number for number in range(len(categories))}
    for unknown in (name for name in classes if plain(name) not in known):
        raise ValueError(
            f"Class {unknown!r} is no ImageNet category, or two, nor a number of one: rename its "
            "folder, or train a network (fit: scratch, fine-tuned or probe)."
        )
    network = models.build(recipe.architecture, len(categories), weights=recipe.start)
    head = {} if recipe.start == "imagenet" else read(Path(recipe.start))
    if (many := len(head.get(f"{network.head}.weight", categories))) != len(categories):
        told = (
            f"{recipe.start} is of {many} classes, not of ImageNet's {len(categories)}"
        )
        raise ValueError(f"{told}: train its last layer (fit: probe or fine-tuned).")
    network.to(models.device(recipe.device, synthetic=collection.source == "world"))
    return Model(
        recipe, trained_on, [network.eval()], {c: known[plain(c)] for c in classes}
    )


def accuracies(
    several: Sequence[Model], images: Mapping[str, ImageSet]
) -> pd.DataFrame:
    """Accuracy of each model, with low and high, on the held-out images of its own set."""
    rows = []
    for one in several:
        correct = right(one, images[one.trained_on])
        rows.append(
            (
                one.recipe.architecture,
                one.trained_on,
                *correct.shape,
                *stats.share(correct),
            )
        )
    names = ["architecture", "set", "trainings", "images", "accuracy", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def right(model: Model, images: ImageSet) -> np.ndarray:
    """Which images each training names right: bool (T, N)."""
    wanted = np.array([model.logit[name] for name in images.table["class"]])
    return logits(model.trainings, images.images).argmax(2).numpy() == wanted
