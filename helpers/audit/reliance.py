"""Which pairs of a class and a context a network relies on, and the sentences that say so.

A pair is reported if its score is beyond the threshold and if predictions change. A pair with a
score alone is listed apart.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from torch import nn

from helpers import stats
from helpers.audit import planting, retraining

NOT_FOUND = "not told from heads without it"
SCORE_ONLY = "score only"
MAY_RELY = "may rely"
RELIES = "relies"

RULE = (
    "A finding needs two things: a score beyond the threshold, and predictions that change. The "
    f"share of photographs predicted as the class must be at least {100 * planting.CHANGED:.0f} "
    "percentage point higher in the context than in the other contexts on average. Pairs with a "
    "score alone are listed apart."
)
APPROXIMATE = (
    "The network was trained beyond its last layer, and for such networks the rates of this audit "
    "were measured on sixteen networks only, so take them as approximate."
)
NOT_RETRAINED = (
    "The part of the network that was trained is not trained again to calibrate this report, "
    "because {why}."
)
NOT_LINEAR = (
    "The last layer of the network is not linear in what it sees, and {why}, so take the rates of "
    "this audit as approximate."
)
TOO_FEW = (
    "The layers from {first} on were trained {count} times to calibrate this report, too few to "
    "correct for the number of pairs, so about {chance:.1f} of {pairs} pairs exceed the threshold "
    "by chance."
)
TRAININGS = (
    86  # of a part, in one calibration: 66 in `calibrate` and 20 in `sharp_enough`
)


@dataclass(frozen=True)
class Basis:
    """What an audit judges a network by.

    Attributes
    ----------
    part : retraining.Part or None
        The part of the network from its first trained layer on, where it can be cut off.
    retrained : bool
        Whether this part is trained again to calibrate; else linear classifiers are trained. A part
        is trained too rarely to correct for the number of pairs, so that "relies" is never said.
    caveat : str
        What stands behind the findings, in one or two sentences; empty if there is nothing.
    """

    part: retraining.Part | None
    retrained: bool
    caveat: str


def basis(
    audited, start, images, trial, pairs: int, versions: int, trained: str | None
) -> Basis:
    """Decide what a network is judged by.

    Parameters
    ----------
    audited, start : model.Network
        The network, and the one from which its training began (the same if it is not known).
    images : torch.Tensor
        The photographs, uint8 (N, 3, H, W).
    trial : dict of str to ndarray
        What `retraining.passes` gives for the first images.
    pairs : int
        How many pairs of a class and a context are asked.
    versions : int
        In how many versions each photograph will be asked.
    trained : {"last layer", "all"} or None
        What the user says was trained; None if nothing was said.

    Raises
    ------
    ValueError
        If only the last layer was trained, as the user says, but other weights differ from `start`.
    """
    network = audited.model
    names = retraining.changed(network, start.model)
    others = [name for name in names if not name.startswith(f"{network.head}.")]
    if others and trained == "last layer":
        raise ValueError(
            f"trained: you said that only the last layer was trained, but {len(others)} other "
            f"weights differ from those of `start`, such as {others[0]}. Leave `trained` out, or "
            "give the weights with which the training of the last layer began."
        )
    part = retraining.own_part(audited, start, images, trial["answers"], versions)
    can_be_cut = isinstance(part, retraining.Part)
    if retraining.is_linear(network, trial) and not others:
        # what the part sees is kept for all networks that begin alike
        dense = isinstance(network.network.get_submodule(network.head), nn.Linear)
        kept = part if can_be_cut and dense else None
        return Basis(kept, False, APPROXIMATE if trained == "all" else "")
    if not can_be_cut:
        if others:
            return Basis(None, False, f"{APPROXIMATE} {NOT_RETRAINED.format(why=part)}")
        return Basis(None, False, NOT_LINEAR.format(why=part))
    chance = 0.05 * pairs
    caveat = TOO_FEW.format(
        first=part.first, count=TRAININGS, chance=chance, pairs=pairs
    )
    return Basis(part, True, caveat)


def judge(
    calibration, score, predictions, classes, contexts, corrected=True
) -> pd.DataFrame:
    """Judge each pair of a class and a context.

    Parameters
    ----------
    calibration : planting.Calibration
        What unbiased and biased classifiers score.
    score : ndarray of float, shape (methods, classes, K)
        The network's score of each pair, by pasting and by the context alone.
    predictions : ndarray of int, shape (n, K)
        The class that the network predicts for each photograph in each context.
    classes, contexts : sequence of str
        Names, in the order of the axes of `score`.
    corrected : bool, default True
        Whether the calibration suffices to correct for the number of pairs.

    Returns
    -------
    pandas.DataFrame
        One row per pair, sorted by z, with the columns ``class``, ``context``, ``verdict``, ``z``,
        ``threshold``, ``p``, ``photographs``, ``predicted`` (how many of them are predicted to be
        the class in the context), ``elsewhere`` (the mean of the other contexts), ``change`` (their
        difference as a share), ``dose`` with ``low`` and ``high``, and ``alone`` (z of the context
        without a photograph).
    """
    by_method = calibration.z(score)
    z = by_method.max(0)
    chance = planting.chance(calibration, by_method)
    significant = planting.named(chance) if corrected else np.zeros(z.shape, bool)
    p = np.minimum(1, len(chance) * chance.min(0))
    change = planting.prediction_change(predictions, len(classes))
    dose, low, high = planting.equivalent_dose(calibration, score)
    count = len(predictions)
    rows = []
    for c, k in np.ndindex(z.shape):
        predicted = (predictions == c).sum(0)
        verdict = NOT_FOUND
        if z[c, k] > calibration.cut_of_most:
            verdict = SCORE_ONLY
            if change[c, k] >= planting.CHANGED:
                verdict = RELIES if significant[c, k] else MAY_RELY
        rows.append(
            {
                "class": classes[c],
                "context": contexts[k],
                "verdict": verdict,
                "z": z[c, k],
                "threshold": float(calibration.cut_of_most),
                "p": p[c, k],
                "photographs": count,
                "predicted": predicted[k],
                "elsewhere": np.delete(predicted, k).mean(),
                "change": change[c, k],
                "dose": dose[c, k],
                "low": low[c, k],
                "high": high[c, k],
                "alone": by_method[1, c, k],
            }
        )
    return pd.DataFrame(rows).sort_values("z", ascending=False, ignore_index=True)


def sentence(row) -> str:
    """Say what was found for a pair, with the photographs predicted as the class."""
    if row["verdict"] in (RELIES, MAY_RELY):
        finding = f"{row['class']} {row['verdict']} on {row['context']}"
    else:
        finding = (
            f"{row['class']} scores above the threshold on {row['context']}, but predictions "
            "hardly change"
        )
    text = (
        f"{finding}: of {row['photographs']} photographs, "
        f"{row['predicted']} are predicted to be {row['class']} in {row['context']}, and "
        f"{row['elsewhere']:.0f} in the other contexts on average (z {row['z']:.1f}, threshold "
        f"{row['threshold']:.1f}"
    )
    if row["verdict"] in (RELIES, MAY_RELY) and round(row["low"], 2) > 0:
        text += f"; like a bias strength of {row['low']:.2g} to {row['high']:.2g}"
    return f"{text})."


def brief(row) -> str:
    """Name a pair, with how many more photographs are predicted as the class in the context."""
    more = round(row["change"] * row["photographs"])
    verb = "is" if more == 1 else "are"
    return (
        f"{row['context']} for {row['class']} ({more} more of {row['photographs']} photographs "
        f"{verb} predicted as {row['class']} in {row['context']} than in the other contexts)"
    )


def headline(name: str, pairs: pd.DataFrame, found: dict[float, float]) -> str:
    """Say what an audit found: all significant pairs, or what it would have detected.

    Parameters
    ----------
    name : str
        What the network is called.
    pairs : pandas.DataFrame
        The table of `judge`.
    found : dict of float to float
        The detection rate of this audit by bias strength.
    """
    relies = pairs[pairs["verdict"] == RELIES]
    may_rely = pairs[pairs["verdict"] == MAY_RELY]
    if len(relies):
        return f"{name} relies on {_enumerated(relies)}."
    if len(may_rely):
        chance = 0.05 * len(pairs)
        return (
            f"{name} may rely on {_enumerated(may_rely)}. By chance about {chance:.1f} of "
            f"{len(pairs)} pairs exceed the threshold."
        )
    text = (
        f"{name}: no reliance on a context was detected among {len(pairs)} pairs. A bias of "
        f"strength 0.5 would have been detected with chance {found[0.5]:.0%}, one of strength 1 "
        f"with chance {found[1.0]:.0%}."
    )
    if only := int((pairs["verdict"] == SCORE_ONLY).sum()):
        text += f" Pairs with a high score but without changed predictions: {only}."
    return text


def _enumerated(pairs: pd.DataFrame) -> str:
    """Enumerate pairs, each in brief."""
    names = [brief(row) for row in pairs.to_dict("records")]
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def detection(calibration, corrected=True) -> pd.DataFrame:
    """Measure what the audit reports of the calibration's own biased classifiers.

    Returns
    -------
    pandas.DataFrame
        One row per verdict and bias strength, with ``found``, the share of the biased pairs that
        get this verdict or a stronger one, and Wilson's interval, ``low`` and ``high``, whose n are
        the classifiers.
    """
    rows = []
    for verdict in (MAY_RELY, RELIES) if corrected else (MAY_RELY,):
        for dose, found in planting.power(calibration, verdict == RELIES).items():
            classifiers = calibration.planted.shape[1]
            low, high = stats.wilson(found.mean() * classifiers, classifiers)
            name = (
                "may rely, or relies" if corrected and verdict == MAY_RELY else verdict
            )
            rows.append([name, dose, found.mean(), low, high])
    return pd.DataFrame(rows, columns=["verdict", "dose", "found", "low", "high"])


def chances(table: pd.DataFrame, calibration, corrected=True) -> list[str]:
    """Say what could have been detected, from the table of `detection`, and what is false."""
    sentences = []
    for dose, rows in table[table["dose"] > 0.3].groupby("dose"):
        shares = [
            f"{row.found:.0%} (95% CI {row.low:.0%} to {row.high:.0%})"
            for row in rows.itertuples()
        ]
        line = f"A bias of strength {dose:g} is reported with chance {shares[0]}"
        if corrected:
            line += f', and as significant ("{RELIES}") with chance {shares[1]}'
        sentences.append(f"{line}.")
    false = planting.false_positives(calibration).mean()
    line = f"Of pairs of unbiased classifiers, {false:.1%} are reported"
    if corrected:
        reports = planting.false_positives(calibration, page=True).any((1, 2)).mean()
        line += f'; {reports:.0%} of reports on unbiased classifiers say "{RELIES}" of a pair'
    sentences.append(f"{line}.")
    sentences.append(
        "A bias of another kind (smaller, elsewhere, weaker) may be missed."
    )
    return sentences
