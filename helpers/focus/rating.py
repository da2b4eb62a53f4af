"""Rate methods: explain mosaics for their target, and score the maps (Equation 1)."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import explain, store
from helpers.data import ImageSet
from helpers.explain import METHODS, NotConserved
from helpers.focus import equation
from helpers.focus.mosaics import IMAGES, TARGETS, batches, layouts
from helpers.focus.networks import Model
from helpers.models.inference import in_key
from helpers.store import progress
from helpers.synthetic_data import reduced

# mosaics at a time, by the type of the device: on a CPU, the gradients of more do not
# fit the cache
BATCH_SIZES = {"cpu": 24, "mps": 24, "cuda": 96}
TIMED_MOSAICS = 4  # for the estimate of the time
LONG = 60  # seconds; a rating that may take longer is announced
FORWARD_ONLY = ("lime",)  # methods that compute no gradients
CHUNK = 8  # maps whose positive part stays in the processor's cache


def score(
    maps: torch.Tensor, layouts: torch.Tensor, focus_of: Callable = equation.focus_of
) -> torch.Tensor:
    """Return the Focus of maps (Equation 1).

    Parameters
    ----------
    maps : torch.Tensor of float, shape (N, H, W)
    layouts : torch.Tensor of bool, shape (N, rows, columns)
        True on target cells.
    focus_of : callable
        Equation 1.

    Returns
    -------
    torch.Tensor of float64, shape (N,)
        From 0 to 1, or NaN where Focus is undefined; on the CPU.

    Raises
    ------
    ValueError
        Shapes or types do not fit, or a layout has no target cells or no other cells.
    """
    typed = maps.is_floating_point() and layouts.dtype == torch.bool
    fits = typed and maps.ndim == layouts.ndim == 3 and len(maps) == len(layouts)
    fits = fits and min(np.subtract(maps.shape, layouts.shape)) >= 0
    if not fits or (layouts.flatten(1).all(1) | ~layouts.flatten(1).any(1)).any():
        raise ValueError(
            f"The maps are {maps.dtype} {tuple(maps.shape)}, and the layouts "
            f"{layouts.dtype} {tuple(layouts.shape)}. Maps must be float (N, H, W), "
            "and layouts bool (N, rows, columns) with no more cells than pixels. Each "
            "layout needs target cells and other cells, or else all maps would have "
            "the same score."
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
    """Rate a method's maps of every mosaic of a design (section I-B).

    Parameters
    ----------
    model : Model
    images : ImageSet
        The held-out images that `table` refers to.
    table : pandas.DataFrame
        The design of the mosaics.
    method : str or callable
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
    unknown = sorted(set(table["target"]) - set(model.logit))
    if unknown:
        raise ValueError(
            f"The mosaics show {unknown[0]!r}, which is not a class of the model. Use "
            "mosaics of its classes."
        )
    targets = torch.tensor([model.logit[name] for name in table["target"]])
    settings = {"preset": effort, **settings}
    parts = []
    for run, network in enumerate(
        progress(model.trainings, desc=label_of(method), delay=2)
    ):
        packages = {type(part).__module__.split(".")[0] for part in network.modules()}
        # the key of a stored score says what these packages' layers compute
        storable = packages <= {"torch", "torchvision", "helpers", "synthetic"}
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

    A rating that takes long is announced.

    Parameters
    ----------
    models : iterable of Model
    images, tables : mapping
        The held-out images and the design of the mosaics of each image set.
    methods : iterable of str or callable
    **more
        See `rate`.

    Returns
    -------
    pandas.DataFrame
        The rows of `rate`. ``attrs["refused"]`` says why a method refuses a network.
    """
    models, methods = list(models), list(methods)
    announce(models, images, tables, methods, **more)
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


def announce(
    models: Sequence[Model],
    images: Mapping[str, ImageSet],
    tables: Mapping[str, pd.DataFrame],
    methods: Sequence[str | Callable],
    *,
    effort: str = "sound",
    shape: str = "native",
    **settings,
) -> None:
    """Print how many passes a rating needs, and estimate its time from a timed batch.

    Ratings with the effort "paper" are announced, and those of full-size networks that
    take more than a minute. Stored scores are not taken into account.

    Parameters
    ----------
    models, images, tables, methods, effort, shape, **settings
        See `ratings`.
    """
    is_small = [model.recipe.architecture in reduced.REDUCED for model in models]
    if effort != "paper" and all(is_small):
        return
    total_passes, total_seconds = 0, 0.0
    for model in models:
        name = model.trained_on
        n_mosaics = len(tables[name]) * len(model.trainings)
        first_rows = tables[name][:TIMED_MOSAICS]
        [mosaics] = batches(first_rows, images[name].images, shape, TIMED_MOSAICS)
        network = model.trainings[0]
        forward = time_pass(network, mosaics, backward=False)
        forward_and_backward = time_pass(network, mosaics, backward=True)
        for method in methods:
            passes = n_mosaics * passes_per_mosaic(method, effort, **settings)
            total_passes += passes
            is_forward = method in FORWARD_ONLY
            total_seconds += passes * (forward if is_forward else forward_and_backward)
    if effort == "paper" or total_seconds > LONG:
        device = next(network.parameters()).device.type
        print(
            f"The rating needs {total_passes:,} passes through the networks. At the "
            f"speed of a first batch on this {device}, they take "
            f"{_duration(total_seconds)}. Scores that are stored already take no time."
        )


def passes_per_mosaic(method: str | Callable, effort: str = "sound", **settings) -> int:
    """Return how many passes through the network a method makes for one mosaic.

    Parameters
    ----------
    method : str or callable
        Your own function counts as one pass.
    effort : str, default="sound"
        A preset of `explain`.
    **settings
        Settings that replace those of the preset.

    Returns
    -------
    int
        A forward and a backward pass count as one.
    """
    if callable(method):
        return 1
    preset = explain.PRESETS[effort].get(method, {})
    chosen = {**explain.settings_of(method), **preset, **settings}
    return chosen.get("samples", chosen.get("steps", 1))


def time_pass(network: nn.Module, mosaics: torch.Tensor, backward: bool) -> float:
    """Return the seconds of a pass of one mosaic through a network.

    Parameters
    ----------
    network : nn.Module
    mosaics : torch.Tensor of uint8, shape (N, 3, H, W)
    backward : bool
        Whether gradients are computed as well.

    Returns
    -------
    float
        From the second of two passes of the batch, because the first one loads kernels.
    """
    device = next(network.parameters()).device
    inputs = (mosaics.to(device).float() / 255).requires_grad_(backward)
    for _ in range(2):
        start = time.perf_counter()
        with torch.set_grad_enabled(backward):
            result = network(inputs)
            if backward:
                [result] = torch.autograd.grad(result.sum(), inputs)
        result.cpu()  # waits for a GPU
        seconds = time.perf_counter() - start
    return seconds / len(mosaics)


def _duration(seconds: float) -> str:
    """Write a duration in the unit that fits it."""
    if seconds < 120:
        return f"about {seconds:.0f} seconds"
    if seconds < 7200:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:,.0f} hours"


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
    device = next(network.parameters()).device
    size = BATCH_SIZES.get(device.type, BATCH_SIZES["cpu"])
    stream = batches(table, images, shape, size)
    parts = zip(stream, targets.split(size), layouts(table).split(size), strict=True)
    bar = progress(total=len(table), desc=label_of(method), unit="mosaic", delay=10)
    with bar:
        for mosaics, wanted, where in parts:
            maps = explain.explain(
                network,
                mosaics,
                wanted,
                method,
                check_finite=False,
                **settings,
            )
            if maps.settings.get("layer"):  # found by name once, not in every batch
                settings = {**settings, "layer": maps.settings["layer"]}
            seconds += maps.seconds
            scores.append(score(maps.maps, where, focus_of))
            bar.update(len(mosaics))
    return np.stack(
        [torch.cat(scores).numpy(), np.full(len(table), seconds / len(table))]
    )


def _kept(
    network, images, table, targets, method, shape, settings, focus_of
) -> np.ndarray:
    """Return what `_scored` returns, from a file if it is stored."""
    try:
        digest = store.function_digest(focus_of)
    except (TypeError, OSError):
        print(
            "The scores are not stored for the next run, since a function has no "
            "source code."
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
