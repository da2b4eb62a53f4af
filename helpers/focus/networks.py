"""Prepare the models whose explanations are rated, and the images of their mosaics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

import pandas as pd
import torch

from helpers import models
from helpers.data import Collection, ImageSet
from helpers.models import experiment, preprocessing
from helpers.models.inference import logits
from helpers.models.networks import Classifier
from helpers.models.recipe import Recipe
from helpers.suggest import plain

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
        return Model(recipe, trained_on, trainings, logit)
    network = models.build(recipe.architecture, weights=recipe.start).eval()
    number_of = _numbers_of_categories(recipe, network)
    unknown = [name for name in classes if plain(name) not in number_of]
    if unknown:
        raise ValueError(
            f"Class {unknown[0]!r} is not the name or number of exactly one category "
            f"of {recipe.architecture}. Rename its folder, or train a network (fit: "
            "scratch, fine-tuned or probe)."
        )
    network.to(models.device(recipe.device, synthetic=collection.source == "world"))
    logits_of_classes = {name: number_of[plain(name)] for name in classes}
    return Model(recipe, trained_on, [network], logits_of_classes)


def _numbers_of_categories(recipe: Recipe, network: Classifier) -> dict[str, int]:
    """Return the logit of each category of a network that is used as it is.

    A category is found by its number, and by its name if no other has this name, as
    "cardigan", which is a dog and is worn.
    """
    n_logits = len(network.network.get_submodule(network.head).weight)
    stated = network.preprocessing
    if stated is None:
        library = import_module("torchvision.models")
        weights = library.get_model_weights(recipe.architecture).DEFAULT
        stated = preprocessing.stated(network, weights)
    categories = stated.classes or ()
    if len(categories) != n_logits:
        raise ValueError(
            f"{recipe.start or recipe.architecture} has {n_logits} classes, and "
            f"{len(categories)} names of classes are known. Name them in the Python "
            "file (classes), or train the last layer (fit: probe or fine-tuned)."
        )
    names = pd.Series([plain(name) for name in categories])
    unique = names[~names.duplicated(keep=False)]
    numbers = {str(number): number for number in range(n_logits)}
    return {**numbers, **{name: number for number, name in unique.items()}}


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
        correct = pd.DataFrame(predicted.numpy() == wanted.to_numpy())
        correct = correct.rename_axis(index="run", columns="image").stack()
        rows = correct.rename("correct").reset_index()
        about = {"architecture": model.recipe.architecture, "set": model.trained_on}
        parts.append(rows.assign(**about))
    return pd.concat(parts, ignore_index=True)
