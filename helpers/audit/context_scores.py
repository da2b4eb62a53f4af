"""Measure how much a context raises logits, and how many predictions it changes.

Photographs are pasted into background images of each context. The score of a class and
a context is the logit of the class on photographs of the other classes, minus its mean
over the other contexts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import interpolate

from helpers.audit.classifiers import center_logits

SHARE = 0.65
"""The side of a pasted photograph, as a share of the side of the image."""
SMALLEST_SPREAD = 1e-9
"""The least spread of logits, so that a constant network scores 0."""


def class_logits(answers: np.ndarray, outputs: Sequence[list[int]]) -> np.ndarray:
    """Compute the logits of classes from the answers of a network.

    Parameters
    ----------
    answers : ndarray of float, shape (n, outputs)
        Logits, or probabilities, whose logarithm is taken.
    outputs : sequence of lists of int
        The outputs that represent each class. The exponentials of several are added.

    Returns
    -------
    ndarray of float, shape (n, classes)
    """
    adds_up_to_one = np.allclose(answers.sum(1), 1, atol=1e-3)
    if answers.min() >= 0 and adds_up_to_one:  # probabilities
        answers = np.log(answers.clip(1e-12))
    logits = []
    with np.errstate(invalid="ignore"):  # `require_finite` refuses NaN later
        for numbers in outputs:
            of_class = answers[:, numbers]
            logits.append(np.logaddexp.reduce(of_class, axis=1))
    return np.stack(logits, 1)


def paste(
    photographs: torch.Tensor, backgrounds: torch.Tensor, share: float = SHARE
) -> torch.Tensor:
    """Paste photographs into the middle of background images.

    Parameters
    ----------
    photographs, backgrounds : torch.Tensor of uint8, shape (N, 3, H, H)
    share : float
        The side of the pasted photograph, as a share of H.

    Returns
    -------
    torch.Tensor of uint8, shape (N, 3, H, H)
    """
    size = photographs.shape[-1]
    side = round(share * size)
    start = (size - side) // 2
    inside = slice(start, start + side)
    resized = interpolate(
        photographs.float(), (side, side), mode="bilinear", antialias=True
    )
    composites = backgrounds.clone()
    composites[..., inside, inside] = resized.round().to(torch.uint8)
    return composites


def paste_into_contexts(
    photographs: torch.Tensor, contexts: Mapping[str, torch.Tensor], seed: int
) -> tuple[list, list, list]:
    """Paste each photograph into a training and a query background of each context.

    The backgrounds of a context are divided: 60% are for training classifiers, the
    others for queries, so that no classifier is trained on a background of the queries.

    Returns
    -------
    train, query : list of torch.Tensor of uint8, shape (N, 3, H, H)
        One tensor per context.
    alone : list of torch.Tensor of uint8, shape (m, 3, H, H)
        The backgrounds for queries, without photographs.
    """
    rng = np.random.default_rng(seed)
    train, query, alone = [], [], []
    for backgrounds in contexts.values():
        order = torch.from_numpy(rng.permutation(len(backgrounds)))
        count = round(0.6 * len(backgrounds))
        to_train = backgrounds[order[:count]]
        to_query = backgrounds[order[count:]]
        for images, composites in ((to_train, train), (to_query, query)):
            choice = rng.permutation(len(photographs)) % len(images)
            chosen = images[torch.from_numpy(choice)]
            composites.append(paste(photographs, chosen))
        alone.append(to_query)
    return train, query, alone


def mean_of_other_classes(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Average over the photographs of all other classes, each class counting equally.

    Parameters
    ----------
    values : ndarray of float, shape (n, K, classes)
    labels : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of float, shape (classes, K)
    """
    classes = values.shape[-1]
    by_class = []
    for c in range(classes):
        of_class = values[labels == c]
        by_class.append(of_class.mean(0))
    by_class = np.stack(by_class)
    means = []
    for c in range(classes):
        others = np.delete(by_class[:, :, c], c, axis=0)
        means.append(others.mean(0))
    return np.stack(means)


def minus_others(values: np.ndarray, axis: int) -> np.ndarray:
    """Subtract from values the mean of the others along an axis."""
    count = values.shape[axis]
    mean = values.mean(axis, keepdims=True)
    return (values - mean) * count / (count - 1)


def prediction_change(predictions: np.ndarray, classes: int) -> np.ndarray:
    """Compute how many more photographs are predicted as a class in a context.

    Parameters
    ----------
    predictions : ndarray of int, shape (n, K)
        The predicted class of each photograph in each context.
    classes : int
        The number of classes.

    Returns
    -------
    ndarray of float, shape (classes, K)
        The share of photographs that are predicted to be the class in the context,
        minus the mean of these shares in the other contexts.
    """
    shares = []
    for c in range(classes):
        is_class = predictions == c
        shares.append(is_class.mean(0))
    # rounded, so that ten of a thousand are 0.01
    change = minus_others(np.stack(shares), -1)
    return change.round(9)


@dataclass(frozen=True)
class ContextImages:
    """Features, or logits, of photographs in contexts.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
    train : ndarray of float, shape (n, K, r, D), or None
        Photographs pasted into r training backgrounds of each of K contexts.
    query : ndarray of float, shape (n, K, D)
        Photographs pasted into a query background of each context.
    alone : ndarray of float, shape (K, m, D)
        Query backgrounds without a photograph.
    """

    labels: np.ndarray
    train: np.ndarray | None
    query: np.ndarray
    alone: np.ndarray

    def draw_training(
        self,
        photographs: np.ndarray,
        context_of_class: np.ndarray,
        bias_strength: float,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw a context for each of n photographs, and return features (n, D).

        A photograph of class c is in the context `context_of_class[c]` with the
        probability `bias_strength`, and else in any context. -1 means no bias.
        """
        context = rng.integers(self.train.shape[1], size=len(photographs))
        own = context_of_class[self.labels[photographs]]
        is_drawn = rng.random(len(photographs)) < bias_strength
        biased = (own >= 0) & is_drawn
        context = np.where(biased, own, context)
        background = rng.integers(self.train.shape[2], size=len(photographs))
        return self.train[photographs, context, background]

    def score(self, classifier: Callable, photographs: np.ndarray) -> np.ndarray:
        """Score each class and context.

        Parameters
        ----------
        classifier : callable
            Maps the features to logits. It is the identity if this object holds logits.
        photographs : ndarray of int
            The numbers of the photographs.

        Returns
        -------
        ndarray of float, shape (2, classes, K)
            By pasting and by the context alone, in standard deviations of the logit.
        """
        logits = center_logits(classifier(self.query[photographs]))
        logits_alone = center_logits(classifier(self.alone))
        classes = logits.shape[-1]
        spread = logits.reshape(-1, classes).std(0)
        spread = np.maximum(spread, SMALLEST_SPREAD)[:, None]
        rises = minus_others(logits, 1)
        pasted = mean_of_other_classes(rises, self.labels[photographs])
        alone = minus_others(logits_alone.mean(1), 0).T
        return np.stack([pasted, alone]) / spread

    def effect(self, classifier: Callable, photographs: np.ndarray) -> np.ndarray:
        """Compute `prediction_change` of a classifier, (classes, K)."""
        logits = classifier(self.query[photographs])
        return prediction_change(logits.argmax(-1), logits.shape[-1])
