"""The claims of *Assessing Biases through Visual Contexts*, judged by what was measured here.

A claim of the paper holds, does not hold or is undecided by the interval of what it says. On the
paper's own images values can be compared; elsewhere the direction is what is tested.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from helpers import context, cross_evaluation, project, stats
from helpers.findings import Finding, equal, judge
from helpers.sources import Collection

SECTION_1 = "paper, section 2.1.1"
SECTION_2 = "paper, section 2.1.3"
SECTION_3 = "paper, section 3"
SUITE = "this suite"


def of_datasets(
    collection: Collection, guesses: pd.DataFrame, planted: pd.DataFrame | None
) -> list[Finding]:
    """Judge what section 2.1.1 says of the image sets, and what colour alone gives away.

    Parameters
    ----------
    collection
    guesses
        From :func:`helpers.colour.given_away`.
    planted
        From :func:`helpers.experiment.planted`; None where nothing is known.
    """
    counts = collection.summary().loc["C", ["train", "val", "test"]]
    whole = int((counts == [100, 25, 25]).all(axis=1).sum())
    claim = "Each class of C has 100 training, 25 validation and 25 test images"
    found = [
        equal(claim, SECTION_1, whole, len(counts), paper="150 a class", unit="classes as said")
    ]
    by_region = guesses.set_index(["set", "region"])[["accuracy", "low", "high"]]
    around = "background" if ("C", "background") in by_region.index else "image"
    claim = f"In C the mean colour of the {around} alone names the class, more often than not"
    found.append(judge(claim, SUITE, by_region.loc[("C", around)], above=0.5, unit="accuracy"))
    if ("WB", "object") in by_region.index:
        claim = "Green is constant: the object's mean colour names the class less often than not"
        colour = by_region.loc[("WB", "object")]
        found.append(judge(claim, SECTION_1, colour, below=0.5, unit="accuracy"))
    if planted is not None:
        table = collection.sets["C"].table
        own = (table["context"] == table["class"].map(collection.context_of)).mean()
        off = abs(own - planted["p_context_given_class"].mean())
        claim = "As many images of C show their class's own context as were planted"
        found.append(judge(claim, SUITE, (off, off, off), below=0.005, unit="difference in share"))
    return found


def of_cross_evaluation(
    predictions: pd.DataFrame, accuracy: pd.DataFrame, lost: pd.DataFrame
) -> list[Finding]:
    """Judge what section 2.1.3 says, as far as the models and sets are there.

    Parameters
    ----------
    predictions, accuracy, lost
        From ``predictions``, ``accuracies`` and ``hidden`` of :mod:`helpers.cross_evaluation`.

    Returns
    -------
    list of Finding
    """
    rows = accuracy.set_index(["model", "test_set"])
    found = []
    for name in ("model-C", "pt-C"):
        if (name, "C") in rows.index:
            own = rows.loc[(name, "C"), ["accuracy", "low", "high"]]
            found.append(
                judge(
                    f"{name} is near perfect on the test split of its own set",
                    SECTION_2,
                    own,
                    above=0.85,
                    paper="1.00" if name == "model-C" else "",
                    unit="accuracy",
                )
            )
    found += [
        judge(
            f"{better[0]} on {better[1]} beats {worse[0]} on {worse[1]}",
            SECTION_2,
            cross_evaluation.difference(accuracy, better, worse),
            above=0,
            paper=paper,
            unit="difference in accuracy",
        )
        for better, worse, paper in COMPARED
        if better in rows.index and worse in rows.index
    ]
    found += _outside(predictions, lost)
    return found + _of_pretraining(lost) + _of_contexts(lost)


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
    """Whether contexts cost more than white ground does: model-C against model-WB elsewhere."""
    if not {"model-C", "model-WB"} <= set(lost["model"]):
        return []
    claim = "Outside their own sets model-WB does better than model-C"
    gain = cross_evaluation.gain_elsewhere(predictions, "model-WB", "model-C")
    paper, unit = "0.86 - 0.68", "difference in accuracy"
    return [judge(claim, SECTION_2, gain, above=0, paper=paper, unit=unit)]


def _of_contexts(lost: pd.DataFrame) -> list[Finding]:
    rows = lost.set_index("model")
    if "model-C" not in rows.index:
        return []
    drop = rows.loc["model-C", ["drop", "drop_low", "drop_high"]]
    claim = "A random split hides what model-C loses on the other sets"
    paper, unit = "1.00 - 0.68", "accuracy lost"
    return [judge(claim, SECTION_2, drop, above=0.05, paper=paper, unit=unit)]


def _of_pretraining(lost: pd.DataFrame) -> list[Finding]:
    """Whether pretrained models lose less outside their own set than those from a random state."""
    is_pretrained = lost["model"].str.startswith("pt-")
    fresh, tuned = lost[~is_pretrained], lost[is_pretrained]
    if fresh.empty or tuned.empty:
        return []
    gain = fresh["drop"].mean() - tuned["drop"].mean()
    spread = lost["drop_high"] - lost["drop_low"]  # of independent means: variances add
    half = np.sqrt((spread[~is_pretrained] ** 2).sum() / len(fresh) ** 2) / 2
    half = np.hypot(half, np.sqrt((spread[is_pretrained] ** 2).sum()) / len(tuned) / 2)
    return [
        judge(
            "Pretrained models lose less outside their own set",
            SECTION_2,
            (gain, gain - half, gain + half),
            above=0,
            paper="bars differ less",
            unit="difference in accuracy lost",
        )
    ]


def of_mosaics(
    points: pd.DataFrame,
    effects: pd.DataFrame,
    strength: pd.DataFrame,
    planted: pd.DataFrame | None,
    collection: Collection,
) -> list[Finding]:
    """Judge what section 3 says of each context, and what was planted.

    Parameters
    ----------
    points, effects, strength
        From ``points``, ``effects`` and ``strengths`` of :mod:`helpers.context`.
    planted
        From :func:`helpers.experiment.planted`; None where nothing is known.
    collection
        Whose contexts these are. The paper's values are set beside ours where its classes and
        contexts are the collection's.
    """
    names = collection.context_of
    printed = paper_flips() if collection.source != "folder" else {}
    found = []
    for row in strength.to_dict("records"):
        label = row["context_class"]
        found.append(
            judge(
                f"{names[label].capitalize()} beside an object draws the prediction to {label}",
                SECTION_3,
                (row["context_effect"], row["context_effect_low"], row["context_effect_high"]),
                above=0,
                paper=printed.get(names[label], ""),
                unit="logits, beside the neutral partner",
            )
        )
    images = context.per_image(points)
    found += _order(images, planted, names)
    found.append(_nearer(effects))
    return found


def paper_flips() -> dict[str, str]:
    """Share of mosaics that each context flipped in the paper, as text, by context."""
    flips = pd.read_csv(project.root() / "data/paper/contexts_flips.csv")
    sums = flips.groupby("context")[["flips", "mosaics"]].sum()
    return {name: f"{row.flips} of {row.mosaics} flipped" for name, row in sums.iterrows()}


def _nearer(effects: pd.DataFrame) -> Finding:
    """Whether every mean moves towards the diagonal, as every pair of Table 1 does."""
    weakest = effects.loc[effects["drop"].idxmin()]
    return judge(
        "Every pair's mosaics lie nearer to the context's class than its single images",
        "paper, Table 1",
        weakest[["drop", "drop_low", "drop_high"]],
        above=0,
        paper="12 of 12 pairs",
        unit=f"logits, weakest pair ({weakest['object_class']}, {weakest['context_class']})",
    )


def _order(
    images: pd.DataFrame, planted: pd.DataFrame | None, names: Mapping[str, str]
) -> list[Finding]:
    """Whether contexts that were planted stronger are measured stronger (each against the weakest).

    Judged by the effect beside the neutral partner, and once more by raw flips.
    """
    if planted is None or planted["p_context_given_class"].nunique() < 2:
        return []
    share = planted.set_index("class")["p_context_given_class"]
    weak = share.idxmin()
    strong = [name for name in share.index if share[name] > share[weak]]
    found = [
        judge(
            f"{names[name].capitalize()}, planted at {share[name]:g}, draws more than "
            f"{names[weak]}, planted at {share[weak]:g}",
            SECTION_3 + "; planted",
            strength_difference(images, [name], weak),
            above=0,
            unit="logits",
        )
        for name in strong
    ]
    claim = f"By raw flips, as the paper counts, {names[weak]} is weaker than the other contexts"
    flips = strength_difference(images, strong, weak, "flip_share")
    return [*found, judge(claim, SECTION_3 + "; planted", flips, above=0, unit="share of mosaics")]


def strength_difference(
    images: pd.DataFrame, first: list[str], second: str, measure: str = "context_effect"
) -> stats.Interval:
    """Effect of some classes' contexts, on average, minus another's, within the object image.

    Parameters
    ----------
    images
        From :func:`helpers.context.per_image`.
    first, second
        Classes whose contexts are compared, over the object images that met `second` and some of
        `first`; images are resampled within their class.
    measure
        Column of `images`: ``context_effect`` or ``flip_share``.
    """
    wide = images.pivot_table(
        index=["object_class", "object"], columns="context_class", values=measure
    )
    paired = (wide[first].mean(axis=1) - wide[second]).dropna()
    return stats.bootstrap([part.to_numpy() for _, part in paired.groupby("object_class")])
