"""Readers of BDD100K, Scalabel and COCO files, and what they say of bad input."""

import json

import numpy as np
import pytest

from helpers.detection import (
    DetectionDataError,
    as_coco,
    read_bdd,
    read_coco,
    read_predictions,
    read_results,
    read_tags,
)
from helpers.detection.data import CORNERS

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


def as_lines(frames):
    return "\n".join(json.dumps(one) for one in frames) + "\n"


def one_file_a_frame(folder, frames):
    (folder / "each").mkdir()
    for one in frames:
        written(folder / "each", one, f"{one['name']}.json")
    return folder / "each"


@pytest.mark.parametrize("kind", ["list", "object", "lines", "folder"])
def test_reads_every_layout(tmp_path, kind):
    path = {
        "list": lambda: written(tmp_path, FRAMES),
        "object": lambda: written(tmp_path, {"frames": FRAMES}),
        "lines": lambda: written(tmp_path, as_lines(FRAMES), "labels.jsonl"),
        "folder": lambda: one_file_a_frame(tmp_path, FRAMES),
    }[kind]()
    truth = read_bdd(path)
    assert truth.images.name.tolist() == ["a.jpg", "b.jpg"]
    assert [truth.classes[c] for c in truth.boxes.category] == ["car", "pedestrian", "car"]
    assert truth.boxes.ignore.tolist() == [False, False, True]
    assert truth.boxes[CORNERS].to_numpy().tolist() == [[10, 20, 40, 60]] * 3
    assert truth.boxes.occluded[0]
    assert any("not a class here: dog 1" in line for line in truth.report)
    assert "1 of 2 images have no value for 'weather'" in truth.report


def test_reads_the_older_style_with_its_names(tmp_path):
    old = {
        "name": "a",
        "attributes": {"timeofday": "night"},
        "frames": [
            {"timestamp": 10000, "objects": [label("bike"), label("motor"), label("person")]}
        ],
    }
    truth = read_bdd(written(tmp_path, old))
    names = [truth.classes[c] for c in truth.boxes.category]
    assert names == ["bicycle", "motorcycle", "pedestrian"]
    assert truth.images.timeofday.tolist() == ["night"]


def test_crowd_labels_and_lanes(tmp_path):
    lane = {"category": "lane/single white", "poly2d": []}
    labels = [label(attributes={"crowd": True}), lane]
    truth = read_bdd(written(tmp_path, [frame("a.jpg", labels)]))
    assert truth.boxes.ignore.tolist() == [True]
    assert any(line.startswith("1 labels left out: they have no box") for line in truth.report)


def test_predictions_are_joined_by_name(tmp_path):
    truth = read_bdd(written(tmp_path, FRAMES))
    found = [
        frame("b.jpg", [label(score=0.5), label("dog", score=0.4)]),
        frame("elsewhere.jpg", [label(score=0.9)]),
    ]
    detections = read_predictions(written(tmp_path, found, "found.json"), truth)
    assert detections.boxes[["image", "category", "score"]].to_numpy().tolist() == [[1, 0, 0.5]]
    said = " | ".join(detections.report)
    assert "1 detections left out: their image has no labels" in said
    assert "1 labelled images have no entry in the predictions" in said
    assert "1 detections left out, not a class here: dog 1" in said


def test_no_prediction_at_all_is_no_error(tmp_path):
    truth = read_bdd(written(tmp_path, FRAMES))
    detections = read_predictions(written(tmp_path, [frame("a.jpg")], "none.json"), truth)
    assert len(detections.boxes) == 0
    assert list(detections.boxes) == ["image", "category", *CORNERS, "score"]


def test_a_file_cut_short_says_where(tmp_path):
    text = json.dumps(FRAMES, indent=1)
    path = written(tmp_path, text[: len(text) // 2])
    with pytest.raises(DetectionDataError, match=r"labels.json, line \d+, column \d+ .*cut short"):
        read_bdd(path)
    lines = as_lines(FRAMES)
    path = written(tmp_path, lines[:-10], "labels.jsonl")
    with pytest.raises(DetectionDataError, match=r"labels.jsonl, line 2, column"):
        read_bdd(path)


def test_a_name_given_twice_is_refused_with_both_places(tmp_path):
    path = written(tmp_path, [frame("a.jpg"), frame("b.jpg"), frame("a.jpg")])
    with pytest.raises(DetectionDataError, match=r"'a.jpg' occurs twice \(frames 0 and 2\)"):
        read_bdd(path)


@pytest.mark.parametrize(
    ("box", "what"),
    [
        (BOX | {"x2": 5}, "is inverted or empty"),
        (BOX | {"y2": 20}, "is inverted or empty"),
        (BOX | {"x1": float("nan")}, "is not finite"),
    ],
)
def test_unusable_boxes_are_refused_or_counted(tmp_path, box, what):
    path = written(tmp_path, [frame("a.jpg", [label(), label(box=box)])])
    with pytest.raises(DetectionDataError, match=rf"frame 0 \(a.jpg\), label 1: .*{what}"):
        read_bdd(path)
    truth = read_bdd(path, bad="leave out")
    assert len(truth.boxes) == 1
    assert any(line.startswith("1 boxes left out: a corner") for line in truth.report)


@pytest.mark.parametrize("score", [None, "high", float("nan")])
def test_a_missing_score_is_refused(tmp_path, score):
    truth = read_bdd(written(tmp_path, FRAMES))
    path = written(tmp_path, [frame("a.jpg", [label(score=0.5), label(score=score)])], "found.json")
    with pytest.raises(
        DetectionDataError, match=r"found.json, frame 0 \(a.jpg\), label 1: 'score'"
    ):
        read_predictions(path, truth)


def test_other_shapes_are_refused(tmp_path):
    for content, message in [
        ({"images": []}, "neither a list of frames"),
        ([1], "a frame is an object"),
        ([], "holds no frame"),
        ([frame("a", [{"category": "car", "box2d": {"x1": 1}}])], "'box2d' needs"),
        ([frame("a", [{"box2d": BOX}])], "'category' is missing"),
        ([frame("a", [label(box=BOX | {"x2": "40"})])], "frame 0, label 0, x2: '40' is no number"),
        ([frame("a", ["car"])], "frame 0: the labels of a frame are a list of objects"),
        ([frame("a") | {"labels": 3}], "the labels of a frame are a list"),
        ([frame("a") | {"attributes": ["rainy"]}], "'attributes' is an object"),
    ]:
        with pytest.raises(DetectionDataError, match=message):
            read_bdd(written(tmp_path, content))
    with pytest.raises(DetectionDataError, match="no such file or folder"):
        read_bdd(tmp_path / "absent.json")
    (tmp_path / "packed.json").write_bytes(b"\x1f\x8b\xff")
    with pytest.raises(DetectionDataError, match=r"packed.json, byte \d: not UTF-8 text"):
        read_bdd(tmp_path / "packed.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DetectionDataError, match=r"holds no \.json file"):
        read_bdd(tmp_path / "empty")


def coco():
    return {
        "images": [{"id": 7, "file_name": "a.jpg", "width": 100}, {"id": 9, "file_name": "b.jpg"}],
        "categories": [{"id": 3, "name": "cat"}, {"id": 1, "name": "dog"}],
        "annotations": [
            {"image_id": 9, "category_id": 3, "bbox": [1, 2, 3, 4], "iscrowd": 0},
            {"image_id": 7, "category_id": 1, "bbox": [5, 5, 10, 10], "iscrowd": 1},
        ],
    }


RESULT = {"image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.5}


def test_reads_coco(tmp_path):
    truth = read_coco(written(tmp_path, coco()))
    assert truth.classes == ("cat", "dog")
    assert truth.boxes[["image", "category", *CORNERS]].to_numpy().tolist() == [
        [1, 0, 1, 2, 4, 6],
        [0, 1, 5, 5, 15, 15],
    ]
    assert truth.boxes.ignore.tolist() == [False, True]
    strange = [RESULT, RESULT | {"image_id": 1}, RESULT | {"category_id": 2}]
    found = read_results(written(tmp_path, strange, "results.json"), truth)
    assert len(found.boxes) == 1
    assert sorted(found.report) == [
        "1 detections left out: their category is not in the ground truth",
        "1 detections left out: their image is not in the ground truth",
    ]


def test_what_is_written_as_coco_is_read_as_it_was(tmp_path):
    truth = read_coco(written(tmp_path, coco()))
    found = read_results(written(tmp_path, [RESULT], "results.json"), truth)
    labels, results = as_coco(truth, found)
    again = read_coco(written(tmp_path, labels, "again.json"))
    assert again.image_ids == truth.image_ids
    np.testing.assert_array_equal(again.boxes[CORNERS], truth.boxes[CORNERS])
    assert results[0]["bbox"] == RESULT["bbox"]
    assert results[0]["image_id"] == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": None}, "'images' is missing"),
        ({"annotations": [{"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1]}]}, "image 1 is"),
        ({"annotations": [{"image_id": 7, "category_id": 8, "bbox": [0, 0, 1, 1]}]}, "category 8"),
        ({"annotations": [{"image_id": 7, "category_id": 3, "bbox": [0, 0, 1]}]}, "'bbox' must"),
        ({"annotations": [{"image_id": 7, "category_id": 3, "bbox": [0, 0, -1, 1]}]}, "inverted"),
        ({"images": [{"id": 7, "file_name": "a"}, {"id": 9, "file_name": "a"}]}, "occurs twice"),
        ({"annotations": [{"image_id": 7, "category_id": 3, "bbox": ["a", 0, 1, 1]}]}, "'a' is no"),
        ({"images": [{"file_name": "a"}]}, "images 0: 'id' is missing"),
        ({"images": [{"id": 7}, {"id": 7}]}, "images 1: id 7 is that of 0"),
        ({"categories": [{"id": 3}]}, "categories 0: 'name' is missing"),
    ],
)
def test_bad_coco_is_refused_with_its_place(tmp_path, change, message):
    with pytest.raises(DetectionDataError, match=f"labels.json.*{message}"):
        read_coco(written(tmp_path, coco() | change))


def test_bad_results_are_refused(tmp_path):
    truth = read_coco(written(tmp_path, coco()))
    without = {k: v for k, v in RESULT.items() if k != "score"}
    for content, message in [
        ([RESULT, without], "results.json, detection 1: 'score' is None"),
        ({"a": 1}, "a list of detections"),
        ([RESULT | {"bbox": [None, 0, 1, 1]}], "is not finite"),
    ]:
        with pytest.raises(DetectionDataError, match=message):
            read_results(written(tmp_path, content, "results.json"), truth)


def test_reads_tags(tmp_path):
    tags = read_tags(written(tmp_path, [frame("a.jpg", weather="clear")]))
    assert tags[["name", "weather"]].to_numpy().tolist() == [["a.jpg", "clear"]]


def test_columns_of_ones_own_must_fit(tmp_path):
    truth = read_bdd(written(tmp_path, FRAMES))
    assert truth.with_images(camera=["x", "y"]).images.camera.tolist() == ["x", "y"]
    with pytest.raises(DetectionDataError, match="camera: 1 values for 2 images"):
        truth.with_images(camera=["x"])
