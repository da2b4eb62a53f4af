"""Background images of each class's typical context, from one folder per context."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import torch
from torch.nn.functional import adaptive_avg_pool2d

from helpers.data import folders
from helpers.data.collection import ImageSet, listed
from helpers.data.decoding import read
from helpers.data.splits import refuse_copies

SAME_LEVELS = 3.0  # grey levels by which an unchanged background varies, as JPEG too


def load_contexts(
    folder: Path,
    context_of: Mapping[str, str] | None,
    sets: Mapping[str, ImageSet],
    seed: int,
    per_class: int | None,
) -> tuple[dict[str, torch.Tensor], dict[str, str], list[str]]:
    """Load the background images of each class.

    Parameters
    ----------
    folder : Path
        It holds one folder per context.
    context_of : mapping of str to str, or None
        Class to context. None means that contexts are named as the classes.
    sets : mapping of str to ImageSet
    seed : int
    per_class : int or None
        Images of each context, None for all.

    Returns
    -------
    images : dict of str to torch.Tensor
        Class to images of its context, uint8 (M, 3, size, size).
    context_of : dict of str to str
    report : list of str

    Raises
    ------
    ValueError
        If classes and contexts do not fit together, or a background image is also an
        image of a class or of another context.
    """
    classes = sets["C"].classes
    size = sets["C"].images.shape[-1]
    files = folders.list_images(folder, fewest=1)
    names = tuple(files["class"].unique())
    context_of = check_mapping(context_of, classes, names)
    used = files[files["class"].isin(context_of.values())].reset_index(drop=True)
    images, rows, report = read(used, size, seed, per_class, "contexts")
    rows["path"] = f"{folders.CONTEXTS}/" + rows["path"]
    tables = [image_set.table for image_set in sets.values()]
    pixels = [image_set.images for image_set in sets.values()]
    all_rows = pd.concat([*tables, rows.assign(split="contexts")], ignore_index=True)
    refuse_copies(all_rows, torch.cat([*pixels, images]))
    unused = [name for name in names if name not in context_of.values()]
    if unused:
        report.append(
            f"The context(s) {listed(unused)} match no class and are not used."
        )
    without = [label for label in classes if label not in context_of]
    if without:
        report.append(
            f"There is no context of {listed(without)}, so the bias of a context "
            "towards that class is not tested. Its images are combined with the "
            "contexts of the other classes."
        )
    images_of = {}
    for label, name in context_of.items():
        images_of[label] = images[torch.tensor((rows["class"] == name).to_numpy())]
    return images_of, context_of, report


def check_mapping(
    context_of: Mapping[str, str] | None,
    classes: tuple[str, ...],
    contexts: tuple[str, ...],
) -> dict[str, str]:
    """Check which class has which context.

    Parameters
    ----------
    context_of : mapping of str to str, or None
        Class to context. None means that contexts are named as the classes.
    classes : tuple of str
    contexts : tuple of str
        Names of the context folders.

    Returns
    -------
    dict of str to str
        Class to context, in the order of the classes.

    Raises
    ------
    ValueError
        If a name is unknown, or two classes share a context.
    """
    found = (
        f"The classes are {listed(classes)}. "
        f"The context folders are {listed(contexts)}."
    )
    if not context_of:
        context_of = {name: name for name in classes if name in contexts}
        if len(context_of) < min(len(classes), len(contexts)):
            raise ValueError(
                "The contexts are not named as the classes, so `context_of` must say "
                f"which class has which context. {found}"
            )
    unknown_classes = set(context_of) - set(classes)
    unknown_contexts = set(context_of.values()) - set(contexts)
    unknown = unknown_classes | unknown_contexts
    if unknown:
        raise ValueError(
            f"context_of: unknown name(s) {listed(sorted(unknown))}. {found}"
        )
    if len(set(context_of.values())) < len(context_of):
        raise ValueError(
            "context_of: two classes share a context, which then says nothing of "
            f"either. Give every class a context of its own, or none. {found}"
        )
    return {label: context_of[label] for label in classes if label in context_of}


def one_background(images: torch.Tensor) -> bool:
    """Return whether images, uint8 (N, 3, H, W), are the same along their edges.

    Noise of `SAME_LEVELS` does not count. The middle shows the object.
    """
    cells = adaptive_avg_pool2d(images.float(), 8)
    cells[..., 1:-1, 1:-1] = torch.nan
    return bool(cells.std(0).nanmean() <= SAME_LEVELS)
