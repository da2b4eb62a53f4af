"""Models: build, train, keep and ask them (paper section 2.1.2). A model is several trainings."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import torchvision
from safetensors import safe_open
from safetensors.torch import save_file

import helpers
from helpers import source, store
from helpers.data.collection import Drawn
from helpers.models.inference import default_device, logits, single_thread
from helpers.models.loop import fit
from helpers.models.networks import Classifier, build, identity, wrap
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
    weights: str | Path | None = None,
    seed: int,
    epochs: int,
    folder: Path | str,
    redraw: Callable[[int], Drawn] | None = None,
    loop: Callable = fit,
    **settings,
) -> list[Classifier]:
    """Several trainings of one model, each trained once and then found in the store.

    Each is a file of its own, so a run that is killed keeps those that are finished, and five
    trainings are the first five of ten.

    Of the two sets, `images`, `labels` and `classes` are used (:class:`helpers.data.ImageSet`).
    Training t has the seed `seed` * 1000 + t, which decides the fresh weights, the order, the
    augmentation and the dropout. `redraw` gives the images of training t from the second on
    (t = 1). `loop` and `settings` are more arguments of `train`. The networks are in eval mode, on
    the CPU, and have a `history`. A damaged file is an UnreadableArtifact: it says what to delete.
    """
    classes = tuple(train_set.classes)
    given = (train_set.images, train_set.labels, val_set.images, val_set.labels)
    kept = partial(
        _stored, architecture, classes, weights=weights, epochs=epochs, folder=folder, loop=loop
    )
    found = []
    for t in progress(range(number), desc="trainings", delay=2):
        path = kept(redraw(t) if redraw and t else given, seed=1000 * seed + t, **settings)
        with store.reading(path), safe_open(path, framework="pt") as file:
            model = build(architecture, len(classes), weights=path).eval()
            model.history = json.loads(file.metadata()["history"])
        found.append(model)
    return found


def pretrained(architecture: str, images, labels, *, seed: int, epochs: int, folder: Path) -> Path:
    """A file of weights trained on a wider world, for a model to start from.

    Images are uint8 (N, 3, H, W), labels int64 (N,). Every sixth image of each kind is held out to
    choose the epoch.
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
    versions = [version.split(".")[:2] for version in (torch.__version__, torchvision.__version__)]
    name = store.key(
        "model",
        architecture=architecture,
        classes=classes,
        data=data.recipe if isinstance(data, Drawn) else data,
        weights=identity(architecture, weights),
        seed=seed,
        epochs=epochs,
        settings=settings,
        device=default_device().type,
        pinned=helpers.unpinned is None,  # other kernels end as another training
        versions=[*map(".".join, versions)],
        code=[TRAINING.digest(), source.digest(loop)],
    )

    def make(path: Path) -> None:
        model = build(architecture, len(classes), weights=weights, seed=seed)
        images = data.draw() if isinstance(data, Drawn) else data
        history = train(model, *images, seed=seed, epochs=epochs, loop=loop, **settings)
        state = {name: tensor.contiguous() for name, tensor in model.network.state_dict().items()}
        facts = {"architecture": architecture, "classes": classes, "history": history}
        save_file(state, path, metadata={name: json.dumps(fact) for name, fact in facts.items()})

    return store.cached(Path(folder) / f"{name}.safetensors", make)
