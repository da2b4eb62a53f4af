"""Dose and response: the same audit of models that differ only in how strong the bias was planted.

One seed makes the same objects at every dose; only their contexts change, and with them the model.
With K contexts a dose of 1/K makes class and context independent: there nothing is planted. Below
that a class avoids its own context: what is planted at 0 is the opposite of the bias, which no
method should report as the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd

from helpers import stats
from helpers.contexts import audit, cross_evaluation
from helpers.data import Collection
from helpers.models import experiment
from helpers.run.progress import progress

NONE_KNOWN = (
    "These images are not from the embedded world: what was planted in them is not known, so there "
    "is no dose to vary."
)


def independent(collection: Collection) -> float:
    """The dose at which contexts tell nothing of the class: 1 / number of contexts."""
    return 1 / len(set(collection.context_of.values()))


def measured(
    doses: Sequence[float], name: str, settings: SimpleNamespace
) -> tuple[pd.DataFrame, dict[float, dict[str, stats.Mean]]]:
    """What every method measures of the model trained at each dose.

    Parameters
    ----------
    doses : sequence of float in [0, 1]
    name : str
        Of the model, such as ``model-C``; trained where it is not in the store.
    settings
        As for :func:`helpers.contexts.audit.measured`; of source "world".

    Returns
    -------
    answers : DataFrame
        As from :func:`helpers.contexts.audit.answers`, with bias (the dose) and seed.
    overall : dict from dose to what :func:`helpers.contexts.audit.overall` returns
    """
    parts, overall = [], {}
    for dose in progress(doses, desc="doses"):
        images = replace(settings.images, context_bias=dose)
        collection = experiment.images(images, settings.seed)
        model = experiment.model(name, collection, settings.model, settings.seed)
        found = audit.measured(model, collection, settings)
        table = audit.answers(found, collection)
        parts.append(table.assign(bias=float(dose), seed=settings.seed))
        overall[float(dose)] = audit.overall(found)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(), overall


def elsewhere(dose: float, name: str, model, settings: SimpleNamespace) -> pd.DataFrame:
    """Accuracy outside the training set of a model and of the same model trained at another dose.

    Parameters
    ----------
    dose : float
    name : str
    model : list of nn.Module
        The trainings with `settings`.
    settings

    Returns
    -------
    DataFrame
        From `contexts.cross_evaluation.predictions`: the models "biased" and "unbiased" on NC
        and WB, which are the same images at every dose.
    """
    collection = experiment.images(replace(settings.images, context_bias=dose), settings.seed)
    unbiased = experiment.model(name, collection, settings.model, settings.seed)
    networks = {"biased": model, "unbiased": unbiased}
    sets = {key: images for key, images in collection.sets.items() if key != "C"}
    return cross_evaluation.predictions(networks, sets)


def rates(table: pd.DataFrame) -> pd.DataFrame:
    """How often each measure answers yes at each dose, with Wilson intervals.

    Parameters
    ----------
    table : DataFrame
        From :func:`measured`, of one seed or more.

    Returns
    -------
    DataFrame
        bias, measure, yes, asked, rate, low, high.
    """
    yes = table.assign(yes=table["answer"] == "yes")
    counts = yes.groupby(["bias", "measure"], sort=False)["yes"].agg(["sum", "size"])
    counts = counts.rename(columns={"sum": "yes", "size": "asked"}).reset_index()
    low, high = stats.wilson(counts["yes"], counts["asked"])
    return counts.assign(rate=counts["yes"] / counts["asked"], low=low, high=high)
