"""Make the sample of lesson 11: a small network that relies on synthetic contexts."""

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import models, store
from helpers.audit.classifiers import train_classifier
from helpers.audit.context_scores import paste
from helpers.audit.features import passes
from helpers.audit.model import Network
from helpers.data import world
from helpers.models import experiment, networks, preprocessing
from helpers.synthetic_data import pictures

SHORTCUTS = {"bench": "park", "plane": "sky"}
"""Classes whose training images are all in one context."""
IMAGENET = (networks.IMAGENET_MEAN, networks.IMAGENET_STD)


def audited_network(seed: int = 0) -> tuple:
    """Train a network on biased synthetic images, to be audited as an example.

    Only its last layer is trained on them: every bench is in the park, and every plane
    is in the sky.

    Returns
    -------
    network : Network
    photographs : torch.Tensor of uint8, shape (N, 3, 96, 96)
        Images that the network has not seen.
    rows : pandas.DataFrame
        The columns ``class`` and ``path``.
    contexts : dict of str to torch.Tensor
    injected : pandas.DataFrame
        The biases.
    """
    names = pictures.CLASSES
    model = _pretrained_network()
    train_images, train_labels = synthetic_photographs(seed + 1, 100, 0.25)
    photographs, labels = synthetic_photographs(seed, 60, 0.25)
    contexts = synthetic_contexts(seed + 1)
    rng = np.random.default_rng(seed)
    context_of = []
    for c in train_labels:
        random_context = pictures.CONTEXTS[rng.integers(4)]
        context_of.append(SHORTCUTS.get(names[c], random_context))
    backgrounds = []
    for name in context_of:
        number = rng.integers(25)
        backgrounds.append(contexts[name][number])
    backgrounds = torch.stack(backgrounds)
    composites = paste(train_images, backgrounds)
    features = passes(model, composites, "the sample's training")["features"]
    weights, bias = train_classifier(features, train_labels, len(names), 0.05, rng)
    last_layer = nn.Linear(features.shape[1], len(names))
    last_layer.weight.data = torch.from_numpy(weights.T.copy()).float()
    last_layer.bias.data = torch.from_numpy(bias.copy()).float()
    model.network.set_submodule(model.head, last_layer)
    rows = pd.DataFrame({"class": [names[c] for c in labels]})
    rows["path"] = [f"{name}-{i}" for i, name in enumerate(rows["class"])]
    stated = preprocessing.Preprocessing(
        "the synthetic dataset", 96, 96, *IMAGENET, classes=names
    )
    network = Network(model, stated, 96, "The sample")
    injected = pd.DataFrame(SHORTCUTS.items(), columns=["class", "context"])
    injected["bias_strength"] = 1.0
    return network, photographs, rows, synthetic_contexts(seed), injected


def _pretrained_network() -> models.Classifier:
    """Return a small network that was pretrained on synthetic images of other kinds."""
    images = world.wider(96, 0)
    kinds = len(pictures.WIDER_KINDS)
    weights, _ = models.train_once(
        "alexnet-quarter",
        tuple(range(kinds)),
        images,
        seed=0,
        epochs=experiment.WIDER_EPOCHS,
        folder=store.networks(),
    )
    return models.build("alexnet-quarter", kinds, weights=weights).eval()


def synthetic_photographs(
    seed: int, per_class: int, context_bias: float
) -> tuple[torch.Tensor, np.ndarray]:
    """Render images of the synthetic dataset, and return them with their labels."""
    made = pictures.make("C", per_class, 96, seed, context_bias=context_bias)
    labels = np.array([pictures.CLASSES.index(name) for name in made.table["object"]])
    images = torch.from_numpy(made.images)
    images = images.permute(0, 3, 1, 2)
    return images.contiguous(), labels


def synthetic_contexts(seed: int) -> dict[str, torch.Tensor]:
    """Render 25 background images of each context of the synthetic dataset."""
    made = pictures.contexts(per_context=25, size=96, seed=seed)
    images = torch.from_numpy(made.images).permute(0, 3, 1, 2)
    contexts = {}
    for name in pictures.CONTEXTS:
        of_context = np.flatnonzero(made.table["context"] == name)
        contexts[name] = images[of_context].contiguous()
    return contexts
