"""Dose and response: the same audit of models that differ only in how strong the bias was planted.

One seed makes the same objects at every dose; only their contexts change, and with them the model.
With K contexts a dose of 1/K makes class and context independent: there nothing is planted. Below
that a class avoids its own context: what is planted at 0 is the opposite of the bias, which no
method should report as the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pandas as pd

from helpers import audit, cross_evaluation, experiment, stats
from helpers.progress import progress
from helpers.sources import Collection

NONE_KNOWN = (
    "These images are not from the embedded world: what was planted in them is not known, so there "
    "is no dose to vary."
)


def independent(collection: Collection) -> float:
    """The dose at which contexts tell nothing of the class: 1 / number of contexts."""
    return 1 / len(set(collection.context_of.values()))


def at(dose: float, settings: SimpleNamespace) -> SimpleNamespace:
    """The settings with another planted bias."""
    return SimpleNamespace(**{**vars(settings), "context_bias": dose})


def answers(doses: Sequence[float], name: str, settings: SimpleNamespace) -> pd.DataFrame:
    """What every method answers of the model trained at each dose.

    Parameters
    ----------
    doses : sequence of float in [0, 1]
    name : str
        Of the model, such as ``model-C``; trained where it is not in the store.
    settings
        As for :func:`helpers.audit.answers`; of source "world".

    Returns
    -------
    DataFrame
        As from :func:`helpers.audit.answers`, with bias (the dose) and seed.
    """
    parts = []
    for dose in progress(doses, desc="doses"):
        now = at(dose, settings)
        collection = experiment.images(now)
        model = experiment.model(name, collection, now)
        found = audit.answers(model, collection, now)
        parts.append(found.assign(bias=float(dose), seed=settings.seed))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


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
        From :func:`helpers.cross_evaluation.predictions`: the models "biased" and "unbiased" on NC
        and WB, which are the same images at every dose.
    """
    collection = experiment.images(at(dose, settings))
    networks = {
        "biased": model,
        "unbiased": experiment.model(name, collection, at(dose, settings)),
    }
    sets = {key: images for key, images in collection.sets.items() if key != "C"}
    return cross_evaluation.predictions(networks, sets)


def rates(table: pd.DataFrame) -> pd.DataFrame:
    """How often each measure answers yes at each dose, with Wilson intervals.

    Parameters
    ----------
    table : DataFrame
        From :func:`answers`, of one seed or more.

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
