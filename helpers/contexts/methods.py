"""Three methods asked about one model: what mosaics, pasting and GradCAM say of each context.

A model is several trainings. Every method is asked the same question, "does this context draw the
model to its class?", in quantities of its own, and each quantity has three readings:

- *raw*: what the model does, as the paper counts it: it does not say what there would be without a
  bias, and answers nothing by itself.
- *beside neutral*: less what the same trainings do beside a neutral image. For GradCAM it is what
  lies on the background beyond its share of the area, which a uniform map would put there.
- *beyond reference*: *beside neutral*, less the same of reference trainings, on the same images:
  the same model, trained where class and context are independent.

The last two answer yes where their whole interval, over trainings and images, lies above zero.

In the embedded world the same is asked of models that differ only in how strongly the contexts were
planted. One seed makes the same objects at every dose; only their contexts change. With K contexts
a dose of 1/K makes class and context independent: there nothing is planted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from helpers import data, explain, models, stats
from helpers.contexts import background, effects, mosaics, pasting
from helpers.data import Collection
from helpers.models import experiment
from helpers.run.parameters import Images, Recipe
from helpers.run.progress import progress

READINGS = RAW, NEUTRAL, REFERENCE = "raw", "beside neutral", "beyond reference"
MEASURE = ["method", "quantity", "reading"]
# A quantity's columns, raw and beside neutral: in `effects.per_image` and `background.relevance`.
DECISIONS = {"decisions": ("taken_share", "taken_effect")}
LOGITS = {"logits": ("drop", "context_effect")}
QUANTITIES = {
    "mosaics": DECISIONS | {"flips": ("flip_share", "flip_effect")} | LOGITS,
    "pasting": DECISIONS | LOGITS,
    "GradCAM": {"relevance": ("share", "excess"), "peak": ("peak", "peak_excess")},
}


class Scored(NamedTuple):
    """A design of images, and the effects that a model shows on them."""

    design: pd.DataFrame  # from `mosaics.design` or `pasting.design`
    images: pd.DataFrame  # from `effects.per_image`

    def first_rows(self) -> pd.DataFrame:
        """The first row of the design for each pair of object and context, to look at."""
        rows = self.design[self.design["kind"] == "context"]
        return rows.drop_duplicates(effects.PAIR)


def by_mosaics(
    model, collection: Collection, *, seed: int, per_context: int = 5, neutral: str = "shuffled"
) -> Scored:
    """Score contextualized mosaics, beside other contexts and beside a neutral image (section 2.2).

    `model` is the list of its trainings. `seed` and `per_context` are those of `mosaics.design`,
    `neutral` is that of `mosaics.neutral`.
    """
    objects, contexts = collection.sets["C"].split("test"), collection.contexts
    design = mosaics.design(
        objects.labels, contexts, collection.classes, per_context=per_context, seed=seed
    )
    design = design[design["kind"] != "own"].reset_index(drop=True)  # nothing is asked of these
    partner = mosaics.neutral(objects.images, neutral, seed)
    stream = mosaics.batches(design, objects.images, contexts, partner)
    return _scored(model, objects, design, stream)


def by_pasting(model, collection: Collection, *, seed: int, **how) -> Scored | None:
    """Score composites and their controls ("Results Checks"); None where there are no masks.

    `model`, `collection` and `seed` are as for :func:`by_mosaics`, `how` is that of
    :func:`composites`: neutral, softness, scale, position.
    """
    objects = pasting.objects(collection)
    if objects is None:
        return None
    design = pasting.design(objects.labels, collection.contexts, collection.classes, seed=seed)
    return _scored(model, objects, design, composites(design, collection, seed=seed, **how))


def _scored(model, objects: data.ImageSet, design: pd.DataFrame, stream) -> Scored:
    logits = models.logits(model, objects.images), models.logits(model, stream)
    return Scored(design, effects.per_image(effects.points(*logits, design, objects.classes)))


def composites(
    design: pd.DataFrame,
    collection: Collection,
    *,
    seed: int,
    neutral: str = "mean",
    softness: float = 0.5,
    scale: float = 1.0,
    position: str = "own",
) -> Iterator[torch.Tensor]:
    """Stream the composites of a design's rows, as :func:`by_pasting` scores them.

    `neutral` is that of :func:`helpers.contexts.mosaics.neutral`, `softness` that of
    :func:`helpers.contexts.pasting.cut`, the rest are those of `pasting.batches`.
    """
    objects = pasting.objects(collection)
    cutouts = pasting.cut(objects.images, objects.masks, softness)
    ground = mosaics.neutral(collection.sets["C"].split("test").images, neutral, seed)
    return pasting.batches(
        design, cutouts, collection.contexts, ground, scale=scale, position=position
    )


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
    """Ask every method about a model.

    Parameters
    ----------
    model : list of nn.Module
        Its trainings.
    collection
        With contexts. Without masks, pasting and GradCAM's measure are left out.
    images
        What the collection was made by.
    reference : list of nn.Module, optional
        As many trainings without the bias, such as :func:`helpers.models.experiment.without_bias`
        gives; without them there is no reading "beyond reference".
    seed, per_context, neutral
        As for :func:`by_mosaics`.
    maps
        The model's, from :func:`helpers.contexts.background.explained`, where they are made
        already.

    Returns
    -------
    DataFrame
        One row a measure, context, training and object image: method, quantity, reading (one of
        `READINGS`), context_class, object_class, training, object, value (NaN where it is not
        defined); seed; dose (share of C's images that were given their class's own context, mean of
        the classes); planted (the share counted in the images of the context's class). These two
        are NaN where not known.

        Quantities are *decisions* (share of images whose highest logit is that of the context's
        class: the paper's count for pasting), *flips* (share of mosaics in which that logit is
        above the object's: its count for mosaics), *logits* (how far the image moves towards the
        context's class: raw, from the single image, as in Figure 10), and of GradCAM's maps
        *relevance* (its share on the background) and *peak* (whether its largest pixel is there).
    """
    reference = list(reference or [])
    if reference and len(reference) != len(model):
        raise ValueError(
            f"{len(reference)} reference trainings for {len(model)} of the model: they are "
            "compared training by training, so give as many"
        )
    both = [*model, *reference]
    on_mosaics = by_mosaics(both, collection, seed=seed, per_context=per_context, neutral=neutral)
    pasted = by_pasting(both, collection, seed=seed)
    tables = {"mosaics": on_mosaics.images} | ({"pasting": pasted.images} if pasted else {})
    test = collection.sets["C"].split("test")
    if test.masks is not None:
        maps = list(maps or background.explained(model, test))
        layer = maps[0].settings["layer"]
        shares = background.relevance(maps + background.explained(reference, test, layer), test)
        shares["context_class"] = shares["object_class"] = shares["class"]
        tables["GradCAM"] = shares.assign(peak_excess=shares["peak"] - shares["area"])
    parts = [
        part.assign(method=method)
        for method, table in tables.items()
        for part in _readings(table, QUANTITIES[method], len(model))
    ]
    table = pd.concat(parts, ignore_index=True)[[*MEASURE, *effects.IMAGE, "value"]]
    asked, shown = experiment.planted(images), experiment.class_by_context(collection)
    own = dict(zip(shown.index, np.diag(shown) / shown.sum(axis=1), strict=True))
    return table.assign(
        dose=np.nan if asked is None else asked["p_context_given_class"].mean(),
        seed=seed,
        planted=table["context_class"].map(own),
    )


def _readings(
    table: pd.DataFrame, quantities: Mapping[str, tuple[str, str]], trainings: int
) -> Iterator[pd.DataFrame]:
    """Every quantity's readings: the first `trainings` are the model's, further ones a reference's.

    `table` has a row a training, pair and object, and the columns that `quantities` names.
    """
    columns = list(dict.fromkeys(name for both in quantities.values() for name in both))
    model, reference = effects.split(table[[*effects.IMAGE, *columns]], trainings)
    beyond = None if reference is None else effects.beyond(model, reference)
    for quantity, (raw, beside) in quantities.items():
        for reading, part, name in (
            (RAW, model, raw),
            (NEUTRAL, model, beside),
            (REFERENCE, beyond, beside),
        ):
            if part is not None:
                found = part[effects.IMAGE].assign(value=part[name].astype(float))
                yield found.assign(quantity=quantity, reading=reading)


def answers(measured: pd.DataFrame) -> pd.DataFrame:
    """What each method answers for each context, by the table of :func:`measured`.

    A row a context and measure: dose, seed, context_class, planted, method, quantity, reading,
    effect, low, high, answer ("yes" where low > 0, else "no"; "" for a raw reading, which nothing
    says to be large or small).
    """
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
    """Reference trainings that have nothing in common with the model's; None outside the world.

    Where nothing is planted, those of `experiment.without_bias` are the model itself. These follow
    the model's own trainings, with other seeds and other training images.
    """
    twice = replace(recipe, trainings=2 * recipe.trainings)
    found = experiment.without_bias(name, images, twice, seed)
    return found and found[recipe.trainings :]


def at_doses(
    doses: Sequence[float], name: str, images: Images, recipe: Recipe, seed: int, **asked
) -> dict[float, pd.DataFrame]:
    """What :func:`measured` says of each dose's model, beyond :func:`other_reference` too.

    `name` is that of the model, such as ``model-C``; `asked` is for :func:`measured`.
    """
    found, reference = {}, other_reference(name, images, recipe, seed)
    for dose in progress(doses, desc="doses"):
        dosed = replace(images, context_bias=dose)
        collection = data.load(dosed, seed)
        model = experiment.model(name, collection, recipe, seed)
        found[float(dose)] = measured(model, collection, dosed, seed, reference=reference, **asked)
    return found


def _mean(measured: pd.DataFrame) -> stats.Interval:
    """Mean of the known values, all pairs alike; NaN where all maps are empty and none is known."""
    known = [*effects.grids(measured, "value", effects.PAIR).values()]
    return stats.mean(known).interval() if known else stats.Interval(np.nan, np.nan, np.nan)
