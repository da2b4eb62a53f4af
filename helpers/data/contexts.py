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

from helpers.data import folders
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
) -> tuple[dict[str, torch.Tensor], dict[str, str], list[str]]:
    """Read the context images of a folder of context folders.

    Returns the images of each class's context, uint8 (M, 3, size, size), the context's name of each
    class, and a report.
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
    of = {name: images[torch.tensor((rows["class"] == name).to_numpy())] for name in found}
    return {label: of[context_of[label]] for label in classes}, context_of, report


def mapping(
    context_of: Mapping[str, str] | None, classes: tuple[str, ...], contexts: tuple[str, ...]
) -> dict[str, str]:
    """Class to context, checked: every class has one, and every name is known.

    Without a mapping, contexts that are named as the classes are theirs.
    """
    there = f"The classes are {listed(classes)}; the context folders are {listed(contexts)}."
    if not context_of:
        spelled = {folders.plain(name): name for name in contexts}
        if not {folders.plain(label) for label in classes} <= set(spelled):
            raise ValueError(
                "context_of: which context goes with which class is not told by the folders' "
                f"names, so a mapping from class to context is needed. {there}"
            )
        return {label: spelled[folders.plain(label)] for label in classes}
    unknown = {*context_of} - {*classes} | {*context_of.values()} - {*contexts}
    if unknown:
        raise ValueError(f"context_of: unknown name(s) {listed(sorted(unknown))}. {there}")
    missing = [label for label in classes if label not in context_of]
    if missing:
        raise ValueError(
            f"context_of: no context for {listed(missing)}. Add a line for each, such as "
            f"`{missing[0]}: {contexts[0]}`. {there}"
        )
    if len({*context_of.values()}) < len(context_of):
        raise ValueError(f"context_of: every class needs a context of its own. {there}")
    return {label: context_of[label] for label in classes}


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
