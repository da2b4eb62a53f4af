"""Compare Focus with loops, and test the balance of designs and the ratings."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from focus_sample import CLASSES, make_images, make_model
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import explain, focus
from helpers.focus import equation, faithfulness, rating
from helpers.focus.mosaics import BATCH_SIZE, IMAGES, TARGETS, in_batches


def score_by_loop(maps, layouts):
    """Equation 1, pixel by pixel."""
    scores = []
    for relevance, layout in zip(maps.tolist(), layouts.tolist(), strict=True):
        height = len(relevance)
        width = len(relevance[0])
        inside = 0.0
        total = 0.0
        for y, x in product(range(height), range(width)):
            positive = max(relevance[y][x], 0.0)
            total += positive
            if layout[y >= height // 2][x >= width // 2]:
                inside += positive
        is_defined = 0 < total < float("inf")
        scores.append(inside / total if is_defined else float("nan"))
    return torch.tensor(scores).double()


@st.composite
def maps_and_layouts(draw):
    """Draw layouts, and maps of noise, some not positive or not finite."""
    n = draw(st.integers(1, 20))
    height = draw(st.integers(2, 12))
    width = draw(st.integers(2, 12))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    maps = torch.randn(n, height, width, generator=generator)
    if draw(st.booleans()):
        maps[0] = -maps[0].abs()
        maps[-1, -1, -1] = draw(st.sampled_from([0.0, torch.nan, torch.inf]))
    layouts = torch.rand(n, 2, 2, generator=generator) < 0.5
    return maps, layouts


@given(maps_and_layouts())
def test_score_is_equation_1(case):
    maps, layouts = case
    scores = equation.focus_of(maps, layouts)
    expected = score_by_loop(maps, layouts)
    torch.testing.assert_close(scores, expected, atol=1e-6, rtol=1e-5, equal_nan=True)


def held_out(each=25, classes=CLASSES):
    return pd.DataFrame({"class": np.repeat(classes, each), "split": "test"})


@settings(deadline=None)
@given(
    seed=st.integers(0, 99),
    each=st.integers(2, 9),
    number=st.integers(1, 40),
    kind=st.sampled_from(["per_pair", "per_class"]),
    n_classes=st.integers(2, 4),
)
def test_a_design_is_sound_for_every_seed(seed, each, number, kind, n_classes):
    classes = CLASSES[:n_classes]
    table = held_out(each, classes)
    design = focus.design(table, classes, **{kind: number}, seed=seed)
    again = focus.design(table, classes, **{kind: number}, seed=seed)
    pd.testing.assert_frame_equal(design, again)
    images = design[IMAGES].to_numpy()
    is_target = design[TARGETS].to_numpy()
    class_of = table["class"].to_numpy()
    shown = class_of[images]
    assert (is_target.sum(1) == 2).all()
    for row in images:
        assert len(set(row)) == 4, "never the same image twice"
    is_of_target = shown == design[["target"]].to_numpy()
    assert (is_of_target == is_target).all()
    for outer, names, target in zip(design["outer"], shown, is_target, strict=True):
        assert set(outer.split(" + ")) == set(names[~target])
    expected = number
    if kind == "per_pair":
        expected *= n_classes - 1
    assert (design.groupby("target").size() == expected).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_positions_classes_and_images_are_balanced(seed):
    design = focus.design(held_out(), CLASSES, per_class=96, seed=seed)
    is_target = design[TARGETS].to_numpy()
    images = design[IMAGES].to_numpy()
    layouts = map(tuple, is_target.tolist())
    places = Counter(layouts)
    n_of_each = set(places.values())
    assert len(places) == 6
    assert n_of_each == {64}

    for role in (True, False):
        counts = np.bincount(images[is_target == role], minlength=100)
        assert counts.max() - counts.min() <= 2
    class_of = held_out()["class"].to_numpy()
    shown = class_of[images]
    for name in CLASSES:
        is_other = ~is_target
        is_other[design["target"] != name] = False
        others = shown[is_other]
        counts = Counter(others)
        assert set(counts.values()) == {64}


@pytest.mark.parametrize("n_rows", [1, 24, 25, 100])
def test_batches_are_of_nearly_the_same_size_and_hold_each_row_once(n_rows):
    design = pd.DataFrame({"mosaic": range(n_rows)})
    batches = list(in_batches(design))
    sizes = [len(rows) for rows in batches]
    assert max(sizes) <= BATCH_SIZE
    assert max(sizes) - min(sizes) <= 1
    pd.testing.assert_frame_equal(pd.concat(batches), design)


def test_layouts_say_where_the_target_is():
    images = torch.zeros(20, 3, 6, 6, dtype=torch.uint8)
    table = focus.design(held_out(5), CLASSES, per_class=12)
    table = table[table["target"] == "b"]
    images[5:10] = 255
    seen = focus.compose(table, images)
    is_white = seen[:, 0] == 255
    cells = is_white.view(12, 2, 6, 2, 6)
    is_white = cells.all(4)
    is_white = is_white.all(2)
    assert torch.equal(is_white, focus.layouts(table))


@pytest.fixture
def images():
    return make_images()


@pytest.fixture
def design(images):
    return focus.design(images.table, CLASSES, per_class=9)


def test_rating_is_explaining_then_scoring(images, design):
    model = make_model()
    rated = focus.rate(model, images, design, "gradcam")
    seen = focus.compose(design, images.images)
    targets = torch.tensor([CLASSES.index(name) for name in design["target"]])
    [network] = model.trainings
    maps = explain.explain(network, seen, targets, "gradcam")
    layouts = focus.layouts(design)
    expected = equation.focus_of(maps, layouts)
    assert np.allclose(rated["focus"], expected, atol=1e-5, equal_nan=True)
    assert set(rated["method"]) == {"GradCAM"}


def test_a_function_of_the_users_is_rated_by_the_logits_of_the_models_classes(
    images, design
):
    def quadrant(model, images, targets):
        maps = torch.zeros(len(images), *images.shape[-2:])
        maps[:, 0, 0] = 1.0 * targets
        maps[targets == 1] = torch.nan  # the others of the batch keep their numbers
        return maps

    model = replace(make_model(), logit={"d": 0, "c": 1, "b": 2, "a": 3})
    rated = focus.rate(model, images, design, quadrant)
    is_known = rated["target"].isin(["a", "b"])
    of_known = rated[is_known]
    is_right = of_known["focus"] == of_known["is_target_0"]
    assert is_right.all()
    assert rated.loc[~is_known, "focus"].isna().all()
    [row] = focus.summary(rated).to_dict("records")
    assert row["undefined"] == 18


def refuse(model, images, targets):
    raise explain.NotConserved("relevance is lost")


@pytest.mark.parametrize("rate", [focus.rate, faithfulness.rate])
def test_a_method_that_refuses_a_network_is_named_and_the_others_are_rated(
    rate, images, design, capsys
):
    cases = [make_model()], {"C": images}, {"C": design}
    rated = rating.ratings(*cases, [refuse, "gradcam"], rate=rate)
    assert set(rated["method"]) == {"GradCAM"}

    said = capsys.readouterr().out
    assert "refuse refuses resnet10-eighth C: relevance is lost" in said
    with pytest.raises(ValueError, match="None of the methods can"):
        rating.ratings(*cases, [refuse], rate=rate)
