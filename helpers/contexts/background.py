"""What lies around the objects: its colour, and how much of an explanation falls on it.

*Assessing Biases through Visual Contexts*, section 2.1.1, holds the objects' colour constant (all
green) so that a model cannot tell classes by it; here that is measured, on the object and on what
surrounds it. Section 4 and Figure 16 judge by eye where GradCAM looks; here it is measured how much
of its relevance lies on the background. A map that says nothing of where would put there what the
background has of the image's area; a context that a model relies on should have more.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from helpers import stats
from helpers.contexts import effects
from helpers.data import ImageSet
from helpers.explain import Maps, layers

LEAST_MAP = 5  # pixels across and down below which a feature map cannot tell object from background


def at_home(table: pd.DataFrame, context_of: Mapping[str, str]) -> np.ndarray:
    """Which images show their class's own context, bool (N,); all of them where none is known to.

    `table` is that of the images: class, context.
    """
    own = (table["context"] == table["class"].map(context_of)).to_numpy()
    return own if own.any() else np.ones(len(table), dtype=bool)


def examples(images: ImageSet, context_of: Mapping[str, str], n: int = 2) -> list[int]:
    """Indices of the first `n` images of each class, those in its own context first."""
    ranked = images.table.assign(other=~at_home(images.table, context_of))
    ranked = ranked.reset_index(drop=True).sort_values("other", kind="stable")
    return [i for name in images.classes for i in ranked.index[ranked["class"] == name][:n]]


def mean_colours(images: ImageSet) -> dict[str, torch.Tensor]:
    """Mean RGB of each image by region, float64 (N, 3), NaN where a region is empty.

    The regions are the object and, in C, the background (a plain ground says nothing); where no
    mask tells them apart, the whole image.
    """
    pixels = images.images.double()
    if images.masks is None:
        return {"image": pixels.mean((2, 3))}
    regions = {"object": images.masks}
    if images.name == "C":
        regions["background"] = ~images.masks
    return {
        region: (pixels * mask[:, None]).sum((2, 3)) / mask.sum((1, 2))[:, None]
        for region, mask in regions.items()
    }


def colours_by_class(sets: Mapping[str, ImageSet]) -> pd.DataFrame:
    """Mean colour of every class in every set and region: red, green, blue from 0 to 255."""
    rows = [
        [name, region, label, *colours[images.labels == index].nanmean(0).tolist()]
        for name, images in sets.items()
        for region, colours in mean_colours(images).items()
        for index, label in enumerate(images.classes)
    ]
    return pd.DataFrame(rows, columns=["set", "region", "class", "red", "green", "blue"])


def guesses(sets: Mapping[str, ImageSet]) -> pd.DataFrame:
    """Guess the class of every test image from one mean colour alone.

    The guess is the class whose mean colour over the training images is nearest: three numbers an
    image, no shape, no texture. One row a test image and region: set, region, class, right (bool).
    """
    parts = []
    for name, images in sets.items():
        train, test = images.split("train"), images.split("test")
        colours, learned = mean_colours(test), mean_colours(train)
        for region in colours:
            centres = [
                learned[region][train.labels == i].nanmean(0) for i in range(len(images.classes))
            ]
            guess = torch.cdist(colours[region], torch.stack(centres)).argmin(1)
            right = (guess == test.labels).numpy()
            of = {"set": name, "region": region, "class": test.table["class"], "right": right}
            parts.append(pd.DataFrame(of))
    return pd.concat(parts, ignore_index=True)


def given_away(guesses: pd.DataFrame) -> pd.DataFrame:
    """How often a mean colour names the class, from :func:`guesses`, by set and region.

    Columns set, region, accuracy, low, high (Wilson), chance (always the largest class), images.
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
        With masks; images without are refused.

    Returns
    -------
    DataFrame
        training, object (index of the image), class, share (NaN where a map has no positive
        relevance), area (the background's share of the image: what a uniform map gives), excess
        (share - area), peak (the most relevant pixel is on the background; NaN as share).
    """
    if images.masks is None:
        raise ValueError(f"set {images.name} has no masks: where the background is, is not known")
    ground = ~images.masks.flatten(1)
    area, parts = ground.double().mean(1).numpy(), []
    for training, maps in enumerate(trainings):
        positive = maps.maps.clamp(min=0).flatten(1).double()
        total = positive.sum(1)
        share = ((positive * ground).sum(1) / total).numpy()
        peak = ground.gather(1, positive.argmax(1, keepdim=True))[:, 0].double()
        of = {
            "training": training,
            "object": np.arange(len(images)),
            "class": images.table["class"].to_numpy(),
        }
        of |= {"share": share, "area": area, "excess": share - area}
        of["peak"] = peak.where(total > 0, torch.nan).numpy()
        parts.append(pd.DataFrame(of))
    return pd.concat(parts, ignore_index=True)


def per_class(table: pd.DataFrame) -> pd.DataFrame:
    """Each class's mean share of relevance on the background, against a uniform map.

    Returns
    -------
    DataFrame
        One row a class of :func:`relevance`: class, images, undefined (maps without positive
        relevance, of all trainings; left out of the rest), area, and with intervals over trainings
        and images (`_low`, `_high`) share, excess and peak.
    """
    rows = []
    for name, part in table.groupby("class", sort=False):
        row = {"class": name, "images": part["object"].nunique()}
        row |= {"undefined": int(part["share"].isna().sum()), "area": part["area"].mean()}
        for measure in ("share", "excess", "peak"):
            row |= effects.with_interval(part, measure, share=measure == "peak")
        rows.append(row)
    return pd.DataFrame(rows)
