"""Context images of each class: from context folders, or windows of C without the object."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.ndimage import distance_transform_cdt
from torch.nn.functional import adaptive_avg_pool2d

from helpers.data import duplicates, folders
from helpers.data.collection import ImageSet, listed
from helpers.data.decoding import read
from helpers.data.mosaic import squeeze

CONTEXTS_CUT = 50
CONTEXTS_FEW = (
    5  # with fewer from validation and test images, training images are cut as well
)
SMALLEST_WINDOW = 0.3  # of the image's side
MARGIN = 2  # pixels between a window and the object


def of_folders(
    folder: Path,
    context_of: Mapping[str, str] | None,
    sets: dict[str, ImageSet],
    seed,
    per_class,
) -> tuple[dict[str, torch.Tensor], dict[str, str], list[str]]:
    """Each class's context images, uint8 (M, 3, size, size), its context's name, and a report."""
    classes, size = sets["C"].classes, sets["C"].images.shape[-1]
    paths = {folders.printable(path.name): path for path in folders.subfolders(folder)}
    files_of = {name: folders.files(path) for name, path in paths.items()}
    if not files_of:
        raise ValueError(
            f"contexts: {folders.printable(folder)} holds no folder, and needs one a context; if "
            "it is a class, call it otherwise."
        )
    context_of = mapping(context_of, classes, tuple(files_of))
    used = [
        folders.rows(files_of[c], folder, paths[c], c, "") for c in context_of.values()
    ]
    table = pd.concat(used, ignore_index=True)
    images, rows, report = read(table, size, seed, per_class, "contexts")
    report += folders.lost_links(folder)
    objects = pd.concat(
        [each.table["path"] for each in sets.values()], ignore_index=True
    )
    pairs = duplicates.copies(*(each.images for each in sets.values()), images)
    same = {j - len(objects): i for i, j in pairs if i < len(objects) <= j}
    if same:
        named = [f"{rows['path'][j]} = {objects[i]}" for j, i in sorted(same.items())]
        notice = "Context images that are also images of a class were left out"
        report.append(f"{notice}, {len(named)}: {listed(named)}.")
    keep = ~rows.index.isin(list(same))
    of = {
        name: images[torch.tensor((rows["class"] == name) & keep)] for name in files_of
    }
    if gone := [name for name in context_of.values() if not len(of[name])]:
        raise ValueError(
            f"contexts: the folder(s) {listed(gone)} hold no image, or none that is not also an "
            "image of a class; a context is shown without its object."
        )
    if spare := [name for name in files_of if name not in context_of.values()]:
        report.append(
            f"The context(s) {listed(spare)} match no class and are not used."
        )
    if alone := [label for label in classes if label not in context_of]:
        report.append(
            f"There is no context of {listed(alone)}, so the bias of a context towards that class "
            "is not tested. Its images are combined with the contexts of the other classes."
        )
    return {label: of[name] for label, name in context_of.items()}, context_of, report


def one_background(images: torch.Tensor) -> bool:
    """Whether images, uint8 (N, 3, H, W), are the same along their edges but for noise."""
    cells = adaptive_avg_pool2d(images.float(), 8)
    cells[..., 1:-1, 1:-1] = torch.nan  # the object
    return bool(cells.std(0).nanmean() <= duplicates.SAME_LEVELS)


def mapping(
    context_of: Mapping[str, str] | None,
    classes: tuple[str, ...],
    contexts: tuple[str, ...],
) -> dict[str, str]:
    """Class to context, checked; without a mapping, contexts that are named as the classes."""
    there = f"The classes are {listed(classes)}; the context folders are {listed(contexts)}."
    if not context_of:
        spelled = folders.spelled(contexts, "contexts")
        own = {
            c: spelled[folders.plain(c)] for c in classes if folders.plain(c) in spelled
        }
        if not own or len(own) < min(len(classes), len(contexts)):
            raise ValueError(
                "context_of: which context goes with which class is not told by the folders' "
                f"names, so a mapping from class to context is needed. {there}"
            )
        return own
    unknown = {*context_of} - {*classes} | {*context_of.values()} - {*contexts}
    if unknown:
        raise ValueError(
            f"context_of: unknown name(s) {listed(sorted(unknown))}. {there}"
        )
    if len({*context_of.values()}) < len(context_of):
        reason = "context_of: a context that two classes share says nothing of either"
        raise ValueError(
            f"{reason}, so every class needs a context of its own, or none. {there}"
        )
    return {label: context_of[label] for label in classes if label in context_of}


def cut(
    images: ImageSet, masks: torch.Tensor, context_of: Mapping[str, str]
) -> tuple[dict[str, torch.Tensor], dict[str, str], list[str]]:
    """As :func:`of_folders`, cut from C images outside of `masks`; none where a class has none."""
    if unknown := sorted(set(context_of) - set(images.classes)):
        raise ValueError(
            f"context_of: {listed(unknown)} is no class; the classes are {listed(images.classes)}."
        )
    known = masks.flatten(1).any(1)
    held_out = torch.tensor((images.table["split"] != "train").to_numpy())
    windows_of, counts = {}, []
    for index, label in enumerate(images.classes):
        usable = known & (images.labels == index)
        windows, note = _windows(images.images, masks, usable & held_out), ""
        if len(windows) < CONTEXTS_FEW:
            windows, note = _windows(images.images, masks, usable), " (train too)"
        if not len(windows):
            notice = (
                "There are no context images, and none can be cut from C without its images on "
                "white (WB): notebooks 01 and 02 run; 03 needs contexts (give a folder)."
            )
            return {}, {}, [notice]
        windows_of[label] = windows
        counts.append(f"{label} {len(windows)}{note}")
    notice = (
        "Context images are cut from C's validation and test images where WB is white: "
    )
    names = {label: context_of.get(label, f"around {label}") for label in windows_of}
    return windows_of, names, [f"{notice}{', '.join(counts)}."]


def window(mask: np.ndarray) -> tuple[int, int, int]:
    """Top, left and side of the largest square of odd side clear of an object, bool (H, W)."""
    rows, columns = np.indices(mask.shape) + 1
    height, width = mask.shape
    reach = np.minimum.reduce([rows, columns, height + 1 - rows, width + 1 - columns])
    if mask.any():
        reach = np.minimum(
            reach, distance_transform_cdt(~mask, metric="chessboard") - MARGIN
        )
    row, column = np.unravel_index(int(reach.argmax()), mask.shape)
    half = int(reach[row, column]) - 1
    return (
        (int(row) - half, int(column) - half, 2 * half + 1) if half >= 0 else (0, 0, 0)
    )


def _windows(
    images: torch.Tensor, masks: torch.Tensor, chosen: torch.Tensor
) -> torch.Tensor:
    """The chosen images' object-free windows at the images' size, from the largest down."""
    size = images.shape[-1]
    places = [(window(masks[i].numpy()), i) for i in chosen.nonzero()[:, 0].tolist()]
    places = sorted(places, key=lambda one: -one[0][2])[:CONTEXTS_CUT]
    parts = [
        squeeze(images[i : i + 1, :, top : top + side, left : left + side], size, size)
        for (top, left, side), i in places
        if side >= SMALLEST_WINDOW * size
    ]
    return torch.cat(parts) if parts else images[:0]
