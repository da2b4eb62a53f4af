"""Models: build, train, keep and ask them (paper section 2.1.2). A model is several trainings."""

import json
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import safe_open

from helpers import source, store
from helpers.data.collection import Drawn
from helpers.models.inference import logits, single_thread
from helpers.models.loop import fit
from helpers.models.networks import Classifier, build, identity, once, wrap
from helpers.models.training import augment, train
from helpers.store import progress

__all__ = ["Classifier", "augment", "build", "logits", "single_thread", "train", "wrap"]

TRAINING = source.Source(  # what decides a training besides its arguments
    "__init__", "models/__init__", "models/inference", "models/loop", "models/networks",
    "models/reduced", "models/training",
)  # fmt: skip


def trainings(
    number: int,
    architecture: str,
    train_set,
    val_set,
    *,
    seed: int,
    redraw: Callable[[int], Drawn] | None = None,
    **settings,
) -> list[Classifier]:
    """Several trainings of one model, in eval mode, on the CPU, each with its `history`.

    Each is trained once and then found in a file of its own, so that five trainings are the first
    five of ten. Training t has the seed `seed` * 1000 + t, and `redraw` gives its images from the
    second on (t = 1). Of the two sets, `images`, `labels` and `classes` are used. `settings` are
    `epochs`, the `folder`, `weights` to start from, and more arguments of `train`. A damaged file
    is an UnreadableArtifact: it says what to delete.
    """
    classes = tuple(train_set.classes)
    given = (train_set.images, train_set.labels, val_set.images, val_set.labels)
    found = []
    for t in progress(range(number), desc="trainings", delay=2):
        data = redraw(t) if redraw and t else given
        path = _stored(architecture, classes, data, seed=1000 * seed + t, **settings)
        with store.reading(path), safe_open(path, framework="pt") as file:
            model = build(architecture, len(classes), weights=path).eval()
            model.history = json.loads(file.metadata()["history"])
        found.append(model)
    return found


def pretrained(architecture: str, images, labels, *, seed: int, epochs: int, folder: Path) -> Path:
    """A file of weights trained on a wider world: uint8 images (N, 3, H, W), int64 labels (N,).

    Every sixth image of each kind is held out to choose the epoch.
    """
    held_out = torch.zeros(len(labels), dtype=torch.bool)
    for kind in labels.unique():
        held_out[(labels == kind).nonzero().flatten()[5::6]] = True
    data = images[~held_out], labels[~held_out], images[held_out], labels[held_out]
    classes = tuple(range(int(labels.max()) + 1))
    return _stored(architecture, classes, data, seed=seed, epochs=epochs, folder=folder)


def _stored(
    architecture, classes, data, *, seed, epochs, folder, weights=None, loop=fit, **settings
) -> Path:
    """The file with the model these arguments decide, trained if there is none."""

    def made() -> tuple[torch.nn.Module, dict]:
        model = build(architecture, len(classes), weights=weights, seed=seed)
        images = data.draw() if isinstance(data, Drawn) else data
        history = train(model, *images, seed=seed, epochs=epochs, loop=loop, **settings)
        return model.network, {"architecture": architecture, "classes": classes, "history": history}

    decides = {"architecture": architecture, "classes": classes, "seed": seed, "epochs": epochs}
    decides |= {"data": data.recipe if isinstance(data, Drawn) else data, "settings": settings}
    decides |= {"weights": identity(architecture, weights), "loop": source.digest(loop)}
    return once("model", folder, made, code=TRAINING.digest(), **decides)
