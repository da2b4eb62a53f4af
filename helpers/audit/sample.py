"""Make the sample of lesson 11, a small network that relies on synthetic contexts."""

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import models, store
from helpers.audit.classifiers import train_classifier
from helpers.audit.context_scores import paste
from helpers.audit.features import features_and_answers
from helpers.audit.model import Network
from helpers.audit.user_images import Inputs
from helpers.data import world
from helpers.models import experiment, networks, preprocessing
from helpers.synthetic_data import pictures

SHORTCUTS = {"bench": "park", "plane": "sky"}
"""Classes whose training images are all in one context."""
IMAGENET = (networks.IMAGENET_MEAN, networks.IMAGENET_STD)


def audited_network(seed: int = 0) -> tuple[Inputs, pd.DataFrame]:
    """Train a network on biased synthetic images, to be audited as an example.

    Only its last layer is trained on them. Every bench is in the park, and every plane
    is in the sky.

    Returns
    -------
    inputs : Inputs
        The network, with images that it has not seen.
    injected : pandas.DataFrame
        The biases.
    """
    names = pictures.CLASSES
    model = _pretrained_network()
    train_images, train_labels = synthetic_photographs(seed + 1, 100)
    photographs, labels = synthetic_photographs(seed, 60)
    backgrounds = torch.stack([*synthetic_contexts(seed + 1).values()])
    rng = np.random.default_rng(seed)
    context = rng.integers(4, size=len(train_labels))
    for name, shortcut in SHORTCUTS.items():
        of_class = train_labels == names.index(name)
        context[of_class] = pictures.CONTEXTS.index(shortcut)
    number = rng.integers(25, size=len(train_labels))
    composites = paste(train_images, backgrounds[context, number])
    features, _ = features_and_answers(model, composites)
    weights, bias = train_classifier(features, train_labels, len(names), 0.05, rng)
    last_layer = nn.Linear(*weights.shape)
    last_layer.weight.data = torch.from_numpy(weights.T.copy()).float()
    last_layer.bias.data = torch.from_numpy(bias.copy()).float()
    model.network.set_submodule(model.head, last_layer)
    rows = pd.DataFrame({"class": [names[c] for c in labels]})
    rows["path"] = [f"{name}-{i}" for i, name in enumerate(rows["class"])]
    stated = preprocessing.Preprocessing(
        "the synthetic dataset", 96, 96, *IMAGENET, classes=names
    )
    network = Network(model, stated, "The sample")
    injected = pd.DataFrame(SHORTCUTS.items(), columns=["class", "context"])
    injected["bias_strength"] = 1.0
    inputs = Inputs(
        network=network,
        before=network,
        images=photographs,
        rows=rows,
        contexts=synthetic_contexts(seed),
        trained="last layer",
        seed=seed,
    )
    return inputs, injected


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


def synthetic_photographs(seed: int, per_class: int) -> tuple[torch.Tensor, np.ndarray]:
    """Render images of classes without a context, and return them with their labels."""
    made = world.image_set("C", 96, seed, per_class, context_bias=0.25)
    return made.images, made.labels.numpy()


def synthetic_contexts(seed: int) -> dict[str, torch.Tensor]:
    """Render 25 background images of each context of the synthetic dataset."""
    made = pictures.contexts(per_context=25, size=96, seed=seed)
    images = torch.from_numpy(made.images).permute(0, 3, 1, 2).contiguous()
    contexts = {}
    for name in pictures.CONTEXTS:
        contexts[name] = images[np.flatnonzero(made.table["context"] == name)]
    return contexts
