"""Cross-evaluation on models whose answers are known."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from test_colour import CLASSES, image_set
from torch import nn

from helpers import claims, cross_evaluation


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
    networks = {"model-C": ByRed(), "model-WB": Constant(0)}
    return cross_evaluation.predictions(networks, SETS)


def test_predictions_are_those_of_the_models(table):
    one = table[(table["model"] == "model-WB")]
    assert set(one["predicted"]) == {"bench"}
    red = table[(table["model"] == "model-C") & (table["test_set"] == "C")]
    assert (red["predicted"] == red["class"]).all() and red["right"].all()
    assert len(table) == 2 * 2 * 20


def test_accuracy_and_wilson_interval_against_the_closed_form(table):
    row = cross_evaluation.accuracies(table).set_index(["model", "test_set"]).loc[("model-WB", "C")]
    n, p, z = 20, 0.5, 1.959963984540054
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    assert row["accuracy"] == p and row["train_set"] == "WB"
    assert (row["low"], row["high"]) == pytest.approx((centre - half, centre + half))


def test_confusions_count_every_image(table):
    matrices = cross_evaluation.confusions(table)
    assert list(matrices) == [
        ("model-C", "C"),
        ("model-WB", "C"),
        ("model-C", "WB"),
        ("model-WB", "WB"),
    ]
    for (model, test_set), matrix in matrices.items():
        part = table[(table["model"] == model) & (table["test_set"] == test_set)]
        for true in CLASSES:
            for said in CLASSES:
                both = ((part["class"] == true) & (part["predicted"] == said)).sum()
                assert matrix.loc[true, said] == both


def test_hidden_is_own_minus_the_mean_of_the_others(table):
    row = cross_evaluation.hidden(table).set_index("model").loc["model-C"]
    right = table[table["model"] == "model-C"].groupby("test_set")["right"].mean()
    assert row["own"] == right["C"]
    assert row["drop"] == pytest.approx(right["C"] - right["WB"])
    assert row["drop_low"] <= row["drop"] <= row["drop_high"]


def test_one_set_hides_nothing_that_could_be_measured(table):
    assert (
        cross_evaluation.hidden(table[table["test_set"] == "C"])
        .loc[lambda t: t["model"] == "model-C"]
        .empty
    )


def test_a_difference_excludes_zero_only_when_it_is_clear():
    rows = [
        {"model": m, "test_set": "C", "accuracy": k / 100, "right": k, "images": 100}
        for m, k in (("a", 90), ("b", 60), ("c", 58))
    ]
    table = pd.DataFrame(rows)
    clear = cross_evaluation.difference(table, ("a", "C"), ("b", "C"))
    assert clear.estimate == pytest.approx(0.3) and clear.low > 0
    unclear = cross_evaluation.difference(table, ("b", "C"), ("c", "C"))
    assert unclear.low < 0 < unclear.high


def test_gain_elsewhere_is_the_difference_of_means_outside_the_own_set(table):
    right = table.groupby(["model", "test_set"])["right"].mean()
    gain = cross_evaluation.gain_elsewhere(table, "model-C", "model-WB")
    assert gain.estimate == pytest.approx(right["model-C", "WB"] - right["model-WB", "C"])


def accuracies_like_the_paper():
    values = {
        "model-NC": (0.5, 0.98, 0.9),
        "model-C": (1.0, 0.70, 0.65),
        "model-WB": (0.83, 0.89, 0.99),
        "pt-NC": (0.9, 1.0, 0.99),
        "pt-C": (1.0, 0.95, 0.96),
        "pt-WB": (0.97, 0.98, 1.0),
    }
    rng = np.random.default_rng(0)
    rows = [
        {
            "model": m,
            "test_set": s,
            "image": i,
            "class": CLASSES[i % 2],
            "right": i < round(100 * v),
        }
        for m, vs in values.items()
        for s, v in zip(("C", "NC", "WB"), vs, strict=True)
        for i in rng.permutation(100)
    ]
    return pd.DataFrame(rows)


def test_claims_on_the_papers_own_accuracies_all_hold():
    table = accuracies_like_the_paper()
    found = claims.of_cross_evaluation(
        table, cross_evaluation.accuracies(table), cross_evaluation.hidden(table)
    )
    assert len(found) == 17
    made_up = {  # by the numbers above that the paper does not print
        "Models from a random state do worse than pretrained ones on every test set",
        "Outside their own sets model-NC does better than model-C",
    }
    assert {f.claim for f in found if f.verdict != "holds"} <= made_up


def test_claims_on_models_that_all_generalise_do_not_hold():
    table = accuracies_like_the_paper().assign(right=True)
    found = claims.of_cross_evaluation(
        table, cross_evaluation.accuracies(table), cross_evaluation.hidden(table)
    )
    verdicts = {f.claim: f.verdict for f in found}
    assert verdicts["A random split hides what model-C loses on the other sets"] == "does not hold"
    assert verdicts["model-WB on C beats model-C on WB"] == "undecided"
