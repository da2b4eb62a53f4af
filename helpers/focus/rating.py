"""Rate methods: explain mosaics for their target, score the maps, keep the scores part by part.

Mosaics are built, explained and scored a batch at a time, so memory does not grow with their
number. A part of the scores that is done is a file in the store; a rating that was interrupted goes
on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import explain
from helpers.data import ImageSet
from helpers.explain import METHODS, NotConserved
from helpers.focus.mosaics import IMAGES, TARGETS, batches, layouts
from helpers.focus.networks import Model
from helpers.focus.score import score
from helpers.run import artifacts, project
from helpers.run.progress import progress

PART = 128  # mosaics whose scores are kept together
AT_A_TIME = 12  # mosaics: more no longer fit a processor's cache, and VGG takes a third longer
VERSION = 1  # raise when a change of the code changes scores
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


def rate(
    model: nn.Module,
    images: torch.Tensor,
    table: pd.DataFrame,
    method: str | Callable,
    *,
    classes: Sequence[str] | Mapping[str, int],
    preset: str = "sound",
    shape: str = "native",
    store: Path | str | None = None,
    name: str | None = None,
    batch_size: int = AT_A_TIME,
    **settings,
) -> pd.DataFrame:
    """Focus of a method's maps of every mosaic of a design (section I-B).

    Parameters
    ----------
    model : nn.Module
        Takes uint8 images (B, 3, H, W) and float ones in [0, 1], returns logits.
    images : uint8 tensor (M, 3, H, W)
        The held-out images that `table` counts.
    table : DataFrame
        From :func:`helpers.focus.design`.
    method : str or callable
        One of :data:`helpers.explain.METHODS`, or a function of (model, float images, targets)
        that returns maps (B, H, W).
    classes : sequence of str, or dict of str to int
        The model's classes in the order of its logits, or the logit of each class.
    preset, settings
        As for :func:`helpers.explain.explain`.
    shape : {"native", "squeezed"}
        Of the mosaics, as for :func:`helpers.focus.batches`.
    store : path, optional
        Folder in which scores are kept, named by all that decides them. None keeps nothing.
    name : str, optional
        What the rows call the method (None: its own name). A callable is kept under its name, so it
        is kept only where this is given: give it another name when it becomes another function.
    batch_size : int
        Mosaics explained at a time.

    Returns
    -------
    DataFrame
        The rows of `table`, and: method (its shown name, such as "IG"); focus (NaN: undefined, the
        map has no positive relevance); seconds (wall time a mosaic took, mean over its part, when
        it was explained).

    Raises
    ------
    ValueError, NotConserved, FloatingPointError
        What designs, mosaics, explanations and scores refuse.
    """
    wanted = _logits(classes, table)
    explaining = {"preset": preset, "shape": shape, **settings}
    folder = None
    if store is not None and (isinstance(method, str) or name):
        decides = {"method": _name(method), "name": name, "settings": explaining}
        folder = Path(store) / _key(model, images, table, wanted, decides)
    called, found = name or shown(method), []
    for start in progress(range(0, len(table), PART), desc=called, unit="part", delay=2):
        part = slice(start, start + PART)
        explain = partial(
            _explained, model, images, table[part], wanted[part], method, batch_size, **explaining
        )
        found.append(_kept(folder, start // PART, explain))
    scores, seconds = (np.concatenate(values) for values in zip(*found, strict=True))
    return table.assign(method=called, focus=scores, seconds=seconds)


def rated(
    model: Model,
    images: ImageSet,
    table: pd.DataFrame,
    method: str | Callable,
    *,
    effort: str = "sound",
    **more,
) -> pd.DataFrame:
    """The same mosaics rated on each training of a model; scores are kept in the project's store.

    Parameters
    ----------
    model : Model
    images : ImageSet
        Those that `table` counts.
    table, method
        As for :func:`rate`.
    effort : {"quick", "sound", "paper"}
        How many samples a method draws; see :data:`QUICK`.
    more
        `shape`, `name`, and settings of the method that replace those of the effort.

    Returns
    -------
    DataFrame
        Rows of :func:`rate`, with the columns training (its number), architecture and set.
    """
    asked = {**method_settings(method, effort), **more, "store": project.store() / "focus"}
    found = [
        rate(network, images.images, table, method, classes=model.logit, **asked).assign(training=t)
        for t, network in enumerate(model.trainings)
    ]
    rows = pd.concat(found, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


def ratings(
    models: Iterable[Model],
    images: Mapping[str, ImageSet],
    tables: Mapping[str, pd.DataFrame],
    methods: Iterable[str],
    **more,
) -> pd.DataFrame:
    """Every method on every model, on the image set that the model was trained on.

    Parameters
    ----------
    models, images, tables, methods
        Images and their mosaics by the name of the set.
    more
        `effort` and `shape`, as for :func:`rated`.

    Returns
    -------
    DataFrame
        Rows of :func:`rated`. A method that refuses a model, as LRP may, has none there;
        `attrs["refused"]` says why.
    """
    found, refused = [], {}
    for model in models:
        on = model.trained_on
        for method in methods:
            try:
                found.append(rated(model, images[on], tables[on], method, **more))
            except NotConserved as reason:
                refused[model.name, method] = str(reason)
    rows = pd.concat(found, ignore_index=True)
    rows.attrs["refused"] = refused
    return rows


def maps_of(
    model: Model, mosaic: torch.Tensor, target: str, methods: Iterable[str], effort: str
) -> dict[str, torch.Tensor]:
    """Each method's map of one mosaic (1, 3, H, W) in the first training, by its shown name."""
    found = {}
    for method in methods:
        asked = mosaic, model.logit[target], method
        try:
            maps = explain.explain(model.trainings[0], *asked, **method_settings(method, effort))
        except NotConserved:
            continue
        found[shown(method)] = maps.maps[0]
    return found


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


def shown(method: str | Callable) -> str:
    """A method's shown name, or a callable's own."""
    return METHODS[method].name if method in METHODS else _name(method)


def _explained(
    model, images, table, wanted, method, batch_size, *, shape, preset, **settings
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of some mosaics, and the wall time that explaining one took."""
    scores, seconds, places = [], 0.0, layouts(table)
    stream = batches(table, images, shape, batch_size)
    for mosaics, targets, where in zip(
        stream, wanted.split(batch_size), places.split(batch_size), strict=True
    ):
        maps = explain.explain(
            model, mosaics, targets, method, preset=preset, batch_size=batch_size, **settings
        )
        if maps.settings.get("layer"):  # found by name once, not in every batch
            settings["layer"] = maps.settings["layer"]
        seconds += maps.seconds
        scores.append(score(maps.maps, where))
    return torch.cat(scores).numpy(), np.full(len(table), seconds / len(table))


def _kept(folder: Path | None, number: int, explain: Callable) -> tuple[np.ndarray, np.ndarray]:
    """A part's scores and seconds, from the folder where they are there already."""
    if folder is None:
        return explain()

    def make(path: Path) -> None:
        with path.open("wb") as file:
            np.save(file, np.stack(explain()))

    path = artifacts.cached(folder / f"{number:05d}.npy", make)
    with artifacts.reading(path):
        scores, seconds = np.load(path, allow_pickle=False)
    return scores, seconds


def _logits(classes: Sequence[str] | Mapping[str, int], table: pd.DataFrame) -> torch.Tensor:
    """The logit of each mosaic's target, int64 (N,)."""
    at = classes if isinstance(classes, Mapping) else {name: i for i, name in enumerate(classes)}
    unknown = set(table["target"]) - set(at)
    if unknown:
        raise ValueError(f"The model has no class {sorted(unknown)[0]!r} that mosaics have.")
    return torch.tensor([at[name] for name in table["target"]])


def _name(method: str | Callable) -> str:
    return method if isinstance(method, str) else getattr(method, "__name__", "own")


def _key(model, images, table, wanted, decides: dict) -> str:
    """Name of a rating's folder, from all that decides its scores."""
    tensors = [*model.named_parameters(), *model.named_buffers()]
    return artifacts.key(
        "focus",
        model=[repr(model), dict(tensors)],
        images=images,
        design=table[[*IMAGES, *TARGETS]].to_numpy(dtype=np.int64),
        logits=wanted,
        versions=[VERSION, torch.__version__],
        **decides,
    )
