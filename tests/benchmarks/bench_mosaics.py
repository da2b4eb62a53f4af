"""What building mosaics costs beside scoring them: 1500 of them, as ratios within one process.

    python tests/benchmarks/bench_mosaics.py [rounds]

Prints one line a ratio. The routes alternate, one thread, and the median over the rounds counts.
"""

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import statistics
import sys
import time

import numpy as np
import torch
from PIL import Image

from helpers import models
from helpers.contexts import mosaics

CLASSES = ("bench", "fire hydrant", "plane", "mug")


def inputs(size: int = 96):
    """Noise images and the paper's design: their content costs nothing and decides nothing."""
    draw = torch.Generator().manual_seed(0)
    shape = (3, size, size)
    objects = torch.randint(0, 256, (100, *shape), dtype=torch.uint8, generator=draw)
    contexts = {
        name: torch.randint(0, 256, (50, *shape), dtype=torch.uint8, generator=draw)
        for name in CLASSES
    }
    labels = torch.arange(4).repeat_interleave(25)
    return mosaics.design(labels, contexts, CLASSES, controls=()), objects, contexts


def bare(model, ready):
    """Forward passes on mosaics that are there already."""
    return torch.cat([model(batch) for batch in ready.split(mosaics.BATCH)])


def streamed(model, table, objects, contexts):
    """Build and score, the suite's way: resizing included."""
    stream = mosaics.batches(table, objects, contexts)
    return torch.cat([model(batch) for batch in stream])


def plain(model, table, objects, contexts):
    """Build and score the plain way: paste with PIL, squeeze, one forward pass a mosaic."""
    found, size = [], objects.shape[-1]
    for row in table.itertuples():
        canvas = Image.new("RGB", (2 * size, size))
        pair = objects[row.object], contexts[row.context_class][row.context]
        for at, tile in enumerate(pair):
            canvas.paste(Image.fromarray(tile.permute(1, 2, 0).numpy()), (at * size, 0))
        pixels = np.array(canvas.resize((size, size), Image.Resampling.BILINEAR))
        found.append(model(torch.from_numpy(pixels).permute(2, 0, 1)[None]))
    return torch.cat(found)


def seconds(route, *args) -> float:
    start = time.perf_counter()
    route(*args)
    return time.perf_counter() - start


@torch.inference_mode()
def main(rounds: int = 7) -> None:
    torch.set_num_threads(1)
    model = models.build("alexnet-quarter", len(CLASSES)).eval()
    table, objects, contexts = inputs()
    ready = mosaics.build(table, objects, contexts)
    routes = {
        "bare": (bare, model, ready),
        "streamed": (streamed, model, table, objects, contexts),
        "plain": (plain, model, table, objects, contexts),
    }
    bare(model, ready)  # warm
    times = {name: [] for name in routes}
    for _ in range(rounds):
        for name, route in routes.items():
            times[name].append(seconds(*route))
    ratio = {
        name: [t / b for t, b in zip(times[name], times["bare"], strict=True)] for name in times
    }
    for name, target in (("streamed", " (target 1.15)"), ("plain", "")):
        print(
            f"1500 mosaics built and scored / bare forward passes, {name}: "
            f"{statistics.median(ratio[name]):.2f}{target}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
