"""Readers of BDD100K and Scalabel files, and what they say of bad input."""

import json
from collections import Counter

import pytest
from detection_oracles import average_precision

from helpers.icon2 import brought, match
from helpers.icon2.reading import CORNERS, DetectionDataError, labels
from helpers.worlds.driving import CLASSES

BOX = {"x1": 10, "y1": 20, "x2": 40, "y2": 60}


def label(category="car", box=None, **more):
    return {"category": category, "box2d": box or BOX} | more


def frame(name="a.jpg", labels=(), **attributes):
    return {"name": name, "attributes": attributes, "labels": list(labels)}


def written(folder, content, name="labels.json"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read_labels(path):
    images, boxes = labels(path, notes := Counter())
    return images, boxes, [f"{n} {text}" for text, n in notes.items() if n]


FRAMES = [
    frame("a.jpg", [label(attributes={"occluded": True, "truncated": False})], weather="rainy"),
    frame("b.jpg", [label("person"), label("other vehicle"), label("dog")]),
]


def test_other_names_crowds_and_lanes_are_read(tmp_path):
    lane = {"category": "lane/single white", "poly2d": []}
    crowd = label("person", attributes={"crowd": True})
    objects = [label("bike"), label("motor"), crowd, lane]
    old = {"name": "a", "attributes": {"timeofday": "night"}, "labels": objects}
    images, boxes, report = read_labels(written(tmp_path, old))
    assert boxes.category.tolist() == ["bicycle", "motorcycle", "pedestrian"]
    assert boxes.ignore.tolist() == [False, False, True]
    assert images.timeofday.tolist() == ["night"]
    assert report == ["1 labels left out: they have no box (lanes, drivable areas)"]


def test_detections_are_joined_by_name_and_the_rest_is_counted(tmp_path):
    hits = [
        frame("b.jpg", [label(score=0.5, box=BOX | {"x2": 10}), label("dog", score=0.9)]),
        frame("elsewhere.jpg", [label(score=0.9)]),
    ]
    paths = written(tmp_path, FRAMES), written(tmp_path, hits, "found.json")
    frames = brought.brought(*paths, classes=CLASSES)
    columns = ["image", "category", "score"]
    assert frames.classes == ("car", "pedestrian")
    assert frames.detections[columns].to_numpy().tolist() == [[1, 0, 0.5]]
    assert frames.boxes["category"].tolist() == [0, 1, 0]
    assert frames.boxes["ignore"].tolist() == [False, False, True], "other vehicles"
    assert frames.boxes[CORNERS].to_numpy().tolist() == [[10, 20, 40, 60]] * 3
    for sentence in (
        "1 labelled images have no detection",
        "1 detections left out: their image has no labels",
        "1 detections left out: no box of their class is labelled (dog 1)",
        "1 boxes left out, not a class here, or regions to ignore only: dog 1",
        "1 detections have no area: they are false positives, as for COCO",
        "1 of 2 images have no value for 'weather'",
    ):
        assert sentence in frames.report


@pytest.mark.parametrize(("hit", "expected"), [("a", 1.0), ("b", 0.5)])
def test_ties_among_scores_are_broken_by_name_in_any_order_of_the_file(tmp_path, hit, expected):
    """As COCO's evaluator does, after Scalabel numbered the images by name."""
    away = BOX | {"x1": 300, "x2": 330}
    labelled = [frame(n, [label()] if n == hit else []) for n in "ab"]
    hits = [frame(n, [label(box=BOX if n == hit else away, score=0.5)]) for n in "ab"]
    for way in (1, -1):
        paths = written(tmp_path, labelled[::way]), written(tmp_path, hits[::way], "found.json")
        frames = brought.brought(*paths)
        assert frames.images["name"].tolist() == ["a", "b"]
        assert average_precision(match(frames))[0] == pytest.approx(expected)


def test_attributes_do_not_override_fields_and_what_holds_no_frame_is_refused(tmp_path):
    own = {"category": "bus", "image": 7, "x1": 99, "ignore": True, "occluded": True}
    frames = [frame("a.jpg", [label(attributes=own)]) | {"attributes": {"name": "b.jpg"}}]
    images, boxes, notes = read_labels(written(tmp_path, frames))
    assert images.name.tolist() == ["a.jpg"]
    assert notes == ["5 attributes left out: they are named as a field of the image or box"]
    assert boxes[["image", "category", "x1", "ignore", "occluded"]].to_numpy().tolist() == [
        [0, "car", 10, False, True]
    ]
    for content in ([], {"rows": []}, [1]):
        with pytest.raises(DetectionDataError, match=r"labels.json: it is no COCO file"):
            read_labels(written(tmp_path, content))
    with pytest.raises(DetectionDataError, match=r"entry 0 \({'name': 'a'.*'y1' is missing"):
        read_labels(written(tmp_path, [frame("a", [label(box={"x1": 1})])]))
    with pytest.raises(DetectionDataError, match="no such file"):
        read_labels(tmp_path / "absent.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DetectionDataError, match=r"holds no \.json file"):
        read_labels(tmp_path / "empty")
