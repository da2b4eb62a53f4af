"""Figures of *Focus!* show what their tables say, for few classes and many."""

from __future__ import annotations

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch

from helpers import focus
from helpers.data import ImageSet
from helpers.figures import focus as figures
from helpers.focus import choices, look, pairs, trials
from helpers.focus.networks import Model
from helpers.focus.rating import rate
from helpers.run.parameters import Recipe

COLOURS = {"red": "#aa0000", "green": "#00aa00", "blue": "#0000aa"}
METHODS = ("GradCAM", "LRP", "SmoothGrad", "LIME", "GradCAM++", "IG")


class Colours(torch.nn.Module):
    """Logits: mean of each colour channel."""

    mean, std = 0.0, 1.0

    def __init__(self):
        super().__init__()
        self.one = torch.nn.Parameter(torch.ones(1))

    def forward(self, images):
        return images.mean((2, 3)) * self.one


def channel(model, images, targets):
    """Relevance: the target's own channel."""
    return images[torch.arange(len(images)), targets]


@pytest.fixture(scope="module")
def rated():
    names = ("red", "green", "blue")
    table = pd.DataFrame({"class": np.repeat(names, 4), "split": "test"})
    images = torch.zeros(12, 3, 8, 8, dtype=torch.uint8)
    for number in range(12):
        images[number, number // 4] = 200 + number
    images[4:8, 0] = 100  # green has some red
    spots = torch.zeros(12, 8, 8, dtype=torch.bool)
    spots[:, 2:5, 3:6] = True
    held = ImageSet("C", images, torch.arange(12) // 4, names, table, None, spots)
    model = Model(Recipe(), "C", [Colours()], {name: i for i, name in enumerate(names)})
    design = pairs.design(table, names, per_pair=4)
    return model, held, rate(model, held, design, channel)


def made(n: int) -> pd.DataFrame:
    names, rng = [f"class number {i}" for i in range(n)], np.random.default_rng(0)
    rows = [(a, b, rng.uniform(0.4, 1)) for a in names for b in names if a != b]
    table = pd.DataFrame(rows, columns=["target", "outer", "focus"])
    table = table.assign(low=table["focus"] - 0.1, high=table["focus"] + 0.1, reference=0.8)
    table = table.assign(difference=table["focus"] - 0.8, rank_difference=table["focus"].rank())
    table["difference_low"] = table["difference"] - 0.1
    table["difference_high"] = table["difference"] + 0.1
    table["p_adjusted"], table["rank"] = rng.uniform(0, 0.2, len(table)), table["focus"].rank()
    return table.sort_values("focus", ignore_index=True)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def texts(figure) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts]


@pytest.mark.parametrize("n", [2, 4, 12])
def test_matrix_writes_every_value_once(n):
    table = made(n)
    table.loc[0, "focus"] = np.nan
    written = texts(figures.pair_matrix(table, [f"class number {i}" for i in range(n)]))
    values = [f"{row.focus:.2f}" + "*" * (row.p_adjusted < 0.05) for row in table[1:].itertuples()]
    shown = [text for text in written if "." in text]
    assert sorted(shown) == sorted(values) and written.count("none") == 1
    assert written.count("\N{EN DASH}") == n


def test_ranking_names_pairs_and_shows_their_difference_and_p():
    table = made(4)
    table.loc[0, "p_adjusted"], table.loc[1, "p_adjusted"] = 0.0004, 0.2
    figure = figures.pair_ranking(table, tuple(table.loc[1, ["target", "outer"]]))
    left, right = figure.axes
    labels = left.get_yticklabels()
    wanted = [f"{row.target} beside {row.outer}" for row in table.itertuples()]
    assert [label.get_text() for label in labels] == wanted
    assert labels[1].get_color() != labels[0].get_color(), "the planted pair is marked"
    assert figure.get_suptitle().startswith(f"{(table['p_adjusted'] < 0.05).sum()} of 12 pairs")
    written = [text.get_text() for text in right.texts]
    assert {"< 0.001 *", "0.200"} <= set(written) and "rank" in written
    whiskers = right.containers[0].lines[2][0].get_segments()[0][:, 0]
    assert np.allclose(whiskers, table.loc[0, ["difference_low", "difference_high"]].tolist())


def test_a_walk_begins_with_the_lowest_and_goes_round(rated):
    _, _, table = rated
    values = sorted(pairs.of_pair(table, "red", "green")["focus"])
    for number, value in ((0, values[0]), (3, values[-1]), (4, values[0])):
        assert look.one(table, "red", "green", number)["focus"].item() == value
    with pytest.raises(ValueError, match="no mosaic of 'red' beside 'red'"):
        look.one(table, "red", "red", 0)


def test_each_image_says_its_class_and_its_share_of_the_relevance(rated):
    model, held, table = rated
    ends, images = pairs.extremes(table, "red", "green", 2), held.images
    figure = figures.mosaics_explained(
        **pairs.explained(model, held, ends, channel), colours=COLOURS
    )
    for row, ax in zip(ends.to_dict("records"), figure.axes[4:8], strict=True):
        named = [text.get_text().rsplit(" ", 1) for text in ax.texts]
        own = ["red" if row[f"is_target_{c}"] else "green" for c in range(4)]
        assert [name for name, _ in named] == own
        red = [float(images[row[f"image_{c}"]][0].sum()) for c in range(4)]
        assert [share for _, share in named] == [f"{value / sum(red):.0%}" for value in red]
        framed = [patch for patch in ax.patches if not patch.get_fill()]
        assert len(framed) == 2
    assert figure.axes[0].get_title().startswith("best: Focus")


def test_what_is_shared_is_outlined_where_it_is(rated):
    model, held, table = rated
    row = pairs.extremes(table, "red", "green", 1)[:1]
    figure = figures.mosaics_explained(
        **pairs.explained(model, held, row, channel), colours=COLOURS
    )
    dashed = [c for c in figure.axes[1].collections if c.get_linestyle()[0][1]]
    corners = np.vstack([path.vertices for c in dashed for path in c.get_paths()])
    assert len(dashed) == 1 and corners.min(0).tolist() == [2.5, 1.5]
    assert corners.max(0).tolist() == [13.5, 12.5]


def test_controls_begin_at_the_lowest_pair(rated):
    _, _, table = rated
    widget = look.controls(table, lambda row: None)
    chosen = {
        child.description: child.value for child in widget.children if hasattr(child, "value")
    }
    assert (chosen["target"], chosen["outer"]) == ("red", "green")


def test_detection_counts_are_written():
    rows = [(d, s, s < k, 0.5, 0.9, d, 2) for d, k in ((0, 1), (1, 9)) for s in range(10)]
    columns = ["dose", "seed", "first", "focus", "others", "carried", "alarms"]
    found = pd.DataFrame(rows, columns=columns).assign(first_by_difference=False, starred=False)
    rates = trials.rates(found)
    for own in (found[:0], found.head(3)):
        figure = figures.detection(rates, found, own, trials.BLIND)
        assert {"1/10", "9/10"} <= set(texts(figure))
        said = "comes first in 9 of 10 seeds at dose 1, and in 1 where nothing is planted"
        assert figure.get_suptitle().endswith(said)


@pytest.fixture(scope="module")
def methods():
    """Made-up ratings of six methods on two architectures."""
    classes = ("a", "b", "c")
    table = focus.design(pd.DataFrame({"class": np.repeat(classes, 12)}), classes, per_class=6)
    rng, parts = np.random.default_rng(0), []
    for architecture, name, training in itertools.product(("one", "two"), METHODS, range(2)):
        value = rng.normal(0.95 - 0.06 * METHODS.index(name), 0.03, len(table)).clip(0, 1)
        part = table.assign(method=name, focus=value, seconds=0.01, architecture=architecture)
        parts.append(part.assign(set="C", training=training))
    return pd.concat(parts, ignore_index=True)


def test_titles_say_what_the_tables_hold(methods):
    means = focus.summary(methods, by=["architecture", "method", "set"])
    figure = figures.figure_1(methods, means)
    assert figure.get_suptitle() == "GradCAM and LRP look most where the class is, IG least"
    maps = {"GradCAM": torch.rand(8, 8), "LRP": torch.zeros(8, 8)}
    picture, layout = torch.zeros(3, 8, 8, dtype=torch.uint8), torch.tensor([[1, 0], [0, 1]]) > 0
    figure = figures.mosaic_maps(picture, layout, maps, {"GradCAM": 0.9, "LRP": 0.6}, "mug")
    assert figure.get_suptitle().startswith("GradCAM puts 90% of its relevance in the frames, LRP")
    one = methods[(methods["architecture"] == "one") & (methods["method"] == "IG")]
    one = one.assign(choice="layer", option="input")
    two = pd.concat([one, one.assign(option="last map", focus=one["focus"] + 0.2)])
    figure = figures.choices(choices.paired(two))
    assert figure.get_suptitle().startswith("Layer moves Focus most: +0.20 for IG, last map in")
    row = {"control": "x", "method": "LRP", "setting": "", "on": "y", "low": 0.3, "high": 0.6}
    kinds = [(0.5, 0.4, True), (1, 0.4, False), (1, np.nan, False)]
    rows = [{**row, "expected": e, "mean": mean, "holds": holds} for e, mean, holds in kinds]
    figure = figures.controls(pd.DataFrame(rows))
    assert figure.get_suptitle() == "2 of 3 controls are not what they must be"
    assert "gives no map" in texts(figure)
    table = focus.summary(methods).assign(front=[True, True, False, False, False, False])
    figure = figures.time_and_focus(table)
    assert figure.get_suptitle() == "No other is as fast and better (red): GradCAM, LRP"


def test_accuracy_beside_focus_joins_the_cases_of_a_model():
    table = pd.DataFrame({"accuracy": [0.5, 0.9, 0.7], "LRP": [0.6, 0.9, 0.7], "set": "C"})
    table = table.assign(how=["other set", "own set", "stopped early"], architecture="x", model="x")
    figure = figures.accuracy_and_focus(table, choices.rises(table))
    figure.canvas.draw()
    assert figure.get_suptitle() == "More accurate networks, more Focus: LRP"
    assert figure.axes[0].get_title() == "LRP: +0.075 for 0.1 of accuracy"
