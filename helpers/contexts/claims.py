"""The claims of *Assessing Biases through Visual Contexts*, judged by what was measured here.

A claim of the paper holds, does not hold or is undecided by the interval of what it says. On the
paper's own images values can be compared; elsewhere the direction is what is tested.
"""

from __future__ import annotations

import pandas as pd

from helpers.contexts import cross_evaluation
from helpers.data import Collection
from helpers.run.findings import Finding, equal, judge

SECTION_1 = "paper, section 2.1.1"
SECTION_2 = "paper, section 2.1.3"
SUITE = "this suite"
LITTLE = 0.1  # above chance, of accuracy


def of_datasets(
    collection: Collection, guesses: pd.DataFrame, planted: pd.DataFrame | None
) -> list[Finding]:
    """Judge what section 2.1.1 says of the image sets, and what colour alone gives away.

    Parameters
    ----------
    collection
    guesses
        From :func:`helpers.contexts.colour.given_away`.
    planted
        From :func:`helpers.models.experiment.planted`; None where nothing is known.
    """
    found = []
    if collection.source != "folder":  # a reader's own photographs need not be 150 a class
        counts = collection.summary().loc["C", ["train", "val", "test"]]
        whole = int((counts == [100, 25, 25]).all(axis=1).sum())
        claim = "Each class of C has 100 training, 25 validation and 25 test images"
        unit, said = "classes are so", "150 a class"
        found.append(equal(claim, SECTION_1, whole, len(counts), paper=said, unit=unit))
    by_region = guesses.set_index(["set", "region"])[["accuracy", "low", "high"]]
    around = "background" if ("C", "background") in by_region.index else "image"
    claim = f"In C the mean colour of the {around} alone names the class, more often than not"
    found.append(judge(claim, SUITE, by_region.loc[("C", around)], above=0.5, unit="accuracy"))
    little = float(guesses["chance"].max()) + LITTLE
    for name in by_region.index.get_level_values("set").unique():
        if (name, "object") in by_region.index:
            claim = f"In {name} the object's mean colour names the class little better than chance"
            colour, said = by_region.loc[(name, "object")], "all objects green"
            about = {"below": little, "paper": said, "unit": "accuracy"}
            found.append(judge(claim, SECTION_1, colour, **about))
    if planted is not None:
        table = collection.sets["C"].table
        own = (table["context"] == table["class"].map(collection.context_of)).mean()
        off = abs(own - planted["p_context_given_class"].mean())
        claim = "As many images of C show their class's own context as were planted"
        unit = "difference in share"
        found.append(judge(claim, SUITE, (round(off, 4),) * 3, below=0.005, unit=unit))
    return found


def of_cross_evaluation(
    predictions: pd.DataFrame, accuracy: pd.DataFrame, lost: pd.DataFrame
) -> list[Finding]:
    """Judge what section 2.1.3 says, as far as the models and sets are there.

    Parameters
    ----------
    predictions, accuracy, lost
        From ``predictions``, ``accuracies`` and ``hidden`` of `contexts.cross_evaluation`.

    Returns
    -------
    list of Finding
    """
    rows = accuracy.set_index(["model", "test_set"])
    found = [
        judge(
            f"{name} is near perfect on the test split of its own set",
            SECTION_2,
            rows.loc[(name, own), ["accuracy", "low", "high"]],
            above=0.85,
            paper=OWN.get(name, ""),
            unit="accuracy",
        )
        for name, own in zip(accuracy["model"].unique(), _own(accuracy), strict=True)
        if (name, own) in rows.index
    ]
    found += [
        judge(
            f"{better[0]} on {better[1]} beats {worse[0]} on {worse[1]}",
            SECTION_2,
            cross_evaluation.contrast(predictions, {better: 1, worse: -1}),
            above=0,
            paper=paper,
            unit="difference in accuracy",
        )
        for better, worse, paper in COMPARED
        if better in rows.index and worse in rows.index
    ]
    found += _pretrained_better(predictions) + _outside(predictions, lost)
    return found + _of_pretraining(predictions, lost) + _of_contexts(lost)


OWN = {"model-NC": "0.98", "model-C": "1.00", "model-WB": "0.99"}  # the paper's accuracies


def _own(accuracy: pd.DataFrame) -> list[str]:
    """The training set of each model, in the models' order."""
    return list(accuracy.drop_duplicates("model")["train_set"])


def _pretrained_better(predictions: pd.DataFrame) -> list[Finding]:
    """Whether pretraining helps on every test set, whichever the training set: the weakest case."""
    known = predictions[["model", "test_set"]].drop_duplicates()
    gains = {
        f"{name} on {test}": cross_evaluation.contrast(
            predictions, {(name, test): 1, (_fresh(name), test): -1}
        )
        for name, test in known.to_numpy()
        if name.startswith("pt-") and _fresh(name) in set(known["model"])
    }
    if not gains:
        return []
    weakest = min(gains, key=lambda case: gains[case].estimate)
    return [
        judge(
            "Models from a random state do worse than pretrained ones on every test set",
            SECTION_2,
            gains[weakest],
            above=0,
            paper="9 of 9 bars",
            unit=f"difference in accuracy, weakest case ({weakest})",
        )
    ]


def _fresh(name: str) -> str:
    """The model from a random state that was trained on the same set as a pretrained one."""
    return name.replace("pt-", "model-")


# (model, test set) that does better, the one that does worse, the paper's difference
COMPARED = (
    (("model-WB", "NC"), ("model-C", "NC"), "0.89 - 0.70"),
    (("model-WB", "C"), ("model-C", "WB"), "0.83 - 0.65"),
    (("model-NC", "WB"), ("model-NC", "C"), "worst on C"),
    (("pt-NC", "WB"), ("pt-NC", "C"), "worst on C"),
    (("pt-C", "NC"), ("model-C", "NC"), "pretrained better"),
    (("pt-C", "WB"), ("model-C", "WB"), "pretrained better"),
)


def _outside(predictions: pd.DataFrame, lost: pd.DataFrame) -> list[Finding]:
    """Whether contexts cost most: model-C elsewhere, against the other two from a random state."""
    known, unit = set(lost["model"]), "difference in accuracy"
    return [
        judge(
            f"Outside their own sets {better} does better than model-C",
            SECTION_2,
            cross_evaluation.contrast(predictions, _gain_elsewhere(predictions, better, "model-C")),
            above=0,
            paper=paper,
            unit=unit,
        )
        for better, paper in (("model-WB", "0.86 - 0.68"), ("model-NC", "model-C is the worst"))
        if {better, "model-C"} <= known
    ]


def _gain_elsewhere(predictions: pd.DataFrame, better: str, worse: str) -> dict:
    """Weights of "mean accuracy outside its own set of one model, less that of another"."""
    first, second = (cross_evaluation.lost(predictions, name) for name in (better, worse))
    return {pair: -w for pair, w in first.items() if w < 0} | {
        pair: w for pair, w in second.items() if w < 0
    }


def _of_contexts(lost: pd.DataFrame) -> list[Finding]:
    rows = lost.set_index("model")
    if "model-C" not in rows.index:
        return []
    drop = rows.loc["model-C", ["drop", "drop_low", "drop_high"]]
    claim = "A random split hides what model-C loses on the other sets"
    paper, unit = "1.00 - 0.68", "accuracy lost"
    return [judge(claim, SECTION_2, drop, above=0.05, paper=paper, unit=unit)]


def _of_pretraining(predictions: pd.DataFrame, lost: pd.DataFrame) -> list[Finding]:
    """Whether pretrained models lose less outside their own set than those from a random state."""
    is_pretrained = lost["model"].str.startswith("pt-")
    fresh, tuned = list(lost["model"][~is_pretrained]), list(lost["model"][is_pretrained])
    if not fresh or not tuned:
        return []
    weights = {}
    for names, sign in ((fresh, 1), (tuned, -1)):
        for name in names:
            for pair, weight in cross_evaluation.lost(predictions, name).items():
                weights[pair] = sign * weight / len(names)
    return [
        judge(
            "Pretrained models lose less outside their own set",
            SECTION_2,
            cross_evaluation.contrast(predictions, weights),
            above=0,
            paper="bars differ less",
            unit="difference in accuracy lost",
        )
    ]
