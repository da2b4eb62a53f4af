"""Matching and average precision against pycocotools and against plain loops."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from detection_oracles import average_precision, greedy, pycocotools_ap, scene
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.icon2 import Frames, match, matching


@pytest.mark.parametrize("seed", range(6))
def test_equals_pycocotools_on_whole_sets_and_subsets_of_images(seed):
    world = scene(seed, n_images=60, whole=seed % 2 == 0)
    matches = match(world)
    np.testing.assert_allclose(
        average_precision(matches), pycocotools_ap(world), atol=1e-15
    )
    images = (world.images.group == "a").to_numpy()
    expected = pycocotools_ap(world, images)
    np.testing.assert_allclose(
        average_precision(matches, images=images), expected, atol=1e-15
    )
    by_weight = average_precision(matches, weights=images.astype(float))
    np.testing.assert_allclose(by_weight, expected, atol=1e-15)


def test_a_detection_without_area_is_a_false_positive():
    world = scene(1, n_images=20)
    flat = world.detections.sample(30, random_state=0)
    flat = flat.assign(x2=flat.x1, score=0.99)
    more = replace(
        world, detections=pd.concat([world.detections, flat], ignore_index=True)
    )
    ap = average_precision(match(more))
    np.testing.assert_allclose(ap, pycocotools_ap(more), atol=1e-15)
    assert ap.mean() < average_precision(match(world)).mean()


@given(seed=st.integers(0, 10_000), boxes=st.integers(1, 9), whole=st.booleans())
@settings(max_examples=25, deadline=None)
def test_matching_equals_one_detection_after_another(seed, boxes, whole):
    world = scene(
        seed,
        4,
        boxes=boxes,
        crowd=0.2,
        digits=1,
        whole=whole,
    )
    thresholds = (0.3, 0.5, 0.75)
    matches = match(world, thresholds)
    for t, threshold in enumerate(thresholds):
        taken = dict(zip(matches.detections.row, matches.taken[t], strict=True))
        assert taken == greedy(world, threshold)


@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_weights_are_copies(seed):
    world = scene(
        seed,
        8,
        1,
        digits=12,
    )  # no ties: copies would break them otherwise
    times = np.random.default_rng(seed).integers(0, 3, 8)
    weighted = average_precision(match(world), weights=times.astype(float))
    copies = np.repeat(np.arange(8), times)

    def copied(table):
        parts = [
            table[table.image == old].assign(image=new)
            for new, old in enumerate(copies)
        ]
        return pd.concat([table.iloc[:0], *parts], ignore_index=True)

    images = world.images.iloc[copies]
    boxes = copied(world.boxes)
    again = Frames(
        images,
        boxes,
        copied(world.detections),
        world.classes,
    )
    np.testing.assert_allclose(weighted, average_precision(match(again)), atol=1e-9)


def test_only_the_strongest_detections_of_an_image_count(monkeypatch):
    monkeypatch.setattr(matching, "MAX_DETECTIONS", 3)
    world = scene(5, 10, boxes=12)
    fewer = world.boxes.groupby(["image", "category"]).head(3).reset_index(drop=True)
    world = replace(world, boxes=fewer)
    rows = match(world).detections.row
    assert world.detections.loc[rows].groupby(["image", "category"]).size().max() == 3
    left = world.detections.drop(rows).groupby(["image", "category"]).score.max()
    kept = world.detections.loc[rows].groupby(["image", "category"]).score.min()
    assert (kept[left.index] >= left).all()


def test_all_detections_count_where_an_image_has_more_boxes_than_the_limit(monkeypatch):
    monkeypatch.setattr(matching, "MAX_DETECTIONS", 3)
    world = scene(5, 10, boxes=12)
    assert world.boxes.groupby(["image", "category"]).size().max() > 3
    assert len(match(world).detections) == len(world.detections)


def test_no_detection_and_no_box_of_a_class():
    world = scene(7)
    nothing = replace(world, detections=world.detections.iloc[:0])
    assert (average_precision(match(nothing)) == 0).all()
    bare = replace(world, boxes=world.boxes[world.boxes.category == 0])
    ap = average_precision(match(bare))
    assert np.isnan(ap[1]).all()
    assert ap[0].mean() > 0
