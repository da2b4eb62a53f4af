"""Linear classifiers on the frozen features of a network.

The audit of a model trains many of them, unbiased and biased, to calibrate its scores.
"""

from typing import NamedTuple

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn.functional import cross_entropy

RECIPES = (0.0005, 0.05, 10.0, "Adam")
"""Inverse strengths of regularization (scikit-learn's C), or short training by Adam."""


class LinearClassifier(NamedTuple):
    """A linear classifier, which maps features (..., D) to logits (..., classes).

    Attributes
    ----------
    weights : ndarray, shape (D, classes)
    bias : ndarray, shape (classes,)
    """

    weights: np.ndarray
    bias: np.ndarray

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Compute the logits of features."""
        return features @ self.weights + self.bias


def train_classifier(
    features: np.ndarray, labels: np.ndarray, classes: int, recipe: float | str
) -> LinearClassifier:
    """Train a multinomial logistic regression on standardized features.

    Parameters
    ----------
    features : ndarray of float, shape (n, D)
    labels : ndarray of int, shape (n,)
        Every class occurs.
    classes : int
        The number of classes.
    recipe : float or "Adam"
        One of `RECIPES`. Adam is given all features divided by the same number.

    Returns
    -------
    LinearClassifier
    """
    features = features.astype(float)  # scikit-learn keeps single precision
    center = features.mean(0)
    scale = features.std(0)
    if recipe == "Adam":
        scale[:] = features.std()
    scale[scale <= 1e-6 * scale.max()] = np.inf  # a constant feature says nothing
    inputs = (features - center) / scale
    if recipe == "Adam":
        weights, bias = train_with_adam(inputs, labels, classes)
    else:
        model = LogisticRegression(C=recipe, tol=1e-6, max_iter=1000)
        model.fit(inputs, labels)
        weights, bias = model.coef_.T, model.intercept_
        if classes == 2:  # scikit-learn has one logit, that of the second class
            weights, bias = weights * [0, 1], bias * [0, 1]
    weights = weights / scale[:, None]
    return LinearClassifier(weights, bias - center @ weights)


def train_with_adam(
    inputs: np.ndarray,
    labels: np.ndarray,
    classes: int,
    steps: int = 100,
    rate: float = 0.01,
) -> tuple[np.ndarray, np.ndarray]:
    """Reduce the cross-entropy of a linear classifier by some steps of Adam.

    Parameters
    ----------
    inputs : ndarray of float, shape (n, D)
    labels : ndarray of int, shape (n,)
    classes : int
    steps : int, default 100
    rate : float, default 0.01
        Learning rate.

    Returns
    -------
    weights, bias : ndarray, shape (D, classes) and (classes,)
        All start at 0.
    """
    layer = nn.Linear(inputs.shape[1], classes, dtype=torch.float64)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam(layer.parameters(), lr=rate)
    inputs, labels = torch.from_numpy(inputs), torch.from_numpy(labels)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(layer(inputs), labels).backward()
        optimizer.step()
    return layer.weight.detach().numpy().T, layer.bias.detach().numpy()


def center_logits(logits: np.ndarray) -> np.ndarray:
    """Subtract from logits their mean over the classes; softmax stays the same."""
    return logits - logits.mean(-1, keepdims=True)
