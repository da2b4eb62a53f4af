"""Prepare the paper's models on the images of a run, with which lessons begin."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from helpers import data, models
from helpers.data import Collection, world
from helpers.data.images import Images
from helpers.models.loop import fit
from helpers.models.networks import Classifier
from helpers.models.recipe import WIDER, Recipe
from helpers.synthetic_data import pictures, reduced

# the paper's prefixes (section 2.1.2), and one for models whose last layer is trained
FAMILIES = {"scratch": "model", "fine-tuned": "pt", "probe": "probe"}
SETS = ("NC", "C", "WB")  # in the order of Figure 2
WIDER_EPOCHS = 8
PHOTOGRAPH_EPOCHS = 25


def require_contexts(collection: Collection) -> None:
    """Refuse a collection without background images.

    Parameters
    ----------
    collection : Collection

    Raises
    ------
    ValueError
        There are none. The message says what to do.
    """
    if not collection.contexts:
        raise ValueError(
            "This lesson needs background images, and there are none. Put images of "
            "the typical context of each class, without the object, into one folder "
            "per context, and name the folder of these folders in `contexts`. "
            "Lessons 01 and 02 run without them."
        )


def model_names(collection: Collection, families: list[str], sets=SETS) -> list[str]:
    """Name the paper's models for the image sets that there are.

    Parameters
    ----------
    collection : Collection
    families : list of str
        Keys of `FAMILIES`.
    sets : sequence of str
        The image sets. Sets that the collection does not have are left out.

    Returns
    -------
    list of str
        Names such as ``model-C`` and ``pt-WB``.

    Raises
    ------
    ValueError
        A family is none of the paper's.
    """
    for family in families:
        if family not in FAMILIES:
            raise ValueError(
                f"This lesson trains networks, so it has no model with fit {family!r}. "
                f"Use one of {', '.join(FAMILIES)}. Lessons 06 and 07 explain networks "
                "as they are."
            )
    available = [name for name in sets if name in collection.sets]
    return [f"{FAMILIES[family]}-{name}" for family in families for name in available]


def model(
    name: str, collection: Collection, recipe: Recipe, seed: int, loop: Callable = fit
) -> list[Classifier]:
    """Train one of the paper's models (section 2.1.2), or read it from files.

    Parameters
    ----------
    name : str
        One of :func:`model_names`.
    collection : Collection
        Each training run sees other images if they are synthetic.
    recipe : Recipe
        `name` says how the model is fitted, not the recipe.
    seed : int
    loop : callable
        See :func:`helpers.models.train`.

    Returns
    -------
    list of Classifier
        The training runs.

    """
    family, set_name = name.split("-")
    synthetic = collection.source == "world"
    epochs = PHOTOGRAPH_EPOCHS
    if synthetic and recipe.architecture in reduced.REDUCED:
        epochs = reduced.REDUCED[recipe.architecture].epochs
    weights = None if family == FAMILIES["scratch"] else recipe.start
    if weights == WIDER:
        size = collection.sets[set_name].images.shape[-1]
        weights, _ = pretrain(recipe.architecture, size, seed)
    return models.trainings(
        recipe.trainings,
        recipe.architecture,
        collection.classes,
        partial(collection.to_train, set_name),
        weights=weights,
        seed=seed,
        epochs=recipe.epochs or epochs,
        device=models.device(recipe.device, synthetic=synthetic),
        tune="last" if family == FAMILIES["probe"] else "all",
        loop=loop,
    )


def pretrain(architecture: str, size: int, seed: int) -> tuple[Path, Classifier]:
    """Train a network on synthetic images of other kinds, or read it from its file.

    It is trained on the CPU, as all networks of synthetic images are by default.
    """
    return models.train_once(
        architecture,
        tuple(range(len(pictures.WIDER_KINDS))),
        world.wider(size, seed),
        seed=seed,
        epochs=WIDER_EPOCHS,
    )


def without_bias(
    name: str, images: Images, recipe: Recipe, seed: int
) -> list[Classifier] | None:
    """Train the control model, on the unbiased counterpart of the synthetic dataset.

    There, class and context are independent.

    Parameters
    ----------
    name : str
    images : Images
    recipe : Recipe
    seed : int

    Returns
    -------
    list of Classifier or None
        The training runs; None for other images.
    """
    if images.source != "world":
        return None
    unbiased = replace(images, context_bias=1 / len(pictures.CONTEXT_OF))
    return model(name, data.load(unbiased, seed), recipe, seed)


def with_control(
    image_set: str, collection: Collection, settings: Any
) -> dict[str, list[Classifier]]:
    """Return the training runs of a model and, for synthetic images, of its control.

    Parameters
    ----------
    image_set : str
        The image set on which the model is trained, such as "C".
    collection : Collection
    settings : Settings
        The parameters of a lesson: `images`, `model` and `seed`.

    Returns
    -------
    dict of str to list of Classifier
        The networks of the "model" and of the "control model".
    """
    [name] = model_names(collection, [settings.model.fit], [image_set])
    networks = {"model": model(name, collection, settings.model, settings.seed)}
    control = without_bias(name, settings.images, settings.model, settings.seed)
    if control is not None:
        networks["control model"] = control
    return networks
