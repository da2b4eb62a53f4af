"""Less bias by other training images: what the paper advises, and masks (section 4).

Every model is trained on as many images of the same objects; what is behind some is exchanged.
"""

from dataclasses import replace

import torch

from helpers.contexts import mosaics
from helpers.data import Collection, ImageSet, world
from helpers.data.collection import Drawn

CONTEXTS, MASKED = WAYS = "other contexts", "masked"


def exchanged(images: ImageSet, unbiased: ImageSet, way: str, share: float) -> ImageSet:
    """Put something else behind the last `share` of each class's objects, in each split.

    `images` and `unbiased` are C of one seed of the world at two doses of bias: the same objects,
    in other contexts. `way` is "other contexts" (the image of `unbiased` is taken) or "masked" (the
    object is kept alone, on shuffled pixels of all images, with the context "").
    """
    groups = images.table.groupby(["class", "split"])
    last = groups.cumcount() >= (1 - share) * groups["class"].transform("size")
    chosen, contexts = torch.tensor(last.to_numpy()), unbiased.table["context"]
    if way == CONTEXTS:
        new = unbiased.images[chosen]
    else:
        noise = mosaics.neutral(images.images, "shuffled")[0]
        grounds = [noise.roll((5 * i, 7 * i), (1, 2)) for i in range(int(chosen.sum()))]
        new = torch.where(images.masks[chosen, None], images.images[chosen], torch.stack(grounds))
        contexts = ""
    mixed = images.images.clone()
    mixed[chosen] = new
    table = images.table.assign(context=images.table["context"].mask(last, contexts))
    return replace(images, images=mixed, table=table)


def changed(biased: Collection, unbiased: Collection, way: str, share: float) -> Collection:
    """The collection `biased`, with a part of C :func:`exchanged` in what every training sees."""

    def redraw(name: str, number: int) -> Drawn:
        recipes = [collection.redraw(name, number).recipe for collection in (biased, unbiased)]

        def draw() -> tuple[torch.Tensor, ...]:
            given = ({key: r[key] for key in r if key != "world"} for r in recipes)
            mixed = exchanged(*(world.image_set(**of) for of in given), way, share)
            parts = [mixed.split(split) for split in ("train", "val")]
            return tuple(tensor for part in parts for tensor in (part.images, part.labels))

        return Drawn({"exchanged": [way, share, *recipes]}, draw)

    mixed = exchanged(biased.sets["C"], unbiased.sets["C"], way, share)
    return replace(biased, sets=biased.sets | {"C": mixed}, redraw=redraw)
