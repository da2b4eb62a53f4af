"""Define one image set, and the collection of all that notebooks need of a source.

`load` in :mod:`helpers.data` makes a `Collection` of image sets. A training run asks it
for `TrainingImages`, which say what decides them before they are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch

from helpers.synthetic_data import pictures

SPLITS = ("train", "val", "test")


class TrainingImages(NamedTuple):
    """Draw training and validation images when a training run needs them.

    Attributes
    ----------
    recipe : dict
        All that decides the images. It is part of the key of a stored network, so that
        a network can be found without drawing images.
    draw : callable
        Returns training images, their labels, validation images and their labels.
    """

    recipe: dict
    draw: Callable[[], tuple[torch.Tensor, ...]]


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Hold the images of all classes and splits, or a part of them.

    Attributes
    ----------
    name : str
        "C" (in context), "NC" (no context) or "WB" (white background).
    images : torch.Tensor of uint8, shape (N, 3, H, W)
        In RGB.
    labels : torch.Tensor of int64, shape (N,)
        Indices into `classes`.
    classes : tuple of str
    table : pandas.DataFrame
        One row per image with its `class`, `split`, `path`, `context` and more. Images
        of a folder have a `file` as well.
    masks : torch.Tensor of bool, shape (N, H, W), or None
        True on the object. None if that is not known.
    patches : torch.Tensor of bool, shape (N, H, W), or None
        True on the eyespot. None without eyespots.
    """

    name: str
    images: torch.Tensor
    labels: torch.Tensor
    classes: tuple[str, ...]
    table: pd.DataFrame
    masks: torch.Tensor | None = None
    patches: torch.Tensor | None = None

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.images)

    def split(self, name: str) -> ImageSet:
        """Return the images of one split: "train", "val" or "test"."""
        if name not in SPLITS:
            raise ValueError(f"split: {name!r} is none of {', '.join(SPLITS)}.")
        return self.where(self.table["split"] == name)

    def of(self, name: str) -> ImageSet:
        """Return the images of one class; labels and `classes` stay as they are."""
        if name not in self.classes:
            raise ValueError(f"class: {name!r} is none of {', '.join(self.classes)}.")
        return self.where(self.table["class"] == name)

    def where(self, keep) -> ImageSet:
        """Return the images for which `keep` (N booleans) is true, in order."""
        rows = np.flatnonzero(np.asarray(keep, dtype=bool))
        return replace(
            self,
            images=self.images[rows],
            labels=self.labels[rows],
            table=self.table.iloc[rows].reset_index(drop=True),
            masks=None if self.masks is None else self.masks[rows],
            patches=None if self.patches is None else self.patches[rows],
        )

    def to_train(self) -> TrainingImages:
        """Return the images and labels of the training and the validation split."""
        train = self.split("train")
        val = self.split("val")
        tensors = (train.images, train.labels, val.images, val.labels)
        return TrainingImages({"images": tensors}, lambda: tensors)


@dataclass(frozen=True, eq=False)
class Collection:
    """Hold all that the notebooks need of a source of images.

    Attributes
    ----------
    source : {"world", "visual-contexts", "folder"}
    classes : tuple of str
    sets : dict of str to ImageSet
        "C" and, where they exist, "NC" and "WB".
    contexts : dict of str to torch.Tensor of uint8, shape (M, 3, H, W)
        Class to background images of its context. A class may have none.
    context_of : dict of str to str
        Class to the name of its context.
    to_train : callable or None
        Returns the images of a training run from the name of an image set and the
        number of the run. Run 0 sees the images of the set.
    """

    source: str
    classes: tuple[str, ...]
    sets: dict[str, ImageSet]
    contexts: dict[str, torch.Tensor]
    context_of: dict[str, str]
    to_train: Callable[[str, int], TrainingImages] | None = None

    def has_the_papers_classes(self) -> bool:
        """Return whether these are the paper's four classes and contexts."""
        return self.context_of == pictures.CONTEXT_OF

    def summary(self) -> pd.DataFrame:
        """Count the images of each image set and class, by split and in total."""
        tables = {}
        for name, part in self.sets.items():
            counts = pd.crosstab(part.table["class"], part.table["split"])
            tables[name] = counts.reindex(self.classes, columns=SPLITS, fill_value=0)
        counts = pd.concat(tables, names=["set"]).rename_axis(columns=None)
        return counts.assign(total=counts.sum(axis=1))
