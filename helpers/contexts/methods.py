"""Three methods asked about one model: what mosaics, pasting and GradCAM say of each context.

Each is asked "does this context draw the model to its class?" in quantities of its own, with three
readings: *raw*, as the paper counts; *beside neutral*, less what the same trainings do beside a
neutral image (GradCAM: less what a uniform map puts on the background); and *beyond reference*,
the latter less the same of trainings for which class and context were independent.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import data, explain, stats
from helpers.contexts import background, effects, mosaics, pasting
from helpers.data import Collection
from helpers.data.images import Images
from helpers.models import experiment
from helpers.models.recipe import Recipe
from helpers.store import progress

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

    Quantities are *decisions* (share of images whose highest logit is that of the context's class:
    the paper's count for pasting), *flips* (share of mosaics in which that logit is above the
    object's: its count for mosaics), *logits* (how far the image moves towards the context's class:
    raw, from the single image, as in Figure 10), and of GradCAM's maps *relevance* (its share on
    the background) and *peak* (whether its largest pixel is there).

    Parameters
    ----------
    model, reference : list of nn.Module
        Its trainings, and as many without the bias (`experiment.without_bias`); without them there
        is no reading "beyond reference".
    collection, images
        With contexts, and what it was made by. Without masks there is only the method of mosaics.
    seed, per_context, neutral
        Those of `mosaics.design` and `mosaics.neutral`.
    maps
        The model's, from :func:`helpers.contexts.background.explained`, if they are made already.

    Returns
    -------
    DataFrame, one row a measure, context, training and object image
        method, quantity, reading (one of `READINGS`), context_class, object_class, training,
        object, value (NaN where not defined); seed; dose (share of C's images in their class's own
        context, mean of the classes), planted (that of the context's class), NaN where not known.
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
        columns = {name for both in QUANTITIES[method].values() for name in both}
        mine, other = effects.split(table[[*effects.IMAGE, *columns]], len(model))
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
    """What each method answers for each context, by the table of :func:`measured`.

    A row a context and measure: dose, seed, context_class, planted, method, quantity, reading,
    effect, low, high, answer ("yes" where low > 0, else "no"; "" for a raw reading).
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
    """Reference trainings of other seeds and images than the model's; None outside the world."""
    twice = replace(recipe, trainings=2 * recipe.trainings)
    found = experiment.without_bias(name, images, twice, seed)
    return found and found[recipe.trainings :]


def at_doses(
    doses: Sequence[float], name: str, images: Images, recipe: Recipe, seed: int, **asked
) -> dict[float, pd.DataFrame]:
    """What :func:`measured` (with `asked`) says of each dose's model, beyond another reference.

    One seed makes the same objects at every dose; only their contexts change.
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
