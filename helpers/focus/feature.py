"""Does the relevance on the outer images fall on the feature that they share with the target?"""

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


def by_method(
    model: Model, images: ImageSet, rows: pd.DataFrame, methods: Iterable[str]
) -> pd.DataFrame:
    """How much of the wrong relevance lies on the patch that the classes share, by method.

    `rows` are mosaics of one pair, rated by each training; `images`, with `patches`, are those that
    they count.

    Returns
    -------
    DataFrame
        method (its shown name); share of the outer images' positive relevance that lies on the
        patch, mean over mosaics and trainings, with low and high; and area, the patch's share of
        the outer images.
    """
    first = rows[rows["training"] == rows["training"].iloc[0]]
    target, patch = first["target"].iloc[0], in_mosaics(first, images.patches)
    mosaics = torch.cat(list(batches(first, images.images)))
    half = mosaics.shape[-1] // 2
    outer = ~layouts(first).repeat_interleave(half, 1).repeat_interleave(half, 2)
    area = (patch & outer).double().sum((1, 2)) / outer.double().sum((1, 2))
    found = []
    for method in methods:
        placed = []
        for training, own in rows.groupby("training"):
            asked = mosaics, model.logit[target], method
            maps = explain.explain(model.trainings[training], *asked).maps
            wrong = (maps.clamp(min=0) * outer).double()
            share = (wrong * patch).sum((1, 2)) / wrong.sum((1, 2))
            placed.append(own.assign(focus=share.numpy(), area=area.numpy()))
        placed = pd.concat(placed).dropna(subset=["focus"])
        share, low, high = mean(placed).interval()
        row = {"method": shown(method), "share": share, "low": low, "high": high}
        found.append(row | {"area": placed["area"].mean()})
    return pd.DataFrame(found)
