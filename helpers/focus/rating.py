"""Rate methods: explain mosaics for their target, and score the maps (Equation 1)."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

import pandas as pd
import torch
from torch import nn

from helpers import explain
from helpers.data import ImageSet
from helpers.explain import METHODS, NotConserved
from helpers.focus import equation
from helpers.focus.mosaics import batches, layouts
from helpers.focus.networks import Model
from helpers.store import progress
from helpers.synthetic_data import reduced

# mosaics at a time, by the type of the device: on a CPU, the gradients of more do not
# fit the cache
BATCH_SIZES = {"cpu": 24, "mps": 24, "cuda": 96}
TIMED_MOSAICS = 4  # for the estimate of the time
LONG = 60  # seconds; a rating that may take longer is announced


def batch_size(network: nn.Module) -> int:
    """Return how many mosaics pass through a network at a time."""
    device = next(network.parameters()).device
    return BATCH_SIZES.get(device.type, BATCH_SIZES["cpu"])


def targets_of(model: Model, design: pd.DataFrame) -> torch.Tensor:
    """Return the logit that each mosaic asks for: int64 (N,)."""
    unknown = sorted(set(design["target"]) - set(model.logit))
    if unknown:
        raise ValueError(
            f"The mosaics show {unknown[0]!r}, which is not a class of the model. Use "
            "mosaics of its classes."
        )
    return torch.tensor([model.logit[name] for name in design["target"]])


def rate(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    method: str | Callable,
    *,
    effort: str = "sound",
    shape: str = "native",
    focus_of: Callable = equation.focus_of,
    **settings,
) -> pd.DataFrame:
    """Rate a method's maps of every mosaic of a design (section I-B).

    Parameters
    ----------
    model : Model
    images : ImageSet
        The held-out images that `design` refers to.
    design : pandas.DataFrame
    method : str or callable
        A method of `explain`, or your own function of (model, images, targets).
    effort : str, default="sound"
        A preset of `explain`.
    shape : {"native", "squeezed"}
        The shape of the mosaics.
    focus_of : callable
        Equation 1.
    **settings
        Settings of the method that replace those of the preset.

    Returns
    -------
    pandas.DataFrame
        The design with one row per mosaic and training run, and the columns `method`,
        `focus`, `seconds` (per mosaic), `run`, `architecture` and `set`.

    Raises
    ------
    ValueError
        A class of the mosaics is not a class of the model.
    """
    targets = targets_of(model, design)
    where = layouts(design)
    label = label_of(method)
    parts = []
    for run, network in enumerate(progress(model.trainings, desc=label, delay=2)):
        size = batch_size(network)
        scores = []
        seconds = 0.0
        stream = batches(design, images.images, shape, size)
        parts_of_design = zip(
            stream, targets.split(size), where.split(size), strict=True
        )
        for mosaics, wanted, layout in parts_of_design:
            maps = explain.explain(
                network,
                mosaics,
                wanted,
                method,
                preset=effort,
                check_finite=False,
                **settings,
            )
            seconds += maps.seconds
            scores.append(focus_of(maps.maps, layout))
        part = design.assign(method=label, focus=torch.cat(scores).numpy(), run=run)
        parts.append(part.assign(seconds=seconds / len(design)))
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


def ratings(
    models: Iterable[Model],
    images: Mapping[str, ImageSet],
    designs: Mapping[str, pd.DataFrame],
    methods: Iterable[str | Callable],
    **more,
) -> pd.DataFrame:
    """Rate every method on every model, on the image set that the model was trained on.

    A rating that takes long is announced. A method that refuses a network is named.

    Parameters
    ----------
    models : iterable of Model
    images, designs : mapping
        The held-out images and the design of the mosaics of each image set.
    methods : iterable of str or callable
    **more
        See `rate`.

    Returns
    -------
    pandas.DataFrame
        The rows of `rate`.
    """
    models = list(models)
    methods = list(methods)
    announce(models, images, designs, methods, **more)
    cases = [(model, method) for model in models for method in methods]
    parts = []
    for model, method in progress(cases, desc="rating", delay=2):
        name = model.trained_on
        try:
            parts.append(rate(model, images[name], designs[name], method, **more))
        except NotConserved as reason:
            print(f"{label_of(method)} refuses {model.name}: {reason}")
    return pd.concat(parts, ignore_index=True)


def announce(
    models: Sequence[Model],
    images: Mapping[str, ImageSet],
    designs: Mapping[str, pd.DataFrame],
    methods: Sequence[str | Callable],
    *,
    effort: str = "sound",
    shape: str = "native",
    **settings,
) -> None:
    """Print how many passes a rating needs, and estimate its time from a timed batch.

    Ratings with the effort "paper" are announced, and those of full-size networks that
    take more than a minute.

    Parameters
    ----------
    models, images, designs, methods, effort, shape, **settings
        See `ratings`.
    """
    is_small = [model.recipe.architecture in reduced.REDUCED for model in models]
    if effort != "paper" and all(is_small):
        return
    total_passes = 0
    total_seconds = 0.0
    for model in models:
        design = designs[model.trained_on]
        tiles = images[model.trained_on].images
        [mosaics] = batches(design[:TIMED_MOSAICS], tiles, shape, TIMED_MOSAICS)
        network = model.trainings[0]
        seconds = time_pass(network, mosaics)
        for method in methods:
            passes = passes_per_mosaic(method, effort, **settings)
            passes *= len(design) * len(model.trainings)
            total_passes += passes
            total_seconds += passes * seconds
    if effort == "paper" or total_seconds > LONG:
        device = next(network.parameters()).device.type
        print(
            f"The rating needs {total_passes:,} passes through the networks. At the "
            f"speed of a first batch on this {device}, they take at most "
            f"{timedelta(seconds=round(total_seconds))} (hours:minutes:seconds)."
        )


def passes_per_mosaic(method: str | Callable, effort: str = "sound", **settings) -> int:
    """Return how many passes through the network a method makes for one mosaic.

    A forward and a backward pass count as one, and so does your own function.
    """
    if callable(method):
        return 1
    preset = explain.PRESETS[effort].get(method, {})
    chosen = {**explain.settings_of(method), **preset, **settings}
    return chosen.get("samples", chosen.get("steps", 1))


def time_pass(network: nn.Module, mosaics: torch.Tensor) -> float:
    """Return the seconds of a forward and a backward pass of one mosaic.

    They are those of the second pass of a batch, because the first pass loads kernels.
    """
    device = next(network.parameters()).device
    inputs = (mosaics.to(device).float() / 255).requires_grad_()
    for _ in range(2):
        start = time.perf_counter()
        [gradient] = torch.autograd.grad(network(inputs).sum(), inputs)
        gradient.cpu()  # waits for a GPU
        seconds = time.perf_counter() - start
    return seconds / len(mosaics)


def label_of(method: str | Callable) -> str:
    """Return the printed name of a method, which may be a function.

    An edited version of a method, under its name, has the method's printed name.
    """
    name = method if isinstance(method, str) else getattr(method, "__name__", "")
    for key, known in METHODS.items():
        if name in (key, known.run.__name__):
            return known.name
    return name or str(method)
