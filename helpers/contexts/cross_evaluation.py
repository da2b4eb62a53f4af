"""Cross-evaluation: every model on every test set, and what a random split would have hidden.

*Assessing Biases through Visual Contexts*, section 2.1.3 and Figure 2. A random split tests a model
on the set it was trained on; the other sets hold the same classes in another setting.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from torch import nn

from helpers import models, stats
from helpers.data import ImageSet
from helpers.models import experiment
from helpers.stats.interval import crossed_error


def predictions(
    networks: Mapping[str, Sequence[nn.Module]], sets: Mapping[str, ImageSet]
) -> pd.DataFrame:
    """What each training of each model says of each test image, the test splits of `sets`.

    One row each: model, train_set (empty where the name is not one of `experiment.MODELS`),
    training, test_set, image (its place in the test split), class, predicted, right.
    """
    parts = []
    for set_name, images in sets.items():
        test = images.split("test")
        for model_name, trainings in networks.items():
            for training, best in enumerate(models.logits(trainings, test.images).argmax(2)):
                rows = {
                    "model": model_name,
                    "train_set": experiment.MODELS.get(model_name, ("", ""))[1],
                    "training": training,
                    "test_set": set_name,
                    "image": np.arange(len(test)),
                    "class": np.take(test.classes, test.labels),
                    "predicted": np.take(test.classes, best),
                    "right": (best == test.labels).numpy(),
                }
                parts.append(pd.DataFrame(rows))
    return pd.concat(parts, ignore_index=True)


def accuracies(table: pd.DataFrame, error: Callable = crossed_error) -> pd.DataFrame:
    """Accuracy by model and test set (Figure 2), with low, high, images and trainings.

    `error` is the formula of the intervals.
    """
    rows, keys = [], ["model", "train_set", "test_set"]
    for of, part in table.groupby(keys, sort=False):
        right = _right(part)
        rows.append((*of, *stats.share(right, error), right.shape[1], len(right)))
    columns = [*keys, "accuracy", "low", "high", "images", "trainings"]
    return pd.DataFrame(rows, columns=columns)


def hidden(table: pd.DataFrame) -> pd.DataFrame:
    """By model, accuracy on the own set less the mean on the others: drop, drop_low, drop_high."""
    rows = []
    for name, part in table.groupby("model", sort=False):
        [own], tests = part["train_set"].unique(), part["test_set"].unique()
        others = [test for test in tests if test != own]
        if others and own in tests:
            weights = {(name, own): 1.0} | {(name, test): -1 / len(others) for test in others}
            rows.append([name, *contrast(table, weights)])
    return pd.DataFrame(rows, columns=["model", "drop", "drop_low", "drop_high"])


def contrast(table: pd.DataFrame, weights: Mapping[tuple[str, str], float]) -> stats.Interval:
    """A weighted sum of accuracies; models on the same test set are compared image by image.

    `weights` are by model and test set: ``{("model-WB", "C"): 1, ("model-C", "WB"): -1}``.
    """
    parts = dict(list(table.groupby(["model", "test_set"], sort=False)))
    differences, largest = [], []
    for name in dict.fromkeys(test_set for _, test_set in weights):
        mine = {pair: weight for pair, weight in weights.items() if pair[1] == name}
        largest.append(max(map(abs, mine.values())))
        differences.append(sum(w * _right(parts[pair]) for pair, w in mine.items()) / largest[-1])
    return stats.mean(differences, largest, shares=True).interval()


def _right(part: pd.DataFrame) -> np.ndarray:
    """1.0 where right, 0.0 where wrong: (trainings, images)."""
    return part.pivot(index="training", columns="image", values="right").to_numpy(float)
