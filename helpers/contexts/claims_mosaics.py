"""Claims of section 3 of *Assessing Biases through Visual Contexts*: what mosaics show.

As in `contexts.claims`, a claim holds, does not hold or is undecided by the interval of what it
says. Claims about one of the paper's classes or contexts are judged where these are the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from helpers import stats
from helpers.contexts import context
from helpers.data import Collection
from helpers.run.findings import Finding, judge

SECTION_3 = "paper, section 3"


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
        From ``points``, ``effects`` and ``strengths`` of :mod:`helpers.contexts.context`.
    planted
        From :func:`helpers.models.experiment.planted`; None where nothing is known.
    collection
        Whose contexts these are. The paper's values are set beside ours where its classes and
        contexts are the collection's.
    """
    names = collection.context_of
    papers = collection.has_the_papers_classes()
    found = []
    for row in strength.to_dict("records"):
        label = row["context_class"]
        found.append(
            judge(
                f"{names[label].capitalize()} raises {label} against the object beside it, more "
                "than the neutral partner does",
                SECTION_3,
                (row["context_effect"], row["context_effect_low"], row["context_effect_high"]),
                above=0,
                unit="logits",
            )
        )
    images = context.per_image(points)
    found += _order(images, planted, names)
    if papers:
        found += _by_flips(images, effects, names)
    found.append(_nearer(effects, "12 of 12 pairs" if papers else ""))
    return found


# (stronger, weaker) context by the paper's counts, and these
STRONGER = (
    ("park", "sky", "223 of 375 - 124 of 250"),
    ("sky", "wood", "124 of 250 - 88 of 375"),
    ("wood", "road", "88 of 375 - 23 of 375"),
)


def _by_flips(
    images: pd.DataFrame, effects: pd.DataFrame, names: Mapping[str, str]
) -> list[Finding]:
    """The paper's order of contexts by flips, and what it says of single pairs."""
    class_of = {name: label for label, name in names.items()}
    found = [
        judge(
            f"By raw flips the {first} is stronger than the {second}",
            SECTION_3,
            strength_difference(images, [class_of[first]], class_of[second], "flip_share"),
            above=0,
            paper=paper,
            unit="difference in share of mosaics",
        )
        for first, second, paper in STRONGER
        if {first, second} <= set(class_of)
    ]
    pairs = images.assign(context=images["context_class"].map(names))
    pairs["kept_share"] = pairs["kept"] / pairs["mosaics"]
    for label, name, measure, side, paper, claim in PAIRS:
        part = pairs[(pairs["object_class"] == label) & (pairs["context"] == name)]
        if len(part):
            share = stats.share(context.grid(part, measure))
            unit = "share of mosaics"
            found.append(judge(claim, SECTION_3, share, paper=paper, unit=unit, **side))
    return found


# object, context, what is measured, threshold, the paper's count, the claim
PAIRS = (
    (
        "fire hydrant",
        "sky",
        "kept_share",
        {"above": 0.5},
        "107 of 125",
        "Most fire hydrants beside the sky keep the highest logit of all",
    ),
    (
        "plane",
        "road",
        "flip_share",
        {"below": 0.15},
        "0 of 125",
        "The road flips next to no plane",
    ),
)


def _nearer(effects: pd.DataFrame, paper: str) -> Finding:
    """Whether every mean moves towards the diagonal, as every pair of Table 1 does."""
    weakest = effects.loc[effects["drop"].idxmin()]
    return judge(
        "Every pair's mosaics lie nearer to the context's class than its single images",
        "paper, Table 1",
        weakest[["drop", "drop_low", "drop_high"]],
        above=0,
        paper=paper,
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
            unit="logits, over the objects that met both",
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
        From :func:`helpers.contexts.context.per_image`.
    first, second
        Classes whose contexts are compared, over the object images that met `second` and some of
        `first`.
    measure
        Column of `images`: ``context_effect`` or ``flip_share``.
    """
    wide = images.pivot_table(
        index=["object_class", "object", "training"], columns="context_class", values=measure
    )
    paired = (wide[first].mean(axis=1) - wide[second]).dropna()
    parts = [part.unstack("training").T.to_numpy() for _, part in paired.groupby("object_class")]
    return stats.mean(parts).interval()
