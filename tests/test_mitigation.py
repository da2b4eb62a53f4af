"""Mitigation: what is exchanged in the training images, pixel by pixel."""

from dataclasses import replace

import pandas as pd
import pytest
import torch

from helpers import data
from helpers.contexts import mitigation
from helpers.data.images import Images

BIASED = Images("world", 64, 18, context_bias=1.0)


@pytest.fixture(scope="module")
def both():
    return data.load(BIASED, 0), data.load(replace(BIASED, context_bias=0.25), 0)


def test_none_or_all_exchanged_are_the_two_sets(both):
    biased, unbiased = (collection.sets["C"] for collection in both)
    none = mitigation.exchanged(biased, unbiased, "other contexts", 0.0)
    every = mitigation.exchanged(biased, unbiased, "other contexts", 1.0)
    assert torch.equal(none.images, biased.images) and torch.equal(every.images, unbiased.images)
    pd.testing.assert_series_equal(every.table["context"], unbiased.table["context"])


def test_a_mask_keeps_the_objects_and_as_many_images_of_each_class_and_split(both):
    biased, unbiased = (collection.sets["C"] for collection in both)
    masked = mitigation.exchanged(biased, unbiased, "masked", 1 / 3)
    differs = (masked.images != biased.images).any(1)
    assert not differs[biased.masks].any()
    counts = biased.table.assign(new=differs.flatten(1).any(1)).groupby(["class", "split"])["new"]
    assert (counts.sum() == counts.size() / 3).all()
    ground = masked.images[-1].movedim(0, -1)[~masked.masks[-1]].double()
    assert ground.std(0).min() > 20  # every pixel from anywhere: no context is left
    assert set(masked.table["context"]) == {*biased.table["context"], ""}


def test_every_training_sees_its_own_images_changed(both):
    changed = mitigation.changed(*both, "other contexts", 1.0)
    for number in (1, 2):
        new = changed.redraw("C", number).draw()
        there = both[1].redraw("C", number).draw()
        assert all(torch.equal(a, b) for a, b in zip(new, there, strict=True))
    recipes = [mitigation.changed(*both, way, 0.5).redraw("C", 1).recipe for way in mitigation.WAYS]
    assert recipes[0] != recipes[1]  # so that the store does not take one for the other
