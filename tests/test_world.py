"""Synthetic pictures: their bits, injected biases, shared patches, and the store of image sets."""

import hashlib

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import binary_dilation

from helpers import data
from helpers.data import world
from helpers.data.images import Images
from synthetic import pictures
from synthetic.pictures.sets import assigned, shown

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


DIGESTS = {  # of C, NC, WB, contexts and pretraining pictures
    33: "494c204fb0e79c38 42bd1c55a06eb650 e9946554db5e9b00 c17aa9b71cbd5e71 00d50e38b7ee6b13",
    96: "adec739948774e42 5a62a577dfdba3b8 322bec79b7b81e80 2dcad90ea5562be7 e19ca28b233893db",
}


@pytest.mark.parametrize("size", [33, 96])
def test_bits_are_the_recorded_ones(size):
    """Recorded once; another machine, processor or numpy must draw the same bytes."""
    made = [pictures.make("C", per_class=4, size=size, seed=7, context_bias=0.25)]
    made += [
        pictures.make(name, per_class=4, size=size, seed=7) for name in ("NC", "WB")
    ]
    made += [
        pictures.contexts(3, size=size, seed=7),
        pictures.wider(3, size=size, seed=7),
    ]
    assert [digest(one.images) for one in made] == DIGESTS[size].split()


def test_the_bias_changes_contexts_only_and_sets_share_no_image(c, wb, nc):
    other = pictures.make("C", per_class=20, context_bias=1.0)
    same = (c.table["context"] == other.table["context"]).to_numpy()
    assert np.array_equal(c.masks, other.masks)
    assert np.array_equal(c.images[same], other.images[same])
    assert 0 < same.sum() < len(same)
    more = pictures.make("C", per_class=20, seed=1, context_bias=0.5)
    alone, others = pictures.contexts(20), pictures.wider(6)
    images = np.concatenate([s.images for s in (c, wb, nc, more, alone, others)])
    assert len({image.tobytes() for image in images}) == len(images)


def test_wb_shows_the_objects_of_c(c, wb):
    """Pixels full of the object are the same bytes; pixels without it are white in WB."""
    rows = zip(c.table["object"], c.table["index"], strict=True)
    alpha = np.stack([shown(name, 0, index, 96)[1].alpha for name, index in rows])
    solid = alpha > 0.998
    assert np.array_equal(c.masks, wb.masks) and np.array_equal(wb.masks, alpha >= 0.5)
    assert solid.sum() > 50_000
    assert np.array_equal(c.images[solid], wb.images[solid])
    assert (wb.images[alpha == 0] == 255).all()
    assert c.table.drop(columns="context").equals(wb.table.drop(columns="context"))


@given(
    name=st.sampled_from(CLASSES),
    n=st.integers(1, 200),
    seed=st.integers(0, 2**32),
    bias=st.floats(0, 1),
)
def test_share_of_own_context_is_exact(name, n, seed, bias):
    result = assigned(name, n, seed, bias)
    own = result.count(pictures.CONTEXT_OF[name])
    others = [
        result.count(c) for c in pictures.CONTEXTS if c != pictures.CONTEXT_OF[name]
    ]
    assert abs(own - n * bias) <= 0.5 + 1e-9
    assert sum(others) + own == n and max(others) - min(others) <= 1


def test_injected_shares_follow_bayes_rule_by_counting():
    bias = {"bench": 0.9, "fire hydrant": 0.4, "plane": 0.6, "mug": 0.25}
    table = pictures.make("C", per_class=60, size=8, context_bias=bias).table
    truth = pictures.planted(bias).set_index("class")
    for name, row in truth.iterrows():
        here = table[table["context"] == row["context"]]
        assert row["p_context_given_class"] == bias[name]
        assert (
            abs((here["object"] == name).mean() - row["p_class_given_context"]) < 0.03
        )
    assert np.allclose(
        pictures.planted(1 / 4)["p_class_given_context"], 0.25
    )  # independence
    assert (pictures.planted(1.0)["p_class_given_context"] == 1).all()


# the shared patch


PAIR = ("plane", "mug")


def test_eyespots_have_the_recorded_bits_and_change_no_other_image():
    """Recorded once; another machine, processor or numpy must draw the same bytes."""
    made = pictures.make(
        "C", per_class=4, size=96, seed=7, marked=dict.fromkeys(PAIR, 0.75)
    )
    assert hashlib.sha256(made.images.tobytes()).hexdigest()[:16] == "56cf62cfe2a9c6fd"
    for which in pictures.SETS:
        plain = pictures.make(which, per_class=4, size=33, seed=7, context_bias=0.25)
        none = pictures.make(
            which, per_class=4, size=33, seed=7, context_bias=0.25, marked={}
        )
        assert np.array_equal(plain.images, none.images) and np.array_equal(
            plain.masks, none.masks
        )
        assert (
            plain.table.equals(none.table.drop(columns="patch"))
            and plain.patches is None
        )
        assert not none.patches.any()


def _edge(patches: np.ndarray) -> np.ndarray:
    return np.stack([binary_dilation(mask, iterations=2) for mask in patches])


def test_an_eyespot_lies_on_its_object_and_a_sham_has_its_place():
    one, other = (
        pictures.make("WB", per_class=4, size=96, marked={"mug": 1.0}, look=look)
        for look in ("eyespot", "sham")
    )
    assert np.array_equal(one.patches, other.patches) and one.patches.any()
    plain = pictures.make("WB", per_class=4, size=96)
    for at in np.flatnonzero(one.table["patch"]):
        assert plain.masks[at][
            tuple(np.argwhere(one.patches[at]).mean(0).round().astype(int))
        ]
    apart = np.abs(one.images.astype(int) - other.images)[one.patches]
    assert np.median(apart.max(1)) > 80
    assert (
        not (one.images != other.images)
        .any(-1)[~one.patches & ~_edge(one.patches)]
        .any()
    )


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
def test_a_quarter_carries_the_eyespot_and_the_bias_moves_it_to_the_target(strength):
    truth = pictures.marked_shares(strength, world.TARGET, pictures.CLASSES)
    assert np.mean(list(truth.values())) == pytest.approx(0.25)
    assert truth[world.TARGET] == pytest.approx(0.25 + 0.75 * strength)
    load = data.load(Images(size=32, eyespot=strength))
    for name in ("C", "WB"):
        images = load.sets[name]
        for split in ("train", "val", "test"):
            table = images.split(split).table
            for label, part in table.groupby("class"):
                assert abs(part["patch"].mean() - truth[label]) <= 3 / len(part)
        assert np.array_equal(
            images.patches.any(-1).any(-1).numpy(), images.table["patch"]
        )
    assert not load.sets["NC"].table["patch"].any()


def test_counterparts_differ_only_in_the_eyespot_of_the_outer_class():
    counterparts = world.marked(32, 0, 24, 0.25)
    as_it_is, never, sham = (
        counterparts[name] for name in ("as it is", "never marked", "sham mark")
    )
    outer = (as_it_is.table["class"] == world.OUTER).to_numpy()
    for counterpart in (never, sham):
        differ = (counterpart.images != as_it_is.images).any(1).numpy()
        assert np.array_equal(differ.any((1, 2)), outer)
        assert not differ[~_edge(as_it_is.patches.numpy())].any()
    marked = as_it_is.patches.any(-1).any(-1).numpy()
    assert (
        set(as_it_is.table["class"][marked]) == {world.TARGET, world.OUTER}
        and marked.sum() == 8
    )


# image sets are drawn on demand, and once for all processes


GIVEN = {"size": 33, "per_class": 6, "context_bias": 0.5}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty store."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    return tmp_path / "models" / "images"


@pytest.mark.parametrize("eyespot", [None, 0.5])
def test_a_set_is_drawn_once_and_then_read(folder, monkeypatch, eyespot):
    first = world.load(seed=3, eyespot=eyespot, **GIVEN)
    assert len([*folder.glob("drawn-*")]) == 1, (
        "contexts alone: sets are drawn on demand"
    )
    drawn = {name: first.sets[name] for name in first.sets}
    monkeypatch.setattr(pictures, "make", None)
    monkeypatch.setattr(pictures, "contexts", None)
    again = world.load(seed=3, eyespot=eyespot, **GIVEN)
    for name, one in drawn.items():
        other = again.sets[name]
        for part in ("images", "labels", "masks", "patches"):
            old, new = getattr(one, part), getattr(other, part)
            assert (old is None and new is None) or (
                old.dtype == new.dtype and torch.equal(old, new)
            )
        pd.testing.assert_frame_equal(one.table, other.table)
    assert all(
        torch.equal(first.contexts[c], again.contexts[c]) for c in pictures.CLASSES
    )
