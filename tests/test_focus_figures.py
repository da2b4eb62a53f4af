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
from helpers.focus import choices, look, pairs
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
    table["rank"] = table["focus"].rank()
    return table.sort_values("focus", ignore_index=True)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def texts(figure) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def said(figure) -> str:
    """The title, which a legend carries where there is one."""
    legends = figure.legends
    return legends[0].get_title().get_text() if legends else figure.get_suptitle()


@pytest.mark.parametrize("n", [2, 4, 12])
def test_matrix_writes_every_value_once_and_frames_the_planted_pair(n):
    table = made(n)
    planted = tuple(table.loc[1, ["target", "outer"]])
    table.loc[0, ["focus", "rank"]] = np.nan
    names = [f"class number {i}" for i in range(n)]
    figure = figures.pair_matrix(table, names, planted)
    written = texts(figure)
    ranks = {2: "\n(2.)", 3: "\n(3.)"}
    values = [f"{row.focus:.2f}{ranks.get(row.rank, '')}" for row in table[1:].itertuples()]
    assert sorted(text for text in written if "none" not in text) == sorted(values)
    assert sum("none" in text for text in written) == 1
    [frame] = figure.axes[0].patches
    middle = frame.get_x() + 0.47, frame.get_y() + 0.46
    assert middle == pytest.approx((names.index(planted[1]), names.index(planted[0])))


def test_each_image_says_its_class_and_its_share_of_the_relevance(rated):
    model, held, table = rated
    ends, images = pairs.extremes(table, "red", "green", 2), held.images
    figure = figures.mosaics_explained(**look.explained(model, held, ends, channel))
    for row, ax in zip(ends.to_dict("records"), figure.axes[1:8:2], strict=True):
        named = [text.get_text().rsplit(" ", 1) for text in ax.texts]
        own = ["red" if row[f"is_target_{c}"] else "green" for c in range(4)]
        assert [name for name, _ in named] == own
        red = [float(images[row[f"image_{c}"]][0].sum()) for c in range(4)]
        assert [share for _, share in named] == [f"{value / sum(red):.0%}" for value in red]
        framed = [patch for patch in ax.patches if not patch.get_fill()]
        assert len(framed) == 2
    assert figure.axes[0].get_title().startswith("best: Focus")


def test_interventions_say_whether_the_rise_counts():
    rows = [
        ("model", "as it is", 0.6),
        ("model", "painted over", 0.75),
        ("reference", "as it is", 0.9),
    ]
    table = pd.DataFrame(rows, columns=["networks", "state", "mean"])
    table = table.assign(low=table["mean"] - 0.1, high=table["mean"] + 0.1)
    for effect, text in ((0.1, "enough"), (0.2, "too little"), (0.15, "undecided")):
        figure = figures.interventions(table, (0.15, 0.12, 0.18), effect, ("a", "b"))
        assert said(figure).startswith("Painted over: Focus changes by +0.15 [0.12, 0.18]")
        assert text in said(figure)


def test_trials_write_what_is_proved():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"dose": np.repeat([0.0, 1.0], 10), "rise": rng.uniform(-0.1, 0.4, 20)})
    table = table.assign(learned=table["dose"] == 1, found=table["rise"] >= 0.1)
    figure = figures.trials(table, 0.1)
    none, full = (int(part["found"].sum()) for _, part in table.groupby("dose"))
    assert texts(figure) == [f"{none} of 10", f"{full} of 10"]
    text = f"Proved in {full} of 10 trials that learned it at dose 1; {none} of 10 false alarms"
    assert said(figure).startswith(text)


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
    means = focus.summary(methods).sort_values("mean", ascending=False, ignore_index=True)
    figure = figures.figure_1(methods, means)
    assert said(figure).endswith("GradCAM and LRP look most where the class is, IG least")
    networks = focus.summary(methods, by=["architecture", "method", "set"])
    figure = figures.tiers(means, networks, means.tail(2))
    assert said(figure).endswith("IG is last; least on photographs: IG")
    assert {"consistently reliable", "even larger variance", "quasi-random"} <= set(texts(figure))
    figure = figures.trainings(methods, list(means["method"]))
    assert said(figure).startswith("Trainings differ most for ")
    maps = {"GradCAM": torch.rand(8, 8), "LRP": torch.zeros(8, 8)}
    picture, layout = torch.zeros(3, 8, 8, dtype=torch.uint8), torch.tensor([[1, 0], [0, 1]]) > 0
    figure = figures.mosaic_maps(picture, layout, maps, {"GradCAM": 0.9, "LRP": 0.6}, "mug")
    assert said(figure).startswith("GradCAM puts 90% of its positive relevance in the frames, LRP")
    one = methods[(methods["architecture"] == "one") & (methods["method"] == "IG")]
    one = one.assign(choice="layer", option="input")
    two = pd.concat([one, one.assign(option="last map", focus=one["focus"] + 0.2)])
    figure = figures.choices(choices.paired(two))
    assert said(figure).startswith("Layer moves Focus most: +0.20 for IG, last map in")
    row = {"method": "LRP", "low": 0.3, "high": 0.6}
    kinds = [(0.4, True), (0.4, False), (np.nan, False)]
    blind = pd.DataFrame([{**row, "mean": mean, "holds": holds} for mean, holds in kinds])
    deep = methods[methods["architecture"] == "one"].assign(reads="input")
    deep["name"] = deep["method"]
    deep = pd.concat([deep.assign(control="DiFull", focus=1.0), deep.assign(control="DiPart")])
    deep.loc[deep["method"] == "LIME", "focus"] = 0.8
    figure = figures.controls(blind, deep)
    assert said(figure).startswith("Left, 1 of 3 are 0.5 within their interval. Right, DiFull: all")
    assert said(figure).endswith("give 1 but LIME") and "gives no map" in texts(figure)


def test_accuracy_beside_focus_joins_the_cases_of_a_model():
    table = pd.DataFrame({"accuracy": [0.5, 0.9, 0.7], "LRP": [0.6, 0.9, 0.7], "set": "C"})
    table = table.assign(how=["other set", "own set", "stopped early"], architecture="x", model="x")
    figure = figures.accuracy_and_focus(table, choices.rises(table))
    figure.canvas.draw()
    assert said(figure) == "More accurate networks, more Focus: LRP"
    assert figure.axes[0].get_title() == "LRP: slope 0.75"
