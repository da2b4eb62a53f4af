"""One model, three methods: what mosaics, pasting and GradCAM answer for each context.

A model is several trainings. Every method is asked the same question, "does this context draw the
model to its class?", and its answer is yes when the whole interval of its measure, over trainings
and images, lies above zero. Mosaics and pasting are measured twice, each time beside the neutral
partner: by decisions (the share of images in which the context's class comes to outscore the
object's) and by logits (how far the context moves them).
GradCAM is measured by how much more of its relevance lies on the background than a uniform map's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch

from helpers import explain, models, stats
from helpers.contexts import context, mosaics, paste_counts, pasting, relevance
from helpers.data import Collection

Measured = dict[str, dict[str, list[np.ndarray]]]
FLIPS, LOGITS = "flip_effect", "context_effect"
MEASURES = {
    "mosaics: decisions": "share of mosaics",
    "mosaics: logits": "logits",
    "pasting: decisions": "share of composites",
    "pasting: logits": "logits",
    "GradCAM: relevance": "share of relevance",
}


@dataclass(frozen=True, eq=False)
class Scored:
    """Images made by a design, scored by a model.

    Attributes
    ----------
    single : float tensor (T, N, K)
        Logits of the object images themselves, by every training.
    logits : float tensor (T, R, K)
        Of the mosaics or composites, one a row of `design`.
    design : DataFrame
        From :func:`helpers.contexts.mosaics.design` or :func:`helpers.contexts.pasting.design`.
    classes : tuple of K str
    """

    single: torch.Tensor
    logits: torch.Tensor
    design: pd.DataFrame
    classes: Sequence[str]

    @property
    def parts(self) -> tuple:
        """What `points`, `effects` and `strengths` of `contexts.context` take first."""
        return self.single, self.logits, self.design, self.classes

    def per_image(self) -> pd.DataFrame:
        """Each object image's effects: :func:`helpers.contexts.context.per_image`."""
        return context.per_image(context.points(*self.parts))

    def rows_of(self, pairs: pd.DataFrame) -> pd.DataFrame:
        """The first row of the design for each of some pairs, in their order.

        Parameters
        ----------
        pairs : DataFrame
            object_class and context_class.
        """
        rows = self.design[self.design["kind"] == "context"]
        rows = rows.drop_duplicates(["object_class", "context_class"])
        return pairs[["object_class", "context_class"]].merge(rows, validate="1:1")


def by_mosaics(model, collection: Collection, settings: SimpleNamespace) -> Scored:
    """Score contextualized mosaics and their controls (section 2.2, as notebook 03 does).

    Parameters
    ----------
    model : list of nn.Module
        Its trainings.
    collection
        With contexts.
    settings
        `seed`, `per_context` and `neutral` are used.
    """
    objects = collection.sets["C"].split("test")
    table = mosaics.design(
        objects.labels,
        collection.contexts,
        collection.classes,
        per_context=_of(settings, "per_context"),
        seed=settings.seed,
    )
    partner = mosaics.neutral(objects.images, settings.neutral, settings.seed)
    stream = mosaics.batches(table, objects.images, collection.contexts, partner)
    logits = models.logits(model, stream)
    return Scored(models.logits(model, objects.images), logits, table, collection.classes)


def by_pasting(model, collection: Collection, settings: SimpleNamespace) -> Scored | None:
    """Score composites and their controls ("Results Checks"); None where there are no masks.

    Parameters
    ----------
    model : list of nn.Module
        Its trainings.
    collection
        With contexts.
    settings
        `seed`, `neutral`, `scale`, `position` and `softness` are used.
    """
    objects = paste_counts.objects(collection)
    if objects is None:
        return None
    table = pasting.design(
        objects.labels, collection.contexts, collection.classes, seed=settings.seed
    )
    stream = composites(table, collection, settings)
    logits = models.logits(model, stream)
    return Scored(models.logits(model, objects.images), logits, table, collection.classes)


def composites(table: pd.DataFrame, collection: Collection, settings: SimpleNamespace):
    """Stream the composites of a design's rows, as :func:`by_pasting` scores them."""
    objects = paste_counts.objects(collection)
    return pasting.batches(
        table,
        pasting.cut(objects.images, objects.masks, _of(settings, "softness")),
        collection.contexts,
        mosaics.neutral(collection.sets["C"].split("test").images, settings.neutral, settings.seed),
        scale=_of(settings, "scale"),
        position=_of(settings, "position"),
    )


def examples(scored: Scored, collection: Collection, settings: SimpleNamespace) -> dict:
    """One composite of each pair, to show: (context class, object class) to uint8 (3, H, W)."""
    rows = scored.design[scored.design["kind"] == "context"]
    rows = rows.drop_duplicates(["context_class", "object_class"])
    images = torch.cat(list(composites(rows, collection, settings)))
    return dict(
        zip(zip(rows["context_class"], rows["object_class"], strict=True), images, strict=True)
    )


def by_relevance(model, collection: Collection, settings: SimpleNamespace) -> list[explain.Maps]:
    """Explain the test images of C for their own class with GradCAM, by every training (section 4).

    Parameters
    ----------
    model : list of nn.Module
        Its trainings.
    collection
    settings
        `layer` is used; None is :func:`helpers.contexts.relevance.layer_for`'s choice.
    """
    images = collection.sets["C"].split("test")
    layer = settings.layer or relevance.layer_for(model[0], images.images)
    return [
        explain.explain(training, images.images, images.labels, "gradcam", layer=layer)
        for training in model
    ]


def measured(model, collection: Collection, settings: SimpleNamespace) -> Measured:
    """What each method measures, of every training and image: what :func:`answers` is made of.

    Parameters
    ----------
    model : list of nn.Module
        Its trainings.
    collection
        With contexts. Without masks, pasting and GradCAM's measure are left out.
    settings
        As in :func:`by_mosaics`, :func:`by_pasting` and :func:`by_relevance`.

    Returns
    -------
    dict from measure (see `MEASURES`) to dict from context class to list of float arrays (T, n)
        One array a class of objects, for :func:`helpers.stats.mean`.
    """
    found: Measured = {}
    for method, make in (("mosaics", by_mosaics), ("pasting", by_pasting)):
        scored = make(model, collection, settings)
        if scored is not None:
            by_context = list(scored.per_image().groupby("context_class", sort=False))
            for by, column in (("decisions", FLIPS), ("logits", LOGITS)):
                found[f"{method}: {by}"] = {
                    name: [context.grid(p, column) for _, p in part.groupby("object_class")]
                    for name, part in by_context
                }
    images = collection.sets["C"].split("test")
    if images.masks is not None:
        table = relevance.per_image(by_relevance(model, collection, settings), images)
        found["GradCAM: relevance"] = {
            name: [part.pivot(index="training", columns="image", values="excess").to_numpy()]
            for name, part in table.groupby("class", sort=False)
        }
    return found


def answers(measured: Measured, collection: Collection) -> pd.DataFrame:
    """What each method answers for each context.

    Returns
    -------
    DataFrame
        One row a context and measure (see `MEASURES`): context_class, planted (share of C's images
        of the class that show it; NaN where not known), measure, effect, low, high, answer ("yes"
        where low > 0, else "no").
    """
    rows = [
        (name, measure, *_mean(values).interval())
        for measure, contexts in measured.items()
        for name, values in contexts.items()
    ]
    found = pd.DataFrame(rows, columns=["context_class", "measure", "effect", "low", "high"])
    found.insert(1, "planted", found["context_class"].map(planted(collection)))
    return found.assign(answer=np.where(found["low"] > 0, "yes", "no"))


def overall(measured: Measured) -> dict[str, stats.Mean]:
    """Each measure's mean over all contexts."""
    return {
        measure: _mean([values for groups in contexts.values() for values in groups])
        for measure, contexts in measured.items()
    }


def _mean(values: list[np.ndarray]) -> stats.Mean:
    """Mean of what is known; NaN where nothing is, as where every map is empty."""
    known = [group for group in values if not np.isnan(group).all()]
    return stats.mean(known) if known else stats.Mean(np.nan, np.nan, 1.0)


def planted(collection: Collection) -> dict[str, float]:
    """Share of C's images of each class that show the class's own context, where that is known."""
    table = collection.sets["C"].table
    own = table["context"] == table["class"].map(collection.context_of)
    return own.where(table["context"] != "").groupby(table["class"]).mean().astype(float).to_dict()


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """The answers as a reader wants them: a row a context, a column a measure.

    Parameters
    ----------
    table : DataFrame
        From :func:`answers`.

    Returns
    -------
    DataFrame
        context_class, planted, and "yes" or "no" by measure.
    """
    wide = table.pivot(index="context_class", columns="measure", values="answer")
    order = [name for name in MEASURES if name in wide]
    wide = wide.loc[table["context_class"].unique(), order].rename_axis(columns=None).reset_index()
    share = table.drop_duplicates("context_class").set_index("context_class")["planted"]
    wide.insert(1, "planted", wide["context_class"].map(share))
    return wide


# What a notebook that does not declare these gets: the object as it was, where it was.
UNDECLARED = {"scale": 1.0, "position": "own", "softness": 0.5, "per_context": 5}


def _of(settings: SimpleNamespace, name: str):
    """A setting, or what holds where the notebook has no such parameter."""
    return getattr(settings, name, UNDECLARED[name])
