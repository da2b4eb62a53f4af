"""Context images of each class: from a folder of context folders, or cut from C.

Where none were given, object-free windows of C are cut, told by the white of WB. The window is cut,
not the object painted over: a filled-in hole keeps the object's outline, and a classifier may still
know the object by it. What is lost is the scene's layout, and sharpness where the window is small.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image
from scipy.ndimage import distance_transform_cdt
from torch.nn.functional import adaptive_avg_pool2d

from helpers.data import duplicates, folders
from helpers.data.collection import ImageSet, listed
from helpers.data.images import read

CONTEXTS_CUT = 50
CONTEXTS_FEW = 5  # with fewer from validation and test images, training images are cut as well
SMALLEST_WINDOW = 0.3  # of the image's side
MARGIN = 2  # pixels between a window and the object


def given(
    folder: Path,
    classes: tuple[str, ...],
    context_of: Mapping[str, str] | None,
    size: int,
    seed: int,
    per_class: int | None,
    sets: Mapping[str, ImageSet],
) -> tuple[dict[str, torch.Tensor], dict[str, str], list[str]]:
    """Read the context images of a folder of context folders.

    Returns the images of each class's context, uint8 (M, 3, size, size), the context's name of each
    class, and a report. A context image that is also in one of the `sets` shows an object, so it is
    left out; an object in another picture is not found.
    """
    paths = {folders.printable(path.name): path for path in folders.subfolders(folder)}
    found = {name: folders.files(path) for name, path in paths.items()}
    context_of = mapping(context_of, classes, tuple(found))
    empty = [name for name in dict.fromkeys(context_of.values()) if not found[name]]
    if empty:
        raise ValueError(f"contexts: no image file in the folder(s) {listed(empty)}.")
    used = [
        folders.rows(found[name], folder, paths[name], name, "")
        for name in dict.fromkeys(context_of.values())
    ]
    images, rows, report = read(
        pd.concat(used, ignore_index=True), size, seed, per_class, "contexts"
    )
    keep, said = _without_objects(images, rows, sets)
    of = {name: images[torch.tensor((rows["class"] == name) & keep)] for name in found}
    gone = [name for name in dict.fromkeys(context_of.values()) if not len(of[name])]
    if gone:
        raise ValueError(
            f"contexts: every image of {listed(gone)} is also an image of a class; a context is "
            "shown without its object."
        )
    spare = [name for name in found if name not in context_of.values()]
    if spare:
        said.append(f"The context(s) {listed(spare)} match no class and are not used.")
    alone = [label for label in classes if label not in context_of]
    if alone:
        said.append(
            f"There is no context of {listed(alone)}: whether a context speaks for that class is "
            "not asked. Its images are put beside the contexts of the other classes."
        )
    return {label: of[name] for label, name in context_of.items()}, context_of, report + said


def _without_objects(
    images: torch.Tensor, rows: pd.DataFrame, sets: Mapping[str, ImageSet]
) -> tuple[np.ndarray, list[str]]:
    """Which context images are in none of the sets, bool (N,), and a sentence on those that are."""
    objects = pd.concat([each.table["path"] for each in sets.values()], ignore_index=True)
    pairs = duplicates.copies(*(each.images for each in sets.values()), images)
    same = {j - len(objects): i for i, j in pairs if i < len(objects) <= j}
    named = [f"{rows['path'][j]} = {objects[i]}" for j, i in sorted(same.items())]
    said = "Context images that are also images of a class were left out, {}: {}."
    keep = ~np.isin(np.arange(len(images)), list(same))
    return keep, [said.format(len(named), listed(named))] if named else []


def one_background(images: torch.Tensor) -> bool:
    """Whether images, uint8 (N, 3, H, W), are the same along their edges but for noise."""
    cells = adaptive_avg_pool2d(images.float(), 8)
    cells[..., 1:-1, 1:-1] = torch.nan  # the object
    return bool(cells.std(0).nanmean() <= duplicates.SAME_LEVELS)


def mapping(
    context_of: Mapping[str, str] | None, classes: tuple[str, ...], contexts: tuple[str, ...]
) -> dict[str, str]:
    """Class to context, checked: every name is known, and no two classes share a context.

    Without a mapping, contexts that are named as the classes are theirs. A class may be without a
    context, and a context without a class, but not both where no mapping is given: then one may
    belong to the other.
    """
    there = f"The classes are {listed(classes)}; the context folders are {listed(contexts)}."
    if not context_of:
        spelled = {folders.plain(name): name for name in contexts}
        own = {c: spelled[folders.plain(c)] for c in classes if folders.plain(c) in spelled}
        if not own or len(own) < min(len(classes), len(contexts)):
            raise ValueError(
                "context_of: which context goes with which class is not told by the folders' "
                f"names, so a mapping from class to context is needed. {there}"
            )
        return own
    unknown = {*context_of} - {*classes} | {*context_of.values()} - {*contexts}
    if unknown:
        raise ValueError(f"context_of: unknown name(s) {listed(sorted(unknown))}. {there}")
    if len({*context_of.values()}) < len(context_of):
        raise ValueError(
            "context_of: a context that two classes share says nothing of either, so every class "
            f"needs a context of its own, or none. {there}"
        )
    return {label: context_of[label] for label in classes if label in context_of}


def cut(images: ImageSet, masks: torch.Tensor) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Contexts of each class, cut from C images that no model is trained on, and a report.

    There are none where some class gives none. An image without a mask is of no use.
    """
    known = masks.flatten(1).any(1)
    held_out = torch.tensor([split != "train" for split in images.table["split"]])
    contexts, counts = {}, []
    for index, label in enumerate(images.classes):
        usable = known & (images.labels == index)
        for chosen in (usable & held_out, usable):
            windows = _windows(images.images[chosen], masks[chosen])
            if len(windows) >= CONTEXTS_FEW:
                break
        contexts[label] = windows
        counts.append(f"{label} {len(windows)}{'' if chosen is not usable else ' (train too)'}")
    if not all(len(windows) for windows in contexts.values()):
        return {}, [f"Object-free windows of C are too small to serve as contexts: {counts}."]
    return contexts, [
        "Context images are cut from C's validation and test images where WB is white (largest "
        f"object-free square, resized): {', '.join(counts)}."
    ]


def window(mask: np.ndarray) -> tuple[int, int, int]:
    """The largest square (of odd side) that stays clear of an object: its top, left and side.

    `mask` is bool (H, W), true on the object; the side is 0 where the object leaves no room.
    """
    rows, columns = np.indices(mask.shape) + 1
    height, width = mask.shape
    reach = np.minimum.reduce([rows, columns, height + 1 - rows, width + 1 - columns])
    if mask.any():
        reach = np.minimum(reach, distance_transform_cdt(~mask, metric="chessboard") - MARGIN)
    row, column = np.unravel_index(int(reach.argmax()), mask.shape)
    half = int(reach[row, column]) - 1
    return (int(row) - half, int(column) - half, 2 * half + 1) if half >= 0 else (0, 0, 0)


def _windows(images: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """The largest object-free windows, resized to the images' size, from the largest down."""
    size = images.shape[-1]
    windows = [window(mask.numpy()) for mask in masks]
    order = sorted(range(len(windows)), key=lambda i: -windows[i][2])[:CONTEXTS_CUT]
    usable = [i for i in order if windows[i][2] >= SMALLEST_WINDOW * size]
    cut_out = [_resized(images[i], *windows[i]) for i in usable]
    return torch.stack(cut_out) if cut_out else images[:0]


def _resized(image: torch.Tensor, top: int, left: int, side: int) -> torch.Tensor:
    part = image[:, top : top + side, left : left + side].permute(1, 2, 0).numpy()
    size = (image.shape[2], image.shape[1])
    resized = Image.fromarray(part).resize(size, Image.Resampling.BICUBIC)
    return torch.from_numpy(np.asarray(resized).copy()).permute(2, 0, 1).contiguous()
