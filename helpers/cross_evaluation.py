"""Cross-evaluation: every model on every test set, and what a random split would have hidden.

*Assessing Biases through Visual Contexts*, section 2.1.3 and Figure 2. A random split tests a model
on the set it was trained on; the other sets hold the same classes in another setting.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from torch import nn

from helpers import models, stats
from helpers.sources import ImageSet


def predictions(networks: Mapping[str, nn.Module], sets: Mapping[str, ImageSet]) -> pd.DataFrame:
    """What each model says of each test image.

    Parameters
    ----------
    networks
        Name (such as ``model-C``) to model.
    sets
        Name of a set to its images; the test split is used.

    Returns
    -------
    pandas.DataFrame
        One row a model and test image: model, test_set, image (its place in the test split),
        class, predicted, right.
    """
    parts = []
    for set_name, images in sets.items():
        test = images.split("test")
        for model_name, network in networks.items():
            best = models.logits(network, test.images).argmax(1)
            parts.append(
                pd.DataFrame(
                    {
                        "model": model_name,
                        "test_set": set_name,
                        "image": np.arange(len(test)),
                        "class": [test.classes[i] for i in test.labels],
                        "predicted": [test.classes[i] for i in best],
                        "right": (best == test.labels).numpy(),
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def accuracies(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Accuracy of every model on every test set, with Wilson intervals (Figure 2).

    Parameters
    ----------
    table
        From :func:`predictions`.

    Returns
    -------
    pandas.DataFrame
        model, train_set (a model's own: what its name ends in), test_set, accuracy, low, high,
        right, images; models and sets in the order given.
    """
    counts = table.groupby(["model", "test_set"], sort=False)["right"].agg(["sum", "size"])
    counts = counts.rename(columns={"sum": "right", "size": "images"}).reset_index()
    low, high = stats.wilson(counts["right"], counts["images"], level)
    own = counts["model"].str.rpartition("-")[2]
    share = counts["right"] / counts["images"]
    return counts.assign(train_set=own, accuracy=share, low=low, high=high)[
        ["model", "train_set", "test_set", "accuracy", "low", "high", "right", "images"]
    ]


def confusions(table: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """Confusion matrix of each model and test set.

    Parameters
    ----------
    table
        From :func:`predictions`.

    Returns
    -------
    dict
        (model, test set) to counts: classes down, predicted classes across, in one order.
    """
    order = list(dict.fromkeys(table["class"]))
    return {
        pair: pd.crosstab(part["class"], part["predicted"]).reindex(
            index=order, columns=order, fill_value=0
        )
        for pair, part in table.groupby(["model", "test_set"], sort=False)
    }


def hidden(table: pd.DataFrame, *, level: float = 0.95, seed: int = 0) -> pd.DataFrame:
    """What a random split would have hidden: accuracy lost outside the model's own set.

    Parameters
    ----------
    table
        From :func:`predictions`. A model's own set is the one its name ends in.
    level, seed
        Of the bootstrap interval, which resamples the images of every test set.

    Returns
    -------
    pandas.DataFrame
        One row a model: model, own (accuracy on its own set), others (mean accuracy on the other
        sets), drop (own - others), drop_low, drop_high. Empty where there is one set only.
    """
    rows = []
    for name, part in table.groupby("model", sort=False):
        own_name = name.rpartition("-")[2]
        right = {s: g["right"].to_numpy(float) for s, g in part.groupby("test_set", sort=False)}
        others = [values for s, values in right.items() if s != own_name]
        if own_name not in right or not others:
            continue
        # stats.bootstrap takes the mean of the groups' means; weights turn it into the difference
        groups = 1 + len(others)
        weighted = [groups * right[own_name], *(-groups / len(others) * v for v in others)]
        drop = stats.bootstrap(weighted, level=level, seed=seed)
        own = right[own_name].mean()
        rows.append([name, own, own - drop.estimate, drop.estimate, drop.low, drop.high])
    columns = ["model", "own", "others", "drop", "drop_low", "drop_high"]
    return pd.DataFrame(rows, columns=columns)


def gain_elsewhere(table: pd.DataFrame, better: str, worse: str) -> stats.Interval:
    """Mean accuracy of one model outside its own set, minus that of another.

    Parameters
    ----------
    table
        From :func:`predictions`.
    better, worse
        Names of models; a model's own set is the one its name ends in.
    """
    groups = []
    for name, sign in ((better, 1), (worse, -1)):
        part = table[(table["model"] == name) & (table["test_set"] != name.rpartition("-")[2])]
        right = [g["right"].to_numpy(float) for _, g in part.groupby("test_set")]
        groups += [sign / len(right) * values for values in right]
    # stats.bootstrap takes the mean of the groups' means; the weights make it their sum
    return stats.bootstrap([len(groups) * values for values in groups])


def difference(
    table: pd.DataFrame, first: tuple[str, str], second: tuple[str, str], level: float = 0.95
) -> stats.Interval:
    """Accuracy of one (model, test set) minus that of another, with Newcombe's interval.

    Parameters
    ----------
    table
        From :func:`accuracies`.
    first, second
        Pairs such as ``("model-WB", "C")``.

    Raises
    ------
    KeyError
        When the table has no such pair.
    """
    rows = table.set_index(["model", "test_set"])
    a, b = rows.loc[first], rows.loc[second]
    counts = (int(row[name]) for row in (a, b) for name in ("right", "images"))
    return stats.newcombe(*counts, level)
