"""Check before an audit that a network is read correctly."""

from collections.abc import Sequence

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from helpers import models
from helpers.audit.context_scores import class_logits
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
    network,
    images: torch.Tensor,
    labels: np.ndarray,
    outputs: Sequence[Sequence[int]],
    answers: np.ndarray,
) -> dict[str, float]:
    """Compute the accuracy of a network under other ways of reading it.

    Parameters
    ----------
    network : helpers.audit.model.Network
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    labels : ndarray of int, shape (N,)
    outputs : sequence of sequences of int
        The outputs that stand for each class.
    answers : ndarray, shape (N, outputs)
        What the network answered to these images.

    Returns
    -------
    dict of str to float
        The accuracy by possible error: channels, normalization, order of outputs.

    Raises
    ------
    ValueError
        If the network gives other answers than `answers`.
    """
    model = network.model
    again = model(images).float().cpu()
    if not np.allclose(again, answers, rtol=1e-3, atol=1e-3 * np.ptp(answers)):
        raise ValueError(
            "network: The network is not deterministic. Two passes over the same "
            "images gave different answers. Make its forward pass deterministic, for "
            "example with model.eval()."
        )
    twice_mean = (model.mean * (1 + model.std)).flatten()
    twice_std = (model.std**2).flatten()
    normalizations = {
        "images were not normalized": (0, 1),
        "images were in 0 to 255": (0, 1 / 255),
        "images were normalized twice": (twice_mean, twice_std),
    }
    answers_of = {"red and blue were exchanged (BGR)": model(images.flip(1))}
    for cause, (mean, std) in normalizations.items():
        answers_of[cause] = models.Classifier(model.network, mean, std)(images)
    accuracy = {}
    for cause, answer in answers_of.items():
        logits = class_logits(answer.float().cpu().numpy(), outputs)
        accuracy[cause] = float((logits.argmax(1) == labels).mean())
    confusion = np.zeros((len(outputs), len(outputs)))
    np.add.at(confusion, (labels, class_logits(answers, outputs).argmax(1)), 1)
    best_order = linear_sum_assignment(-confusion)
    matches = confusion[best_order].sum()
    accuracy["the outputs were in another order"] = float(matches / len(labels))
    return accuracy


def check_accuracy(
    network,
    images: torch.Tensor,
    labels: np.ndarray,
    outputs: Sequence[Sequence[int]],
    answers: np.ndarray,
) -> str:
    """Return the accuracy in a sentence, or refuse a network that is near chance.

    The parameters are those of `accuracy_if_read_otherwise`.

    Raises
    ------
    ValueError
        If the accuracy is not above chance (Wilson's 95% interval), or if another way
        of reading the network raises its accuracy by over 20 points (on ten images per
        class).
    """
    correct = class_logits(answers, outputs).argmax(1) == labels
    count, chance = int(correct.sum()), 1 / len(outputs)
    sentence = (
        f"{count} of {len(labels)} images are recognized ({count / len(labels):.0%}; "
        f"chance gives {chance:.0%})."
    )
    rng = np.random.default_rng(0)
    sample = []
    for c in np.unique(labels):
        sample.append(rng.permutation(np.flatnonzero(labels == c))[:10])
    sample = np.concatenate(sample)
    others = accuracy_if_read_otherwise(
        network, images[sample], labels[sample], outputs, answers[sample]
    )
    causes = []
    for cause, accuracy in others.items():
        if accuracy > correct[sample].mean() + 0.2:
            causes.append(f"{cause} ({accuracy:.0%} of {len(sample)})")
    if causes:
        sentence += f" More would be recognized if {'; or if '.join(causes)}."
    if causes or wilson(count, len(labels))[0] <= chance:
        advice = "Correct the way it is read."
        if "another order" in sentence:
            advice = "Say which output is which class (classes)."
        raise ValueError(
            f"network: {sentence} The audit needs a network that is read correctly. "
            f"{advice}"
        )
    return sentence
