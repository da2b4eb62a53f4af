"""Relevance on the background, against loops and maps that put it where we say."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from test_colour import image_set

from helpers.contexts import relevance
from helpers.explain import Maps


def maps_of(relevance_maps):
    return Maps(relevance_maps, "by hand", {})


@pytest.fixture
def images():
    return image_set(n=40)


def test_shares_equal_a_loop(images):
    drawn = torch.rand(40, 8, 8, generator=torch.Generator().manual_seed(0)) - 0.3
    table = relevance.per_image([maps_of(drawn)], images)
    for i in range(40):
        inside = outside = 0.0
        for row in range(8):
            for col in range(8):
                value = max(float(drawn[i, row, col]), 0)
                if images.masks[i, row, col]:
                    inside += value
                else:
                    outside += value
        assert table["share"][i] == pytest.approx(outside / (inside + outside))
    assert (table["area"] == 48 / 64).all()
    assert np.allclose(table["excess"], table["share"] - 0.75)


def test_a_uniform_map_has_no_excess_and_maps_on_one_side_have_all(images):
    uniform = relevance.per_image([maps_of(torch.ones(40, 8, 8))], images)
    assert np.allclose(uniform["excess"], 0)
    on_object = relevance.per_image([maps_of(images.masks.float())], images)
    assert (on_object["share"] == 0).all() and (on_object["peak"] == 0).all()
    on_ground = relevance.per_image([maps_of((~images.masks).float())], images)
    assert (on_ground["share"] == 1).all() and (on_ground["peak"] == 1).all()


def test_empty_maps_are_counted_and_left_out(images):
    drawn = images.masks.float()
    drawn[::4] = 0
    drawn[2] = -1
    table = relevance.per_image([maps_of(drawn)], images)
    assert table["share"].isna().sum() == 11
    by_class = relevance.per_class(table).set_index("class")
    assert by_class["undefined"].tolist() == [11, 0]
    assert (by_class["share"] == 0).all()


def test_trainings_are_averaged_and_their_spread_is_in_the_interval(images):
    sides = [images.masks.float(), (~images.masks).float(), torch.ones(40, 8, 8)]
    table = relevance.per_image([maps_of(side) for side in sides], images)
    assert table["training"].value_counts().to_dict() == {0: 40, 1: 40, 2: 40}
    row = relevance.per_class(table).iloc[0]
    assert row["images"] == 20 and row["share"] == pytest.approx((0 + 1 + 0.75) / 3)
    ends = scipy.stats.ttest_1samp([-0.75, 0.25, 0], 0).confidence_interval()  # of the excess
    assert (row["excess_low"], row["excess_high"]) == pytest.approx(tuple(ends))


def test_a_class_without_any_relevance_has_no_number(images):
    drawn = images.masks.float()
    drawn[images.labels == 1] = 0
    row = relevance.per_class(relevance.per_image([maps_of(drawn)], images)).iloc[1]
    assert row["undefined"] == row["images"]
    assert np.isnan(row["share"]) and np.isnan(row["excess_low"])


def test_intervals_of_the_excess_cover_it_at_their_rate():
    """200 sets of 25 images whose share is known: a 95% interval misses in about 5%."""
    rng, misses = np.random.default_rng(0), 0
    for _ in range(200):
        share = rng.beta(8, 2, 25)
        table = pd.DataFrame({"image": range(25), "share": share, "excess": share - 0.7})
        table = table.assign(training=0, area=0.7, peak=1.0, **{"class": "a"})
        row = relevance.per_class(table).iloc[0]
        misses += not row["excess_low"] <= 0.1 <= row["excess_high"]
    assert misses <= 20  # P(more | rate .05) < .001


def test_refuses_images_without_masks_and_maps_of_others(images):
    with pytest.raises(ValueError, match="no masks"):
        relevance.per_image([maps_of(torch.ones(40, 8, 8))], image_set(n=40, masks=False))
    with pytest.raises(ValueError, match="not of images with masks"):
        relevance.per_image([maps_of(torch.ones(40, 4, 4))], images)


def test_examples_come_from_the_classs_own_context_first():
    images = image_set(n=20).where(np.arange(20) < 12)
    context = np.array(["wood", "park"])[images.labels.numpy()]  # each in the other's
    context[[8, 9]] = ["park", "wood"]
    images.table["context"] = context
    shown = relevance.examples(images, {"bench": "park", "mug": "wood"}, n=2)
    assert shown == [8, 0, 9, 1]
