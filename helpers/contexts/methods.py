"""Mosaics, pasting and GradCAM: does a context draw the model to its class, and less by mitigation?

Readings are *raw*, as the paper counts; *beside neutral*, less what a neutral image does (GradCAM:
a uniform map); and *beyond reference*, less that of trainings that learned no bias.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from helpers import data, explain, stats
from helpers.contexts import background, effects, mosaics, pasting
from helpers.data import Collection, ImageSet, world
from helpers.data.collection import Drawn
from helpers.data.images import Images
from helpers.models import experiment
from helpers.models.recipe import Recipe
from helpers.store import progress

READINGS = RAW, NEUTRAL, REFERENCE = "raw", "beside neutral", "beyond reference"
MEASURE = ["method", "quantity", "reading"]
# A quantity's columns, raw and beside neutral: in `effects.per_image` and `background.relevance`.
DECISIONS = {"decisions": ("taken_share", "taken_effect")}
LOGITS = {"logits": ("drop", "context_effect")}
EXCHANGES = OTHER_CONTEXTS, MASKED = (
    "other contexts",
    "masked",
)  # behind objects of the training images
QUANTITIES = {
    "mosaics": DECISIONS | {"flips": ("flip_share", "flip_effect")} | LOGITS,
    "pasting": DECISIONS | LOGITS,
    "GradCAM": {"relevance": ("share", "excess"), "peak": ("peak", "peak_excess")},
}


def measured(
    model,
    collection: Collection,
    images: Images,
    seed: int,
    *,
    reference: Sequence | None = None,
    per_context: int = 5,
    neutral: str = "shuffled",
    maps: Sequence[explain.Maps] | None = None,
) -> pd.DataFrame:
    """Ask every method about a model: one row a measure, context, training and object image.

    Quantities: *decisions* (the highest logit is that of the context's class: the paper's count for
    pasting), *flips* (that logit is above the object's: its count for mosaics), *logits* (how far
    the image moves to the context's class), and of GradCAM's maps *relevance* (its share on the
    background) and *peak* (its largest pixel is there). `maps` may be made already; dose is the
    share of C's images in their class's own context, planted that of the context's class.
    """
    reference = list(reference or [])
    both, test = [*model, *reference], collection.sets["C"].split("test")
    partner = {neutral: mosaics.neutral(test.images, neutral, seed)}
    drawn = {"per_context": per_context, "seed": seed, "controls": ["neutral"]}
    tables = {"mosaics": mosaics.ask(both, test, collection.contexts, partner, **drawn)[neutral]}
    if (pasted := pasting.ask(both, collection, seed=seed)) is not None:
        tables["pasting"] = pasted
    if test.masks is not None:
        maps = list(maps or background.explained(model, test))
        layer = maps[0].settings["layer"]
        shares = background.relevance(maps + background.explained(reference, test, layer), test)
        shares["context_class"] = shares["object_class"] = shares["class"]
        tables["GradCAM"] = shares.assign(peak_excess=shares["peak"] - shares["area"])
    parts = []
    for method, table in tables.items():
        mine, other = effects.split(table, len(model))
        beyond = None if other is None else effects.beyond(mine, other)
        for quantity, (raw, beside) in QUANTITIES[method].items():
            of = {"method": method, "quantity": quantity}
            read = (RAW, mine, raw), (NEUTRAL, mine, beside), (REFERENCE, beyond, beside)
            for reading, part, name in read[: 2 if beyond is None else 3]:
                value = part[name].astype(float)
                parts.append(part[effects.IMAGE].assign(value=value, reading=reading, **of))
    table = pd.concat(parts, ignore_index=True)[[*MEASURE, *effects.IMAGE, "value"]]
    asked, shown = experiment.planted(images), experiment.class_by_context(collection)
    dose = np.nan if asked is None else asked["p_context_given_class"].mean()
    own = pd.Series(np.diag(shown) / shown.sum(axis=1), shown.index)
    return table.assign(dose=dose, seed=seed, planted=table["context_class"].map(own))


def answers(measured: pd.DataFrame) -> pd.DataFrame:
    """What each method answers for each context: "yes" where low > 0; "" for raw readings."""
    keys = ["dose", "seed", "context_class", "planted", *MEASURE]
    groups = measured.groupby(keys, sort=False, dropna=False)
    rows = [(*key, *_mean(part)) for key, part in groups]
    found = pd.DataFrame(rows, columns=[*keys, "effect", "low", "high"])
    answer = np.where(found["low"] > 0, "yes", "no")
    return found.assign(answer=np.where(found["reading"] == RAW, "", answer))


def overall(measured: pd.DataFrame) -> dict[tuple[str, str, str], stats.Interval]:
    """Each measure's mean over all contexts, by method, quantity and reading."""
    return {measure: _mean(part) for measure, part in measured.groupby(MEASURE, sort=False)}


def other_reference(name: str, images: Images, recipe: Recipe, seed: int) -> list | None:
    """Reference trainings of other seeds and images than the model's; None outside the world."""
    twice = replace(recipe, trainings=2 * recipe.trainings)
    found = experiment.without_bias(name, images, twice, seed)
    return found and found[recipe.trainings :]


def at_doses(
    doses: Sequence[float], name: str, images: Images, recipe: Recipe, seed: int
) -> dict[float, pd.DataFrame]:
    """What :func:`measured` says of each dose's model: the same objects in other contexts."""
    found, reference = {}, other_reference(name, images, recipe, seed)
    for dose in progress(doses, desc="doses"):
        dosed = replace(images, context_bias=dose)
        collection = data.load(dosed, seed)
        model = experiment.model(name, collection, recipe, seed)
        found[float(dose)] = measured(model, collection, dosed, seed, reference=reference)
    return found


def _mean(part: pd.DataFrame) -> stats.Interval:
    """Mean of one measure's values, all pairs alike."""
    method, quantity, reading = part[MEASURE].iloc[0]
    groups = effects.grids(part, "value", effects.PAIR)
    differ = reading != RAW or bool((part["value"] < 0).any())  # raw, but of two models
    return effects.mean(groups, QUANTITIES[method][quantity][0], differ=differ)


def exchanged(images: ImageSet, unbiased: ImageSet, way: str, share: float) -> ImageSet:
    """Put something else behind the last `share` of each class's objects, in each split (section
    4): `unbiased` has the same objects in other contexts, "masked" ones are on noise."""
    groups = images.table.groupby(["class", "split"])
    last = groups.cumcount() >= (1 - share) * groups["class"].transform("size")
    chosen, contexts = torch.tensor(last.to_numpy()), unbiased.table["context"]
    if way == OTHER_CONTEXTS:
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
            return mixed.to_train().draw()

        return Drawn({"exchanged": [way, share, *recipes]}, draw)

    mixed = {"C": lambda: exchanged(biased.sets["C"], unbiased.sets["C"], way, share)}
    return replace(biased, sets=biased.sets | mixed, redraw=redraw)
