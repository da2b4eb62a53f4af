"""What every source hands over: image sets, splits, contexts, and a report in sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import torch

from helpers.worlds import pictures

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
    """Images of one kind (C, NC or WB), with what is known of each.

    Attributes
    ----------
    name : str
        "C", "NC" or "WB".
    images : torch.Tensor
        uint8, shape (N, 3, H, W), RGB.
    labels : torch.Tensor
        int64, shape (N,): indices into `classes`.
    classes : tuple of str
    table : pandas.DataFrame
        One row an image, in the same order. Columns at least `class`, `split` ("train", "val",
        "test"), `path` (relative to the source's folder; "" for the embedded world) and `context`
        ("" where not known).
    masks : torch.Tensor or None
        bool, shape (N, H, W), true on the object; None where the object's place is not known.
    patches : torch.Tensor or None
        bool, shape (N, H, W), true on the eyespot; None where none was planted.
    """

    name: str
    images: torch.Tensor
    labels: torch.Tensor
    classes: tuple[str, ...]
    table: pd.DataFrame
    masks: torch.Tensor | None = None
    patches: torch.Tensor | None = None

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
        return replace(
            self,
            images=self.images[keep],
            labels=self.labels[keep],
            table=self.table[keep.numpy()].reset_index(drop=True),
            masks=None if self.masks is None else self.masks[keep],
            patches=None if self.patches is None else self.patches[keep],
        )


@dataclass(frozen=True)
class Drawn:
    """Training and validation images that are drawn only when a training needs them.

    `recipe` is all that decides the images: it names the training in the store. `draw` gives the
    images as `helpers.models.training.train` takes them.
    """

    recipe: dict
    draw: Callable[[], tuple[torch.Tensor, ...]]


@dataclass(frozen=True, eq=False)
class Collection:
    """All that the notebooks need of a source.

    Attributes
    ----------
    source : str
        "world", "visual-contexts", "focus" or "folder".
    classes : tuple of str
    sets : dict of str to ImageSet
        Keys among "C", "NC", "WB"; "C" is always there. Of "focus" the names of its sets, each with
        classes of its own.
    contexts : dict of str to torch.Tensor
        Class name to the images of its context, uint8 of shape (M, 3, H, W). Empty when there are
        none; otherwise every class has some.
    context_of : dict of str to str
        Class name to the name of its context; empty when there are no contexts.
    report : list of str
        Sentences on what was found that a reader must know: files that could not be read, the same
        image twice, what is missing and which notebooks run without it.
    redraw : callable or None
        Other training and validation images of the same kind: takes a set's name and a number from
        1. None where there are no others, as in a folder of photographs.
    mosaics : dict of str to DataFrame
        Of "focus": each set's ready-made mosaics, as `helpers.focus.design` describes its own.
    """

    source: str
    classes: tuple[str, ...]
    sets: dict[str, ImageSet]
    contexts: dict[str, torch.Tensor] = field(default_factory=dict)
    context_of: dict[str, str] = field(default_factory=dict)
    report: list[str] = field(default_factory=list)
    redraw: Callable[[str, int], Drawn] | None = None
    mosaics: dict[str, pd.DataFrame] = field(default_factory=dict)

    def has_the_papers_classes(self) -> bool:
        """Whether the paper's numbers may stand beside these: its four classes and contexts."""
        return self.context_of == pictures.CONTEXT_OF

    def summary(self) -> pd.DataFrame:
        """Numbers of images: one row a set and class, one column a split, and the total."""
        rows = [
            {"set": name, "class": each, **images.of(each).table["split"].value_counts()}
            for name, images in self.sets.items()
            for each in self.classes
        ]
        counts = pd.DataFrame(rows).set_index(["set", "class"])
        counts = counts.reindex(columns=list(SPLITS)).fillna(0).astype(int)
        return counts.assign(total=counts.sum(axis=1))
