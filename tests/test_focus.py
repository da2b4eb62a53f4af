"""Focus: the score against loops, the design's balance, ratings that stop and go on."""

from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from helpers import explain, focus
from helpers.data import mosaics
from helpers.focus import rating
from helpers.focus.mosaics import IMAGES, TARGETS

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
        found.append(inside / total if total > 0 else float("nan"))
    return torch.tensor(found, dtype=torch.float64)


@st.composite
def scored(draw):
    rows, cols = draw(st.sampled_from([(1, 2), (2, 1), (2, 2), (3, 2), (2, 3)]))
    n, height = draw(st.integers(1, 20)), draw(st.integers(rows, 12))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    maps = torch.randn(n, height, draw(st.integers(cols, 12)), generator=generator)
    if draw(st.booleans()):
        maps[0] = -maps[0].abs()
    flat = torch.rand(n, rows * cols, generator=generator) < 0.5
    flat[:, 0], flat[:, -1] = True, False
    return maps.to(draw(st.sampled_from([torch.float32, torch.float64]))), flat.view(n, rows, cols)


@given(scored())
def test_score_is_equation_1(case):
    maps, layouts = case
    before = maps.clone()
    found = focus.score(maps, layouts)
    assert found.dtype == torch.float64 and torch.equal(maps, before)
    assert torch.allclose(found, by_loop(maps, layouts), atol=1e-6, equal_nan=True)


def test_score_knows_the_cells_of_a_mosaic_that_does_not_divide():
    tiles = [torch.full((1, 3, 7, 9), value, dtype=torch.uint8) for value in (1, 0, 0, 1)]
    mosaic = mosaics.grid(tiles, 2, 2)[:, 0].float()
    layout = torch.tensor([[[True, False], [False, True]]])
    assert focus.score(mosaic, layout).item() == 1 and focus.score(1 - mosaic, layout).item() == 0


def test_no_positive_relevance_is_nan():
    layout = torch.tensor([[[True, False]]]).expand(2, 1, 2)
    assert focus.score(torch.stack([torch.zeros(4, 4), -torch.ones(4, 4)]), layout).isnan().all()


@pytest.mark.parametrize(
    ("maps", "layouts", "error", "said"),
    [
        (torch.ones(1, 4, 4), torch.zeros(1, 2, 2).bool(), ValueError, "no target cells"),
        (torch.ones(1, 4, 4), torch.ones(1, 2, 2).bool(), ValueError, "only target cells"),
        (torch.ones(1, 4, 4), torch.ones(1, 2, 2), TypeError, "layouts bool"),
        (torch.ones(1, 4, 4).int(), torch.ones(1, 2, 2).bool(), TypeError, "Maps must be float"),
        (torch.ones(4, 4), torch.ones(1, 2, 2).bool(), ValueError, "Maps must be"),
        (torch.ones(2, 4, 4), torch.ones(1, 2, 2).bool(), ValueError, "Maps must be"),
        (torch.ones(1, 1, 4), torch.ones(1, 2, 2).bool(), ValueError, "do not fit"),
        (torch.full((1, 4, 4), np.nan), torch.eye(2)[None].bool(), ValueError, "NaN"),
    ],
)
def test_score_refuses(maps, layouts, error, said):
    with pytest.raises(error, match=said):
        focus.score(maps, layouts)


# --- the design ----------------------------------------------------------------------------------


def held_out(each=25, classes=CLASSES):
    return pd.DataFrame({"class": np.repeat(classes, each), "split": "test"})


@settings(deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 9),
    st.integers(1, 40),
    st.sampled_from(["random", "one class", "b"]),
    st.integers(2, 4),
)
def test_a_design_is_sound_for_every_seed(seed, each, per_class, outer, k):
    table, classes = held_out(each, CLASSES[:k]), CLASSES[:k]
    made = focus.design(table, classes, outer=outer, per_class=per_class, seed=seed)
    pd.testing.assert_frame_equal(
        made, focus.design(table, classes, outer=outer, per_class=per_class, seed=seed)
    )
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
    assert (made.groupby("target").size() == per_class).all()
    if outer != "random":
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


def test_seeds_differ_and_zero_is_a_seed_like_others():
    made = [focus.design(held_out(), CLASSES, per_class=12, seed=s)[IMAGES] for s in (0, 1, 2)]
    assert not any(a.equals(b) for a, b in combinations(made, 2))


def test_one_target_and_one_outer_class():
    made = focus.design(held_out(), CLASSES, target="c", outer="a", per_class=10)
    assert set(made["target"]) == {"c"} and set(made["outer"]) == {"a"} and len(made) == 10


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"classes": ("a",)}, "2 classes or more"),
        ({"classes": ("a", "x")}, "'x' has 0 images"),
        ({"target": "x"}, "'x' is none of the classes"),
        ({"outer": "x"}, "'x' is none of the classes"),
        ({"target": "a", "outer": "a"}, "the target class itself"),
        ({"per_class": 0}, "at least 1"),
        ({"table": held_out().assign(split="train")}, "held-out"),
    ],
)
def test_design_refuses(change, said):
    arguments = {"table": held_out(), "classes": CLASSES, **change}
    with pytest.raises(ValueError, match=said):
        focus.design(**arguments)


# --- mosaics -------------------------------------------------------------------------------------


def pictures(n=20, height=10, width=12, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, 3, height, width), dtype=torch.uint8, generator=draw)


@pytest.mark.parametrize("shape", ["native", "squeezed"])
@pytest.mark.parametrize("size", [(10, 12), (11, 13)])
def test_batches_are_grids(shape, size):
    images = pictures(20, *size)
    table = focus.design(held_out(5), CLASSES, per_class=7)
    found = list(focus.batches(table, images, shape, batch_size=5))
    assert [len(part) for part in found] == [5] * 5 + [3]
    tiles = [images[torch.from_numpy(table[name].to_numpy().copy())] for name in IMAGES]
    assert torch.equal(torch.cat(found), mosaics.grid(tiles, 2, 2, shape))


def test_layouts_say_where_the_target_is():
    images = torch.zeros(20, 3, 6, 6, dtype=torch.uint8)
    table = focus.design(held_out(5), CLASSES, target="b", per_class=12)
    images[5:10] = 255
    [seen] = focus.batches(table, images)
    white = (seen[:, 0] == 255).view(12, 2, 6, 2, 6).all(4).all(2)
    assert torch.equal(white, focus.layouts(table))


def test_batches_refuse():
    table = focus.design(held_out(5), CLASSES, per_class=2)
    with pytest.raises(ValueError, match="there are 3"):
        next(focus.batches(table, pictures(3)))
    with pytest.raises(ValueError, match="not a mosaic shape"):
        next(focus.batches(table, pictures(), "round"))
    with pytest.raises(ValueError, match="uint8"):
        next(focus.batches(table, pictures().float()))


# --- rating --------------------------------------------------------------------------------------


class Small(nn.Module):
    """A convolution, a rectifier, and the mean of the map."""

    def __init__(self, n=4, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(6, n)

    def forward(self, x):
        x = x.float() / 255 if x.dtype == torch.uint8 else x
        return self.head(self.body(x).mean((2, 3)))


@pytest.fixture
def small():
    return Small()


def test_rating_is_explaining_then_scoring(small):
    images = pictures()
    table = focus.design(held_out(5), CLASSES, per_class=9)
    rated = focus.rate(small, images, table, "gradcam", classes=CLASSES, batch_size=5)
    [seen] = focus.batches(table, images, batch_size=99)
    targets = torch.tensor([CLASSES.index(name) for name in table["target"]])
    maps = explain.explain(small, seen, targets, "gradcam")
    expected = focus.score(maps.maps, focus.layouts(table))
    assert np.allclose(rated["focus"], expected, atol=1e-6, equal_nan=True)
    assert set(rated["method"]) == {"GradCAM"} and (rated["seconds"] > 0).all()


def test_a_callable_of_the_users_own_and_logits_by_name(small):
    def quadrant(model, images, targets):
        maps = torch.zeros(len(images), *images.shape[-2:])
        maps[:, 0, 0] = 1.0 * targets
        return maps

    table = focus.design(held_out(5), CLASSES, per_class=9)
    logit = {"a": 3, "b": 2, "c": 1, "d": 0}
    rated = focus.rate(small, pictures(), table, quadrant, classes=logit)
    known = rated["target"] != "d"
    assert (rated.loc[known, "focus"] == rated.loc[known, "is_target_0"]).all()
    assert rated.loc[~known, "focus"].isna().all()
    found = focus.summary(rated)
    assert found["undefined"].tolist() == [9] and found["method"].tolist() == ["quadrant"]


def test_an_interrupted_rating_goes_on_where_it_stopped(small, tmp_path, monkeypatch):
    monkeypatch.setattr(rating, "PART", 8)
    table = focus.design(held_out(5), CLASSES, per_class=9)
    whole = focus.rate(small, pictures(), table, "gradient", classes=CLASSES)
    real, calls = explain.explain, []

    def counted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr(explain, "explain", counted)
    arguments = (small, pictures(), table, "gradient")
    with pytest.raises(KeyboardInterrupt):
        focus.rate(*arguments, classes=CLASSES, store=tmp_path)
    again = focus.rate(*arguments, classes=CLASSES, store=tmp_path)
    assert len(calls) == 4 + 2, "three parts of five were done"
    columns = [c for c in whole if c != "seconds"]
    pd.testing.assert_frame_equal(again[columns], whole[columns])


def test_whatever_decides_the_scores_names_what_is_kept(small, tmp_path, monkeypatch):
    table = focus.design(held_out(5), CLASSES, per_class=3)
    calls, real = [], explain.explain

    def counted(*args, **kwargs):
        calls.append(1)
        return real(*args, **kwargs)

    monkeypatch.setattr(explain, "explain", counted)

    def rate(model=small, images=pictures(), table=table, method="gradient", **more):  # noqa: B008
        focus.rate(model, images, table, method, **{"classes": CLASSES, "store": tmp_path, **more})
        return len(calls)

    assert rate() == rate() == 1
    assert rate(model=Small(seed=1)) == 2
    assert rate(images=pictures(seed=1)) == 3
    assert rate(table=focus.design(held_out(5), CLASSES, per_class=3, seed=1)) == 4
    assert rate(method="input-x-gradient") == 5
    assert rate(reduce="absolute sum") == 6
    assert rate(shape="squeezed") == 7
    assert rate(classes=dict(zip("abcd", (1, 0, 3, 2), strict=True))) == 8
    assert rate(store=None) == 9
    own = lambda model, images, targets: images.mean(1)  # noqa: E731
    assert rate(method=own) == 10 and rate(method=own) == 11, "no name, nothing kept"
    assert rate(method=own, name="mine") == rate(method=own, name="mine") == 12
    assert rate() == 12


def test_a_class_the_model_lacks(small):
    table = focus.design(held_out(5), CLASSES, per_class=2)
    with pytest.raises(ValueError, match="no class 'd'"):
        focus.rate(small, pictures(), table, "gradcam", classes=CLASSES[:3])
