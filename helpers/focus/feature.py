"""Test by which feature a model confuses two classes, by inpainting it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import torch
from scipy.ndimage import gaussian_filter
from torch.nn.functional import max_pool2d

from helpers import explain, stats
from helpers.data import ImageSet
from helpers.focus import painting
from helpers.focus.means import UNITS, contrast
from helpers.focus.mosaics import CELLS, compose, cut, layouts
from helpers.focus.networks import Model
from helpers.focus.rating import explained, rate
from helpers.models.inference import logits

# smallest rise of Focus that counts, set on development seeds (900 to 902) before the
# trials
EFFECT = 0.1
# blur of the inpainting, and of relevance before its peak is read, as a share of a side
SPREAD = 1 / 24
EDGE = 2  # pixels around a mask that are also inpainted, since edges are blurred
DISC = 0.15  # radius of a candidate feature, as a share of the image's side
BEFORE, OVER = "unchanged", "inpainted"


def paint_over(
    images: torch.Tensor, masks: torch.Tensor, fill: Callable = painting.fill
) -> torch.Tensor:
    """Inpaint the masked parts of images.

    Parameters
    ----------
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    masks : torch.Tensor of bool, shape (N, H, W)
        `EDGE` pixels around them are inpainted as well.
    fill : callable
        Inpaints one image.

    Returns
    -------
    torch.Tensor of uint8, shape (N, 3, H, W)

    Raises
    ------
    ValueError
        The masks cover nothing, or a whole image.
    """
    widened = max_pool2d(masks.float(), 2 * EDGE + 1, stride=1, padding=EDGE) > 0
    covered = widened.flatten(1)
    if not covered.any() or covered.all(1).any():
        raise ValueError(
            "The masks cover nothing, or they cover a whole image, so that no colour "
            "is left to paint with. Give masks that cover a part of some images."
        )
    painted = images.clone()
    blur = SPREAD * images.shape[-1] / 2
    for number, mask in enumerate(widened.numpy()):
        filled = fill(images[number].numpy(), mask, blur)
        painted[number] = torch.from_numpy(filled)
    return painted


def of_class(images: ImageSet, masks: torch.Tensor, name: str) -> torch.Tensor:
    """Keep the masks of one class's images, and empty all other masks."""
    is_of_class = images.labels == images.classes.index(name)
    return masks & is_of_class[:, None, None]


def elsewhere(images: ImageSet, masks: torch.Tensor) -> torch.Tensor:
    """Move the masks to another place on the object, or half an image to the side."""
    side = masks.shape[-1]
    moved = masks.roll(side // 2, -1) & ~masks
    if images.masks is None:
        return moved
    places = range(0, side, side // 12)
    for number, mask in enumerate(masks):
        rest_of_object = images.masks[number] & ~mask
        candidates = torch.stack(
            [mask.roll(step, (0, 1)) for step in product(places, repeat=2)]
        )
        on_object = candidates & rest_of_object
        best = on_object.sum((1, 2)).argmax()
        moved[number] = candidates[best] & ~mask
    return moved


def intervention(
    model: Model,
    images: ImageSet,
    rows: pd.DataFrame,
    versions: Mapping[str, torch.Tensor],
    method: str | Callable,
) -> pd.DataFrame:
    """Rate mosaics with unchanged images, and with other versions of the images.

    Parameters
    ----------
    model : Model
    images : ImageSet
    rows : pandas.DataFrame
        Mosaics of one pair.
    versions : mapping of str to torch.Tensor
        The other versions of all images, such as those with the feature inpainted
        (`OVER`).
    method : str or callable

    Returns
    -------
    pandas.DataFrame
        The rows of `rate`, with the version of the images as ``state``.
    """
    parts = []
    for state, pixels in {BEFORE: images.images, **versions}.items():
        rated = rate(
            model,
            replace(images, images=pixels),
            rows,
            method,
        )
        parts.append(rated.assign(state=state))
    return pd.concat(parts, ignore_index=True)


def rise(rated: pd.DataFrame) -> stats.Interval:
    """Return how much an `intervention` raises Focus when the feature is inpainted."""
    return contrast(rated, {OVER: 1, BEFORE: -1}, of="state")


def rises(rated: pd.DataFrame, state: str = OVER) -> np.ndarray:
    """Return the mean rise of each run, float (T,).

    Only mosaics with a Focus in both states count.
    """
    wide = rated.pivot(
        index=["run", "mosaic"],
        columns="state",
        values="focus",
    )
    difference = wide[state] - wide[BEFORE]
    return difference.groupby("run").mean().to_numpy()


def gains(
    model: Model, without: ImageSet, marked: ImageSet, pair: tuple[str, str]
) -> np.ndarray:
    """Return what the eyespot on outer images adds to the target's logit, (T, N)."""
    target, outer = pair
    with_eyespot = logits(model.trainings, marked.of(outer).images)
    without_eyespot = logits(model.trainings, without.of(outer).images)
    gained = with_eyespot - without_eyespot
    return gained[..., model.logit[target]].numpy()


def candidate(model: Model, images: ImageSet, pair: tuple[str, str]) -> torch.Tensor:
    """Return discs at the largest relevance for the target in outer images.

    They are masks, bool (N, H, W). The relevance is LRP's, or GradCAM's where LRP
    refuses the network.
    """
    target, outer = pair
    is_outer = images.labels == images.classes.index(outer)
    pixels = images.images[is_outer]
    arguments = model.trainings[0], pixels, model.logit[target]
    try:
        maps = explain.explain(*arguments, "lrp")
    except explain.NotConserved:
        maps = explain.explain(*arguments, "gradcam")
    row, column = peaks(maps)
    middle = row[:, None, None], column[:, None, None]
    masks = torch.zeros_like(images.images[:, 0], dtype=torch.bool)
    masks[is_outer] = disc(
        maps.shape[1:],
        middle,
        DISC * maps.shape[2],
    )
    return masks


def disc(size: tuple[int, int], middle: tuple, radius: float) -> torch.Tensor:
    """Return a disc as a mask (H, W); `middle` and `radius` are in pixels.

    If `middle` holds arrays (N, 1, 1), the result is N discs (N, H, W).
    """
    row, column = middle
    rows, columns = np.ogrid[: size[0], : size[1]]
    distance = np.hypot(rows - row, columns - column)
    return torch.from_numpy(distance <= radius)


def peaks(maps: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the largest positive relevance of blurred maps."""
    blur = SPREAD * maps.shape[-1]
    smooth = gaussian_filter(maps.clamp(min=0).numpy(), (0, blur, blur))
    peak = smooth.reshape(len(maps), -1).argmax(1)
    return np.unravel_index(peak, maps.shape[1:])


def by_method(
    model: Model,
    images: ImageSet,
    rows: pd.DataFrame,
    methods: Mapping[str, tuple[str, dict]],
) -> pd.DataFrame:
    """Measure how much of the outer images' positive relevance lies on the feature.

    Parameters
    ----------
    model : Model
    images : ImageSet
        With the feature as `patches`.
    rows : pandas.DataFrame
        Mosaics of one pair.
    methods : mapping of str to (str, dict)
        A method and its settings by the name that is shown.

    Returns
    -------
    pandas.DataFrame
        One row per method: ``share`` of the relevance, with its interval ``low`` to
        ``high``, the feature's share of the ``area``, and ``peaks``, the share of outer
        images with the largest relevance on the feature.
    """
    parts = []
    for name, (method, settings) in methods.items():
        batches = explained(model, images, rows, method, "sound", **settings)
        for part, _, _, _, maps in batches:
            # one map per image, in the order of `cut`
            is_outer = ~layouts(part).flatten(1).T.reshape(-1, 1, 1)
            is_feature = cut(compose(part, images.patches[:, None]))[:, 0] & is_outer
            misplaced = cut(maps[:, None])[:, 0].clamp(min=0) * is_outer
            row, column = peaks(misplaced)
            of_images = {
                "on_feature": (misplaced * is_feature).double().sum((1, 2)),
                "relevance": misplaced.double().sum((1, 2)),
                "area": is_feature.double().mean((1, 2)),
                "peaks": is_feature[range(len(row)), row, column],
            }
            for measure, values in of_images.items():
                # per outer image; two of the four images of a mosaic are outer
                part[measure] = values.view(CELLS, -1).sum(0) / 2
            parts.append(part.assign(method=name))
    placed = pd.concat(parts, ignore_index=True)
    placed["share"] = placed["on_feature"] / placed["relevance"]
    table = stats.mean_ci(placed, "share", by=["method"], units=UNITS)
    means = placed.groupby("method")[["area", "peaks"]].mean()
    table.columns = ["method", "share", "low", "high", "n"]
    return table.join(means, on="method")
