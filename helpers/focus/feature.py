"""Does the relevance on the outer images fall on the feature that they share with the target?"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
import torch

from helpers import explain
from helpers.data import ImageSet
from helpers.focus.means import mean
from helpers.focus.mosaics import batches, layouts
from helpers.focus.networks import Model
from helpers.focus.pairs import in_mosaics
from helpers.focus.rating import shown


def on_patch(model: Model, images: ImageSet, rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """Where on the outer images the relevance for the target lies.

    `rows` are mosaics of one pair, rated in each training, and `images`, with `patches`, are those
    that they count. To the rows come share (of the outer images' positive relevance that lies on
    the patch; NaN where there is none) and area (the patch's share of their area).
    """
    first = rows[rows["training"] == rows["training"].iloc[0]]
    patch = in_mosaics(first, images.patches)
    mosaics = torch.cat(list(batches(first, images.images)))
    half = mosaics.shape[-1] // 2
    outer = ~layouts(first).repeat_interleave(half, 1).repeat_interleave(half, 2)
    area = (patch & outer).double().sum((1, 2)) / outer.double().sum((1, 2))
    found = []
    for training, own in rows.groupby("training"):
        asked = mosaics, model.logit[own["target"].iloc[0]], method
        maps = explain.explain(model.trainings[training], *asked).maps
        wrong = (maps.clamp(min=0) * outer).double()
        share = (wrong * patch).sum((1, 2)) / wrong.sum((1, 2))
        found.append(own.assign(share=share.numpy(), area=area.numpy()))
    return pd.concat(found)


def by_method(
    model: Model, images: ImageSet, rows: pd.DataFrame, methods: Iterable[str]
) -> pd.DataFrame:
    """How much of the wrong relevance lies on the patch, by method.

    Parameters
    ----------
    model : Model
    images : ImageSet
        Those that the design counts, with `patches`.
    rows : DataFrame
        Mosaics of one pair, from :func:`helpers.focus.rate`.
    methods : iterable of str

    Returns
    -------
    DataFrame
        A row a method: method (its shown name); share of the wrong relevance, mean over mosaics and
        trainings, with low and high; and area.
    """
    found = []
    for method in methods:
        placed = on_patch(model, images, rows, method).dropna(subset=["share"])
        share, low, high = mean(placed.assign(focus=placed["share"])).interval()
        row = {"method": shown(method), "share": share, "low": low, "high": high}
        found.append(row | {"area": placed["area"].mean()})
    return pd.DataFrame(found)
