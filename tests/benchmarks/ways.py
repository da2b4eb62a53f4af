"""What each way of asking costs a reader: processor seconds of one thread, for lesson 10.

    python tests/benchmarks/ways.py data/way_seconds.csv

A network with 4 classes of 40 images and 4 contexts of 25: SqueezeNet, 224 pixels (random weights
and noise cost the same). One batch of 32 is timed, the median of three; seconds are its time a
pass, times the passes that a way needs. Heads, and ICON2's analysis of 600 frames, are timed whole.
"""

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torchvision.models import squeezenet1_0

from helpers import explain, models
from helpers.audit import planting
from helpers.data import mosaic
from helpers.icon2 import intervention
from helpers.lesson import seed_everything
from sweeps import rules
from synthetic import street

IMAGES, CLASSES, CONTEXTS, EACH, SIZE = 40, 4, 4, 25, 224
OBJECTS, PAIRS = IMAGES * CLASSES, CLASSES * (CLASSES - 1)


def seconds(function, times: int = 3) -> float:
    """Processor seconds of a call, the median of some."""
    took = []
    for _ in range(times):
        start = time.process_time()
        function()
        took.append(time.process_time() - start)
    return statistics.median(took)


def table() -> pd.DataFrame:
    """A row a way: what is passed through the network, how often, and seconds."""
    rng, draw = np.random.default_rng(0), torch.Generator().manual_seed(0)
    batch = torch.randint(256, (32, 3, SIZE, SIZE), generator=draw, dtype=torch.uint8)
    network = models.wrap(squeezenet1_0(), mean=0.5, std=0.25)
    network(batch)  # what is loaded at the first call
    a_pass = seconds(lambda: models.logits(network, batch)) / 32
    a_map = seconds(lambda: explain.explain(network, batch[:8], 0, "gradcam")) / 8
    large = torch.cat([torch.cat([batch[:2]] * 2, 2)] * 2, 3)
    a_mosaic = seconds(lambda: explain.explain(network, large, 0, "gradcam")) / 2
    tiles = [mosaic.squeeze(batch, SIZE, SIZE // 2)] * 2
    joined = seconds(
        lambda: mosaic.join([mosaic.squeeze(batch, SIZE, SIZE // 2), tiles[0]], 1, 2)
    )
    pasted = seconds(lambda: planting.framed(batch, batch)) / 32
    y, dim = np.arange(CLASSES).repeat(IMAGES), 512
    features = rng.random((OBJECTS, CONTEXTS, 1, dim), np.float32)
    alone = rng.random((CONTEXTS, EACH // 2, dim), np.float32)
    suspects = planting.Contexts(y, features, features[:, :, 0], alone)
    fit = planting.Linear(y, features[:, 0, 0])
    heads = seconds(lambda: planting.calibrate(suspects, fit), 1)
    detector = intervention.trained(0.5, 0)
    frames = intervention.observed(
        detector, *street.scenes(600, 5000, 0.5), intervention.RARE
    )
    groups = seconds(lambda: next(rules.answers(frames, 0)), 1)
    beside, on_each = OBJECTS * (CLASSES - 1) * 5, OBJECTS * CONTEXTS
    rows = [
        ("mosaics", "mosaics", beside, beside * (a_pass + joined / 32)),
        ("pasting", "composites", on_each, on_each * (a_pass + pasted)),
        ("context alone", "context images", CONTEXTS * EACH, CONTEXTS * EACH * a_pass),
        ("GradCAM", "maps", OBJECTS, OBJECTS * a_map),
        ("worst context", "images", OBJECTS, OBJECTS * a_pass),
        ("Focus", "maps of mosaics of 448 pixels", 12 * PAIRS, 12 * PAIRS * a_mosaic),
        ("painting over", "maps of mosaics of 448 pixels", 2 * 12, 2 * 12 * a_mosaic),
        (
            "calibration",
            "composites",
            2 * on_each,
            2 * on_each * (a_pass + pasted) + heads,
        ),
        ("ICON2", "frames with detections", 600, groups),
    ]
    return pd.DataFrame(rows, columns=["way", "what", "number", "seconds"]).round(1)


if __name__ == "__main__":
    seed_everything(0)
    made = table()
    made.to_csv(Path(sys.argv[1]), index=False)
    print(made.to_string(index=False))
