"""Measure effects of contexts on predictions, by mosaics, pasting and GradCAM.

Each effect is compared in up to four ways. *Raw* is what the paper counts. *Minus
neutral baseline* subtracts the effect of a neutral background (for GradCAM, of a
uniform map). *Minus other contexts* subtracts the effect of the contexts of other
classes. *Minus control model* subtracts, from *minus neutral baseline*, the same effect
in a control model, which was trained without the bias.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import explain, models, stats
from helpers.contexts import cutting, mosaics, pasting, relevance
from helpers.data import Collection, ImageSet
from helpers.data.images import Images
from helpers.explain import layers
from helpers.stats.means import unit_grids
from helpers.synthetic_data import pictures

RAW = "raw"
NEUTRAL = "minus neutral baseline"
OTHERS = "minus other contexts"
CONTROL = "minus control model"
MEASURE = ["method", "quantity", "comparison"]
IMAGE = ["run", "context_class", "object_class", "object"]
ROW = [*MEASURE, *IMAGE, "value"]
# measures of a map, with the column of `on_regions` that a uniform map would have
AREAS = {"relevance": "area", "peak": "area", "peak above": "area above"}
LEAST_MAP = 5  # pixels; a smaller feature map cannot separate object and background


def measured(
    networks: Sequence,
    collection: Collection,
    *,
    seed: int,
    neutral: str = "mean",
    layer: str | None = None,
    on_regions: Callable = relevance.on_regions,
) -> pd.DataFrame:
    """Measure the effect of every context by every method.

    Parameters
    ----------
    networks : sequence of torch.nn.Module
        The training runs.
    collection : Collection
    seed : int
        Random seed of the mosaics and composites.
    neutral : str
        The neutral background, see :func:`mosaics.neutral`.
    layer : str, optional
        The layer of GradCAM, see :func:`layer_of_maps`.
    on_regions : callable
        The measures of a map, from lesson 05.

    Returns
    -------
    pandas.DataFrame
        The columns `ROW`: one row per method, quantity, comparison, run, context and
        object image. GradCAM has rows only if the test images of C have masks.
    """
    parts = [composed(networks, collection, seed=seed, neutral=neutral)]
    test = collection.sets["C"].split("test")
    if test.masks is not None:
        maps = gradcam_maps(networks, test, layer)
        located = locate_relevance(maps, test, on_regions)
        parts.append(background_relevance(located))
    return pd.concat(parts, ignore_index=True)


def composed(
    networks: Sequence, collection: Collection, *, seed: int, neutral: str = "mean"
) -> pd.DataFrame:
    """Measure mosaics, contexts alone and, with masks, composites.

    Takes and returns what :func:`measured` does.
    """
    test = collection.sets["C"].split("test")
    contexts = collection.contexts
    classes = collection.classes
    ground = mosaics.neutral(test.images, neutral, seed)
    parts = {}

    design = mosaics.design(
        test.labels, contexts, classes, with_neutral=True, seed=seed
    )
    single = models.logits(networks, test.images)
    made = mosaics.batches(design, test.images, contexts, ground)
    made = models.logits(networks, made)
    parts["mosaics"] = context_effects_on_objects(single, made, design, classes)

    objects = pasting.objects(collection)
    if objects is not None:
        design = mosaics.design(
            objects.labels,
            contexts,
            classes,
            per_context=1,
            with_neutral=True,
            seed=seed,
        )
        cutouts = cutting.cut(objects.images, objects.masks)
        single = models.logits(networks, objects.images)
        made = pasting.composites(design, cutouts, contexts, neutral=ground)
        made = models.logits(networks, made)
        parts["pasting"] = context_effects_on_objects(single, made, design, classes)

    context_logits = {
        name: models.logits(networks, images) for name, images in contexts.items()
    }
    neutral_logits = models.logits(networks, ground)
    parts["context alone"] = alone(context_logits, neutral_logits, classes)
    table = pd.concat(parts, names=["method"])
    table = table.reset_index("method")
    return table[ROW].dropna()


def context_effects_on_objects(
    single, made, design: pd.DataFrame, classes: Sequence[str]
) -> pd.DataFrame:
    """Measure what each context changes for each object image of another class.

    Parameters
    ----------
    single : array of float (T, N, K)
        Logits of T training runs for the N single images.
    made : array of float (T, R, K)
        Logits for mosaics or composites, by the rows of `design`.
    design : pandas.DataFrame
        See :func:`mosaics.design`.
    classes : sequence of str
        The classes in the order of the logits.

    Returns
    -------
    pandas.DataFrame
        One row per run, context (by its class), object image, quantity and comparison.
        *decisions* are 1 where the context's class has the highest logit. *flips* are 1
        where it has a higher logit than the object's class. *logits* are its logit
        minus the object's, over sqrt 2, and *raw* is their change since the single
        image.
    """
    single = np.asarray(single, float)
    made = np.asarray(made, float)
    is_context = design["context_class"] != mosaics.NEUTRAL
    parts = []
    for context in design.loc[is_context, "context_class"].unique():
        rows = design[design["object_class"] != context]
        logits = made[:, rows.index]
        margins = _margins(logits, rows["object_class"], context, classes)
        of_single = single[:, rows["object"]]
        single_margins = _margins(of_single, rows["object_class"], context, classes)
        quantities = {
            "decisions": logits.argmax(2) == classes.index(context),
            "flips": margins > 0,
            "logits": margins - single_margins,
        }
        n_runs = len(made)
        table = pd.concat([rows] * n_runs, keys=range(n_runs), names=["run"])
        next_to = {mosaics.NEUTRAL: NEUTRAL, context: RAW}
        table["next_to"] = table["context_class"].map(next_to).fillna(OTHERS)
        keys = ["run", "object_class", "object"]
        for quantity, values in quantities.items():
            table["value"] = values.ravel().astype(float)
            means = table.pivot_table("value", keys, "next_to")
            part = _minus_baselines(means)
            part["quantity"] = quantity
            part["context_class"] = context
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _minus_baselines(means: pd.DataFrame) -> pd.DataFrame:
    """Return one row per comparison: `RAW`, and `RAW` minus each other column."""
    raw = means[RAW]
    baselines = means.drop(columns=RAW)
    differences = baselines.rsub(raw, axis=0)
    effects = raw.to_frame().join(differences)
    effects = effects.melt(var_name="comparison", ignore_index=False)
    return effects.reset_index()


def _margins(
    logits: np.ndarray, object_class: pd.Series, context: str, classes: Sequence[str]
) -> np.ndarray:
    """Return the logit of a context's class minus the object's logit, over sqrt 2."""
    columns = pd.Index(classes).get_indexer(object_class)
    of_object = logits[:, np.arange(len(columns)), columns]
    return (logits[..., classes.index(context)] - of_object) / np.sqrt(2)


def alone(
    context_logits: Mapping, neutral_logits, classes: Sequence[str]
) -> pd.DataFrame:
    """Measure the effect of context images without an object.

    Parameters
    ----------
    context_logits : mapping of str to array (T, M, K)
        Logits of T runs for the M images of each context, by the context's class.
    neutral_logits : array (T, 1, K)
        Logits for the neutral background.
    classes : sequence of str
        The classes in the order of the logits.

    Returns
    -------
    pandas.DataFrame
        As of :func:`context_effects_on_objects`, where the context image takes the
        place of the object. *logits* is the logit of the context's class minus the mean
        of the other logits.
    """
    quantities = {"decisions": _is_highest, "logits": _above_others}
    parts = []
    for context in context_logits:
        k = classes.index(context)
        for quantity, measure in quantities.items():
            values = {
                name: measure(logits, k) for name, logits in context_logits.items()
            }
            of_context = pd.DataFrame(values[context])
            of_context = of_context.rename_axis(index="run", columns="object")
            table = of_context.stack().to_frame(RAW)
            run = table.index.get_level_values("run")
            means = pd.DataFrame({name: values[name].mean(axis=1) for name in values})
            others = means.drop(columns=context).mean(axis=1)
            table[NEUTRAL] = measure(neutral_logits, k)[run, 0]
            table[OTHERS] = others[run].to_numpy()
            part = _minus_baselines(table)
            part["quantity"] = quantity
            part["context_class"] = context
            part["object_class"] = context
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _is_highest(logits, k: int) -> np.ndarray:
    """Return 1 where class `k` has the highest logit, and 0 elsewhere."""
    highest = np.asarray(logits).argmax(axis=-1)
    return (highest == k).astype(float)


def _above_others(logits, k: int) -> np.ndarray:
    """Return the logit of class `k` minus the mean of the other logits."""
    logits = np.asarray(logits, float)
    of_class = logits[..., k]
    others = logits.sum(axis=-1) - of_class
    return of_class - others / (logits.shape[-1] - 1)


def layer_of_maps(network: nn.Module, images: ImageSet, layer: str | None) -> str:
    """Return the layer of GradCAM.

    Without a `layer`, it is the one that gives the last feature map of at least
    `LEAST_MAP` by `LEAST_MAP` pixels.
    """
    return layer or layers.last_map(network, images.images, LEAST_MAP)


def gradcam_maps(
    networks: Sequence, images: ImageSet, layer: str | None = None
) -> list[torch.Tensor]:
    """Compute GradCAM maps of images for their own class, for every training run.

    They are float32 (N, H, W). `layer_of_maps` says what `layer` means.
    """
    layer = layer_of_maps(networks[0], images, layer)
    return [
        explain.explain(network, images.images, images.labels, "gradcam", layer=layer)
        for network in networks
    ]


def locate_relevance(
    maps: Sequence[torch.Tensor],
    images: ImageSet,
    on_regions: Callable = relevance.on_regions,
) -> pd.DataFrame:
    """Measure where the relevance of maps lies, with one row per run and image.

    Parameters
    ----------
    maps : sequence of torch.Tensor (N, H, W)
        The maps of each training run.
    images : ImageSet
        The N images.
    on_regions : callable
        The measures of a map, from lesson 05.

    Returns
    -------
    pandas.DataFrame
        The columns ``run``, ``object``, ``object_class`` and the columns of
        `on_regions`. The table is empty if the objects have no masks.
    """
    masks = images.masks
    if masks is None:
        maps = [maps_of_run[:0] for maps_of_run in maps]
        masks = torch.zeros_like(maps[0], dtype=torch.bool)
    parts = []
    for run, maps_of_run in enumerate(maps):
        part = on_regions(maps_of_run, masks).rename_axis("object").reset_index()
        part.insert(0, "run", run)
        part.insert(2, "object_class", images.table["class"])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def background_relevance(located: pd.DataFrame) -> pd.DataFrame:
    """Compare the relevance around objects, from :func:`locate_relevance`.

    The context is the one of the image's own class. *Minus neutral baseline* subtracts
    a uniform map, *minus other contexts* the mean over images of the other classes.
    Returns the columns `ROW`.
    """
    rows = located.assign(method="GradCAM", context_class=located["object_class"])
    keys = ["method", *IMAGE]
    by_class = ["run", "object_class"]
    parts = []
    for quantity, area in AREAS.items():
        means = located.groupby(by_class)[quantity].mean()
        means_by_run = means.groupby("run")
        total = means_by_run.transform("sum")
        n_others = means_by_run.transform("size") - 1
        others = (total - means) / n_others
        table = rows[keys].assign(quantity=quantity)
        table[RAW] = located[quantity]
        table[NEUTRAL] = located[area]
        joined = located.join(others.rename("others"), on=by_class)
        table[OTHERS] = joined["others"]
        table = table.set_index([*keys, "quantity"])
        parts.append(_minus_baselines(table))
    return pd.concat(parts, ignore_index=True)[ROW]


def minus_control(measured: pd.DataFrame, runs: int) -> pd.DataFrame:
    """Add the comparison with a control model, whose networks follow the first `runs`.

    The control's effect minus the neutral baseline is subtracted run by run and image
    by image. The control's own rows are dropped.
    """
    is_control = measured["run"] >= runs
    is_neutral = measured["comparison"] == NEUTRAL
    model = measured[~is_control]
    control = measured[is_control & is_neutral]
    control = control.assign(run=control["run"] - runs)
    keys = [*MEASURE, *IMAGE]
    both = model.merge(control, on=keys, suffixes=("", "_of_control"))
    both["value"] -= both["value_of_control"]
    return pd.concat([model, both.assign(comparison=CONTROL)[ROW]])


def context_effects(measured: pd.DataFrame) -> pd.DataFrame:
    """Average each context's effect by each measure, with a 95% interval.

    Object classes count equally. `direction` is "more" where the interval lies above
    zero, "less" where it lies below, and "not significant" elsewhere. It is empty for
    raw effects.
    """
    keys = ["context_class", *MEASURE]
    rows = [(*key, *_mean(part)) for key, part in measured.groupby(keys, sort=False)]
    table = pd.DataFrame(rows, columns=[*keys, "effect", "low", "high"])
    table["direction"] = np.select(
        [table["comparison"] == RAW, table["low"] > 0, table["high"] < 0],
        ["", "more", "less"],
        "not significant",
    )
    return table


def _mean(part: pd.DataFrame) -> stats.Interval:
    """Average one measure of one context; object classes count equally."""
    grids = unit_grids(part, "value", ["run", "object"], "object_class")
    if not grids:
        return stats.Interval(np.nan, np.nan, np.nan)
    is_share = part["quantity"].iloc[0] != "logits"
    is_difference = part["comparison"].iloc[0] != RAW
    if is_share and not is_difference:
        return stats.share(grids)
    return stats.mean(grids, shares=is_share).interval()


def with_weaker_bias(images: Images, share: float) -> Images:
    """Assign the contexts of a share of the synthetic images at random (section 4)."""
    strengths = pictures.sets.strengths(images.context_bias)
    by_chance = 1 / len(strengths)
    weaker = {
        name: (1 - share) * strength + share * by_chance
        for name, strength in strengths.items()
    }
    return replace(images, context_bias=weaker)
