"""Linear classifiers on the frozen features of a network.

The audit of a model trains many of them, unbiased and biased, to calibrate its scores.
"""

from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax
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
    features: np.ndarray,
    labels: np.ndarray,
    classes: int,
    recipe: float | str,
    rng: np.random.Generator,
) -> LinearClassifier:
    """Train a multinomial logistic regression on standardized features.

    Parameters
    ----------
    features : ndarray of float, shape (n, D)
    labels : ndarray of int, shape (n,)
    classes : int
        The number of classes.
    recipe : float or "Adam"
        One of `RECIPES`. Adam is given all features divided by the same number.
    rng : numpy.random.Generator
        Draws the initial weights of Adam.

    Returns
    -------
    LinearClassifier
    """
    center = features.mean(0)
    scale = features.std(0)
    if recipe == "Adam":
        scale[:] = features.std()
    scale[scale <= 1e-6 * scale.max()] = np.inf  # a constant feature says nothing
    inputs = np.c_[(features - center) / scale, np.ones(len(features))]
    if recipe == "Adam":
        solution = minimize_with_adam(inputs, labels, classes, rng)
    else:
        solution = minimize_regularized(inputs, labels, classes, recipe)
    weights = solution[:-1] / scale[:, None]
    return LinearClassifier(weights, solution[-1] - center @ weights)


def minimize_with_adam(
    inputs: np.ndarray,
    labels: np.ndarray,
    classes: int,
    rng: np.random.Generator,
    steps: int = 100,
    rate: float = 0.01,
) -> np.ndarray:
    """Reduce the cross-entropy of a linear classifier by some steps of Adam.

    Parameters
    ----------
    inputs : ndarray of float, shape (n, D)
    labels : ndarray of int, shape (n,)
    classes : int
    rng : numpy.random.Generator
        Draws the initial weights.
    steps : int, default 100
    rate : float, default 0.01
        Learning rate.

    Returns
    -------
    ndarray, shape (D, classes)
    """
    start = rng.normal(0, 0.01, (inputs.shape[1], classes))
    weights = torch.from_numpy(start).requires_grad_()
    inputs, labels = torch.from_numpy(inputs), torch.from_numpy(labels)
    optimizer = torch.optim.Adam([weights], lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(inputs @ weights, labels).backward()
        optimizer.step()
    return weights.detach().numpy()


def minimize_regularized(
    inputs: np.ndarray, labels: np.ndarray, classes: int, strength: float
) -> np.ndarray:
    """Minimize the cross-entropy of a linear classifier plus a penalty of its weights.

    Parameters
    ----------
    inputs : ndarray of float, shape (n, D)
        The weights of the last column, a constant, are not regularized.
    labels : ndarray of int, shape (n,)
    classes : int
    strength : float
        The inverse strength of regularization (scikit-learn's C).

    Returns
    -------
    ndarray, shape (D, classes)
    """
    targets = np.eye(classes)[labels]
    penalty = np.full((inputs.shape[1], 1), 1 / strength)
    penalty[-1] = 0

    def loss_and_gradient(flat):
        weights = flat.reshape(-1, classes)
        log_shares = log_softmax(inputs @ weights, 1)
        loss = (penalty * weights**2).sum() / 2 - (targets * log_shares).sum()
        gradient = inputs.T @ (np.exp(log_shares) - targets) + penalty * weights
        return loss, gradient.ravel()

    start = np.zeros(inputs.shape[1] * classes)
    options = {"maxiter": 100, "ftol": 1e-6}
    fitted = minimize(
        loss_and_gradient, start, jac=True, method="L-BFGS-B", options=options
    )
    return fitted.x.reshape(-1, classes)


def center_logits(logits: np.ndarray) -> np.ndarray:
    """Subtract from logits their mean over the classes; softmax stays the same."""
    return logits - logits.mean(-1, keepdims=True)
