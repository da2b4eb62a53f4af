"""What lies around the objects: its colour, and how much of an explanation falls on it.

*Assessing Biases through Visual Contexts*, section 2.1.1, holds the objects' colour constant (all
green) so that a model cannot tell classes by it; here that is measured, on the object and on what
surrounds it. Section 4 and Figure 16 judge by eye where GradCAM looks; here it is measured how much
of its relevance lies on the background. A map that says nothing of where would put there what the
background has of the image's area; a context that a model relies on should have more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from helpers import stats
from helpers.data import ImageSet
from helpers.explain import Maps, layers

REGIONS = ("image", "object", "background")
LEAST_MAP = 5  # pixels across and down below which a feature map cannot tell object from background


def at_home(table: pd.DataFrame, context_of: Mapping[str, str]) -> np.ndarray:
    """Which images show their class's own context, bool (N,); all of them where none is known to.

    Parameters
    ----------
    table : DataFrame
        Of the images: class, context.
    context_of : dict from class to context name
    """
    own = (table["context"] == table["class"].map(context_of)).to_numpy()
    return own if own.any() else np.ones(len(table), dtype=bool)


def examples(images: ImageSet, context_of: Mapping[str, str], n: int = 2) -> list[int]:
    """Indices of the first `n` images of each class, those in its own context first."""
    table = images.table.reset_index(drop=True)
    ranked = table.assign(other=~at_home(table, context_of)).sort_values("other", kind="stable")
    return [i for name in images.classes for i in ranked.index[ranked["class"] == name][:n]]


def mean_colours(images: ImageSet, region: str = "image") -> torch.Tensor:
    """Mean colour of each image, or of its object or background.

    Parameters
    ----------
    images
        With masks where `region` is not ``image``.
    region : {"image", "object", "background"}

    Returns
    -------
    torch.Tensor
        float64 (N, 3), RGB in [0, 255]; NaN where the region is empty.

    Raises
    ------
    ValueError
        For an unknown region, or a region of a set without masks.
    """
    if region not in REGIONS:
        raise ValueError(f"region: {region!r} is none of {', '.join(REGIONS)}")
    if region == "image":
        return images.images.double().mean((2, 3))
    if images.masks is None:
        raise ValueError(f"set {images.name} has no masks, so its {region} is not known")
    chosen = (images.masks if region == "object" else ~images.masks)[:, None].double()
    return (images.images.double() * chosen).sum((2, 3)) / chosen.sum((2, 3))


def regions_of(images: ImageSet) -> list[str]:
    """Regions whose colour says something: a plain ground (NC, WB) is the same for all."""
    if images.masks is None:
        return ["image"]
    return ["object", "background"] if images.name == "C" else ["object"]


def colours_by_class(sets: Mapping[str, ImageSet]) -> pd.DataFrame:
    """Mean colour of every class in every set and region.

    Returns
    -------
    pandas.DataFrame
        Columns set, region, class, red, green, blue (0 to 255).
    """
    rows = []
    for name, images in sets.items():
        for region in regions_of(images):
            colours = mean_colours(images, region)
            for index, label in enumerate(images.classes):
                mean = colours[images.labels == index].nanmean(0).tolist()
                rows.append([name, region, label, *mean])
    return pd.DataFrame(rows, columns=["set", "region", "class", "red", "green", "blue"])


def guesses(sets: Mapping[str, ImageSet]) -> pd.DataFrame:
    """Guess the class of every test image from one mean colour alone.

    The guess is the class whose mean colour over the training images is nearest: three numbers an
    image, no shape, no texture.

    Returns
    -------
    pandas.DataFrame
        One row a test image and region: set, region, class, right (bool).
    """
    parts = []
    for name, images in sets.items():
        train, test = images.split("train"), images.split("test")
        for region in regions_of(images):
            colours = mean_colours(train, region)
            centres = torch.stack(
                [colours[train.labels == i].nanmean(0) for i in range(len(images.classes))]
            )
            guess = torch.cdist(mean_colours(test, region), centres).argmin(1)
            right = (guess == test.labels).numpy()
            of = {"set": name, "region": region, "class": test.table["class"], "right": right}
            parts.append(pd.DataFrame(of))
    return pd.concat(parts, ignore_index=True)


def given_away(guesses: pd.DataFrame) -> pd.DataFrame:
    """How often a mean colour names the class.

    Parameters
    ----------
    guesses : DataFrame
        From :func:`guesses`.

    Returns
    -------
    pandas.DataFrame
        Columns set, region, accuracy, low, high (Wilson), chance (always the largest class),
        images.
    """
    by = ["set", "region"]
    found = guesses.groupby(by, sort=False)["right"].agg(accuracy="mean", hits="sum", images="size")
    found["low"], found["high"] = stats.wilson(found["hits"], found["images"])
    largest = guesses.groupby([*by, "class"]).size().groupby(by).max()
    found["chance"] = largest / found["images"]
    return found.reset_index()[[*by, "accuracy", "low", "high", "chance", "images"]]


def layer_for(model: torch.nn.Module, images: torch.Tensor) -> str:
    """The last feature map that can tell where: of `LEAST_MAP` by `LEAST_MAP` pixels or more.

    At its own image size that is an architecture's last map; AlexNet at quarter width and 96 pixels
    pools its last map to 2 by 2 pixels, so the one before pooling is taken.
    """
    return layers.last_map(model, images[:1].float() / 255, LEAST_MAP)


def relevance(trainings: Sequence[Maps], images: ImageSet) -> pd.DataFrame:
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


def by_class(table: pd.DataFrame, measure: str) -> dict[str, np.ndarray]:
    """A measure of :func:`relevance` by class, as (trainings, images): what `stats.mean` takes."""
    return {
        name: part.pivot(index="training", columns="image", values=measure).to_numpy()
        for name, part in table.groupby("class", sort=False)
    }


def per_class(table: pd.DataFrame) -> pd.DataFrame:
    """Each class's mean share of relevance on the background, against a uniform map.

    Parameters
    ----------
    table : DataFrame
        From :func:`relevance`.

    Returns
    -------
    DataFrame
        One row a class: class, images, undefined (maps without positive relevance, of all
        trainings; left out of the rest), area, and with intervals over trainings and images
        (`_low`, `_high`) share, excess and peak.
    """
    classes = table.groupby("class", sort=False)
    found = pd.DataFrame(
        {
            "images": classes["image"].nunique(),
            "undefined": classes["share"].apply(lambda share: int(share.isna().sum())),
            "area": classes["area"].mean(),
        }
    )
    for measure in ("share", "excess", "peak"):
        of = by_class(table, measure)
        ends = pd.DataFrame([_interval(of[name], measure) for name in found.index])
        found[[measure, f"{measure}_low", f"{measure}_high"]] = ends.to_numpy()
    return found.reset_index()


def _interval(values: np.ndarray, measure: str) -> stats.Interval:
    if np.isnan(values).all():
        return stats.Interval(np.nan, np.nan, np.nan)
    return stats.share(values) if measure == "peak" else stats.mean(values).interval()
