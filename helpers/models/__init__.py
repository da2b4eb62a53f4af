"""Models: build, train, store and query them (paper section 2.1.2).

A model is several training runs.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path

import torch

from helpers import store
from helpers.data.collection import Drawn
from helpers.models.inference import DEVICES, device, logits, single_thread, threads
from helpers.models.loop import fit
from helpers.models.networks import Classifier, build, identity, once, wrap
from helpers.models.training import augment, train
from helpers.store import progress

__all__ = [
    "DEVICES",
    "Classifier",
    "augment",
    "build",
    "device",
    "logits",
    "single_thread",
    "threads",
    "train",
    "wrap",
]


def trainings(
    number: int,
    architecture: str,
    classes: Sequence[str],
    data: Callable[[int], Drawn],
    *,
    seed: int,
    device: torch.device | str = "cpu",
    **settings,
) -> list[Classifier]:
    """Return the training runs of one model, in eval mode, on a device, each with its `history`.

    Run t has the seed `seed` * 1000 + t and sees `data(t)`. It is trained on the device once, and
    later read from a file. `settings` are `epochs`, the `folder`, `weights` to start from,
    `threads`, and more arguments of `train`."""
    found, empty = [], build(architecture, len(classes)).eval()
    for t in progress(range(number), desc="training runs", delay=2):
        given = {"seed": 1000 * seed + t, "device": device, **settings}
        _, weights, facts = _stored(architecture, tuple(classes), data(t), **given)
        model = deepcopy(empty)  # a fresh one would draw its weights
        model.network.load_state_dict(weights)
        model.history = facts["history"]
        found.append(model.to(device))
    return found


def pretrained(
    architecture: str,
    kinds: int,
    data: Drawn,
    *,
    seed: int,
    epochs: int,
    folder: Path,
    device: torch.device | str = "cpu",
) -> Path:
    """Return a file of weights that were pretrained on `kinds` other kinds of synthetic images."""
    classes, settings = (
        tuple(range(kinds)),
        {"epochs": epochs, "folder": folder, "device": device},
    )
    return _stored(architecture, classes, data, seed=seed, **settings)[0]


def _stored(
    architecture,
    classes,
    data: Drawn,
    *,
    seed,
    epochs,
    folder,
    device="cpu",
    threads=1,
    weights=None,
    loop=fit,
    **settings,
) -> tuple[Path | None, dict[str, torch.Tensor], dict]:
    """The file, weights and facts of the model these arguments decide, trained if there is none.
    On how many threads decides last digits only, and is in no key."""

    def made() -> tuple[torch.nn.Module, dict]:
        model = build(architecture, len(classes), weights=weights, seed=seed).to(device)
        how = {"seed": seed, "epochs": epochs, "loop": loop, "threads": threads}
        history = train(model, *data.draw(), **how, **settings)
        return model.network, {
            "architecture": architecture,
            "classes": classes,
            "history": history,
        }

    decides = {
        "architecture": architecture,
        "classes": classes,
        "seed": seed,
        "epochs": epochs,
    }
    decides |= {"data": data.recipe, "settings": settings}
    decides |= {"weights": identity(architecture, weights)}
    try:
        decides["loop"] = store.function_digest(loop)
    except (TypeError, OSError):
        print(
            "The network is not stored for the next run, since its training loop has no source code."
        )
        network, facts = made()
        return None, network.state_dict(), facts
    return once("model", folder, made, device=torch.device(device).type, **decides)
