"""Rate methods: explain mosaics for their target, and score the maps (Equation 1)."""

from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from helpers import explain, store
from helpers.data import ImageSet
from helpers.explain import METHODS, NotConserved
from helpers.focus import equation
from helpers.focus.mosaics import IMAGES, TARGETS, batches, layouts
from helpers.focus.networks import Model
from helpers.models.inference import in_key
from helpers.store import progress

AT_A_TIME = (
    24  # mosaics: fewer wait for Python, and the gradients of more do not fit the cache
)
CHUNK = 8  # maps whose positive part stays in the processor's cache


def score(
    maps: torch.Tensor, layouts: torch.Tensor, focus_of: Callable = equation.focus_of
) -> torch.Tensor:
    """Return the Focus of maps (Equation 1), float64 (N,), from 0 to 1, or NaN where it is undefined.

    `maps` are float (N, H, W). `layouts`, bool (N, rows, columns), are true on target cells.
    `focus_of` is Equation 1."""
    typed = maps.is_floating_point() and layouts.dtype == torch.bool
    fits = typed and maps.ndim == layouts.ndim == 3 and len(maps) == len(layouts)
    fits = fits and min(np.subtract(maps.shape, layouts.shape)) >= 0
    if not fits or (layouts.flatten(1).all(1) | ~layouts.flatten(1).any(1)).any():
        raise ValueError(
            f"The maps are {maps.dtype} {tuple(maps.shape)}, and the layouts {layouts.dtype} "
            f"{tuple(layouts.shape)}. Maps must be float (N, H, W), and layouts bool (N, rows, "
            "columns) with no more cells than pixels. Each layout needs target cells and other "
            "cells, or else all maps would have the same score."
        )
    where = layouts.to(maps.device)
    parts = zip(maps.split(CHUNK), where.split(CHUNK), strict=True)
    return torch.cat([_finite(*part, focus_of) for part in parts]).cpu()


def _finite(
    maps: torch.Tensor, layouts: torch.Tensor, focus_of: Callable
) -> torch.Tensor:
    """Score a few maps, in double precision where their own precision overflows."""
    scores = focus_of(maps.detach(), layouts)
    again = scores.isnan() & maps.isfinite().flatten(1).all(1)
    return focus_of(maps.detach().double(), layouts) if again.any() else scores


def rate(
    model: Model,
    images: ImageSet,
    table,
    method,
    *,
    effort="sound",
    shape="native",
    focus_of: Callable = equation.focus_of,
    **settings,
) -> pd.DataFrame:
    """Rate a method's maps of every mosaic of a design, by each training run (section I-B).

    `images` are the held-out images that `table` refers to. The method is a name or a function.
    `settings` replace those of the `effort`, a preset of `explain`. ``seconds`` are per mosaic.
    A lesson passes its own Equation 1 as `focus_of`."""
    unknown = sorted(set(table["target"]) - set(model.logit))
    if unknown:
        raise ValueError(
            f"The mosaics show {unknown[0]!r}, which is not a class of the model. Use mosaics of "
            "its classes."
        )
    targets = torch.tensor([model.logit[name] for name in table["target"]])
    settings = {"preset": effort, **settings}
    parts = []
    for run, network in enumerate(
        progress(model.trainings, desc=label_of(method), delay=2)
    ):
        packages = {type(part).__module__.split(".")[0] for part in network.modules()}
        # the key of a stored score says what these packages' layers compute
        storable = packages <= {"torch", "torchvision", "helpers"}
        score_all = _kept if isinstance(method, str) and storable else _scored
        done = score_all(
            network, images.images, table, targets, method, shape, settings, focus_of
        )
        row = {"method": label_of(method), "focus": done[0], "seconds": done[1]}
        parts.append(table.assign(**row, run=run))
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


def ratings(models: Iterable[Model], images, tables, methods, **more) -> pd.DataFrame:
    """Rate every method on every model, on the image set that the model was trained on.

    `images` and `tables` are by image set; `more` is as for `rate`. `attrs["refused"]` says why a
    method refuses a network."""
    parts, refused = [], {}
    cases = [(model, method) for model in models for method in methods]
    for model, method in progress(cases, desc="rating", delay=2):
        name = model.trained_on
        try:
            parts.append(rate(model, images[name], tables[name], method, **more))
        except NotConserved as reason:
            refused[model.name, method] = str(reason)
    rows = pd.concat(parts, ignore_index=True)
    rows.attrs["refused"] = refused
    return rows


def label_of(method: str | Callable) -> str:
    """Return the printed name of a method, which may be a function.

    A function with the name of one of the package's has its printed name: it is an
    edited version of the same method.
    """
    name = method if isinstance(method, str) else getattr(method, "__name__", "")
    for key, known in METHODS.items():
        if name in (key, known.run.__name__):
            return known.name
    return name or str(method)


def _scored(
    network, images, table, targets, method, shape, settings, focus_of
) -> np.ndarray:
    """Score the mosaics, and measure the wall time per explanation: (2, N)."""
    scores, seconds = [], 0.0
    stream, places = (
        batches(table, images, shape, AT_A_TIME),
        layouts(table).split(AT_A_TIME),
    )
    for mosaics, wanted, where in zip(
        stream, targets.split(AT_A_TIME), places, strict=True
    ):
        maps = explain.explain(
            network, mosaics, wanted, method, check_finite=False, **settings
        )
        seconds += maps.seconds
        scores.append(score(maps.maps, where, focus_of))
    return np.stack(
        [torch.cat(scores).numpy(), np.full(len(table), seconds / len(table))]
    )


def _kept(
    network, images, table, targets, method, shape, settings, focus_of
) -> np.ndarray:
    """Return what `_scored` returns, from a stored file if there is one with the same inputs."""
    try:
        digest = store.function_digest(focus_of)
    except (TypeError, OSError):
        print(
            "The scores are not stored for the next run, since a function has no source code."
        )
        return _scored(
            network, images, table, targets, method, shape, settings, focus_of
        )
    key = store.key(
        "focus",
        model=[
            repr(network),
            dict([*network.named_parameters(), *network.named_buffers()]),
        ],
        images=images,
        design=table[[*IMAGES, *TARGETS]].to_numpy(dtype=np.int64),
        targets=targets,
        method=[method, shape, settings],
        versions=[torch.__version__, version("captum"), version("scikit-learn")],
        focus_of=digest,
        **in_key(next(network.parameters()).device),
    )

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            scores = _scored(
                network, images, table, targets, method, shape, settings, focus_of
            )
            np.save(file, scores)

    path = store.cached(store.networks() / "focus" / f"{key}.npy", write)
    with store.reading(path):
        return np.load(path, allow_pickle=False)
