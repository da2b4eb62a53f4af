"""Test the pictures and boxes of street scenes, and the division of a gap."""

import numpy as np
import pandas as pd
import pytest

from helpers.icon2 import formulas
from helpers.icon2.attributes import Frames
from helpers.icon2.streets import SIDES
from sweeps import rules, streets
from sweeps.appearances import CELLS, ap_by_appearance
from synthetic import street, street_causes


@pytest.fixture(scope="module")
def scene():
    """Thirty frames of clear days."""
    frames, things = street.scenes(30, 3, 1.0)
    return frames.assign(timeofday="daytime", weather="clear"), street.dressed(
        frames, things, 0.5
    )


def changed(images, others):
    """Pixels (N, 160, 320) that differ."""
    return (images != others).any(axis=1)


def test_boxes_lie_inside_and_their_visible_share_is_that_of_the_pictures(scene):
    frames, things = scene
    images, boxes = street.render(frames, things)
    empty, _ = street.render(frames, things.iloc[:0])
    checked = 0
    for row in boxes[boxes["y2"] - boxes["y1"] > 16].itertuples():
        here = things[things["frame"] == row.image].assign(frame=0)
        is_thing = here["distance"] == row.distance
        frame = frames.iloc[[row.image]]
        alone, _ = street.render(frame, here[is_thing])
        without, _ = street.render(frame, here[~is_thing])
        whole = changed(alone, empty[[row.image]])[0]
        seen = changed(images[[row.image]], without)[0]
        visible = seen.sum() / whole.sum()
        assert visible == pytest.approx(row.visible, abs=0.12)  # soft edges
        y, x = np.nonzero(whole)
        # a walker's arms do not reach the sides
        assert row.x1 <= x.min()
        assert x.max() < row.x2
        assert np.ptp(x) > 0.5 * (row.x2 - row.x1 - 1)
        assert y.min() == pytest.approx(row.y1, abs=1)
        assert y.max() + 1 == pytest.approx(row.y2, abs=1)
        checked += row.visible < 0.9
    assert checked > 3
    assert boxes["occluded"].any()
    assert boxes["visible"].between(0.25, 1).all()
    assert boxes["x1"].min() >= 0
    assert boxes["y1"].min() >= 0
    assert boxes["x2"].max() <= street.WIDTH
    assert boxes["y2"].max() <= street.HEIGHT


def test_the_other_appearance_changes_its_own_things_and_nothing_else(scene):
    frames, things = scene
    empty, _ = street.render(frames, things.iloc[:0])
    pictures = []
    own = []
    for share in (0, 1):
        dressed = street.dressed(frames, things, share)
        has_two = dressed["kind"].isin(street.TWO_APPEARANCES)
        assert (dressed["appearance"] == share * has_two).all()
        pictures.append(street.render(frames, dressed)[0])
        own.append(changed(street.render(frames, dressed[has_two])[0], empty))
    moved = changed(*pictures)
    assert moved.any()
    assert not (moved & ~(own[0] | own[1])).any()


@pytest.fixture(scope="module")
def perfect(scene):
    """Return the frames with a detector that detects every box exactly."""
    boxes = street.render(*scene)[1]
    hits = boxes[["image", "category", "x1", "y1", "x2", "y2"]].assign(score=0.9)
    return Frames(scene[0], boxes, hits, street.KINDS, sides=SIDES)


def test_a_gap_is_divided_as_it_was_put_together():
    scenes = 8.0
    appearance = 5.0
    both = 2.0  # the effect of both together is halved
    ap = []
    for cell in CELLS:
        group, appearances = cell.split(", ")
        easy = group == "high"
        common = easy == (appearances == "own")
        points = 50 + scenes * easy
        points += appearance * common
        points += both * easy * common
        ap.append(points)
    parts = formulas.divided(np.array([ap]))
    assert parts["gap"] == 15
    assert parts["scenes"] == 9
    assert parts["appearance"] == 6


def test_the_gap_of_a_perfect_detector_has_no_parts(perfect):
    ap = ap_by_appearance(perfect, perfect, resamples=3)["car"]
    np.testing.assert_allclose(ap[0], 100)
    assert all(np.ptp(part) < 1e-9 for part in formulas.divided(ap).values())


def test_combinations_are_made_box_by_box_and_fifths_are_of_each_class(perfect):
    boxes = streets.with_combinations(perfect).boxes
    fifth = boxes["fifths of size, time, occlusion"].str.split(", ").str[0]
    counts = pd.crosstab(boxes["category"], fifth).to_numpy()
    assert counts.shape[1] == 5
    assert (np.ptp(counts, axis=1) <= 0.2 * counts.sum(1) + 1).all()
    for box in boxes.to_dict("records"):
        time = perfect.images["timeofday"][box["image"]]
        # frames of 320 pixels are compared with BDD100K's of 1,280
        side = 4 * np.sqrt((box["x2"] - box["x1"]) * (box["y2"] - box["y1"]))
        size = "small" if side < 32 else "medium" if side < 96 else "large"
        assert box["size, time, occlusion"] == f"{size}, {time}, {box['occluded']}"


@pytest.mark.parametrize("cause", [*street_causes.STRENGTHS, "scene"])
def test_a_cause_moves_its_attribute_and_nothing_else(cause):
    """Compare with the same seed without a cause."""
    strength = street_causes.STRENGTHS.get(cause, 1.5)
    frames, things = street_causes.scenes(
        900,
        3,
        cause,
        strength,
    )
    plain, alike = street_causes.scenes(
        900,
        3,
        "none",
        0.0,
    )
    names = {"time": "timeofday", "size": "distance", "occlusion": "aside"}
    column = names.get(cause, cause)
    for new, old in ((frames, plain), (things, alike)):
        pd.testing.assert_frame_equal(
            new.drop(columns=column, errors="ignore"),
            old.drop(columns=column, errors="ignore"),
        )
    if cause == "size":
        has_cause = things["distance"] > 25
    elif cause == "occlusion":
        has_cause = things["aside"] != alike["aside"]
    else:
        usual = {"time": "daytime", "scene": "residential", "weather": "clear"}
        has_cause = frames[column] != usual[cause]
    income = frames["income"]
    if cause in ("size", "occlusion"):
        income = income.iloc[things["frame"]].reset_index(drop=True)
    low, middle, high = has_cause.groupby(income, observed=True).mean()
    assert low > middle + 0.01 > high + 0.02


def test_effects_within_groups_are_those_of_a_sum():
    """Group and value add up, and groups have the values in other shares; one cell is
    unknown.
    """
    effect = np.array([0.0, 0.1, 0.3])
    of_group = np.array([0.2, 0.5])
    ap = effect[:, None] + of_group
    ap[1, 0] = np.nan
    boxes = np.array([[90.0, 10], [5, 40], [5, 50]])
    cells = pd.DataFrame(
        {
            "value": np.repeat(["a", "b", "c"], 2),
            "group": ["low", "high"] * 3,
            "AP": ap.ravel(),
            "boxes": boxes.ravel(),
        }
    )
    within = rules.effects_within_groups(cells)
    np.testing.assert_allclose(within - within[0], effect, atol=1e-12)
