"""The planted driving world keeps its stated law."""

import numpy as np
import pandas as pd
import pytest

from helpers.icon2 import GroundTruth, match
from helpers.worlds import driving
from helpers.worlds.driving import Law
from helpers.worlds.driving import law as stated


@pytest.fixture(scope="module")
def plain():
    return driving.make(4000, 0)


def found(world):
    """Share of boxes that some detection takes at IoU 0.5, as a column of the boxes."""
    taken = match(GroundTruth.of(world), world.detections, (0.5,)).taken[0]
    hit = np.zeros(len(world.boxes), bool)
    hit[taken[taken >= 0]] = True
    of_image = world.images.iloc[world.boxes.image].reset_index(drop=True)
    return pd.concat([world.boxes.assign(found=hit), of_image], axis=1)


def test_proportions_are_those_of_bdd100k(plain):
    boxes = plain.boxes
    assert len(boxes) / 4000 == pytest.approx(18, rel=0.03)
    assert len(plain.detections) / 4000 == pytest.approx(30, rel=0.1)
    shares = boxes.category.value_counts(normalize=True)
    for number, name in enumerate(plain.classes):
        expected = stated.SHARES[name]
        assert shares[number] == pytest.approx(expected, rel=0.15 if expected > 0.01 else 0.4)
    assert plain.images.income.value_counts().tolist() == [1334, 1333, 1333]


def test_boxes_are_boxes(plain):
    for table in (plain.boxes, plain.detections):
        assert (table.x2 > table.x1).all()
        assert (table.y2 > table.y1).all()
    assert plain.detections.score.between(0, 1).all()
    labelled = plain.boxes
    assert labelled[["x1", "y1"]].min().min() >= 0
    assert (labelled.x2.max() <= 1280) and (labelled.y2.max() <= 720)


def test_what_the_law_says_changes_recall(plain):
    table = found(plain)
    side = np.sqrt((table.x2 - table.x1) * (table.y2 - table.y1))
    by_size = table.found.groupby(pd.cut(side, [0, 32, 96, 999]), observed=True).mean().tolist()
    assert by_size == sorted(by_size)
    assert table.found[~table.occluded].mean() > table.found[table.occluded].mean() + 0.1
    by_time = table.groupby("timeofday", observed=True).found.mean()
    assert by_time["daytime"] > by_time["night"] + 0.04
    by_scene = table.groupby("scene", observed=True).found.mean()
    assert by_scene.max() - by_scene.min() < 0.02, "the scene changes nothing"


def test_false_positives_come_more_at_night(plain):
    taken = match(GroundTruth.of(plain), plain.detections, (0.5,))
    wrong = taken.detections.image[taken.taken[0] < 0]
    per_image = np.bincount(wrong, minlength=4000)
    night = (plain.images.timeofday == "night").to_numpy()
    assert per_image[night].mean() > 1.1 * per_image[~night].mean()


def test_without_knobs_income_means_nothing(plain):
    table = found(plain)
    by_income = table.groupby("income", observed=True).found.mean()
    assert by_income.max() - by_income.min() < 0.015


@pytest.mark.parametrize("confounder", driving.CONFOUNDERS)
def test_confounding_moves_its_attribute_and_not_detection(confounder):
    world = driving.make(3000, 1, Law(0.7, confounder), ("car",))
    table = found(world)
    side = np.sqrt((table.x2 - table.x1) * (table.y2 - table.y1))
    table["small"] = side < 32
    hard = {
        "size": table.small,
        "occlusion": table.occluded,
        "time": table.timeofday == "night",
        "weather": table.weather.isin(["rainy", "snowy"]),
    }
    for name, flag in hard.items():
        share = flag.groupby(table.income, observed=True).mean()
        if name == confounder:
            assert share["low"] > share["middle"] > share["high"]
        else:
            assert share.max() - share.min() < 0.06
    # what the law makes alike stays alike
    alike = table[~table.occluded & ~table.small & (table.timeofday == "daytime")]
    alike = alike[(alike.weather == "clear")]
    if confounder != "size":
        by_income = alike.groupby("income", observed=True).found.mean()
        assert by_income.max() - by_income.min() < 0.04


def test_light_is_that_of_the_hour_and_contrast_is_low_in_the_dark(plain):
    light, contrast = driving.light(plain.images, plain.boxes)
    night = (plain.images.timeofday == "night").to_numpy()
    assert light[night].mean() == pytest.approx(stated.LIGHT["night"], abs=0.01)
    assert light.min() > 0 and light.max() < 1
    dark = night[plain.boxes.image]
    assert contrast[dark].mean() < contrast[~dark].mean() / 2


def test_a_seed_gives_one_world():
    one, again, other = (driving.make(50, s) for s in (1, 1, 2))
    pd.testing.assert_frame_equal(one.boxes, again.boxes)
    pd.testing.assert_frame_equal(one.detections, again.detections)
    assert not one.boxes.equals(other.boxes)


def test_bad_knobs_are_named():
    with pytest.raises(ValueError, match="allowed: size, occlusion"):
        Law(confounder="colour")
    with pytest.raises(ValueError, match="three or more"):
        driving.make(2)
    with pytest.raises(ValueError, match="dog"):
        driving.make(10, classes=("dog",))
