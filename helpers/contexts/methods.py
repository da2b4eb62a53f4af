"""Three methods asked about one model: what mosaics, pasting and GradCAM say of each context.

A model is several trainings. Every method is asked the same question, "does this context draw the
model to its class?", and answers yes where the whole interval of its measure, over trainings and
images, lies above zero. Mosaics and pasting have two measures, both beside the neutral image: the
share of images that the context flips (its class comes to outscore the object's), and how far it
moves the logits. GradCAM's is how much more of its relevance lies on the background than a uniform
map's.

In the embedded world the same is asked of models that differ only in how strongly the contexts were
planted. One seed makes the same objects at every dose; only their contexts change. With K contexts
a dose of 1/K makes class and context independent: there nothing is planted.
"""

from collections.abc import Iterator, Sequence
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

MEASURE = ["method", "quantity"]
QUANTITIES = {"flips": "flip_effect", "logits": "context_effect"}  # and their column in `effects`


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
    points = effects.points(*logits, design, objects.classes)
    return Scored(design, effects.per_image(points))


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
    :func:`helpers.contexts.pasting.cut`; `scale` and `position` are those of
    :func:`helpers.contexts.pasting.batches`.
    """
    objects = pasting.objects(collection)
    cutouts = pasting.cut(objects.images, objects.masks, softness)
    ground = mosaics.neutral(collection.sets["C"].split("test").images, neutral, seed)
    return pasting.batches(
        design, cutouts, collection.contexts, ground, scale=scale, position=position
    )


def by_gradcam(model, collection: Collection, layer: str | None = None) -> list[explain.Maps]:
    """Explain the test images of C for their own class, by every training (section 4).

    Without a `layer` it is the choice of :func:`helpers.contexts.background.layer_for`.
    """
    images = collection.sets["C"].split("test")
    layer = layer or background.layer_for(model[0], images.images)
    return [
        explain.explain(training, images.images, images.labels, "gradcam", layer=layer)
        for training in model
    ]


def measured(
    model,
    collection: Collection,
    images: Images,
    seed: int,
    *,
    per_context: int = 5,
    neutral: str = "shuffled",
    maps: Sequence[explain.Maps] | None = None,
    layer: str | None = None,
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
    seed, per_context, neutral
        As for :func:`by_mosaics`.
    maps
        From :func:`by_gradcam`, where they are made already; else they are made at `layer`.

    Returns
    -------
    DataFrame
        One row a measure, context, training and object image: method, quantity, context_class,
        object_class, training, object, value (NaN where it is not defined); seed; dose (share
        of C's images that were given their class's own context, mean of the classes); planted (the
        share counted in the images of the context's class). These two are NaN where not known.
    """
    scored = {
        "mosaics": by_mosaics(
            model, collection, seed=seed, per_context=per_context, neutral=neutral
        ),
        "pasting": by_pasting(model, collection, seed=seed),
    }
    parts = [
        of.images.assign(method=method, quantity=quantity, value=of.images[column])
        for method, of in scored.items()
        if of is not None
        for quantity, column in QUANTITIES.items()
    ]
    test = collection.sets["C"].split("test")
    if test.masks is not None:
        shares = background.relevance(maps or by_gradcam(model, collection, layer), test)
        shares["context_class"] = shares["object_class"] = shares["class"]
        parts.append(shares.assign(method="GradCAM", quantity="relevance", value=shares["excess"]))
    table = pd.concat(parts, ignore_index=True)[[*MEASURE, *effects.IMAGE, "value"]]
    asked, shown = experiment.planted(images), experiment.class_by_context(collection)
    own = dict(zip(shown.index, np.diag(shown) / shown.sum(axis=1), strict=True))
    return table.assign(
        dose=np.nan if asked is None else asked["p_context_given_class"].mean(),
        seed=seed,
        planted=table["context_class"].map(own),
    )


def answers(measured: pd.DataFrame) -> pd.DataFrame:
    """What each method answers for each context, by the table of :func:`measured`.

    Returns
    -------
    DataFrame
        One row a context and measure: dose, seed, context_class, planted, method, quantity,
        effect, low, high, answer ("yes" where low > 0, else "no").
    """
    keys = ["dose", "seed", "context_class", "planted", *MEASURE]
    groups = measured.groupby(keys, sort=False, dropna=False)
    rows = [(*key, *_mean(part).interval()) for key, part in groups]
    found = pd.DataFrame(rows, columns=[*keys, "effect", "low", "high"])
    return found.assign(answer=np.where(found["low"] > 0, "yes", "no"))


def overall(measured: pd.DataFrame) -> dict[tuple[str, str], stats.Mean]:
    """Each measure's mean over all contexts, by method and quantity."""
    return {measure: _mean(part) for measure, part in measured.groupby(MEASURE, sort=False)}


def at_doses(
    doses: Sequence[float], name: str, images: Images, recipe: Recipe, seed: int, **asked
) -> dict[float, tuple[list, pd.DataFrame]]:
    """Each dose's model, trained where it is not stored, and what :func:`measured` says of it.

    `name` is that of the model, such as ``model-C``; `images`, `recipe` and `seed` are those of a
    world, and `asked` is for :func:`measured`.
    """
    found = {}
    for dose in progress(doses, desc="doses"):
        dosed = replace(images, context_bias=dose)
        collection = data.load(dosed, seed)
        model = experiment.model(name, collection, recipe, seed)
        found[float(dose)] = model, measured(model, collection, dosed, seed, **asked)
    return found


def rates(answers: pd.DataFrame) -> pd.DataFrame:
    """How often each measure answers yes at each dose, with Wilson intervals.

    The answers are those of one model or more. Columns dose, method, quantity, yes, asked, rate,
    low and high.
    """
    yes = answers.assign(yes=answers["answer"] == "yes")
    counts = yes.groupby(["dose", *MEASURE], sort=False)["yes"].agg(yes="sum", asked="size")
    counts = counts.reset_index()
    low, high = stats.wilson(counts["yes"], counts["asked"])
    return counts.assign(rate=counts["yes"] / counts["asked"], low=low, high=high)


def _mean(measured: pd.DataFrame) -> stats.Mean:
    """Mean of the known values, all pairs alike; NaN where all maps are empty and none is known."""
    groups = [effects.grid(part, "value") for _, part in measured.groupby(effects.PAIR)]
    known = [group for group in groups if not np.isnan(group).all()]
    return stats.mean(known) if known else stats.Mean(np.nan, np.nan, 1.0)
