"""Train the last layer again on photographs in all contexts, and audit it."""

import numpy as np
import pandas as pd

from helpers.audit.calibration import Calibration, split_in_halves
from helpers.audit.classifiers import trained
from helpers.audit.queries import Queries

RECIPE = 0.05
"""The inverse strength of regularization (scikit-learn's C)."""
SPLITS = 10
"""How often the photographs are split into halves; the results are averaged."""


def retrain_last_layer(
    queries: Queries,
    calibration: Calibration,
    pairs: pd.DataFrame,
    classes: list[str],
    contexts: list[str],
    seed: int,
) -> pd.DataFrame:
    """Train the last layer on photographs in all contexts, and audit it.

    The layer is trained on one half of the photographs, each of which is pasted into
    every context. Accuracy and predictions are those of the other half.

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
    for _ in range(SPLITS if len(pairs) else 0):
        seen, unseen = split_in_halves(labels, everyone, rng)
        inputs = images.train[seen, :, 0].reshape(len(seen) * n_contexts, -1)
        targets = np.repeat(labels[seen], n_contexts)
        new_layer = trained(inputs, targets, len(classes), RECIPE, rng)
        z.append(calibration.largest_z(images.score(new_layer, everyone)))
        changes.append(images.effect(new_layer, unseen))
        before = queries.plain_logits[unseen]
        after = new_layer(queries.plain_features[unseen])
        correct = [logits.argmax(1) == labels[unseen] for logits in (before, after)]
        accuracies.append(np.mean(correct, axis=1))
    rows = []
    for pair in pairs.to_dict("records"):
        at = classes.index(pair["class"]), contexts.index(pair["context"])
        accuracy_before, accuracy_after = np.mean(accuracies, axis=0)
        rows.append(
            {
                "class": pair["class"],
                "context": pair["context"],
                "z_before": pair["z"],
                "z_after": np.mean(z, axis=0)[at],
                "change_before": pair["change"],
                "change_after": np.mean(changes, axis=0)[at],
                "accuracy_before": accuracy_before,
                "accuracy_after": accuracy_after,
            }
        )
    return pd.DataFrame(rows)


def describe(remedy: pd.DataFrame, threshold: float) -> list[str]:
    """Say in sentences what the remedy changes; nothing without a reported pair."""
    if remedy.empty:
        return []
    first = remedy.iloc[0]
    sentences = [
        "The last layer was trained again on your photographs, each pasted into all "
        "contexts. Scores and accuracy are means over "
        f"{SPLITS} random halves of the photographs. The layer is trained on one half, "
        "and accuracy is measured on the other half.",
        f"Accuracy on photographs as they are: {first['accuracy_before']:.1%} before, "
        f"{first['accuracy_after']:.1%} after.",
    ]
    for pair in remedy.to_dict("records"):
        sentences.append(
            f"{pair['class']} in {pair['context']}: z {pair['z_before']:.1f} before, "
            f"{pair['z_after']:.1f} after (threshold {threshold:.1f}). The share of "
            f"photographs predicted as {pair['class']} is higher in {pair['context']} "
            f"than in the other contexts by {100 * pair['change_before']:.0f} "
            f"percentage points before, and by {100 * pair['change_after']:.0f} after."
        )
    return sentences
