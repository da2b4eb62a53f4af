"""Controls whose correct result is known.

They are maps without information, and networks of which we know what each image of a
mosaic adds to the logit.
"""

import copy
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import pandas as pd
import torch
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from helpers.data import ImageSet
from helpers.explain import NotConserved, explain, layers, settings_of
from helpers.focus import deletion, equation, faithfulness
from helpers.focus.mosaics import (
    CELLS,
    LAYOUTS,
    compose,
    cut,
    in_batches,
    joined,
    layouts,
)
from helpers.focus.networks import Model
from helpers.focus.rating import label_of
from helpers.models.inference import logits
from helpers.models.networks import Classifier

INPUT, MAP, SEAMS = "input", "last map", "grid on the seams, no penalty"
# methods that are rated in two settings
SETTINGS = {
    "integrated-gradients": [INPUT, MAP],
    "lrp": [INPUT, MAP],
    "lime": [INPUT, SEAMS],
}
ALL_CELLS = tuple(range(CELLS))


def random_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return a map of smooth noise for each image, (B, H, W), seeded by its bytes."""
    noise = []
    for image in images.cpu():
        seed = zlib.crc32(image.contiguous().numpy().tobytes())
        generator = torch.Generator().manual_seed(seed)
        noise.append(torch.rand(1, 6, 6, generator=generator))
    noise = torch.stack(noise)
    return interpolate(noise, images.shape[-2:], mode="bilinear")[:, 0]


def uniform_map(model, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return maps of ones, (B, H, W)."""
    return torch.ones(len(images), *images.shape[-2:])


class _Step(nn.Module):
    """A function as a layer."""

    def __init__(self, function: Callable):
        super().__init__()
        self.forward = function


class Disconnected(Classifier):
    """A trained classifier that reads each cell of a 2 x 2 mosaic by itself (DiFull).

    Its logits are sums of the logits of some cells: first of the two cells of each
    layout, and last of all four. The logit of class c and sum s is number
    s x classes + c.

    References
    ----------
    Rao, Böhle and Schiele, CVPR 2022.
    """

    def __init__(self, model: Classifier, mosaic: torch.Tensor):
        network = nn.Sequential(
            OrderedDict(enter=_Step(cut), network=copy.deepcopy(model.network))
        )
        super().__init__(network, model.mean, model.std)
        last = f"network.{layers.last_map(model, mosaic, runs_once=True)}"
        parts = OrderedDict(
            own=network.get_submodule(last), whole=_Step(joined), cells=_Step(cut)
        )
        network.set_submodule(last, nn.Sequential(parts))
        self.layer = f"{last}.whole"

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the logits of mosaics (B, 3, H, W)."""
        of_cells = super().forward(images).chunk(CELLS)
        sums = [sum(of_cells[cell] for cell in some) for some in (*LAYOUTS, ALL_CELLS)]
        return torch.cat(sums, 1)


def contributions(network: Classifier, mosaics: torch.Tensor, targets) -> torch.Tensor:
    """Return what each cell adds to the target's logit, float (N, 2, 2).

    It is the amount that the logit loses if the cell is filled with the mean colour of
    the network's training images.
    """
    cells = cut(mosaics)
    blank = network.mean.cpu().expand(1, *cells.shape[1:])
    gained = logits(network, cells) - logits(network, blank)
    gained = gained.unflatten(0, (CELLS, -1))
    return gained[:, range(len(targets)), targets].T.reshape(-1, 2, 2)


class Known(NamedTuple):
    """A network whose correct map is known, and the mosaics that are explained."""

    name: str
    network: Disconnected
    rows: pd.DataFrame  # of the design, with the training run
    mosaics: torch.Tensor
    targets: torch.Tensor  # the logits to explain
    correct: torch.Tensor  # what each cell adds to the logit, float (N, 2, 2)


def known_networks(
    model: Model, images: ImageSet, design: pd.DataFrame
) -> Iterator[Known]:
    """Yield a network in which the two target cells count, and one in which four do."""
    for run, network in enumerate(model.trainings):
        for rows in in_batches(design):
            mosaics = compose(rows, images.images)
            targets = model.targets(rows)
            whole = Disconnected(network, mosaics[:1]).eval()
            n_sums = len(LAYOUTS) + 1
            n_classes = whole(mosaics[:1]).shape[1] // n_sums
            gained = contributions(network, mosaics, targets)
            where = layouts(rows)
            target_cells = where.flatten(1).nonzero()[:, 1].view(-1, 2)
            sums = [LAYOUTS.index(tuple(cells)) for cells in target_cells.tolist()]
            of_two = targets + torch.tensor(sums) * n_classes
            of_four = targets + len(LAYOUTS) * n_classes
            shown = rows.assign(run=run), mosaics
            yield Known("two images count", whole, *shown, of_two, gained * where)
            yield Known("four images count", whole, *shown, of_four, gained)


def in_disconnected(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    methods: Iterable[str | Callable],
    *,
    focus_of: Callable = equation.focus_of,
) -> pd.DataFrame:
    """Rate every method in networks where the correct Focus is known.

    Returns
    -------
    pandas.DataFrame
        The rows of `rate`, with ``network`` (whether two or four images count),
        ``setting`` (how a method measures relevance) and ``name``, the method with its
        setting. ``by cell`` is the Focus after relevance is summed in each image, with
        its sign, and ``correct`` the correct Focus, 1 where two images count. Focus is
        NaN where a method refuses the network.
    """
    parts = []
    for known in known_networks(model, images, design):
        where = layouts(known.rows)
        for about, maps in _maps(known, methods):
            part = known.rows.assign(network=known.name, **about)
            part["correct"] = focus_of(known.correct, where).numpy()
            part["focus"] = focus_of(maps, where).numpy()
            part["by cell"] = focus_of(adaptive_avg_pool2d(maps, 2), where).numpy()
            parts.append(part)
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(architecture=model.recipe.architecture, set=images.name)


def _maps(known: Known, methods: Iterable) -> Iterator[tuple]:
    """Yield the columns that name a method and its setting, and its maps.

    The maps are NaN where the method refuses the network.
    """
    settings = {
        INPUT: {},
        MAP: {"layer": known.network.layer},
        SEAMS: {"segments": 4, "penalty": 1e-9},
    }
    arguments = known.network, known.mosaics, known.targets
    for method in methods:
        names = SETTINGS.get(method, [INPUT])
        if settings_of(method).get("layer") == MAP:
            names = [MAP]
        label = label_of(method)
        for setting in names:
            try:
                explained = explain(
                    *arguments, method, preset="quick", **settings[setting]
                )
                maps = explained.maps
            except NotConserved:
                maps = torch.full(known.mosaics[:, 0].shape, torch.nan)
            name = label if setting == INPUT else f"{label}, {setting}"
            yield {"method": label, "setting": setting, "name": name}, maps


def check_deletion(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    *,
    mean_logit: Callable = deletion.mean_logit,
) -> pd.DataFrame:
    """Delete in networks whose correct map is known, by this map and by others.

    Returns
    -------
    pandas.DataFrame
        One row per network, map and baseline: ``network``, ``method`` (the correct map,
        a random map, or the correct map with its order reversed), ``baseline`` and
        ``deletion`` (the mean over mosaics of the first run, 0 by chance).
    """
    first_run = replace(model, trainings=model.trainings[:1])
    parts = []
    for known in known_networks(first_run, images, design):
        arguments = known.network, known.mosaics, known.targets
        maps = {
            "correct": known.correct,
            "random": random_map(*arguments),
            "reversed": -known.correct,
        }
        for name, relevance in maps.items():
            rows = faithfulness.compare(*arguments, relevance, mean_logit)
            parts.append(rows.assign(network=known.name, method=name))
    rows = pd.concat(parts, ignore_index=True)
    rows = faithfulness.add_score(rows, ["network", "baseline"])
    groups = rows.groupby(["network", "method", "baseline"], sort=False)
    return groups["deletion"].mean().reset_index()
