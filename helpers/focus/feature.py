"""Whether the network or its explanation shows the feature that two classes share.

The network: are single images of one class taken for another? Its explanation: does the relevance
on the outer images fall on what they share with the target?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd
import torch

from helpers import attribution
from helpers.focus import pairs
from helpers.focus.design import batches, layouts
from helpers.focus.rating import logit_of
from helpers.inference import logits
from helpers.sources import ImageSet


def in_mosaics(rows: pd.DataFrame, masks: torch.Tensor, shape: str = "native") -> torch.Tensor:
    """Masks (M, H, W) put together as the images of the mosaics are: bool (N, rows, columns)."""
    stack = masks[:, None].expand(-1, 3, -1, -1).to(torch.uint8)
    return torch.cat([batch[:, 0] for batch in batches(rows, stack, shape)]) > 0


def on_patch(
    model, images: ImageSet, rows: pd.DataFrame, method: str = "gradcam", *, classes, **settings
) -> pd.DataFrame:
    """Where on the outer images the relevance for the target lies.

    Parameters
    ----------
    model : nn.Module
    images : ImageSet
        Those that the design counts, with `patches`.
    rows : DataFrame
        Mosaics of one pair, at their own size ("native").
    method, settings
        As they were rated.
    classes : sequence of str, or dict from class to logit

    Returns
    -------
    DataFrame
        `rows` with share (of the outer images' positive relevance that lies on the patch; NaN where
        there is none), area (the patch's share of their area) and excess (share - area).
    """
    patch = in_mosaics(rows, images.patches)
    mosaics = torch.cat(list(batches(rows, images.images)))
    logit = logit_of(classes)[rows["target"].iloc[0]]
    maps = attribution.explain(model, mosaics, logit, method, **settings).maps.clamp(min=0)
    half = mosaics.shape[-1] // 2
    outer = ~layouts(rows).repeat_interleave(half, 1).repeat_interleave(half, 2)
    wrong = (maps * outer).double()
    share = (wrong * patch).sum((1, 2)) / wrong.sum((1, 2))
    area = (patch & outer).double().sum((1, 2)) / outer.double().sum((1, 2))
    return rows.assign(share=share.numpy(), area=area.numpy(), excess=(share - area).numpy())


def by_method(
    model, images: ImageSet, rows: pd.DataFrame, methods: Iterable[str], *, classes
) -> pd.DataFrame:
    """How much of the wrong relevance lies on the patch, by method.

    Parameters
    ----------
    model, images, rows, classes
        As for :func:`on_patch`.
    methods : iterable of str

    Returns
    -------
    DataFrame
        A row a method: method (its shown name); share and area (means over mosaics); excess (share
        - area) with low and high.
    """
    found = []
    for method in methods:
        placed = on_patch(model, images, rows, method, classes=classes)
        value, low, high = excess(placed)
        means = placed.dropna(subset=["share"])[["share", "area"]].mean()
        name = attribution.METHODS[method].name
        found.append({"method": name, **means, "excess": value, "low": low, "high": high})
    return pd.DataFrame(found)


def taken_for(model, images: ImageSet, classes: Mapping[str, int]) -> pd.DataFrame:
    """What a network takes single images for: a row a class, shares of its images.

    Parameters
    ----------
    model : nn.Module
    images : ImageSet
    classes : dict from class to logit

    Returns
    -------
    DataFrame
        Classes down; answers across, and "another" where the network has other logits, too.
    """
    named = {logit: name for name, logit in classes.items()}
    said = [named.get(int(at), "another") for at in logits(model, images.images).argmax(1)]
    shares = pd.crosstab(images.table["class"].to_numpy(), said, normalize="index")
    columns = [*classes, *(["another"] if "another" in said else [])]
    shares = shares.reindex(index=list(classes), columns=columns, fill_value=0.0)
    return shares.rename_axis(index="class", columns="taken for")


def excess(found: pd.DataFrame, level: float = 0.95) -> tuple[float, float, float]:
    """Mean excess with its interval over source images, from :func:`on_patch`."""
    known = found.assign(focus=found["excess"]).dropna(subset=["focus"])
    means = pairs.Means.of(known)
    return means.interval(pd.Series({means.focus.index[0]: 1.0}), level)
