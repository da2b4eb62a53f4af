"""Synthetic images: their bits, injected biases, eyespots, and training runs."""

import hashlib

import numpy as np
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

# of C, NC, WB, contexts and pretraining pictures, by size
DIGESTS = {
    33: [
        "494c204fb0e79c38",
        "42bd1c55a06eb650",
        "e9946554db5e9b00",
        "c17aa9b71cbd5e71",
        "00d50e38b7ee6b13",
    ],
    96: [
        "adec739948774e42",
        "5a62a577dfdba3b8",
        "322bec79b7b81e80",
        "2dcad90ea5562be7",
        "e19ca28b233893db",
    ],
}


def digest(array: np.ndarray) -> str:
    values = np.ascontiguousarray(array)
    return hashlib.sha256(values.tobytes()).hexdigest()[:16]


def with_edge(patches):
    """Enlarge masks (N, height, width) by the two pixels that a soft edge reaches."""
    square = np.ones((1, 5, 5))
    return binary_dilation(patches, square)


@pytest.fixture(scope="module")
def c():
    return pictures.make("C", per_class=20, context_bias=0.5)


@pytest.fixture(scope="module")
def wb():
    return pictures.make("WB", per_class=20)


@pytest.mark.parametrize("size", DIGESTS)
def test_bits_are_the_recorded_ones(size):
    """Recorded once: other machines, processors and NumPy versions draw the same."""
    made = [
        pictures.make("C", per_class=4, size=size, seed=7, context_bias=0.25),
        pictures.make("NC", per_class=4, size=size, seed=7),
        pictures.make("WB", per_class=4, size=size, seed=7),
        pictures.contexts(3, size=size, seed=7),
        pictures.wider(3, size=size, seed=7),
    ]
    assert [digest(part.images) for part in made] == DIGESTS[size]


def test_eyespots_have_the_recorded_bits():
    marked = {"plane": 0.75, "mug": 0.75}
    made = pictures.make("C", per_class=4, seed=7, marked=marked)
    assert digest(made.images) == "56cf62cfe2a9c6fd"


def test_wb_shows_the_objects_of_c(c, wb):
    """Pixels full of the object are the same; pixels without it are white in WB."""
    layers = []
    for row in c.table.itertuples():
        _, layer, _ = shown(row.object, 0, row.index, 96)
        layers.append(layer.alpha)
    alpha = np.stack(layers)
    solid = alpha > 0.998
    assert np.array_equal(c.masks, alpha >= 0.5)
    assert np.array_equal(c.masks, wb.masks)
    assert np.array_equal(c.images[solid], wb.images[solid])
    assert (wb.images[alpha == 0] == 255).all()


@given(
    name=st.sampled_from(pictures.CLASSES),
    n=st.integers(1, 200),
    seed=st.integers(0, 2**32),
    bias=st.floats(0, 1),
)
def test_share_of_own_context_is_exact(name, n, seed, bias):
    contexts = assigned(name, n, seed, bias)
    counts = {context: contexts.count(context) for context in pictures.CONTEXTS}
    own = counts.pop(pictures.CONTEXT_OF[name])
    others = counts.values()
    assert abs(own - n * bias) <= 0.5 + 1e-9
    assert own + sum(others) == n
    assert max(others) - min(others) <= 1


def test_injected_shares_follow_bayes_rule_by_counting():
    bias = {"bench": 0.9, "fire hydrant": 0.4, "plane": 0.6, "mug": 0.25}
    table = pictures.make("C", per_class=60, size=8, context_bias=bias).table
    for _, row in pictures.planted(bias).iterrows():
        label = row.iloc[0]
        objects = table.loc[table["context"] == row["context"], "object"]
        share = (objects == label).mean()
        assert row["p_context_given_class"] == bias[label]
        assert abs(share - row["p_class_given_context"]) < 0.03


def test_the_bias_changes_contexts_only(c):
    other = pictures.make("C", per_class=20, context_bias=1.0)
    same = (c.table["context"] == other.table["context"]).to_numpy()
    assert np.array_equal(c.masks, other.masks)
    assert np.array_equal(c.images[same], other.images[same])
    assert 0 < same.sum() < len(same)


def test_image_sets_share_no_image(c, wb):
    sets = [
        c,
        wb,
        pictures.make("NC", per_class=20),
        pictures.make("C", per_class=20, seed=1, context_bias=0.5),
        pictures.contexts(20),
        pictures.wider(6),
    ]
    images = np.concatenate([part.images for part in sets])
    different = {image.tobytes() for image in images}
    assert len(different) == len(images)


# eyespots


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
def test_a_quarter_carries_the_eyespot_and_the_bias_moves_it_to_the_target(strength):
    truth = pictures.marked_shares(strength, world.TARGET, pictures.CLASSES)
    assert np.mean(list(truth.values())) == pytest.approx(0.25)
    assert truth[world.TARGET] == pytest.approx(0.25 + 0.75 * strength)
    collection = data.load(Images(size=32, eyespot=strength))
    table = collection.sets["C"].table
    for (_, label), part in table.groupby(["split", "class"]):
        assert abs(part["patch"].mean() - truth[label]) <= 3 / len(part)
    assert not collection.sets["NC"].table["patch"].any()


def test_counterparts_differ_only_in_the_eyespot_of_the_outer_class():
    counterparts = world.marked(32, 0, 24, 0.25)
    original = counterparts["as it is"]
    is_outer = (original.table["class"] == world.OUTER).to_numpy()
    around = ~with_edge(original.patches.numpy())
    for name in ("never marked", "sham mark"):
        changed = counterparts[name].images != original.images
        changed = changed.any(1).numpy()
        assert np.array_equal(changed.any((1, 2)), is_outer)
        assert not changed[around].any()


def test_an_eyespot_and_a_sham_have_one_place_on_the_object():
    marked = {"mug": 1.0}
    eyespot = pictures.make("WB", per_class=4, marked=marked)
    sham = pictures.make("WB", per_class=4, marked=marked, look="sham")
    plain = pictures.make("WB", per_class=4)
    assert np.array_equal(eyespot.patches, sham.patches)
    for number in np.flatnonzero(eyespot.table["patch"]):
        pixels = np.argwhere(eyespot.patches[number])
        row, column = pixels.mean(axis=0).round().astype(int)
        assert plain.masks[number, row, column]
    differs = (eyespot.images != sham.images).any(-1)
    assert differs[eyespot.patches].mean() > 0.9
    assert not differs[~with_edge(eyespot.patches)].any()


# training runs


def test_each_run_trains_on_images_of_its_own_and_the_first_on_the_set():
    images = Images(size=33, per_class=6, context_bias=0.5)
    collection = data.load(images, seed=3)
    own = collection.sets["NC"].to_train()
    first = collection.to_train("NC", 0)
    second = collection.to_train("NC", 1)
    assert torch.equal(own.draw()[0], first.draw()[0])
    assert not torch.equal(own.draw()[0], second.draw()[0])
    assert first.recipe != second.recipe
