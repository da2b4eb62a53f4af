"""What several notebooks begin with: the images a run asks for, and the paper's models on them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch

from helpers import models, project, sources, world

if TYPE_CHECKING:
    from helpers.networks import Classifier
    from helpers.sources import Collection

FAMILIES = {"scratch": "model", "pretrained": "pt"}  # the paper's prefixes, section 2.1.2
WIDER = "wider world"


def images(settings: SimpleNamespace) -> Collection:
    """The image sets that a notebook's parameters ask for.

    Parameters
    ----------
    settings
        From :func:`helpers.parameters.check`: `source`, `image_size`, `seed`, `per_class`,
        `context_bias`, `folder`, `contexts` and `context_of` are used.
    """
    return sources.load(
        settings.source,
        size=settings.image_size,
        seed=settings.seed,
        per_class=settings.per_class,
        context_bias=settings.context_bias,
        folder=settings.folder,
        contexts=settings.contexts,
        context_of=settings.context_of,
    )


def model_names(collection: Collection, families: list[str]) -> list[str]:
    """Names of the models of section 2.1.2, such as ``model-C`` and ``pt-WB``, for the sets there are.

    Parameters
    ----------
    families
        ``scratch`` (trained from a random state) and, or, ``pretrained``.
    """
    order = [name for name in ("NC", "C", "WB") if name in collection.sets]  # as in Figure 2
    return [f"{FAMILIES[family]}-{name}" for family in families for name in order]


def model(name: str, collection: Collection, settings: SimpleNamespace) -> Classifier:
    """One of the models of section 2.1.2, trained once and then found in the store.

    Parameters
    ----------
    name
        As from :func:`model_names`: ``model-`` or ``pt-`` and the set it is trained on.
    collection
        From :func:`images`.
    settings
        `architecture`, `pretrained`, `tune`, `epochs`, `seed` and `image_size` are used.

    Returns
    -------
    Classifier
        In eval mode, with its `history`.

    Raises
    ------
    KeyError
        When the collection has no such set.
    """
    prefix, _, set_name = name.partition("-")
    if set_name not in collection.sets:
        have = ", ".join(collection.sets)
        raise KeyError(f"{name}: there is no set {set_name!r}; this source has {have}")
    fine_tuned = prefix == FAMILIES["pretrained"]
    chosen = collection.sets[set_name]
    return models.trained(
        settings.architecture,
        chosen.split("train"),
        chosen.split("val"),
        weights=_start_weights(settings) if fine_tuned else None,
        seed=settings.seed,
        epochs=settings.epochs,
        store=project.store(),
        tune=settings.tune if fine_tuned else "all",
    )


def _start_weights(settings: SimpleNamespace):
    """What the fine-tuned models start from: ImageNet, a file, or the wider world."""
    if settings.pretrained != WIDER:
        return settings.pretrained
    wider = world.wider(size=settings.image_size, seed=settings.seed)
    kinds = sorted(wider.table["object"].unique())
    return models.pretrained(
        settings.architecture,
        torch.from_numpy(wider.images).permute(0, 3, 1, 2).contiguous(),
        torch.tensor([kinds.index(kind) for kind in wider.table["object"]]),
        seed=settings.seed,
        epochs=settings.epochs,
        store=project.store(),
    )
