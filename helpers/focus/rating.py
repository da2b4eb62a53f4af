"""Rate methods: explain mosaics for their target, score the maps, keep the scores.

Mosaics are built, explained and scored a batch at a time, so memory does not grow with their
number. The scores of a method and a training are a file in the store; a study that was interrupted
goes on with the next.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from helpers import explain
from helpers.data import ImageSet
from helpers.explain import METHODS, NotConserved
from helpers.focus.mosaics import IMAGES, TARGETS, batches, layouts
from helpers.focus.networks import Model
from helpers.focus.score import score
from helpers.run import artifacts, project
from helpers.run.progress import progress

AT_A_TIME = 24  # mosaics: fewer wait for Python, and the gradients of more do not fit the cache
VERSION = 2  # raise when a change of the code changes scores
EFFORTS = {
    "quick": {
        "smoothgrad": {"samples": 6},
        "integrated-gradients": {"steps": 6},
        "lime": {"segments": 5, "samples": 40},
    },
    "sound": {"lime": {"segments": 7}},
    "paper": {},
}
"""What each effort changes: "quick" draws fewer samples, in about a tenth of the time.

Grids of superpixels have an odd number a side, so that some lie across a mosaic's seams: where all
edges of a grid lie on the seams, nothing can leak across, and Focus is higher for no merit.
"""


def rate(
    model: Model,
    images: ImageSet,
    table: pd.DataFrame,
    method: str | Callable,
    *,
    effort: str = "sound",
    shape: str = "native",
    **settings,
) -> pd.DataFrame:
    """Focus of a method's maps of every mosaic of a design, by each training (section I-B).

    Scores of named methods are kept in the project's store, under all that decides them.

    Parameters
    ----------
    model : Model
        Its trainings take uint8 images (B, 3, H, W) and float ones in [0, 1], and return logits.
    images : ImageSet
        The held-out images that `table`, from :func:`helpers.focus.design`, counts.
    method : str or callable
        One of :data:`helpers.explain.METHODS`, or a function of (model, float images, targets)
        that returns maps (B, H, W).
    effort : {"quick", "sound", "paper"}
        How many samples a method draws; `settings` of the method replace those of the effort.
    shape : {"native", "squeezed"}
        Of the mosaics, as for :func:`helpers.focus.batches`.

    Returns
    -------
    DataFrame
        The rows of `table` once a training, and: method (its shown name, such as "IG"); focus (NaN:
        undefined, the map has no positive relevance or is not finite); seconds (wall time a mosaic
        took on average, when it was explained); training (its number); architecture; set.

    Raises
    ------
    ValueError, NotConserved
        What mosaics, explanations and scores refuse.
    """
    unknown = sorted(set(table["target"]) - set(model.logit))
    if unknown:
        raise ValueError(f"The model has no class {unknown[0]!r} that mosaics have.")
    targets = torch.tensor([model.logit[name] for name in table["target"]])
    settings = {**method_settings(method, effort), **settings}
    found = []
    for training, network in enumerate(progress(model.trainings, desc=shown(method), delay=2)):
        asked = network, images.images, table, targets, method, shape, settings
        focus, seconds = _kept(*asked) if isinstance(method, str) else _scored(*asked)
        rows = table.assign(method=shown(method), focus=focus, seconds=seconds)
        found.append(rows.assign(training=training))
    rows = pd.concat(found, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


def ratings(
    models: Iterable[Model],
    images: Mapping[str, ImageSet],
    tables: Mapping[str, pd.DataFrame],
    methods: Iterable[str],
    on: str | None = None,
    **more,
) -> pd.DataFrame:
    """Every method on every model, on the image set that the model was trained on, or the one `on`.

    Images and their mosaics are given by the name of the set; `more` is `effort` and `shape`. A
    method that refuses a model, as LRP may, has no rows there; `attrs["refused"]` says why.
    """
    found, refused = [], {}
    asked = [(model, method) for model in models for method in methods]
    for model, method in progress(asked, desc="rating", delay=2):
        name = on or model.trained_on
        try:
            found.append(rate(model, images[name], tables[name], method, **more))
        except NotConserved as reason:
            refused[model.name, method] = str(reason)
    rows = pd.concat(found, ignore_index=True)
    rows.attrs["refused"] = refused
    return rows


def maps_of(
    model: Model, images: torch.Tensor, target: str, methods: Mapping[str, tuple[str, dict]]
) -> dict[str, torch.Tensor]:
    """Each method's maps (N, H, W) of images (N, 3, H, W) in the first training.

    `methods` are a method and its settings, by the name shown. One that refuses has no maps.
    """
    found, asked = {}, (model.trainings[0], images, model.logit[target])
    for name, (method, settings) in methods.items():
        with suppress(NotConserved):
            found[name] = explain.explain(*asked, method, **settings).maps
    return found


def method_settings(method: str | Callable, effort: str) -> dict:
    """Preset and settings of a method under an effort."""
    preset = "paper" if effort == "paper" else "sound"
    return {"preset": preset, **EFFORTS[effort].get(method, {})}


def shown(method: str | Callable) -> str:
    """A method's shown name, or a callable's own."""
    return METHODS[method].name if method in METHODS else getattr(method, "__name__", str(method))


def _scored(network, images, table, targets, method, shape, settings) -> np.ndarray:
    """Scores of the mosaics, and the wall time that explaining one took: (2, N)."""
    scores, seconds = [], 0.0
    stream, places = batches(table, images, shape, AT_A_TIME), layouts(table).split(AT_A_TIME)
    for mosaics, wanted, where in zip(stream, targets.split(AT_A_TIME), places, strict=True):
        found = explain.explain(network, mosaics, wanted, method, check_finite=False, **settings)
        if found.settings.get("layer"):  # found by name once, not in every batch
            settings = settings | {"layer": found.settings["layer"]}
        seconds += found.seconds
        scores.append(score(found.maps, where))
    return np.stack([torch.cat(scores).numpy(), np.full(len(table), seconds / len(table))])


def _kept(network, images, table, targets, method, shape, settings) -> np.ndarray:
    """As `_scored`, from a file that is named by all that decides the scores, once there is one."""
    key = artifacts.key(
        "focus",
        model=[repr(network), dict([*network.named_parameters(), *network.named_buffers()])],
        images=images,
        design=table[[*IMAGES, *TARGETS]].to_numpy(dtype=np.int64),
        targets=targets,
        method=[method, shape, settings],
        versions=[VERSION, torch.__version__],
    )

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.save(file, _scored(network, images, table, targets, method, shape, settings))

    path = artifacts.cached(project.store() / "focus" / f"{key}.npy", write)
    with artifacts.reading(path):
        return np.load(path, allow_pickle=False)
