"""Build, train, store and query models (paper section 2.1.2).

A model is several training runs.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from helpers import store
from helpers.data.collection import TrainingImages
from helpers.models.inference import DEVICES, device, logits, threads
from helpers.models.loop import fit
from helpers.models.networks import Classifier, build, identity, once, wrap
from helpers.models.training import train
from helpers.store import progress

__all__ = [
    "DEVICES",
    "Classifier",
    "build",
    "device",
    "logits",
    "threads",
    "train",
    "train_once",
    "trainings",
    "wrap",
]


def trainings(
    number: int,
    architecture: str,
    classes: Sequence[str],
    data: Callable[[int], TrainingImages],
    *,
    seed: int,
    **settings,
) -> list[Classifier]:
    """Train a model several times, or read its training runs from files.

    Parameters
    ----------
    number : int
        The number of training runs.
    architecture : str
        See :func:`build`.
    classes : sequence of str
    data : callable
        Returns the images that a run sees, from the number of the run.
    seed : int
        Run t has the seed 1000 * `seed` + t.
    **settings
        `epochs`, and optionally the `device` on which the networks are trained and
        stay, the `weights` to start from, and what else :func:`train` takes.

    Returns
    -------
    list of Classifier
        The runs in eval mode, each with its `history`.
    """
    runs = []
    for run in progress(range(number), desc="training runs", delay=2):
        _, model = train_once(
            architecture,
            classes,
            data(run),
            seed=1000 * seed + run,
            **settings,
        )
        runs.append(model)
    return runs


def train_once(
    architecture: str,
    classes: Sequence[str],
    data: TrainingImages,
    *,
    seed: int,
    epochs: int,
    device: torch.device | str = "cpu",
    weights: str | Path | None = None,
    loop: Callable = fit,
    **settings,
) -> tuple[Path, Classifier]:
    """Train a network once, or read its file.

    Parameters
    ----------
    architecture : str
        See :func:`build`.
    classes : sequence of str
    data : TrainingImages
    seed, epochs : int
    device : torch.device or str, default="cpu"
    weights : str, Path or None
        See :func:`build`.
    loop : callable
        See :func:`train`.
    **settings
        What else :func:`train` takes.

    Returns
    -------
    path : Path
        The file of weights.
    model : Classifier
        In eval mode, with the `history` of the training.
    """

    def run() -> tuple[torch.nn.Module, dict]:
        trained = build(architecture, len(classes), weights=weights, seed=seed)
        history = train(
            trained.to(device),
            *data.draw(),
            seed=seed,
            epochs=epochs,
            loop=loop,
            **settings,
        )
        return trained.network, {"history": history}

    # a stored run needs no weights to start from, which may have to be downloaded
    model = build(architecture, len(classes)).eval()
    decides = {
        "architecture": architecture,
        "classes": tuple(classes),
        "seed": seed,
        "epochs": epochs,
        "data": data.recipe,
        "settings": settings,
        "weights": identity(architecture, weights),
        "loop": store.function_digest(loop),
        "device": torch.device(device).type,
    }
    if model.code is not None:
        decides["code"] = model.code
    path, state, facts = once("model", run, **decides)
    model.network.load_state_dict(state)
    model.history = facts["history"]
    return path, model.to(device)
