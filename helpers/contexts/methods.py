"""Mosaics, pasting and GradCAM: does a context draw a model to its class?

Answers are read *raw*, as the paper counts; *beside neutral*, less what a neutral ground does (a
uniform map, of GradCAM's); *less other contexts*, less what the contexts of other classes do to the
same class; and *beyond reference*, beside neutral less that of networks without the bias."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import torch

from helpers import explain, models, stats
from helpers.contexts import effects, mosaics, pasting, relevance
from helpers.contexts.controls import NEUTRAL, OTHERS, RAW, pulls
from helpers.data import Collection, ImageSet, world
from helpers.data.collection import Drawn
from helpers.explain import Maps, layers

REFERENCE = "beyond reference"
READINGS = RAW, NEUTRAL, OTHERS, REFERENCE
MEASURE = ["method", "quantity", "reading"]
ROW = [*MEASURE, *effects.IMAGE, "value"]
GROUND = "mean"  # the neutral ground of mosaics and of pasting, as `mosaics.neutral` makes it
LEAST_MAP = 5  # pixels across and down below which a feature map cannot tell object from background


def alone(context_logits: Mapping, ground, classes: Sequence[str]) -> pd.DataFrame:
    """What context images alone, and the neutral ground alone, are taken for: rows as those of
    :func:`pulls`, with the context image as the object. `context_logits` has (T, M, K) by class of
    the context, `ground` (T, 1, K) is the ground's; *logits*: the class's above the others' mean.
    """
    parts, measured = [], {}
    for of, logits in {**context_logits, NEUTRAL: ground}.items():
        z = np.asarray(logits, float)
        above = z - (z.sum(2, keepdims=True) - z) / (len(classes) - 1)
        measured[of] = {"decisions": z.argmax(2)[..., None] == np.arange(z.shape[2])}
        measured[of]["logits"] = above
    for context, quantity in product(context_logits, ("decisions", "logits")):
        k = list(classes).index(context)
        of = {
            name: values[quantity][..., k].astype(float)
            for name, values in measured.items()
        }
        others = np.mean(
            [of[name].mean(1) for name in context_logits if name != context], axis=0
        )
        training, image = np.indices(of[context].shape).reshape(2, -1)
        for reading, less in (
            (RAW, 0.0),
            (NEUTRAL, of[NEUTRAL]),
            (OTHERS, others[:, None]),
        ):
            row = {
                "training": training,
                "object": image,
                "value": (of[context] - less).ravel(),
            }
            row |= {"context_class": context, "object_class": context}
            parts.append(pd.DataFrame(row | {"quantity": quantity, "reading": reading}))
    return pd.concat(parts, ignore_index=True)


def explained(
    model: Sequence, images: ImageSet, layer: str | None = None
) -> list[Maps]:
    """GradCAM's maps of images for their own class, by every training, at the layer or the last
    feature map that can tell where: of `LEAST_MAP` by `LEAST_MAP` pixels or more."""
    layer = layer or layers.last_map(
        model[0], images.images[:1].float() / 255, LEAST_MAP
    )
    arguments = images.images, images.labels, "gradcam"
    return [explain.explain(training, *arguments, layer=layer) for training in model]


def relevances(
    maps: Sequence[torch.Tensor],
    test: ImageSet,
    on_regions: Callable = relevance.on_regions,
) -> pd.DataFrame:
    """What maps (a tensor (N, H, W) a training) put beside each object (`on_regions`), in three
    readings, as :func:`pulls`; the context is that of the image's own class. *Beside neutral* is
    less a uniform map, *less other contexts* less the mean of the other classes' images."""
    parts, neutral = (
        [],
        {"relevance": "area", "peak": "area", "peak above": "area above"},
    )
    for training, each in enumerate(maps):
        table = on_regions(each, test.masks)
        of = pd.DataFrame(
            {"object": range(len(test)), "class": test.table["class"].to_numpy()}
        )
        for quantity, area in neutral.items():
            means = table[quantity].groupby(of["class"]).mean()
            others = of["class"].map((means.sum() - means) / (len(means) - 1))
            for reading, less in ((RAW, 0.0), (NEUTRAL, table[area]), (OTHERS, others)):
                row = {"training": training, "quantity": quantity, "reading": reading}
                parts.append(of.assign(value=table[quantity] - less, **row))
    long = pd.concat(parts, ignore_index=True)
    return long.assign(context_class=long["class"]).rename(
        columns={"class": "object_class"}
    )


def composed(
    networks: Sequence, collection: Collection, *, seed: int, neutral: str = GROUND
) -> pd.DataFrame:
    """What networks answer to mosaics, contexts alone and, where there are masks, composites, all
    beside one neutral ground: rows of :func:`pulls` and :func:`alone`, by method."""
    test, contexts = collection.sets["C"].split("test"), collection.contexts
    classes, ground = collection.classes, mosaics.neutral(test.images, neutral, seed)
    design = mosaics.design(
        test.labels, contexts, classes, with_neutral=True, seed=seed
    )
    stimuli = {
        "mosaics": (
            test,
            design,
            mosaics.batches(design, test.images, contexts, ground),
        )
    }
    if (cut := pasting.objects(collection)) is not None:
        design = pasting.design(collection, seed, with_neutral=True)
        stream = pasting.composites(design, collection, seed=seed, neutral=neutral)
        stimuli["pasting"] = cut, design, stream
    parts = []
    for method, (images, design, stream) in stimuli.items():
        logits = models.logits(networks, images.images), models.logits(networks, stream)
        parts.append(pulls(*logits, design, classes).assign(method=method))
    context_logits = {
        name: models.logits(networks, images) for name, images in contexts.items()
    }
    context = alone(context_logits, models.logits(networks, ground), classes)
    return pd.concat(
        [*parts, context.assign(method="context alone")], ignore_index=True
    )[ROW]


def measured(
    networks: Sequence,
    collection: Collection,
    *,
    layer=None,
    on_regions: Callable = relevance.on_regions,
    **how,
) -> pd.DataFrame:
    """Ask networks by every method about every context: :func:`composed` (which takes `how`), and
    with masks the :func:`relevances` of GradCAM's maps. Lesson 05 hands on its own `on_regions`."""
    test, parts = (
        collection.sets["C"].split("test"),
        [composed(networks, collection, **how)],
    )
    if test.masks is not None:
        maps = [each.maps for each in explained(networks, test, layer)]
        parts.append(relevances(maps, test, on_regions).assign(method="GradCAM")[ROW])
    return pd.concat(parts, ignore_index=True)


def beyond(measured: pd.DataFrame, trainings: int) -> pd.DataFrame:
    """The answers of the first `trainings` networks, and a fourth reading: beside neutral, less
    what the other networks, the reference, answer, training by training and image by image."""
    of_reference = measured["training"] >= trainings
    first, rest = measured[~of_reference], measured[of_reference]
    rest = rest.assign(training=rest["training"] - trainings)
    less = effects.beyond(*(t[t["reading"] == NEUTRAL] for t in (first, rest)))
    return pd.concat([first, less.assign(reading=REFERENCE)]) if len(rest) else first


def answers(measured: pd.DataFrame) -> pd.DataFrame:
    """Each context's effect by each measure with its 95% interval (classes of objects alike), and
    the answer: "more" where the interval is above zero, "less" where it is below, else "no"."""
    keys = ["context_class", *MEASURE]
    groups = measured.groupby(keys, sort=False)
    rows = [(*key, *_mean(part)) for key, part in groups]
    table = pd.DataFrame(rows, columns=[*keys, "effect", "low", "high"])
    answer = np.select([table["low"] > 0, table["high"] < 0], ["more", "less"], "no")
    return table.assign(answer=np.where(table["reading"] == RAW, "", answer))


def overall(measured: pd.DataFrame) -> dict[tuple[str, str, str], stats.Interval]:
    """Each measure's mean over all contexts, by method, quantity and reading."""
    return {
        measure: _mean(part) for measure, part in measured.groupby(MEASURE, sort=False)
    }


def _mean(part: pd.DataFrame) -> stats.Interval:
    """Mean of one measure's values, all pairs alike."""
    _, quantity, reading = part[MEASURE].iloc[0]
    differ = reading != RAW or bool((part["value"] < 0).any())
    return effects.mean(
        effects.grids(part, "value", effects.PAIR), quantity, differ=differ
    )


def exchanged(images: ImageSet, unbiased: ImageSet, share: float) -> ImageSet:
    """Put other contexts behind the last `share` of each class's objects, in each split (section
    4): `unbiased` has the same objects in them."""
    groups = images.table.groupby(["class", "split"])
    last = groups.cumcount() >= (1 - share) * groups["class"].transform("size")
    mixed, chosen = images.images.clone(), torch.tensor(last.to_numpy())
    mixed[chosen] = unbiased.images[chosen]
    contexts = images.table["context"].mask(last, unbiased.table["context"])
    return replace(images, images=mixed, table=images.table.assign(context=contexts))


def changed(biased: Collection, unbiased: Collection, share: float) -> Collection:
    """The collection `biased`, with a part of C :func:`exchanged` in what every training sees."""

    def redraw(name: str, number: int) -> Drawn:
        recipes = [
            collection.redraw(name, number).recipe for collection in (biased, unbiased)
        ]

        def draw() -> tuple[torch.Tensor, ...]:
            selections = ({key: r[key] for key in r if key != "world"} for r in recipes)
            mixed = exchanged(*(world.image_set(**of) for of in selections), share)
            return mixed.to_train().draw()

        return Drawn({"exchanged": [share, *recipes]}, draw)

    mixed = {"C": lambda: exchanged(biased.sets["C"], unbiased.sets["C"], share)}
    return replace(biased, sets=biased.sets | mixed, redraw=redraw)
