"""Readers of BDD100K and Scalabel files, and what they say of bad input."""

import json

import pytest
from detection_oracles import average_precision

from helpers.icon2 import Frames, match
from helpers.icon2.reading import CORNERS, DetectionDataError, read_detections, read_labels
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


FRAMES = [
    frame("a.jpg", [label(attributes={"occluded": True, "truncated": False})], weather="rainy"),
    frame("b.jpg", [label("person"), label("other vehicle"), label("dog")]),
]


@pytest.mark.parametrize("kind", ["list", "object", "folder"])
def test_reads_every_layout(tmp_path, kind):
    path = tmp_path
    if kind == "folder":
        for one in FRAMES:
            written(tmp_path, one, f"{one['name']}.json")
    else:
        path = written(tmp_path, FRAMES if kind == "list" else {"frames": FRAMES})
    images, boxes, report = read_labels(path)
    assert images.name.tolist() == ["a.jpg", "b.jpg"]
    assert [CLASSES[c] for c in boxes.category] == ["car", "pedestrian", "car"]
    assert boxes.ignore.tolist() == [False, False, True]
    assert boxes[CORNERS].to_numpy().tolist() == [[10, 20, 40, 60]] * 3
    assert boxes.occluded[0]
    assert "1 boxes left out, not a class here: dog 1" in report
    assert "1 of 2 images have no value for 'weather'" in report


def test_reads_the_older_style_crowds_and_lanes(tmp_path):
    lane = {"category": "lane/single white", "poly2d": []}
    crowd = label("person", attributes={"crowd": True})
    objects = [label("bike"), label("motor"), crowd, lane]
    old = {"name": "a", "attributes": {"timeofday": "night"}, "frames": [{"objects": objects}]}
    images, boxes, report = read_labels(written(tmp_path, old))
    assert [CLASSES[c] for c in boxes.category] == ["bicycle", "motorcycle", "pedestrian"]
    assert boxes.ignore.tolist() == [False, False, True]
    assert images.timeofday.tolist() == ["night"]
    assert report == ["1 labels left out: they have no box (lanes, drivable areas)"]


def test_detections_are_joined_by_name_and_the_rest_is_counted(tmp_path):
    images, _, _ = read_labels(written(tmp_path, FRAMES))
    found = [
        frame("b.jpg", [label(score=0.5, box=BOX | {"x2": 10}), label("dog", score=0.9)]),
        frame("elsewhere.jpg", [label(score=0.9)]),
    ]
    detections, report = read_detections(written(tmp_path, found, "found.json"), images)
    assert detections[["image", "category", "score"]].to_numpy().tolist() == [[1, 0, 0.5]]
    assert report == [
        "1 labelled images have no entry in the predictions: taken as no detection",
        "1 detections left out: their image has no labels",
        "1 detections left out, not a class here: dog 1",
        "1 detections have no area: they are false positives, as COCO counts them",
    ]


@pytest.mark.parametrize(("hit", "expected"), [("a", 1.0), ("b", 0.5)])
def test_ties_among_scores_are_broken_by_name_in_any_order_of_the_file(tmp_path, hit, expected):
    """As COCO's evaluator does, after Scalabel numbered the images by name."""
    away = BOX | {"x1": 300, "x2": 330}
    labels = [frame(n, [label()] if n == hit else []) for n in "ab"]
    found = [frame(n, [label(box=BOX if n == hit else away, score=0.5)]) for n in "ab"]
    for way in (1, -1):
        images, boxes, _ = read_labels(written(tmp_path, labels[::way]))
        assert images.name.tolist() == ["a", "b"]
        detections, _ = read_detections(written(tmp_path, found[::way], "found.json"), images)
        frames = Frames(images, boxes, detections, CLASSES)
        assert average_precision(match(frames))[0] == pytest.approx(expected)


def test_attributes_do_not_override_fields(tmp_path):
    own = {"category": "bus", "image": 7, "x1": 99, "ignore": True, "occluded": True}
    frames = [frame("a.jpg", [label(attributes=own)]) | {"attributes": {"name": "b.jpg"}}]
    images, boxes, said = read_labels(written(tmp_path, frames))
    assert images.name.tolist() == ["a.jpg"]
    assert said == ["5 attributes left out: they are named as a field of the frame or box"]
    assert boxes[["image", "category", "x1", "ignore", "occluded"]].to_numpy().tolist() == [
        [0, 0, 10, False, True]
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            [frame("c.jpg", [label(score=0.5)]), frame("d.jpg")],
            "none of its 2 images is labelled. Its",
        ),
        ([frame("a.jpg")], "no detection is left of labelled images"),
        ([frame("a.jpg", [label("dog", score=1)])], "not a class here: dog 1"),
        ([frame("a.jpg", [label(score=0.5), label()])], "frame 0 .*label 1: 'score' is missing"),
        ([frame("a.jpg", [label(score="high")])], "frame: 0, labels, 0, score: .*number"),
        ([frame("a.jpg", [label(score=1, box=BOX | {"x2": 5})])], "is inverted or empty; correct"),
    ],
)
def test_unusable_detections_are_refused_with_their_place(tmp_path, content, message):
    images, _, _ = read_labels(written(tmp_path, FRAMES))
    with pytest.raises(DetectionDataError, match=f"found.json.*{message}"):
        read_detections(written(tmp_path, content, "found.json"), images)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "labels.json: holds no frame"),
        ({"images": []}, "holds no frame; it is a list of frames"),
        ([1], "frame: 0: .* valid dictionary"),
        ([frame("a.jpg"), frame("b.jpg"), frame("a.jpg")], "labels.json: 'a.jpg' occurs 2 times"),
        ([frame("a", [{"category": "car", "box2d": {"x1": 1}}])], "0, labels, 0, box2d, y1: Field"),
        ([frame("a", [label(box=BOX | {"y2": 20})])], "is inverted or empty"),
    ],
)
def test_unusable_labels_are_refused_with_their_place(tmp_path, content, message):
    with pytest.raises(DetectionDataError, match=message):
        read_labels(written(tmp_path, content))
    with pytest.raises(DetectionDataError, match="no such file"):
        read_labels(tmp_path / "absent.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DetectionDataError, match=r"holds no \.json file"):
        read_labels(tmp_path / "empty")
