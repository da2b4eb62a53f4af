"""Paste counts: how many composites a model takes for the class of their context.

*Assessing Biases through Visual Contexts*, "Results Checks", Figures 11 to 14.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from helpers import stats
from helpers.data import Collection, ImageSet
from helpers.run import project

NOTHING, NEUTRAL = "nothing", "any object, neutral ground"
Taken = Mapping[tuple[str, str], np.ndarray]
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


def taken(
    alone_logits: Mapping[str, torch.Tensor],
    classes: Sequence[str],
    logits: torch.Tensor | None = None,
    design: pd.DataFrame | None = None,
) -> Taken:
    """Which images each training takes for the context's class (Figures 11 to 14).

    Parameters
    ----------
    alone_logits : dict from class to float tensor (T, M, K)
        Of images of the class's context with nothing in them.
    classes : sequence of K str
    logits : float tensor (T, R, K), optional
        Of the composites; None where nothing could be pasted.
    design : DataFrame, optional
        From :func:`helpers.contexts.pasting.design`, R rows.

    Returns
    -------
    dict from (context class, pasted) to float array (T, images)
        1 where the prediction is the context's class. `pasted` is an object class, "nothing", or
        "any object, neutral ground": all objects of other classes on the neutral ground.

    Raises
    ------
    ValueError
        For logits that do not fit the classes or the design.
    """
    classes, found = list(classes), {}
    if logits is not None and logits.shape[1] != len(design):
        raise ValueError(f"{logits.shape[1]} logits do not fit {len(design)} rows of the design")
    for context, alone in alone_logits.items():
        found[context, NOTHING] = _said(alone, context, classes)
        if logits is None:
            continue
        here = (design["kind"] == "context") & (design["context_class"] == context)
        bars = {name: here & (design["object_class"] == name) for name in classes}
        if here.any():
            bars[NEUTRAL] = (design["kind"] == "neutral") & (design["object_class"] != context)
        for name, rows in bars.items():
            if rows.any():
                found[context, name] = _said(logits[:, np.flatnonzero(rows)], context, classes)
    return found


def counts(taken: Taken, *, level: float = 0.95) -> pd.DataFrame:
    """The bars of Figures 11 to 14: share of the images taken for the context's class.

    Returns
    -------
    DataFrame
        One row a bar: context_class, pasted ("nothing" or an object class), predicted (as the
        context's class, mean over trainings), images, share, low, high (`stats.share`).
    """
    rows = [
        (context, pasted, said.sum() / len(said), said.shape[1], *stats.share(said, level=level))
        for (context, pasted), said in taken.items()
        if pasted != NEUTRAL
    ]
    columns = ["context_class", "pasted", "predicted", "images", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def called(alone_logits: Mapping[str, torch.Tensor], classes: Sequence[str]) -> pd.DataFrame:
    """What contexts with nothing in them are called: contexts down, predicted classes across.

    Mean number of images over the trainings.
    """
    said = {
        name: np.bincount(logits.argmax(2).flatten(), minlength=len(classes)) / len(logits)
        for name, logits in alone_logits.items()
    }
    return pd.DataFrame.from_dict(said, orient="index", columns=list(classes))


def _said(logits: torch.Tensor, context: str, classes: list[str]) -> np.ndarray:
    if logits.ndim != 3 or logits.shape[2] != len(classes):
        raise ValueError(f"logits of shape {tuple(logits.shape)} do not fit {len(classes)} classes")
    return (logits.argmax(2) == classes.index(context)).numpy().astype(float)


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
