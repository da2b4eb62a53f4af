"""Differences between accuracies, on known predictions."""

import numpy as np
import pandas as pd
import pytest

from helpers import stats
from helpers.contexts.cross_evaluation import accuracy_lost, contrast

CLASSES = ("bench", "mug")
HALF = np.arange(20) % 2 == 0
EVERY = np.full(20, True)


def predicted(correct):
    """Return predictions from bool arrays (runs, images) by model and test set."""
    parts = []
    for (model, test_set), values in correct.items():
        run, image = np.indices(values.shape).reshape(2, -1)
        part = pd.DataFrame({"run": run})
        part["image"] = image
        part["correct"] = values.ravel()
        part["class"] = np.array(CLASSES)[image % 2]
        part["model"] = model
        part["train_set"] = model.rpartition("-")[2]
        part["test_set"] = test_set
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def weights_of(rows):
    """Return a table of weights from (model, test set, weight)."""
    return pd.DataFrame(rows, columns=["model", "test_set", "weight"])


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_models_on_one_set_are_compared_image_by_image(level):
    rng = np.random.default_rng(0)
    first = rng.random((5, 100)) < 0.5
    second = first.copy()
    second[:, :8] = False  # as good but for eight images
    table = predicted(
        {
            ("a", "C"): first,
            ("b", "C"): second,
        }
    )
    weights = weights_of(
        [
            ("a", "C", 1),
            ("b", "C", -1),
        ]
    )
    difference = first.astype(float) - second
    expected = stats.mean(difference).interval(level)
    assert contrast(table, weights, level) == pytest.approx(expected)


def test_contrasts_over_two_sets_pair_images_within_each():
    rng = np.random.default_rng(0)
    first = rng.random((5, 100)) < 0.5
    second = rng.random((5, 100)) < 0.5
    other_set = rng.random((5, 60)) < 0.7
    table = predicted(
        {
            ("a", "C"): first,
            ("b", "C"): second,
            ("a", "NC"): other_set,
        }
    )
    weights = weights_of(
        [
            ("a", "C", 0.5),
            ("a", "NC", 0.5),
            ("b", "C", -1),
        ]
    )
    on_c = 0.5 * first - second
    expected = stats.mean([on_c, other_set], [1, 0.5])
    assert contrast(table, weights) == pytest.approx(expected.interval())


@pytest.fixture
def table():
    return predicted(
        {
            ("model-C", "C"): np.stack([EVERY, HALF, EVERY]),
            ("model-C", "NC"): np.stack([HALF, HALF, EVERY]),
            ("model-C", "WB"): np.stack([HALF] * 3),
            ("model-WB", "C"): np.stack([HALF] * 3),
            ("model-WB", "NC"): np.stack([EVERY] * 3),
            ("model-WB", "WB"): np.stack([EVERY] * 3),
        }
    )


def test_a_loss_is_the_own_accuracy_minus_the_mean_of_the_others(table):
    lost = accuracy_lost(table)
    assert lost["model"].tolist() == ["model-C", "model-WB"], "the largest loss first"
    of_c = table[table["model"] == "model-C"]
    correct = of_c.groupby("test_set")["correct"].mean()
    others = (correct["NC"] + correct["WB"]) / 2
    row = lost.iloc[0]
    assert row["lost"] == pytest.approx(correct["C"] - others)
    assert row["ci_low"] <= row["lost"] <= row["ci_high"]


def test_nothing_is_lost_on_the_only_image_set(table):
    only_c = table[table["test_set"] == "C"]
    assert accuracy_lost(only_c).empty
