"""Compute base measures F(S) of groups from their counts (section 4.2 of the paper)."""

import numpy as np
import pandas as pd

UNKNOWN = -1  # y_true of rows whose outcome is not known
BINS = 10  # of the calibration error

# which rows a rate counts, and of which rows it is a share
RATES = {
    "pr": ("y_pred == 1", "y_pred >= 0"),
    "tpr": ("y_pred == 1 and y_true == 1", "y_true == 1"),
    "tnr": ("y_pred == 0 and y_true == 0", "y_true == 0"),
    "fpr": ("y_pred == 1 and y_true == 0", "y_true == 0"),
    "fnr": ("y_pred == 0 and y_true == 1", "y_true == 1"),
    "ppv": ("y_pred == 1 and y_true == 1", "y_pred == 1 and y_true >= 0"),
    "npv": ("y_pred == 0 and y_true == 0", "y_pred == 0 and y_true >= 0"),
    "acc": ("y_pred == y_true", "y_true >= 0"),
    "error": ("y_pred != y_true and y_true >= 0", "y_true >= 0"),
    "prevalence": ("y_true == 1", "y_true >= 0"),
}
CONFUSION = {
    "tn": "y_pred == 0 and y_true == 0",
    "fn": "y_pred == 0 and y_true == 1",
    "fp": "y_pred == 1 and y_true == 0",
    "tp": "y_pred == 1 and y_true == 1",
}


def values(
    measure: str | tuple[str, str],
    kinds: pd.DataFrame,
    mass: np.ndarray,
) -> np.ndarray:
    """Compute a measure of units from their rows of each kind, (..., kinds)."""
    if measure in OF_SCORES:
        return OF_SCORES[measure](kinds, mass)
    hits, trials = hits_and_trials(measure, kinds, mass)
    return ratio(hits, trials)


def hits_and_trials(
    measure: str | tuple[str, str],
    kinds: pd.DataFrame,
    mass: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Count the rows in the numerator and in the denominator of a rate."""
    if not isinstance(measure, tuple) and measure not in RATES:
        raise ValueError(
            f"There is no measure {measure!r}. The measures are "
            f"{', '.join([*RATES, *OF_SCORES])}."
        )
    hit, counted = RATES.get(measure, measure)
    hits = mass @ kinds.eval(hit).to_numpy()
    trials = mass @ kinds.eval(counted).to_numpy()
    return hits, trials


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Divide without warnings: 0/0 is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return numerator / denominator


def mean_score(kinds: pd.DataFrame, mass: np.ndarray) -> np.ndarray:
    """Average the scores of a group's rows."""
    total = mass @ kinds["score"].to_numpy()
    return ratio(total, mass.sum(axis=-1))


def calibration_error(kinds: pd.DataFrame, mass: np.ndarray) -> np.ndarray:
    """Average |mean score - share of positives| over bins, weighted by their rows."""
    rows, scores, positives = score_bins(kinds, mass)
    errors = np.abs(scores - positives)
    return ratio(errors.sum(axis=-1), rows.sum(axis=-1))


def score_bins(
    kinds: pd.DataFrame,
    mass: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum rows, scores and positives over bins of the score: (..., bins) each."""
    known = kinds["y_true"] != UNKNOWN
    place = np.minimum((kinds["score"] * BINS).astype(int), BINS - 1)
    in_bin = pd.DataFrame({number: known & (place == number) for number in range(BINS)})
    scores = in_bin.mul(kinds["score"], axis=0)
    positives = in_bin.mul(kinds["y_true"] == 1, axis=0)
    return tuple(mass @ part.to_numpy(float) for part in (in_bin, scores, positives))


def by_score(
    kinds: pd.DataFrame,
    mass: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Count negatives and positives at each score, highest first: (..., scores)."""
    starts = np.flatnonzero(~kinds["score"].duplicated())
    counted = []
    for label in (0, 1):
        has_label = kinds["y_true"] == label
        rows = mass * has_label.to_numpy()
        at_scores = np.add.reduceat(rows, starts, axis=-1)
        counted.append(at_scores[..., ::-1])
    return tuple(counted)


def auc(kinds: pd.DataFrame, mass: np.ndarray) -> np.ndarray:
    """Compute the area under the roc curve.

    It is how often a positive has a higher score than a negative; a tie counts half.
    """
    negative, positive = by_score(kinds, mass)
    above = positive.cumsum(axis=-1) - positive / 2
    won = (negative * above).sum(axis=-1)
    pairs = negative.sum(axis=-1) * positive.sum(axis=-1)
    return ratio(won, pairs)


def roc(kinds: pd.DataFrame, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return fpr and tpr of one unit at each distinct score (Equation 1)."""
    negative, positive = by_score(kinds, mass)
    fpr = ratio(negative.cumsum(), negative.sum())
    tpr = ratio(positive.cumsum(), positive.sum())
    return np.append(0, fpr), np.append(0, tpr)


OF_SCORES = {
    "score": mean_score,
    "calibration": calibration_error,
    "auc": auc,
}
