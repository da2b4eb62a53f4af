"""Focus: the score against loops, the balance of designs, stored ratings."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from helpers import explain, focus, store
from helpers.data import ImageSet
from helpers.focus.mosaics import IMAGES, TARGETS
from helpers.focus.networks import Model
from helpers.models.recipe import Recipe

CLASSES = ("a", "b", "c", "d")


def by_loop(maps, layouts):
    """Equation 1, pixel by pixel."""
    found = []
    for relevance, layout in zip(maps.tolist(), layouts.tolist(), strict=True):
        height, width = len(relevance), len(relevance[0])
        rows, cols = len(layout), len(layout[0])
        inside = total = 0.0
        for row in range(rows):
            for col in range(cols):
                for y in range(row * height // rows, (row + 1) * height // rows):
                    for x in range(col * width // cols, (col + 1) * width // cols):
                        positive = max(relevance[y][x], 0.0)
                        total += positive
                        inside += positive * layout[row][col]
        found.append(inside / total if 0 < total < float("inf") else float("nan"))
    return torch.tensor(found, dtype=torch.float64)


@st.composite
def scored(draw):
    rows, cols = draw(st.sampled_from([(1, 2), (2, 1), (2, 2), (3, 2), (2, 3)]))
    n, height = draw(st.integers(1, 20)), draw(st.integers(rows, 12))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    maps = torch.randn(n, height, draw(st.integers(cols, 12)), generator=generator)
    if draw(st.booleans()):
        maps[0], maps[-1, -1, -1] = (
            -maps[0].abs(),
            draw(st.sampled_from([0.0, torch.nan, torch.inf])),
        )
    flat = torch.rand(n, rows * cols, generator=generator) < 0.5
    flat[:, 0], flat[:, -1] = True, False
    return maps.to(draw(st.sampled_from([torch.float32, torch.float64]))), flat.view(
        n, rows, cols
    )


@given(scored())
def test_score_is_equation_1(case):
    maps, layouts = case
    before = maps.clone()
    found = focus.score(maps, layouts)
    assert found.dtype == torch.float64 and torch.equal(
        maps.nan_to_num(7), before.nan_to_num(7)
    )
    assert torch.allclose(found, by_loop(maps, layouts), atol=1e-6, equal_nan=True)


@pytest.mark.parametrize(
    ("maps", "layouts", "said"),
    [
        (torch.ones(1, 4, 4), torch.zeros(1, 2, 2).bool(), "needs target cells"),
        (torch.ones(1, 4, 4), torch.ones(1, 2, 2).bool(), "and other"),
        (torch.ones(1, 4, 4), torch.ones(1, 2, 2), "Maps must be"),
        (torch.ones(2, 4, 4), torch.ones(1, 2, 2).bool(), "Maps must be"),
    ],
)
def test_score_refuses(maps, layouts, said):
    with pytest.raises(ValueError, match=said):
        focus.score(maps, layouts)


def held_out(each=25, classes=CLASSES):
    return pd.DataFrame({"class": np.repeat(classes, each), "split": "test"})


@settings(deadline=None)
@given(
    st.integers(0, 99),
    st.integers(2, 9),
    st.integers(1, 40),
    st.booleans(),
    st.integers(2, 4),
)
def test_a_design_is_sound_for_every_seed(seed, each, per_class, two, k):
    table, classes = held_out(each, CLASSES[:k]), CLASSES[:k]
    how = {"per_pair" if two else "per_class": per_class, "seed": seed}
    made = focus.design(table, classes, **how)
    pd.testing.assert_frame_equal(made, focus.design(table, classes, **how))
    label, images = table["class"].to_numpy(), made[IMAGES].to_numpy()
    is_target = made[TARGETS].to_numpy()
    assert (is_target.sum(1) == 2).all()
    assert all(len(set(row)) == 4 for row in images), "never the same image twice"
    same = label[images] == made["target"].to_numpy()[:, None]
    assert (same == is_target).all()
    for row, outers in zip(
        label[np.where(is_target, images[:, :1], images)], made["outer"], strict=True
    ):
        assert set(outers.split(" + ")) <= set(row.tolist())
    of_target = per_class * (k - 1) if two else per_class
    assert (made.groupby("target").size() == of_target).all()
    if two:
        assert not made["outer"].str.contains("+", regex=False).any()
    assert made["mosaic"].tolist() == list(range(len(made)))


@pytest.mark.parametrize("seed", [0, 1])
def test_positions_classes_and_images_are_balanced(seed):
    table = held_out()
    made = focus.design(table, CLASSES, per_class=96, seed=seed)
    places = Counter(map(tuple, made[TARGETS].to_numpy().tolist()))
    assert len(places) == 6 and set(places.values()) == {64}
    for role in (True, False):
        shown = made[IMAGES].to_numpy()[made[TARGETS].to_numpy() == role]
        counts = np.bincount(shown, minlength=100)
        assert counts.max() - counts.min() <= 2
    for name, part in made.groupby("target"):
        others = part[IMAGES].to_numpy()[~part[TARGETS].to_numpy()]
        assert set(Counter(table["class"].to_numpy()[others]).values()) == {64}, name


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
    white = (seen[:, 0] == 255).view(12, 2, 6, 2, 6).all(4).all(2)
    assert torch.equal(white, focus.layouts(table))


class Small(nn.Module):
    """A convolution, a rectifier, and the mean of the map."""

    __module__ = (
        "torch.small"  # so that its scores are kept, as those of no own network are
    )
    mean, std = 0.0, 1.0

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


def made(per_class=9, seed=0):
    return focus.design(held_out(5), CLASSES, per_class=per_class, seed=seed)


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """An empty store, and the calls of `explain` that were made for lack of stored scores."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    real, calls = explain.explain, []

    def counted(*args, **kwargs):
        calls.append(1)
        return real(*args, **kwargs)

    monkeypatch.setattr(explain, "explain", counted)
    return calls


def test_rating_is_explaining_then_scoring(calls):
    model, images, table = small(), image_set(), made()
    rated = focus.rate(model, images, table, "gradcam")
    [seen] = focus.batches(table, images.images, batch_size=99)
    targets = torch.tensor([CLASSES.index(name) for name in table["target"]])
    maps = explain.explain(model.trainings[0], seen, targets, "gradcam")
    expected = focus.score(maps.maps, focus.layouts(table))
    assert np.allclose(rated["focus"], expected, atol=1e-6, equal_nan=True)
    assert set(rated["method"]) == {"GradCAM"} and (rated["seconds"] > 0).all()


def test_a_callable_of_the_users_own_and_logits_by_name(calls):
    def quadrant(model, images, targets):
        maps = torch.zeros(len(images), *images.shape[-2:])
        maps[:, 0, 0] = 1.0 * targets
        maps[targets == 1] = torch.nan  # the others of the batch keep their numbers
        return maps

    rated = focus.rate(small("dcba"), image_set(), made(), quadrant)
    known = rated["target"].isin(["a", "b"])
    assert (rated.loc[known, "focus"] == rated.loc[known, "is_target_0"]).all()
    assert rated.loc[~known, "focus"].isna().all()
    found = focus.summary(rated)
    assert found["undefined"].tolist() == [18] and found["method"].tolist() == [
        "quadrant"
    ]
    done = len(calls)
    focus.rate(small("dcba"), image_set(), made(), quadrant)
    assert len(calls) == 2 * done, "the result of a function is not stored"


def test_scores_are_stored_by_all_that_decides_them(calls, monkeypatch):
    def rate(model=None, images=None, table=None, method="gradcam", **more):
        table = made(3) if table is None else table
        focus.rate(model or small(), images or image_set(), table, method, **more)
        return len(calls)

    assert rate() == rate() == 1
    assert rate(model=small(seed=1)) == 2
    several = replace(small(), trainings=[Small(seed) for seed in range(3)])
    assert rate(model=several) == 3, "an interrupted rating continues with the next run"
    assert rate(images=image_set(seed=1)) == 4
    assert rate(table=made(3, seed=1)) == 5
    assert rate(method="gradcam++") == 6
    assert rate(layer="body.0") == 7
    assert rate(shape="squeezed") == 8
    assert rate(model=small("badc")) == 9
    assert rate() == 9
    own = small()
    own.trainings[0].__class__ = type("Own", (Small,), {"__module__": "__main__"})
    assert rate(model=own) == 10
    own.trainings[0].std = 0.5
    assert rate(model=own) == 11, "an edited network of the user is rated again"
    monkeypatch.setattr(store, "CACHE_VERSION", -1)
    assert rate() == 12


def test_a_class_that_the_model_lacks_is_refused():
    with pytest.raises(ValueError, match="'d', which is not a class of the model"):
        focus.rate(small("abc"), image_set(), made(), "gradcam")
