"""Test by which feature a model confuses two classes, by inpainting it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import torch
from scipy.ndimage import gaussian_filter
from scipy.stats import permutation_test
from torch.nn.functional import max_pool2d

from helpers import explain
from helpers.data import ImageSet
from helpers.focus import painting
from helpers.focus.equation import focus_of
from helpers.focus.means import PAIR, contrast, mean
from helpers.focus.mosaics import CELLS, batches, cut, in_mosaics, joined, layouts
from helpers.focus.networks import Model
from helpers.focus.rating import rate
from helpers.models.inference import logits
from helpers.stats import Interval

# smallest rise of Focus that counts, set on development seeds (900 to 902) before the
# trials
EFFECT = 0.1
# blur of the inpainting, and of relevance before its peak is read, as a share of a side
SPREAD = 1 / 24
EDGE = 2  # pixels around a mask that are also inpainted, since edges are blurred
DISC = 0.15  # radius of a candidate feature, as a share of the image's side
BEFORE, OVER, ELSEWHERE = "unchanged", "inpainted", "inpainted elsewhere"


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
        The masks do not fit the images, cover nothing, or cover a whole image.
    """
    size = len(images), *images.shape[-2:]
    if masks.dtype != torch.bool or masks.shape != size or not masks.any():
        raise ValueError(
            f"The masks are {masks.dtype} {tuple(masks.shape)}. They must be bool "
            f"{size}, as large as the images, and cover something."
        )
    masks = widened(masks)
    painted = images.clone()
    for number in masks.flatten(1).any(1).nonzero().flatten().tolist():
        mask = masks[number].numpy()
        if mask.all():
            raise ValueError(
                f"Mask {number} covers its whole image: nothing is left to paint with. "
                "Give a smaller mask."
            )
        filled = fill(images[number].numpy(), mask, SPREAD * images.shape[-1] / 2)
        painted[number] = torch.from_numpy(filled)
    return painted


def widened(masks: torch.Tensor) -> torch.Tensor:
    """Widen masks (N, H, W) by `EDGE` pixels."""
    return max_pool2d(masks[:, None].float(), 2 * EDGE + 1, 1, EDGE)[:, 0] > 0


def of_class(images: ImageSet, masks: torch.Tensor, name: str) -> torch.Tensor:
    """Keep the masks of one class's images; those of all other images become empty."""
    is_of_class = torch.tensor((images.table["class"] == name).to_numpy())
    return masks & is_of_class[:, None, None]


def elsewhere(images: ImageSet, masks: torch.Tensor) -> torch.Tensor:
    """Move the masks to another place: on the object, or half an image to the side."""
    side = masks.shape[-1]
    moved = masks.roll(side // 2, -1) & ~masks
    if images.masks is None:
        return moved
    steps = list(product(range(0, side, side // 12), repeat=2))
    for number in masks.flatten(1).any(1).nonzero().flatten().tolist():
        mask = masks[number]
        free = images.masks[number] & ~mask  # the rest of the object
        candidates = [mask.roll(step, (0, 1)) for step in steps]
        on_object = [int((candidate & free).sum()) for candidate in candidates]
        moved[number] = candidates[int(np.argmax(on_object))] & ~mask
    return moved


def intervention(
    model: Model,
    images: ImageSet,
    rows: pd.DataFrame,
    masks: torch.Tensor,
    method: str | Callable,
    also: Mapping[str, torch.Tensor] | None = None,
    fill: Callable = painting.fill,
) -> pd.DataFrame:
    """Rate the mosaics of a pair before and after inpainting the outer images.

    Parameters
    ----------
    model : Model
    images : ImageSet
    rows : pandas.DataFrame
        Mosaics of one pair.
    masks : torch.Tensor of bool, shape (N, H, W)
        The feature in all images.
    method : str or callable
    also : mapping of str to torch.Tensor, optional
        Other versions of the images.
    fill : callable
        Inpaints one image.

    Returns
    -------
    pandas.DataFrame
        The rows of `rate`, with the version of the images as ``state``.
    """
    masks = of_class(images, masks, rows["outer"].iloc[0])
    versions = {BEFORE: images.images, OVER: paint_over(images.images, masks, fill)}
    parts = []
    for state, pixels in {**versions, **(also or {})}.items():
        rated = rate(model, replace(images, images=pixels), rows, method)
        parts.append(rated.assign(state=state))
    return pd.concat(parts, ignore_index=True)


def rise(rated: pd.DataFrame) -> Interval:
    """Return how much an `intervention` raises Focus when the feature is inpainted."""
    return contrast(rated, {OVER: 1, BEFORE: -1}, of="state")


def rises(rated: pd.DataFrame, state: str = OVER) -> np.ndarray:
    """Return the mean rise of each run, float (T,).

    Only mosaics with a Focus in both states count.
    """
    wide = rated.pivot(index=["run", "mosaic"], columns="state", values="focus")
    wide = wide[[state, BEFORE]].dropna()
    means = wide.groupby("run").mean()
    return (means[state] - means[BEFORE]).to_numpy()


def p_against_control(learned: np.ndarray, control: np.ndarray) -> float:
    """Return the p value of "the rise is no larger than in the control model"."""
    test = permutation_test(
        (learned, control),
        lambda one, other, axis: one.mean(axis=axis) - other.mean(axis=axis),
        alternative="greater",
        n_resamples=np.inf,
    )
    return float(test.pvalue)


def gains(
    model: Model, without: ImageSet, marked: ImageSet, pair: tuple[str, str]
) -> np.ndarray:
    """Return what the eyespot on outer images adds to the target's logit, (T, N)."""
    target, outer = pair
    with_eyespot = logits(model.trainings, marked.of(outer).images)
    without_eyespot = logits(model.trainings, without.of(outer).images)
    return (with_eyespot - without_eyespot)[..., model.logit[target]].numpy()


def candidate(model: Model, images: ImageSet, pair: tuple[str, str]) -> torch.Tensor:
    """Return discs at the largest relevance for the target in outer images.

    They are masks, bool (N, H, W). The relevance is LRP's, or GradCAM's where LRP
    refuses the network.
    """
    target, outer = pair
    numbers = np.flatnonzero(images.table["class"] == outer)
    arguments = model.trainings[0], images.images[numbers], model.logit[target]
    try:
        maps = explain.explain(*arguments, "lrp").maps
    except explain.NotConserved:
        maps = explain.explain(*arguments, "gradcam").maps
    masks = torch.zeros_like(images.images[:, 0], dtype=torch.bool)
    for number, place in zip(numbers.tolist(), peaks(maps), strict=True):
        masks[number] = disc(masks.shape[1:], place, DISC * masks.shape[-1])
    return masks


def disc(
    size: tuple[int, int], middle: tuple[float, float], radius: float
) -> torch.Tensor:
    """Return a disc as a mask (H, W); `middle` and `radius` are in pixels."""
    rows, columns = np.ogrid[: size[0], : size[1]]
    squared_distance = (rows - middle[0]) ** 2 + (columns - middle[1]) ** 2
    return torch.from_numpy(squared_distance <= radius**2)


def peaks(maps: torch.Tensor) -> list[tuple[int, int]]:
    """Return row and column of the largest positive relevance of blurred maps."""
    places = []
    for relevance in maps:
        positive = relevance.clamp(min=0).numpy()
        smooth = gaussian_filter(positive, SPREAD * relevance.shape[-1])
        row, column = np.unravel_index(smooth.argmax(), smooth.shape)
        places.append((int(row), int(column)))
    return places


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
        Mosaics of one pair, rated by each run.
    methods : mapping of str to (str, dict)
        A method and its settings by the name that is shown.

    Returns
    -------
    pandas.DataFrame
        One row per method: ``share`` of the relevance, with its interval ``low`` to
        ``high``, the feature's share of the ``area``, and ``peaks``, the share of outer
        images with the largest relevance on the feature.
    """
    first = rows[rows["run"] == rows["run"].iloc[0]]
    target = first["target"].iloc[0]
    is_outer = ~layouts(first)
    mosaics = torch.cat(list(batches(first, images.images)))
    patches = _outer(in_mosaics(first, images.patches), is_outer)
    measured = []
    for name, (method, settings) in methods.items():
        placed = []
        hits = []
        for run, rows_of_run in rows.groupby("run"):
            network = model.trainings[run]
            maps = explain.explain(
                network, mosaics, model.logit[target], method, **settings
            ).maps
            misplaced = _outer(maps, is_outer).clamp(min=0)
            # two outer images per mosaic
            total = misplaced.double().sum((1, 2)).view(-1, 2).sum(1)
            on_patches = (misplaced * patches).double().sum((1, 2)).view(-1, 2).sum(1)
            placed.append(rows_of_run.assign(focus=(on_patches / total).numpy()))
            for patch, place in zip(patches, peaks(misplaced), strict=True):
                hits.append(bool(patch[place]))
        share, low, high = mean(pd.concat(placed))
        row = {"method": name, "share": share, "low": low, "high": high}
        row["area"] = float(patches.double().mean())
        row["peaks"] = float(np.mean(hits))
        measured.append(row)
    return pd.DataFrame(measured)


def _outer(maps: torch.Tensor, is_outer: torch.Tensor) -> torch.Tensor:
    """Return the cells of mosaics' maps (N, H, W) where `is_outer`, (N, 2, 2)."""
    cells = cut(maps[:, None])[:, 0].unflatten(0, (CELLS, -1)).transpose(0, 1)
    return cells[is_outer.flatten(1)]


def explained(
    model: Model,
    images: ImageSet,
    rows: pd.DataFrame,
    method: str | Callable,
    mask: torch.Tensor | None = None,
    fill: Callable = painting.fill,
) -> dict:
    """Prepare rows of a design with the column ``kind`` for `mosaics_explained`.

    With a `mask`, bool (2 H, 2 W), there is one row: unchanged, and with the mask
    inpainted.
    """
    mosaics = torch.cat(list(batches(rows, images.images)))
    if mask is None:
        kinds = rows["kind"]
        patches = None if images.patches is None else in_mosaics(rows, images.patches)
    else:
        kinds = (BEFORE, OVER)
        patches = mask.expand(2, -1, -1)
        painted = paint_over(cut(mosaics), cut(mask[None, None])[:, 0], fill)
        mosaics = torch.cat([mosaics, joined(painted)])
    names = tuple(rows[PAIR].iloc[0])
    network = model.trainings[0]
    maps = explain.explain(network, mosaics, model.logit[names[0]], method).maps
    where = layouts(rows).expand(len(mosaics), -1, -1)
    scores = focus_of(maps, where)
    captions = [
        f"{kind}: Focus {focus:.2f}" for kind, focus in zip(kinds, scores, strict=True)
    ]
    return {
        "mosaics": mosaics,
        "maps": maps,
        "layouts": where,
        "captions": captions,
        "names": names,
        "patches": patches,
    }
