"""Accuracies by model and test set, and their contrasts, on known predictions."""

import numpy as np
import pandas as pd
import pytest

from helpers import stats
from helpers.contexts import effects
from helpers.contexts.random_split import hidden
from helpers.stats.interval import crossed_error

CLASSES = ("bench", "mug")
HALF = np.arange(20) % 2 == 0


def predicted(rights):
    """Return a table of predictions from bool arrays (runs, images) by model and test set."""
    parts = []
    for (model, test_set), right in rights.items():
        run, image = np.indices(right.shape).reshape(2, -1)
        part = pd.DataFrame({"run": run, "image": image, "right": right.ravel()})
        part["class"] = np.array(CLASSES)[image % 2]
        part["model"] = model
        part["train_set"] = model.rpartition("-")[2]
        part["test_set"] = test_set
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def table():
    every = np.full(20, True)
    return predicted(
        {
            ("model-C", "C"): np.stack([every, HALF, every]),
            ("model-C", "WB"): np.stack([HALF] * 3),
            ("model-WB", "C"): np.stack([HALF] * 3),
            ("model-WB", "WB"): np.stack([every] * 3),
        }
    )


def test_accuracy_is_a_mean_over_runs_and_images(table):
    rows = effects.accuracies(table).set_index(["model", "test_set"])
    equal_runs = rows.loc[("model-WB", "C")]  # three of them say no more than one
    interval = equal_runs[["accuracy", "low", "high"]].tolist()
    assert interval == pytest.approx(stats.share(HALF))
    assert equal_runs[["train_set", "images", "runs"]].tolist() == ["WB", 20, 3]
    accuracy = rows.loc[("model-C", "C"), "accuracy"]
    assert accuracy == pytest.approx((20 + 10 + 20) / 60)


def test_models_on_one_set_are_compared_image_by_image():
    rng = np.random.default_rng(0)
    first = rng.random((5, 100)) < 0.5
    second = first.copy()
    second[:, :8] = False  # as good but for eight images
    table = predicted({("a", "C"): first, ("b", "C"): second})
    rights = effects.grids(table, *effects.BARS)
    ours = effects.contrast(rights, {("a", "C"): 1, ("b", "C"): -1}, shares=True)
    assert ours == pytest.approx(stats.mean(first.astype(float) - second).interval())


def test_the_hidden_drop_is_the_own_accuracy_minus_that_of_the_other_sets(table):
    row = hidden(table, crossed_error).set_index("model").loc["model-C"]
    right = table[table["model"] == "model-C"].groupby("test_set")["right"].mean()
    assert row["drop"] == pytest.approx(right["C"] - right["WB"])
    assert row["drop_low"] <= row["drop"] <= row["drop_high"]


def test_contrasts_over_two_sets_pair_images_within_each():
    rng = np.random.default_rng(0)
    first = rng.random((5, 100)) < 0.5
    second = rng.random((5, 100)) < 0.5
    other_set = rng.random((5, 60)) < 0.7
    table = predicted({("a", "C"): first, ("b", "C"): second, ("a", "NC"): other_set})
    rights = effects.grids(table, *effects.BARS)
    weights = {("a", "C"): 0.5, ("a", "NC"): 0.5, ("b", "C"): -1}
    ours = effects.contrast(rights, weights, shares=True)
    expected = stats.mean([0.5 * first - second, other_set], [1, 0.5])
    assert ours == pytest.approx(expected.interval())
