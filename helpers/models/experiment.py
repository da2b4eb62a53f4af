"""What several notebooks begin with: the images a run asks for, and the paper's models on them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pandas as pd
import torch

from helpers import data, models
from helpers.models.reduced import EPOCHS
from helpers.run import project
from helpers.worlds import pictures

if TYPE_CHECKING:
    from helpers.data import Collection
    from helpers.models.networks import Classifier

# The paper's prefixes (section 2.1.2), and one for a linear probe: the last layer fitted only.
FAMILIES = {"scratch": "model", "pretrained": "pt", "probe": "probe"}
WIDER = "wider world"
WIDER_EPOCHS = 8
PHOTOGRAPHS = 25  # epochs of a training on photographs


def images(settings: SimpleNamespace) -> Collection:
    """The image sets that a notebook's parameters ask for.

    Parameters
    ----------
    settings
        From :func:`helpers.run.parameters.check`: `source`, `image_size`, `seed`, `per_class`,
        `context_bias` and `folder` are used; where the notebook has them `contexts`, `context_of`
        and, in the world, `shared_patch`. A notebook without `contexts` reads none.

    Returns
    -------
    Collection
        What must be known of files (unreadable ones, copies) is printed as well.
    """
    is_world = settings.source == "world"
    collection = data.load(
        settings.source,
        size=settings.image_size,
        seed=settings.seed,
        per_class=settings.per_class,
        context_bias=settings.context_bias,
        shared_patch=getattr(settings, "shared_patch", 0.0) if is_world else 0.0,
        folder=settings.folder,
        contexts=getattr(settings, "contexts", None),
        context_of=getattr(settings, "context_of", None),
        with_contexts=hasattr(settings, "contexts"),
    )
    if not is_world and collection.report:
        print("\n".join(collection.report))
    return collection


def planted(settings: SimpleNamespace) -> pd.DataFrame | None:
    """What is planted in the images (see `worlds.pictures.planted`); None outside the world."""
    if settings.source != "world":
        return None
    bias = settings.context_bias
    return pictures.planted(pictures.CONTEXT_BIAS if bias is None else bias)


def class_by_context(collection: Collection) -> pd.DataFrame:
    """Numbers of C's images: classes down, their contexts across in the same order."""
    table = collection.sets["C"].table
    order = [collection.context_of[name] for name in collection.classes]
    counts = pd.crosstab(table["class"], table["context"])
    return counts.reindex(index=collection.classes, columns=order, fill_value=0)


def require_contexts(collection: Collection) -> None:
    """Refuse to go on without context images, saying what to do.

    Raises
    ------
    ValueError
        When the collection has none.
    """
    if not collection.contexts:
        raise ValueError(
            "This notebook needs context images, and there are none: put images of the typical "
            "context of each class, without the object, into one folder a context and name that "
            "folder in `contexts`. Notebooks 01 and 02 run without them."
        )


def histories(models: dict[str, list[Classifier]]) -> pd.DataFrame:
    """How the models were trained: a row a training with its kept epoch, losses and accuracy."""
    rows = [
        {"model": name, "training": t, "epochs": len(m.history.epochs), **m.history.best}
        for name, trainings in models.items()
        for t, m in enumerate(trainings)
    ]
    return pd.DataFrame(rows).rename(columns={"epoch": "kept epoch"})


def model_names(
    collection: Collection, families: list[str], sets: Sequence[str] = ("NC", "C", "WB")
) -> list[str]:
    """Names of the paper's models, such as ``model-C`` and ``pt-WB``, for the sets there are.

    Parameters
    ----------
    families
        Some of ``scratch`` (trained from a random state), ``pretrained`` (all layers fine-tuned)
        and ``probe`` (the last layer of a pretrained network).
    sets
        The training sets, in the order of Figure 2; those that the collection lacks are left out.
    """
    have = [name for name in sets if name in collection.sets]
    return [f"{FAMILIES[family]}-{name}" for family in families for name in have]


def model(name: str, collection: Collection, settings: SimpleNamespace) -> list[Classifier]:
    """The trainings of one of the models of section 2.1.2, trained once and found in the store.

    Parameters
    ----------
    name
        As from :func:`model_names`: ``model-``, ``pt-`` or ``probe-`` and the set it is trained on.
    collection
        From :func:`images`.
    settings
        `architecture`, `pretrained`, `epochs`, `seed`, `trainings`, `source` and `image_size` are
        used.

    Returns
    -------
    list of Classifier
        In eval mode, with their `history`. In the world each is trained on other images. Those of
        a fine-tuned model start from the same weights.

    Raises
    ------
    KeyError
        When the collection has no such set.
    """
    prefix, _, set_name = name.partition("-")
    if set_name not in collection.sets:
        have = ", ".join(collection.sets)
        raise KeyError(f"{name}: there is no set {set_name!r}; this source has {have}")
    chosen = collection.sets[set_name]
    return models.trainings(
        settings.trainings,
        settings.architecture,
        chosen.split("train"),
        chosen.split("val"),
        weights=None if prefix == FAMILIES["scratch"] else _start_weights(settings),
        seed=settings.seed,
        redraw=partial(collection.redraw, set_name) if collection.redraw else None,
        epochs=epochs(settings),
        store=project.store(),
        tune="last" if prefix == FAMILIES["probe"] else "all",
    )


def epochs(settings: SimpleNamespace) -> int:
    """Epochs of a training: those asked for, else what drawn images or photographs take."""
    drawn = EPOCHS.get(settings.architecture) if settings.source == "world" else None
    return settings.epochs or drawn or PHOTOGRAPHS


def _start_weights(settings: SimpleNamespace):
    """What the fine-tuned models start from: ImageNet, a file, or the wider world."""
    if settings.pretrained != WIDER:
        return settings.pretrained
    wider = pictures.wider(size=settings.image_size, seed=settings.seed)
    kinds = sorted(wider.table["object"].unique())
    return models.pretrained(
        settings.architecture,
        torch.from_numpy(wider.images).permute(0, 3, 1, 2).contiguous(),
        torch.tensor([kinds.index(kind) for kind in wider.table["object"]]),
        seed=settings.seed,
        epochs=WIDER_EPOCHS,
        store=project.store(),
    )
