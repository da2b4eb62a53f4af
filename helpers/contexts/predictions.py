"""Predictions of several models in one table, with one row per model, run and image.

Lessons add their measures as columns, and `helpers.stats` averages them with intervals.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import nn

from helpers import models


def predict(
    networks: Mapping[str, Sequence[nn.Module]],
    images: torch.Tensor | Iterable[torch.Tensor],
    table: pd.DataFrame,
    classes: Sequence[str],
) -> pd.DataFrame:
    """Classify images with several models.

    Parameters
    ----------
    networks : mapping of str to sequence of torch.nn.Module
        The training runs of each model, by the model's name.
    images : torch.Tensor or iterable of torch.Tensor
        Images, uint8 (N, 3, H, W), or batches of them.
    table : pandas.DataFrame
        One row per image, in the same order, with any columns. It may be empty.
    classes : sequence of str
        The classes in the order of the logits.

    Returns
    -------
    pandas.DataFrame
        One row per model, training run and image. The columns are ``model``, ``run``,
        the columns of `table`, and ``prediction``, the class with the highest logit.
        If `table` has a column ``object_class`` or ``context_class``, the logit of
        that class is added as ``object_logit`` or ``context_logit``. It is NaN where
        the name is not a class.
    """
    if not isinstance(images, torch.Tensor):
        images = list(images)
    parts = []
    for model, runs in networks.items():
        logits = np.empty((len(runs), 0, len(classes)))
        if len(table):
            logits = models.logits(runs, images).numpy()
        for run, logits_of_run in enumerate(logits):
            part = table.copy()
            part.insert(0, "model", model)
            part.insert(1, "run", run)
            part["prediction"] = np.array(classes)[logits_of_run.argmax(1)]
            for kind in ("object", "context"):
                if f"{kind}_class" in table:
                    names = table[f"{kind}_class"]
                    part[f"{kind}_logit"] = _logits_of(names, logits_of_run, classes)
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _logits_of(
    names: pd.Series, logits: np.ndarray, classes: Sequence[str]
) -> np.ndarray:
    """Return the logit of each image's class, or NaN if the name is not a class."""
    columns = pd.Index(classes).get_indexer(names)
    chosen = logits[np.arange(len(logits)), columns].astype(float)
    return np.where(columns >= 0, chosen, np.nan)
