"""How much of an explanation lies on the background: what the paper's discussion judges by eye.

*Assessing Biases through Visual Contexts*, section 4 and Figure 16. A map that says nothing of
where would put on the background what the background has of the image's area; a context that a
model relies on should have more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from helpers import stats
from helpers.contexts import typical
from helpers.data import ImageSet
from helpers.explain import Maps, layers

LEAST_MAP = 5  # pixels across and down below which a feature map cannot tell object from background


def layer_for(model: torch.nn.Module, images: torch.Tensor) -> str:
    """The last feature map that can tell where: of `LEAST_MAP` by `LEAST_MAP` pixels or more.

    At its own image size that is an architecture's last map; AlexNet at quarter width and 96 pixels
    pools its last map to 2 by 2 pixels, so the one before pooling is taken.
    """
    return layers.last_map(model, images[:1].float() / 255, LEAST_MAP)


def examples(images: ImageSet, context_of: dict[str, str], n: int = 2) -> list[int]:
    """Indices of the first `n` images of each class, those in its own context first."""
    table = images.table.reset_index(drop=True)
    ranked = table.assign(other=~typical.in_own(table, context_of)).sort_values(
        "other", kind="stable"
    )
    return [i for name in images.classes for i in ranked.index[ranked["class"] == name][:n]]


def per_image(trainings: Sequence[Maps], images: ImageSet) -> pd.DataFrame:
    """Share of each map's positive relevance that lies on the background, for each training.

    Parameters
    ----------
    trainings : sequence of Maps
        From :func:`helpers.explain.explain`, of `images` and one training each.
    images : ImageSet
        With masks.

    Returns
    -------
    DataFrame
        training, image, class, share (NaN where a map has no positive relevance), area (the
        background's share of the image: what a uniform map gives), excess (share - area), peak (the
        most relevant pixel is on the background; NaN as share).

    Raises
    ------
    ValueError
        For images without masks, or maps of other images.
    """
    if images.masks is None:
        raise ValueError(f"set {images.name} has no masks: where the background is, is not known")
    parts = [_shares(maps, images).assign(training=t) for t, maps in enumerate(trainings)]
    return pd.concat(parts, ignore_index=True)


def _shares(maps: Maps, images: ImageSet) -> pd.DataFrame:
    if maps.maps.shape != images.masks.shape:
        raise ValueError(
            f"maps of shape {tuple(maps.maps.shape)} are not of images with masks "
            f"{tuple(images.masks.shape)}"
        )
    ground = ~images.masks.flatten(1)
    positive = maps.maps.clamp(min=0).flatten(1).double()
    total = positive.sum(1)
    known = total > 0
    share = ((positive * ground).sum(1) / total).where(known, torch.nan).numpy()
    area = ground.double().mean(1).numpy()
    peak = ground.gather(1, positive.argmax(1, keepdim=True))[:, 0].double()
    return pd.DataFrame(
        {
            "image": np.arange(len(images)),
            "class": images.table["class"].to_numpy(),
            "share": share,
            "area": area,
            "excess": share - area,
            "peak": peak.where(known, torch.nan).numpy(),
        }
    )


def per_class(table: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Each class's mean share of relevance on the background, against a uniform map.

    Parameters
    ----------
    table : DataFrame
        From :func:`per_image`.
    level : float in (0, 1)

    Returns
    -------
    DataFrame
        One row a class: class, images, undefined (maps without positive relevance, of all
        trainings; left out of the rest), area, and with intervals over trainings and images
        (`_low`, `_high`) share, excess and peak.
    """
    rows = []
    for name, part in table.groupby("class", sort=False):
        row = {"class": name, "images": part["image"].nunique()}
        row |= {"undefined": int(part["share"].isna().sum()), "area": part["area"].mean()}
        for measure in ("share", "excess", "peak"):
            values = part.pivot(index="training", columns="image", values=measure).to_numpy()
            names = (measure, f"{measure}_low", f"{measure}_high")
            row |= dict(zip(names, _interval(values, measure, level), strict=True))
        rows.append(row)
    return pd.DataFrame(rows)


def _interval(values: np.ndarray, measure: str, level: float) -> stats.Interval:
    if np.isnan(values).all():
        return stats.Interval(np.nan, np.nan, np.nan)
    is_share = measure == "peak"
    return stats.share(values, level=level) if is_share else stats.mean(values).interval(level)
