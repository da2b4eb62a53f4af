"""The planted driving world keeps its stated law."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import store
from helpers.icon2 import Frames, match
from helpers.worlds import driving
from helpers.worlds.driving import Law
from helpers.worlds.driving import law as stated
from sweeps import detection_law, driving_worlds


@pytest.fixture(scope="module")
def plain():
    return Frames(*driving.make(4000, 0))


def found(world):
    """Boxes with their image's columns, whether a detection takes them at IoU 0.5, and `hard`."""
    side = np.sqrt((world.boxes.x2 - world.boxes.x1) * (world.boxes.y2 - world.boxes.y1))
    hit = np.isin(np.arange(len(world.boxes)), match(world, (0.5,)).taken[0])
    of_image = world.images.iloc[world.boxes.image].reset_index(drop=True)
    return pd.concat([world.boxes.assign(found=hit, small=side < 32), of_image], axis=1)


def test_proportions_are_those_of_bdd100k(plain):
    boxes = plain.boxes
    assert len(boxes) / 4000 == pytest.approx(18, rel=0.03)
    shares = boxes.category.value_counts(normalize=True)
    for number, name in enumerate(plain.classes):
        expected = stated.SHARES[name]
        assert shares[number] == pytest.approx(expected, rel=0.15 if expected > 0.01 else 0.4)
    assert plain.images.income.value_counts().tolist() == [1334, 1333, 1333]
    for table in (boxes, plain.detections):
        assert (table.x2 > table.x1).all() and (table.y2 > table.y1).all()
    assert boxes[["x1", "y1"]].min().min() >= 0
    assert (boxes.x2.max() <= 1280) and (boxes.y2.max() <= 720)


def test_the_measured_law_is_found_again_in_a_world_drawn_from_it():
    recorded = pd.read_csv(driving.drive.MEASURED).set_index(["class", "outcome", "term"])["value"]
    world = Frames(*driving.make(3000, 2, classes=("car", "pedestrian")))
    place = ["image", "category", *driving.drive.CORNERS]  # one false positive in 3,000 is a hit
    false = pd.MultiIndex.from_frame(world.detections[place]).isin(
        pd.MultiIndex.from_frame(world.boxes[place])
    )
    kept = world.detections[~false].reset_index(drop=True)
    found = detection_law.law(replace(world, detections=kept))
    found = found.set_index(["class", "outcome", "term"])
    off = (found["value"] - recorded[found.index]).abs()
    assert (off < 4 * found["error"].fillna(0) + 0.3).all()


@pytest.mark.parametrize("confounder", driving.CONFOUNDERS)
def test_confounding_moves_its_attribute_and_not_detection(confounder):
    table = found(Frames(*driving.make(3000, 1, Law(0.7, confounder), ("car",))))
    hard = {
        "size": table.small,
        "occlusion": table.occluded,
        "time": table.timeofday == "night",
        "weather": table.weather.isin(["rainy", "snowy"]),
        "scene": table.scene == "city street",
    }
    for name, flag in hard.items():
        share = flag.groupby(table.income, observed=True).mean()
        if name == confounder:
            assert share["low"] > share["middle"] > share["high"]
        else:
            assert share.max() - share.min() < 0.06
    # what the law makes alike stays alike
    alike = table[~table.occluded & ~table.small & (table.timeofday == "daytime")]
    by_income = alike[alike.weather == "clear"].groupby("income", observed=True).found.mean()
    if confounder != "size":
        assert by_income.max() - by_income.min() < 0.04


def test_an_unknown_confounder_is_named():
    with pytest.raises(ValueError, match="allowed: size, occlusion"):
        Law(confounder="colour")


@pytest.mark.parametrize(("seed", "reading"), [(3, "Eq. 3"), (8, "N and F per image")])
def test_recorded_worlds_come_out_the_same(seed, reading):
    """All kinds of world of a seed, with size alone as their cause."""
    new = driving_worlds.ask([seed], reading, confounders=("size",))
    known = pd.read_csv(store.root() / "data/driving_worlds.csv")
    known = known.query("seed == @seed and reading == @reading and confounder in ['none', 'size']")
    assert len(new) == 25
    pd.testing.assert_frame_equal(new, known.reset_index(drop=True), check_dtype=False, rtol=1e-12)
