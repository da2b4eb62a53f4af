"""Controls whose correct result is known.

They are maps without information, and networks for which we know what each image of a
mosaic adds to the logit.
"""

import copy
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import pandas as pd
import torch
from captum.attr import FeatureAblation
from torch import nn

from helpers.data import ImageSet
from helpers.explain import NotConserved, layers, settings_of
from helpers.explain.captum_methods import grid
from helpers.focus import deletion, equation, faithfulness
from helpers.focus.mosaics import CELLS, compose, cut, joined, layouts
from helpers.focus.networks import Model
from helpers.focus.rating import explained, rate
from helpers.models.networks import Classifier

INPUT, MAP, SEAMS = "input", "last map", "grid on the seams, no penalty"
BITS = 2 ** torch.arange(CELLS)  # of the cells in the number of a set of cells
SETS = 2**CELLS  # of cells


def random_map(model, images, targets) -> torch.Tensor:
    """Return a map of smooth noise for each image, (B, H, W), seeded by its bytes."""
    noise = []
    for image in images.cpu():
        seed = zlib.crc32(image.numpy().tobytes())
        generator = torch.Generator().manual_seed(seed)
        noise.append(torch.rand(1, 6, 6, generator=generator))
    return layers.as_maps_of_images(torch.stack(noise), images)


def uniform_map(model, images, targets) -> torch.Tensor:
    """Return maps of ones, (B, H, W)."""
    return torch.ones_like(images[:, 0])


def contributions(model, images, targets) -> torch.Tensor:
    """Return what each cell adds to the target's logit, as maps (B, H, W).

    It is the amount that the logit loses if the cell is filled with the mean colour of
    the network's training images.
    """
    blank = model.mean.expand_as(images)
    cells = grid(2, images)
    ablation = FeatureAblation(model)
    maps = ablation.attribute(images, blank, targets, feature_mask=cells[None, None])
    return maps[:, 0]


class _Step(nn.Module):
    """A function as a layer."""

    def __init__(self, function: Callable):
        super().__init__()
        self.forward = function


class Disconnected(Classifier):
    """A trained classifier that reads each cell of a 2 x 2 mosaic by itself (DiFull).

    Its logits are sums of the logits of some cells. Sets of cells are numbered in
    binary, so that the set {0, 2} has the number 1 + 4. The logit of class c and of set
    s has the number c x SETS + s.

    References
    ----------
    Rao, Böhle and Schiele, CVPR 2022.
    """

    def __init__(self, model: Classifier, mosaic: torch.Tensor):
        network = nn.Sequential(_Step(cut), copy.deepcopy(model.network))
        super().__init__(network, model.mean, model.std)
        # "1" is the copied network; its last map is joined for methods, and cut again
        last = f"1.{layers.last_map(model, mosaic, runs_once=True)}"
        parts = network.get_submodule(last), _Step(joined), _Step(cut)
        network.set_submodule(last, nn.Sequential(*parts))
        self.layer = f"{last}.1"

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the logits of mosaics (B, 3, H, W)."""
        of_cells = super().forward(images).unflatten(0, (CELLS, -1))
        is_in_set = (torch.arange(SETS)[:, None] & BITS) > 0
        sums = torch.einsum("kbc,sk->bcs", of_cells, is_in_set.to(of_cells))
        return sums.flatten(1)


@dataclass(frozen=True)
class DisconnectedModel(Model):
    """A model of `Disconnected` networks in which target cells count, or all cells."""

    all_cells: bool = False

    def targets(self, design: pd.DataFrame) -> torch.Tensor:
        """Return the logit of the target class and of the set of cells that count."""
        counts = layouts(design).flatten(1) | self.all_cells
        return super().targets(design) * SETS + (counts * BITS).sum(1)


def disconnected(
    model: Model, images: ImageSet, design: pd.DataFrame
) -> dict[str, Model]:
    """Return a model in which the two target cells count, and one in which four do."""
    mosaic = compose(design[:1], images.images)
    networks = [Disconnected(network, mosaic).eval() for network in model.trainings]
    two_count = DisconnectedModel(model.recipe, model.trained_on, networks, model.logit)
    four_count = replace(two_count, all_cells=True)
    return {"two images count": two_count, "four images count": four_count}


def in_disconnected(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    methods: Iterable[str | Callable],
    *,
    focus_of: Callable = equation.focus_of,
) -> pd.DataFrame:
    """Rate every method in networks where the correct Focus is known.

    Methods that refuse a network are left out.

    Returns
    -------
    pandas.DataFrame
        The rows of `rate`, with ``network`` (whether two or four images count),
        ``setting`` (how a method measures relevance) and ``name``, the method with its
        setting. ``correct`` is the correct Focus, 1 where two images count.
    """
    parts = []
    for network, known in disconnected(model, images, design).items():
        ask = partial(rate, known, images, design, effort="quick", focus_of=focus_of)
        correct = ask(contributions)["focus"]
        settings = {
            INPUT: {},
            MAP: {"layer": known.trainings[0].layer},
            SEAMS: {"segments": 4, "penalty": 1e-9},
        }
        for method, setting in product(methods, settings):
            defaults = settings_of(method)
            if setting == INPUT and defaults.get("layer") == MAP:
                continue  # the method explains no input
            if settings[setting].keys() <= defaults.keys():
                with suppress(NotConserved):
                    rated = ask(method, **settings[setting])
                    suffix = "" if setting == INPUT else f", {setting}"
                    parts.append(
                        rated.assign(
                            network=network,
                            setting=setting,
                            name=rated["method"] + suffix,
                            correct=correct,
                        )
                    )
    return pd.concat(parts, ignore_index=True)


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
    for network, known in disconnected(first_run, images, design).items():
        batches = explained(known, images, design, contributions, "quick")
        for _, *arguments, correct in batches:
            maps = {
                "correct": correct,
                "random": random_map(*arguments),
                "reversed": -correct,
            }
            for name, relevance in maps.items():
                rows = faithfulness.compare(*arguments, relevance, mean_logit)
                parts.append(rows.assign(network=network, method=name))
    rows = pd.concat(parts, ignore_index=True)
    rows = faithfulness.add_score(rows, ["network", "baseline"])
    by_map = rows.groupby(["network", "method", "baseline"], sort=False)
    return by_map["deletion"].mean().reset_index()
