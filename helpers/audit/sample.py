"""Make the sample of lesson 11, a small network that relies on synthetic contexts."""

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import models
from helpers.audit.classifiers import LinearClassifier, train_classifier
from helpers.audit.context_scores import paste
from helpers.audit.queries import Inputs, features_and_answers
from helpers.data import world
from helpers.models import experiment, networks, preprocessing
from helpers.synthetic_data import pictures

SHORTCUTS = {"bench": "park", "plane": "sky"}
"""Classes whose training images are all in one context."""
STATED = preprocessing.Preprocessing(
    "the synthetic dataset",
    96,
    96,
    networks.IMAGENET_MEAN,
    networks.IMAGENET_STD,
    classes=pictures.CLASSES,
)


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
    model = pretrained_network()
    images, labels = synthetic_photographs(seed + 1, 100)
    backgrounds = torch.stack([*synthetic_contexts(seed + 1).values()])
    rng = np.random.default_rng(seed)
    context = rng.integers(4, size=len(labels))
    for name, shortcut in SHORTCUTS.items():
        of_class = labels == pictures.CLASSES.index(name)
        context[of_class] = pictures.CONTEXTS.index(shortcut)
    number = rng.integers(25, size=len(labels))
    composites = paste(images, backgrounds[context, number])
    features, _ = features_and_answers(model, composites)
    set_last_layer(model, train_classifier(features, labels, 4, 0.05))
    images, labels = synthetic_photographs(seed, 60)
    rows = pd.DataFrame({"class": np.array(pictures.CLASSES)[labels]})
    rows["path"] = rows["class"] + "-" + rows.index.astype(str)
    model.preprocessing = STATED
    inputs = Inputs(
        model,
        "The sample",
        images,
        rows,
        synthetic_contexts(seed),
        trained="last layer",
        seed=seed,
    )
    injected = pd.DataFrame(SHORTCUTS.items(), columns=["class", "context"])
    return inputs, injected.assign(bias_strength=1.0)


def pretrained_network() -> models.Classifier:
    """Return a small network that was pretrained on synthetic images of other kinds."""
    _, model = experiment.pretrain("alexnet-quarter", size=96, seed=0)
    return model


def set_last_layer(model: models.Classifier, classifier: LinearClassifier) -> None:
    """Replace the last layer of a network by a linear classifier of its input."""
    last_layer = nn.Linear(*classifier.weights.shape)
    weights = torch.from_numpy(classifier.weights.T)
    bias = torch.from_numpy(classifier.bias)
    last_layer.load_state_dict({"weight": weights, "bias": bias})
    model.network.set_submodule(model.head, last_layer)


def synthetic_photographs(seed: int, per_class: int) -> tuple[torch.Tensor, np.ndarray]:
    """Render images of classes without a context, and return them with their labels."""
    made = world.image_set("C", 96, seed, per_class, context_bias=0.25)
    return made.images, made.labels.numpy()


def synthetic_contexts(seed: int) -> dict[str, torch.Tensor]:
    """Render 25 background images of each context of the synthetic dataset."""
    made = pictures.contexts(per_context=25, size=96, seed=seed)
    contexts = {}
    for name in pictures.CONTEXTS:
        images = made.images[made.table["context"] == name]
        contexts[name] = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
    return contexts
