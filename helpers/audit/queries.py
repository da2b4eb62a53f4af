"""Pass photographs through a network, as they are and pasted into contexts.

Before that, the outputs of the network and its accuracy are checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.optimize import linear_sum_assignment
from torch.nn.functional import linear

from helpers import stats, store
from helpers.audit.classifiers import center_logits
from helpers.audit.context_scores import (
    ContextImages,
    class_logits,
    paste_into_contexts,
)
from helpers.audit.model import match_classes
from helpers.models import Classifier
from helpers.suggest import listed

BATCH_SIZE = 32


@dataclass(frozen=True)
class Inputs:
    """A network and the images with which it is audited.

    Attributes
    ----------
    network : helpers.models.Classifier
    name : str
        What the network is called.
    images : torch.Tensor of uint8, shape (N, 3, H, H)
        Photographs.
    rows : pandas.DataFrame
        One row per photograph, with the columns ``path`` and ``class``.
    contexts : dict of str to torch.Tensor of uint8, shape (m, 3, H, H)
        Background images.
    before : helpers.models.Classifier or None
        The network with the weights before training, if it is known.
    classes : str or None
        The user's CSV file, which says which outputs represent which class.
    trained : {"last layer", "all"} or None
        What was trained, as the user says.
    seed : int
    """

    network: Classifier
    name: str
    images: torch.Tensor
    rows: pd.DataFrame
    contexts: dict[str, torch.Tensor]
    before: Classifier | None = None
    classes: str | None = None
    trained: str | None = None
    seed: int = 0


class Queries(NamedTuple):
    """What a network answers about photographs, as they are and in contexts.

    Attributes
    ----------
    matched : pandas.DataFrame
        The output of each class (see :func:`model.match_classes`).
    accuracy : str
        A sentence.
    is_linear : bool
        See :func:`is_linear`. True, without a check, if the features are those of the
        network before training.
    features, logits : ContextImages
    composites : torch.Tensor of uint8, shape (n, K, 3, H, H)
        The photographs in a query background of each context.
    """

    matched: pd.DataFrame
    accuracy: str
    is_linear: bool
    features: ContextImages
    logits: ContextImages
    composites: torch.Tensor


@torch.no_grad()
def features_and_answers(
    model: Classifier, images: torch.Tensor
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the input of the last layer, and the answers of a network.

    Parameters
    ----------
    model : helpers.models.Classifier
    images : torch.Tensor of uint8, shape (..., 3, H, W)

    Returns
    -------
    features : ndarray, shape (..., D)
        Averaged over positions.
    answers : ndarray, shape (..., outputs)

    Raises
    ------
    ValueError
        If the last layer that the network defines does not compute the answers.
    """
    flat = images.flatten(0, -4)
    features, answers = [], []

    def keep(_, inputs: tuple) -> None:
        seen = inputs[0]
        if seen.ndim == 4:
            seen = seen.mean((2, 3))
        features.append(seen.cpu())

    last_layer = model.network.get_submodule(model.head)
    with last_layer.register_forward_pre_hook(keep):
        batches = flat.split(BATCH_SIZE)
        for batch in store.progress(batches, desc="photographs", delay=2):
            answers.append(model(batch).float().cpu())
    if sum(map(len, features)) != len(flat):
        raise ValueError(
            f"network: {model.head}, the last layer that the network defines, does not "
            "see each image once. The audit needs the layer that computes the answers. "
            "Define that layer last."
        )
    shape = (*images.shape[:-3], -1)
    features, answers = torch.cat(features), torch.cat(answers)
    return features.reshape(shape).numpy(), answers.reshape(shape).numpy()


def is_linear(model: Classifier, features: np.ndarray, answers: np.ndarray) -> bool:
    """Return whether logits are a linear function of the features.

    They are not if, for example, a ReLU follows the last layer, as in SqueezeNet. Then
    the linear classifiers of the calibration are another kind of classifier.

    Parameters
    ----------
    model : helpers.models.Classifier
    features, answers : ndarray, shape (N, D) and (N, outputs)
        What `features_and_answers` returns.
    """
    layer = model.network.get_submodule(model.head)
    weight = layer.weight.flatten(1)
    if features.shape[1] != weight.shape[1]:  # a convolution of several positions
        return False
    expected = linear(torch.from_numpy(features).to(weight), weight, layer.bias)
    logits = center_logits(class_logits(answers, range(len(weight))))
    difference = logits - center_logits(expected.detach().cpu().numpy())
    return bool(np.abs(difference).max() < 0.01 * logits.std())


def check_accuracy(
    model: Classifier,
    images: torch.Tensor,
    labels: np.ndarray,
    outputs: Sequence[int],
    logits: np.ndarray,
) -> str:
    """Return the accuracy in a sentence, or refuse a network that is near chance.

    Parameters
    ----------
    model : helpers.models.Classifier
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    labels : ndarray of int, shape (N,)
    outputs : sequence of int
        The output of each class.
    logits : ndarray, shape (N, classes)

    Raises
    ------
    ValueError
        If the accuracy is not above chance (Wilson's 95% interval), or if another way
        of reading the network raises its accuracy by over 20 points (on 40 images).
    """
    n, chance = len(labels), 1 / len(outputs)
    predictions = logits.argmax(1)
    correct = predictions == labels
    sentence = (
        f"{correct.sum()} of {n} images are recognized ({correct.mean():.0%}; chance "
        f"gives {chance:.0%})."
    )
    sample = np.random.default_rng(0).permutation(n)[:40]
    seen = images[sample]
    other_readings = {
        "red and blue were exchanged (BGR)": (model, seen.flip(1)),
        "images were not normalized": (Classifier(model.network, 0, 1), seen),
        "images were in 0 to 255": (Classifier(model.network, 0, 1 / 255), seen),
    }
    accuracy = {}
    for cause, reading in other_readings.items():
        _, answers = features_and_answers(*reading)
        is_right = class_logits(answers, outputs).argmax(1) == labels[sample]
        accuracy[cause] = is_right.mean()
    confusion = pd.crosstab(labels, predictions).to_numpy()
    best_order = linear_sum_assignment(confusion, maximize=True)
    accuracy["the outputs were in another order"] = confusion[best_order].sum() / n
    better = correct[sample].mean() + 0.2
    causes = [cause for cause in accuracy if accuracy[cause] > better]
    if causes or stats.wilson(correct.sum(), n)[0] <= chance:
        raise ValueError(
            f"network: {sentence} Likely causes: {listed(causes) or 'not found'}. The "
            "audit needs a network that is read correctly. Correct its preprocessing, "
            "or say which output is which class (classes)."
        )
    return sentence


def compute(inputs: Inputs, images: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Compute features and answers of images.

    The network gives the answers. The network before its training gives the features.
    """
    features, answers = features_and_answers(inputs.network, images)
    if inputs.before:
        features, _ = features_and_answers(inputs.before, images)
    return features, answers


def query(inputs: Inputs) -> Queries:
    """Pass photographs through a network, as they are and pasted into contexts.

    Parameters
    ----------
    inputs : Inputs

    Raises
    ------
    ValueError
        If the outputs of a class are not clear, if the accuracy is not above chance, or
        if a number is not finite.
    """
    images, network = inputs.images, inputs.network
    labels, classes = inputs.rows["class"].factorize(sort=True)
    plain, answers = compute(inputs, images)
    n_outputs = answers.shape[1]
    matched = match_classes(
        classes, network.preprocessing.classes, n_outputs, inputs.classes
    )
    outputs = matched["output"]
    plain_logits = class_logits(answers, outputs)
    accuracy = check_accuracy(network, images, labels, outputs, plain_logits)
    linear = inputs.before is not None or is_linear(network, plain, answers)

    to_train, to_query = paste_into_contexts(images, inputs.contexts, inputs.seed)
    train, _ = compute(inputs, to_train)
    pasted, answers = compute(inputs, to_query)
    logits = class_logits(answers, outputs)
    totals = plain.sum(1) + (train + pasted).sum((1, 2)) + logits.sum((1, 2))
    wrong = inputs.rows["path"][~np.isfinite(totals)]
    if len(wrong):
        raise ValueError(
            f"images: {len(wrong)} of {len(totals)} images got NaN or infinite "
            f"numbers: {listed(wrong)}. Leave them out, or correct the network."
        )
    return Queries(
        matched=matched,
        accuracy=accuracy,
        is_linear=linear,
        features=ContextImages(labels, plain, train, pasted),
        logits=ContextImages(labels, plain_logits, None, logits),
        composites=to_query,
    )
