"""The rendered street: its pictures, its boxes, its files, and the division of a gap."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import store
from helpers.icon2 import attributes, intervention
from helpers.icon2.attributes import Frames
from helpers.icon2.intervention import CELLS, RARE
from helpers.worlds.driving import street
from sweeps import detection_law, streets


@pytest.fixture(scope="module")
def scene():
    """Thirty frames of clear days."""
    frames, things = street.scenes(30, 3, 1.0)
    return frames.assign(timeofday="daytime", weather="clear"), street.dressed(frames, things, 0.5)


def changed(images, others):
    """Pixels (N, 160, 320) that differ."""
    return (images != others).any(axis=1)


def test_the_visible_share_is_that_of_the_pictures(scene):
    frames, things = scene
    images, boxes = street.render(frames, things)
    empty, _ = street.render(frames, things.iloc[:0])
    checked = 0
    for row in boxes[boxes["y2"] - boxes["y1"] > 16].itertuples():
        here = things[things["frame"] == row.image]
        one = here.index[here["distance"] == row.distance]
        given = frames.iloc[[row.image]]
        alone, _ = street.render(given, here.loc[one].assign(frame=0))
        without, _ = street.render(given, here.drop(one).assign(frame=0))
        whole = changed(alone, empty[[row.image]])[0]
        seen = changed(images[[row.image]], without)[0]
        assert seen.sum() / whole.sum() == pytest.approx(row.visible, abs=0.12)  # soft edges
        y, x = np.nonzero(whole)
        assert row.x1 <= x.min() and x.max() < row.x2  # a walker's arms do not reach the sides
        assert np.ptp(x) > 0.5 * (row.x2 - row.x1 - 1)
        np.testing.assert_allclose([y.min(), y.max() + 1], [row.y1, row.y2], atol=1)
        checked += row.visible < 0.9
    assert checked > 3


def test_boxes_lie_inside_and_a_seed_gives_the_same(scene):
    images, boxes = street.render(*scene)
    again, same = street.render(*scene)
    assert (images == again).all() and boxes.equals(same)
    assert (boxes[["x1", "y1"]] >= 0).all(axis=None)
    assert (boxes["x2"] <= street.WIDTH).all() and (boxes["y2"] <= street.HEIGHT).all()
    assert boxes["visible"].between(street.SEEN, 1).all()
    assert boxes["occluded"].any()


def test_other_looks_change_the_things_that_have_them_and_nothing_else(scene):
    frames, things = scene
    empty, _ = street.render(frames, things.iloc[:0])
    pictures, own = [], []
    for share in (0, 1):
        dressed = street.dressed(frames, things, share)
        has_two = dressed["kind"].isin(street.TWO_LOOKS)
        assert (dressed["look"] == share * has_two).all()
        pictures.append(street.render(frames, dressed)[0])
        own.append(changed(street.render(frames, dressed[has_two])[0], empty))
    moved = changed(*pictures)
    assert moved.any() and not (moved & ~(own[0] | own[1])).any()


def test_harder_scenes_are_farther_fuller_and_darker_where_income_is_low():
    for harder, differ in ((0.0, False), (1.0, True)):
        frames, things = street.scenes(3000, 0, harder)
        income = frames["income"].astype(str)
        of_thing = income.iloc[things["frame"]].to_numpy()
        far = things["distance"].groupby(of_thing).median()
        number = things.groupby(of_thing).size()
        dark = (frames["timeofday"] == "night").groupby(income).mean()
        for low_to_high in (far, number, dark):
            assert (low_to_high["low"] / low_to_high["high"] > 1.15) == differ
    share = street.dressed(frames, things, RARE).query("kind == 'car'")
    by = share["look"].groupby(income.iloc[share["frame"]].to_numpy()).mean()
    np.testing.assert_allclose(by[["low", "middle", "high"]], RARE, atol=0.03)


@pytest.fixture(scope="module")
def perfect(scene):
    """The frames with a detector that finds every box exactly."""
    boxes = street.render(*scene)[1]
    found = boxes[["image", "category", "x1", "y1", "x2", "y2"]].assign(score=0.9)
    return Frames(scene[0], boxes, found, street.KINDS)


def test_a_gap_is_divided_as_it_was_put_together():
    scenes, looks, both = 8.0, 5.0, 2.0  # what both together add is halved
    state = {"low": 0, "high": 1, "own": 0, "other": 1}
    ap = []
    for cell in CELLS:
        group, whose = cell.split(", ")
        easy, common = state[group], state[group] ^ state[whose]
        ap.append(50 + scenes * easy + looks * common + both * easy * common)
    found = intervention.divided(np.array([ap]))
    assert found["gap"] == 15 and found["scenes"] == 9 and found["looks"] == 6


def test_a_perfect_detector_has_no_gap(perfect):
    ap = intervention.swapped(perfect, perfect, resamples=3)["car"]
    np.testing.assert_allclose(ap[0], 1)
    assert all(np.ptp(part) < 1e-9 for part in intervention.divided(ap).values())


def test_two_attributes_are_crossed_box_by_box(perfect):
    known = [attributes.from_column(perfect, name) for name in ("income", "look")]
    both = streets.crossed(perfect, *known)
    income = perfect.images["income"].iloc[perfect.boxes["image"]].astype(str)
    expected = [f"{a}, {b}" for a, b in zip(income, perfect.boxes["look"], strict=True)]
    assert [both.values[code] for code in both.codes] == expected


def test_what_is_found_is_counted_by_value(perfect):
    world = perfect
    cars = world.boxes[world.boxes["category"] == street.KINDS.index("car")]
    lost = cars.index[cars["occluded"]]
    found = replace(world, detections=world.detections.drop(lost).reset_index(drop=True))
    table = detection_law.compared({"one": found}).query("`class` == 'car'")
    table = table.set_index(["attribute", "value"])
    assert table["share"]["occlusion", "occluded"] == 0
    assert table["share"]["occlusion", "visible"] == 1
    assert (table["of"].groupby("attribute").sum() == len(cars)).all()


def test_fifths_are_of_each_class(perfect):
    fifth = streets.fifths(perfect)
    counts = pd.crosstab(perfect.boxes["category"], fifth.codes).to_numpy()
    assert counts.shape[1] == 5 and (np.ptp(counts, axis=1) <= 0.2 * counts.sum(1) + 1).all()


def test_an_analysis_is_scored_against_the_intervention():
    truth = pd.DataFrame({"scenes": [0.0, 1, 4, 8], "scenes_low": [-1.0, -1, 2, 5]})
    known = truth.assign(**{name: truth["scenes"] + 1 for name in streets.ANALYSES})
    for end, by in (("low", -1), ("high", [2, 2, 2, -0.5])):
        known = known.assign(**{f"{name}_{end}": truth["scenes"] + by for name in streets.ANALYSES})
    table = intervention.scores(known).set_index("analysis")
    assert (table["error"] == 1).all() and (table["within"] == 0.75).all()
    assert (table["bound"] == 2).all() and (table["right"] == 1).all(), "parts are 1, 2, 5 and 9"
    given = intervention.scores(known, dict.fromkeys(streets.ANALYSES, 7.0))
    assert (given["right"] == 0.75).all()


def test_the_record_holds_every_world_and_its_parts_sum_to_the_gap():
    table = pd.read_csv(store.root() / "data" / "streets.csv")
    worlds = table.groupby(["harder", "rare"])
    assert set(worlds.groups) == set(streets.WORLDS)
    assert (worlds.size() == 2 * len(street.KINDS)).all()
    np.testing.assert_allclose(table["scenes"] + table["looks"], table["gap"], atol=0.0021)
    # signs and trucks have one look: whatever is planted, looks move them by a point or two at most
    assert table.loc[~table["class"].isin(street.TWO_LOOKS), "looks"].abs().max() < 2.5
