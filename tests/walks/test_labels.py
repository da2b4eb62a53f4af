"""Walks A11 and B9 over labels, predictions, places and attributes, by `icon2.read` as 08 reads."""

import gzip
import json

import numpy as np
import pytest

from helpers import icon2
from helpers.icon2 import user_data
from helpers.icon2.reading import CORNERS, DetectionDataError
from helpers.models import detector

WHERE = r"entry 3 \({'name': 'v3\.jpg'.*\)"


def streets():
    """Twelve frames of a car and a pedestrian each, and a detection of each of them."""
    labels, results = [], []
    for i in range(12):
        cars, marks = [], {"occluded": i % 2 == 0, "truncated": False, "crowd": False}
        for j, category in enumerate(("car", "pedestrian")):
            box = {
                "x1": 90.0 * i,
                "y1": 50.0 + 300 * j,
                "x2": 90.0 * i + 80,
                "y2": 350.0 + 300 * j,
            }
            cars.append({"category": category, "box2d": box, "attributes": dict(marks)})
        attributes = {
            "weather": ("clear", "rainy")[i % 2],
            "region": "abc"[i % 3],
            "speed": i / 2,
        }
        labels.append({"name": f"v{i}.jpg", "attributes": attributes, "labels": cars})
        hits = [
            {"category": c["category"], "box2d": dict(c["box2d"]), "score": 0.5}
            for c in cars
        ]
        results.append({"name": f"v{i}.jpg", "labels": hits})
    return labels, results


def written(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def read(folder, change=lambda labels, results: None, **place):
    """The frames of a folder, after `change` to the labels and the predictions."""
    labels, results = streets()
    change(labels, results)
    files = (
        written(folder / "labels.json", labels),
        written(folder / "found.json", results),
    )
    return icon2.read(*files, **place)


def to_all(frames, **values):
    for frame in frames:
        for label in frame["labels"]:
            label.update({name: make(label) for name, make in values.items()})


def shares(label):
    return {k: v / (1280 if "x" in k else 720) for k, v in label["box2d"].items()}


def wide(label):
    return label["box2d"] | {"x2": 2000.0}


def mark(key, value, at=0):
    return lambda labels, _: labels[at]["labels"][0]["attributes"].update({key: value})


def box(which, **corners):
    return lambda *both: both[which][3]["labels"][1]["box2d"].update(corners)


def score(value):
    return lambda _, results: results[3]["labels"][1].update(score=value)


def attribute(**values):
    return lambda labels, _: labels[0]["attributes"].update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda a, _: to_all(a, box2d=shares),
            r"labels.json: no corner of its 24 .* multiply",
        ),
        (
            lambda a, _: to_all(a, box2d=wide),
            "labels.json: 24 of 24 boxes end outside of their im",
        ),
        (
            box(0, x2=0),
            "labels.json: 1 of 24 boxes have a negative .* first: v3.jpg, x1 270, y1",
        ),
        (box(0, x1="left"), f"labels.json, {WHERE}: could not convert .* 'left'"),
        (
            score(87),
            r"found.json: 1 of 24 .* divide percents by 100. .*: v3.jpg, .* score 87",
        ),
        (
            lambda _, b: b[3]["labels"][1].pop("score"),
            f"found.json, {WHERE}: 'score' is missing",
        ),
        (
            mark("crowd", "maybe"),
            r"labels.json, entry 0 .*'v0.jpg'.*'maybe'.* stand for a crowd",
        ),
        (
            lambda a, _: to_all(a, category=lambda _: "Car"),
            "not a class here, .*: Car 24",
        ),
        (
            lambda a, _: to_all(a, box2d=lambda _: None),
            "labels.json: no image of it has a box",
        ),
        (
            lambda _, b: to_all(b, box2d=lambda _: None),
            "found.json: it holds no detection",
        ),
        (lambda a, _: a.append(1), r"labels.json, entry 12 \(1\): "),
        (lambda a, _: a.clear(), "labels.json: it is no COCO file"),
    ],
)
def test_unusable_labels_are_refused_with_their_place(tmp_path, change, message):
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, change)


def test_other_classes_lanes_and_attributes_called_as_fields_are_read(tmp_path):
    def one(category, x, **more):
        corners = {"x1": x, "y1": 20, "x2": x + 30, "y2": 60}
        return {"id": x, "category": category, "box2d": corners} | more

    about, own = {"weather": "rainy", "name": "c"}, {"image": 7, "x1": 99, "tone": "I"}
    labels = [
        {
            "name": "a.jpg",
            "attributes": about,
            "labels": [one("dog", 10), one("dog", 80)],
        }
    ]
    labels.append(
        {"name": "b.jpg", "labels": [one("person", 10), one("other person", 200)]}
    )
    labels[1]["labels"] += [
        one("other vehicle", 300),
        one("motor", 400, attributes=own),
    ]
    labels[1]["labels"].append({"category": "lane/single white", "poly2d": []})
    results = [
        {
            "name": "a.jpg",
            "labels": [one("dog", 10, score=0.9), one("cat", 10, score=0.5)],
        }
    ]
    results.append({"name": "elsewhere.jpg", "labels": [one("dog", 10, score=0.9)]})
    files = (
        written(tmp_path / "labels.json", labels),
        written(tmp_path / "found.json", results),
    )
    data = user_data.read(*files)
    assert (
        data.classes == ("dog", "motorcycle", "pedestrian")
        and len(data.detections) == 1
    )
    assert data.images["name"].tolist() == ["a.jpg", "b.jpg"]
    assert data.boxes["category"].tolist() == [0, 0, 2, 2, 1]
    assert data.boxes["ignore"].tolist() == [False, False, False, True, False]
    assert data.boxes[CORNERS].to_numpy()[4].tolist() == [400, 20, 430, 60]
    assert data.boxes["tone"].fillna("").tolist() == ["", "", "", "", "I"]
    assert data.report == (
        "2 images, 4 boxes, 1 detections of 3 classes",
        "3 attributes left out: they are named as a field of the image or box",
        "1 labels left out: they have no box (lanes, drivable areas)",
        "1 of 2 images have no value for 'weather'",
        "1 boxes left out, not a class here, or regions to ignore only: car 1",
        "2 boxes are crowds, or regions to ignore: a detection there is neither right nor wrong",
        "1 detections left out: their image has no labels",
        "1 labelled images have no detection",
        "1 detections left out: no box of their class is labelled (cat 1)",
    )
    only = user_data.read(*files, classes=("pedestrian", "dog", "cow"))
    assert only.classes == ("pedestrian", "dog")
    assert (
        "not a class here, or regions to ignore only: car 1, motorcycle 1"
        in only.report[4]
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("crowd", "true"),
        ("crowd", "True"),
        ("crowd", "1"),
        ("iscrowd", True),
        ("iscrowd", 1),
    ],
)
def test_a_crowd_is_ignored_however_it_is_written(tmp_path, key, value):
    def change(labels, _):
        del labels[0]["labels"][0]["attributes"]["crowd"]
        mark(key, value)(labels, _)

    data = read(tmp_path, change)
    assert data.boxes["ignore"].sum() == 1 and data.boxes["ignore"][0]
    assert not read(tmp_path, mark("crowd", "false")).boxes["ignore"].any()


def half(labels, results):
    to_all(results, box2d=lambda one: {k: v / 2 for k, v in one["box2d"].items()})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (box(0, x2=270), "1 of 24 boxes had no area: never matched, as for COCO"),
        (
            box(1, x1=5000, x2=5100),
            "1 of 24 detections lay outside of the image: counted",
        ),
        (
            lambda a, _: to_all(a, score=lambda _: 0.5),
            "24 boxes of labels.json have a 'score'",
        ),
        (
            lambda a, _: a[0]["labels"].append(a[0]["labels"][0]),
            "1 of 25 boxes came twice: each counts",
        ),
        (
            lambda a, _: a[0].update(labels=None),
            "1 frames have no list of labels: taken as empty",
        ),
        (
            lambda _, b: b[0]["labels"].append(b[0]["labels"][0]),
            "1 of 25 detections in found.json are there twice",
        ),
        (
            attribute(weather="Clear "),
            "'weather' holds 'Clear ' and 'clear': they count as diff",
        ),
        (
            half,
            "Boxes reach to (1070, 650), detections to (535, 325). One file may be scaled.",
        ),
    ],
)
def test_what_is_odd_is_counted(tmp_path, change, sentence):
    assert any(line.startswith(sentence) for line in read(tmp_path, change).report)
    assert len(read(tmp_path).report) == 1 and not read(tmp_path).warnings


def packed(text):
    return gzip.compress(text.encode())


FORMS = {  # name to what is written: of the labels' text, or of their lines
    "BOM": ("labels.json", lambda text, _: b"\xef\xbb\xbf" + text.encode()),
    "gz": ("labels.json.gz", lambda text, _: packed(text)),
    "lines": ("labels.jsonl", lambda _, lines: lines.encode()),
    "object": (
        "labels.json",
        lambda text, _: f'{{"config": {{}}, "frames": {text}}}'.encode(),
    ),
    "folder of frames": (
        "folder/0.json",
        lambda _, lines: lines.splitlines()[0].encode(),
    ),
    "folder lines": ("folder/labels.jsonl", lambda _, lines: lines.encode()),
}


@pytest.mark.parametrize("form", FORMS)
def test_json_in_other_forms_is_read(tmp_path, form):
    labels, results = streets()
    name, of = FORMS[form]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(
        of(json.dumps(labels), "\r\n\r\n".join(map(json.dumps, labels)) + "\n")
    )
    (path.parent / "._labels.json").write_bytes(b"\0")  # as macOS leaves them
    for n, frame in enumerate(labels[1:] if form == "folder of frames" else [], 1):
        written(path.parent / f"{n}.json", frame)
    predictions = written(tmp_path / "found.json", results)
    data = icon2.read(str(path.parent if "folder" in form else path), predictions)
    assert len(data.images) == 12 and len(data.boxes) == 24
    if form == "gz":
        path.write_bytes(path.read_bytes()[:-99])
        with pytest.raises(
            DetectionDataError, match=r"labels.json.gz is cut short or no JSON"
        ):
            icon2.read(str(path), predictions)


def mostly(labels, _):
    for i, frame in enumerate(labels):
        frame["attributes"]["speed"] = max(i - 5, 0)


@pytest.mark.parametrize(
    ("change", "sensitive", "message"),
    [
        (
            attribute(weather=["rainy"]),
            "weather",
            r"weather: the column holds \['rainy'\]; give s",
        ),
        (mostly, "speed", "speed: too many images have the same number for thirds"),
        (attribute(), "width", "'sensitive': 'width' has one value only, '1280'"),
        (
            attribute(),
            "income",
            r"give 'gps', 'areas' and .* column: weather, region, speed",
        ),
        (attribute(), "camera", "no column 'camera'; there are: name"),
        (attribute(lens=None), "lens", "lens: the column holds no value"),
    ],
)
def test_an_attribute_that_makes_no_groups_is_refused(
    tmp_path, change, sensitive, message
):
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, change).attribute(sensitive)


def test_names_are_no_groups_and_a_cluster_has_a_value_in_every_frame(tmp_path):
    labels, results = streets()
    many = [
        frame | {"name": f"{n}{frame['name']}"} for n in range(5) for frame in labels
    ]
    del many[0]["attributes"]
    more = [
        frame | {"name": f"{n}{frame['name']}"} for n in range(5) for frame in results
    ]
    data = icon2.read(
        written(tmp_path / "a.json", many), written(tmp_path / "b.json", more)
    )
    for ask, column, message in (
        (data.attribute, "name", r"name: the column holds 60 values, .* at most 50"),
        (
            data.clusters,
            "weather",
            "'cluster': 1 of 60 frames have no value for 'weather'",
        ),
        (
            data.clusters,
            "width",
            "'cluster': 0 of 60 .*, the others 1; every frame needs one",
        ),
        (
            data.clusters,
            "camera",
            "the frames have no column 'camera'; there are: name",
        ),
    ):
        with pytest.raises(DetectionDataError, match=message):
            ask(column)


def square(left, below):
    corners = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))
    return {
        "type": "Polygon",
        "coordinates": [[[left + x, below + y] for x, y in corners]],
    }


def city(
    folder, change=lambda areas, tracks: None, incomes=b"0,30000\n1,60000\n2,90000\n"
):
    """Three areas side by side, and a drive in one of them for each of the videos."""
    areas = [
        {"properties": {"area": str(i)}, "geometry": square(i, 30)} for i in range(3)
    ]
    tracks = [
        [
            {"timestamp": 5000 * t, "latitude": 30.5, "longitude": i % 3 + 0.5}
            for t in range(9)
        ]
        for i in range(12)
    ]
    areas = change(areas, tracks) or {"features": areas}  # or another form
    (folder / "gps").mkdir()
    for i, track in enumerate(tracks):
        written(folder / "gps" / f"v{i}.json", {"locations": track})
    head = b"" if b";" in incomes else b"area,income\n"
    (folder / "incomes.csv").write_bytes(head + incomes)
    place = {"gps": folder / "gps", "areas": written(folder / "areas.json", areas)}
    return place | {"incomes": folder / "incomes.csv"}


def swap(_, tracks):
    tracks[0][0] = {"timestamp": 0, "latitude": -122.0, "longitude": 30.5}


def seconds(_, tracks):
    for track in tracks:
        for fix in track:
            fix["timestamp"] /= 1000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swap, "v0.json: locations: fix 0 has no .* latitude -122, longitude 30.5"),
        (
            seconds,
            "no frame could .*: 12 without GPS. Fixes are in 'gps' as <video>.json, such as",
        ),
        (lambda a, _: a, "areas.json: GeoJSON holds 'features'"),
        (
            lambda a, _: a[1].update(geometry=None),
            "areas.json: area '1' is no Polygon or Multi",
        ),
        (
            lambda a, _: a[1].update(geometry=square(4e5, 5e6)),
            "areas.json: coordinates are",
        ),
        (
            lambda a, _: a[1].update(geometry=square(0, 30)),
            "4 frames lie in several areas.* '0",
        ),
        (
            lambda a, _: [one["properties"].update(area=9) for one in a] and None,
            "12 in an area w",
        ),
    ],
)
def test_places_that_cannot_be_used_are_refused(tmp_path, change, message):
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, **city(tmp_path, change))


@pytest.mark.parametrize(
    ("incomes", "message"),
    [
        (
            b'0,"30000,00"\n1,60000\n2,90000\n',
            "incomes.csv: the income '30000,00' of area '0' is",
        ),
        (b"0,-5\n1,60000\n2,90000\n", "the income '-5' of area '0' is no amount"),
        (
            b"0,30,000\n1,60,000\n2,90,000\n",
            "incomes.csv cannot be .* header .* not match",
        ),
        (
            b"0,30.000\n1,60.000\n2,90.000\n",
            "incomes.csv: no income is above 90; give dollars",
        ),
        (b"area;income\n0;30000\n", r"incomes.csv: .* missing: area, income"),
        (b"0,30000\n1,60000\n0,90000\n", "incomes.csv: '0' occurs 2 times"),
        (b"0,9999\n1,9999\n2,9999\n", "too many frames have the same income"),
        (
            b"0,1000\nZ\xfcrich,5\n",
            "incomes.csv cannot be read as CSV: 'utf-8' .* UTF-8",
        ),
    ],
)
def test_incomes_that_are_no_amounts_are_refused(tmp_path, incomes, message):
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, **city(tmp_path, incomes=incomes))


@pytest.mark.parametrize(
    "incomes", [b'0,"$30,000"\n1,60 000\n2,90000.00\n', b"0 ,3000\n1,6000\n2,9000"]
)
def test_places_are_joined(tmp_path, incomes):
    """Areas whose names are numbers in the map, too; the labels' own incomes are not used."""

    def numbers(areas, _):
        for i, area in enumerate(areas):
            area["properties"]["area"] = float(i)

    data = read(tmp_path, attribute(income="x"), **city(tmp_path, numbers, incomes))
    assert np.bincount(data.attribute("income").codes).tolist() == [4, 4, 4]
    assert (
        "the labels' own attribute 'income' is not used, for 'incomes' is given"
        in data.report
    )


def test_files_and_folders_that_are_not_there_are_named(tmp_path):
    place, labels = city(tmp_path), tmp_path / "labels.json"
    read(tmp_path)
    (tmp_path / "empty").mkdir()
    for work, message in (
        (
            lambda: read(tmp_path, **place | {"gps": labels}),
            "'gps': labels.json is no folder of <v",
        ),
        (
            lambda: icon2.read(tmp_path / "no.json", labels),
            r"no\.json: there is no such file in ",
        ),
        (
            lambda: icon2.read(tmp_path / "empty", labels),
            r"empty: the folder holds no \.json file",
        ),
        (
            lambda: icon2.read(labels, None),
            "'predictions' is missing: what did the detector find",
        ),
        (lambda: detector.coco(None), "parameter 'weights' is missing"),
    ):
        with pytest.raises(ValueError, match=message):
            work()
