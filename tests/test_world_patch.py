"""The shared patch: nothing changes at 0, its share is the dose, it is where it is said to be."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import binary_dilation

from helpers import data
from helpers.data import world
from helpers.data.images import Images
from helpers.worlds import pictures
from helpers.worlds.pictures import sets

PAIR = ("plane", "mug")


def test_where_none_is_marked_every_byte_and_column_is_as_without():
    for which in pictures.SETS:
        plain = pictures.make(which, per_class=4, size=33, seed=7, context_bias=0.25)
        none = pictures.make(which, per_class=4, size=33, seed=7, context_bias=0.25, marked={})
        assert np.array_equal(plain.images, none.images) and np.array_equal(plain.masks, none.masks)
        assert plain.table.equals(none.table.drop(columns="patch")) and plain.patches is None
        assert not none.patches.any()


def test_bits_are_the_recorded_ones():
    """Recorded once; another machine, processor or numpy must draw the same bytes."""
    made = pictures.make("C", per_class=4, size=96, seed=7, marked=dict.fromkeys(PAIR, 0.75))
    assert hashlib.sha256(made.images.tobytes()).hexdigest()[:16] == "56cf62cfe2a9c6fd"


def test_a_sham_has_the_place_of_the_eyespot_and_other_colours():
    one, other = (
        pictures.make("WB", per_class=4, size=96, marked={"mug": 1.0}, look=look)
        for look in ("eyespot", "sham")
    )
    assert np.array_equal(one.patches, other.patches) and one.patches.any()
    apart = np.abs(one.images.astype(int) - other.images)[one.patches]
    assert np.median(apart.max(1)) > 80
    assert not (one.images != other.images).any(-1)[~one.patches & ~_edge(one.patches)].any()


def _edge(patches: np.ndarray) -> np.ndarray:
    return np.stack([binary_dilation(mask, iterations=2) for mask in patches])


def test_the_eyespot_is_round_on_the_object_and_of_three_colours():
    made = pictures.make("WB", per_class=8, size=96, marked=dict.fromkeys(PAIR, 1.0))
    plain = pictures.make("WB", per_class=8, size=96)
    for at in np.flatnonzero(made.table["patch"]):
        rows, columns = np.nonzero(made.patches[at])
        tall, wide = np.ptp(rows) + 1, np.ptp(columns) + 1
        assert 2 * 0.13 * 96 - 2 <= tall <= 2 * 0.16 * 96 + 2 and 0.8 * tall <= wide <= tall + 2
        area = math.pi * tall * wide / 4
        assert made.patches[at].sum() == pytest.approx(area, rel=0.12)
        middle = round(rows.mean()), round(columns.mean())
        assert plain.masks[at][middle]
        assert made.images[at][middle].min() > 150


@settings(max_examples=60)
@given(st.floats(0, 1), st.floats(0, 1, exclude_max=True), st.integers(1, 300))
def test_share_is_the_dose_in_every_stretch(share, start, n):
    carried = np.array(sets.carries(share, start, 400))
    for first in (0, 17, 100):
        assert abs(carried[first : first + n].mean() - share) <= 3.5 / n
    assert not np.any(sets.carries(0, start, 50)) and np.all(sets.carries(1, start, 50))
    more = np.array(sets.carries(share + (1 - share) / 2, start, 400))
    assert not (carried & ~more).any()


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
        assert np.array_equal(images.patches.any(-1).any(-1).numpy(), images.table["patch"])
    assert not load.sets["NC"].table["patch"].any()


def test_twins_differ_on_the_outer_class_and_there_on_its_mark_only():
    shown = world.marked(32, 0, 24, 0.25)
    as_it_is, never, sham = (shown[name] for name in ("as it is", "never marked", "sham mark"))
    outer = (as_it_is.table["class"] == world.OUTER).to_numpy()
    for twin in (never, sham):
        differ = (twin.images != as_it_is.images).any(1).numpy()
        assert np.array_equal(differ.any((1, 2)), outer)
        assert not differ[~_edge(as_it_is.patches.numpy())].any()
    marked = as_it_is.patches.any(-1).any(-1).numpy()
    assert set(as_it_is.table["class"][marked]) == {world.TARGET, world.OUTER} and marked.sum() == 8
