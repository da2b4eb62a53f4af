"""Cross-evaluation: every model on every test set, and what a random split would have hidden.

*Assessing Biases through Visual Contexts*, section 2.1.3 and Figure 2. A random split tests a model
on the set it was trained on; the other sets hold the same classes in another setting.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from torch import nn

from helpers import models, stats
from helpers.data import ImageSet
from helpers.models import experiment


def predictions(
    networks: Mapping[str, Sequence[nn.Module]], sets: Mapping[str, ImageSet]
) -> pd.DataFrame:
    """What each training of each model says of each test image, the test splits of `sets`.

    Returns
    -------
    DataFrame
        One row a model, training and test image: model, train_set (empty where the name is not one
        of `experiment.MODELS`, such as ``model-C``), training, test_set, image (its place in the
        test split), class, predicted, right.
    """
    parts = []
    for set_name, images in sets.items():
        test = images.split("test")
        for model_name, trainings in networks.items():
            said = models.logits(trainings, test.images).argmax(2)
            for training, best in enumerate(said):
                rows = {
                    "model": model_name,
                    "train_set": experiment.MODELS.get(model_name, ("", ""))[1],
                    "training": training,
                    "test_set": set_name,
                    "image": np.arange(len(test)),
                    "class": [test.classes[i] for i in test.labels],
                    "predicted": [test.classes[i] for i in best],
                    "right": (best == test.labels).numpy(),
                }
                parts.append(pd.DataFrame(rows))
    return pd.concat(parts, ignore_index=True)


def accuracies(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of every model on every test set, mean over its trainings (Figure 2).

    Columns model, train_set, test_set, accuracy, low, high (other trainings and other images:
    :func:`helpers.stats.share`), images, trainings; models and sets in the order of `predictions`.
    """
    rows, keys = [], ["model", "train_set", "test_set"]
    for of, part in table.groupby(keys, sort=False):
        right = _right(part)
        rows.append((*of, *stats.share(right), right.shape[1], len(right)))
    columns = [*keys, "accuracy", "low", "high", "images", "trainings"]
    return pd.DataFrame(rows, columns=columns)


def hidden(table: pd.DataFrame) -> pd.DataFrame:
    """What a random split would have hidden: accuracy lost outside the model's own set.

    One row a model: model, own (accuracy on its own set), others (mean accuracy on the other
    sets), drop (own - others), drop_low, drop_high. Empty where there is one set only.
    """
    rows = []
    for name, part in table.groupby("model", sort=False):
        [own], tests = part["train_set"].unique(), part["test_set"].unique()
        others = [test for test in tests if test != own]
        if others and own in tests:
            weights = {(name, own): 1.0} | {(name, test): -1 / len(others) for test in others}
            drop = contrast(table, weights)
            right = part.loc[part["test_set"] == own, "right"].mean()
            rows.append([name, right, right - drop.estimate, *drop])
    columns = ["model", "own", "others", "drop", "drop_low", "drop_high"]
    return pd.DataFrame(rows, columns=columns)


def contrast(table: pd.DataFrame, weights: Mapping[tuple[str, str], float]) -> stats.Interval:
    """A weighted sum of accuracies; models on the same test set are compared image by image.

    `weights` are by model and test set: ``{("model-WB", "C"): 1, ("model-C", "WB"): -1}``.
    """
    parts = dict(list(table.groupby(["model", "test_set"], sort=False)))
    by_set: dict[str, np.ndarray] = {}
    largest: dict[str, float] = {}
    for pair, weight in weights.items():
        by_set[pair[1]] = by_set.get(pair[1], 0.0) + weight * _right(parts[pair])
        largest[pair[1]] = max(largest.get(pair[1], 0.0), abs(weight))
    differences = [by_set[name] / largest[name] for name in by_set]
    return stats.mean(differences, list(largest.values()), shares=True).interval()


def _right(part: pd.DataFrame) -> np.ndarray:
    """1.0 where right, 0.0 where wrong: (trainings, images)."""
    return part.pivot(index="training", columns="image", values="right").to_numpy(float)
