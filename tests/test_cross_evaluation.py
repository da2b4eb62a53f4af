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
        rows = {
            "model": model,
            "train_set": model.rpartition("-")[2],
            "test_set": test_set,
        }
        rows |= {"run": run, "image": image, "right": right.ravel()}
        parts.append(pd.DataFrame(rows | {"class": np.array(CLASSES)[image % 2]}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def table():
    every = np.full(20, True)
    rights = {
        ("model-C", "C"): np.stack([every, HALF, every]),
        ("model-C", "WB"): [HALF] * 3,
    }
    rights |= {("model-WB", "C"): [HALF] * 3, ("model-WB", "WB"): [every] * 3}
    return predicted({bar: np.array(right) for bar, right in rights.items()})


def test_accuracy_is_a_mean_over_runs_and_images(table):
    rows = effects.accuracies(table).set_index(["model", "test_set"])
    row = rows.loc[("model-WB", "C")]  # three equal runs say no more than one
    assert (row["low"], row["high"]) == pytest.approx(stats.share(HALF)[1:])
    rest = row[["accuracy", "train_set", "images", "runs"]]
    assert list(rest) == [0.5, "WB", 20, 3]
    row = rows.loc[("model-C", "C")]
    assert row["accuracy"] == pytest.approx((20 + 10 + 20) / 60)
    assert row["low"] < 0.5 and row["high"] > 0.9  # of three runs


def test_hidden_is_own_minus_others_with_the_given_error_formula(table):
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
