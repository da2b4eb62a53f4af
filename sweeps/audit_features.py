"""Compute features of images alone and in contexts, for the trials of the model audit.

The images are photographs in folders, or synthetic images of the lessons.
"""

from pathlib import Path

import numpy as np
import torch

from helpers.audit import features, model, sample
from helpers.audit.context_scores import paste
from helpers.data.decoding import decode

CLASSES = ("airplane", "cup", "fire hydrant", "kangaroo")
CONTEXTS = ("sky", "wood", "road", "park")
PER_CLASS = 57  # photographs
LABELS = np.arange(len(CLASSES)).repeat(PER_CLASS)
BY_CLASS = np.arange(len(LABELS)).reshape(len(CLASSES), PER_CLASS)
PARTS = 4  # of the backgrounds of a context
ALONE = 6  # backgrounds of each part that are also queried without a photograph


def of_photographs(folder: str, weights: str) -> tuple:
    """Compute the features that SqueezeNet gives of photographs."""
    network = model.load_network("squeezenet1_0", weights)
    photographs = []
    for name in CLASSES:
        images = _read(Path(folder) / "objects" / name)
        photographs.append(images[:PER_CLASS])
    contexts = []
    for name in CONTEXTS:
        contexts.append(_read(Path(folder) / "contexts" / name))
    return _compute(network.model, torch.cat(photographs), contexts, seed=0)


def of_synthetic_images(seed: int) -> tuple:
    """Compute features of synthetic images in which classes have no context."""
    network, *_ = sample.audited_network(0)
    images, _ = sample.synthetic_photographs(seed, PER_CLASS, context_bias=0.25)
    contexts = sample.synthetic_contexts(seed)
    return _compute(network.model, images, list(contexts.values()), seed)


def _read(folder: Path) -> torch.Tensor:
    """Read all images of a folder, of 160 pixels each."""
    files = sorted(folder.iterdir())
    return torch.stack([decode(file, 160) for file in files])


def _compute(network, images: torch.Tensor, contexts: list, seed: int) -> tuple:
    """Compute features of n images, pasted into each part of each context and alone.

    The shapes are (n, D), (n, contexts, parts, D) and, of backgrounds without an image,
    (contexts, parts, 6, D).
    """

    def compute(some_images: torch.Tensor, label: str) -> np.ndarray:
        passed = features.passes(network, some_images, label)
        return passed["features"]

    rng = np.random.default_rng(seed)
    pasted = []
    alone = []
    for backgrounds in contexts:
        numbers = np.arange(len(backgrounds))
        for part in np.array_split(numbers, PARTS):
            order = rng.permutation(len(images))
            choice = part[order % len(part)]
            composites = paste(images, backgrounds[choice])
            pasted.append(compute(composites, "pasted"))
            first = part[:ALONE]
            alone.append(compute(backgrounds[first], "alone"))
    plain = compute(images, "plain")
    pasted = np.stack(pasted, axis=1)
    pasted = pasted.reshape(len(images), len(contexts), PARTS, -1)
    alone = np.stack(alone)
    alone = alone.reshape(len(contexts), PARTS, ALONE, -1)
    return plain, pasted, alone
