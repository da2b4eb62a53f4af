"""Figures of pairs show what their tables say, for few classes and many."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch

from helpers import figures
from helpers.focus import look, pairs, rate, trials


class Colours(torch.nn.Module):
    """Logits: mean of each colour channel."""

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
    design = pairs.design(table, names, per_pair=4)
    return images, names, rate(Colours(), images, design, channel, classes=names)


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


def test_focus_of_pure_colours_is_known(rated):
    _, _, table = rated
    means = pairs.matrix(table)
    assert means.loc["red", "blue"] == 1 and means.loc["blue", "green"] == 1
    assert 0.6 < means.loc["red", "green"] < 0.7


@pytest.mark.parametrize("n", [2, 4, 12])
def test_matrix_writes_every_value_once(n):
    table = made(n)
    table.loc[0, "focus"] = np.nan
    written = texts(figures.pair_matrix(table))
    values = [f"{row.focus:.2f}" + "*" * (row.p_adjusted < 0.05) for row in table[1:].itertuples()]
    shown = [text for text in written if "." in text]
    assert sorted(shown) == sorted(values) and written.count("none") == 1
    assert written.count("\N{EN DASH}") == n


def test_ranking_names_the_lowest_and_marks_the_planted():
    table = made(4)
    planted = tuple(table.loc[1, ["target", "outer"]])
    figure = figures.pair_ranking(table, n=5, planted=planted)
    labels = figure.axes[0].get_yticklabels()
    wanted = [f"{row.target} beside {row.outer}" for row in table[:5].itertuples()]
    assert [label.get_text() for label in labels] == wanted
    assert labels[1].get_color() != labels[0].get_color()


def test_a_walk_begins_with_the_lowest_and_goes_round(rated):
    images, names, table = rated
    asked = {"method": channel, "classes": names}
    values = sorted(pairs.of_pair(table, "red", "green")["focus"])
    for number, value in ((0, values[0]), (3, values[-1]), (4, values[0])):
        figure = look.one(Colours(), images, table, "red", "green", number, **asked)
        assert figure.axes[0].get_title() == f"Focus {value:.2f}"
    figure = look.one(Colours(), images, table, "red", "green", 0, look.ORDERS[1], **asked)
    assert figure.axes[0].get_title() == f"Focus {values[-1]:.2f}"
    with pytest.raises(ValueError, match="no mosaic of 'red' beside 'red'"):
        look.one(Colours(), images, table, "red", "red", **asked)


def test_each_image_says_its_class_and_its_share_of_the_relevance(rated):
    images, names, table = rated
    ends = pairs.extremes(table, "red", "green", 2)
    figure = look.explained(Colours(), images, ends, channel, classes=names)
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
    images, names, table = rated
    spots = torch.zeros(12, 8, 8, dtype=torch.bool)
    spots[:, 2:5, 3:6] = True
    row = pairs.extremes(table, "red", "green", 1)[:1]
    figure = look.explained(Colours(), images, row, channel, classes=names, patches=spots)
    dashed = [c for c in figure.axes[1].collections if c.get_linestyle()[0][1]]
    corners = np.vstack([path.vertices for c in dashed for path in c.get_paths()])
    assert len(dashed) == 1 and corners.min(0).tolist() == [2.5, 1.5]
    assert corners.max(0).tolist() == [13.5, 12.5]


def test_controls_begin_at_the_lowest_pair(rated):
    images, names, table = rated
    widget = look.controls(Colours(), images, table, method=channel, classes=names)
    chosen = {
        child.description: child.value for child in widget.children if hasattr(child, "value")
    }
    assert (chosen["target"], chosen["outer"]) == ("red", "green")


def test_the_ranking_shows_the_difference_and_what_p_is():
    table = made(4)
    table.loc[0, "p_adjusted"], table.loc[1, "p_adjusted"] = 0.0004, 0.2
    _, right = figures.pair_ranking(table, n=3).axes
    written = [text.get_text() for text in right.texts]
    assert {"< 0.001 *", "0.200"} <= set(written) and "rank" in written
    whiskers = right.containers[0].lines[2][0].get_segments()[0][:, 0]
    assert np.allclose(whiskers, table.loc[0, ["difference_low", "difference_high"]].tolist())


def test_classes_keep_the_order_they_are_given():
    table = made(4)
    order = [f"class number {i}" for i in (2, 0, 3, 1)]
    ax = figures.pair_matrix(table, order).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == order


def test_detection_counts_are_written():
    rows = [(d, s, s < k, 0.5, 0.9, d, 2) for d, k in ((0, 1), (1, 9)) for s in range(10)]
    columns = ["dose", "seed", "first", "focus", "others", "carried", "alarms"]
    found = pd.DataFrame(rows, columns=columns)
    rates = trials.rates(found)
    for own in (None, found[:0], found.head(3)):
        figure = figures.detection(rates, found, own, chance=trials.BLIND, title="As said")
        assert {"1/10", "9/10"} <= set(texts(figure))
        assert figure.get_suptitle() == "As said"


def test_the_share_on_the_patch_is_drawn_beside_its_area():
    found = pd.DataFrame([["GradCAM", 0.07, 0.06, 0.01, -0.01, 0.03]])
    found.columns = ["method", "share", "area", "excess", "low", "high"]
    [ax] = figures.on_patch(found).axes
    assert "7% on 6% of the area" in [text.get_text() for text in ax.texts]
    assert np.allclose(ax.containers[0].lines[2][0].get_segments()[0][:, 0], [0.05, 0.09])
