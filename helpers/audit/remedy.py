"""Train the last layer again on photographs in all contexts, and audit it."""

import numpy as np
import pandas as pd

from helpers.audit.calibration import Calibration, split_in_halves
from helpers.audit.classifiers import trained
from helpers.audit.features import Queries

RECIPE = 0.05
"""The inverse strength of regularization (scikit-learn's C)."""
SPLITS = 10
"""How often the photographs are split into halves; the results are averaged."""
METHOD = (
    "The last layer was trained again on your photographs, each pasted into all "
    f"contexts. Results are means over {SPLITS} random halves of the photographs. The "
    "layer is trained on one half. Accuracy and changes of predictions are those of "
    "the other half."
)


def retrain_last_layer(
    queries: Queries,
    calibration: Calibration,
    pairs: pd.DataFrame,
    classes: list[str],
    contexts: list[str],
    seed: int,
) -> pd.DataFrame:
    """Train the last layer on photographs in all contexts, and audit it.

    The layer is trained on one half of the photographs, pasted into every context.
    Accuracy and predictions are computed on the other half.

    Parameters
    ----------
    queries : Queries
    calibration : Calibration
    pairs : pandas.DataFrame
        The pairs for which a remedy is wanted, with the columns ``class``, ``context``,
        ``z`` and ``change``.
    classes, contexts : list of str
    seed : int

    Returns
    -------
    pandas.DataFrame
        One row per pair, with the columns ``class``, ``context``, ``z_before``,
        ``z_after``, ``change_before``, ``change_after`` (of predictions, as a share of
        the photographs), ``accuracy_before`` and ``accuracy_after`` (on photographs as
        they are, the same in all rows).
    """
    rng = np.random.default_rng(seed)
    labels = queries.labels
    everyone = np.arange(len(labels))
    images = queries.in_features
    n_contexts = images.train.shape[1]
    z, changes, accuracies = [], [], []
    for _ in range(SPLITS):
        seen, unseen = split_in_halves(labels, everyone, rng)
        inputs = images.train[seen, :, 0].reshape(len(seen) * n_contexts, -1)
        targets = np.repeat(labels[seen], n_contexts)
        new_layer = trained(inputs, targets, len(classes), RECIPE, rng)
        z.append(calibration.z(images.score(new_layer, everyone)).max(0))
        changes.append(images.effect(new_layer, unseen))
        predictions = new_layer(queries.plain_features[unseen]).argmax(1)
        accuracies.append((predictions == labels[unseen]).mean())
    of_pairs = (
        pd.Index(classes).get_indexer(pairs["class"]),
        pd.Index(contexts).get_indexer(pairs["context"]),
    )
    table = pairs[["class", "context"]].copy()
    table["z_before"] = pairs["z"]
    table["z_after"] = np.mean(z, axis=0)[of_pairs]
    table["change_before"] = pairs["change"]
    table["change_after"] = np.mean(changes, axis=0)[of_pairs]
    table["accuracy_before"] = (queries.plain_logits.argmax(1) == labels).mean()
    table["accuracy_after"] = np.mean(accuracies)
    return table
