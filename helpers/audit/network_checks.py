"""Check before an audit that a network is read correctly."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from scipy.optimize import linear_sum_assignment

from helpers import models
from helpers.audit.context_scores import class_logits
from helpers.audit.user_images import Inputs
from helpers.stats import wilson
from helpers.suggest import listed


def require_finite(parts: Sequence[np.ndarray], names: Sequence[str]) -> None:
    """Refuse images for which a network gives NaN or infinite numbers.

    Parameters
    ----------
    parts : sequence of ndarray, shape (N, ...)
        Features or logits.
    names : sequence of str
        The names of the N images.
    """
    finite = np.ones(len(names), bool)
    for part in parts:
        finite &= np.isfinite(part).reshape(len(part), -1).all(1)
    if not finite.all():
        raise ValueError(
            f"images: {(~finite).sum()} of {len(finite)} images got NaN or infinite "
            f"numbers: {listed(np.array(names)[~finite])}. Leave them out, or correct "
            "the network."
        )


@torch.no_grad()
def accuracy_if_read_otherwise(
    model: models.Classifier,
    images: torch.Tensor,
    labels: np.ndarray,
    outputs: Sequence[list[int]],
) -> dict[str, float]:
    """Compute the accuracy of a network under other ways of reading it.

    Parameters
    ----------
    model : helpers.models.Classifier
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    labels : ndarray of int, shape (N,)
    outputs : sequence of lists of int
        The outputs that represent each class.

    Returns
    -------
    dict of str to float
        The accuracy by possible error.
    """
    not_normalized = models.Classifier(model.network, 0, 1)
    in_0_to_255 = models.Classifier(model.network, 0, 1 / 255)
    answers_of = {
        "red and blue were exchanged (BGR)": model(images.flip(1)),
        "images were not normalized": not_normalized(images),
        "images were in 0 to 255": in_0_to_255(images),
    }
    accuracy = {}
    for cause, answers in answers_of.items():
        logits = class_logits(answers.float().cpu().numpy(), outputs)
        accuracy[cause] = (logits.argmax(1) == labels).mean()
    return accuracy


def check_accuracy(
    inputs: Inputs, outputs: Sequence[list[int]], logits: np.ndarray
) -> str:
    """Return the accuracy in a sentence, or refuse a network that is near chance.

    Parameters
    ----------
    inputs : Inputs
    outputs : sequence of lists of int
        The outputs that represent each class.
    logits : ndarray, shape (N, classes)

    Raises
    ------
    ValueError
        If the accuracy is not above chance (Wilson's 95% interval), or if another way
        of reading the network raises its accuracy by over 20 points (on 40 images).
    """
    labels = inputs.labels
    predictions = logits.argmax(1)
    correct = predictions == labels
    n, chance = len(labels), 1 / len(outputs)
    sentence = (
        f"{correct.sum()} of {n} images are recognized ({correct.mean():.0%}; chance "
        f"gives {chance:.0%})."
    )
    sample = np.random.default_rng(0).permutation(n)[:40]
    others = accuracy_if_read_otherwise(
        inputs.network.model, inputs.images[sample], labels[sample], outputs
    )
    confusion = pd.crosstab(labels, predictions).to_numpy()
    best_order = linear_sum_assignment(-confusion)
    others["the outputs were in another order"] = confusion[best_order].sum() / n
    causes = []
    for cause, accuracy in others.items():
        if accuracy > correct[sample].mean() + 0.2:
            causes.append(f"{cause} ({accuracy:.0%})")
    if causes or wilson(correct.sum(), n)[0] <= chance:
        more = ""
        if causes:
            more = f" More would be recognized if {'; or if '.join(causes)}."
        raise ValueError(
            f"network: {sentence}{more} The audit needs a network that is read "
            "correctly. Correct its preprocessing, or say which output is which class "
            "(classes)."
        )
    return sentence
