"""Judge the pairs of a class and a context, and describe what was found.

A pair is reported if its score is above the threshold and if predictions change. A pair
with a high score alone is listed apart.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from helpers import stats
from helpers.audit import features
from helpers.audit.calibration import (
    LEAST_CHANGE,
    Calibration,
    detection_rates,
    false_positives,
    p_values,
    significant_pairs,
)
from helpers.audit.context_scores import prediction_change

NOT_SIGNIFICANT = "not significant"
LARGE_CHANGE = 0.2  # of predictions, which is shown even if the score is not large
SCORE_ONLY = "score only"
POSSIBLE = "possible reliance"
DETECTED = "reliance detected"

RULE = (
    "A finding needs two things: a score above the threshold, and predictions that "
    "change. The share of photographs predicted as the class must be at least "
    f"{100 * LEAST_CHANGE:.0f} percentage point higher in the context than in the "
    "other contexts on average. Pairs with a high score alone are listed apart."
)
APPROXIMATE = (
    "The network was trained beyond its last layer. For such networks, this audit errs "
    "more often than it says: in recorded trials with three unbiased networks, 7 of 48 "
    "pairs were reported, and two of the three reports said that reliance is detected."
)


def caveat(network, start, trained: str | None) -> str:
    """Say in a sentence why the rates of an audit are approximate, if they are.

    Parameters
    ----------
    network, start : helpers.audit.model.Network
        The network, and the one from which its training began (the same if not known).
    trained : {"last layer", "all"} or None
        What the user says was trained.

    Raises
    ------
    ValueError
        If only the last layer was trained, as the user says, but other weights differ.
    """
    changed = features.changed_weights(network.model, start.model)
    if changed and trained == "last layer":
        raise ValueError(
            f"trained: you said that only the last layer was trained, but "
            f"{len(changed)} other weights differ from those before training, such as "
            f"{changed[0]}. Leave `trained` out, or "
            "give the weights with which the training of the last layer began."
        )
    if changed or trained == "all":
        return APPROXIMATE
    return ""


def judge(
    calibration: Calibration,
    score: np.ndarray,
    predictions: np.ndarray,
    classes: Sequence[str],
    contexts: Sequence[str],
) -> pd.DataFrame:
    """Judge each pair of a class and a context.

    Parameters
    ----------
    calibration : Calibration
        What unbiased and biased classifiers score.
    score : ndarray of float, shape (2, classes, K)
        The network's score of each pair, by pasting and by the context alone.
    predictions : ndarray of int, shape (n, K)
        The class that the network predicts for each photograph in each context.
    classes, contexts : sequence of str
        Names, in the order of the axes of `score`.

    Returns
    -------
    pandas.DataFrame
        One row per pair, sorted by z, with the columns ``class``, ``context``,
        ``verdict``, ``z``, ``threshold``, ``p``, ``photographs``, ``predicted_here``
        (how many of them are predicted to be the class in the context),
        ``predicted_elsewhere`` (the mean of the other contexts), ``change`` (their
        difference as a share), and ``z_alone`` (of the context without a photograph).
    """
    z_by_method = calibration.z(score)
    z = z_by_method.max(0)
    p_by_method = p_values(calibration, z_by_method)
    significant = significant_pairs(p_by_method)
    p = np.minimum(1, len(p_by_method) * p_by_method.min(0))
    change = prediction_change(predictions, len(classes))
    rows = []
    for c, k in np.ndindex(z.shape):
        predicted = (predictions == c).sum(0)
        if z[c, k] <= calibration.threshold:
            verdict = NOT_SIGNIFICANT
        elif change[c, k] < LEAST_CHANGE:
            verdict = SCORE_ONLY
        else:
            verdict = DETECTED if significant[c, k] else POSSIBLE
        rows.append(
            {
                "class": classes[c],
                "context": contexts[k],
                "verdict": verdict,
                "z": z[c, k],
                "threshold": calibration.threshold,
                "p": p[c, k],
                "photographs": len(predictions),
                "predicted_here": predicted[k],
                "predicted_elsewhere": np.delete(predicted, k).mean(),
                "change": change[c, k],
                "z_alone": z_by_method[1, c, k],
            }
        )
    return pd.DataFrame(rows).sort_values("z", ascending=False, ignore_index=True)


def describe(pair: Mapping) -> str:
    """Say what was found for a pair, with the photographs predicted as the class."""
    class_name, context = pair["class"], pair["context"]
    finding = f"{class_name} in {context}, "
    if pair["verdict"] in (POSSIBLE, DETECTED):
        finding += pair["verdict"]
    elif pair["verdict"] == SCORE_ONLY:
        finding += (
            "score above the threshold, but predictions do not move towards the class"
        )
    else:
        finding += "score not above the threshold, but many predictions change"
    return (
        f"{finding}: of {pair['photographs']} photographs, {pair['predicted_here']} "
        f"are predicted to be {class_name} in {context}, and "
        f"{pair['predicted_elsewhere']:.0f} in the other contexts on average "
        f"(z {pair['z']:.1f}, threshold {pair['threshold']:.1f})."
    )


def headline(name: str, pairs: pd.DataFrame, rates: Mapping[float, float]) -> str:
    """Say what an audit found: all significant pairs, or what it would have detected.

    Parameters
    ----------
    name : str
        What the network is called.
    pairs : pandas.DataFrame
        The table of `judge`.
    rates : mapping of float to float
        The detection rate of this audit by bias strength.
    """
    detected = pairs[pairs["verdict"] == DETECTED]
    possible = pairs[pairs["verdict"] == POSSIBLE]
    if len(detected):
        return f"{name}: reliance detected on {_enumerate(detected)}."
    if len(possible):
        return (
            f"{name}: possible reliance on {_enumerate(possible)}. By chance about "
            f"{0.05 * len(pairs):.1f} of {len(pairs)} pairs exceed the threshold."
        )
    text = (
        f"{name}: no reliance on a context was detected among {len(pairs)} pairs. A "
        "bias of strength 0.5 would have been reported with probability "
        f"{rates[0.5]:.0%}, one of strength 1 with probability {rates[1.0]:.0%}."
    )
    n_changed = int(has_changed_predictions(pairs).sum())
    if n_changed:
        text += (
            f" But in {n_changed} pairs at least {LARGE_CHANGE:.0%} of the predictions "
            "change, which may have other reasons."
        )
    score_only = int((pairs["verdict"] == SCORE_ONLY).sum())
    if score_only:
        text += (
            f" Pairs with a high score but without changed predictions: {score_only}."
        )
    return text


def is_reported(pairs: pd.DataFrame) -> pd.Series:
    """Return of which pairs reliance is possible or detected."""
    return pairs["verdict"].isin([POSSIBLE, DETECTED])


def has_changed_predictions(pairs: pd.DataFrame) -> pd.Series:
    """Return which pairs are not significant although many predictions change."""
    is_silent = pairs["verdict"] == NOT_SIGNIFICANT
    return is_silent & (pairs["change"] >= LARGE_CHANGE)


def _enumerate(pairs: pd.DataFrame) -> str:
    """Enumerate pairs, each with how many more photographs get the class."""
    phrases = []
    for pair in pairs.to_dict("records"):
        more = round(pair["change"] * pair["photographs"])
        verb = "is" if more == 1 else "are"
        phrases.append(
            f"{pair['context']} for {pair['class']} ({more} more of "
            f"{pair['photographs']} photographs {verb} predicted as {pair['class']} in "
            f"{pair['context']} than in the other contexts)"
        )
    if len(phrases) == 1:
        return phrases[0]
    return f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def detection_table(calibration: Calibration) -> pd.DataFrame:
    """Tabulate which biases the audit detects in the calibration's own classifiers.

    Returns
    -------
    pandas.DataFrame
        One row per verdict and bias strength, with ``detection_rate``, the share of the
        biased pairs that get this verdict or a stronger one, and Wilson's 95% interval,
        ``low`` and ``high``, whose n is the number of classifiers.
    """
    classifiers = calibration.biased.shape[1]
    rows = []
    for verdict, corrected in ((f"{POSSIBLE} or detected", False), (DETECTED, True)):
        for strength, rate in detection_rates(calibration, corrected).items():
            low, high = stats.wilson(rate * classifiers, classifiers)
            rows.append([verdict, strength, rate, low, high])
    columns = ["verdict", "bias_strength", "detection_rate", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def detection_sentences(table: pd.DataFrame, calibration: Calibration) -> list[str]:
    """Say what could have been detected, and how often wrongly."""
    sentences = []
    for strength, rows in table[table["bias_strength"] > 0.3].groupby("bias_strength"):
        rates = []
        for row in rows.itertuples():
            rates.append(
                f"{row.detection_rate:.0%} (95% CI {row.low:.0%} to {row.high:.0%})"
            )
        sentences.append(
            f"A bias of strength {strength:g} is reported with probability {rates[0]}, "
            f'and as significant ("{DETECTED}") with probability {rates[1]}.'
        )
    pairs = false_positives(calibration).mean()
    reports = false_positives(calibration, corrected=True).any((1, 2)).mean()
    sentences.append(
        f"Of pairs of unbiased classifiers, {pairs:.1%} are reported; {reports:.0%} of "
        f'reports on unbiased classifiers say "{DETECTED}" of a pair.'
    )
    sentences.append(
        "A bias of another kind (smaller, elsewhere, weaker) may be missed."
    )
    return sentences
