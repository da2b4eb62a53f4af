"""Paste counts: how many composites a model takes for the class of their context.

*Assessing Biases through Visual Contexts*, "Results Checks", Figures 11 to 14.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from helpers import project, stats
from helpers.sources import Collection, ImageSet

NOTHING = "nothing"
NO_MASKS = (
    "Pasting needs to know where the objects are, and nothing tells it here: there is no set WB "
    "(the same images with a white background). What remains is to show the contexts alone."
)


def objects(collection: Collection) -> ImageSet | None:
    """The test images to cut objects from: WB's, with their masks; None where there are none.

    Images in which no object was found are left out.
    """
    found = collection.sets.get("WB")
    if found is None or found.masks is None:
        return None
    test = found.split("test")
    return test.where(test.masks.flatten(1).any(1).numpy())


def counts(
    alone_logits: Mapping[str, torch.Tensor],
    classes: Sequence[str],
    logits: torch.Tensor | None = None,
    design: pd.DataFrame | None = None,
    *,
    level: float = 0.95,
) -> pd.DataFrame:
    """Count the images predicted as the context's class, with Wilson intervals (Figures 11 to 14).

    Parameters
    ----------
    alone_logits : dict from class to float tensor (M, K)
        Of images of the class's context with nothing in them.
    classes : sequence of K str
    logits : float tensor (R, K), optional
        Of the composites; None where nothing could be pasted.
    design : DataFrame, optional
        From :func:`helpers.pasting.design`, R rows; those of kind "context" are counted.
    level : float in (0, 1)

    Returns
    -------
    DataFrame
        One row a bar: context_class, pasted ("nothing" or an object class), predicted (as the
        context's class), images, share, low, high.

    Raises
    ------
    ValueError
        For logits that do not fit the classes or the design.
    """
    classes, rows = list(classes), []
    for context in alone_logits:
        rows.append((context, NOTHING, *_said(alone_logits[context], context, classes)))
        if logits is None:
            continue
        if len(logits) != len(design):
            raise ValueError(f"{len(logits)} logits do not fit {len(design)} rows of the design")
        for name in classes:
            pair = (design["object_class"] == name) & (design["context_class"] == context)
            at = np.flatnonzero(pair & (design["kind"] == "context"))
            if len(at):
                rows.append((context, name, *_said(logits[at], context, classes)))
    table = pd.DataFrame(rows, columns=["context_class", "pasted", "predicted", "images"])
    low, high = stats.wilson(table["predicted"], table["images"], level)
    return table.assign(share=table["predicted"] / table["images"], low=low, high=high)


def on_neutral(logits: torch.Tensor, design: pd.DataFrame, classes: Sequence[str]) -> pd.DataFrame:
    """Count the same objects on the neutral ground predicted as each context's class.

    Parameters
    ----------
    logits : float tensor (R, K)
        Of the composites.
    design : DataFrame
        From :func:`helpers.pasting.design`, R rows; those of kind "neutral" are counted, objects of
        the context's own class left out as they are in :func:`counts`.
    classes : sequence of K str

    Returns
    -------
    DataFrame
        context_class, predicted, images.
    """
    rows = []
    met = set(design.loc[design["kind"] == "context", "context_class"])
    for name in [c for c in classes if c in met]:
        at = np.flatnonzero((design["kind"] == "neutral") & (design["object_class"] != name))
        rows.append((name, *_said(logits[at], name, list(classes))))
    return pd.DataFrame(rows, columns=["context_class", "predicted", "images"])


def called(alone_logits: Mapping[str, torch.Tensor], classes: Sequence[str]) -> pd.DataFrame:
    """What contexts with nothing in them are called: contexts down, predicted classes across."""
    said = {
        name: np.bincount(logits.argmax(1), minlength=len(classes))
        for name, logits in alone_logits.items()
    }
    return pd.DataFrame.from_dict(said, orient="index", columns=list(classes))


def _said(logits: torch.Tensor, context: str, classes: list[str]) -> tuple[int, int]:
    if logits.ndim != 2 or logits.shape[1] != len(classes):
        raise ValueError(f"logits of shape {tuple(logits.shape)} do not fit {len(classes)} classes")
    return int((logits.argmax(1) == classes.index(context)).sum()), len(logits)


def with_paper(table: pd.DataFrame, collection: Collection) -> pd.DataFrame:
    """Set the paper's counts beside ours, where the classes and contexts are the paper's.

    Returns
    -------
    DataFrame
        `table` with paper (composites of 25; NaN where the paper has none).
    """
    if collection.source == "folder":
        return table.assign(paper=np.nan)
    printed = paper_counts().rename(columns={"predicted": "paper"}).drop(columns="images")
    named = table.assign(context=table["context_class"].map(collection.context_of))
    return named.merge(printed, on=["context", "pasted"], how="left").drop(columns="context")


def paper_counts() -> pd.DataFrame:
    """The paper's counts: context, pasted, predicted, images."""
    table = pd.read_csv(project.root() / "data/paper/contexts_paste.csv")
    return table.drop(columns="source")


def paper_pairs() -> pd.DataFrame:
    """The paper's two methods on the pairs both were printed for: context, object, two shares.

    Eleven of the twelve: of fire hydrants beside the sky the paper gives only how many kept the
    highest logit of all.
    """
    flips = pd.read_csv(project.root() / "data/paper/contexts_flips.csv")
    both = flips.merge(
        paper_counts(), left_on=["context", "object_class"], right_on=["context", "pasted"]
    )
    return both.assign(
        mosaic_share=both["flips"] / both["mosaics"], paste_share=both["predicted"] / both["images"]
    )[["context", "object_class", "mosaic_share", "paste_share"]]
