"""The planted world: what is planted is there, and the same on every machine."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import rgb_to_hsv
from matplotlib.path import Path as Outline

from helpers.worlds import pictures
from helpers.worlds.pictures import shapes
from helpers.worlds.pictures.sets import assigned, shown

CLASSES = pictures.CLASSES


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


@pytest.fixture(scope="module")
def c():
    return pictures.make("C", per_class=20, context_bias=0.5)


@pytest.fixture(scope="module")
def wb():
    return pictures.make("WB", per_class=20)


@pytest.fixture(scope="module")
def nc():
    return pictures.make("NC", per_class=20)


DIGESTS = {  # of C, NC, WB, contexts and the wider world
    33: "494c204fb0e79c38 42bd1c55a06eb650 e9946554db5e9b00 c17aa9b71cbd5e71 00d50e38b7ee6b13",
    96: "adec739948774e42 5a62a577dfdba3b8 322bec79b7b81e80 2dcad90ea5562be7 e19ca28b233893db",
}


@pytest.mark.parametrize("size", [33, 96])
def test_bits_are_the_recorded_ones(size):
    """Recorded once; another machine, processor or numpy must draw the same bytes."""
    made = [pictures.make("C", per_class=4, size=size, seed=7, context_bias=0.25)]
    made += [pictures.make(name, per_class=4, size=size, seed=7) for name in ("NC", "WB")]
    made += [pictures.contexts(3, size=size, seed=7), pictures.wider(3, size=size, seed=7)]
    assert [digest(one.images) for one in made] == DIGESTS[size].split()


@pytest.mark.parametrize("which", pictures.SETS)
def test_smaller_set_is_the_beginning_of_a_larger_one(which):
    few, many = (pictures.make(which, per_class=n, size=32) for n in (3, 7))
    first = (many.table["index"] < 3).to_numpy()
    assert np.array_equal(few.images, many.images[first])
    assert np.array_equal(few.masks, many.masks[first])
    assert few.table.equals(many.table[first].reset_index(drop=True))


def test_bias_moves_contexts_only(c):
    other = pictures.make("C", per_class=20, context_bias=1.0)
    same = (c.table["context"] == other.table["context"]).to_numpy()
    assert np.array_equal(c.masks, other.masks)
    assert np.array_equal(c.images[same], other.images[same])
    assert 0 < same.sum() < len(same)


def test_seeds_and_purposes_share_no_image(c, wb, nc):
    more = pictures.make("C", per_class=20, seed=1, context_bias=0.5)
    alone, others = pictures.contexts(20), pictures.wider(6)
    images = np.concatenate([s.images for s in (c, wb, nc, more, alone, others)])
    assert len({image.tobytes() for image in images}) == len(images)


def test_white_is_the_same_object(c, wb):
    """Where the object covers all of a pixel both are the same bytes; where none, WB is white."""
    rows = zip(c.table["object"], c.table["index"], strict=True)
    alpha = np.stack([shown(name, 0, index, 96)[1].alpha for name, index in rows])
    solid = alpha > 0.998
    assert np.array_equal(c.masks, wb.masks) and np.array_equal(wb.masks, alpha >= 0.5)
    assert solid.sum() > 50_000
    assert np.array_equal(c.images[solid], wb.images[solid])
    assert (wb.images[alpha == 0] == 255).all()
    assert c.table.drop(columns="context").equals(wb.table.drop(columns="context"))


def test_green_is_held_constant(c, nc):
    """No class can be told by its colour: hue within 5 degrees, brightness within a tenth."""
    for made in (c, nc):
        means = [
            made.images[rows][made.masks[rows]].mean(axis=0) / 255
            for rows in ((made.table["object"] == name).to_numpy() for name in CLASSES)
        ]
        hue, _, value = rgb_to_hsv(np.array(means)).T
        assert np.ptp(hue * 360) < 5 and abs(hue.mean() * 360 - 152) < 8
        assert np.ptp(value) < 0.12


def test_wider_world_is_independent_of_kind():
    made = pictures.wider(90, size=8)
    assert len(pictures.WIDER_KINDS) >= 12 and not set(pictures.WIDER_KINDS) & set(CLASSES)
    styles = made.table.groupby(["object", "design"]).size()
    assert (styles == 30).all()
    counts = made.table[made.table["design"] == "context"].groupby("context").size()
    expected = len(pictures.WIDER_KINDS) * 30 / 6
    assert set(counts.index) == {*pictures.CONTEXTS, "plain", "noise"}
    assert (abs(counts - expected) < 5 * math.sqrt(expected)).all()


@given(
    name=st.sampled_from(CLASSES),
    n=st.integers(1, 200),
    seed=st.integers(0, 2**32),
    bias=st.floats(0, 1),
)
def test_share_of_own_context_is_exact(name, n, seed, bias):
    result = assigned(name, n, seed, bias)
    own = result.count(pictures.CONTEXT_OF[name])
    others = [result.count(c) for c in pictures.CONTEXTS if c != pictures.CONTEXT_OF[name]]
    assert abs(own - n * bias) <= 0.5 + 1e-9
    assert sum(others) + own == n and max(others) - min(others) <= 1


def test_planted_is_bayes_rule_by_counting():
    bias = {"bench": 0.9, "fire hydrant": 0.4, "plane": 0.6, "mug": 0.25}
    table = pictures.make("C", per_class=60, size=8, context_bias=bias).table
    truth = pictures.planted(bias).set_index("class")
    for name, row in truth.iterrows():
        here = table[table["context"] == row["context"]]
        assert row["p_context_given_class"] == bias[name]
        assert abs((here["object"] == name).mean() - row["p_class_given_context"]) < 0.03
    assert np.allclose(pictures.planted(1 / 4)["p_class_given_context"], 0.25)  # independence
    assert (pictures.planted(1.0)["p_class_given_context"] == 1).all()


@pytest.mark.parametrize("bias", [{"mug": 0.5}, {**pictures.CONTEXT_BIAS, "dog": 0.5}])
def test_a_bias_of_other_classes_is_refused(bias):
    with pytest.raises(ValueError, match="context_bias"):
        pictures.make("C", per_class=1, context_bias=bias)


def test_shapes_and_their_combinations_are_where_they_are_said_to_be():
    pixels = shapes.Pixels(shapes.View(10, 0, 0, 10, 20, 20), slice(0, 40), slice(0, 40))
    p = (np.mgrid[:40, :40][::-1].transpose(1, 2, 0) + 0.5 - 20) / 10  # object coordinates
    box = shapes.Box(-1, -0.5, 1, 0.5, 0.3).field(pixels)
    q = np.abs(p) - np.array([0.7, 0.2])
    outer = np.sqrt((np.maximum(q, 0) ** 2).sum(axis=2)) + np.minimum(q.max(axis=2), 0) - 0.3
    assert np.allclose(box, outer * 10, atol=1e-3)
    disc, other = shapes.Ellipse(0, 0, 1), shapes.Ellipse(0.5, 0, 0.8)
    a, b = (np.hypot(p[..., 0] - x, p[..., 1]) < r for x, r in ((0, 1), (0.5, 0.8)))
    assert np.array_equal(shapes.Union(disc, other).field(pixels) < 0, a | b)
    assert np.array_equal(shapes.Meet(disc, other).field(pixels) < 0, a & b)
    ring = shapes.Ring(disc, 0.4).field(pixels) < 0
    assert np.array_equal(ring, np.abs(np.hypot(*p.transpose(2, 0, 1)) - 1) < 0.2)
    corners = [(-0.9, -0.7), (0.8, -0.3), (0.1, 0.85)]
    inside = Outline(corners).contains_points(p.reshape(-1, 2)).reshape(40, 40)
    assert np.array_equal(shapes.Polygon(*corners).field(pixels) < 0, inside)
