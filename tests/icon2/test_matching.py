"""Matching and average precision against pycocotools and against plain loops."""

import numpy as np
import pandas as pd
import pytest
from detection_oracles import average_precision, greedy, plain_ap, pycocotools_ap, scene
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.icon2 import GroundTruth, match, matching
from helpers.icon2.average_precision import Cells, curves

needs_pycocotools = pytest.mark.skipif(
    not pytest.importorskip("importlib.util").find_spec("pycocotools"),
    reason="pycocotools is not installed (it is in the test extra)",
)


@needs_pycocotools
@pytest.mark.parametrize("seed", range(6))
def test_equals_pycocotools_on_whole_sets(seed):
    truth, detections = scene(seed, n_images=60, whole=seed % 2 == 0)
    found = average_precision(match(truth, detections))
    np.testing.assert_allclose(found, pycocotools_ap(truth, detections), atol=1e-9)


@needs_pycocotools
def test_a_detection_without_area_is_a_false_positive():
    truth, detections = scene(1, n_images=20)
    flat = detections.sample(30, random_state=0)
    flat = flat.assign(x2=flat.x1, score=0.99)
    more = pd.concat([detections, flat], ignore_index=True)
    found = average_precision(match(truth, more))
    np.testing.assert_allclose(found, pycocotools_ap(truth, more), atol=1e-9)
    assert found.mean() < average_precision(match(truth, detections)).mean()


@needs_pycocotools
@pytest.mark.parametrize("seed", range(4))
def test_equals_pycocotools_on_subsets_of_images(seed):
    truth, detections = scene(seed, n_images=60)
    matches = match(truth, detections)
    for group in "abc":
        images = (truth.images.group == group).to_numpy()
        expected = pycocotools_ap(truth, detections, images)
        np.testing.assert_allclose(average_precision(matches, images=images), expected, atol=1e-9)
        by_weight = average_precision(matches, weights=images.astype(float))
        np.testing.assert_allclose(by_weight, expected, atol=1e-9)


@given(seed=st.integers(0, 10_000), boxes=st.integers(1, 9), whole=st.booleans())
@settings(max_examples=25, deadline=None)
def test_matching_equals_one_detection_after_another(seed, boxes, whole):
    truth, detections = scene(seed, 4, boxes=boxes, crowd=0.2, digits=1, whole=whole)
    thresholds = (0.3, 0.5, 0.75)
    matches = match(truth, detections, thresholds)
    for t, threshold in enumerate(thresholds):
        expected = greedy(truth, detections, threshold)
        found = dict(zip(matches.detections.row, matches.taken[t], strict=True))
        assert found == expected


def cell_lists(matches, of_box, images, category, t, weights, of_detection=None, bucket=None):
    """Scored list of a cell, by looking at one detection after another."""
    scored = []
    listed = matches.detections
    for position, one in listed[listed.category == category].iterrows():
        row = matches.taken[t, position]
        if row >= 0 and of_box[row] and not matches.boxes.ignore[row]:
            scored.append((True, weights[int(one.image)]))
        counted = of_detection is None or of_detection[int(one.row)] == bucket
        if row < 0 and images[int(one.image)] and counted:
            scored.append((False, weights[int(one.image)]))
    return scored


@pytest.mark.parametrize("rule", ["hoiem", "coco"])
@pytest.mark.parametrize("interpolation", ["101 points", "all points"])
@pytest.mark.parametrize("seed", [0, 1])
def test_cells_of_boxes_equal_plain_loops(rule, interpolation, seed):
    truth, detections = scene(seed, 25, 1)
    matches = match(truth, detections, (0.4, 0.6))
    rng = np.random.default_rng(seed)
    of_class = matches.of("class 0")
    cell = rng.integers(-1, 3, len(truth.boxes))
    images = rng.random((25, 3)) < 0.8
    weights = rng.integers(0, 4, 25).astype(float)
    of_detection = rng.integers(0, 3, len(detections)) if rule == "coco" else None
    normal = np.array([20.0, 35.0, 50.0])
    chosen = Cells(
        cell[of_class.box_row],
        images,
        None if of_detection is None else of_detection[of_class.detection_row],
        np.arange(3) if rule == "coco" else None,
    )
    arranged = curves(of_class, chosen)
    for n in (None, normal):
        found = arranged.average_precision(weights, n, interpolation=interpolation)
        for c in range(3):
            kept = (cell == c) & ~truth.boxes.ignore.to_numpy()
            positives = weights[truth.boxes.image[kept]].sum()
            # a true positive counts wherever its box does, in images of the cell or not
            for t in range(2):
                scored = cell_lists(
                    matches, cell == c, images[:, c], 0, t, weights, of_detection, c
                )
                expected = plain_ap(
                    scored, positives, None if n is None else n[c], interpolation == "101 points"
                )
                assert found[c, t] == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_weights_are_copies(seed):
    truth, detections = scene(seed, 8, 1, digits=12)  # no ties: copies would break them otherwise
    times = np.random.default_rng(seed).integers(0, 3, 8)
    weighted = average_precision(match(truth, detections), weights=times.astype(float))
    copies = np.repeat(np.arange(8), times)

    def copied(table):
        parts = [table[table.image == old].assign(image=new) for new, old in enumerate(copies)]
        return pd.concat([table.iloc[:0], *parts], ignore_index=True)

    again = GroundTruth(truth.images.iloc[copies], copied(truth.boxes), truth.classes)
    found = average_precision(match(again, copied(detections)))
    np.testing.assert_allclose(weighted, found, atol=1e-9)


def test_only_the_strongest_detections_of_an_image_count(monkeypatch):
    monkeypatch.setattr(matching, "MAX_DETECTIONS", 3)
    truth, detections = scene(5, 10, boxes=12)
    matches = match(truth, detections)
    assert matches.detections.groupby(["image", "category"]).size().max() == 3
    kept = detections.loc[matches.detections.row]
    left = detections.drop(matches.detections.row)
    for key, low in kept.groupby(["image", "category"]).score.min().items():
        others = left[(left.image == key[0]) & (left.category == key[1])]
        assert (others.score <= low).all()


def test_no_detection_or_no_box_of_a_class():
    truth, detections = scene(7)
    nothing = detections.iloc[:0]
    assert (average_precision(match(truth, nothing)) == 0).all()
    bare = GroundTruth(truth.images, truth.boxes[truth.boxes.category == 0], truth.classes)
    found = average_precision(match(bare, detections))
    assert np.isnan(found[1]).all()
    assert found[0].mean() > 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"thresholds": (0.5, 1.2)}, "thresholds"), ({"box_width": "odd"}, "plain, plus one")],
)
def test_bad_settings_are_named(changed, message):
    truth, detections = scene(0, 5)
    with pytest.raises(ValueError, match=message):
        match(truth, detections, **changed)
