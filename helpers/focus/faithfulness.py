"""Compare deletion by relevance with random deletion, for two baselines."""

from collections.abc import Callable, Iterable, Mapping

import pandas as pd
import torch
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from helpers import explain
from helpers.data import ImageSet
from helpers.explain import NotConserved
from helpers.focus import deletion
from helpers.focus.mosaics import batches
from helpers.focus.networks import Model
from helpers.focus.rating import label_of, targets_of

GRID = 12  # a map is averaged over so many patches on a side
SHIFT = 5  # chance: each mosaic gets the map of the mosaic so many places before it
BLUR = 6  # a blurred image has so many colours on a side


def baselines(images: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return what replaces deleted patches of images (N, 3, H, W), by name.

    The mean colour of an image hides shapes and colours. A blurred image hides shapes
    only.
    """
    mean_colour = images.mean((2, 3), keepdim=True).expand_as(images)
    colours = adaptive_avg_pool2d(images, BLUR)
    blurred = interpolate(colours, images.shape[-2:], mode="bilinear")
    return {"mean colour": mean_colour, "blurred": blurred}


def compare(
    network: nn.Module,
    mosaics: torch.Tensor,
    targets: torch.Tensor,
    maps: Mapping[str, torch.Tensor],
    mean_logit: Callable = deletion.mean_logit,
) -> pd.DataFrame:
    """Measure how much more of the logit deletion by relevance takes than by chance.

    Chance is the deletion by the map of another mosaic, which has the same kind of
    shape: scattered patches take more of a logit than connected ones.

    Parameters
    ----------
    network : nn.Module
    mosaics : torch.Tensor of uint8, shape (N, 3, H, W)
    targets : torch.Tensor of int64, shape (N,)
    maps : mapping of str to torch.Tensor of float, shape (N, h, w)
        Maps of relevance by the name of their method.
    mean_logit : callable
        The deletion of lesson 06.

    Returns
    -------
    pandas.DataFrame
        One row per map and baseline: ``method``, ``baseline``, ``place`` (of the mosaic
        in `mosaics`) and ``deletion``. This is the mean logit after deletions by chance
        minus the mean logit after deletions by relevance, as a share of the mean
        difference between whole and wholly deleted mosaics. It is 0 by chance.

    References
    ----------
    Samek et al., *IEEE TNNLS* 28, 2017, for deletion and its comparison with chance.
    """
    device = next(network.parameters()).device
    images = mosaics.to(device).float() / 255
    targets = targets.to(device)
    generator = torch.Generator().manual_seed(0)
    rows = []
    for baseline, blank in baselines(images).items():
        whole = _mean_target_logit(network, images, targets)
        nothing = _mean_target_logit(network, blank, targets)
        for name, relevance in maps.items():
            patches = adaptive_avg_pool2d(relevance.double(), GRID)
            ties = torch.rand(patches.shape, generator=generator).double()
            patches = patches + 1e-9 * patches.abs().max() * ties
            patches = patches.to(device)
            others = patches.roll(SHIFT % len(patches) or 1, 0)
            by_map = mean_logit(network, images, targets, patches, blank)
            by_chance = mean_logit(network, images, targets, others, blank)
            gain = (by_chance - by_map).cpu() / (whole - nothing)
            row = {"method": name, "baseline": baseline, "place": range(len(mosaics))}
            rows.append(pd.DataFrame({**row, "deletion": gain.numpy()}))
    return pd.concat(rows, ignore_index=True)


@torch.no_grad()
def _mean_target_logit(network, images: torch.Tensor, targets: torch.Tensor) -> float:
    """Return the mean logit of the targets."""
    return float(network(images).gather(1, targets[:, None]).mean())


def rate(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    methods: Iterable[str | Callable],
    *,
    effort: str = "sound",
    shape: str = "native",
    mean_logit: Callable = deletion.mean_logit,
) -> pd.DataFrame:
    """Rate methods by deletion, on the mosaics of a design.

    Parameters
    ----------
    model, images, design, effort, shape
        See :func:`helpers.focus.rate`.
    methods : iterable of str or callable
    mean_logit : callable
        The deletion of lesson 06.

    Returns
    -------
    pandas.DataFrame
        The rows of `compare` with the columns of the design, and ``run``. A method that
        refuses a network has no rows.
    """
    targets = targets_of(model, design)
    mosaics = torch.cat(list(batches(design, images.images, shape)))
    numbered = design.reset_index(drop=True)
    parts = []
    for run, network in enumerate(model.trainings):
        maps = {}
        for method in methods:
            try:
                result = explain.explain(
                    network, mosaics, targets, method, preset=effort
                )
            except NotConserved:
                continue
            maps[label_of(method)] = result.maps
        rows = compare(network, mosaics, targets, maps, mean_logit)
        parts.append(rows.join(numbered, on="place").assign(run=run))
    return pd.concat(parts, ignore_index=True)
