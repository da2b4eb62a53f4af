"""Readers of BDD100K and Scalabel files, and what they say of bad input."""

import json

import pytest
from detection_oracles import average_precision

from helpers.icon2 import DetectionDataError, match, read_detections, read_labels
from helpers.icon2.reading import CORNERS

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
    truth = read_labels(path)
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
    truth = read_labels(written(tmp_path, old))
    names = [truth.classes[c] for c in truth.boxes.category]
    assert names == ["bicycle", "motorcycle", "pedestrian"]
    assert truth.images.timeofday.tolist() == ["night"]


def test_crowd_labels_and_lanes(tmp_path):
    lane = {"category": "lane/single white", "poly2d": []}
    labels = [label(attributes={"crowd": True}), lane]
    truth = read_labels(written(tmp_path, [frame("a.jpg", labels)]))
    assert truth.boxes.ignore.tolist() == [True]
    assert any(line.startswith("1 labels left out: they have no box") for line in truth.report)


def test_predictions_are_joined_by_name(tmp_path):
    truth = read_labels(written(tmp_path, FRAMES))
    found = [
        frame("b.jpg", [label(score=0.5), label("dog", score=0.4)]),
        frame("elsewhere.jpg", [label(score=0.9)]),
    ]
    detections, report = read_detections(written(tmp_path, found, "found.json"), truth)
    assert detections[["image", "category", "score"]].to_numpy().tolist() == [[1, 0, 0.5]]
    said = " | ".join(report)
    assert "1 detections left out: their image has no labels" in said
    assert "1 labelled images have no entry in the predictions" in said
    assert "1 detections left out, not a class here: dog 1" in said


def test_predictions_that_match_nothing_are_refused(tmp_path):
    truth = read_labels(written(tmp_path, FRAMES))
    other = [frame("c.jpg", [label(score=0.5)]), frame("d.jpg")]
    for content, message in [
        (other, r"found.json: none of its 2 images is labelled. Its first is 'c.jpg', the first "),
        ([frame("a.jpg")], "found.json: no detection is left of labelled images"),
        ([frame("a.jpg", [label("dog", score=1)])], "not a class here: dog 1"),
        ([], "found.json: holds no frame"),
    ]:
        with pytest.raises(DetectionDataError, match=message):
            read_detections(written(tmp_path, content, "found.json"), truth)


@pytest.mark.parametrize(("hit", "expected"), [("a", 1.0), ("b", 0.5)])
def test_ties_among_scores_are_broken_by_name_in_any_order_of_the_file(tmp_path, hit, expected):
    """As COCO's evaluator does, after Scalabel numbered the images by name."""
    away = BOX | {"x1": 300, "x2": 330}
    labels = [frame(n, [label()] if n == hit else []) for n in "ab"]
    found = [frame(n, [label(box=BOX if n == hit else away, score=0.5)]) for n in "ab"]
    for way in (1, -1):
        truth = read_labels(written(tmp_path, labels[::way]))
        assert truth.images.name.tolist() == ["a", "b"]
        detections, _ = read_detections(written(tmp_path, found[::way], "found.json"), truth)
        assert average_precision(match(truth, detections))[0] == pytest.approx(expected)


def test_attributes_do_not_override_fields(tmp_path):
    own = {"category": "bus", "name": "x", "x1": 99, "ignore": True, "occluded": True}
    frames = [frame("a.jpg", [label(attributes=own)]) | {"attributes": {"name": "b.jpg"}}]
    truth = read_labels(written(tmp_path, frames))
    assert truth.images.name.tolist() == ["a.jpg"]
    (box,) = truth.boxes.itertuples()
    assert (truth.classes[box.category], box.x1, box.ignore, box.occluded) == (
        "car",
        10,
        False,
        True,
    )
    assert "2 attributes 'name' left out: a field has that name" in truth.report


def test_a_file_cut_short_says_where(tmp_path):
    text = json.dumps(FRAMES, indent=1)
    path = written(tmp_path, text[: len(text) // 2])
    with pytest.raises(DetectionDataError, match=r"labels.json, line \d+, column \d+ .*cut short"):
        read_labels(path)
    lines = as_lines(FRAMES)
    path = written(tmp_path, lines[:-10], "labels.jsonl")
    with pytest.raises(DetectionDataError, match=r"labels.jsonl, line 2, column"):
        read_labels(path)


def test_a_name_given_twice_is_refused_with_both_places(tmp_path):
    path = written(tmp_path, [frame("a.jpg"), frame("b.jpg"), frame("a.jpg")])
    with pytest.raises(DetectionDataError, match=r"'a.jpg' occurs twice \(frames 0 and 2\)"):
        read_labels(path)


@pytest.mark.parametrize(
    ("box", "what"),
    [
        (BOX | {"x2": 5}, "is inverted or empty"),
        (BOX | {"y2": 20}, "is inverted or empty"),
        (BOX | {"x1": float("nan")}, "is not finite"),
    ],
)
def test_unusable_boxes_are_refused(tmp_path, box, what):
    path = written(tmp_path, [frame("a.jpg", [label(), label(box=box)])])
    with pytest.raises(DetectionDataError, match=rf"frame 0 \(a.jpg\), label 1: .*{what}"):
        read_labels(path)


def test_a_detection_without_area_stays_and_an_inverted_one_is_refused(tmp_path):
    truth = read_labels(written(tmp_path, FRAMES))
    flat = label(score=0.5, box=BOX | {"x2": 10})
    found = written(tmp_path, [frame("a.jpg", [flat])], "found.json")
    detections, report = read_detections(found, truth)
    assert len(detections) == 1
    assert "1 detections have no area: they are false positives, as COCO counts them" in report
    inverted = label(score=0.5, box=BOX | {"x2": 5})
    found = written(tmp_path, [frame("a.jpg", [inverted])], "found.json")
    with pytest.raises(DetectionDataError, match="is inverted; correct it"):
        read_detections(found, truth)


@pytest.mark.parametrize("score", [None, "high", float("nan")])
def test_a_missing_score_is_refused(tmp_path, score):
    truth = read_labels(written(tmp_path, FRAMES))
    path = written(tmp_path, [frame("a.jpg", [label(score=0.5), label(score=score)])], "found.json")
    with pytest.raises(
        DetectionDataError, match=r"found.json, frame 0 \(a.jpg\), label 1: 'score'"
    ):
        read_detections(path, truth)


def test_other_shapes_are_refused(tmp_path):
    for content, message in [
        ({"images": []}, "neither a list of frames"),
        ([1], "a frame is an object"),
        ([], "holds no frame"),
        ([frame("a", [{"category": "car", "box2d": {"x1": 1}}])], "'box2d' needs"),
        ([frame("a", [{"box2d": BOX}])], "'category' is missing"),
        (
            [frame("a", [label(box=BOX | {"x2": "40"})])],
            r"frame 0 \(a\), label 0, x2: '40' is no number",
        ),
        ([frame("a", ["car"])], "frame 0: the labels of a frame are a list of objects"),
        ([frame("a") | {"labels": 3}], "the labels of a frame are a list"),
        ([frame("a") | {"attributes": ["rainy"]}], "'attributes' is an object"),
    ]:
        with pytest.raises(DetectionDataError, match=message):
            read_labels(written(tmp_path, content))
    with pytest.raises(DetectionDataError, match="no such file or folder"):
        read_labels(tmp_path / "absent.json")
    (tmp_path / "packed.json").write_bytes(b"\x1f\x8b\xff")
    with pytest.raises(DetectionDataError, match=r"packed.json, byte \d: not UTF-8 text"):
        read_labels(tmp_path / "packed.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DetectionDataError, match=r"holds no \.json file"):
        read_labels(tmp_path / "empty")
