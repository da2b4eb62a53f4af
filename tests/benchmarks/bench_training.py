"""How much longer `train` takes than a minimal loop written by hand, for the same work.

Run as `python tests/benchmarks/bench_training.py [rounds] [epochs]`; prints one line. Both fit the
quarter-width AlexNet to 400 images of 96 px in memory, with the same batches, augmentation,
optimizer and validation of 100 images an epoch, on one thread, in turns; the figure is the median
over the rounds of the ratio of their times.
"""

from __future__ import annotations

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import statistics
import sys
import time

import torch
from torch.nn.functional import cross_entropy

from helpers import models


def by_hand(model, images, labels, val_images, val_labels, epochs: int) -> None:
    """The least that does it: no checks, no history, no best epoch, no early end."""
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for _ in range(epochs):
        model.train()
        for batch in torch.randperm(len(labels), generator=generator).tensor_split(13):
            optimizer.zero_grad()
            inputs = models.augment(images[batch], generator)
            cross_entropy(model(inputs), labels[batch]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for batch, answers in zip(val_images.split(64), val_labels.split(64), strict=True):
                (model(batch).argmax(1) == answers).sum()


def seconds(work) -> float:
    """Wall time of a call, s."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(rounds: int = 5, epochs: int = 4) -> float:
    """Print and return the median ratio."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (500, 3, 96, 96), generator=generator, dtype=torch.uint8)
    labels = torch.arange(500) % 4  # noise, so that validation is never perfect
    data = images[:400], labels[:400], images[400:], labels[400:]

    def ours():
        model = models.build("alexnet-quarter", 4)
        models.train(model, *data, seed=0, epochs=epochs)

    def theirs():
        by_hand(models.build("alexnet-quarter", 4), *data, epochs)

    with models.single_thread():
        theirs(), ours()  # warm
        pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    ratio = statistics.median(mine / theirs for mine, theirs in pairs)
    spread = ", ".join(f"{mine / theirs:.3f}" for mine, theirs in pairs)
    image_ms = 1e3 * statistics.median(mine for mine, _ in pairs) / (400 * epochs)
    print(f"training: {ratio:.3f} x a loop by hand ({spread}); {image_ms:.2f} ms an image")
    return ratio


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
