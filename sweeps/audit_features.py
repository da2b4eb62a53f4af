"""Make images, also in contexts, and their features, for trials of the model audit.

The images are photographs in folders, or synthetic images of the lessons.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from helpers import models
from helpers.audit import model, queries, sample
from helpers.audit.context_scores import ContextImages, paste
from helpers.data.decoding import decode
from helpers.models.loop import fit

CLASSES = ("airplane", "cup", "fire hydrant", "kangaroo")
CONTEXTS = ("sky", "wood", "road", "park")
PER_CLASS = 57  # photographs
AUDITED = 37  # of them are the audit's; users train on the others
LABELS = np.arange(len(CLASSES)).repeat(PER_CLASS)
BY_CLASS = np.arange(len(LABELS)).reshape(len(CLASSES), PER_CLASS)
PARTS = 4  # of the backgrounds of a context
EPOCHS = 6  # of fine-tuning


@dataclass(frozen=True)
class Versions:
    """Hold images or their features, plain (n, ...) and pasted (n, K, parts, ...)."""

    plain: torch.Tensor | np.ndarray
    pasted: torch.Tensor | np.ndarray


@dataclass(frozen=True)
class Partition:
    """Hold the photographs of the audit and of users, and the parts of backgrounds."""

    photographs: dict[str, np.ndarray]
    to_train: np.ndarray  # the part for each photograph
    to_query: np.ndarray

    def choose(self, versions: Versions, owner: str) -> ContextImages:
        """Choose the images or features of the photographs of the audit or of users."""
        rows = self.photographs[owner]
        train = versions.pasted[rows, :, self.to_train[rows]]
        query = versions.pasted[rows, :, self.to_query[rows]]
        return ContextImages(LABELS[rows], versions.plain[rows], train, query)


def partition(rng: np.random.Generator) -> Partition:
    """Draw a partition of the photographs and of the backgrounds.

    Two of the four parts of the backgrounds are for training, and two for queries.
    """
    orders = np.stack([rng.permutation(rows) for rows in BY_CLASS])
    photographs = {
        "the audit's": orders[:, :AUDITED].ravel(),
        "others": orders[:, AUDITED:].ravel(),
    }
    parts = rng.permutation(PARTS)
    to_query = parts[2 + rng.integers(2, size=len(LABELS))]
    to_train = parts[rng.integers(2, size=len(LABELS))]
    return Partition(photographs, to_train, to_query)


def photographs(folder: str, caption: bool = False) -> Versions:
    """Read photographs, in four contexts or in backgrounds with a caption and without.

    The caption is a white bar with a black line at the lower edge.
    """
    images = []
    for name in CLASSES:
        images.append(_read(Path(folder) / "objects" / name)[:PER_CLASS])
    contexts = [_read(Path(folder) / "contexts" / name) for name in CONTEXTS]
    if caption:
        without = torch.cat(contexts)
        captioned = without.clone()
        captioned[:, :, 144:156, 8:-8] = 255
        captioned[:, :, 149:151, 12:-12] = 0
        contexts = [captioned, without]
    return _in_versions(torch.cat(images), contexts, seed=0)


def synthetic_images(seed: int) -> Versions:
    """Render synthetic images in which classes have no context."""
    images, _ = sample.synthetic_photographs(seed, PER_CLASS)
    contexts = sample.synthetic_contexts(seed)
    return _in_versions(images, list(contexts.values()), seed)


def compute_features(network: models.Classifier, images: Versions) -> Versions:
    """Compute the features of all versions of images."""
    plain, _ = queries.features_and_answers(network, images.plain)
    pasted, _ = queries.features_and_answers(network, images.pasted)
    return Versions(plain, pasted)


def pretrained_network(images: str, weights: str) -> models.Classifier:
    """Return the network on whose features classifiers are trained."""
    if images == "synthetic images":
        return sample.pretrained_network()
    return model.load_network("squeezenet1_0", weights)


def fine_tune(
    images: torch.Tensor, labels: np.ndarray, weights: str, seed: int
) -> Callable:
    """Train all layers of SqueezeNet, and return a function of images."""
    network = models.build("squeezenet1_0", len(CLASSES), weights=weights, seed=seed)
    losses = fit(
        network,
        images.__getitem__,
        torch.from_numpy(labels),
        rate=2e-4,
        epochs=EPOCHS,
        generator=torch.Generator().manual_seed(seed),
    )
    list(losses)  # one per epoch
    network.eval()

    def answer(inputs: torch.Tensor) -> np.ndarray:
        logits = models.logits(network, inputs.flatten(0, -4))
        return logits.reshape(*inputs.shape[:-3], -1).numpy()

    return answer


def _read(folder: Path) -> torch.Tensor:
    """Read all images of a folder, of 160 pixels each."""
    files = sorted(folder.iterdir())
    return torch.stack([decode(file, 160) for file in files])


def _in_versions(images: torch.Tensor, contexts: list, seed: int) -> Versions:
    """Paste n images into backgrounds of each part of each context."""
    rng = np.random.default_rng(seed)
    pasted = []
    for backgrounds in contexts:
        numbers = np.arange(len(backgrounds))
        for part in np.array_split(numbers, PARTS):
            order = rng.permutation(len(images))
            choice = part[order % len(part)]
            pasted.append(paste(images, backgrounds[choice]))
    pasted = torch.stack(pasted, dim=1).unflatten(1, (len(contexts), PARTS))
    return Versions(images, pasted)
