"""Test by which feature a model confuses two classes: the candidate feature is inpainted."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.ndimage import gaussian_filter
from scipy.stats import permutation_test
from torch.nn.functional import max_pool2d

from helpers import explain
from helpers.data import ImageSet
from helpers.data.decoding import decode
from helpers.focus import painting
from helpers.focus.means import PAIR, contrast, mean
from helpers.focus.mosaics import CELLS, batches, cut, in_mosaics, joined, layouts
from helpers.focus.networks import Model
from helpers.focus.rating import rate, score
from helpers.models.inference import logits
from helpers.stats import Mean

EFFECT = 0.1  # smallest rise of Focus that counts, set on development seeds (900 to 902) before the trials
SPREAD = (
    1 / 24
)  # blur of the inpainting, and of relevance before its peak is read, of a side
EDGE = 2  # pixels around a mask that are also inpainted, since edges are blurred
DISC = 0.15  # radius of a candidate feature, as a share of the image's side
BEFORE, OVER, ELSEWHERE = "unchanged", "inpainted", "inpainted elsewhere"


def paint_over(
    images: torch.Tensor, masks: torch.Tensor, fill: Callable = painting.fill
) -> torch.Tensor:
    """Fill the masked parts, bool (N, H, W), of images, uint8 (N, 3, H, W), from their surroundings.

    `fill` inpaints one image."""
    size = len(images), *images.shape[-2:]
    if masks.dtype != torch.bool or masks.shape != size or not masks.any():
        raise ValueError(
            f"Masks must be bool {size}, as large as the images, and cover something."
        )
    masks = widened(masks)
    painted = images.clone()
    for at in masks.flatten(1).any(1).nonzero().flatten().tolist():
        if masks[at].all():
            raise ValueError(
                f"Mask {at} covers its whole image: nothing is left to paint with."
            )
        filled = fill(
            images[at].numpy(), masks[at].numpy(), SPREAD * images.shape[-1] / 2
        )
        painted[at] = torch.from_numpy(filled)
    return painted


def widened(masks: torch.Tensor) -> torch.Tensor:
    """Widen masks (N, H, W) by `EDGE` pixels."""
    return max_pool2d(masks[:, None].float(), 2 * EDGE + 1, 1, EDGE)[:, 0] > 0


def of_class(images: ImageSet, masks: torch.Tensor, name: str) -> torch.Tensor:
    """Keep the masks of one class's images; those of all other images become empty."""
    return masks & torch.tensor((images.table["class"] == name).tolist())[:, None, None]


def elsewhere(images: ImageSet, masks: torch.Tensor) -> torch.Tensor:
    """Move the masks to another place: on the object, or half an image to the side."""
    aside, side = masks.roll(masks.shape[-1] // 2, -1) & ~masks, masks.shape[-1]
    steps = list(product(range(0, side, side // 12), repeat=2))
    visible = masks.flatten(1).any(1) & (images.masks is not None)
    for at in visible.nonzero().flatten().tolist():
        moved = [masks[at].roll(step, (0, 1)) for step in steps]
        on = [(one & images.masks[at] & ~masks[at]).sum().item() for one in moved]
        aside[at] = moved[int(np.argmax(on))] & ~masks[at]
    return aside


def intervention(
    model: Model, images, rows, masks, method, also=None, fill: Callable = painting.fill
) -> pd.DataFrame:
    """Rate the mosaics of a pair with the feature on the outer images unchanged and inpainted.

    `also` holds other versions of the images. The column ``state`` names the version. `masks`,
    bool (N, H, W), are of all images."""
    masks = of_class(images, masks, rows["outer"].iloc[0])
    painted = paint_over(images.images, masks, fill)
    versions = {BEFORE: images.images, OVER: painted} | dict(also or {})
    rated = {
        n: rate(model, replace(images, images=v), rows, method)
        for n, v in versions.items()
    }
    return pd.concat(rated, names=["state"]).reset_index("state").reset_index(drop=True)


def rise(rated: pd.DataFrame) -> Mean:
    """Return how much an `intervention` raises Focus when the feature is inpainted."""
    return contrast(rated, {OVER: 1, BEFORE: -1}, of="state")


def rises(rated: pd.DataFrame, state: str = OVER) -> np.ndarray:
    """Return the mean rise of each run, float (T,), over mosaics with a Focus in both states."""
    rows = rated[rated["state"].isin([state, BEFORE])]
    both = rows.groupby(["run", "mosaic"])["focus"].transform("count") == 2
    rows = rows.assign(focus=rows["focus"].where(both))
    means = rows.groupby(["run", "state"])["focus"].mean().unstack()
    return (means[state] - means[BEFORE]).to_numpy()


def p_against_control(learned: np.ndarray, control: np.ndarray) -> float:
    """Return the permutation p value of "the rise is no larger than in the control model"."""
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
    """Return what the eyespot on the outer class's images adds to the target's logit, (T, images)."""
    with_and_without = [
        logits(model.trainings, s.of(pair[1]).images) for s in (marked, without)
    ]
    return (with_and_without[0] - with_and_without[1])[
        ..., model.logit[pair[0]]
    ].numpy()


def feature_masks(
    model: Model, images: ImageSet, pair, folder: str | None
) -> torch.Tensor:
    """Return the candidate feature of a pair as masks (N, H, W).

    The masks are where the feature was injected, else white on black in the PNG files of a folder
    (with the names and sizes of the images), else where LRP points. An image without a file does
    not show the feature."""
    if images.patches is not None and folder is None:
        return images.patches
    if not folder:
        return candidate(model, images, pair)
    if "path" not in images.table or images.patches is not None:
        raise ValueError("`masks` are read for photographs only. Leave it out.")
    masks = torch.zeros_like(images.images[:, 0], dtype=torch.bool)
    files = [
        Path(folder).expanduser() / Path(p).with_suffix(".png")
        for p in images.table["path"]
    ]
    for at in (at for at, file in enumerate(files) if file.is_file()):
        masks[at] = decode(files[at], masks.shape[-1])[0] > 127
    if not masks.any():
        raise ValueError(
            f"No mask was found. The first file that was tried is {files[0]}. Name each mask as its "
            "image, with the ending .png."
        )
    return masks


def candidate(model: Model, images: ImageSet, pair: tuple[str, str]) -> torch.Tensor:
    """Return discs at the largest relevance for the target in outer images, bool (N, H, W).

    The relevance is LRP's, or GradCAM's where LRP refuses the network."""
    target, outer = pair
    at = np.flatnonzero(images.table["class"] == outer)
    arguments = model.trainings[0], images.images[at], model.logit[target]
    try:
        maps = explain.explain(*arguments, "lrp").maps
    except explain.NotConserved:
        maps = explain.explain(*arguments, "gradcam").maps
    masks = torch.zeros_like(images.images[:, 0], dtype=torch.bool)
    for number, place in zip(at.tolist(), peaks(maps), strict=True):
        masks[number] = disc(masks.shape[1:], place, DISC * masks.shape[-1])
    return masks


def disc(
    size: tuple[int, int], middle: tuple[float, float], radius: float
) -> torch.Tensor:
    """Return a disc as a mask (H, W); `middle` (row, column) and `radius` are in pixels."""
    rows, columns = np.ogrid[: size[0], : size[1]]
    away = (rows - middle[0]) ** 2 + (columns - middle[1]) ** 2
    return torch.from_numpy(away <= radius**2)


def peaks(maps: torch.Tensor) -> list[tuple[int, int]]:
    """Return row and column of the largest positive relevance of maps (N, H, W), after a blur."""
    smooth = [
        gaussian_filter(m.clamp(min=0).numpy(), SPREAD * m.shape[-1]) for m in maps
    ]
    return [tuple(map(int, np.unravel_index(m.argmax(), m.shape))) for m in smooth]


def by_method(
    model: Model,
    images: ImageSet,
    rows: pd.DataFrame,
    methods: Mapping[str, tuple[str, dict]],
) -> pd.DataFrame:
    """Measure how much of the outer images' positive relevance lies on the feature, by method.

    ``share`` is this share of the relevance, ``area`` the feature's share of the area, and
    ``peaks`` the share of outer images with the largest relevance on the feature. `rows` are
    mosaics of one pair, rated by each run. `methods` holds a method and its settings by the name
    that is shown."""
    first = rows[rows["run"] == rows["run"].iloc[0]]
    target, outer = first["target"].iloc[0], ~layouts(first)
    mosaics = torch.cat(list(batches(first, images.images)))
    patch, measured = _outer(in_mosaics(first, images.patches), outer), []
    for name, (method, settings) in methods.items():
        placed, tops = [], []
        for run, own in rows.groupby("run"):
            arguments = mosaics, model.logit[target], method
            maps = explain.explain(model.trainings[run], *arguments, **settings).maps
            wrong = _outer(maps, outer).clamp(min=0)
            sums = [
                m.double().sum((1, 2)).view(-1, 2).sum(1)
                for m in (wrong * patch, wrong)
            ]
            placed.append(own.assign(focus=torch.div(*sums).numpy()))
            tops += [bool(one[at]) for one, at in zip(patch, peaks(wrong), strict=True)]
        share = mean(pd.concat(placed)).interval()
        measured.append(
            (name, *share, float(patch.double().mean()), float(np.mean(tops)))
        )
    return pd.DataFrame(
        measured, columns=["method", "share", "low", "high", "area", "peaks"]
    )


def _outer(maps: torch.Tensor, outer: torch.Tensor) -> torch.Tensor:
    """Return the cells of mosaics' maps (N, H, W) where `outer` (N, 2, 2) is true, one by one."""
    cells = cut(maps[:, None])[:, 0].unflatten(0, (CELLS, -1)).transpose(0, 1)
    return cells[outer.flatten(1)]


def explained(
    model: Model,
    images: ImageSet,
    rows: pd.DataFrame,
    method,
    mask=None,
    fill: Callable = painting.fill,
) -> dict:
    """Prepare rows of a design with the column ``kind`` for the figure `mosaics_explained`.

    With a `mask`, bool (2 H, 2 W), there is one row: unchanged, and with the mask inpainted."""
    mosaics = torch.cat(list(batches(rows, images.images)))
    if mask is None:
        kinds = rows["kind"]
        patches = None if images.patches is None else in_mosaics(rows, images.patches)
    else:
        kinds, patches = (BEFORE, OVER), mask.expand(2, -1, -1)
        painted = paint_over(cut(mosaics), cut(mask[None, None])[:, 0], fill)
        mosaics = torch.cat([mosaics, joined(painted)])
    names = tuple(rows[PAIR].iloc[0])
    maps = explain.explain(
        model.trainings[0], mosaics, model.logit[names[0]], method
    ).maps
    where = layouts(rows).expand(len(mosaics), -1, -1)
    captions = [
        f"{k}: Focus {v:.2f}" for k, v in zip(kinds, score(maps, where), strict=True)
    ]
    drawn = {"mosaics": mosaics, "maps": maps, "layouts": where, "captions": captions}
    return drawn | {"names": names, "patches": patches}
