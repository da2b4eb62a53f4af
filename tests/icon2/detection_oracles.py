"""Plain loops and pycocotools, to compare the vectorised code with."""

import contextlib
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import store
from helpers.icon2.attributes import CORNERS, Attribute, Frames
from helpers.icon2.average_precision import LIKE_COCO, evaluate


def scene(
    seed=0,
    n_images=30,
    n_classes=2,
    boxes=6,
    crowd=0.1,
    digits=2,
    whole=False,
):
    """Crowded little images whose boxes overlap, with ties among the scores."""
    rng = np.random.default_rng(seed)
    n = n_images * boxes
    image = np.sort(rng.integers(0, n_images, n))
    category = rng.integers(0, n_classes, n)
    low = rng.uniform(0, 60, (n, 2))
    side = rng.uniform(8, 40, (n, 2))
    corners = np.hstack([low, low + side])
    of = np.repeat(np.arange(n), rng.integers(0, 4, n))
    moved = corners[of] + rng.normal(0, 4, (len(of), 4))
    moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 1)
    if whole:
        corners, moved = np.round(corners), np.round(moved)
    detections = pd.DataFrame(moved, columns=CORNERS)
    detections.insert(0, "image", image[of])
    detections.insert(1, "category", category[of])
    detections["score"] = rng.random(len(of)).round(digits)
    truth = pd.DataFrame(corners, columns=CORNERS)
    truth.insert(0, "image", image)
    truth.insert(1, "category", category)
    truth["ignore"] = rng.random(n) < crowd
    truth["colour"] = rng.choice(["red", "blue", "green"], n)
    images = pd.DataFrame({"name": [f"{i}.jpg" for i in range(n_images)]})
    images["group"] = rng.choice(["a", "b", "c"], n_images)
    classes = tuple(f"class {k}" for k in range(n_classes))
    return Frames(images, truth, detections, classes)


def recorded_settings(confounders):
    """Return the verdicts on two recorded settings of each scenario, by Eq. 3."""
    table = pd.read_csv(store.root() / "data" / "rules.csv")
    known = ["none", *confounders]  # noqa: F841  in the query
    return table.query("seed < 2 and reading == 'Eq. 3' and confounder in @known")


def average_precision(matches, weights=None, images=None):
    """AP of each class and threshold (K, T), raw as COCO has it, of some images."""
    if weights is None:
        weights = np.ones(matches.n_images)
    codes = np.zeros(matches.n_images, int)
    if images is not None:
        codes = np.where(images, 0, -1)
    kept = Attribute("kept", ("yes",), codes, "image")
    ap = []
    for name in matches.classes:
        for taken in matches.taken:
            of_threshold = replace(matches, taken=taken[None])
            one, _ = evaluate(of_threshold.of(name), [kept], weights[None], LIKE_COCO)
            ap.append(one / 100)
    return np.reshape(ap, (len(matches.classes), -1))


def as_coco(world):
    """Ground truth and results as COCO's structures, images numbered from 1."""

    def entry(row):
        width = row.x2 - row.x1
        height = row.y2 - row.y1
        return {
            "image_id": row.image + 1,
            "category_id": row.category + 1,
            "bbox": [row.x1, row.y1, width, height],
            "area": width * height,
        }

    annotations = [
        entry(row) | {"id": i + 1, "iscrowd": int(row.ignore)}
        for i, row in enumerate(world.boxes.itertuples())
    ]
    results = [
        entry(row) | {"score": row.score} for row in world.detections.itertuples()
    ]
    images = [
        {**one, "id": i + 1, "file_name": one.pop("name")}
        for i, one in enumerate(world.images.to_dict("records"))
    ]
    categories = [{"id": i + 1, "name": name} for i, name in enumerate(world.classes)]
    return {
        "images": images,
        "annotations": annotations,
        "categories": categories,
    }, results


def evaluated(labels, results, **params):
    """pycocotools' evaluation of COCO's structures."""
    COCO = pytest.importorskip("pycocotools.coco").COCO
    COCOeval = pytest.importorskip("pycocotools.cocoeval").COCOeval
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = labels
        truth.createIndex()
        run = COCOeval(truth, truth.loadRes(results), "bbox")
        vars(run.params).update(params)
        run.evaluate()
        run.accumulate()
    return run


def pycocotools_ap(world, images=None):
    """AP of each class and threshold by pycocotools, (K, T); -1 becomes NaN."""
    params = {"areaRng": [[0, 1e10]], "areaRngLbl": ["one"], "maxDets": [100]}
    if images is not None:
        params["imgIds"] = [int(i) + 1 for i in np.flatnonzero(images)]
    precision = evaluated(*as_coco(world), **params).eval["precision"][..., 0, 0]
    return np.where(precision < 0, np.nan, precision).mean(1).T


def overlap(a, b, ignored):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    own = (a[2] - a[0]) * (a[3] - a[1])
    other = (b[2] - b[0]) * (b[3] - b[1])
    if ignored:
        return shared / own
    return shared / (own + other - shared)


def greedy(world, threshold):
    """COCO's matching, one detection after another: {row of detection: row of box or
    -1}.
    """
    boxes = world.boxes
    taken = {}
    for (image, category), own in world.detections.groupby(["image", "category"]):
        here = boxes[(boxes.image == image) & (boxes.category == category)]
        here = here.sort_values("ignore", kind="stable")
        used = set()
        for row, one in own.sort_values(
            "score", ascending=False, kind="stable"
        ).iterrows():
            best = -1
            best_overlap = min(threshold, 1 - 1e-10)
            for other, box in here.iterrows():
                if other in used and not box.ignore:
                    continue
                if best >= 0 and not boxes.ignore[best] and box.ignore:
                    break
                value = overlap(
                    one[CORNERS].tolist(), box[CORNERS].tolist(), box.ignore
                )
                if value >= best_overlap:
                    best = other
                    best_overlap = value
            taken[row] = best
            used.add(best)
    return taken


def plain_ap(scored, positives, normal=None):
    """AP by the definition: of (is it true, its weight) by falling score, of so many
    boxes, with precision normalised to `normal`.
    """
    if positives == 0:
        return np.nan
    normal = positives if normal is None else normal
    true = false = 0.0
    recall = []
    precision = []
    for is_true, weight in scored:
        true, false = true + weight * is_true, false + weight * (not is_true)
        recall.append(true / positives)
        level = recall[-1] * normal
        precision.append(level / (level + false) if level + false else 0.0)
    best = []
    for level in np.linspace(0, 1, 101):
        reached = [p for r, p in zip(recall, precision, strict=True) if r >= level]
        best.append(max(reached, default=0.0))
    return float(np.mean(best))
