"""Make images alone and in contexts, and their features, for trials of the model audit.

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
ALONE = 6  # backgrounds of each part that are also queried without a photograph
EPOCHS = 6  # of fine-tuning


@dataclass(frozen=True)
class Versions:
    """Hold images or their features, plain (n, ...), pasted and alone.

    Pasted images have the shape (n, contexts, parts, ...). Backgrounds without an image
    have the shape (contexts, parts, 6, ...).
    """

    plain: torch.Tensor | np.ndarray
    pasted: torch.Tensor | np.ndarray
    alone: torch.Tensor | np.ndarray


@dataclass(frozen=True)
class Partition:
    """Hold the photographs and the parts of the backgrounds that the audit uses."""

    photographs: dict[str, np.ndarray]
    parts: np.ndarray  # two for training, and two for queries
    to_query: np.ndarray  # the part for each photograph
    to_train: np.ndarray

    def for_audit(self, versions: Versions) -> ContextImages:
        """Choose what the audit sees of some images or features."""
        audited = self.photographs["the audit's"]
        train = versions.pasted[audited, :, self.to_train[audited]]
        query = versions.pasted[audited, :, self.to_query[audited]]
        alone = versions.alone[:, self.parts[2:]]
        alone = alone.reshape(len(alone), -1, *alone.shape[3:]).swapaxes(0, 1)
        plain = versions.plain[audited]
        return ContextImages(LABELS[audited], plain, train[:, :, None], query, alone)

    def for_training(self, versions: Versions) -> ContextImages:
        """Choose what users' networks are trained on."""
        train = versions.pasted[:, :, self.parts[:2]]
        return ContextImages(LABELS, versions.plain, train, None, None)


def partition(rng: np.random.Generator) -> Partition:
    """Draw a partition of the photographs and of the backgrounds."""
    orders = np.stack([rng.permutation(rows) for rows in BY_CLASS])
    photographs = {
        "the audit's": orders[:, :AUDITED].ravel(),
        "others": orders[:, AUDITED:].ravel(),
    }
    parts = rng.permutation(PARTS)
    to_query = parts[2 + rng.integers(2, size=len(LABELS))]
    to_train = parts[rng.integers(2, size=len(LABELS))]
    return Partition(photographs, parts, to_query, to_train)


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
    arrays = []
    for version in (images.plain, images.pasted, images.alone):
        values, _ = queries.features_and_answers(network, version)
        arrays.append(values)
    return Versions(*arrays)


def pretrained_network(images: str, weights: str) -> models.Classifier:
    """Return the network on whose features classifiers are trained."""
    if images == "synthetic images":
        return sample.pretrained_network()
    return model.load_network("squeezenet1_0", weights).model


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
    alone = []
    for backgrounds in contexts:
        numbers = np.arange(len(backgrounds))
        for part in np.array_split(numbers, PARTS):
            order = rng.permutation(len(images))
            choice = part[order % len(part)]
            pasted.append(paste(images, backgrounds[choice]))
            alone.append(backgrounds[part[:ALONE]])
    parts = (len(contexts), PARTS)
    pasted = torch.stack(pasted, dim=1).unflatten(1, parts)
    return Versions(images, pasted, torch.stack(alone).unflatten(0, parts))
