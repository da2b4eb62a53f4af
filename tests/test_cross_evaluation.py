"""Cross-evaluation on models whose answers are known."""

import numpy as np
import pandas as pd
import pytest
import torch
from test_background import CLASSES, image_set
from torch import nn

from helpers import stats
from helpers.contexts import effects
from helpers.contexts.random_split import hidden
from helpers.stats.interval import crossed_error


class Constant(nn.Module):
    """Says one class of everything."""

    def __init__(self, answer):
        super().__init__()
        self.bias = nn.Parameter(torch.eye(2)[answer])

    def forward(self, images):
        return self.bias.expand(len(images), 2)


class ByRed(nn.Module):
    """Says bench where the image is red on average."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, images):
        red, _, blue = images.float().mean((2, 3)).unbind(1)
        return torch.stack([red, blue], 1) * self.scale


SETS = {"C": image_set(), "WB": image_set("WB", colours=((90, 90, 90), (95, 95, 95)))}


@pytest.fixture
def table():
    networks = {"model-C": [ByRed(), Constant(0), ByRed()], "model-WB": [Constant(0)] * 3}
    return effects.predictions(networks, SETS)


def test_accuracy_is_a_mean_over_trainings_and_images(table):
    rows = effects.accuracies(table).set_index(["model", "test_set"])
    row = rows.loc[("model-WB", "C")]  # three equal trainings say no more than one
    right = np.arange(20) % 2 == 0
    assert (row["low"], row["high"]) == pytest.approx(stats.share(right)[1:])
    rest = row[["accuracy", "train_set", "images", "trainings"]]
    assert list(rest) == [0.5, "WB", 20, 3]
    row = rows.loc[("model-C", "C")]
    assert row["accuracy"] == pytest.approx((20 + 10 + 20) / 60)
    assert row["low"] < 0.5 and row["high"] > 0.9  # of three trainings


def test_hidden_is_own_minus_the_mean_of_the_others_with_the_whiskers_that_are_handed_over(table):
    row = hidden(table, crossed_error).set_index("model").loc["model-C"]
    right = table[table["model"] == "model-C"].groupby("test_set")["right"].mean()
    assert row["drop"] == pytest.approx(right["C"] - right["WB"])
    assert row["drop_low"] <= row["drop"] <= row["drop_high"]

    def certain(*parts):
        return 0.0, 1.0

    bars = effects.accuracies(table, certain).query("0 < accuracy < 1")
    assert len(bars) and bars["low"].eq(bars["accuracy"]).all()
    drops = hidden(table, certain)
    assert len(drops) and drops["drop_low"].eq(drops["drop"]).all()


def predicted(rights):
    """A table of predictions from (model, test set) to a bool array (trainings, images)."""
    parts = []
    for (model, test_set), right in rights.items():
        training, image = np.indices(right.shape).reshape(2, -1)
        rows = {"model": model, "train_set": model.rpartition("-")[2], "test_set": test_set}
        rows |= {"training": training, "image": image, "right": right.ravel()}
        parts.append(pd.DataFrame(rows | {"class": np.array(CLASSES)[image % 2]}))
    return pd.concat(parts, ignore_index=True)


def test_models_on_one_set_are_compared_image_by_image():
    rng = np.random.default_rng(0)
    first = rng.random((5, 100)) < 0.5
    second = first.copy()
    second[:, :8] = False  # as good but for eight images
    third = rng.random((5, 60)) < 0.5 + 0.1 * np.arange(5)[:, None]
    table = predicted({("a", "C"): first, ("b", "C"): second, ("a", "NC"): third})
    rights = effects.grids(table, *effects.BARS)
    ours = effects.contrast(rights, {("a", "C"): 1, ("b", "C"): -1}, shares=True)
    assert ours == pytest.approx(stats.mean(first.astype(float) - second).interval())
    weights = {("a", "C"): 0.5, ("a", "NC"): 0.5, ("b", "C"): -1}
    ours, one = effects.contrast(rights, weights, shares=True), 0.5 * first - second
    assert ours == pytest.approx(stats.mean([one, third], [1, 0.5]).interval())
    with pytest.raises(KeyError, match="WB"):
        effects.contrast(rights, {("a", "WB"): 1}, shares=True)
