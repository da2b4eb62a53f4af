"""Whether the network or its explanation shows the feature that two classes share.

The network: are single images of one class taken for another? Its explanation: does the relevance
on the outer images fall on what they share with the target?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import explain
from helpers.data import ImageSet
from helpers.focus.design import batches, layouts
from helpers.focus.means import mean
from helpers.focus.rating import logit_of
from helpers.models.inference import logits


def in_mosaics(rows: pd.DataFrame, masks: torch.Tensor, shape: str = "native") -> torch.Tensor:
    """Masks (M, H, W) put together as the images of the mosaics are: bool (N, rows, columns)."""
    stack = masks[:, None].expand(-1, 3, -1, -1).to(torch.uint8)
    return torch.cat([batch[:, 0] for batch in batches(rows, stack, shape)]) > 0


def on_patch(
    networks: Sequence[nn.Module],
    images: ImageSet,
    rows: pd.DataFrame,
    method: str = "gradcam",
    *,
    classes,
    **settings,
) -> pd.DataFrame:
    """Where on the outer images the relevance for the target lies.

    Parameters
    ----------
    networks : list of nn.Module
        Trainings of one model.
    images : ImageSet
        Those that the design counts, with `patches`.
    rows : DataFrame
        Mosaics of one pair, at their own size ("native"), with the column `training`: which of the
        networks explains each. All explain the same mosaics.
    method, settings
        As they were rated.
    classes : sequence of str, or dict from class to logit

    Returns
    -------
    DataFrame
        `rows` with share (of the outer images' positive relevance that lies on the patch; NaN where
        there is none), area (the patch's share of their area) and excess (share - area).
    """
    found = []
    for training, own in rows.groupby("training"):
        if not found:
            patch = in_mosaics(own, images.patches)
            mosaics = torch.cat(list(batches(own, images.images)))
            half = mosaics.shape[-1] // 2
            outer = ~layouts(own).repeat_interleave(half, 1).repeat_interleave(half, 2)
            area = (patch & outer).double().sum((1, 2)) / outer.double().sum((1, 2))
        logit = logit_of(classes)[own["target"].iloc[0]]
        maps = explain.explain(networks[training], mosaics, logit, method, **settings).maps
        wrong = (maps.clamp(min=0) * outer).double()
        share = (wrong * patch).sum((1, 2)) / wrong.sum((1, 2))
        placed = {"share": share.numpy(), "area": area.numpy(), "excess": (share - area).numpy()}
        found.append(own.assign(**placed))
    return pd.concat(found)


def by_method(
    networks, images: ImageSet, rows: pd.DataFrame, methods: Iterable[str], *, classes
) -> pd.DataFrame:
    """How much of the wrong relevance lies on the patch, by method.

    Parameters
    ----------
    networks, images, rows, classes
        As for :func:`on_patch`.
    methods : iterable of str

    Returns
    -------
    DataFrame
        A row a method: method (its shown name); share and area (means over mosaics and trainings);
        excess (share - area) with low and high.
    """
    found = []
    for method in methods:
        placed = on_patch(networks, images, rows, method, classes=classes)
        value, low, high = mean(placed.assign(focus=placed["excess"])).interval()
        means = placed.dropna(subset=["share"])[["share", "area"]].mean()
        name = explain.METHODS[method].name
        found.append({"method": name, **means, "excess": value, "low": low, "high": high})
    return pd.DataFrame(found)


def taken_for(networks, images: ImageSet, classes: Mapping[str, int]) -> pd.DataFrame:
    """What a model takes single images for: a row a class, shares of its images.

    Parameters
    ----------
    networks : list of nn.Module
        Trainings, over which the shares are means.
    images : ImageSet
    classes : dict from class to logit

    Returns
    -------
    DataFrame
        Classes down; answers across, and "another" where the networks have other logits, too.
    """
    named = {logit: name for name, logit in classes.items()}
    best = logits(networks, images.images).argmax(2).flatten().tolist()
    said = [named.get(at, "another") for at in best]
    wanted = np.tile(images.table["class"].to_numpy(), len(networks))
    shares = pd.crosstab(wanted, said, normalize="index")
    columns = [*classes, *(["another"] if "another" in said else [])]
    shares = shares.reindex(index=list(classes), columns=columns, fill_value=0.0)
    return shares.rename_axis(index="class", columns="taken for")
