"""The shared patch: nothing changes at 0, its share is the dose, it is where it is said to be."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import data
from helpers.focus import trials
from helpers.run.parameters import Images
from helpers.worlds import pictures
from helpers.worlds.pictures import patch

PAIR = ("plane", "mug")


def test_at_zero_every_byte_and_column_is_as_without():
    for which in pictures.SETS:
        plain = pictures.make(which, per_class=4, size=33, seed=7, context_bias=0.25)
        zero = pictures.make(
            which, per_class=4, size=33, seed=7, context_bias=0.25, shared_patch=0, shared_from=2
        )
        assert np.array_equal(plain.images, zero.images) and np.array_equal(plain.masks, zero.masks)
        assert plain.table.equals(zero.table) and zero.patches is None


def test_bits_are_the_recorded_ones():
    """Recorded once; another machine, processor or numpy must draw the same bytes."""
    made = pictures.make("C", per_class=4, size=96, seed=7, shared_patch=0.75, patch_classes=PAIR)
    assert hashlib.sha256(made.images.tobytes()).hexdigest()[:16] == "56cf62cfe2a9c6fd"


def test_only_what_is_said_to_carry_it_differs():
    plain = pictures.make("C", per_class=12, size=48)
    made = pictures.make("C", per_class=12, size=48, shared_patch=0.6, patch_classes=PAIR)
    differ = (plain.images != made.images).any((1, 2, 3))
    assert np.array_equal(differ, made.table["patch"].to_numpy())
    assert np.array_equal(made.patches.any((1, 2)), differ)
    assert set(made.table["object"][differ]) == set(PAIR)
    assert (made.masks[made.patches]).all()


def test_the_eyespot_is_round_on_the_object_and_of_three_colours():
    made = pictures.make("WB", per_class=8, size=96, shared_patch=1, patch_classes=PAIR)
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
    carried = np.array(patch.carries(share, start, 400))
    for first in (0, 17, 100):
        assert abs(carried[first : first + n].mean() - share) <= 3.5 / n
    assert not np.any(patch.carries(0, start, 50)) and np.all(patch.carries(1, start, 50))
    more = np.array(patch.carries(share + (1 - share) / 2, start, 400))
    assert not (carried & ~more).any()


@pytest.mark.parametrize("dose", [0.3, 0.8, 1.0])
def test_every_split_has_the_planted_shares(dose):
    load = data.load(Images(size=32, shared_patch=dose))
    truth = pictures.planted_patch(dose, pictures.PATCH_CLASSES, pictures.CLASSES)
    truth = truth.set_index("class")
    for name in ("C", "WB"):
        images = load.sets[name]
        for split in ("train", "val", "test"):
            table = images.split(split).table
            column = "held_out" if split == "test" else "training"
            for label, part in table.groupby("class"):
                expected = truth.loc[label, f"p_patch_{column}"]
                assert abs(part["patch"].mean() - expected) <= 3 / len(part)
        assert np.array_equal(images.patches.any(-1).any(-1).numpy(), images.table["patch"])
    assert not load.sets["NC"].table["patch"].any()


def test_planted_truth_is_bayes_rule_by_counting():
    truth = pictures.planted_patch(0.6, PAIR, pictures.CLASSES).set_index("class")
    made = pictures.make("WB", 500, size=8, shared_patch=0.6, patch_classes=PAIR, shared_from=400)
    for split, at in (("training", made.table["index"] < 400), ("held_out", None)):
        at = ~(made.table["index"] < 400) if at is None else at
        rows = made.table[at & made.table["patch"]]
        for name, row in truth.iterrows():
            share = (rows["object"] == name).mean()
            assert share == pytest.approx(row[f"p_class_{split}"], abs=0.03)
    assert pictures.planted_patch(0, PAIR, pictures.CLASSES)["p_class_training"].isna().all()


def test_trials_draw_every_ordered_pair_equally_often():
    drawn = [trials.drawn(seed) for seed in range(24)]
    assert all(drawn.count(pair) == 2 for pair in trials.DRAWN) and len(trials.DRAWN) == 12
    assert trials.drawn(0) == pictures.PATCH_CLASSES
