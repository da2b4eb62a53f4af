"""What pinned kernels cost: processor time of a training step, pinned over unpinned.

Run as `python tests/benchmarks/bench_kernels.py [rounds] [steps]`; prints one line an architecture.
Kernels are chosen once a process, so the two are measured in processes of their own, by turns, on
one thread; a step is forward, backward and AdamW on 32 images of 96 px.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

import helpers

ARCHITECTURES = ("alexnet-quarter", "vgg11-eighth", "resnet10-eighth")


def steps(architecture: str, count: int) -> float:
    """Processor seconds of a training step, after one that warms up."""
    import torch
    from torch.nn.functional import cross_entropy

    from helpers import models

    model = models.build(architecture, 4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(32, 3, 96, 96, generator=generator)
    labels = torch.arange(32) % 4
    with models.single_thread():
        for step in range(count + 1):
            if step == 1:
                start = time.process_time()
            optimizer.zero_grad()
            cross_entropy(model(images), labels).backward()
            optimizer.step()
    return (time.process_time() - start) / count


def measured(pinned: bool, count: int) -> list[float]:
    """Seconds of a step of each architecture in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in helpers.PINS}
    environment = {**kept, "SUITE_PINNED": str(int(pinned)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "steps", str(count)]
    return json.loads(subprocess.check_output(command, env=environment, text=True))


def main(rounds: int = 5, count: int = 20) -> dict[str, float]:
    """Print and return the median ratio of each architecture."""
    pairs = [(measured(True, count), measured(False, count)) for _ in range(rounds)]
    found = {}
    for number, name in enumerate(ARCHITECTURES):
        ratios = [pinned[number] / free[number] for pinned, free in pairs]
        found[name] = statistics.median(ratios)
        ms = 1e3 * statistics.median(pinned[number] for pinned, _ in pairs)
        spread = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(
            f"kernels, {name}: pinned {found[name]:.2f} x unpinned ({spread}); {ms:.1f} ms a step"
        )
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["steps"]:
        print(json.dumps([steps(name, int(sys.argv[2])) for name in ARCHITECTURES]))
    else:
        main(*map(int, sys.argv[1:]))
