"""Compare processor seconds of the suite with those of other libraries: `make bench`.

Ours and the peer take turns on one thread, three times. The table has the medians, and
how many times as long ours takes.
"""

import contextlib
import io
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import helpers  # noqa: F401  pins the kernels before torch and numpy are loaded

# ruff: isort: split
import hotcoco
import numpy as np
import pandas as pd
import torch
from fairlearn import metrics
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from sklearn.metrics import accuracy_score, precision_score
from torch.nn.functional import cross_entropy

from helpers import icon2, models
from helpers.audit.table_counts import count_table
from helpers.blocks import counts, report
from helpers.contexts import mosaics
from helpers.icon2 import attributes

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "icon2"))
from detection_oracles import as_coco, scene

Row = tuple[str, str, Callable, Callable]
CLASSES = ("a", "b", "c", "d")
MEASURES = ("pr", "acc", "tpr", "tnr", "fpr", "fnr", "ppv", "npv")
COLUMNS = {"sex": "fm", "age": "abcde", "region": "wxyz"}


def noise(*shape: int) -> torch.Tensor:
    """Draw images of random pixels."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


def network() -> torch.nn.Module:
    """Build the small network of the lessons, without training."""
    return models.build("alexnet-quarter", len(CLASSES)).eval()


def training() -> Row:
    """Train for four epochs, with validation after each."""
    images = noise(500, 3, 96, 96)
    labels = torch.arange(500) % len(CLASSES)

    def ours():
        data = images[:400], labels[:400], images[400:], labels[400:]
        models.train(network(), *data, seed=0, epochs=4)

    def peer():
        model = network().train()
        generator = torch.Generator().manual_seed(0)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        for _ in range(4):
            for batch in torch.randperm(400, generator=generator).split(32):
                optimizer.zero_grad()
                logits = model(models.augment(images[batch], generator))
                cross_entropy(logits, labels[batch]).backward()
                optimizer.step()
            with torch.no_grad():
                model(images[400:])

    return "train on 400 images, 4 epochs", "loop in torch", ours, peer


def mosaic_predictions() -> Row:
    """Build and classify mosaics, compared with classifying what is built already."""
    model, objects = network(), noise(100, 3, 96, 96)
    contexts = dict.fromkeys(CLASSES, noise(50, 3, 96, 96))
    labels = torch.arange(4).repeat_interleave(25)
    design = mosaics.design(labels, contexts, CLASSES)
    ready = mosaics.build(design, objects, contexts).split(mosaics.BATCH)

    def predict(batches):
        with torch.inference_mode():
            return [model(batch) for batch in batches]

    def ours():
        return predict(mosaics.batches(design, objects, contexts))

    return f"classify {len(design)} mosaics", "torch", ours, lambda: predict(ready)


def average_precision() -> Iterator[Row]:
    """Match boxes and compute AP of all images and of three groups."""
    world = scene(0, n_images=2_000, n_classes=10, boxes=7)
    truth, results = as_coco(world)
    group = attributes.from_column(world, "group")
    subsets = [np.ones(2_000, bool)]
    subsets += [group.codes == code for code in range(len(group.values))]

    def evaluate(evaluator, labels):
        detections = labels.loadRes(results)
        for subset in subsets:
            evaluation = evaluator(labels, detections, "bbox")
            evaluation.params.imgIds = [int(n) + 1 for n in np.flatnonzero(subset)]
            evaluation.evaluate()
            evaluation.accumulate()

    def with_pycocotools():
        labels = COCO()
        labels.dataset = truth
        labels.createIndex()
        evaluate(COCOeval, labels)

    def with_hotcoco():
        evaluate(hotcoco.COCOeval, hotcoco.COCO(truth))

    def ours():
        icon2.analyse(icon2.match(world), group, [])

    work = "AP of 10 classes in 2,000 images and 3 groups"
    yield work, "hotcoco", ours, with_hotcoco
    yield work, "pycocotools", ours, with_pycocotools


def draw_table(rows: int) -> pd.DataFrame:
    """Draw predictions and labels of people in intersecting groups."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {name: rng.choice(list(values), rows) for name, values in COLUMNS.items()}
    )
    table["y_true"] = rng.integers(0, 2, rows)
    table["y_pred"] = (rng.random(rows) < 0.3 + 0.3 * table["y_true"]).astype(int)
    return table


def fairness() -> Row:
    """Compare the groups of a table by eight measures."""
    table = draw_table(1_000_000)
    groups = table[[*COLUMNS]].astype("category")
    y_true, y_pred = table["y_true"], table["y_pred"]

    def ours():
        table = counts.table(groups, y_pred=y_pred, y_true=y_true, intersect="joint")
        options = {"bootstrap": 0, "permutations": 0}
        report.make(table, MEASURES, ["pairs"], ["abs"], ["max"], **options)

    def peer():
        measures = {
            "pr": metrics.selection_rate,
            "acc": accuracy_score,
            "tpr": metrics.true_positive_rate,
            "tnr": metrics.true_negative_rate,
            "fpr": metrics.false_positive_rate,
            "fnr": metrics.false_negative_rate,
            "ppv": precision_score,
            "npv": lambda y, predicted: precision_score(1 - y, 1 - predicted),
        }
        metrics.MetricFrame(
            metrics=measures, y_true=y_true, y_pred=y_pred, sensitive_features=groups
        ).difference("between_groups")

    return "8 measures of 40 groups, 1,000,000 rows", "fairlearn", ours, peer


def reading(folder: str) -> Row:
    """Count the rows of a file by group, label and prediction."""
    path = f"{folder}/table.parquet"
    draw_table(5_000_000).to_parquet(path)

    def ours():
        count_table(path, {"y_true": "y_true", "y_pred": "y_pred"}, [*COLUMNS])

    def peer():
        table = pd.read_parquet(path)
        table.groupby([*COLUMNS, "y_true", "y_pred"]).size()

    return "count 5,000,000 rows of a Parquet file", "pandas", ours, peer


def processor_seconds(function: Callable) -> float:
    """Measure one call, which may print and warn."""
    start = time.process_time()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        function()
    return time.process_time() - start


def compare(row: Row, rounds: int = 3) -> dict[str, object]:
    """Measure ours and the peer in turns."""
    work, peer, ours, theirs = row
    processor_seconds(ours)  # loads what is loaded once
    pairs = [
        (processor_seconds(ours), processor_seconds(theirs)) for _ in range(rounds)
    ]
    mine, other = map(statistics.median, zip(*pairs, strict=True))
    return {
        "work": work,
        "ours": f"{mine:.2f} s",
        "peer": f"{other:.2f} s, {peer}",
        "ratio": f"{mine / other:.2f}",
    }


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            training(),
            mosaic_predictions(),
            *average_precision(),
            fairness(),
            reading(folder),
        ]
        table = pd.DataFrame([compare(row) for row in rows])
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
