"""Linear classifiers on the frozen features of a network.

The audit of a model trains many of them, unbiased and biased, to calibrate its scores.
"""

from collections.abc import Callable
from dataclasses import dataclass

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


def sharpness(logits: np.ndarray, labels: np.ndarray) -> float:
    """Measure how well the logits separate the classes.

    For each class, the mean logit on its own photographs is compared with the mean
    logit on the others. Their difference is divided by the standard deviation within
    classes, and averaged over the classes. After a short training it is low.

    Parameters
    ----------
    logits : ndarray of float, shape (n, classes)
    labels : ndarray of int, shape (n,)
    """
    logits = center_logits(logits)
    by_class = [logits[labels == c] for c in range(logits.shape[1])]
    means = np.stack([part.mean(0) for part in by_class])
    within = np.sqrt(np.mean([part.var(0) for part in by_class], 0)) + 1e-9
    own = np.diag(means)
    other = (means.sum(0) - own) / (len(means) - 1)
    return float(((own - other) / within).mean())


def noise_amount(sharpness_with: Callable[[float], float], limit: float) -> float:
    """Find the amount of noise that brings the sharpness of a classifier to a limit.

    Parameters
    ----------
    sharpness_with : callable
        Returns the sharpness for an amount of noise in the weights.
    limit : float
        The largest allowed sharpness.
    """
    low, high = 0.0, 0.25
    if sharpness_with(low) <= limit:
        return low
    while sharpness_with(high) > limit and high < 1000:
        low, high = high, 2 * high
    for _ in range(5):
        middle = (low + high) / 2
        if sharpness_with(middle) > limit:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class Trainer:
    """A trainer of linear classifiers that are not sharper than a limit.

    A short training leaves much of the random initial weights. Classifiers that are
    sharper than the limit get noise in their weights instead.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
        The labels of all photographs.
    plain : ndarray of float, shape (n, D)
        The features of the unchanged photographs, on which sharpness is measured.
    limit : float
        The largest allowed sharpness.
    recipes : tuple
        The recipes from which one is drawn at random.
    """

    labels: np.ndarray
    plain: np.ndarray
    limit: float = np.inf
    recipes: tuple = RECIPES

    def train(
        self,
        features: np.ndarray,
        photographs: np.ndarray,
        recipe: float | str,
        rng: np.random.Generator,
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Train on the features of some photographs, and return the classifier.

        The classifier maps features (..., D) to logits (..., classes).
        """
        classes = self.labels.max() + 1
        labels = self.labels[photographs]
        weights, bias = train_classifier(features, labels, classes, recipe, rng)
        if np.isfinite(self.limit):
            noise = rng.normal(0, weights.std(), weights.shape)
            unseen = np.setdiff1d(np.arange(len(self.labels)), photographs)
            if len(unseen) == 0:
                unseen = np.arange(len(self.labels))

            def sharpness_with(amount):
                logits = self.plain[unseen] @ (weights + amount * noise)
                return sharpness(logits, self.labels[unseen])

            weights = weights + noise_amount(sharpness_with, self.limit) * noise
        return lambda inputs: inputs @ weights + bias
