"""Linear classifiers on the frozen features of a network.

The audit of a model trains many of them, unbiased and biased, to calibrate its scores.
"""

from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

RECIPES = (0.0005, 0.05, 10.0, "Adam")
"""Inverse strengths of regularization (scikit-learn's C), or short training by Adam."""


def train_with_adam(
    features: np.ndarray,
    targets: np.ndarray,
    rng: np.random.Generator,
    steps: int = 100,
    rate: float = 0.01,
) -> tuple[np.ndarray, np.ndarray]:
    """Train a linear classifier by some steps of Adam on features of a common scale.

    Parameters
    ----------
    features : ndarray of float, shape (n, D)
    targets : ndarray of float, shape (n, classes)
        One-hot labels.
    rng : numpy.random.Generator
        Draws the initial weights.
    steps : int, default 100
    rate : float, default 0.01
        Learning rate.

    Returns
    -------
    weights : ndarray, shape (D, classes)
    bias : ndarray, shape (classes,)
    """
    center = features.mean(0)
    scale = features.std()
    inputs = np.c_[(features - center) / scale, np.ones(len(features))]
    weights = rng.normal(0, 0.01, (inputs.shape[1], targets.shape[1]))
    parameter = torch.from_numpy(weights)  # shares its memory
    optimizer = torch.optim.Adam([parameter], lr=rate)
    for _ in range(steps):
        error = softmax(inputs @ weights, 1) - targets
        parameter.grad = torch.from_numpy(inputs.T @ error / len(features))
        optimizer.step()
    slopes = weights[:-1]
    return slopes / scale, weights[-1] - center @ slopes / scale


def train_classifier(
    features: np.ndarray,
    labels: np.ndarray,
    classes: int,
    recipe: float | str,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Train a multinomial logistic regression on standardized features.

    Parameters
    ----------
    features : ndarray of float, shape (n, D)
    labels : ndarray of int, shape (n,)
    classes : int
        The number of classes.
    recipe : float or "Adam"
        One of `RECIPES`.
    rng : numpy.random.Generator
        Used by Adam only.

    Returns
    -------
    weights : ndarray, shape (D, classes)
    bias : ndarray, shape (classes,)
    """
    targets = np.eye(classes)[labels]
    if recipe == "Adam":
        return train_with_adam(features, targets, rng)
    center = features.mean(0)
    spread = features.std(0)
    # a constant feature says nothing
    spread = np.where(spread > 1e-6 * spread.max(), spread, np.inf)
    inputs = np.c_[(features - center) / spread, np.ones(len(features))]
    penalty = np.append(np.full(features.shape[1], 1 / recipe), 0)[:, None]

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
    solution = fitted.x.reshape(-1, classes)
    weights = solution[:-1] / spread[:, None]
    return weights, solution[-1] - center @ weights


def center_logits(logits: np.ndarray) -> np.ndarray:
    """Subtract from logits their mean over the classes; softmax stays the same."""
    return logits - logits.mean(-1, keepdims=True)


def trained(
    features: np.ndarray,
    labels: np.ndarray,
    classes: int,
    recipe: float | str,
    rng: np.random.Generator,
) -> Callable[[np.ndarray], np.ndarray]:
    """Train a classifier, and return it as a function of features (..., D).

    See `train_classifier` for the parameters. The function returns logits of the shape
    (..., classes).
    """
    weights, bias = train_classifier(features, labels, classes, recipe, rng)
    return lambda inputs: inputs @ weights + bias
