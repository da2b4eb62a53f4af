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

import numpy as np
import pandas as pd

from helpers import data, explain, stats
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
        `seed` and `per_context` are those of `mosaics.design`, `neutral` that of `mosaics.neutral`.
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
    test = collection.sets["C"].split("test")
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


def _mean(part: pd.DataFrame) -> stats.Interval:
    """Mean of one measure's values, all pairs alike."""
    method, quantity, reading = part[MEASURE].iloc[0]
    groups = effects.grids(part, "value", effects.PAIR)
    differ = reading != RAW or bool((part["value"] < 0).any())  # raw, but of two models
    return effects.mean(groups, QUANTITIES[method][quantity][0], differ=differ)
