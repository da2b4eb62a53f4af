"""Cross-evaluation: every model on every test set, and what a random split would have hidden.
*Assessing Biases through Visual Contexts*, section 2.1.3 and Figure 2."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from torch import nn

from helpers import models, stats
from helpers.contexts import effects
from helpers.data import ImageSet
from helpers.models import experiment
from helpers.stats.interval import crossed_error

BARS = "right", ["model", "test_set"], "image"  # of Figure 2, as `effects.grids` takes them


def predictions(
    networks: Mapping[str, Sequence[nn.Module]], sets: Mapping[str, ImageSet]
) -> pd.DataFrame:
    """What each training of each model says of each test image of each of the `sets`."""
    parts = []
    for (set_name, images), (name, trainings) in product(sets.items(), networks.items()):
        test = images.split("test")
        best = models.logits(trainings, test.images).argmax(2)
        training, image = np.indices(best.shape).reshape(2, -1)
        rows = {
            "model": name,
            "train_set": experiment.MODELS.get(name, ("", ""))[1],
            "training": training,
            "test_set": set_name,
            "image": image,
            "class": np.take(test.classes, test.labels)[image],
            "predicted": np.take(test.classes, best.flatten()),
            "right": (best == test.labels).flatten().numpy(),
        }
        parts.append(pd.DataFrame(rows))
    return pd.concat(parts, ignore_index=True)


def accuracies(table: pd.DataFrame, error: Callable = crossed_error) -> pd.DataFrame:
    """Accuracy by model and test set (Figure 2); `error` is the formula of the intervals."""
    rows, keys = [], ["model", "train_set", "test_set"]
    for of, right in effects.grids(table, "right", keys, "image").items():
        rows.append((*of, *stats.share(right, error), right.shape[1], len(right)))
    columns = [*keys, "accuracy", "low", "high", "images", "trainings"]
    return pd.DataFrame(rows, columns=columns)
