"""BDD100K's labels and detections, as lesson 08 reads them: converted, or refused in a sentence."""

import json

import pytest

from helpers.icon2 import lesson_frames, user_data
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
    return lesson_frames.read(labels, results, **more)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("box2d", {"x1": "left"}, "labels.json cannot be read .* 'left'"),
        ("box2d", {"x1": 0}, "labels.json cannot be read .*'y1'"),
        ("category", "Car", "There are 0 boxes .* 24 boxes left out, .*Car 24"),
        ("attributes", {"crowd": "maybe"}, "labels.json cannot be read .*maybe"),
    ],
)
def test_unusable_labels_are_refused(tmp_path, key, value, message):
    labels, results = streets()
    for frame in labels:
        for label in frame["labels"]:
            label[key] = value
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, labels, results)


def test_classes_are_renamed_or_ignored_as_bdd100k_does(tmp_path):
    def label(category, x, **more):
        box = {"x1": x, "y1": 20, "x2": x + 30, "y2": 60}
        return {"id": x, "category": category, "box2d": box} | more

    labels = [{"name": "b.jpg"}, {"name": "a.jpg", "attributes": {"weather": "rainy"}}]
    labels[1]["labels"] = [label("dog", 10), {"category": "lane", "poly2d": []}]
    labels[0]["labels"] = [
        label("person", 10, attributes={"tone": "I", "x1": 99, "crowd": True}),
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
    assert data.report[1].endswith("(pedestrian 2)")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("speed", "speed: too many images have the same number for thirds"),
        ("width", "'width' has one value only, '1280'"),
        ("camera", "no column 'camera'.*The columns are: .*name"),
        ("lens", "lens: the column holds 0 values"),
    ],
)
def test_an_attribute_that_makes_no_groups_is_refused(tmp_path, column, message):
    labels, results = streets()
    labels[0]["attributes"]["lens"] = None
    data = read(tmp_path, labels, results)
    with pytest.raises(DetectionDataError, match=message):
        data.attribute(column)


@pytest.mark.parametrize("column", ["weather", "width", "camera"])
def test_a_cluster_has_a_value_in_every_frame(tmp_path, column):
    labels, results = streets()
    del labels[0]["attributes"]
    data = read(tmp_path, labels, results)
    with pytest.raises(DetectionDataError, match=f"no column '{column}' with a value"):
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
        # at 10 seconds, each drive is in its own area
        fixes = []
        for second, east in ((7, -0.3), (10, 0), (12, 0.3)):
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
    assert data.images["income"].isna().sum() == 1
    data = read(tmp_path, *streets(), **place, edges="paper")
    assert data.attribute("income").values == ("low", "middle")
    for track in place["gps"].iterdir():
        late = json.loads(track.read_text()) | {"startTime": -60_000}
        written(track, late)
    with pytest.raises(DetectionDataError, match="0 videos have a position at 10"):
        read(tmp_path, *streets(), **place)


def test_income_may_be_a_column_of_the_attributes(tmp_path):
    rows = [f"v{number}.jpg,{30_000 + 1_000 * number}" for number in range(12)]
    (tmp_path / "about.csv").write_text("\n".join(["image,income", *rows]))
    data = read(tmp_path, *streets(), attributes=tmp_path / "about.csv")
    income = data.attribute("income")
    assert income.values == lesson_frames.GROUPS and (income.codes == 0).sum() == 4


def test_missing_files_are_named(tmp_path):
    labels = written(tmp_path / "labels.json", streets()[0])
    with pytest.raises(ValueError, match=r"no\.json cannot be read .*FileNotFound"):
        user_data.read(tmp_path / "no.json", labels)
    with pytest.raises(ValueError, match="no file of detections"):
        user_data.read(labels, None)
