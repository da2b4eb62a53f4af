"""Prepare the models whose explanations are rated, and the images of their mosaics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import torch

from helpers import models
from helpers.data import Collection, ImageSet
from helpers.models import experiment
from helpers.models.inference import logits
from helpers.models.networks import Classifier
from helpers.models.recipe import Recipe
from helpers.suggest import places_of

AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Model:
    """A model that is explained, with its training runs and the logit of each class."""

    recipe: Recipe
    trained_on: str  # the image set
    trainings: Sequence[Classifier]
    logit: Mapping[str, int]

    @property
    def name(self) -> str:
        """Return the architecture and the image set."""
        return f"{self.recipe.architecture} {self.trained_on}"

    def targets(self, design: pd.DataFrame) -> torch.Tensor:
        """Return the logit that each mosaic of a design asks for, int64 (N,)."""
        return torch.tensor([self.logit[name] for name in design["target"]])


def held_out(collection: Collection, recipe: Recipe) -> dict[str, ImageSet]:
    """Return the images of mosaics.

    They are the test splits, or all images if the networks are not trained.
    """
    if recipe.fit == AS_IT_IS:
        return collection.sets
    return {name: images.split("test") for name, images in collection.sets.items()}


def model(
    collection: Collection, recipe: Recipe, seed: int, trained_on: str = "C"
) -> Model:
    """Return the training runs of one architecture on an image set.

    A network that is used as it is has one run, and its classes must be categories of
    ImageNet.
    """
    classes = collection.sets[trained_on].classes
    if recipe.fit != AS_IT_IS:
        name = f"{experiment.FAMILIES[recipe.fit]}-{trained_on}"
        trainings = experiment.model(name, collection, recipe, seed)
        logit = {name: number for number, name in enumerate(classes)}
    else:
        network = models.build(recipe.architecture, weights=recipe.start).eval()
        synthetic = collection.source == "world"
        trainings = [network.to(models.device(recipe.device, synthetic=synthetic))]
        logit = _logits_of_categories(recipe, network, classes)
    return Model(recipe, trained_on, trainings, logit)


def _logits_of_categories(
    recipe: Recipe, network: Classifier, classes: Sequence[str]
) -> dict[str, int]:
    """Find the categories of a network that is used as it is, by number or name."""
    categories = network.preprocessing.classes or ()
    if len(categories) != network.n_logits:
        raise ValueError(
            f"{recipe.start or recipe.architecture} has {network.n_logits} classes, "
            f"and {len(categories)} names of classes are known. Name them in the "
            "Python file (classes), or train the last layer (fit: probe or fine-tuned)."
        )
    known_as = [f"{number}, {name}" for number, name in enumerate(categories)]
    logit = {}
    for name in classes:
        # two categories may have one name, as "cardigan", which is a dog and is worn
        numbers = places_of(name, known_as)
        if len(numbers) != 1:
            raise ValueError(
                f"Class {name!r} is not the name or number of exactly one category of "
                f"{recipe.architecture}. Rename its folder, or train a network (fit: "
                "scratch, fine-tuned or probe)."
            )
        [logit[name]] = numbers
    return logit


def predictions(
    models: Sequence[Model], images: Mapping[str, ImageSet]
) -> pd.DataFrame:
    """Say which held-out images each training run classifies correctly.

    Each model sees the images of the set that it was trained on.

    Returns
    -------
    pandas.DataFrame
        One row per image and run: ``architecture``, ``set``, ``run``, ``image`` and
        ``correct``.
    """
    parts = []
    for model in models:
        shown = images[model.trained_on]
        wanted = shown.table["class"].map(model.logit)
        predicted = logits(model.trainings, shown.images).argmax(2)
        for run, of_run in enumerate(predicted.numpy()):
            rows = {
                "architecture": model.recipe.architecture,
                "set": model.trained_on,
                "run": run,
                "image": range(len(shown)),
                "correct": of_run == wanted,
            }
            parts.append(pd.DataFrame(rows))
    return pd.concat(parts, ignore_index=True)
