"""Claims and figures of Focus, on made-up ratings whose answers are known."""

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib import pyplot as plt

from helpers import claims_focus, focus, plots_focus
from helpers.attribution import PAPER_METHODS
from helpers.findings import FAILS, HOLDS, UNTESTED
from helpers.focus import comparisons, study

LEVEL = dict(zip(PAPER_METHODS, (0.9, 0.92, 0.52, 0.8, 0.7, 0.55), strict=True))


@pytest.fixture(scope="module")
def rated():
    classes = ("a", "b", "c")
    table = focus.design(pd.DataFrame({"class": np.repeat(classes, 12)}), classes, per_class=12)
    rng, parts = np.random.default_rng(0), []
    for architecture in ("one", "two"):
        for name in ("C", "NC"):
            for method, level in LEVEL.items():
                noise = rng.normal(0, 0.08 if method == "lime" else 0.03, len(table))
                part = table.assign(method=method, focus=(level + noise).clip(0, 1), seconds=0.01)
                parts.append(part.assign(architecture=architecture, set=name))
    return pd.concat(parts, ignore_index=True)


def verdicts(found):
    return {f.claim: f.verdict for f in found}


def test_the_papers_order_holds_where_it_was_made(rated):
    found = verdicts(claims_focus.of_methods(rated))
    assert len(found) == 11 and set(found.values()) == {HOLDS}


def test_another_order_does_not_hold(rated):
    swapped = rated.assign(focus=1 - rated["focus"])
    found = verdicts(claims_focus.of_methods(swapped))
    assert found["GradCAM is reliable: Focus above 0.75"] == FAILS
    assert found["GradCAM has more Focus than GradCAM++"] == FAILS
    assert found["SmoothGrad is nearly random: Focus below 0.6"] == HOLDS
    alone = rated[rated["method"] == "lrp"]
    found = verdicts(claims_focus.of_methods(alone))
    assert found["GradCAM is reliable"] == UNTESTED


def test_a_mosaic_is_averaged_over_architectures(rated):
    found = claims_focus.over_architectures(rated)
    assert len(found) == len(rated) / 2
    one = rated[(rated["method"] == "lrp") & (rated["set"] == "NC") & (rated["mosaic"] == 3)]
    two = found[(found["method"] == "lrp") & (found["set"] == "NC") & (found["mosaic"] == 3)]
    assert two["focus"].item() == pytest.approx(one["focus"].mean())


def weaker(slope):
    accuracy = np.linspace(0.3, 1, 12)
    table = pd.DataFrame({"accuracy": accuracy, "how": ["own set", "other set"] * 6})
    for method, rise in (("lrp", 0.5), ("gradcam", slope)):
        table[method] = 0.9 - rise * (1 - accuracy)
        table[f"{method}_low"], table[f"{method}_high"] = table[method] - 0.1, table[method] + 0.1
    return table


def test_accuracy_and_focus():
    found = list(verdicts(claims_focus.of_accuracy(weaker(0.5))).values())
    assert found == [HOLDS, HOLDS, FAILS]
    assert comparisons.rank_correlation(weaker(0.5), "lrp").estimate == pytest.approx(1)
    assert list(verdicts(claims_focus.of_accuracy(weaker(0.01))).values())[2] == HOLDS
    few = claims_focus.of_accuracy(weaker(0.5).tail(3))
    assert {f.verdict for f in few} == {UNTESTED}


def test_figures_are_drawn(rated):
    means = focus.summary(rated, by=["architecture", "method", "set"], resamples=50)
    picture, layout = torch.zeros(3, 8, 8, dtype=torch.uint8), torch.tensor([[1, 0], [0, 1]]) > 0
    maps = {"GradCAM": torch.rand(8, 8), "empty": torch.zeros(8, 8)}
    control = {"control": "x", "on": "y", "mean": 0.4, "low": 0.3, "high": 0.6, "expected": 0.5}
    names = ["top", "left", "falling", "rising", "right", "bottom"]
    moved = pd.DataFrame({"layout": names, "mean": 0.0, "low": -0.1, "high": 0.1})
    half = rated[rated["set"] == "C"]
    two = half.assign(choice="layer", option=np.where(half["architecture"] == "one", "x", "y"))
    by = ["choice", "method", "option"]
    figures = [
        plots_focus.figure_1(rated, means),
        plots_focus.mosaic_maps(picture, layout, maps, [0.6, np.nan]),
        plots_focus.accuracy_and_focus(weaker(0.2)),
        plots_focus.choices(focus.summary(two, by=by, resamples=50)),
        plots_focus.controls(
            pd.DataFrame([{**control, "holds": True}, {**control, "holds": False}])
        ),
        plots_focus.positions(moved),
        plots_focus.time_and_focus(focus.summary(half, resamples=50), ["gradcam", "lrp"]),
    ]
    for figure in figures:
        figure.canvas.draw()
        plt.close(figure)


def test_tables_an_architecture(rated):
    accuracies = pd.DataFrame(
        {"architecture": ["one"] * 2, "set": ["C", "NC"], "accuracy": [0.9, 0.8]}
    )
    found = study.table_of(rated, accuracies, "one")
    assert list(found.columns) == ["C", "NC", "undefined"] and len(found) == 7
    assert found.loc["LRP", "C"].startswith("0.9") and found.loc["accuracy", "NC"] == "0.80"
