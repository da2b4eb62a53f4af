"""Focus: the score against loops, the balance of designs, ratings."""

from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from helpers import explain, focus
from helpers.data import ImageSet
from helpers.focus import equation
from helpers.focus.mosaics import IMAGES, TARGETS
from helpers.focus.networks import Model
from helpers.models.recipe import Recipe

CLASSES = ("a", "b", "c", "d")


def score_by_loop(maps, layouts):
    """Equation 1, pixel by pixel."""
    scores = []
    for relevance, layout in zip(maps.tolist(), layouts.tolist(), strict=True):
        height = len(relevance)
        width = len(relevance[0])
        rows = len(layout)
        cols = len(layout[0])
        inside = 0.0
        total = 0.0
        for row, col in product(range(rows), range(cols)):
            for y in range(row * height // rows, (row + 1) * height // rows):
                for x in range(col * width // cols, (col + 1) * width // cols):
                    positive = max(relevance[y][x], 0.0)
                    total += positive
                    inside += positive * layout[row][col]
        defined = 0 < total < float("inf")
        scores.append(inside / total if defined else float("nan"))
    return torch.tensor(scores, dtype=torch.float64)


@st.composite
def maps_and_layouts(draw):
    """Draw maps of noise, some without positive relevance or not finite, and layouts."""
    rows, cols = draw(st.sampled_from([(1, 2), (2, 1), (2, 2), (3, 2), (2, 3)]))
    n = draw(st.integers(1, 20))
    height = draw(st.integers(rows, 12))
    width = draw(st.integers(cols, 12))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    maps = torch.randn(n, height, width, generator=generator)
    if draw(st.booleans()):
        maps[0] = -maps[0].abs()
        maps[-1, -1, -1] = draw(st.sampled_from([0.0, torch.nan, torch.inf]))
    layouts = torch.rand(n, rows, cols, generator=generator) < 0.5
    layouts[:, 0, 0] = True
    layouts[:, -1, -1] = False
    return maps, layouts


@given(maps_and_layouts())
def test_score_is_equation_1(case):
    maps, layouts = case
    scores = equation.focus_of(maps, layouts)
    expected = score_by_loop(maps, layouts)
    assert torch.allclose(scores, expected, atol=1e-6, equal_nan=True)


def held_out(each=25, classes=CLASSES):
    return pd.DataFrame({"class": np.repeat(classes, each), "split": "test"})


@settings(deadline=None)
@given(
    seed=st.integers(0, 99),
    each=st.integers(2, 9),
    number=st.integers(1, 40),
    of_pairs=st.booleans(),
    n_classes=st.integers(2, 4),
)
def test_a_design_is_sound_for_every_seed(seed, each, number, of_pairs, n_classes):
    classes = CLASSES[:n_classes]
    table = held_out(each, classes)
    how = {"per_pair" if of_pairs else "per_class": number, "seed": seed}
    design = focus.design(table, classes, **how)
    pd.testing.assert_frame_equal(design, focus.design(table, classes, **how))
    images = design[IMAGES].to_numpy()
    is_target = design[TARGETS].to_numpy()
    shown = table["class"].to_numpy()[images]
    assert (is_target.sum(1) == 2).all()
    for row in images:
        assert len(set(row)) == 4, "never the same image twice"
    assert ((shown == design[["target"]].to_numpy()) == is_target).all()
    for outer, names, target in zip(design["outer"], shown, is_target, strict=True):
        assert set(outer.split(" + ")) == set(names[~target])
    expected = number * (n_classes - 1) if of_pairs else number
    assert (design.groupby("target").size() == expected).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_positions_classes_and_images_are_balanced(seed):
    design = focus.design(held_out(), CLASSES, per_class=96, seed=seed)
    is_target = design[TARGETS].to_numpy()
    images = design[IMAGES].to_numpy()
    places = Counter(map(tuple, is_target.tolist()))
    assert len(places) == 6
    assert set(places.values()) == {64}
    for role in (True, False):
        counts = np.bincount(images[is_target == role], minlength=100)
        assert counts.max() - counts.min() <= 2
    shown = held_out()["class"].to_numpy()[images]
    for name in CLASSES:
        mosaics = (design["target"] == name).to_numpy()
        is_other = ~is_target[mosaics]
        others = shown[mosaics][is_other]
        counts = Counter(others)
        assert set(counts.values()) == {64}


def pictures(n=20, height=10, width=12, *, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(
        0, 256, (n, 3, height, width), dtype=torch.uint8, generator=draw
    )


def test_layouts_say_where_the_target_is():
    images = torch.zeros(20, 3, 6, 6, dtype=torch.uint8)
    table = focus.design(held_out(5), CLASSES, per_class=12)
    table = table[table["target"] == "b"]
    images[5:10] = 255
    [seen] = focus.batches(table, images)
    white = seen[:, 0] == 255
    cells = white.view(12, 2, 6, 2, 6)
    white = cells.all(4).all(2)
    assert torch.equal(white, focus.layouts(table))


class Small(nn.Module):
    """A convolution, a rectifier, and the mean of the map."""

    mean = 0.0
    std = 1.0

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(6, 4)

    def forward(self, x):
        x = x.float() / 255 if x.dtype == torch.uint8 else x
        return self.head(self.body(x).mean((2, 3)))


def small(logits="abcd", seed=0):
    """A model whose logits are of these classes, in this order."""
    return Model(
        Recipe("small"), "C", [Small(seed)], {name: i for i, name in enumerate(logits)}
    )


def image_set(seed=0):
    labels = torch.arange(4).repeat_interleave(5)
    return ImageSet("C", pictures(seed=seed), labels, CLASSES, held_out(5))


def design(per_class=9, seed=0):
    return focus.design(held_out(5), CLASSES, per_class=per_class, seed=seed)


def test_rating_is_explaining_then_scoring():
    model = small()
    images = image_set()
    table = design()
    rated = focus.rate(model, images, table, "gradcam")
    [seen] = focus.batches(table, images.images, batch_size=99)
    targets = torch.tensor([CLASSES.index(name) for name in table["target"]])
    [network] = model.trainings
    maps = explain.explain(network, seen, targets, "gradcam")
    expected = equation.focus_of(maps.maps, focus.layouts(table))
    found = rated["focus"]
    assert np.allclose(found, expected, atol=1e-6, equal_nan=True)
    assert set(rated["method"]) == {"GradCAM"}
    assert (rated["seconds"] > 0).all()


def test_a_class_that_the_model_lacks_is_refused():
    with pytest.raises(ValueError, match="'d', which is not a class of the model"):
        focus.rate(small("abc"), image_set(), design(), "gradcam")


def test_a_function_of_the_users_is_rated_by_the_logits_of_the_models_classes():
    def quadrant(model, images, targets):
        maps = torch.zeros(len(images), *images.shape[-2:])
        maps[:, 0, 0] = 1.0 * targets
        maps[targets == 1] = torch.nan  # the others of the batch keep their numbers
        return maps

    rated = focus.rate(small("dcba"), image_set(), design(), quadrant)
    known = rated["target"].isin(["a", "b"])
    of_known = rated[known]
    assert (of_known["focus"] == of_known["is_target_0"]).all()
    assert rated.loc[~known, "focus"].isna().all()
    [row] = focus.summary(rated).to_dict("records")
    assert row["undefined"] == 18
