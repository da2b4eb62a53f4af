"""Judge the pairs of a class and a context, and say what was found.

A pair is reported if its score is above the threshold and if predictions change.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from helpers import stats
from helpers.audit.calibration import (
    LEAST_CHANGE,
    Calibration,
    p_values,
    significant_pairs,
)
from helpers.audit.context_scores import (
    ContextImages,
    predicted_counts,
    prediction_change,
)

NOT_SIGNIFICANT = "not significant"
SCORE_ONLY = "score only"
POSSIBLE = "possible reliance"
DETECTED = "reliance detected"
REPORTED = f"{POSSIBLE} or detected"

SENTENCE = (
    "{context} for {class} ({predicted_here} of {photographs} photographs are "
    "predicted as {class} in {context}, and {predicted_elsewhere:.1f} on average in "
    "the other contexts)"
)
RULE = (
    "A finding needs two things: a score above the threshold, and predictions that "
    "change. The share of photographs predicted as the class must be at least "
    f"{100 * LEAST_CHANGE:g} percentage points higher in the context than in the "
    "other contexts on average. Pairs with a high score alone are not reported."
)
LAST_LAYER_LEVEL = 0.04
"""False-positive rate of reported pairs if only the last layer was trained.

It was measured for linear classifiers of composites, in ``data/audit_trials.csv``.
"""
WHOLE_NETWORK_LEVEL = (0.148, 0.057, 0.333)
"""False-positive rate of reported pairs of networks of which all layers were trained.

The rate and its 95% interval are those of ``data/audit_trials.csv``.
"""

NOT_LINEAR = (
    "The logits of your network are not a linear function of the features before its "
    "last layer, for example because a ReLU follows, as in SqueezeNet. So the rates of "
    "linear classifiers do not apply to your network, and a bias may be missed."
)


def verdicts(calibration: Calibration, z: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Judge each pair of a class and a context.

    Parameters
    ----------
    calibration : Calibration
        What unbiased and biased classifiers score.
    z, change : ndarray, shape (..., classes, K)
        Scores and changes of predictions, of one network or of several.

    Returns
    -------
    ndarray of str, shape (..., classes, K)
    """
    is_significant = significant_pairs(p_values(calibration, z))
    return np.select(
        [~(z > calibration.threshold), change < LEAST_CHANGE, is_significant],
        [NOT_SIGNIFICANT, SCORE_ONLY, DETECTED],
        POSSIBLE,
    )


def judge(
    calibration: Calibration,
    logits: ContextImages,
    classes: Sequence[str],
    contexts: Sequence[str],
    trained: str | None = None,
) -> pd.DataFrame:
    """Judge each pair of a class and a context, and tabulate them.

    Parameters
    ----------
    calibration : Calibration
        What unbiased and biased classifiers score.
    logits : ContextImages
        What the network answers.
    classes, contexts : sequence of str
        Names, in the order of the axes of `logits`.
    trained : {"last layer", "all"} or None
        What was trained. If all layers were trained, no pair is more than possible.

    Returns
    -------
    pandas.DataFrame
        One row per pair, sorted by z, with the columns ``class``, ``context``,
        ``verdict``, ``z``, ``p``, ``predicted_here`` (how many photographs are
        predicted to be the class in the context), ``predicted_elsewhere`` (the mean of
        the other contexts), ``change`` (their difference as a share), and
        ``photographs`` (their number). The index is the place of a pair in arrays
        (classes, K) that are flattened.
    """
    z = calibration.z(logits.score())
    change = prediction_change(logits.query)
    here = predicted_counts(logits.query)
    n = len(logits.query)
    columns = {
        "verdict": verdicts(calibration, z, change),
        "z": z,
        "p": p_values(calibration, z),
        "predicted_here": here,
        "predicted_elsewhere": (here - n * change).round(3),
        "change": change,
    }
    index = pd.MultiIndex.from_product([classes, contexts], names=["class", "context"])
    flat = {name: values.ravel() for name, values in columns.items()}
    table = pd.DataFrame(flat, index).assign(photographs=n).reset_index()
    if trained == "all":
        table = table.replace({"verdict": {DETECTED: POSSIBLE}})
    return table.sort_values("z", ascending=False)


def is_reported(pairs: pd.DataFrame) -> pd.Series:
    """Return whether reliance is possible or detected for each pair."""
    return pairs["verdict"].isin([POSSIBLE, DETECTED])


def sentences(pairs: pd.DataFrame) -> list[str]:
    """Say how many photographs get the class of each pair, in its context and not."""
    return [SENTENCE.format_map(pair) for pair in pairs.to_dict("records")]


def headline(
    name: str,
    pairs: pd.DataFrame,
    power: pd.DataFrame,
    is_linear: bool,
) -> str:
    """Name all significant pairs, or say what the audit would have detected.

    Parameters
    ----------
    name : str
        What the network is called.
    pairs : pandas.DataFrame
        The table of `judge`.
    power : pandas.DataFrame
        The table of `detection_table`.
    is_linear : bool
        Whether the logits of the network are a linear function of its features.
    """
    for verdict in (DETECTED, POSSIBLE):
        found = pairs[pairs["verdict"] == verdict]
        if len(found):
            text = f"{name}: {verdict} on {' and '.join(sentences(found))}."
            if verdict == POSSIBLE:
                text += (
                    f" In recorded trials, {LAST_LAYER_LEVEL:.0%} of the pairs were "
                    "reported by chance if only the last layer was trained, and "
                    f"{WHOLE_NETWORK_LEVEL[0]:.0%} if all layers were trained."
                )
            return text
    rates = reported_rates(power)
    text = (
        f"{name}: no reliance on a context was detected among {len(pairs)} pairs. In "
        "linear classifiers that were trained on your photographs, the audit reports "
        f"{rates[0.5]:.0%} of the biases of strength 0.5 and {rates[1.0]:.0%} of those "
        "of strength 1."
    )
    return text if is_linear else f"{text} {NOT_LINEAR}"


def what_was_trained(trained: str | None, before: bool) -> str:
    """Say what was trained, and what that means for the findings."""
    if trained is None:
        return (
            "You did not say what was trained (trained). The rates hold if only the "
            "last layer was trained on your classes."
        )
    if trained == "last layer":
        return "Only the last layer was trained."
    if trained != "all":
        raise ValueError(f"trained is {trained!r}, and not 'last layer' or 'all'.")
    rate, low, high = WHOLE_NETWORK_LEVEL
    text = (
        "All layers were trained. The audit compares the network with linear "
        "classifiers, which differ from it more than from each other. In recorded "
        f"trials, it reported {rate:.0%} of the pairs of unbiased networks (95% CI "
        f"{low:.0%} to {high:.0%}). So a pair is called {POSSIBLE} at most."
    )
    if not before:
        text += (
            " In these trials, the audit had the weights before training. You did not "
            "provide them (before), so the rate for your network is not known."
        )
    return text


def detection_table(calibration: Calibration) -> pd.DataFrame:
    """Tabulate which biases the audit detects in the calibration's own classifiers.

    Returns
    -------
    pandas.DataFrame
        One row per verdict and bias strength, with ``detection_rate``, the share of the
        biased pairs that get this verdict or a stronger one, and Wilson's 95% interval,
        ``low`` and ``high``, whose n is the number of classifiers. At the strength 0,
        the rate is the share of all pairs, which is the false-positive rate.
    """
    rows = []
    for strength, (scores, changes, contexts) in calibration.classifiers.items():
        verdict = verdicts(calibration, scores, changes)
        if strength:
            verdict = np.take_along_axis(verdict, contexts[..., None], axis=2)
        n = len(verdict)
        for name, counted in ((REPORTED, (POSSIBLE, DETECTED)), (DETECTED, DETECTED)):
            rate = np.isin(verdict, counted).mean()
            rows.append([name, strength, rate, *stats.wilson(rate * n, n)])
    columns = ["verdict", "bias_strength", "detection_rate", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def reported_rates(power: pd.DataFrame) -> pd.Series:
    """Return the rates of reported pairs in a detection table, by bias strength."""
    is_reported = power["verdict"] == REPORTED
    return power[is_reported].set_index("bias_strength")["detection_rate"]
