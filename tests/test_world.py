"""The planted world: what is planted is there, and the same on every machine; its shared patch; and
the world as a source of images."""

import hashlib
import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import rgb_to_hsv
from scipy.ndimage import binary_dilation

from helpers import data, store
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


DIGESTS = {  # of C, NC, WB, contexts and the wider world
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


@pytest.mark.parametrize("which", pictures.SETS)
def test_smaller_set_is_the_beginning_of_a_larger_one(which):
    few, many = (pictures.make(which, per_class=n, size=32) for n in (3, 7))
    first = (many.table["index"] < 3).to_numpy()
    assert np.array_equal(few.images, many.images[first])
    assert np.array_equal(few.masks, many.masks[first])
    assert few.table.equals(many.table[first].reset_index(drop=True))


def test_bias_moves_contexts_only_and_seeds_and_purposes_share_no_image(c, wb, nc):
    other = pictures.make("C", per_class=20, context_bias=1.0)
    same = (c.table["context"] == other.table["context"]).to_numpy()
    assert np.array_equal(c.masks, other.masks)
    assert np.array_equal(c.images[same], other.images[same])
    assert 0 < same.sum() < len(same)
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


def test_wider_world_is_independent_of_kind_and_every_sixth_is_held_out(monkeypatch):
    made = pictures.wider(90, size=8)
    assert len(pictures.WIDER_KINDS) >= 12 and not set(pictures.WIDER_KINDS) & set(
        CLASSES
    )
    styles = made.table.groupby(["object", "design"]).size()
    assert (styles == 30).all()
    counts = made.table[made.table["design"] == "context"].groupby("context").size()
    expected = len(pictures.WIDER_KINDS) * 30 / 6
    assert set(counts.index) == {*pictures.CONTEXTS, "plain", "noise"}
    assert (abs(counts - expected) < 5 * math.sqrt(expected)).all()
    small = pictures.wider(per_kind=12, size=33, seed=0)
    monkeypatch.setattr(pictures, "wider", lambda **_: small)
    images, labels, held_out, held_labels = world.wider(33, 0).draw()
    assert len(images) == 5 * len(held_out) == 10 * len(pictures.WIDER_KINDS)
    assert labels.bincount().tolist() == [10] * len(pictures.WIDER_KINDS)
    assert held_labels.bincount().tolist() == [2] * len(pictures.WIDER_KINDS)
    first = torch.from_numpy(small.images[5]).permute(2, 0, 1)
    assert torch.equal(held_out[0], first)


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


def test_a_bias_is_bayes_rule_by_counting_and_of_these_classes():
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


@pytest.mark.parametrize("bias", [{"mug": 0.5}, {**pictures.CONTEXT_BIAS, "dog": 0.5}])
def test_a_bias_of_other_classes_is_refused(bias):
    with pytest.raises(ValueError, match="context_bias"):
        pictures.make("C", per_class=1, context_bias=bias)


# the shared patch


PAIR = ("plane", "mug")


def test_marks_are_the_recorded_ones_and_change_nothing_where_there_are_none():
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


@pytest.mark.parametrize("dose", [0.0, 0.3, 1.0])
def test_a_quarter_carries_it_at_every_dose_and_the_dose_moves_it_to_the_target(dose):
    truth = pictures.marked_shares(dose, world.TARGET, pictures.CLASSES)
    assert np.mean(list(truth.values())) == pytest.approx(0.25)
    assert truth[world.TARGET] == pytest.approx(0.25 + 0.75 * dose)
    load = data.load(Images(size=32, eyespot=dose))
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


def test_twins_differ_on_the_outer_class_and_there_on_its_mark_only():
    twins = world.marked(32, 0, 24, 0.25)
    as_it_is, never, sham = (
        twins[name] for name in ("as it is", "never marked", "sham mark")
    )
    outer = (as_it_is.table["class"] == world.OUTER).to_numpy()
    for twin in (never, sham):
        differ = (twin.images != as_it_is.images).any(1).numpy()
        assert np.array_equal(differ.any((1, 2)), outer)
        assert not differ[~_edge(as_it_is.patches.numpy())].any()
    marked = as_it_is.patches.any(-1).any(-1).numpy()
    assert (
        set(as_it_is.table["class"][marked]) == {world.TARGET, world.OUTER}
        and marked.sum() == 8
    )


# the world as a source: drawn when it is asked for, and once for all processes


GIVEN = {"size": 33, "per_class": 6, "context_bias": 0.5}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty store."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    return tmp_path / "models" / "images"


@pytest.mark.parametrize("eyespot", [None, 0.5])
def test_a_set_is_drawn_once_and_then_read_as_it_was(folder, monkeypatch, eyespot):
    first = world.load(seed=3, eyespot=eyespot, **GIVEN)
    assert len([*folder.glob("drawn-*")]) == 1, (
        "of contexts: sets wait until they are asked for"
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


def test_splits_are_drawn_alone_and_the_first_training_sees_the_set_itself(folder):
    whole = world.load(seed=3, **GIVEN).sets["C"].split("test")
    alone = world.image_set("C", 33, 3, 6, ("test",), context_bias=0.5)
    assert torch.equal(alone.images, whole.images)
    pd.testing.assert_frame_equal(alone.table, whole.table)
    collection = world.load(seed=3, **GIVEN)
    own = collection.sets["NC"].to_train().draw()
    zero, one = (collection.to_train("NC", number) for number in (0, 1))
    assert all(torch.equal(a, b) for a, b in zip(own, zero.draw(), strict=True))
    assert not torch.equal(own[0], one.draw()[0]) and torch.equal(own[1], one.draw()[1])
    assert zero.recipe != one.recipe


def test_sets_without_contexts_and_their_trainings_are_the_same_at_every_bias(folder):
    one, other = (world.load(33, 3, 6, bias) for bias in (0.5, None))
    for name, same in (("C", False), ("NC", True), ("WB", True)):
        for number in (0, 2):
            recipes = [c.to_train(name, number).recipe for c in (one, other)]
            assert (recipes[0] == recipes[1]) is same


def test_so_many_sets_stay_on_disk_and_a_damaged_one_is_named(folder, monkeypatch):
    monkeypatch.setattr(world, "KEPT", 3)
    for seed in range(5):
        world.load(seed=seed, **GIVEN).sets["C"]
    kept = sorted(folder.glob("*.safetensors"), key=lambda path: path.stat().st_mtime)
    assert len(kept) == 3
    kept[-1].write_bytes(kept[-1].read_bytes()[:100])
    with pytest.raises(store.UnreadableArtifact, match="Delete that file"):
        world.load(seed=4, **GIVEN).sets["C"]


def test_an_object_behind_which_the_context_changes_is_the_same_object():
    """Drawn once and kept, and never changed by a mark that is painted on one of its images."""
    plain = pictures.make("C", per_class=4, size=33, seed=9, context_bias=1.0)
    pictures.make(
        "C", per_class=4, size=33, seed=9, marked=dict.fromkeys(pictures.CLASSES, 1.0)
    )
    again = pictures.make("C", per_class=4, size=33, seed=9, context_bias=1.0)
    assert (plain.images == again.images).all() and (plain.masks == again.masks).all()
