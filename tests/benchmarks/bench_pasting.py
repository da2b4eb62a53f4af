"""Pasting in batches against one PIL paste and one forward pass at a time: 300 composites.

    python tests/benchmarks/bench_pasting.py [rounds]

Prints one line a ratio. The routes alternate, one thread, and the median over the rounds counts.
"""

import statistics
import sys
import time

import numpy as np
import torch
from PIL import Image

from helpers import models, pasting, world

CLASSES = world.CLASSES


def inputs(size: int = 96):
    """The world's objects on white with their masks, and contexts of noise."""
    made = world.make("WB", per_class=25, size=size)
    images = torch.from_numpy(made.images).permute(0, 3, 1, 2).contiguous()
    draw = torch.Generator().manual_seed(0)
    shape = (25, 3, size, size)
    contexts = {
        name: torch.randint(0, 256, shape, dtype=torch.uint8, generator=draw) for name in CLASSES
    }
    labels = torch.arange(4).repeat_interleave(25)
    design = pasting.design(labels, contexts, CLASSES, controls=False)
    return design, images, torch.from_numpy(made.masks), contexts


def batched(model, design, images, masks, contexts, **settings):
    """The suite's way: cut, paste and score, all of it."""
    cutouts = pasting.cut(images, masks)
    stream = pasting.batches(design, cutouts, contexts, **settings)
    return torch.cat([model(batch) for batch in stream])


def plain(model, design, images, masks, contexts):
    """The plain way: paste with PIL by the mask, one forward pass a composite."""
    found = []
    for row in design.itertuples():
        ground = Image.fromarray(
            contexts[row.context_class][row.context].permute(1, 2, 0).contiguous().numpy()
        )
        thing = Image.fromarray(images[row.object].permute(1, 2, 0).contiguous().numpy())
        ground.paste(thing, (0, 0), Image.fromarray(masks[row.object].numpy()))
        found.append(model(torch.from_numpy(np.array(ground)).permute(2, 0, 1)[None]))
    return torch.cat(found)


def seconds(route, *args, **settings) -> float:
    start = time.perf_counter()
    route(*args, **settings)
    return time.perf_counter() - start


@torch.inference_mode()
def main(rounds: int = 7) -> None:
    torch.set_num_threads(1)
    model = models.build("alexnet-quarter", len(CLASSES)).eval()
    given = (model, *inputs())
    routes = {"as they were": {}, "smaller, anywhere": {"scale": 0.7, "position": "random"}}
    batched(*given)  # warm
    ratios = {name: [] for name in routes}
    for _ in range(rounds):
        one_by_one = seconds(plain, *given)
        for name, settings in routes.items():
            ratios[name].append(one_by_one / seconds(batched, *given, **settings))
    for name, found in ratios.items():
        print(
            f"300 composites cut, pasted and scored, {name}: {statistics.median(found):.1f} times "
            "as fast as one PIL paste and one forward pass at a time (target 5)"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
