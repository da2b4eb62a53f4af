"""Compare deletion by relevance with deletion by chance, for two baselines."""

from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd
import torch
from torch import nn
from torch.nn.functional import adaptive_avg_pool2d, interpolate

from helpers.data import ImageSet
from helpers.focus import deletion
from helpers.focus.networks import Model
from helpers.focus.rating import explained
from helpers.models.inference import logits

GRID = 12  # a map is averaged over so many patches on a side
SHIFT = 5  # chance: each mosaic gets the map of the mosaic so many places before it
COLOURS = {"mean colour": 1, "blurred": 6}  # of each baseline, on a side


def compare(
    network: nn.Module,
    mosaics: torch.Tensor,
    targets: torch.Tensor,
    maps: torch.Tensor,
    mean_logit: Callable = deletion.mean_logit,
) -> pd.DataFrame:
    """Measure the logits of mosaics while patches are deleted by relevance or chance.

    Chance is the deletion by the map of another mosaic. This map has the same kind of
    shape, which matters because scattered patches take more of a logit than connected
    ones. Deleted patches get the mean colour of the mosaic, which hides shapes and
    colours, or a blurred mosaic, which hides shapes only.

    Parameters
    ----------
    network : nn.Module
    mosaics : torch.Tensor of uint8, shape (N, 3, H, W)
    targets : torch.Tensor of int64, shape (N,)
    maps : torch.Tensor of float, shape (N, h, w)
        The relevance of each mosaic.
    mean_logit : callable
        The deletion of lesson 06.

    Returns
    -------
    pandas.DataFrame
        One row per mosaic and ``baseline``, with the index of the mosaic and the
        targets' logits for ``whole`` and ``deleted`` mosaics, and their means during
        deletion ``by_map`` and ``by_chance``.

    References
    ----------
    Samek et al., *IEEE TNNLS* 28, 2017, for deletion and its comparison with chance.
    """
    network = partial(logits, network)  # in batches that the memory suffices for
    images = mosaics / 255
    patches = adaptive_avg_pool2d(maps.double(), GRID)
    generator = torch.Generator().manual_seed(0)
    ties = torch.rand(patches.shape, generator=generator)
    patches = patches + 1e-9 * patches.abs().max() * ties
    others = patches.roll(SHIFT % len(patches) or 1, 0)
    column = targets[:, None]
    whole = network(images).gather(1, column)[:, 0]
    parts = []
    for baseline, n_colours in COLOURS.items():
        colours = adaptive_avg_pool2d(images, n_colours)
        blank = interpolate(colours, images.shape[-2:], mode="bilinear")
        measured = {
            "whole": whole,
            "deleted": network(blank).gather(1, column)[:, 0],
            "by_map": mean_logit(network, images, targets, patches, blank),
            "by_chance": mean_logit(network, images, targets, others, blank),
        }
        parts.append(pd.DataFrame(measured).assign(baseline=baseline))
    return pd.concat(parts)


def add_score(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Add the ``fall`` of the logit and the ``deletion`` score to rows of `compare`.

    The score is 0 by chance. It is the mean logit after deletions by chance minus the
    mean logit after deletions by relevance, as a share of the mean difference between
    whole and wholly deleted mosaics with the same values of the columns `by`.
    """
    rows = rows.assign(fall=rows["whole"] - rows["deleted"])
    gain = rows["by_chance"] - rows["by_map"]
    return rows.assign(deletion=gain / rows.groupby(by)["fall"].transform("mean"))


def rate(
    model: Model,
    images: ImageSet,
    design: pd.DataFrame,
    method: str | Callable,
    *,
    effort: str = "sound",
    mean_logit: Callable = deletion.mean_logit,
) -> pd.DataFrame:
    """Rate a method by deletion, on the mosaics of a design.

    Parameters
    ----------
    model, images, design, method, effort
        See :func:`helpers.focus.rate`.
    mean_logit : callable
        The deletion of lesson 06.

    Returns
    -------
    pandas.DataFrame
        The design with one row per mosaic, training run and baseline, and the columns
        of `compare`, ``method``, ``run``, ``architecture``, ``set`` and ``deletion``,
        the score.
    """
    parts = []
    for rows, *explanation in explained(model, images, design, method, effort):
        measured = compare(*explanation, mean_logit)
        parts.append(measured.join(rows.reset_index(drop=True)))
    return add_score(pd.concat(parts, ignore_index=True), ["run", "baseline"])
