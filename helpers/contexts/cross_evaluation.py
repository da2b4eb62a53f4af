"""Differences between the accuracies of models on several test sets.

*Assessing Biases through Visual Contexts*, section 2.1.3. `predictions` has one row per
model, training run and test image, with the columns ``model``, ``train_set``, ``run``,
``test_set``, ``image`` (the number of the test image) and ``correct``.
"""

import numpy as np
import pandas as pd

from helpers import stats
from helpers.contexts.weighted_means import grids_of, weighted_mean

ACCURACY = ["test_set", "model"]


def contrast(
    predictions: pd.DataFrame,
    weights: pd.DataFrame,
    level: float = stats.CONFIDENCE,
) -> stats.Interval:
    """Compute a weighted sum of accuracies, with its interval.

    Models that are tested on the same images are compared image by image.

    Parameters
    ----------
    predictions : pandas.DataFrame
    weights : pandas.DataFrame
        One row per accuracy: ``model``, ``test_set`` and ``weight``.
    level : float, default=0.95

    Returns
    -------
    Interval
    """
    weight_of = weights.set_index(ACCURACY)["weight"]
    compared = predictions.merge(weights[ACCURACY])
    grids = grids_of(compared, "correct", ACCURACY, "image")
    return weighted_mean(grids, weight_of.to_dict(), shares=True, level=level)


def accuracy_lost(predictions: pd.DataFrame) -> pd.DataFrame:
    """Compute how much accuracy each model loses outside its own image set.

    Parameters
    ----------
    predictions : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
        One row per model, the largest loss first: ``model``, ``lost`` (accuracy on the
        own image set minus the mean accuracy on the others), ``ci_low`` and
        ``ci_high``. The table is empty if there is only one image set.
    """
    columns = ["model", "train_set", "test_set"]
    accuracies = predictions[columns].drop_duplicates()
    n_others = accuracies["test_set"].nunique() - 1
    rows = []
    if n_others > 0:
        is_own = accuracies["train_set"] == accuracies["test_set"]
        accuracies["weight"] = np.where(is_own, 1, -1 / n_others)
        for model, weights in accuracies.groupby("model"):
            interval = contrast(predictions, weights)
            rows.append((model, *interval))
    columns = ["model", "lost", "ci_low", "ci_high"]
    lost = pd.DataFrame(rows, columns=columns)
    return lost.sort_values("lost", ascending=False, ignore_index=True)
