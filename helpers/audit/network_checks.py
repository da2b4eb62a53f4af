"""Check before an audit that a network is read correctly and that its inputs are usable."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax

from helpers import models
from helpers.audit.context_scores import class_logits
from helpers.audit.features import passes
from helpers.stats import wilson
from helpers.suggest import listed

FEWEST = 5
"""The least number of images that a class or a context must keep."""


def finite_images(
    parts: Sequence[np.ndarray], rows: pd.DataFrame
) -> tuple[np.ndarray, list[str]]:
    """Find the images that have finite numbers in all parts.

    Parameters
    ----------
    parts : sequence of ndarray, shape (N, ...)
    rows : pandas.DataFrame
        The columns ``path`` and ``class`` of the images.

    Returns
    -------
    finite : ndarray of bool, shape (N,)
    notes : list of str
        A sentence that names the other images, if there are any.

    Raises
    ------
    ValueError
        If fewer than five images of a class are left.
    """
    finite = np.ones(len(rows), bool)
    for part in parts:
        finite &= np.isfinite(part).reshape(len(part), -1).all(1)
    if finite.all():
        return finite, []
    note = (
        f"{(~finite).sum()} of {len(finite)} images got NaN and are left out: "
        f"{listed(rows['path'][~finite])}."
    )
    remaining = pd.Series(finite).groupby(rows["class"].to_numpy()).sum()
    few = remaining.index[remaining < FEWEST]
    if len(few):
        raise ValueError(f"{note} Fewer than {FEWEST} are left of {listed(few)}.")
    return finite, [note]


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
            "network: The network is not deterministic. Two passes over the same images gave "
            "different answers. Make its forward pass deterministic, for example with "
            "model.eval()."
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
        answers_of[cause] = models.wrap(model.network, mean=mean, std=std)(images)
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
        f"{count} of {len(labels)} images are recognized ({count / len(labels):.0%}; chance "
        f"gives {chance:.0%})."
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
            f"network: {sentence} The audit needs a network that is read correctly. {advice}"
        )
    return sentence


def check_contexts(
    network,
    matches: pd.DataFrame,
    contexts: Mapping[str, torch.Tensor],
    files: Mapping[str, pd.DataFrame],
    logits: np.ndarray,
    labels: np.ndarray,
) -> tuple[dict[str, torch.Tensor], list[str], set[str]]:
    """Find background images that get NaN, or that look like photographs of a class.

    Parameters
    ----------
    network : helpers.audit.model.Network
    matches : pandas.DataFrame
        The columns ``class`` and ``outputs``.
    contexts : mapping of str to torch.Tensor of uint8, shape (m, 3, H, W)
    files : mapping of str to pandas.DataFrame
        The column ``path`` of each context's images.
    logits : ndarray, shape (N, classes)
        Of the photographs.
    labels : ndarray of int, shape (N,)

    Returns
    -------
    contexts : dict of str to torch.Tensor
        Without the images that get NaN.
    notes : list of str
    doubtful : set of str
        The contexts of which more than a quarter of the images are predicted as a
        class, with at least the median confidence of its own photographs.
    """
    own_confidence = []
    for c in range(len(matches)):
        own_confidence.append(np.median(log_softmax(logits[labels == c], 1)[:, c]))
    kept, notes, doubtful = {}, [], set()
    for name, images in contexts.items():
        answers = passes(network.model, images, f"{name} alone")["answers"]
        context_logits = class_logits(answers, matches["outputs"])
        rows = files[name].reset_index(drop=True)
        finite, lost = finite_images([context_logits], rows.assign(**{"class": name}))
        kept[name] = images[torch.from_numpy(finite)]
        notes += lost
        prediction = context_logits.argmax(1)
        confidence = log_softmax(context_logits, 1).max(1)
        for c, class_name in enumerate(matches["class"]):
            taken = finite & (prediction == c) & (confidence >= own_confidence[c])
            if taken.sum() <= finite.sum() / 4:
                continue
            doubtful.add(name)
            notes.append(
                f"{taken.sum()} of {finite.sum()} images of {name} are taken for "
                f"{class_name} as surely as half of its own photographs: {class_name} is in "
                f"them (look at {listed(rows['path'][taken][:3])}), or the network takes "
                f"{name} for {class_name}, which is a finding."
            )
    return kept, notes, doubtful
