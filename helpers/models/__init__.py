"""Models: build, train, keep and ask them (paper section 2.1.2). A model is several trainings."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path

import torch

from helpers import source
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
    classes: Sequence[str],
    data: Callable[[int], Drawn],
    *,
    seed: int,
    **settings,
) -> list[Classifier]:
    """Several trainings of one model, in eval mode, on the CPU, each with its `history`. Training t
    has the seed `seed` * 1000 + t and sees `data(t)`; it is trained once and then found in a file.
    `settings` are `epochs`, the `folder`, `weights` to start from, and more arguments of
    `train`."""
    found, empty = [], build(architecture, len(classes)).eval()
    for t in progress(range(number), desc="trainings", delay=2):
        given = {"seed": 1000 * seed + t, **settings}
        _, weights, facts = _stored(architecture, tuple(classes), data(t), **given)
        model = deepcopy(empty)  # a fresh one would draw its weights
        model.network.load_state_dict(weights)
        model.history = facts["history"]
        found.append(model)
    return found


def pretrained(
    architecture: str, kinds: int, data: Drawn, *, seed: int, epochs: int, folder: Path
) -> Path:
    """A file of weights trained on images of a wider world, of as many `kinds`."""
    classes = tuple(range(kinds))
    return _stored(architecture, classes, data, seed=seed, epochs=epochs, folder=folder)[0]


def _stored(
    architecture, classes, data: Drawn, *, seed, epochs, folder, weights=None, loop=fit, **settings
) -> tuple[Path, dict[str, torch.Tensor], dict]:
    """The file, weights and facts of the model these arguments decide, trained if there is none."""

    def made() -> tuple[torch.nn.Module, dict]:
        model = build(architecture, len(classes), weights=weights, seed=seed)
        history = train(model, *data.draw(), seed=seed, epochs=epochs, loop=loop, **settings)
        return model.network, {"architecture": architecture, "classes": classes, "history": history}

    decides = {"architecture": architecture, "classes": classes, "seed": seed, "epochs": epochs}
    decides |= {"data": data.recipe, "settings": settings}
    decides |= {"weights": identity(architecture, weights), "loop": source.digest(loop)}
    return once("model", folder, made, code=TRAINING.digest(), **decides)
