"""Train the last layer again on photographs in all contexts, and audit it."""

import numpy as np
import pandas as pd

from helpers.audit.calibration import Calibration, split_in_halves
from helpers.audit.classifiers import train_classifier
from helpers.audit.context_scores import ContextImages, prediction_change

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
    features: ContextImages,
    logits: ContextImages,
    calibration: Calibration,
    pairs: pd.DataFrame,
    seed: int,
) -> pd.DataFrame:
    """Train the last layer on photographs in all contexts, and audit it.

    The layer is trained on one half of the photographs, pasted into every context.
    Accuracy and predictions are computed on the other half.

    Parameters
    ----------
    features, logits : ContextImages
        The features and logits of the network.
    calibration : Calibration
    pairs : pandas.DataFrame
        The pairs for which a remedy is wanted, rows of the table of
        :func:`reliance.judge`.
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
    labels = features.labels
    _, n_contexts, n_classes = logits.query.shape
    z, changes, accuracies = [], [], []
    for _ in range(SPLITS):
        seen, unseen = split_in_halves(labels, np.arange(len(labels)), rng)
        # one row per photograph and context
        inputs = np.concatenate(features.train[seen])
        targets = labels[seen].repeat(n_contexts)
        layer = train_classifier(inputs, targets, n_classes, RECIPE)
        new = features.classified_by(layer)
        changes.append(prediction_change(new.query[unseen]))
        z.append(calibration.z(new.score()))
        is_right = new.plain.argmax(1) == labels
        accuracies.append(is_right[unseen].mean())
    table = {
        "class": pairs["class"],
        "context": pairs["context"],
        "z_before": pairs["z"],
        "z_after": np.mean(z, axis=0).ravel()[pairs.index],
        "change_before": pairs["change"],
        "change_after": np.mean(changes, axis=0).ravel()[pairs.index],
        "accuracy_before": (logits.plain.argmax(1) == labels).mean(),
        "accuracy_after": np.mean(accuracies),
    }
    return pd.DataFrame(table)
