"""What readers bring: COCO's JSON against pycocotools, the CSV, attributes, and bad input."""

import contextlib
import gzip
import io
import json

import numpy as np
import pytest
from detection_oracles import average_precision, scene

from helpers.icon2 import brought, match

CLASSES = ("kite", "lamp", "pear")


def coco(seed=0, n_images=40, decimals=0):
    """COCO's structures with sparse ids out of order, crowds, areas of masks, sizes of all three
    kinds, and corners on a coarse grid, so that overlaps of exactly .5 occur."""
    rng = np.random.default_rng(seed)
    world = scene(seed, n_images, 3, boxes=8, crowd=0.1, whole=decimals == 0)
    ids = rng.permutation(np.arange(10, 10 + 3 * n_images, 3)).tolist()
    kinds = [90, 7, 33]
    scale = rng.choice([0.5, 2.0, 6.0], n_images)

    def box(row):
        corners = np.array([row.x1, row.y1, row.x2 - row.x1, row.y2 - row.y1])
        return (corners * scale[row.image]).round(decimals).clip(0).tolist()

    annotations = []
    for n, row in enumerate(world.boxes.itertuples()):
        x, y, width, height = box(row)
        area = width * height * rng.uniform(0.5, 1)
        one = {"id": 5 * n + 1, "image_id": ids[row.image], "category_id": kinds[row.category]}
        one |= {"bbox": [x, y, width, height], "area": area, "iscrowd": int(row.ignore)}
        annotations.append(one | {"segmentation": [[x, y, x + 1, y, x, y + 1]]})
    results = [
        {
            "image_id": ids[row.image],
            "category_id": kinds[row.category],
            "bbox": box(row),
            "score": row.score,
        }
        for row in world.detections.itertuples()
    ]
    for one in annotations[::3]:  # half of a box: an overlap of .5, but for the last digit
        x, y, width, height = one["bbox"]
        same = {name: one[name] for name in ("image_id", "category_id")}
        results.append(same | {"bbox": [x, y, width, height / 2], "score": 0.99})
    images = [
        {"id": one, "file_name": f"{n:03}.jpg", "width": 640, "height": 640, "license": 1}
        for n, one in enumerate(ids)
    ]
    labels = {"info": {"year": 2026}, "licenses": [{"id": 1, "name": "any"}], "images": images}
    names = [{"id": k, "name": name} for k, name in zip(kinds, CLASSES, strict=True)]
    return labels | {"annotations": annotations, "categories": names}, results


def written(folder, content, name):
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def read(folder, labels, results, *more):
    paths = written(folder, labels, "labels.json"), written(folder, results, "found.json")
    return brought.brought(*paths, *more)


def pycocotools(labels, results):
    """AP of each class and threshold, of all boxes (K, T), and the six numbers of its summary."""
    COCO = pytest.importorskip("pycocotools.coco").COCO
    COCOeval = pytest.importorskip("pycocotools.cocoeval").COCOeval
    with contextlib.redirect_stdout(io.StringIO()):
        given = COCO()
        given.dataset = json.loads(json.dumps(labels))
        given.createIndex()
        run = COCOeval(given, given.loadRes(json.loads(json.dumps(results))), "bbox")
        run.evaluate()
        run.accumulate()
        run.summarize()
    names = [given.cats[k]["name"] for k in run.params.catIds]
    precision = run.eval["precision"][..., 0, -1]  # all areas, 100 detections
    return dict(zip(names, precision.mean(1).T, strict=True)), run.stats[:6]


@pytest.mark.parametrize("decimals", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_average_precision_of_cocos_files_is_that_of_pycocotools(tmp_path, seed, decimals):
    labels, results = coco(seed, decimals=decimals)
    frames = read(tmp_path, labels, results)
    expected, six = pycocotools(labels, results)
    ours = dict(zip(frames.classes, average_precision(match(frames)), strict=True))
    for name in CLASSES:
        np.testing.assert_allclose(ours[name], expected[name], atol=1e-12)
    order = ["all", "IoU .5", "IoU .75", "small", "medium", "large"]
    numbers = brought.like_coco(frames)
    ours = [-1 if np.isnan(numbers[name]) else numbers[name] for name in order]
    np.testing.assert_allclose(ours, six, atol=1e-12)
