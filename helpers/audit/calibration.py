"""Calibrate the audit of a model.

Linear classifiers are trained on the user's own photographs. Unbiased classifiers,
trained on photographs in random contexts, give a null distribution for each class and
context. Biased classifiers, of a known bias strength, give the detection rates.
"""

from dataclasses import dataclass

import numpy as np

from helpers import stats
from helpers.audit.classifiers import RECIPES, trained
from helpers.audit.context_scores import ContextImages

BIAS_STRENGTHS = (0.25, 0.5, 1.0)
"""Shares of a class's training images that are put into its context."""
LEAST_CHANGE = 0.01
"""The least share of photographs whose prediction must change for a finding."""
LEVEL = 0.05


@dataclass(frozen=True)
class Calibration:
    """Scores of unbiased and biased classifiers, by which a network is judged.

    Attributes
    ----------
    mean, deviation : ndarray, shape (2, classes, K)
        Mean and standard deviation of the scores of unbiased classifiers, by pasting
        and by the context alone.
    biased : ndarray, shape (strengths, classifiers, 2, classes, K)
        z of classifiers of each of `BIAS_STRENGTHS`.
    biased_effect : ndarray, shape (strengths, classifiers, classes, K)
        Their changes of predictions.
    biased_context : ndarray of int, shape (strengths, classifiers, classes)
        The context of each class in their training.
    unbiased : ndarray, shape (classifiers, 2, classes, K)
        z of unbiased classifiers that were trained on other photographs.
    unbiased_effect : ndarray, shape (classifiers, classes, K)
        Their changes of predictions.
    threshold : float
        The 95th percentile of the larger z of the pairs in `unbiased`.
    """

    mean: np.ndarray
    deviation: np.ndarray
    biased: np.ndarray
    biased_effect: np.ndarray
    biased_context: np.ndarray
    unbiased: np.ndarray
    unbiased_effect: np.ndarray
    threshold: float

    def z(self, score: np.ndarray) -> np.ndarray:
        """Express scores (..., 2, classes, K) in deviations above unbiased ones."""
        return (score - self.mean) / self.deviation


def split_in_halves(
    labels: np.ndarray, photographs: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Split photographs at random into two halves, each with half of every class."""
    orders = []
    for c in np.unique(labels):
        orders.append(rng.permutation(photographs[labels[photographs] == c]))
    return [np.concatenate([order[part::2] for order in orders]) for part in (0, 1)]


def pooled_deviation(scores: np.ndarray, prior: int = 5) -> np.ndarray:
    """Estimate the standard deviation of each pair over classifiers.

    The variance of a pair is shrunk towards the mean over pairs, as if `prior` further
    classifiers had this mean variance.

    Parameters
    ----------
    scores : ndarray, shape (classifiers, 2, classes, K)

    Returns
    -------
    ndarray, shape (2, classes, K)
    """
    variance = scores.var(0, ddof=1)
    mean_variance = variance.mean((-2, -1), keepdims=True)
    weight = len(scores) - 1
    return np.sqrt((weight * variance + prior * mean_variance) / (weight + prior))


def score_classifiers(
    images: ContextImages,
    trained_on: np.ndarray,
    queried: np.ndarray,
    strength: float,
    number: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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

    Returns
    -------
    scores : ndarray, shape (classifiers, 2, classes, K)
    effects : ndarray, shape (classifiers, classes, K)
        On the queried photographs that the classifier has not seen, since predictions
        of the others rarely change.
    contexts : ndarray of int, shape (classifiers, classes)
        The context that is a shortcut for each class; -1 without a bias.
    """
    classes = images.labels.max() + 1
    n_contexts = images.train.shape[1]
    scores, effects, contexts = [], [], []
    for i in range(number):
        seen, _ = split_in_halves(images.labels, trained_on, rng)
        context_of_class = np.full(classes, -1)
        if strength:
            context_of_class = (np.arange(classes) + i) % n_contexts
        recipe = RECIPES[rng.integers(len(RECIPES))]
        features = images.draw_training(seen, context_of_class, strength, rng)
        classifier = trained(features, images.labels[seen], classes, recipe, rng)
        scores.append(images.score(classifier, queried))
        effects.append(images.effect(classifier, np.setdiff1d(queried, seen)))
        contexts.append(context_of_class)
    return np.stack(scores), np.stack(effects), np.stack(contexts)


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
    null, _, _ = score_classifiers(images, every, every, 0, unbiased, rng)
    mean, deviation = null.mean(0), pooled_deviation(null)
    z, effects = [], []
    for _ in range(halvings):
        half, other = split_in_halves(images.labels, every, rng)
        null_of_half, _, _ = score_classifiers(images, half, half, 0, unbiased, rng)
        scores, effect, _ = score_classifiers(images, other, half, 0, unseen, rng)
        z.append((scores - null_of_half.mean(0)) / pooled_deviation(null_of_half))
        effects.append(effect)
    z = np.concatenate(z)
    scored = []
    for strength in BIAS_STRENGTHS:
        scored.append(score_classifiers(images, every, every, strength, biased, rng))
    biased_scores, biased_effects, biased_contexts = map(
        np.stack, zip(*scored, strict=True)
    )
    return Calibration(
        mean=mean,
        deviation=deviation,
        biased=(biased_scores - mean) / deviation,
        biased_effect=biased_effects,
        biased_context=biased_contexts,
        unbiased=z,
        unbiased_effect=np.concatenate(effects),
        threshold=float(np.quantile(z.max(1), 0.95)),
    )


def p_values(calibration: Calibration, z: np.ndarray) -> np.ndarray:
    """Compute p values, (2, classes, K): the share of unbiased pairs that reach z."""
    # all unbiased pairs form one null distribution for pasting, and one for contexts
    # alone
    null = calibration.unbiased.swapaxes(0, 1).reshape(len(z), 1, 1, -1)
    reached = (null >= z[..., None]).sum(-1)
    return (1 + reached) / (1 + null.shape[-1])


def significant_pairs(p: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Find the significant pairs, by pasting or by the context alone, (classes, K).

    The expected share of false positives among them is at most `level`.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate.
    """
    adjusted = stats.adjust(p.ravel(), "fdr_bh").reshape(p.shape)
    return (adjusted <= level).any(0)


def above_threshold(
    calibration: Calibration, z: np.ndarray, corrected: bool
) -> np.ndarray:
    """Find the pairs of classifiers that are above the threshold, (..., classes, K).

    Parameters
    ----------
    calibration : Calibration
    z : ndarray, shape (classifiers, 2, classes, K)
    corrected : bool
        Whether to use `significant_pairs`, which corrects for the number of pairs, in
        place of the threshold.
    """
    if corrected:
        return np.stack([significant_pairs(p_values(calibration, each)) for each in z])
    return z.max(1) > calibration.threshold


def detection_rates(
    calibration: Calibration,
    corrected: bool = False,
) -> dict[float, float]:
    """Compute the share of the biased pairs that is detected, by bias strength.

    A pair is detected if its score is above the threshold (or significant after
    correction), and if at least `LEAST_CHANGE` of the predictions change. At the
    strength 0, the rate is the share of all pairs of unbiased classifiers.
    """
    detected = above_threshold(calibration, calibration.unbiased, corrected)
    rates = {0.0: (detected & (calibration.unbiased_effect >= LEAST_CHANGE)).mean()}
    for number, strength in enumerate(BIAS_STRENGTHS):
        detected = above_threshold(calibration, calibration.biased[number], corrected)
        detected &= calibration.biased_effect[number] >= LEAST_CHANGE
        context_of_class = calibration.biased_context[number][..., None]
        rates[strength] = np.take_along_axis(detected, context_of_class, 2).mean()
    return rates
