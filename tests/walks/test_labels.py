"""Read BDD100K's labels and detections as lesson 08 does."""

import json
from types import SimpleNamespace

import pytest

from helpers.icon2 import lesson_frames, user_data
from helpers.icon2.attributes import CORNERS, DetectionDataError


def streets():
    """Return twelve frames of a car and a pedestrian each, and a detector's hits."""
    labels = []
    results = []
    for number in range(12):
        boxes = []
        hits = []
        for category, top in (("car", 50.0), ("pedestrian", 350.0)):
            left = 90.0 * number
            box = {"x1": left, "y1": top, "x2": left + 80, "y2": top + 300}
            one = {"category": category, "box2d": box}
            boxes.append(one | {"attributes": {"occluded": number % 2 == 0}})
            hits.append(one | {"score": 0.5})
        weather = "rainy" if number % 2 else "clear"
        attributes = {"weather": weather, "speed": max(number - 5, 0)}
        frame = {"name": f"v{number}.jpg", "attributes": attributes, "labels": boxes}
        labels.append(frame)
        results.append({"name": frame["name"], "labels": hits})
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
        ("box2d", {"x1": "left"}, "labels.json cannot be used.* 'left'"),
        ("box2d", {"x1": 0}, "labels.json .* no column or field 'y1'"),
        ("category", "Car", "12 images, 0 boxes, .* 24 entries of labels.*Car"),
        ("attributes", {"crowd": "maybe"}, "labels.json cannot be used.*maybe"),
    ],
)
def test_unusable_labels_are_refused(tmp_path, key, value, message):
    labels, results = streets()
    for frame in labels:
        for label in frame["labels"]:
            label[key] = value
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, labels, results)


def label(category, left, **more):
    """Return a box with an id."""
    box = {"x1": left, "y1": 20, "x2": left + 30, "y2": 60}
    return {"id": left, "category": category, "box2d": box} | more


def test_classes_are_renamed_or_ignored_as_bdd100k_does(tmp_path):
    person = label("person", 10, attributes={"x1": 99, "crowd": True})
    lane = {"category": "lane", "poly2d": []}
    labels = [
        {
            "name": "b.jpg",
            "labels": [person, label("other person", 200), label("motor", 400)],
        },
        {
            "name": "a.jpg",
            "videoName": "first",
            "labels": [label("dog", 10), lane],
        },
    ]
    results = [{"name": "a.jpg", "labels": [label("dog", 10, score=0.9)]}]
    labels = written(tmp_path / "labels.json", labels)
    results = written(tmp_path / "found.json", results)
    data = user_data.read(labels, results)
    assert data.images["name"].tolist() == ["a.jpg", "b.jpg"]
    assert data.images["video"].fillna("").tolist() == ["first", ""]
    assert data.classes == ("dog", "motorcycle")
    assert data.boxes["category"].tolist() == [1, 0]
    assert data.boxes[CORNERS].to_numpy()[0].tolist() == [400, 20, 430, 60]
    assert "1 entries of labels.json have no box" in data.report, "the lane"
    [text] = [text for text in data.report if "pedestrian" in text]
    assert text.endswith("no box of their class is labelled (pedestrian)")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("speed", "speed: too many images have the same number for thirds"),
        ("width", "width: the column holds 1 values"),
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
    features = []
    for west in range(3):
        east = west + 1
        corners = [(west, 30), (east, 30), (east, 31), (west, 31), (west, 30)]
        feature = {
            "type": "Feature",
            "properties": {"income": 30_000.0 * east},
            "geometry": {"type": "Polygon", "coordinates": [corners]},
        }
        features.append(feature)
    content = {"type": "FeatureCollection", "features": features}
    areas = written(folder / "areas.geojson", content)
    tracks = folder / "gps"
    tracks.mkdir()
    for video in range(11):
        fixes = []
        for second, east in ((7, -1.2), (10, 0), (12, 1.2)):  # at 10 it is in its area
            fix = {
                "timestamp": 1000 * second,
                "latitude": 30.5,
                "longitude": video % 3 + 0.5 + east,
            }
            fixes.append(fix)
        written(tracks / f"v{video}.json", {"startTime": 0, "locations": fixes})
    return {"gps": tracks, "areas": areas}


def test_a_frame_has_the_income_of_the_area_at_ten_seconds(tmp_path):
    pytest.importorskip("geopandas")
    place = city(tmp_path)
    data = read(tmp_path, *streets(), **place)
    incomes = data.images["income"].tolist()
    assert incomes[:3] == [30_000.0, 60_000.0, 60_000.0], "images are by name: 0, 1, 10"
    assert data.images["income"].isna().sum() == 1
    data = read(tmp_path, *streets(), **place, edges="paper")
    assert data.attribute("income").values == ("low", "middle")


@pytest.mark.parametrize(("name", "start"), [("v0", -60_000), ("other", 0)])
def test_tracks_without_a_position_of_a_labelled_frame_are_refused(
    tmp_path, name, start
):
    pytest.importorskip("geopandas")
    place = city(tmp_path)
    track = json.loads((place["gps"] / "v0.json").read_text())
    place["gps"] = tmp_path / "tracks"
    place["gps"].mkdir()
    written(place["gps"] / f"{name}.json", track | {"startTime": start})
    message = r"0 labelled videos have a position .* \(such as v0.json\)"
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, *streets(), **place)


@pytest.mark.parametrize("name", ["gps", "areas"])
def test_an_income_by_place_needs_tracks_and_areas(tmp_path, name):
    place = city(tmp_path)
    with pytest.raises(DetectionDataError, match="needs both 'gps' and 'areas'"):
        read(tmp_path, *streets(), **{name: place[name]})


def test_income_may_be_a_column_of_the_attributes(tmp_path):
    rows = [f"v{number}.jpg,{30_000 + 1_000 * number}" for number in range(12)]
    (tmp_path / "about.csv").write_text("\n".join(["image,income", *rows]))
    data = read(tmp_path, *streets(), attributes=tmp_path / "about.csv")
    income = data.attribute("income")
    assert income.values == lesson_frames.GROUPS
    assert (income.codes == 0).sum() == 4


def test_missing_files_are_named(tmp_path):
    labels = written(tmp_path / "labels.json", streets()[0])
    with pytest.raises(ValueError, match=r"no\.json cannot be used: .*No such file"):
        user_data.read(tmp_path / "no.json", labels)
    with pytest.raises(ValueError, match="no file of detections"):
        user_data.read(labels, None)


def test_labels_alone_are_not_enough(tmp_path):
    labels = written(tmp_path / "labels.json", streets()[0])
    settings = SimpleNamespace(labels=labels, frames=None, gps=None, edges="equal")
    with pytest.raises(DetectionDataError, match="There is no file of detections"):
        lesson_frames.load(settings)


def test_a_folder_without_labels_is_refused(tmp_path):
    settings = SimpleNamespace(frames=str(tmp_path), gps=None, edges="equal")
    with pytest.raises(DetectionDataError, match="There is no file of labels"):
        lesson_frames.load(settings)
