"""What notebook 06 rates: networks of several architectures on several image sets, and choices.

Networks are trained once and found in the store, by other notebooks too; ratings likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch
from torchvision.models import get_model_weights

from helpers import attribution, experiment, models, project, reduced, stats
from helpers.attribution import METHODS, NotConserved
from helpers.focus.design import IMAGES, design
from helpers.focus.intervals import summary
from helpers.focus.rating import logit_of, rate
from helpers.inference import logits
from helpers.networks import Classifier
from helpers.sources import Collection, ImageSet
from helpers.sources.folders import plain

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

Networks = Mapping[tuple[str, str], Classifier]


def held_out(collection: Collection, settings: SimpleNamespace) -> dict[str, ImageSet]:
    """The images that mosaics are made of: test splits, or all images where nothing is trained."""
    if settings.family == AS_IT_IS:
        return {
            name: replace(s, table=s.table.assign(split="test"))
            for name, s in collection.sets.items()
        }
    return {name: images.split("test") for name, images in collection.sets.items()}


def networks(
    collection: Collection, settings: SimpleNamespace
) -> dict[tuple[str, str], Classifier]:
    """A network of each architecture for each image set, by (architecture, set).

    Parameters
    ----------
    collection
    settings
        `architectures`, `family` (scratch, pretrained, probe or as it is), `pretrained`, `epochs`,
        `seed` and `image_size` are used.
    """
    return {
        (architecture, name): one(architecture, name, collection, settings)
        for architecture in settings.architectures
        for name in collection.sets
    }


def one(
    architecture: str,
    set_name: str,
    collection: Collection,
    settings: SimpleNamespace,
    epochs: int | None = None,
) -> Classifier:
    """The network of one architecture trained on one set, for fewer epochs where that is asked."""
    most = min(settings.epochs, reduced.EPOCHS.get(architecture, settings.epochs))
    changed = {"architecture": architecture, "epochs": epochs or most}
    if settings.family == AS_IT_IS:
        count = len(_categories(architecture))
        return models.build(architecture, count, weights=settings.pretrained).eval()
    name = f"{experiment.FAMILIES[settings.family]}-{set_name}"
    return experiment.model(name, collection, SimpleNamespace(**{**vars(settings), **changed}))


def answers(architecture: str, images: ImageSet, settings: SimpleNamespace) -> dict[str, int]:
    """The logit of each class: by order, or for a network as it is by ImageNet's name or number.

    Raises
    ------
    ValueError
        For a class folder that is neither an ImageNet category nor its number.
    """
    if settings.family != AS_IT_IS:
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


def accuracies(
    networks: Networks, images: Mapping[str, ImageSet], settings: SimpleNamespace
) -> pd.DataFrame:
    """Accuracy of each network on the single images of its own set, with Wilson's interval."""
    rows = [
        {"architecture": architecture, "set": name}
        | accuracy(network, images[name], answers(architecture, images[name], settings))
        for (architecture, name), network in networks.items()
    ]
    return pd.DataFrame(rows)


def accuracy(network: Classifier, images: ImageSet, logit: Mapping[str, int]) -> dict:
    """images, accuracy, low, high of a network."""
    wanted = np.array([logit[name] for name in images.table["class"]])
    said = logits(network, images.images).argmax(1).numpy()
    right, n = int((said == wanted).sum()), len(wanted)
    low, high = stats.wilson(right, n)
    return {"images": n, "accuracy": right / n, "low": low, "high": high}


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
    """Every method on every network: rows of :func:`helpers.focus.rate`, with architecture and set.

    A method that refuses a network, as LRP may, is left out; `attrs["refused"]` says why.
    """
    found, refused = [], {}
    for (architecture, name), network in networks.items():
        logit = answers(architecture, images[name], settings)
        for method in methods:
            try:
                rated = rated_here(network, images[name], tables[name], method, settings, logit)
            except NotConserved as reason:
                refused[architecture, method] = str(reason)
                continue
            found.append(rated.assign(architecture=architecture, set=name))
    rows = pd.concat(found, ignore_index=True)
    rows.attrs["refused"] = refused
    return rows


def rated_here(network, images: ImageSet, table, method, settings, logit=None, **more):
    """One rating with the notebook's effort, mosaic shape and store; `more` replaces settings."""
    chosen = method_settings(method, settings.effort)
    return rate(
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


def explained(network, mosaic: torch.Tensor, target: torch.Tensor, settings) -> dict:
    """Every method's map of one mosaic (1, 3, H, W), by the method's shown name."""
    found = {}
    for method in settings.methods:
        chosen = method_settings(method, settings.effort)
        try:
            maps = attribution.explain(network, mosaic, target, method, **chosen)
        except NotConserved:
            continue
        found[METHODS[method].name] = maps.maps[0]
    return found


def pooled(rated: pd.DataFrame, column: str = "set") -> pd.DataFrame:
    """Ratings of several image sets as if of one: images and targets numbered and named apart."""
    codes = rated[column].factorize()[0]
    apart = rated.assign(target=rated[column] + " " + rated["target"])
    for name in IMAGES:
        apart[name] = rated[name] + codes * (int(rated[IMAGES].to_numpy().max()) + 1)
    return apart


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
