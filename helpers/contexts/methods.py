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

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from helpers import data, explain, models, stats
from helpers.contexts import background, cross_evaluation, effects, mosaics, pasting
from helpers.data import Collection
from helpers.models import experiment
from helpers.run.parameters import Images, Recipe
from helpers.run.progress import progress

MEASURE = ["method", "quantity"]
QUANTITIES = {"flips": "flip_effect", "logits": "context_effect"}  # and their column in `effects`
RELEVANCE = ("GradCAM", "relevance")
NONE_KNOWN = (
    "These images are not from the embedded world: what was planted in them is not known, so there "
    "is no dose to vary."
)


@dataclass(frozen=True, eq=False)
class Scored:
    """Images made by a design, scored by a model.

    Attributes
    ----------
    design : DataFrame
        From :func:`helpers.contexts.mosaics.design` or :func:`helpers.contexts.pasting.design`.
    points : DataFrame
        From :func:`helpers.contexts.effects.points`.
    """

    design: pd.DataFrame
    points: pd.DataFrame

    def per_image(self) -> pd.DataFrame:
        """Each object image's effects: :func:`helpers.contexts.effects.per_image`."""
        return effects.per_image(self.points)

    def first_rows(self) -> pd.DataFrame:
        """The first row of the design for each pair of object and context, to look at."""
        rows = self.design[self.design["kind"] == "context"]
        return rows.drop_duplicates(["context_class", "object_class"])


def by_mosaics(
    model, collection: Collection, *, seed: int, per_context: int = 5, neutral: str = "shuffled"
) -> Scored:
    """Score contextualized mosaics, beside other contexts and beside a neutral image (section 2.2).

    Parameters
    ----------
    model : list of nn.Module
        Its trainings.
    collection
        With contexts.
    seed, per_context
        As for :func:`helpers.contexts.mosaics.design`.
    neutral
        As for :func:`helpers.contexts.mosaics.neutral`.
    """
    objects, classes = collection.sets["C"].split("test"), collection.classes
    of = {"per_context": per_context, "seed": seed}
    design = mosaics.design(objects.labels, collection.contexts, classes, **of)
    design = design[design["kind"] != "own"].reset_index(drop=True)  # nothing is asked of these
    partner = mosaics.neutral(objects.images, neutral, seed)
    stream = mosaics.batches(design, objects.images, collection.contexts, partner)
    logits = models.logits(model, objects.images), models.logits(model, stream)
    return Scored(design, effects.points(*logits, design, classes))


def by_pasting(
    model, collection: Collection, *, seed: int, neutral: str = "mean", **how
) -> Scored | None:
    """Score composites and their controls ("Results Checks"); None where there are no masks.

    Parameters
    ----------
    model, collection, seed
        As for :func:`by_mosaics`.
    neutral
        The ground of the control, as for :func:`helpers.contexts.mosaics.neutral`.
    **how
        Of :func:`composites`: softness, scale, position.
    """
    objects, classes = pasting.objects(collection), collection.classes
    if objects is None:
        return None
    design = pasting.design(objects.labels, collection.contexts, classes, seed=seed)
    stream = composites(design, collection, seed=seed, neutral=neutral, **how)
    logits = models.logits(model, objects.images), models.logits(model, stream)
    return Scored(design, effects.points(*logits, design, classes))


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

    `softness` is that of :func:`helpers.contexts.pasting.cut`, `scale` and `position` are those of
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

    Parameters
    ----------
    model : list of nn.Module
        Its trainings.
    collection
    layer
        None is the choice of :func:`helpers.contexts.background.layer_for`.
    """
    images = collection.sets["C"].split("test")
    layer = layer or background.layer_for(model[0], images.images)
    return [
        explain.explain(training, images.images, images.labels, "gradcam", layer=layer)
        for training in model
    ]


@dataclass(frozen=True, eq=False)
class Measured:
    """What each method measures of one model.

    Attributes
    ----------
    model : list of nn.Module
        Its trainings.
    dose : float
        Share of C's images that were given their class's own context, mean of the classes; NaN
        where it is not known.
    seed : int
    planted : dict from class to float
        The share of each class, counted in the images; NaN where it is not known.
    values : dict from (method, quantity) to dict from context class to list of float arrays (T, n)
        One array a class of objects, for :func:`helpers.stats.mean`.
    """

    model: Sequence[torch.nn.Module]
    dose: float
    seed: int
    planted: dict[str, float]
    values: dict[tuple[str, str], dict[str, list[np.ndarray]]]

    def of_first_training(self) -> Measured:
        """What is measured by who trains once: the first of the trainings alone."""
        values = {
            measure: {name: [group[:1] for group in groups] for name, groups in contexts.items()}
            for measure, contexts in self.values.items()
        }
        return replace(self, values=values)

    def answers(self) -> pd.DataFrame:
        """What each method answers for each context.

        Returns
        -------
        DataFrame
            One row a context and measure: dose, seed, context_class, planted, method, quantity,
            effect, low, high, answer ("yes" where low > 0, else "no").
        """
        rows = [
            (self.dose, self.seed, name, self.planted[name], *measure, *_mean(groups).interval())
            for measure, contexts in self.values.items()
            for name, groups in contexts.items()
        ]
        columns = ["dose", "seed", "context_class", "planted", *MEASURE, "effect", "low", "high"]
        found = pd.DataFrame(rows, columns=columns)
        return found.assign(answer=np.where(found["low"] > 0, "yes", "no"))

    def overall(self) -> dict[tuple[str, str], stats.Mean]:
        """Each measure's mean over all contexts."""
        return {
            measure: _mean([group for groups in contexts.values() for group in groups])
            for measure, contexts in self.values.items()
        }


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
) -> Measured:
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
    """
    values = {}
    scored = {
        "mosaics": by_mosaics(
            model, collection, seed=seed, per_context=per_context, neutral=neutral
        ),
        "pasting": by_pasting(model, collection, seed=seed),
    }
    for method, of in scored.items():
        if of is not None:
            by_context = list(of.per_image().groupby("context_class", sort=False))
            for quantity, column in QUANTITIES.items():
                values[method, quantity] = {
                    name: [effects.grid(p, column) for _, p in part.groupby("object_class")]
                    for name, part in by_context
                }
    test = collection.sets["C"].split("test")
    if test.masks is not None:
        maps = maps or by_gradcam(model, collection, layer)
        shares = background.by_class(background.relevance(maps, test), "excess")
        values[RELEVANCE] = {name: [share] for name, share in shares.items()}
    shares = experiment.planted(images)
    dose = np.nan if shares is None else float(shares["p_context_given_class"].mean())
    return Measured(model, dose, seed, planted(collection), values)


def at_doses(
    doses: Sequence[float], name: str, images: Images, recipe: Recipe, seed: int, **asked
) -> dict[float, Measured]:
    """What every method measures of the model trained at each dose.

    Parameters
    ----------
    doses : sequence of float in [0, 1]
    name : str
        Of the model, such as ``model-C``; trained where it is not in the store.
    images, recipe, seed
        Of source "world".
    **asked
        As for :func:`measured`.
    """
    found = {}
    for dose in progress(doses, desc="doses"):
        dosed = replace(images, context_bias=dose)
        collection = data.load(dosed, seed)
        model = experiment.model(name, collection, recipe, seed)
        found[float(dose)] = measured(model, collection, dosed, seed, **asked)
    return found


def independent(collection: Collection) -> float:
    """The dose at which contexts tell nothing of the class: 1 / number of contexts."""
    return 1 / len(set(collection.context_of.values()))


def elsewhere(biased, unbiased, collection: Collection) -> pd.DataFrame:
    """What two models say of the test images without a context: NC and WB, the same at every dose.

    Parameters
    ----------
    biased, unbiased : list of nn.Module
        The trainings of each.

    Returns
    -------
    DataFrame
        As from `contexts.cross_evaluation.predictions`, of the models "biased" and "unbiased".
    """
    sets = {name: images for name, images in collection.sets.items() if name != "C"}
    return cross_evaluation.predictions({"biased": biased, "unbiased": unbiased}, sets)


def rates(answers: pd.DataFrame) -> pd.DataFrame:
    """How often each measure answers yes at each dose, with Wilson intervals.

    Parameters
    ----------
    answers : DataFrame
        As from :meth:`Measured.answers`, of one model or more.

    Returns
    -------
    DataFrame
        dose, method, quantity, yes, asked, rate, low, high.
    """
    yes = answers.assign(yes=answers["answer"] == "yes")
    counts = yes.groupby(["dose", *MEASURE], sort=False)["yes"].agg(yes="sum", asked="size")
    counts = counts.reset_index()
    low, high = stats.wilson(counts["yes"], counts["asked"])
    return counts.assign(rate=counts["yes"] / counts["asked"], low=low, high=high)


def planted(collection: Collection) -> dict[str, float]:
    """Share of C's images of each class that show the class's own context; NaN where not known."""
    table = collection.sets["C"].table
    own = table["context"] == table["class"].map(collection.context_of)
    return own.where(table["context"] != "").groupby(table["class"]).mean().astype(float).to_dict()


def _mean(values: list[np.ndarray]) -> stats.Mean:
    """Mean of what is known; NaN where nothing is, as where every map is empty."""
    known = [group for group in values if not np.isnan(group).all()]
    return stats.mean(known) if known else stats.Mean(np.nan, np.nan, 1.0)
