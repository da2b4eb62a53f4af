"""Context images of each class: from a folder of context folders, or cut from C."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import torch

from helpers.data import cutouts, folders
from helpers.data.collection import listed
from helpers.data.photographs import Photographs
from helpers.data.reading import read

CONTEXTS_CUT = 50
#: With fewer windows than this from validation and test images, training images are cut as well.
CONTEXTS_FEW = 5


def given(
    folder: Path,
    classes: tuple[str, ...],
    context_of: Mapping[str, str] | None,
    size: int,
    seed: int,
    per_class: int | None,
) -> tuple[dict[str, torch.Tensor], dict[str, str], list[str]]:
    """Read the context images of a folder of context folders.

    Returns
    -------
    contexts : dict of str to torch.Tensor
        Class name to uint8 images of shape (M, 3, size, size).
    context_of : dict of str to str
        Class name to context name.
    report : list of str

    Raises
    ------
    ValueError
        As `mapping` does, and for context folders without images or with too many unreadable ones.
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

    Raises
    ------
    ValueError
        Naming what is unknown or missing, with the classes and contexts there are.
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
        raise ValueError(f"context_of: no context for {listed(missing)}. {there}")
    return {label: context_of[label] for label in classes}


def known_classes(context_of: Mapping[str, str], classes: tuple[str, ...]) -> None:
    """Refuse a mapping with names that are no classes."""
    unknown = sorted(set(context_of) - set(classes))
    if unknown:
        raise ValueError(
            f"context_of: {listed(unknown)} is no class; the classes are {listed(classes)}."
        )


def cut(photographs: Photographs) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Contexts cut from C where WB is white (see `cutouts`), from images no model is trained on.

    Returns
    -------
    contexts : dict of str to torch.Tensor
        Class name to uint8 images; empty when some class gives none.
    report : list of str
    """
    images = photographs.sets["C"]
    known = torch.from_numpy(photographs.object_known)
    held_out = torch.tensor([split != "train" for split in images.table["split"]])
    contexts, counts = {}, []
    for index, label in enumerate(images.classes):
        usable = known & (images.labels == index)
        for chosen in (usable & held_out, usable):
            windows = cutouts.cut(
                images.images[chosen], photographs.object_masks[chosen], CONTEXTS_CUT
            )
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
