"""Whether the relevance on the outer images falls on what they share with the target."""

from __future__ import annotations

import pandas as pd
import torch

from helpers import attribution
from helpers.focus import pairs
from helpers.focus.design import batches, layouts
from helpers.focus.rating import logit_of
from helpers.sources import ImageSet


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
    stack = images.patches[:, None].expand(-1, 3, -1, -1).to(torch.uint8)
    patch = torch.cat([batch[:, 0] for batch in batches(rows, stack)]) > 0
    mosaics = torch.cat(list(batches(rows, images.images)))
    logit = logit_of(classes)[rows["target"].iloc[0]]
    maps = attribution.explain(model, mosaics, logit, method, **settings).maps.clamp(min=0)
    half = mosaics.shape[-1] // 2
    outer = ~layouts(rows).repeat_interleave(half, 1).repeat_interleave(half, 2)
    wrong = (maps * outer).double()
    share = (wrong * patch).sum((1, 2)) / wrong.sum((1, 2))
    area = (patch & outer).double().sum((1, 2)) / outer.double().sum((1, 2))
    return rows.assign(share=share.numpy(), area=area.numpy(), excess=(share - area).numpy())


def excess(found: pd.DataFrame, level: float = 0.95) -> tuple[float, float, float]:
    """Mean excess with its interval over source images, from :func:`on_patch`."""
    known = found.assign(focus=found["excess"]).dropna(subset=["focus"])
    means = pairs.Means.of(known)
    return means.interval(pd.Series({means.focus.index[0]: 1.0}), level)
