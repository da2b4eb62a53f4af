"""Calibrate the audit of a model.

Linear classifiers are trained on the user's own photographs. Unbiased classifiers,
trained on photographs in random contexts, give a null distribution for each class and
context. Biased classifiers, of a known bias strength, give the detection rates.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.stats import false_discovery_control, zmap
from sklearn.model_selection import train_test_split

from helpers.audit.classifiers import RECIPES, train_classifier
from helpers.audit.context_scores import ContextImages, prediction_change

BIAS_STRENGTHS = (0.25, 0.5, 1.0)
"""Shares of a class's training images that are put into its context."""
LEAST_CHANGE = 0.0025
"""The least share of photographs whose prediction must change for a finding."""
LEVEL = 0.05
SMALLEST_THRESHOLD = 1.64
"""The 95th percentile of a normal distribution."""


class Scored(NamedTuple):
    """Scores of classifiers that were trained with the same bias strength.

    Attributes
    ----------
    scores : ndarray, shape (classifiers, classes, K)
    changes : ndarray, shape (classifiers, classes, K)
        Changes of predictions, on photographs that a classifier has not seen, since
        predictions of the others rarely change.
    contexts : ndarray of int, shape (classifiers, classes)
        The context that is a shortcut for each class, if the bias strength is above 0.
    """

    scores: np.ndarray
    changes: np.ndarray
    contexts: np.ndarray | None


@dataclass(frozen=True)
class Calibration:
    """Scores of unbiased and biased classifiers, by which a network is judged.

    Attributes
    ----------
    mean, deviation : ndarray, shape (classes, K)
        Mean and standard deviation of the scores of unbiased classifiers.
    classifiers : dict of float to Scored
        z of biased classifiers by their bias strength, and at 0 that of unbiased
        classifiers that were trained on other photographs.
    """

    mean: np.ndarray
    deviation: np.ndarray
    classifiers: dict[float, Scored]

    def z(self, scores: np.ndarray) -> np.ndarray:
        """Express scores (..., classes, K) in deviations above unbiased ones."""
        return (scores - self.mean) / self.deviation

    @cached_property
    def threshold(self) -> float:
        """Return the z that a reported pair must exceed.

        5% of the pairs of unbiased classifiers exceed it and change predictions.
        """
        scores, changes, _ = self.classifiers[0]
        z = np.where(changes >= LEAST_CHANGE, scores, 0)
        return max(np.quantile(z, 1 - LEVEL), SMALLEST_THRESHOLD)


def split_in_halves(
    labels: np.ndarray, photographs: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Split photographs at random into two halves, each with half of every class."""
    return train_test_split(
        photographs,
        test_size=0.5,
        stratify=labels[photographs],
        random_state=rng.integers(2**32),
    )


def score_classifiers(
    images: ContextImages,
    trained_on: np.ndarray,
    queried: np.ndarray,
    strength: float,
    number: int,
    rng: np.random.Generator,
) -> Scored:
    """Train classifiers on random halves of photographs, and score them.

    Parameters
    ----------
    images : ContextImages
        Features of the photographs.
    trained_on, queried : ndarray of int
        A random half of the photographs `trained_on` is the training set. The
        classifiers are scored on the photographs `queried`.
    strength : float
        The bias strength. At 0, photographs are in random contexts.
    number : int
        How many classifiers are trained, each by a recipe that is drawn at random.
    rng : numpy.random.Generator
    """
    labels = images.labels
    classes = labels.max() + 1
    scores, changes, contexts = [], [], []
    for i in range(number):
        seen, _ = split_in_halves(labels, trained_on, rng)
        context_of_class = (np.arange(classes) + i) % images.train.shape[1]
        recipe = RECIPES[rng.integers(len(RECIPES))]
        features = images.draw_training(seen, context_of_class, strength, rng)
        classifier = train_classifier(features, labels[seen], classes, recipe)
        logits = images.classified_by(classifier)
        unseen = np.setdiff1d(queried, seen)
        scores.append(logits.score(queried))
        changes.append(prediction_change(logits.query[unseen]))
        contexts.append(context_of_class)
    return Scored(np.stack(scores), np.stack(changes), np.stack(contexts))


def calibrate(
    images: ContextImages,
    seed: int = 0,
    unbiased: int = 80,
    halvings: int = 8,
    unseen: int = 16,
    biased: int = 24,
) -> Calibration:
    """Calibrate an audit on the user's photographs.

    Parameters
    ----------
    images : ContextImages
        Features of the photographs in contexts.
    seed : int
    unbiased : int
        The number of unbiased classifiers that give mean and deviation.
    halvings : int
        How often the photographs are split into halves. Classifiers of one half are
        then compared with classifiers of the other half, like a network that saw other
        photographs.
    unseen : int
        The number of classifiers that are compared in each halving.
    biased : int
        The number of biased classifiers of each strength.
    """
    rng = np.random.default_rng(seed)
    every = np.arange(len(images.labels))
    null = score_classifiers(images, every, every, 0, unbiased, rng).scores
    calibrated = Calibration(null.mean(0), null.std(0, ddof=1), {})
    z, changes = [], []
    for _ in range(halvings):
        half, other = split_in_halves(images.labels, every, rng)
        null = score_classifiers(images, half, half, 0, unbiased, rng).scores
        scored = score_classifiers(images, other, half, 0, unseen, rng)
        z.append(zmap(scored.scores, null, ddof=1))
        changes.append(scored.changes)
    unbiased_pairs = Scored(np.concatenate(z), np.concatenate(changes), None)
    calibrated.classifiers[0.0] = unbiased_pairs
    for strength in BIAS_STRENGTHS:
        scored = score_classifiers(images, every, every, strength, biased, rng)
        z = calibrated.z(scored.scores)
        calibrated.classifiers[strength] = scored._replace(scores=z)
    return calibrated


def p_values(calibration: Calibration, z: np.ndarray) -> np.ndarray:
    """Compute p values, the share of all unbiased pairs that reach each z."""
    null = np.sort(calibration.classifiers[0].scores, axis=None)
    reached = len(null) - np.searchsorted(null, z)
    return (1 + reached) / (1 + len(null))


def significant_pairs(p: np.ndarray) -> np.ndarray:
    """Find the significant pairs among p values, (..., classes, K).

    The expected share of false positives among those of a network is at most `LEVEL`.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate.
    """
    of_network = p.reshape(*p.shape[:-2], -1)
    adjusted = false_discovery_control(of_network, axis=-1)
    return adjusted.reshape(p.shape) <= LEVEL
