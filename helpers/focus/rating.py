"""Rate a method: explain mosaics for their target, score the maps, keep the scores part by part.

Mosaics are built, explained and scored a batch at a time, so memory does not grow with their
number. A part of the scores that is done is a file in the store; a rating that was interrupted goes
on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import explain
from helpers.focus.design import IMAGES, TARGETS, batches, layouts
from helpers.focus.score import score
from helpers.run import artifacts
from helpers.run.progress import progress

PART = 128  # mosaics whose scores are kept together
VERSION = 1  # raise when a change of the code changes scores


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
    batch_size: int = 32,
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
        The rows of `table`, and: method; focus (NaN: undefined, the map has no positive relevance);
        seconds (wall time a mosaic took, mean over its part, when it was explained).

    Raises
    ------
    ValueError, NotConserved, FloatingPointError
        What designs, mosaics, explanations and scores refuse.
    """
    wanted = _logits(classes, table)
    called = name or _name(method)
    explaining = {"preset": preset, "shape": shape, **settings}
    folder = None
    if store is not None and (isinstance(method, str) or name):
        decides = {"method": _name(method), "name": name, "settings": explaining}
        folder = Path(store) / _key(model, images, table, wanted, decides)
    found = []
    for start in progress(range(0, len(table), PART), desc=called, unit="part", delay=2):
        part = slice(start, start + PART)
        explain = partial(
            _explained, model, images, table[part], wanted[part], method, batch_size, **explaining
        )
        found.append(_kept(folder, start // PART, explain))
    scores, seconds = (np.concatenate(values) for values in zip(*found, strict=True))
    return table.assign(method=called, focus=scores, seconds=seconds)


def rate_maps(
    maps: explain.Maps | torch.Tensor | np.ndarray, table: pd.DataFrame, name: str | None = None
) -> pd.DataFrame:
    """Focus of maps computed elsewhere, one a mosaic of the design, in its order.

    Parameters
    ----------
    maps : Maps, or float tensor or array (N, H, W)
        Of the mosaics of :func:`helpers.focus.batches`, at any size.
    table : DataFrame
        From :func:`helpers.focus.design`.
    name : str, optional
        What the rows call the method.

    Returns
    -------
    DataFrame
        As from :func:`rate`; seconds are known only for `Maps`.

    Raises
    ------
    ValueError
        For another number of maps than mosaics, and what :func:`helpers.focus.score` refuses.
    """
    known = isinstance(maps, explain.Maps)
    values = maps.maps if known else torch.as_tensor(maps)
    if len(values) != len(table):
        raise ValueError(f"There are {len(values)} maps of {len(table)} mosaics: give one each.")
    called = name or (maps.method if known else "given")
    seconds = maps.seconds / len(table) if known else np.nan
    focus = score(values, layouts(table)).numpy()
    return table.assign(method=called, focus=focus, seconds=seconds)


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


def logit_of(classes: Sequence[str] | Mapping[str, int]) -> Mapping[str, int]:
    """The logit of each class: as given, or by the classes' order."""
    return classes if isinstance(classes, Mapping) else {name: i for i, name in enumerate(classes)}


def _logits(classes: Sequence[str] | Mapping[str, int], table: pd.DataFrame) -> torch.Tensor:
    """The logit of each mosaic's target, int64 (N,)."""
    at = logit_of(classes)
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
