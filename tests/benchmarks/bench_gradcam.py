"""GradCAM of 400 images against the bare passes it cannot do without.

    python tests/benchmarks/bench_gradcam.py [rounds]

Bare: forward to the logits, backward from the target's logit to the same layer. Prints one line a
network. The routes alternate, one thread, and the median over the rounds counts.
"""

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import statistics
import sys
import time

import torch

from helpers import explain, models
from helpers.contexts import background
from helpers.explain import layers

CASES = (("alexnet-quarter", 96), ("squeezenet1_0", 224))


def bare(model, images, targets, layer, batch_size=32):
    """Forward and backward passes to the layer's output, nothing else."""
    kept = []
    hook = layers.named(model, layer).register_forward_hook(lambda _, __, out: kept.append(out))
    for batch, wanted in zip(images.split(batch_size), targets.split(batch_size), strict=True):
        kept.clear()
        logits = model((batch.float() / 255).requires_grad_())
        torch.autograd.grad(logits.gather(1, wanted[:, None]).sum(), kept[0])
    hook.remove()


def seconds(route, *args) -> float:
    start = time.process_time()  # of this thread's work, whatever else the machine does
    route(*args)
    return time.process_time() - start


def ours(model, images, targets, layer):
    explain.explain(model, images, targets, "gradcam", layer=layer)


def main(rounds: int = 5) -> None:
    torch.set_num_threads(1)
    for name, size in CASES:
        model = models.build(name, 4).eval().requires_grad_(False)
        draw = torch.Generator().manual_seed(0)
        images = torch.randint(0, 256, (400, 3, size, size), dtype=torch.uint8, generator=draw)
        given = (model, images, torch.arange(400) % 4, background.layer_for(model, images))
        ours(*given)  # warm
        ratios = [seconds(ours, *given) / seconds(bare, *given) for _ in range(rounds)]
        print(
            f"GradCAM of 400 images, {name} at {size} px, layer {given[-1]}: "
            f"{statistics.median(ratios):.2f} x bare forward and backward passes (target 1.3)"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
