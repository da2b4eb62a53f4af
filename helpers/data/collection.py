"""What every source hands over: image sets, splits, contexts, and a report in sentences."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import torch

from helpers.synthetic_data import pictures

SPLITS = ("train", "val", "test")
NAMES_SHOWN = 20


def listed(names) -> str:
    """Names in a sentence, the first `NAMES_SHOWN` of them and how many more."""
    names = [str(name) for name in names]
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more


def sizes(n: int) -> tuple[int, int, int]:
    """Images for train, validation and test: 4 : 1 : 1, so 100/25/25 of 150."""
    held_out = max(1, (n + 3) // 6)
    return n - 2 * held_out, held_out, held_out


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images of one kind; the `table` has their `class`, `split`, `path`, `context` and more."""

    name: str
    images: torch.Tensor  # uint8 (N, 3, H, W), RGB
    labels: torch.Tensor  # int64 (N,): indices into `classes`
    classes: tuple[str, ...]
    table: pd.DataFrame
    masks: torch.Tensor | None = (
        None  # bool (N, H, W), true on the object; None: not known
    )
    patches: torch.Tensor | None = (
        None  # bool (N, H, W), true on the eyespot; None: no eyespots
    )

    def __len__(self) -> int:
        return len(self.images)

    def split(self, name: str) -> ImageSet:
        """The images of one split: "train", "val" or "test"."""
        if name not in SPLITS:
            raise ValueError(f"split: {name!r} is none of {', '.join(SPLITS)}.")
        return self.where(self.table["split"] == name)

    def of(self, name: str) -> ImageSet:
        """The images of one class; labels and `classes` stay as they are."""
        if name not in self.classes:
            raise ValueError(f"class: {name!r} is none of {', '.join(self.classes)}.")
        return self.where(self.table["class"] == name)

    def where(self, keep) -> ImageSet:
        """The images for which `keep` (N booleans) is true, in the same order."""
        keep = torch.from_numpy(np.array(keep, dtype=bool))
        parts = {
            name: getattr(self, name)
            for name in ("images", "labels", "masks", "patches")
        }
        kept = {name: part[keep] for name, part in parts.items() if part is not None}
        return replace(
            self, **kept, table=self.table[keep.numpy()].reset_index(drop=True)
        )

    def to_train(self) -> Drawn:
        """The images and labels of the training split and of the validation split."""
        train, val = self.split("train"), self.split("val")
        tensors = train.images, train.labels, val.images, val.labels
        return Drawn({"images": tensors}, lambda: tensors)


class Sets(UserDict):
    """Image sets by name; one that is given as a function is made when it is first asked for."""

    def __getitem__(self, name: str) -> ImageSet:
        if callable(self.data[name]):
            self.data[name] = self.data[name]()
        return self.data[name]


@dataclass(frozen=True)
class Drawn:
    """Training and validation images that are drawn only when a training run needs them."""

    recipe: dict  # all that decides the images, in the key of stored runs
    draw: Callable[[], tuple[torch.Tensor, ...]]  # what `models.training.train` takes


@dataclass(frozen=True, eq=False)
class Collection:
    """All that the notebooks need of a source."""

    source: str  # "world", "visual-contexts" or "folder"
    classes: tuple[str, ...]
    sets: Mapping[str, ImageSet]  # "C" and, where there are, "NC" and "WB"
    # class to the images of its context, uint8 (M, 3, H, W), and to its name; a class may have none
    contexts: dict[str, torch.Tensor] = field(default_factory=dict)
    context_of: dict[str, str] = field(default_factory=dict)
    report: list[str] = field(default_factory=list)  # remarks that a user must know
    # an image set's name and a run's number, from 0, to its images; None: those of the set
    redraw: Callable[[str, int], Drawn] | None = None
    size: int | None = None  # side of the images in pixels

    def to_train(self, name: str, number: int) -> Drawn:
        """Return the images of a training run; run 0 sees the image set's own."""
        return self.redraw(name, number) if self.redraw else self.sets[name].to_train()

    def has_the_papers_classes(self) -> bool:
        """Return whether these are the paper's four classes and contexts."""
        return self.context_of == pictures.CONTEXT_OF

    def summary(self) -> pd.DataFrame:
        """Numbers of images: one row a set and class, one column a split, and the total."""
        tables = [images.table.assign(set=name) for name, images in self.sets.items()]
        counts = (
            pd.concat(tables)
            .groupby(["set", "class"])["split"]
            .value_counts()
            .unstack()
        )
        index = pd.MultiIndex.from_product(
            [self.sets, self.classes], names=["set", "class"]
        )
        counts = counts.reindex(index, columns=SPLITS).fillna(0).astype(int)
        return counts.rename_axis(columns=None).assign(total=counts.sum(axis=1))
