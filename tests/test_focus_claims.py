"""Claims and figures of Focus, on made-up ratings whose answers are known."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib import pyplot as plt

from helpers import focus
from helpers.explain import PAPER_METHODS
from helpers.figures import focus as figures
from helpers.focus import claims, comparisons, study
from helpers.run.findings import FAILS, HOLDS, UNTESTED

LEVEL = dict(zip(PAPER_METHODS, (0.9, 0.92, 0.52, 0.8, 0.7, 0.55), strict=True))


@pytest.fixture(scope="module")
def rated():
    classes = ("a", "b", "c")
    table = focus.design(pd.DataFrame({"class": np.repeat(classes, 12)}), classes, per_class=12)
    rng, parts = np.random.default_rng(0), []
    for architecture in ("one", "two"):
        for name in ("C", "NC"):
            for method, training in itertools.product(LEVEL, range(3)):
                noise = rng.normal(0, 0.08 if method == "lime" else 0.03, len(table))
                level = LEVEL[method] + rng.normal(0, 0.01)
                part = table.assign(method=method, focus=(level + noise).clip(0, 1), seconds=0.01)
                part = part.assign(architecture=architecture, set=name, training=training)
                parts.append(part)
    return pd.concat(parts, ignore_index=True)


def verdicts(found):
    return {f.claim: f.verdict for f in found}


def test_the_papers_order_holds_where_it_was_made(rated):
    found = verdicts(claims.of_methods(rated))
    assert len(found) == 14 and set(found.values()) == {HOLDS}


def test_another_order_does_not_hold(rated):
    swapped = rated.assign(focus=1 - rated["focus"])
    found = verdicts(claims.of_methods(swapped))
    assert found["GradCAM is reliable: Focus above 0.75"] == FAILS
    assert found["GradCAM has more Focus than GradCAM++"] == FAILS
    assert found["SmoothGrad is nearly random: Focus below 0.6"] == HOLDS
    alone = rated[rated["method"] == "lrp"]
    found = verdicts(claims.of_methods(alone))
    assert found["GradCAM is reliable"] == UNTESTED


def test_methods_are_compared_on_the_architectures_that_both_explain(rated):
    """LRP may refuse one: its networks are then left out of the comparison, not of the rating."""
    part = rated[(rated["method"] != "lrp") | (rated["architecture"] == "one")]
    found = {f.claim: f for f in claims.of_methods(part)}
    one = rated[rated["architecture"] == "one"].groupby("method")["focus"].mean()
    gap = found["LRP has more Focus than GradCAM++"]
    assert gap.verdict == HOLDS and gap.measured == pytest.approx(one["lrp"] - one["gradcam++"])


def weaker(slope):
    accuracy = np.linspace(0.3, 1, 12)
    table = pd.DataFrame({"accuracy": accuracy, "how": ["own set", "other set"] * 6})
    table = table.assign(network=[f"n{i}" for i in range(12)], architecture=["x", "y", "z"] * 4)
    table = table.assign(model=table["architecture"], set="C", training=0)
    table.loc[3, "how"] = "stopped early"
    for method, rise in (("lrp", 0.5), ("lime", 0.4), ("gradcam", slope)):
        table[method] = 0.9 - rise * (1 - accuracy)
    return table


def test_accuracy_and_focus():
    found = list(verdicts(claims.of_accuracy(weaker(0.5))).values())
    assert found == [HOLDS, HOLDS, HOLDS, FAILS]
    assert comparisons.rank_correlation(weaker(0.5), "lrp").estimate == pytest.approx(1)
    assert list(verdicts(claims.of_accuracy(weaker(0.01))).values())[3] == HOLDS
    few = claims.of_accuracy(weaker(0.5).tail(3))
    assert {f.verdict for f in few} == {UNTESTED}
    without = claims.of_accuracy(weaker(0.5).drop(columns="lime"))
    assert without[1].verdict == UNTESTED and "LIME" in without[1].claim


def test_networks_are_resampled_and_not_their_cases():
    """Cases that repeat one network say nothing new: the interval is as wide as without them."""
    rng = np.random.default_rng(0)
    table = weaker(0.5)
    table["lrp"] = 0.5 * table["accuracy"] + rng.normal(0, 0.15, len(table))
    repeated = pd.concat([table] * 4, ignore_index=True)
    once = comparisons.rank_correlation(table, "lrp")
    again = comparisons.rank_correlation(repeated, "lrp")
    assert again.estimate == pytest.approx(once.estimate)
    assert (again.low, again.high) == pytest.approx((once.low, once.high), abs=1e-9)
    alone = repeated.assign(network=range(len(repeated)))
    narrow = comparisons.rank_correlation(alone, "lrp")
    assert narrow.high - narrow.low < 0.7 * (once.high - once.low)
    bad = claims.of_accuracy(repeated)[-1]
    assert (bad.low, bad.high) == pytest.approx(_ends(claims.of_accuracy(table)[-1]))
    assert bad.unit == "mean Focus, 36 cases of 9 networks"


def _ends(finding):
    return finding.low, finding.high


def test_heads_that_share_channels_are_two_findings():
    moved = pd.DataFrame({"layout": ["top"], "mean": [0.0], "low": [-0.01], "high": [0.01]})
    rows = [("GradCAM", False), ("LRP", True), ("IG", True)]
    checked = pd.DataFrame(
        {"control": f"disconnected heads: {name}", "on": "shared channels", "holds": holds}
        | {"mean": 0.9}
        for name, holds in rows
    )
    found = claims.of_controls(checked, moved, 0.5)
    assert [f.verdict for f in found] == [FAILS, HOLDS, HOLDS]
    assert found[1].unit == "of 2 methods are (LRP, IG)"


def test_figures_are_drawn(rated):
    means = focus.summary(rated, by=["architecture", "method", "set"])
    picture, layout = torch.zeros(3, 8, 8, dtype=torch.uint8), torch.tensor([[1, 0], [0, 1]]) > 0
    maps = {"GradCAM": torch.rand(8, 8), "empty": torch.zeros(8, 8)}
    control = {"control": "x", "on": "y", "mean": 0.4, "low": 0.3, "high": 0.6, "expected": 0.5}
    names = ["top", "left", "falling", "rising", "right", "bottom"]
    moved = pd.DataFrame({"layout": names, "mean": 0.0, "low": -0.1, "high": 0.1})
    half = rated[(rated["set"] == "C") & (rated["architecture"] == "one")]
    two = half.assign(choice="layer", option="x")
    two = pd.concat([two, two.assign(option="y", focus=two["focus"] - 0.1)])
    drawn = [
        figures.figure_1(rated, means),
        figures.mosaic_maps(picture, layout, maps, ["0.6", "nan"], "mug"),
        figures.accuracy_and_focus(weaker(0.2)),
        figures.choices(comparisons.paired(two)),
        figures.controls(
            pd.DataFrame(
                [
                    {**control, "holds": True},
                    {**control, "holds": False, "expected": 1.0},
                    {**control, "holds": False, "mean": np.nan},
                ]
            )
        ),
        figures.positions(moved),
        figures.time_and_focus(focus.summary(half), ["gradcam", "lrp"]),
    ]
    for figure in drawn:
        figure.canvas.draw()
        plt.close(figure)


def test_tables_an_architecture(rated):
    accuracies = pd.DataFrame(
        {"architecture": ["one"] * 2, "set": ["C", "NC"], "accuracy": [0.9, 0.8]}
    )
    found = study.table_of(rated, accuracies, "one")
    assert list(found.columns) == ["C", "NC", "undefined"] and len(found) == 7
    assert found.loc["LRP", "C"].startswith("0.9") and found.loc["accuracy", "NC"] == "0.80"
    assert found.loc["LRP", "undefined"] == "0" and found.loc["accuracy", "undefined"] == "–"


def test_names_in_the_time_figure_hide_nothing(rated):
    """Neither each other, nor a point with its interval, however close they stand."""
    table = focus.summary(rated[rated["set"] == "C"])
    table["seconds"] = [0.005, 0.04, 0.06, 0.062, 0.0051, 0.058]
    figure = figures.time_and_focus(table, ["gradcam", "lrp"])
    figure.canvas.draw()
    [ax] = figure.axes
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 6
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    points = ax.transData.transform(np.column_stack([1e3 * table["seconds"], table["mean"]]))
    assert not any(box.contains(*point) for box in boxes for point in points)
    plt.close(figure)


def test_pooled_means_are_over_architectures_and_sets(rated):
    found = claims.pooled_means(rated).set_index("method")["mean"]
    expected = rated.groupby("method")["focus"].mean().sort_values(ascending=False)
    pd.testing.assert_series_equal(found, expected, check_names=False)
