"""Rate methods by the Focus of their maps of mosaics (Equation 1)."""

import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import product

import pandas as pd
import torch
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d

from helpers import explain
from helpers.data import ImageSet
from helpers.focus import equation
from helpers.focus.mosaics import compose, in_batches, layouts
from helpers.focus.networks import Model
from helpers.store import progress
from helpers.synthetic_data import reduced

TIMED_MOSAICS = 4  # for the estimate of the time


def rate(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    method: str | Callable,
    *,
    effort: str = "sound",
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
    focus_of : callable
        Equation 1.
    **settings
        Settings that override the preset.

    Returns
    -------
    pandas.DataFrame
        The design with one row per mosaic and training run, and the columns `method`,
        `run`, `focus`, `by cell` (the Focus after relevance is summed in each image,
        with its sign), `architecture` and `set`.
    """
    parts = []
    settings["check_finite"] = False  # Focus is then undefined
    batches = explained(model, images, design, method, effort, **settings)
    for rows, _, _, _, maps in batches:
        rows["focus"] = focus_of(maps, layouts(rows))
        of_cells = adaptive_avg_pool2d(maps, 2)
        rows["by cell"] = focus_of(of_cells, layouts(rows))
        parts.append(rows)
    return pd.concat(parts, ignore_index=True)


def explained(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    method: str | Callable,
    effort: str,
    **settings,
) -> Iterator[tuple]:
    """Explain the mosaics of a design in every training run, in batches.

    Yields their rows of the design with the method, architecture, image set and
    training run, the network, the mosaics, the targets and the maps.
    """
    label = label_of(method)
    design = design.assign(
        method=label, architecture=model.recipe.architecture, set=images.name
    )
    for run, network in enumerate(progress(model.trainings, desc=label, delay=2)):
        for rows in in_batches(design):
            asked = network, compose(rows, images.images), model.targets(rows)
            maps = explain.explain(*asked, method, preset=effort, **settings)
            yield rows.assign(run=run), *asked, maps


def ratings(
    models: Sequence[Model],
    images: Mapping[str, ImageSet],
    designs: Mapping[str, pd.DataFrame],
    methods: Sequence[str | Callable],
    *,
    effort: str = "sound",
    rate: Callable = rate,
) -> pd.DataFrame:
    """Rate every method on every model, on the image set that the model was trained on.

    The work on networks of full size is announced. A method that refuses a network is
    named.

    Parameters
    ----------
    models : sequence of Model
    images, designs : mapping
        The held-out images and the design of the mosaics of each image set.
    methods : sequence of str or callable
    effort
        See `rate`.
    rate : callable
        `rate`, or `faithfulness.rate`.

    Returns
    -------
    pandas.DataFrame
        The rows of `rate`.

    Raises
    ------
    ValueError
        Every method refuses every network.
    """
    cases = []
    for model in models:
        name = model.trained_on
        cases.append((model, images[name], designs[name]))
    announce(cases, methods, effort)
    parts = []
    rated = list(product(cases, methods))
    for case, method in progress(rated, desc="rating", delay=2):
        try:
            parts.append(rate(*case, method, effort=effort))
        except explain.NotConserved as reason:
            print(f"{label_of(method)} refuses {case[0].name}: {reason}")
    if not parts:
        raise ValueError(
            "None of the methods can explain these networks, because relevance would "
            "be lost in them. Add another method, such as gradcam."
        )
    return pd.concat(parts, ignore_index=True)


def announce(
    cases: Sequence[tuple], methods: Sequence[str | Callable], effort: str
) -> None:
    """Print how many passes a rating needs, and estimate its time from a timed batch.

    A case is a model, its held-out images and its design. The small networks of the
    suite are quick, so their rating is not announced.
    """
    if all(model.recipe.architecture in reduced.REDUCED for model, _, _ in cases):
        return
    per_mosaic = sum(passes_per_mosaic(method, effort) for method in methods)
    total_passes = 0
    seconds = 0.0
    for model, images, design in cases:
        mosaics = compose(design[:TIMED_MOSAICS], images.images)
        passes = per_mosaic * len(design) * len(model.trainings)
        total_passes += passes
        seconds += passes * time_pass(model.trainings[0], mosaics)
    print(
        f"The maps need {total_passes:,} passes through the networks. At the speed of "
        "a first batch on this device, they take at most "
        f"{timedelta(seconds=round(seconds))} (hours:minutes:seconds)."
    )


def passes_per_mosaic(method: str | Callable, effort: str) -> int:
    """Return how many passes through the network a method makes for one mosaic.

    A forward and a backward pass count as one. A function without the settings
    `samples` and `steps` makes one pass.
    """
    preset = explain.PRESETS[effort].get(method, {})
    settings = explain.settings_of(method) | preset
    return settings.get("samples", settings.get("steps", 1))


def time_pass(network: nn.Module, mosaics: torch.Tensor) -> float:
    """Return the seconds of a forward and a backward pass of one mosaic.

    The faster of two passes counts, because the first pass loads kernels.
    """

    def run() -> None:
        explain.explain(network, mosaics, 0, "integrated-gradients", steps=1)

    return min(timeit.repeat(run, repeat=2, number=1)) / len(mosaics)


def label_of(method: str | Callable) -> str:
    """Return the printed name of a method, which may be a function.

    An edited version of a method, under its name, has the method's printed name.
    """
    name = getattr(method, "__name__", str(method))
    for key, known in explain.METHODS.items():
        if name in (key, known.run.__name__):
            return known.name
    return name
