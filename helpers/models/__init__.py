"""Models: build, train, keep and ask them (paper section 2.1.2).

A model is several trainings: `trainings` is what notebooks call. It returns the networks that its
arguments decide, from the store where any notebook has trained them before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
import torchvision
from safetensors import safe_open
from safetensors.torch import save_file

import helpers
from helpers.data.collection import Drawn
from helpers.models import weights as weights_of
from helpers.models.inference import default_device, logits, single_thread
from helpers.models.networks import Classifier, build
from helpers.models.training import History, augment, train
from helpers.run import artifacts
from helpers.run.progress import progress

__all__ = [
    "Classifier",
    "History",
    "augment",
    "build",
    "logits",
    "pretrained",
    "single_thread",
    "train",
    "trained",
    "trainings",
]

VERSION = 4  # raise when a change of the code changes what it trains


def trainings(
    number: int,
    architecture: str,
    train_set,
    val_set,
    *,
    seed: int = 0,
    redraw: Callable[[int], Drawn] | None = None,
    **settings,
) -> list[Classifier]:
    """Several trainings of one model.

    They differ in their random seed and, where `redraw` is given, in their training images: what
    another drawing of the images would have taught is then part of how far they are apart.

    Each is a file of its own in the store, so a run that is killed keeps those that are finished,
    and five trainings are the first five of ten.

    Parameters
    ----------
    number : int
        How many; 1 or more.
    architecture, train_set, val_set, settings
        As for `trained`.
    seed : int
        Of the model. Training t has the seed `seed` * 1000 + t.
    redraw : callable, optional
        Gives the images of training t from the second on (t = 1); the first has `train_set`. With
        None all trainings see the same images.

    Returns
    -------
    list of Classifier
    """
    if number < 1:
        raise ValueError(f"A model is 1 training or more, not {number}.")
    return [
        trained(
            architecture,
            train_set,
            val_set,
            seed=1000 * seed + t,
            drawn=redraw(t) if redraw and t else None,
            **settings,
        )
        for t in progress(range(number), desc="trainings", delay=2)
    ]


def trained(
    architecture: str,
    train_set,
    val_set,
    *,
    weights: str | Path | None = None,
    seed: int = 0,
    epochs: int = 25,
    store: Path | str,
    drawn: Drawn | None = None,
    **settings,
) -> Classifier:
    """The model these arguments decide, trained once and then found in the store.

    Parameters
    ----------
    architecture, weights
        As for `build`.
    train_set, val_set : helpers.data.ImageSet
        Of which `images`, `labels` and `classes` are used.
    seed : int
        Of the fresh weights, the order, the augmentation and the dropout.
    epochs : int
    store : Path
        Folder of the trained models; safe for several processes at once.
    drawn : helpers.data.Drawn, optional
        Images to train on in place of those of the two sets.
    **settings
        More arguments of `train`: `learning_rate`, `tune` ...

    Returns
    -------
    Classifier
        In eval mode, on the CPU, with its `history`.

    Raises
    ------
    ValueError
        When the two sets have different classes; and what `build` and `train` raise.
    UnreadableArtifact
        When the stored file is damaged; it says which to delete.
    """
    if tuple(train_set.classes) != tuple(val_set.classes):
        raise ValueError(
            f"The training set has classes {train_set.classes}, the validation set "
            f"{val_set.classes}: they must be the same, in the same order."
        )
    path = _kept(
        architecture,
        tuple(train_set.classes),
        drawn or (train_set.images, train_set.labels, val_set.images, val_set.labels),
        weights=weights,
        seed=seed,
        epochs=epochs,
        store=store,
        settings=settings,
    )
    with artifacts.reading(path):
        model = build(architecture, len(train_set.classes), weights=path)
        model.history = _read_history(path)
    return model.eval()


def pretrained(
    architecture: str,
    images: torch.Tensor,
    labels: torch.Tensor,
    *,
    seed: int = 0,
    epochs: int = 25,
    store: Path | str,
    **settings,
) -> Path:
    """Weights trained on a wider world, for `build(..., weights=...)` to start from.

    What ImageNet is to the paper's `pt-` models: many kinds of objects, whose contexts tell nothing
    about them. Every sixth image of each kind is held out to choose the epoch.

    Parameters
    ----------
    architecture : str
    images : uint8 tensor (N, 3, H, W)
    labels : int64 tensor (N,)
        Kinds, 0 to the number of kinds - 1, 6 images a kind or more.
    seed, epochs, store, settings
        As for `trained`.

    Returns
    -------
    Path
        A `.safetensors` file with `architecture`'s own layer names.
    """
    held_out = torch.zeros(len(labels), dtype=torch.bool)
    for kind in labels.unique():
        held_out[(labels == kind).nonzero().flatten()[5::6]] = True
    return _kept(
        architecture,
        tuple(range(int(labels.max()) + 1)),
        (images[~held_out], labels[~held_out], images[held_out], labels[held_out]),
        weights=None,
        seed=seed,
        epochs=epochs,
        store=store,
        settings=settings,
    )


def _kept(architecture, classes, data, *, weights, seed, epochs, store, settings) -> Path:
    """The file with the model these arguments decide, trained if there is none."""
    device = torch.device(settings.pop("device", None) or default_device())
    name = artifacts.key(
        "model",
        architecture=architecture,
        classes=classes,
        data=data.recipe if isinstance(data, Drawn) else data,
        weights=weights_of.digest(architecture, weights),
        seed=seed,
        epochs=epochs,
        settings=settings,
        device=device.type,
        pinned=helpers.unpinned is None,  # other kernels end as another training
        versions=[VERSION, *map(_minor, (torch.__version__, torchvision.__version__))],
    )

    def make(path: Path) -> None:
        model = build(architecture, len(classes), weights=weights, seed=seed)
        images = data.draw() if isinstance(data, Drawn) else data
        history = train(model, *images, seed=seed, epochs=epochs, device=device, **settings)
        _save(path, model, {"architecture": architecture, "classes": classes}, history)

    return artifacts.cached(Path(store) / f"{name}.safetensors", make)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _save(path: Path, model: Classifier, facts: dict, history: History) -> None:
    """Weights under their usual names; facts and history as JSON in the file's header."""
    state = {name: tensor.contiguous() for name, tensor in model.network.state_dict().items()}
    facts = {**facts, "history": asdict(history)}
    save_file(state, path, metadata={name: json.dumps(fact) for name, fact in facts.items()})


def _read_history(path: Path) -> History:
    with safe_open(path, framework="pt") as file:
        return History(**json.loads(file.metadata()["history"]))
