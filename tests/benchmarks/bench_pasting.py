"""Pasting in batches against one PIL paste and one forward pass at a time: 300 composites.

    python tests/benchmarks/bench_pasting.py [rounds]

Prints one line a ratio. The routes alternate, one thread, and the median over the rounds counts.
The forward passes in batches bound it: they are about 85% of what pasting and scoring cost, and
batches larger than 64 are at most 6% faster. How large the ratio is depends on the machine: one
pass at a time reads all weights for every image, which costs most where others use the caches too.
"""

import helpers  # noqa: F401  before torch and numpy: it pins the kernels

# ruff: isort: split
import statistics
import sys
import time

import numpy as np
import torch
from PIL import Image, ImageFilter

from helpers import models
from helpers.contexts import mosaics, pasting
from helpers.worlds import pictures

CLASSES = pictures.CLASSES


def inputs(size: int = 96):
    """The world's objects on white with their masks, and contexts of noise."""
    made = pictures.make("WB", per_class=25, size=size)
    images = torch.from_numpy(made.images).permute(0, 3, 1, 2).contiguous()
    draw = torch.Generator().manual_seed(0)
    shape = (25, 3, size, size)
    contexts = {
        name: torch.randint(0, 256, shape, dtype=torch.uint8, generator=draw) for name in CLASSES
    }
    labels = torch.arange(4).repeat_interleave(25)
    design = mosaics.design(labels, contexts, CLASSES, per_context=1, controls=())
    return design, images, torch.from_numpy(made.masks), contexts


def batched(model, design, cutouts, contexts, settings):
    """The suite's way, the objects being cut out."""
    stream = pasting.batches(design, cutouts, contexts, **settings)
    return torch.cat([model(batch) for batch in stream])


def cut_too(model, design, images, masks, contexts, settings):
    """The suite's way, cutting included: the white taken out of the edges of 100 objects."""
    return batched(model, design, pasting.cut(images, masks), contexts, settings)


def scored(model, stack):
    """The forward passes alone, of composites that are there already."""
    return torch.cat([model(batch) for batch in stack])


def plain(model, design, images, masks, contexts, settings):
    """The plain way: PIL resizes, softens and pastes by the mask; one forward pass a composite."""
    scale, found = settings["scale"], []
    size = round(images.shape[-1] * scale)
    for row in design.itertuples():
        ground = pil(contexts[row.context_class][row.context].permute(1, 2, 0))
        thing = pil(images[row.object].permute(1, 2, 0))
        mask = pil(masks[row.object].to(torch.uint8) * 255)
        if scale != 1:
            thing, mask = (part.resize((size, size)) for part in (thing, mask))
        mask = mask.filter(ImageFilter.GaussianBlur(0.5))
        free = ground.width - size
        ground.paste(thing, (free // 2, free // 2), mask)
        found.append(model(torch.from_numpy(np.array(ground)).permute(2, 0, 1)[None]))
    return torch.cat(found)


def pil(array: torch.Tensor) -> Image.Image:
    return Image.fromarray(array.contiguous().numpy())


def seconds(route, *args) -> float:
    start = time.process_time()  # of this thread's work, whatever else the machine does
    route(*args)
    return time.process_time() - start


@torch.inference_mode()
def main(rounds: int = 9) -> None:
    torch.set_num_threads(1)
    model = models.build("alexnet-quarter", len(CLASSES)).eval()
    design, images, masks, contexts = inputs()
    cutouts = pasting.cut(images, masks)
    cases = {
        "as they were": {"scale": 1.0},
        "smaller": {"scale": 0.7},
    }
    for name, settings in cases.items():
        ratios = {"pasted and scored": [], "cut, pasted and scored": [], "scored only": []}
        stack = list(pasting.batches(design, cutouts, contexts, **settings))
        routes = (
            (batched, cutouts, contexts, settings),
            (cut_too, images, masks, contexts, settings),
        )
        for _ in range(rounds):
            alone = seconds(plain, model, design, images, masks, contexts, settings)
            ours = [seconds(route, model, design, *given) for route, *given in routes]
            ours.append(seconds(scored, model, stack))
            for found, spent in zip(ratios.values(), ours, strict=True):
                found.append(alone / spent)
        said = ", ".join(f"{what} {statistics.median(r):.1f}" for what, r in ratios.items())
        print(
            f"300 composites, {name}, times as fast as one PIL paste and one forward pass at a "
            f"time: {said} (the bound). PIL does not take the white out of the edges."
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
