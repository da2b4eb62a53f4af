"""Compare processor seconds of the suite with those of other libraries: `make bench`.

Ours and the peer take turns on one thread, three times. The table has the medians, and
how many times as long ours takes.
"""

import contextlib
import io
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import helpers  # noqa: F401  pins the kernels before torch and numpy are loaded

# ruff: isort: split
import hotcoco
import numpy as np
import pandas as pd
import torch
from fairbench import v1 as fairbench
from fairlearn import metrics
from sklearn.metrics import accuracy_score
from torch.nn.functional import cross_entropy

from helpers import icon2, models
from helpers.audit.table_counts import count_table
from helpers.blocks import counts
from helpers.blocks.framework import bias
from helpers.icon2 import attributes
from helpers.models.training import augment

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "icon2"))
from detection_oracles import as_coco, scene

Row = tuple[str, str, Callable, Callable]  # work, name of the peer, ours, the peer
MEASURES = {
    "pr": metrics.selection_rate,
    "acc": accuracy_score,
    "tpr": metrics.true_positive_rate,
    "fpr": metrics.false_positive_rate,
}


def training() -> Row:
    """Train for four epochs, with validation after each."""
    generator = torch.Generator().manual_seed(0)
    shape = (500, 3, 96, 96)
    images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    labels = torch.arange(500) % 4

    def ours():
        network = models.build("alexnet-quarter", 4)
        data = images[:400], labels[:400], images[400:], labels[400:]
        models.train(network, *data, seed=0, epochs=4)

    def peer():
        model = models.build("alexnet-quarter", 4).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        for _ in range(4):
            for batch in torch.randperm(400, generator=generator).split(32):
                optimizer.zero_grad()
                logits = model(augment(images[batch], generator))
                cross_entropy(logits, labels[batch]).backward()
                optimizer.step()
            with torch.no_grad():
                model(images[400:])

    return "train on 400 images, 4 epochs", "loop in torch", ours, peer


def average_precision() -> Row:
    """Match boxes and compute AP of all images and of three groups."""
    frames = scene(0, n_images=2_000, n_classes=10, boxes=7)
    truth, results = as_coco(frames)
    group = attributes.from_column(frames, "group")
    subsets = [np.arange(2_000)]
    subsets += [np.flatnonzero(group.codes == code) for code in range(3)]

    def ours():
        icon2.analyse(icon2.match(frames), group, [])

    def peer():
        labels = hotcoco.COCO(truth)
        detections = labels.loadRes(results)
        for images in subsets:
            evaluation = hotcoco.COCOeval(labels, detections, "bbox")
            evaluation.params.imgIds = (images + 1).tolist()
            evaluation.evaluate()
            evaluation.accumulate()

    return "AP of 10 classes in 2,000 images and 3 groups", "hotcoco", ours, peer


def fairness() -> list[Row]:
    """Compute the widest gaps of 60 groups, as the audit of a table counts them."""
    rng = np.random.default_rng(0)
    rows = 1_000_000
    groups = pd.DataFrame()
    for name, values in {"sex": "fm", "age": "abcdef", "region": "vwxyz"}.items():
        groups[name] = rng.choice(list(values), rows)
    crossed = groups.agg("".join, axis=1).tolist()
    groups = groups.astype("category")
    y_true = rng.integers(0, 2, rows)
    y_pred = (rng.random(rows) < 0.3 + 0.3 * y_true).astype(int)
    table = groups.assign(y_true=y_true, y_pred=y_pred)
    roles = {"y_true": "y_true", "y_pred": "y_pred"}

    def ours():
        counted = count_table(table, roles, [*groups])
        group = counted.groups["sex"] + counted.groups["age"] + counted.groups["region"]
        sixty = counts.count(group, counted.values, times=counted.rows)
        for measure in MEASURES:
            bias(sixty, measure, "pairs", "abs", "max")

    def by_fairlearn():
        frame = metrics.MetricFrame(
            metrics=MEASURES,
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=groups,
        )
        frame.difference("between_groups")

    def by_fairbench():
        fork = fairbench.Fork(fairbench.categories @ crossed)
        fairbench.multireport(predictions=y_pred, labels=y_true, sensitive=fork)

    work = "4 measures of 60 groups, 1,000,000 rows"
    return [
        (work, "fairlearn", ours, by_fairlearn),
        (work, "FairBench", ours, by_fairbench),
    ]


def processor_seconds(function: Callable) -> float:
    """Measure one call, which may print and warn."""
    start = time.process_time()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        function()
    return time.process_time() - start


def compare(work: str, peer: str, ours: Callable, theirs: Callable) -> dict:
    """Measure ours and the peer in turns."""
    processor_seconds(ours)  # loads what is loaded once
    seconds = []
    for _ in range(3):
        seconds.append((processor_seconds(ours), processor_seconds(theirs)))
    mine, other = np.median(seconds, axis=0)
    texts = {"ours": f"{mine:.2f} s", "peer": f"{other:.2f} s, {peer}"}
    return {"work": work, **texts, "ratio": f"{mine / other:.3f}"}


def all_cores() -> dict[str, object]:
    """Compare wall seconds on all cores, as your own images take them, and on one."""
    model = models.build("resnet18").eval()
    generator = torch.Generator().manual_seed(0)
    size = (32, 3, 224, 224)
    images = torch.randint(0, 256, size, dtype=torch.uint8, generator=generator)
    seconds = {}
    for threads in (models.threads(), 1):
        rounds = []
        for _ in range(4):
            torch.set_num_threads(threads)
            start = time.perf_counter()
            models.logits(model, images)
            rounds.append(time.perf_counter() - start)
        seconds[threads] = np.median(rounds[1:])  # the first loads kernels
    ours, peer = seconds[models.threads()], seconds[1]
    return {
        "work": f"logits of 32 images by a ResNet-18, on {models.threads()} cores",
        "ours": f"{ours:.2f} s",
        "peer": f"{peer:.2f} s, one thread (wall seconds)",
        "ratio": f"{ours / peer:.2f}",
    }


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    rows = [training(), average_precision(), *fairness()]
    table = pd.DataFrame([*(compare(*row) for row in rows), all_cores()])
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
