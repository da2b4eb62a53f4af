"""Effects of contexts on a model's predictions, by mosaics, pasting and GradCAM.

Each effect is compared in up to four ways. *Raw* is what the paper counts. *Minus
neutral baseline* subtracts the effect of a neutral background (for GradCAM, of a
uniform map). *Minus other contexts* subtracts the effect of the contexts of other
classes. *Minus control model* subtracts, from *minus neutral baseline*, the same effect
in a control model, which was trained without the bias.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import torch

from helpers import explain, models, stats
from helpers.contexts import cutting, effects, mosaics, pasting, relevance
from helpers.contexts.controls import NEUTRAL, OTHERS, RAW, pulls
from helpers.data import Collection, ImageSet, world
from helpers.data.collection import TrainingImages
from helpers.explain import Maps, layers

CONTROL = "minus control model"
COMPARISONS = RAW, NEUTRAL, OTHERS, CONTROL
MEASURE = ["method", "quantity", "comparison"]
ROW = [*MEASURE, *effects.IMAGE, "value"]
GROUND = "mean"  # neutral background of mosaics and pasting (`mosaics.neutral`)
LEAST_MAP = 5  # pixels; a smaller feature map cannot separate object and background


def alone(context_logits: Mapping, ground, classes: Sequence[str]) -> pd.DataFrame:
    """Measure the effect of context images without an object, as rows of :func:`pulls`.

    Parameters
    ----------
    context_logits : mapping of str to array (T, M, K)
        Logits of T runs for the M images of each context, by the context's class.
    ground : array (T, 1, K)
        Logits for the neutral background.

    Returns
    -------
    pandas.DataFrame
        The context image takes the place of the object. *logits* is the logit of the
        context's class minus the mean of the other logits.
    """
    quantities = {"decisions": {}, "logits": {}}  # each by context, and for the ground
    for name, logits in {**context_logits, NEUTRAL: ground}.items():
        logits = np.asarray(logits, float)
        others = (logits.sum(2, keepdims=True) - logits) / (len(classes) - 1)
        decided = logits.argmax(2)[..., None] == np.arange(len(classes))
        quantities["decisions"][name] = decided.astype(float)
        quantities["logits"][name] = logits - others
    parts = []
    for context, quantity in product(context_logits, quantities):
        place = list(classes).index(context)
        values = {n: part[..., place] for n, part in quantities[quantity].items()}
        means = [values[name].mean(1) for name in context_logits if name != context]
        others = np.mean(means, axis=0)[:, None]
        run, image = np.indices(values[context].shape).reshape(2, -1)
        table = pd.DataFrame(
            {
                "run": run,
                "object": image,
                "context_class": context,
                "object_class": context,
                "quantity": quantity,
            }
        )
        baselines = {
            RAW: 0.0,
            NEUTRAL: values[NEUTRAL],
            OTHERS: others,
        }
        for comparison, baseline in baselines.items():
            effect = (values[context] - baseline).ravel()
            parts.append(table.assign(comparison=comparison, value=effect))
    return pd.concat(parts, ignore_index=True)


def explained(
    model: Sequence, images: ImageSet, layer: str | None = None
) -> list[Maps]:
    """Compute GradCAM maps of images for their own class, for every training run.

    Without a `layer`, maps come from the last feature map of at least `LEAST_MAP` by
    `LEAST_MAP` pixels.
    """
    layer = layer or layers.last_map(
        model[0], images.images[:1].float() / 255, LEAST_MAP
    )
    arguments = images.images, images.labels, "gradcam"
    return [explain.explain(network, *arguments, layer=layer) for network in model]


def relevances(
    maps: Sequence[torch.Tensor],
    test: ImageSet,
    on_regions: Callable = relevance.on_regions,
) -> pd.DataFrame:
    """Measure the relevance around each object, as rows of :func:`pulls`.

    `maps` has one tensor (N, H, W) per run. The context is the one of the image's own
    class. *Minus neutral baseline* subtracts a uniform map, *minus other contexts* the
    mean over images of the other classes.
    """
    uniform = {
        "relevance": "area",
        "peak": "area",
        "peak above": "area above",
    }
    classes = test.table["class"].to_numpy()
    parts = []
    for run, each in enumerate(maps):
        table = on_regions(each, test.masks)
        rows = pd.DataFrame(
            {
                "run": run,
                "object": range(len(test)),
                "context_class": classes,
                "object_class": classes,
            }
        )
        for quantity, area in uniform.items():
            means = table[quantity].groupby(classes).mean()
            others = (means.sum() - means) / (len(means) - 1)
            baselines = {
                RAW: 0.0,
                NEUTRAL: table[area],
                OTHERS: rows["object_class"].map(others),
            }
            for comparison, baseline in baselines.items():
                part = rows.assign(quantity=quantity, comparison=comparison)
                parts.append(part.assign(value=table[quantity] - baseline))
    return pd.concat(parts, ignore_index=True)


def composed(
    networks: Sequence, collection: Collection, *, seed: int, neutral: str = GROUND
) -> pd.DataFrame:
    """Measure mosaics, contexts alone and, with masks, composites.

    All are compared with one neutral background, a name for `mosaics.neutral`.
    Returns rows of :func:`pulls` and :func:`alone`, by method.
    """
    test = collection.sets["C"].split("test")
    contexts = collection.contexts
    classes = collection.classes
    ground = mosaics.neutral(test.images, neutral, seed)
    design = mosaics.design(
        test.labels, contexts, classes, with_neutral=True, seed=seed
    )
    stream = mosaics.batches(design, test.images, contexts, ground)
    cases = [("mosaics", test, design, stream)]
    objects = pasting.objects(collection)
    if objects is not None:
        design = pasting.design(objects, contexts, with_neutral=True, seed=seed)
        cutouts = cutting.cut(objects.images, objects.masks)
        composites = pasting.composites(design, cutouts, contexts, neutral=ground)
        cases.append(("pasting", objects, design, composites))
    parts = []
    for method, images, design, stream in cases:
        single = models.logits(networks, images.images)
        made = models.logits(networks, stream)
        parts.append(pulls(single, made, design, classes).assign(method=method))
    context_logits = {
        name: models.logits(networks, images) for name, images in contexts.items()
    }
    context = alone(context_logits, models.logits(networks, ground), classes)
    parts.append(context.assign(method="context alone"))
    return pd.concat(parts, ignore_index=True)[ROW]


def measured(
    networks: Sequence,
    collection: Collection,
    *,
    layer=None,
    on_regions: Callable = relevance.on_regions,
    **how,
) -> pd.DataFrame:
    """Measure the effect of every context by every method.

    Joins :func:`composed` (which takes `how`) and, with masks, :func:`relevances` of
    GradCAM maps. Lesson 05 passes its own `on_regions`.
    """
    test = collection.sets["C"].split("test")
    parts = [composed(networks, collection, **how)]
    if test.masks is not None:
        maps = [each.maps for each in explained(networks, test, layer)]
        parts.append(relevances(maps, test, on_regions).assign(method="GradCAM")[ROW])
    return pd.concat(parts, ignore_index=True)


def minus_control(measured: pd.DataFrame, runs: int) -> pd.DataFrame:
    """Add the comparison with a control model, whose networks follow the first `runs`.

    The control's effect minus the neutral baseline is subtracted run by run and image
    by image. The control's own rows are dropped.
    """
    of_control = measured["run"] >= runs
    model, control = measured[~of_control], measured[of_control]
    if control.empty:
        return model
    control = control.assign(run=control["run"] - runs)
    difference = effects.subtract(
        model[model["comparison"] == NEUTRAL], control[control["comparison"] == NEUTRAL]
    )
    return pd.concat([model, difference.assign(comparison=CONTROL)])


def context_effects(measured: pd.DataFrame) -> pd.DataFrame:
    """Average each context's effect by each measure, with a 95% interval.

    Object classes count equally. `direction` is "more" where the interval lies above
    zero, "less" where it lies below, and "not significant" elsewhere. It is empty for
    raw effects.
    """
    keys = ["context_class", *MEASURE]
    groups = measured.groupby(keys, sort=False)
    rows = [(*key, *_mean(part)) for key, part in groups]
    table = pd.DataFrame(rows, columns=[*keys, "effect", "low", "high"])
    direction = np.select(
        [table["low"] > 0, table["high"] < 0], ["more", "less"], "not significant"
    )
    return table.assign(direction=np.where(table["comparison"] == RAW, "", direction))


def overall(measured: pd.DataFrame) -> dict[tuple[str, str, str], stats.Interval]:
    """Average each measure over all contexts, by method, quantity and comparison."""
    return {
        measure: _mean(part) for measure, part in measured.groupby(MEASURE, sort=False)
    }


def _mean(part: pd.DataFrame) -> stats.Interval:
    """Average one measure; all pairs count equally."""
    _, quantity, comparison = part[MEASURE].iloc[0]
    differ = comparison != RAW or bool((part["value"] < 0).any())
    return effects.mean(
        effects.grids(part, "value", effects.PAIR), quantity, differ=differ
    )


def exchanged(images: ImageSet, unbiased: ImageSet, share: float) -> ImageSet:
    """Exchange the contexts of the last `share` of each class's objects (section 4).

    This is done in each split. `unbiased` has the same objects in other contexts.
    """
    groups = images.table.groupby(["class", "split"])
    last = groups.cumcount() >= (1 - share) * groups["class"].transform("size")
    mixed, chosen = images.images.clone(), torch.tensor(last.to_numpy())
    mixed[chosen] = unbiased.images[chosen]
    contexts = images.table["context"].mask(last, unbiased.table["context"])
    return replace(images, images=mixed, table=images.table.assign(context=contexts))


def changed(biased: Collection, unbiased: Collection, share: float) -> Collection:
    """Return `biased` with a part of C :func:`exchanged`, for every training run."""

    def redraw(name: str, number: int) -> TrainingImages:
        recipes = [
            biased.redraw(name, number).recipe,
            unbiased.redraw(name, number).recipe,
        ]

        def draw() -> tuple[torch.Tensor, ...]:
            sets = []
            for recipe in recipes:
                selection = {key: recipe[key] for key in recipe if key != "world"}
                sets.append(world.image_set(**selection))
            return exchanged(*sets, share).to_train().draw()

        return TrainingImages({"exchanged": [share, *recipes]}, draw)

    mixed = {"C": exchanged(biased.sets["C"], unbiased.sets["C"], share)}
    return replace(biased, sets=biased.sets | mixed, redraw=redraw)
