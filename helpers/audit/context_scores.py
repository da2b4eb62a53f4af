"""Measure how much a context raises logits, and how many predictions it changes.

Photographs are pasted into background images of each context. The score of a class and
a context is the logit of the class on photographs of the other classes, minus its mean
over the other contexts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn.functional import interpolate

from helpers.audit.classifiers import center_logits

SHARE = 0.65
"""The side of a pasted photograph, as a share of the side of the image."""


def class_logits(answers: np.ndarray, outputs: Sequence[int]) -> np.ndarray:
    """Compute the logits of classes from the answers of a network.

    Parameters
    ----------
    answers : ndarray of float, shape (..., outputs)
        Logits, or probabilities, whose logarithm is taken.
    outputs : sequence of int
        The output of each class.

    Returns
    -------
    ndarray of float, shape (..., classes)
    """
    adds_up_to_one = np.allclose(answers.sum(-1), 1, atol=1e-3)
    if answers.min() >= 0 and adds_up_to_one:  # probabilities
        answers = np.log(answers.clip(1e-12))
    return answers[..., outputs]


def paste(photographs: torch.Tensor, backgrounds: torch.Tensor) -> torch.Tensor:
    """Paste photographs into the middle of background images.

    Parameters
    ----------
    photographs, backgrounds : torch.Tensor of uint8, shape (N, 3, H, H)

    Returns
    -------
    torch.Tensor of uint8, shape (N, 3, H, H)
    """
    size = photographs.shape[-1]
    side = round(SHARE * size)
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
) -> tuple[torch.Tensor, torch.Tensor]:
    """Paste each photograph into a training and a query background of each context.

    The backgrounds of a context are divided: 60% are for training classifiers, the
    others for queries, so that no classifier is trained on a background of the queries.

    Returns
    -------
    train, query : torch.Tensor of uint8, shape (n, K, 3, H, H)
        The n photographs, pasted into K contexts.
    """
    rng = np.random.default_rng(seed)
    train, query = [], []
    for backgrounds in contexts.values():
        order = rng.permutation(len(backgrounds))
        to_train, to_query = np.split(order, [round(0.6 * len(order))])
        for numbers, composites in ((to_train, train), (to_query, query)):
            choice = rng.permutation(len(photographs)) % len(numbers)
            chosen = backgrounds[numbers[choice]]
            composites.append(paste(photographs, chosen))
    return torch.stack(train, 1), torch.stack(query, 1)


def minus_others(values: np.ndarray, axis: int) -> np.ndarray:
    """Subtract from values the mean of the others along an axis."""
    count = values.shape[axis]
    mean = values.mean(axis, keepdims=True)
    return (values - mean) * count / (count - 1)


def prediction_change(logits: np.ndarray) -> np.ndarray:
    """Compute how many more photographs are predicted as a class in a context.

    Parameters
    ----------
    logits : ndarray of float, shape (n, K, classes)
        Of n photographs in K contexts.

    Returns
    -------
    ndarray of float, shape (classes, K)
        The share of photographs that are predicted to be the class in the context,
        minus the mean of these shares in the other contexts.
    """
    shares = predicted_counts(logits) / len(logits)
    # rounded, so that ten of a thousand are 0.01
    return minus_others(shares, 1).round(9)


def predicted_counts(logits: np.ndarray) -> np.ndarray:
    """Count how many photographs are predicted as each class in each context."""
    each_class = np.eye(logits.shape[-1], dtype=int)
    return each_class[logits.argmax(-1)].sum(0).T


@dataclass(frozen=True)
class ContextImages:
    """Photographs and contexts, as images, features or logits.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
    plain : ndarray of float, shape (n, D)
        Photographs as they are.
    train, query : ndarray of float, shape (n, K, D)
        Photographs pasted into a training and a query background of each of K contexts.
    """

    labels: np.ndarray
    plain: np.ndarray
    train: np.ndarray
    query: np.ndarray

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
        n = len(photographs)
        context = rng.integers(self.train.shape[1], size=n)
        own = context_of_class[self.labels[photographs]]
        is_biased = (own >= 0) & (rng.random(n) < bias_strength)
        context[is_biased] = own[is_biased]
        return self.train[photographs, context]

    def classified_by(self, classifier: Callable) -> "ContextImages":
        """Compute the logits of all but the training images.

        Parameters
        ----------
        classifier : callable
            Maps features (..., D), or images, to logits (..., classes).
        """
        plain = classifier(self.plain)
        query = classifier(self.query)
        return replace(self, plain=plain, query=query)

    def score(self, photographs: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Score each class and context, if this object holds logits.

        Parameters
        ----------
        photographs : ndarray of int
            The numbers of the photographs. The default is all.

        Returns
        -------
        ndarray of float, shape (classes, K)
            In standard deviations of all logits.
        """
        logits = center_logits(self.query[photographs])
        rises = minus_others(logits, 1)
        scores = []
        for c in range(logits.shape[-1]):
            is_other = self.labels[photographs] != c
            scores.append(rises[is_other, :, c].mean(0))
        return np.stack(scores) / logits.std()
