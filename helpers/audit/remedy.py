"""Train the last layer again on photographs in all contexts, and audit it."""

import numpy as np
import pandas as pd

from helpers.audit.calibration import Calibration, split_in_halves
from helpers.audit.classifiers import train_classifier
from helpers.audit.queries import Queries

RECIPE = 0.05
"""The inverse strength of regularization (scikit-learn's C)."""
SPLITS = 10
"""How often the photographs are split into halves; the results are averaged."""
COLUMNS = [
    "class",
    "context",
    "z_before",
    "z_after",
    "change_before",
    "change_after",
    "accuracy_before",
    "accuracy_after",
]


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
    photographs = np.arange(len(labels))
    in_features = queries.in_features
    n_contexts = in_features.train.shape[1]
    scores, changes, accuracies_before, accuracies_after = [], [], [], []
    for _ in range(SPLITS if len(pairs) else 0):
        seen, unseen = split_in_halves(labels, photographs, rng)
        inputs = in_features.train[seen, :, 0].reshape(len(seen) * n_contexts, -1)
        targets = np.repeat(labels[seen], n_contexts)
        weights, bias = train_classifier(inputs, targets, len(classes), RECIPE, rng)

        def new_layer(features, weights=weights, bias=bias):
            return features @ weights + bias

        scores.append(in_features.score(new_layer, photographs))
        changes.append(in_features.effect(new_layer, unseen))
        before = queries.plain_logits[unseen].argmax(1)
        after = new_layer(queries.plain_features[unseen]).argmax(1)
        accuracies_before.append((before == labels[unseen]).mean())
        accuracies_after.append((after == labels[unseen]).mean())
    rows = []
    for pair in pairs.to_dict("records"):
        c, k = classes.index(pair["class"]), contexts.index(pair["context"])
        z = [calibration.largest_z(score)[c, k] for score in scores]
        rows.append(
            {
                "class": pair["class"],
                "context": pair["context"],
                "z_before": pair["z"],
                "z_after": np.mean(z),
                "change_before": pair["change"],
                "change_after": np.mean([change[c, k] for change in changes]),
                "accuracy_before": np.mean(accuracies_before),
                "accuracy_after": np.mean(accuracies_after),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


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
