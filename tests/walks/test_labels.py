"""BDD100K's labels and detections, as lesson 08 reads them: converted, or refused in a sentence."""

import json
import sys

import pytest

from helpers import icon2
from helpers.icon2 import frames, user_data
from helpers.icon2.detector import coco
from helpers.icon2.file_checks import CORNERS, DetectionDataError


def streets():
    """Twelve frames of a car and a pedestrian each, and a detection of each of them."""
    labels, results = [], []
    for i in range(12):
        boxes, hits = [], []
        for j, category in enumerate(("car", "pedestrian")):
            x, y = 90.0 * i, 50.0 + 300 * j
            box = {"x1": x, "y1": y, "x2": x + 80, "y2": y + 300}
            marks = {"occluded": i % 2 == 0, "truncated": False, "crowd": False}
            boxes.append({"category": category, "box2d": box, "attributes": marks})
            hits.append({"category": category, "box2d": dict(box), "score": 0.5})
        attributes = {"weather": ("clear", "rainy")[i % 2], "speed": max(i - 5, 0)}
        frame = {"name": f"v{i}.jpg", "attributes": attributes, "labels": boxes}
        labels.append(frame)
        results.append({"name": f"v{i}.jpg", "labels": hits})
    return labels, results


def written(path, content):
    path.write_text(json.dumps(content))
    return str(path)


def read(folder, labels, results, **more):
    """Return the frames of a folder into which labels and detections are written."""
    labels = written(folder / "labels.json", labels)
    results = written(folder / "found.json", results)
    return icon2.read(labels, results, **more)


def in_fourth_frame(frames_, **values):
    frames_[3]["labels"][1]["box2d"].update(values)


def in_all(frames_, **values):
    for frame in frames_:
        for label in frame["labels"]:
            label.update(values)


SHARES = {"x1": 0.1, "y1": 0.1, "x2": 0.2, "y2": 0.2}
WIDE = {"x1": 0.0, "y1": 0.0, "x2": 2000.0, "y2": 90.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda labels, _: in_all(labels, box2d=SHARES),
            "labels.json: no corner of its 24 boxes .* Multiply",
        ),
        (
            lambda labels, _: in_all(labels, box2d=WIDE),
            "labels.json: 24 of 24 boxes end outside of their image",
        ),
        (
            lambda labels, _: in_fourth_frame(labels, x2=0),
            "labels.json: 1 of 24 boxes have a negative .* image v3.jpg: x1 270, y1",
        ),
        (
            lambda labels, _: in_fourth_frame(labels, x1="left"),
            "labels.json cannot be read: could not convert .* 'left'",
        ),
        (
            lambda _, results: results[3]["labels"][1].update(score=87),
            r"found.json: 1 of 24 .*divide percents by 100.* v3.jpg: .* score 87",
        ),
        (
            lambda _, results: results[3]["labels"][1].pop("score"),
            "found.json cannot be read: 'score' is missing",
        ),
        (
            lambda labels, _: labels[0]["labels"][0]["attributes"].update(
                crowd="maybe"
            ),
            "labels.json cannot be read: 'iscrowd' is 'maybe'; it has to be 0 or 1",
        ),
        (
            lambda labels, _: in_all(labels, category="Car"),
            "labels.json: no box .* Left out: Car 24",
        ),
        (
            lambda _, results: in_all(results, box2d=None),
            "found.json holds no detection",
        ),
        (lambda labels, _: labels.clear(), "labels.json holds no labels"),
    ],
)
def test_unusable_labels_are_refused_with_their_place(tmp_path, change, message):
    labels, results = streets()
    change(labels, results)
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, labels, results)


def test_classes_are_renamed_or_ignored_as_bdd100k_does(tmp_path):
    def label(category, x, **more):
        box = {"x1": x, "y1": 20, "x2": x + 30, "y2": 60}
        return {"id": x, "category": category, "box2d": box} | more

    labels = [{"name": "b.jpg"}, {"name": "a.jpg", "attributes": {"weather": "rainy"}}]
    labels[1]["labels"] = [label("dog", 10), {"category": "lane", "poly2d": []}]
    labels[0]["labels"] = [
        label("person", 10, attributes={"tone": "I", "x1": 99, "crowd": "true"}),
        label("other person", 200),
        label("motor", 400),
    ]
    results = [{"name": "a.jpg", "labels": [label("dog", 10, score=0.9)]}]
    written(tmp_path / "labels.json", labels)
    written(tmp_path / "found.json", results)
    data = user_data.read(tmp_path / "labels.json", tmp_path / "found.json")
    assert data.images["name"].tolist() == ["a.jpg", "b.jpg"]
    assert data.images["video"].tolist() == ["a", "b"]
    assert data.classes == ("dog", "motorcycle")
    assert data.boxes["category"].tolist() == [1, 0]
    assert data.boxes[CORNERS].to_numpy()[0].tolist() == [400, 20, 430, 60]
    assert "regions to ignore only: pedestrian 2" in data.report[1]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("weather", r"weather: the column holds \['rainy'\]; give s"),
        ("speed", "speed: too many images have the same number for thirds"),
        ("width", "'width' has one value only, '1280'"),
        ("camera", "no column 'camera'.*The columns are: id, .*name"),
        ("lens", "lens: the column holds no value"),
    ],
)
def test_an_attribute_that_makes_no_groups_is_refused(tmp_path, column, message):
    labels, results = streets()
    labels[0]["attributes"]["lens"] = None
    if column == "weather":
        labels[0]["attributes"]["weather"] = ["rainy"]
    data = read(tmp_path, labels, results)
    with pytest.raises(DetectionDataError, match=message):
        data.attribute(column)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("weather", "'weather' of 'cluster' has 2 .* 1 of 12 images have none"),
        ("width", "'width' of 'cluster' has 1 .* 0 of 12 images have none"),
        ("camera", "'camera' of 'cluster' has 0 .* 12 of 12 images have none"),
    ],
)
def test_a_cluster_has_a_value_in_every_frame(tmp_path, column, message):
    labels, results = streets()
    del labels[0]["attributes"]
    data = read(tmp_path, labels, results)
    with pytest.raises(DetectionDataError, match=message):
        data.clusters(column)


def city(folder):
    """Write three areas side by side, and a drive in one of them for eleven videos."""
    features, tracks = [], folder / "gps"
    tracks.mkdir()
    for west in range(3):
        corners = [(west, 30), (west + 1, 30), (west + 1, 31), (west, 31), (west, 30)]
        outline = {"type": "Polygon", "coordinates": [corners]}
        about = {"income": 30_000.0 * (west + 1)}
        features.append({"type": "Feature", "properties": about, "geometry": outline})
    content = {"type": "FeatureCollection", "features": features}
    written(folder / "areas.geojson", content)
    for video in range(11):
        # at 10 seconds, between two fixes, each drive is in its own area
        fixes = []
        for second, east in ((8, -0.3), (12, 0.3)):
            place = {"latitude": 30.5, "longitude": video % 3 + 0.5 + 4 * east}
            fixes.append(place | {"timestamp": 1000 * second})
        written(tracks / f"v{video}.json", {"startTime": 0, "locations": fixes})
    return {"gps": tracks, "areas": folder / "areas.geojson"}


def test_a_frame_has_the_income_of_the_area_at_ten_seconds(tmp_path):
    pytest.importorskip("geopandas")
    place = city(tmp_path)
    data = read(tmp_path, *streets(), **place)
    expected = [30_000.0 * (number % 3 + 1) for number in (0, 1, 10, 2, 3, 4)]
    assert data.images["income"].tolist()[:3] == expected[:3], "images are by name"
    assert data.report[-1] == "11 of 12 frames have an income"
    data = read(tmp_path, *streets(), **place, edges="paper")
    assert data.attribute("income").values == ("low", "middle")
    for track in place["gps"].iterdir():
        late = json.loads(track.read_text()) | {"startTime": -60_000}
        written(track, late)
    with pytest.raises(
        DetectionDataError, match="0 of 12 videos have a position at 10"
    ):
        read(tmp_path, *streets(), **place)


def test_without_geopandas_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(DetectionDataError, match=r"Install the extra 'gps'.*'income'"):
        read(tmp_path, *streets(), **city(tmp_path))


def test_income_may_be_a_column_of_the_attributes(tmp_path):
    rows = [f"v{number}.jpg,{30_000 + 1_000 * number}" for number in range(12)]
    (tmp_path / "about.csv").write_text("\n".join(["image,income", *rows]))
    data = read(tmp_path, *streets(), attributes=tmp_path / "about.csv")
    income = data.attribute("income")
    assert income.values == frames.GROUPS and (income.codes == 0).sum() == 4


def test_files_and_parameters_that_are_missing_are_named(tmp_path):
    labels = written(tmp_path / "labels.json", streets()[0])
    with pytest.raises(ValueError, match=r"There is no file no\.json in the folder"):
        icon2.read(tmp_path / "no.json", labels)
    with pytest.raises(ValueError, match="no file of detections"):
        icon2.read(labels, None)
    with pytest.raises(ValueError, match="parameter 'weights' is missing"):
        coco(None)
