"""What notebook 06 rates: trainings of several architectures on several image sets.

A network is trained once and found in the store, by other notebooks too; ratings likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch
from torchvision.models import get_model_weights

from helpers import explain, models, stats
from helpers.data import Collection, ImageSet
from helpers.data.folders import plain
from helpers.explain import METHODS, NotConserved
from helpers.focus.design import design
from helpers.focus.means import summary
from helpers.focus.rating import logit_of, rate
from helpers.models import experiment
from helpers.models.inference import logits
from helpers.models.networks import Classifier
from helpers.run import project

AS_IT_IS = "as it is"
AT_A_TIME = 12  # mosaics: more no longer fit a processor's cache, and VGG takes a third longer
QUICK = {
    "smoothgrad": {"samples": 6},
    "integrated-gradients": {"steps": 6},
    "lime": {"segments": 5, "samples": 40},
    "occlusion": {"segments": 5},
}
"""Fewer samples where a method draws them, in about a tenth of the time.

Grids of superpixels have an odd number a side, so that some lie across a mosaic's seams: where all
edges of a grid lie on the seams, nothing can leak across, and Focus is higher for no merit.
"""
ODD = {"lime": {"segments": 7}, "occlusion": {"segments": 7}}

Trainings = Sequence[Classifier]
Networks = Mapping[tuple[str, str], Trainings]


def held_out(collection: Collection, settings: SimpleNamespace) -> dict[str, ImageSet]:
    """The images that mosaics are made of: test splits, or all images where nothing is trained."""
    if settings.model.fit == AS_IT_IS:
        return {
            name: replace(s, table=s.table.assign(split="test"))
            for name, s in collection.sets.items()
        }
    return {name: images.split("test") for name, images in collection.sets.items()}


def networks(
    collection: Collection, settings: SimpleNamespace
) -> dict[tuple[str, str], list[Classifier]]:
    """The trainings of each architecture on each of the sets asked for, by (architecture, set).

    Parameters
    ----------
    collection
    settings
        `architectures`, `sets` (those that the collection lacks are left out; all where none is
        left, as with a folder of your own), `family` (scratch, pretrained, probe or as it is) and
        what :func:`helpers.models.experiment.model` reads are used.
    """
    asked = [name for name in settings.sets if name in collection.sets]
    return {
        (architecture, name): one(architecture, name, collection, settings)
        for architecture in settings.architectures
        for name in asked or collection.sets
    }


def one(
    architecture: str,
    set_name: str,
    collection: Collection,
    settings: SimpleNamespace,
    epochs: int | None = None,
) -> list[Classifier]:
    """The trainings of one architecture on one set, for fewer epochs where that is asked.

    A network as it is was trained elsewhere: there is one.
    """
    if settings.model.fit == AS_IT_IS:
        count = len(_categories(architecture))
        return [models.build(architecture, count, weights=settings.model.weights).eval()]
    recipe = replace(
        settings.model, architecture=architecture, epochs=epochs or settings.model.epochs
    )
    name = f"{experiment.FAMILIES[settings.model.fit]}-{set_name}"
    return experiment.model(name, collection, recipe, settings.seed)


def answers(architecture: str, images: ImageSet, settings: SimpleNamespace) -> dict[str, int]:
    """The logit of each class: by order, or for a network as it is by ImageNet's name or number.

    Raises
    ------
    ValueError
        For a class folder that is neither an ImageNet category nor its number.
    """
    if settings.model.fit != AS_IT_IS:
        return dict(logit_of(images.classes))
    known = {plain(name): number for number, name in enumerate(_categories(architecture))}
    known |= {str(number): number for number in range(len(known))}
    unknown = [name for name in images.classes if plain(name) not in known]
    if unknown:
        raise ValueError(
            f"Class {unknown[0]!r} is no ImageNet category, nor a number of one: rename its "
            "folder, or train a network (family scratch, pretrained or probe)."
        )
    return {name: known[plain(name)] for name in images.classes}


def _categories(architecture: str) -> list[str]:
    return get_model_weights(architecture).DEFAULT.meta["categories"]


def method_settings(method: str | Callable, effort: str) -> dict:
    """Preset and settings of a method under an effort: quick, sound or paper; none of a callable.

    Grids of superpixels are odd: see :data:`QUICK`.
    """
    if callable(method):
        return {}
    if effort == "quick":
        return {"preset": "sound", **QUICK.get(method, {})}
    odd = method in ODD and (effort == "sound" or method != "lime")
    return {"preset": effort, **(ODD[method] if odd else {})}


def drawn(networks: Networks) -> str:
    """What intervals speak of, in a sentence: of other trainings and images, or of images only."""
    number = min(map(len, networks.values()))
    if number > 1:
        return f"Intervals are over trainings ({number} of each model) and images."
    return "Each model is one training: intervals are over images, and say nothing of another one."


def accuracies(
    networks: Networks, images: Mapping[str, ImageSet], settings: SimpleNamespace
) -> pd.DataFrame:
    """Accuracy of each model on the single images of its own set, over its trainings."""
    rows = [
        {"architecture": architecture, "set": name}
        | accuracy(trainings, images[name], answers(architecture, images[name], settings))
        for (architecture, name), trainings in networks.items()
    ]
    return pd.DataFrame(rows)


def accuracy(trainings: Trainings, images: ImageSet, logit: Mapping[str, int]) -> dict:
    """trainings, images, accuracy, low, high of a model."""
    found = right(trainings, images, logit)
    ends = stats.share(found)
    row = {"trainings": len(found), "images": found.shape[1], "accuracy": ends.estimate}
    return row | {"low": ends.low, "high": ends.high}


def right(trainings: Trainings, images: ImageSet, logit: Mapping[str, int]) -> np.ndarray:
    """Which images each training names right: bool (T, N)."""
    wanted = np.array([logit[name] for name in images.table["class"]])
    return logits(trainings, images.images).argmax(2).numpy() == wanted


def designs(images: Mapping[str, ImageSet], settings: SimpleNamespace) -> dict[str, pd.DataFrame]:
    """A design of mosaics for each set."""
    return {
        name: design(s.table, s.classes, per_class=settings.mosaics, seed=settings.seed)
        for name, s in images.items()
    }


def ratings(
    networks: Networks,
    images: Mapping[str, ImageSet],
    tables: Mapping[str, pd.DataFrame],
    methods: Iterable[str],
    settings: SimpleNamespace,
) -> pd.DataFrame:
    """Every method on every training: rows of :func:`helpers.focus.rate`, with the columns
    architecture, set and training.

    A method that refuses a network, as LRP may, is left out; `attrs["refused"]` says why.
    """
    found, refused = [], {}
    for (architecture, name), trainings in networks.items():
        logit = answers(architecture, images[name], settings)
        for method in methods:
            try:
                rated = rated_here(trainings, images[name], tables[name], method, settings, logit)
            except NotConserved as reason:
                refused[architecture, method] = str(reason)
                continue
            found.append(rated.assign(architecture=architecture, set=name))
    rows = pd.concat(found, ignore_index=True)
    rows.attrs["refused"] = refused
    return rows


def rated_here(trainings: Trainings, images: ImageSet, table, method, settings, logit=None, **more):
    """The same mosaics rated on each training, with the notebook's effort, mosaic shape and store.

    The column `training` numbers them; `more` replaces settings.
    """
    chosen = method_settings(method, settings.effort)
    found = [
        rate(
            network,
            images.images,
            table,
            method,
            classes=logit or images.classes,
            shape=settings.shape,
            store=project.store() / "focus",
            batch_size=AT_A_TIME,
            **{**chosen, **more},
        )
        for network in trainings
    ]
    return pd.concat([part.assign(training=t) for t, part in enumerate(found)], ignore_index=True)


def explained(network, mosaic: torch.Tensor, target: torch.Tensor, settings) -> dict:
    """Every method's map of one mosaic (1, 3, H, W), by the method's shown name."""
    found = {}
    for method in settings.methods:
        chosen = method_settings(method, settings.effort)
        try:
            maps = explain.explain(network, mosaic, target, method, **chosen)
        except NotConserved:
            continue
        found[METHODS[method].name] = maps.maps[0]
    return found


def table_of(rated: pd.DataFrame, accuracies: pd.DataFrame, architecture: str) -> pd.DataFrame:
    """A table an architecture: mean Focus with interval, a row a method, a column a set."""
    mine = rated[rated["architecture"] == architecture]
    cells = summary(mine, by=["method", "set"])
    text = [f"{r.mean:.2f} [{r.mean_low:.2f}, {r.mean_high:.2f}]" for r in cells.itertuples()]
    wide = cells.assign(text=text).pivot(index="method", columns="set", values="text")
    wide = wide.reindex(index=mine["method"].unique(), columns=mine["set"].unique())
    wide["undefined"] = cells.groupby("method")["undefined"].sum()
    wide.index = [METHODS[name].name for name in wide.index]
    own = accuracies[accuracies["architecture"] == architecture].set_index("set")["accuracy"]
    wide["undefined"] = wide["undefined"].astype(str)
    wide.loc["accuracy"] = [f"{own[name]:.2f}" for name in wide.columns[:-1]] + ["–"]
    return wide.rename_axis(None, axis=1)
