"""What several notebooks begin with: the images a run asks for, and the paper's models on them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import data, models, store
from helpers.data import Collection, world
from helpers.data.images import Images
from helpers.models.loop import fit
from helpers.models.networks import Classifier
from helpers.models.recipe import WIDER, Recipe
from helpers.models.reduced import REDUCED
from helpers.synthetic_data import pictures

# The paper's prefixes (section 2.1.2), and one for a probe: only the last layer is fitted.
FAMILIES = {"scratch": "model", "fine-tuned": "pt", "probe": "probe"}
SETS = ("NC", "C", "WB")  # in the order of Figure 2
# The models' names: how each is fitted, and to which set.
MODELS = {
    f"{prefix}-{name}": (fit, name) for fit, prefix in FAMILIES.items() for name in SETS
}
WIDER_EPOCHS = 8
PHOTOGRAPHS = 25  # epochs of a run on photographs


def planted(images: Images) -> pd.DataFrame | None:
    """Return the injected bias of synthetic images (`pictures.planted`), None for other images."""
    bias = pictures.CONTEXT_BIAS if images.context_bias is None else images.context_bias
    return pictures.planted(bias) if images.source == "world" else None


def class_by_context(collection: Collection) -> pd.DataFrame:
    """Numbers of C's images: classes down, their contexts across; 0 where none is known."""
    table = collection.sets["C"].table
    order = [
        collection.context_of.get(name, f"none of {name}")
        for name in collection.classes
    ]
    counts = pd.crosstab(table["class"], table["context"])
    return counts.reindex(index=collection.classes, columns=order, fill_value=0)


def require_contexts(collection: Collection) -> None:
    """Refuse to go on without context images, with a ValueError that says what to do."""
    if not collection.contexts:
        raise ValueError(
            "This notebook needs context images, and there are none: put images of the typical "
            "context of each class, without the object, into one folder a context and name that "
            "folder in `contexts`. Notebooks 01 and 02 run without them."
        )


def model_names(collection: Collection, families: list[str], sets=SETS) -> list[str]:
    """Names of the paper's models, such as ``model-C`` and ``pt-WB``, for the sets there are."""
    have = [name for name in sets if name in collection.sets]
    return [f"{FAMILIES[family]}-{name}" for family in families for name in have]


def model(
    name: str, collection: Collection, recipe: Recipe, seed: int, loop: Callable = fit
) -> list[Classifier]:
    """Return the training runs of one of the paper's models (section 2.1.2), stored after training.

    `name` is one of :func:`model_names` and names the fit; `loop` is as for `models.train`. With the
    synthetic dataset, each run sees other images. A missing image set raises a KeyError."""
    prefix, _, set_name = name.partition("-")
    [family] = [fit for fit, known in FAMILIES.items() if known == prefix]
    if set_name not in collection.sets:
        have = ", ".join(collection.sets)
        raise KeyError(f"{name}: there is no set {set_name!r}; this source has {have}")
    synthetic = collection.source == "world"
    drawn = synthetic and recipe.architecture in REDUCED
    return models.trainings(
        recipe.trainings,
        recipe.architecture,
        collection.classes,
        partial(collection.to_train, set_name),
        weights=None
        if family == "scratch"
        else _start_weights(recipe, collection, seed),
        seed=seed,
        epochs=recipe.epochs
        or (REDUCED[recipe.architecture].epochs if drawn else PHOTOGRAPHS),
        folder=store.networks(),
        device=models.device(recipe.device, synthetic=synthetic),
        threads=models.threads(synthetic=synthetic),
        tune="last" if family == "probe" else "all",
        loop=loop,
    )


def without_bias(
    name: str, images: Images, recipe: Recipe, seed: int
) -> list[Classifier] | None:
    """Return the control model: trained on the unbiased counterpart of the synthetic dataset.

    There, class and context are independent. None for other images."""
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


def _start_weights(recipe: Recipe, collection: Collection, seed: int) -> str | Path:
    """Return the start of fine-tuned models: ImageNet, a file, or pretraining pictures."""
    if recipe.start != WIDER:
        return recipe.start
    things = world.wider(collection.size, seed)
    kept = {"seed": seed, "epochs": WIDER_EPOCHS, "folder": store.networks()}
    kept["device"] = models.device(recipe.device, synthetic=True)
    return models.pretrained(
        recipe.architecture, len(pictures.WIDER_KINDS), things, **kept
    )
