"""Read user-supplied files, compare with pycocotools, and refuse bad input."""

import contextlib
import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest
from detection_oracles import as_coco, average_precision, evaluated, scene
from test_checked_files import read

from helpers.icon2 import match, user_data
from helpers.icon2.attributes import DetectionDataError, explaining
from helpers.icon2.comparable import comparable
from helpers.icon2.file_checks import coco_summary

CLASSES = ("kite", "lamp", "pear")


def coco(seed=0, n_images=40, decimals=0):
    """COCO's structures with sparse ids out of order, crowds, areas of masks, sizes of
    all three kinds, and corners on a coarse grid, so that overlaps of exactly .5 occur.
    """
    rng = np.random.default_rng(seed)
    world = scene(seed, n_images, 3, boxes=8, crowd=0.1, whole=decimals == 0)
    labels, results = as_coco(world)
    ids = rng.permutation(np.arange(10, 10 + 3 * n_images, 3)).tolist()
    kinds = [90, 7, 33]
    scale = rng.choice([0.5, 2.0, 6.0], n_images)
    for one in [*labels["annotations"], *results]:
        image = one["image_id"] - 1
        box = (np.array(one["bbox"]) * scale[image]).round(decimals).clip(0).tolist()
        one |= {
            "image_id": ids[image],
            "category_id": kinds[one["category_id"] - 1],
            "bbox": box,
        }
    for one in results:
        del one["area"]
    for one in labels["annotations"]:
        x, y, width, height = one["bbox"]
        one["area"] = width * height * rng.uniform(0.5, 1)
        one["segmentation"] = [[x, y, x + 1, y, x, y + 1]]
        if (
            one["id"] % 3 == 1
        ):  # half of a box: an overlap of .5, but for the last digit
            same = {name: one[name] for name in ("image_id", "category_id")}
            results.append(same | {"bbox": [x, y, width, height / 2], "score": 0.99})
    size = {"width": 640, "height": 640, "license": 1}
    labels["images"] = [
        {"id": k, "file_name": f"{n:03}.jpg"} | size for n, k in enumerate(ids)
    ]
    names = zip(kinds, CLASSES, strict=True)
    labels["categories"] = [{"id": k, "name": name} for k, name in names]
    return {
        "info": {"year": 2026},
        "licenses": [{"id": 1, "name": "any"}],
    } | labels, results


def written(folder, text, name):
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def pycocotools(labels, results):
    """AP of each class and threshold, of all boxes (K, T), and the six numbers of its
    summary.
    """
    run = evaluated(*json.loads(json.dumps([labels, results])))
    with contextlib.redirect_stdout(io.StringIO()):
        run.summarize()
    names = [run.cocoGt.cats[k]["name"] for k in run.params.catIds]
    precision = run.eval["precision"][..., 0, -1]  # all areas, 100 detections
    return dict(zip(names, precision.mean(1).T, strict=True)), run.stats[:6]


@pytest.mark.parametrize("decimals", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_average_precision_of_cocos_files_is_that_of_pycocotools(
    tmp_path, seed, decimals
):
    labels, results = coco(seed, decimals=decimals)
    frames = read(tmp_path, labels, results)
    expected, six = pycocotools(labels, results)
    ours = dict(zip(frames.classes, average_precision(match(frames)), strict=True))
    for name in CLASSES:
        np.testing.assert_allclose(ours[name], expected[name], atol=1e-12)
    order = ["all", "IoU 0.5", "IoU 0.75", "small", "medium", "large"]
    numbers = coco_summary(frames)
    ours = [-1 if np.isnan(numbers[name]) else numbers[name] for name in order]
    np.testing.assert_allclose(ours, six, atol=1e-12)


CSV = """image,class,x1,y1,x2,y2,ignore,shade
b.jpg,cat,10,20,40,60,0,dark
b.jpg,dog,50,20,90,60,,light
a.jpg,cat,10,20,40,60,1,dark
a.jpg,cat,60,20,90,60,,light
empty.jpg,,,,,,,
"""
FOUND = """image,class,x1,y1,x2,y2,score
a.jpg,cat,60,20,90,60,.5
b.jpg,dog,50,20,90,60,.9
b.jpg,cow,50,20,90,60,.9
c.jpg,cat,50,20,90,60,.9
"""


def test_a_csv_is_read_and_what_is_left_out_is_counted(tmp_path):
    labels = written(tmp_path, CSV, "labels.csv.gz")
    found = written(tmp_path, FOUND, "found.CSV")
    about = "image,light,category\na.jpg,day,1\nz.jpg,night,1\n"
    about = written(tmp_path, about, "about.csv")
    frames = user_data.read(labels, found, about)
    assert frames.classes == ("cat", "dog")
    assert len(frames.images) == 3
    assert frames.boxes["ignore"].tolist() == [False, False, True, False]
    assert frames.boxes["shade"].tolist() == ["dark", "light", "dark", "light"]
    assert frames.report == (
        "3 images, 3 boxes, 2 detections of 2 classes",
        "1 boxes are crowds (iscrowd) or regions to ignore ('ignore', which "
        "pycocotools does not read). A detection there is neither right nor wrong",
        "1 entries of about.csv left out, because their image has no labels",
        "2 images have no row in about.csv",
        "1 entries of found.CSV left out, because their image has no labels",
        "1 entries of found.CSV left out, because no box of their class is labelled "
        "(cow)",
        "1 labelled images have no detection",
    )
    assert frames.images["light"].fillna("").tolist() == ["day", "", ""]
    assert "category" not in frames.images


@pytest.mark.parametrize("column", ["image", "class", "x1", "score"])
def test_a_csv_without_a_needed_column_names_it(tmp_path, column):
    labels = written(tmp_path, CSV, "labels.csv")
    found = written(tmp_path, FOUND.replace(column, "other", 1), "found.csv")
    message = rf"found\.csv .* no column or field '{column}'. Provide COCO"
    with pytest.raises(DetectionDataError, match=message):
        user_data.read(labels, found)


def test_annotations_without_a_box_are_counted(tmp_path):
    labels, results = coco(0, 8)
    expected = read(tmp_path, labels, results)
    bare = [one | {"id": 0, "bbox": None} for one in labels["annotations"][:3]]
    labels["annotations"] += bare
    frames = read(tmp_path, labels, results)
    assert "3 entries of labels.json have no box" in frames.report
    assert len(frames.boxes) == len(expected.boxes)


def test_a_column_named_size_is_not_the_size_of_the_boxes(tmp_path):
    labels, results = coco(3, n_images=60)
    for n, image in enumerate(labels["images"]):
        image["size"] = "XL" if n % 2 else "S"
    frames = read(tmp_path, labels, results)
    columns, _ = comparable(frames, None)
    by_name = {one.name: one for one in columns + explaining(frames)}
    assert by_name["size"].values == ("S", "XL")
    assert by_name["box size"].values == ("small", "medium", "large")


def test_the_cluster_is_not_compared(tmp_path):
    labels, results = coco(3, n_images=60)
    for n, image in enumerate(labels["images"]):
        image |= {"drive": f"number {n % 4}", "light": "dim" if n % 3 else "day"}
    frames = read(tmp_path, labels, results)
    columns, left_out = comparable(frames, None, "drive")
    assert [one.name for one in columns] == ["light"]
    assert left_out == []


def test_ids_may_be_text_and_other_ids_are_listed_next_to_those_of_the_labels(tmp_path):
    labels, results = coco(2)
    frames = read(tmp_path, labels, results)
    names = {one["id"]: one["file_name"] for one in labels["images"]}
    for by in (str, names.get):
        texts = [one | {"image_id": by(one["image_id"])} for one in results]
        again = read(tmp_path, labels, [*texts, texts[0] | {"image_id": "elsewhere"}])
        text = "1 entries of found.json left out, because their image has no labels"
        assert text in again.report
        pd.testing.assert_frame_equal(again.detections, frames.detections)
    other = [one | {"category_id": 1000 + one["category_id"]} for one in results]
    ids = ", ".join(f"{one['id']} {one['name']}" for one in labels["categories"])
    message = (
        rf"{len(results):,} entries of found.json .*\. The labels .* classes {ids}"
    )
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, labels, other)


def test_results_of_other_images_are_refused_with_names_of_both(tmp_path):
    labels, results = coco(1, 8)
    results = [one | {"image_id": 1000 + one["image_id"]} for one in results]
    message = r"found.json .* none of its entries .* They name \[1\d+, .*\.jpg'\]"
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, labels, results)


def test_attributes_are_those_of_the_file_and_what_cannot_be_compared_says_why(
    tmp_path,
):
    labels, results = coco(3, n_images=60)
    for n, image in enumerate(labels["images"]):
        image["attributes"] = {
            "light": "dim" if n % 2 else "day",
            "camera": f"number {n}",
        }
        image |= {"one": "same", "lux": n * 1.5}
    for n, box in enumerate(labels["annotations"]):
        box["attributes"] = {"tone": "IV" if n % 3 else "II"}
    frames = read(tmp_path, labels, results)
    columns, cannot = comparable(frames, None)
    assert {one.name: one.level for one in columns} == {
        "light": "image",
        "lux": "image",
        "tone": "box",
    }
    assert len({one.name: one for one in columns}["lux"].values) == 3
    one, many = sorted(cannot, reverse=True)
    assert "one: the column holds 1 values" in one
    assert "camera: the column holds 60 values" in many
    with pytest.raises(DetectionDataError, match="no column 'tint'"):
        comparable(frames, ["tint"])


def test_files_that_are_cut_or_exchanged_are_refused(tmp_path):
    labels, results = coco(0, 8)
    for contents, message in [
        (
            (results, results),
            "labels.json .* it has no images.* may be exchanged.*Provide COCO",
        ),
        (({"rows": []}, results), "labels.json .* no column or field 'images'"),
        ((labels, labels), "found.json .* no column or field 'score'"),
        ((labels, []), "found.json .* there are no boxes"),
    ]:
        with pytest.raises(DetectionDataError, match=message):
            read(tmp_path, *contents)
    found = written(tmp_path, json.dumps(results)[:50], "found.json")
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    with pytest.raises(DetectionDataError, match=r"found\.json cannot be used"):
        user_data.read(tmp_path / "labels.json", found)


@pytest.mark.parametrize(
    ("part", "fields", "message"),
    [
        (
            "annotations",
            {"bbox": [5, 5, -3, 4]},
            "labels.json .* 1 of .* negative width",
        ),
        (
            "annotations",
            {"bbox": [5, float("nan"), 4, 4]},
            "labels.json .* 1 of .* no number",
        ),
        (
            "annotations",
            {"bbox": [5, 5, 4]},
            r"labels.json .* not enough values .*got 3",
        ),
        ("results", {"score": 87}, "found.json .* 1 of .*divide percents.* 87.0"),
        ("results", {"score": "high"}, "found.json cannot be used.* 'high'"),
    ],
)
def test_entries_that_cannot_be_used_are_refused(tmp_path, part, fields, message):
    labels, results = coco(0, 8)
    entries = results if part == "results" else labels[part]
    entries[0] |= fields
    with pytest.raises(DetectionDataError, match=message) as refused:
        read(tmp_path, labels, results)
    assert "\n" not in str(refused.value)
    assert "np." not in str(refused.value)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ([0.1, 0.1, 0.2, 0.2], "are shares of the image"),
        (
            [300, 300, 600, 600],
            "end outside of their image.*'width': 640.*x, y, width, height",
        ),
    ],
)
def test_boxes_in_another_form_are_refused(tmp_path, box, message):
    labels, results = coco(0, 8)
    for one in labels["annotations"]:
        one["bbox"] = box
    with pytest.raises(DetectionDataError, match=message):
        read(tmp_path, labels, results)


@pytest.mark.parametrize("hit", ["a", "b"])
def test_ties_among_scores_are_broken_by_name_in_any_order_of_the_file(tmp_path, hit):
    """As COCO's evaluator does, after Scalabel numbered the images by name."""
    box, away = ({"x1": x, "y1": 20, "x2": x + 30, "y2": 60} for x in (10, 300))
    labels = [
        {"name": n, "labels": [{"category": "car", "box2d": box}] * (n == hit)}
        for n in "ab"
    ]
    hits = [
        {"category": "car", "score": 0.5, "box2d": box if n == hit else away}
        for n in "ab"
    ]
    hits = [{"name": n, "labels": [one]} for n, one in zip("ab", hits, strict=True)]
    for way in (1, -1):
        frames = read(tmp_path, labels[::way], hits[::way])
        assert frames.images["name"].tolist() == ["a", "b"]
        assert average_precision(match(frames))[0] == pytest.approx(
            {"a": 1, "b": 0.5}[hit]
        )
