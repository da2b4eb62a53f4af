"""Read files that look right and are not, correctly or with a sentence."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.icon2 import user_data
from helpers.icon2.attributes import DetectionDataError
from helpers.icon2.file_checks import LEAST_AP, check_classes, coco_summary

SIDES = (20, 60, 140)  # small, medium and large boxes


def perfect(n_images=12, per_image=3, ids=None):
    """Labels in which a detector found every box, exactly; images are called
    000000.jpg, ...
    """
    ids = list(range(1, n_images + 1)) if ids is None else ids
    images = []
    annotations = []
    results = []
    for number, image in enumerate(ids):
        images.append(
            {
                "id": image,
                "file_name": f"{number:06}.jpg",
                "width": 640,
                "height": 480,
                "light": "night" if number % 2 else "day",
            }
        )
        for place in range(per_image):
            side = SIDES[(place + number) % 3]
            box = [10 + 200 * place + number, 20 + 3 * number, side, side + 10]
            if per_image == 1:  # each image has its box in a place of its own
                box[:2] = 10 + 150 * (number % 4), 10 + 155 * (number // 4)
            of_box = {
                "image_id": image,
                "category_id": 1 + (place + number) % 2,
                "bbox": box,
            }
            area = box[2] * box[3]
            annotations.append(
                of_box | {"id": len(annotations) + 1, "iscrowd": 0, "area": area}
            )
            results.append(of_box | {"score": 0.5 + len(results) / 1000})
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    return {
        "images": images,
        "annotations": annotations,
        "categories": categories,
    }, results


def read(folder, labels, results, about=None):
    paths = [folder / "labels.json", folder / "found.json"]
    for path, content in zip(paths, (labels, results), strict=True):
        path.write_text(json.dumps(content))
    if about is not None:
        (folder / "about.csv").write_text(about)
        paths.append(folder / "about.csv")
    return user_data.read(*paths)


def ap(frames, of="all"):
    return coco_summary(frames)[of]


def test_results_with_the_ids_of_other_images_are_not_compared(tmp_path):
    """Results have the numbers in file names as ids, and labels other numbers."""
    ids = [5, 3, 8, 1, 11, 2, 7, 10, 4, 0, 6, 9]
    labels, results = perfect(per_image=1, ids=ids)
    moved = [one | {"image_id": ids.index(one["image_id"])} for one in results]
    assert ap(read(tmp_path, labels, moved), "IoU 0.5") < LEAST_AP


def test_an_unlabelled_id_is_not_taken_for_a_file_name(tmp_path):
    """Labels have ids 1 to 10 and are called 101.jpg to 110.jpg."""
    labels, results = perfect(10)
    for one in labels["images"]:
        one["file_name"] = f"{100 + one['id']}.jpg"
    frames = read(tmp_path, labels, [*results, results[0] | {"image_id": 105}])
    assert ap(frames) == 1
    assert (
        "1 entries of found.json left out, because their image has no labels"
        in frames.report
    )


def test_boxes_to_ignore_need_not_be_found(tmp_path):
    labels, results = perfect()
    for one in labels["annotations"][::3]:
        one["ignore"] = 1
    found = [one for number, one in enumerate(results) if number % 3]
    frames = read(tmp_path, labels, found)
    assert ap(frames) == 1
    assert frames.boxes["ignore"].sum() == 12
    assert frames.report[1].startswith(
        "12 boxes are crowds (iscrowd) or regions to ignore"
    )


def test_ignore_that_is_neither_true_nor_false_is_refused(tmp_path):
    labels, results = perfect()
    labels["annotations"][0]["ignore"] = "partly"
    with pytest.raises(DetectionDataError, match=r"labels\.json cannot .*partly"):
        read(tmp_path, labels, results)


@pytest.mark.parametrize("area", [1.0, 0.0, 1e7])
def test_areas_that_do_not_fit_the_boxes_are_replaced(tmp_path, area):
    labels, results = perfect()
    for one in labels["annotations"]:
        one["area"] = area
    frames = read(tmp_path, labels, results)
    assert [ap(frames, of) for of in ("small", "medium", "large")] == [1, 1, 1]
    [text] = [text for text in frames.report if "'area'" in text]
    assert text.startswith("36 boxes have an 'area' that does not fit them")


def test_every_object_of_a_crowded_image_can_be_found(tmp_path):
    labels, results = perfect(4)
    for number in range(150):
        box = [2 + 40 * (number % 15), 2 + 40 * (number // 15), 20, 30]
        of_box = {"image_id": 1, "category_id": 1, "bbox": box}
        more = {"id": 1000 + number, "iscrowd": 0, "area": 600}
        labels["annotations"].append(of_box | more)
        results.append(of_box | {"score": 0.9})
    labels["annotations"] = [
        annotation
        for annotation in labels["annotations"]
        if annotation["image_id"] != 1 or annotation["id"] >= 1000
    ]
    results = [one for one in results if one["image_id"] != 1 or one["score"] == 0.9]
    frames = read(tmp_path, labels, results)
    assert ap(frames) == 1
    assert frames.report[1].startswith("1 images have more than 100 boxes of one class")


def test_federated_labels_are_refused(tmp_path):
    labels, results = perfect()
    labels["images"][0]["neg_category_ids"] = [2]
    with pytest.raises(DetectionDataError, match="labels are federated"):
        read(tmp_path, labels, results)


def test_na_and_none_are_values_like_others(tmp_path):
    values = ["NA", "None", "null", "nan"]
    rows = [f"{number:06}.jpg,{values[number % 4]}" for number in range(11)]
    about = "\n".join(["image,country", *rows, "000011.jpg,"])
    frames = read(tmp_path, *perfect(), about)
    assert frames.images["country"].tolist()[:4] == values
    assert frames.images["country"].isna().sum() == 1, "only an empty field is missing"


def test_a_class_may_be_called_none_or_na(tmp_path):
    labels = "image,class,x1,y1,x2,y2\na.jpg,NA,10,20,40,60\na.jpg,None,60,20,90,60\n"
    found = (
        "image,class,x1,y1,x2,y2,score\n"
        "a.jpg,NA,10,20,40,60,.5\n"
        "a.jpg,None,60,20,90,60,.9\n"
    )
    (tmp_path / "labels.csv").write_text(labels)
    (tmp_path / "found.csv").write_text(found)
    frames = user_data.read(tmp_path / "labels.csv", tmp_path / "found.csv")
    assert frames.classes == ("NA", "None")
    assert ap(frames) == 1


def test_images_of_one_file_name_are_paired_by_id(tmp_path):
    """Two videos of six frames whose names are the same."""
    labels, results = perfect()
    for number, image in enumerate(labels["images"]):
        image["file_name"] = f"frame{number % 6}.png"
    assert ap(read(tmp_path, labels, results)) == 1
    about = "image,site\nframe0.png,A\nframe1.png,B\n"
    with pytest.raises(DetectionDataError, match="its unique name in the column"):
        read(tmp_path, labels, results, about)


def test_classes_that_are_shifted_by_one_are_listed(tmp_path):
    labels, results = perfect(20)
    kinds = range(1, 16)
    labels["categories"] = [{"id": kind, "name": f"k{kind}"} for kind in kinds]
    for number, (box, result) in enumerate(
        zip(labels["annotations"], results, strict=True)
    ):
        box["category_id"] = 1 + number % 15
        result["category_id"] = number % 15
    [warning] = check_classes(read(tmp_path, labels, results))
    for kind in kinds:
        assert f"k{kind}" in warning
    assert "shifted or exchanged" in warning


def test_two_classes_that_are_exchanged_are_listed(tmp_path):
    labels, results = perfect(60)
    labels["categories"] = [{"id": kind, "name": f"k{kind}"} for kind in range(5)]
    for number, (box, result) in enumerate(
        zip(labels["annotations"], results, strict=True)
    ):
        box["category_id"] = number % 5
        result["category_id"] = {0: 1, 1: 0}.get(number % 5, number % 5)
    [warning] = check_classes(read(tmp_path, labels, results))
    assert warning.startswith("Almost no box of these classes is detected: k0, k1.")


def test_results_may_name_images_by_file_name(tmp_path):
    labels, results = perfect(ids=range(101, 113))
    for one in results:
        one["image_id"] = f"{one['image_id'] - 101:06}.jpg"
    assert ap(read(tmp_path, labels, results)) == 1


def test_ids_may_begin_with_zero(tmp_path):
    labels, results = perfect(ids=range(12))
    for number, one in enumerate(labels["annotations"]):
        one["id"] = number
    assert ap(read(tmp_path, labels, results)) == 1


def as_yolo(folder, labels, results):
    """Write COCO's structures as YOLO has them, and return both folders."""
    stems = {}
    for image in labels["images"]:
        stem = Path(image["file_name"]).stem
        stems[image["id"]] = stem
        file = folder / "images" / "val" / image["file_name"]
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (image["width"], image["height"])).save(file)
    names = [category["name"] for category in labels["categories"]]
    (folder / "data.yaml").write_text(json.dumps({"names": names}))
    folders = [folder / "labels" / "val", folder / "runs" / "labels"]
    parts = [labels["annotations"], results]
    for place, boxes in zip(folders, parts, strict=True):
        place.mkdir(parents=True)
        for box in boxes:
            x, y, width, height = box["bbox"]
            shares = [(x + width / 2) / 640, (y + height / 2) / 480]
            shares += [width / 640, height / 480]
            if "score" in box:
                shares.append(box["score"])
            line = " ".join(map(repr, [box["category_id"] - 1, *shares]))
            with (place / f"{stems[box['image_id']]}.txt").open("a") as file:
                print(line, file=file)
    return folders


def test_yolos_text_files_are_read_as_cocos_json(tmp_path):
    labels, results = perfect()
    expected = read(tmp_path, labels, results[1:])
    frames = user_data.read(*as_yolo(tmp_path / "set", labels, results[1:]))
    assert frames.classes == expected.classes
    assert frames.images["name"].tolist() == expected.images["name"].tolist()
    assert ap(frames) == pytest.approx(ap(expected), abs=1e-12)
    assert ap(frames) < 1
    columns = ["image", "category", "x1", "y1", "x2", "y2", "score"]
    for ours, theirs in [
        (frames.boxes[columns[:6]], expected.boxes[columns[:6]]),
        (frames.detections[columns], expected.detections[columns]),
    ]:
        ours, theirs = ours.to_numpy(float), theirs.to_numpy(float)
        order = np.lexsort(ours.round(6).T), np.lexsort(theirs.round(6).T)
        np.testing.assert_allclose(ours[order[0]], theirs[order[1]], atol=1e-9)


def test_yolos_detections_of_cocos_labels_are_read(tmp_path):
    labels, results = perfect(ids=range(101, 113))
    _, detections = as_yolo(tmp_path / "set", labels, results)
    # class numbers of YOLO begin with 0, so these labels' ids have to as well
    for part in (labels["annotations"], labels["categories"]):
        for entry in part:
            name = "id" if "name" in entry else "category_id"
            entry[name] -= 1
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    assert ap(user_data.read(tmp_path / "labels.json", detections)) == 1


def test_yolos_files_need_images_sizes_and_scores(tmp_path):
    labels, detections = as_yolo(tmp_path / "set", *perfect())
    with pytest.raises(
        DetectionDataError, match=r"no number.*'score': nan.*save_conf=True"
    ):
        user_data.read(labels, labels)
    without_sizes = tmp_path / "labels.csv"
    without_sizes.write_text("image,class,x1,y1,x2,y2\n000000.jpg,cat,10,20,40,60\n")
    shutil.rmtree(tmp_path / "set" / "images")
    for place in (without_sizes, labels):
        with pytest.raises(DetectionDataError, match="'width' and 'height' of each"):
            user_data.read(place, detections)
