"""Class pairs that a model confuses: Focus of two-class mosaics, ranked (section I-C).

Both outer images of these mosaics are of one class. Where the relevance for a target class falls on
images of another, these have something that the model takes for the target. The paper ranks pairs
by their lowest mean Focus. But a target that is explained poorly comes low with every outer class;
so each pair is also compared with the same target's other pairs. The null there: this outer class
draws no more relevance away than the target's other outer classes do. That null is never exactly
true: classes are more or less alike, so that one of a target's pairs always lies below the others.
Enough images and trainings star it, whether or not anything was planted.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from helpers import explain, stats
from helpers.data import ImageSet
from helpers.focus.means import Means
from helpers.focus.mosaics import batches, layouts
from helpers.focus.mosaics import design as _design
from helpers.focus.networks import Model

PAIR = ["target", "outer"]
AGAINST = ("same target", "all pairs", "chance")
TESTED = ["reference", "difference", "difference_low", "difference_high", "p"]


def design(
    table: pd.DataFrame, classes: Sequence[str], *, per_pair: int, seed: int = 0
) -> pd.DataFrame:
    """Two-class mosaics, `per_pair` of every ordered pair; see :func:`helpers.focus.design`."""
    per_class = per_pair * (len(classes) - 1)
    return _design(table, classes, per_class=per_class, two_classes=True, seed=seed)


def ranked(rated: pd.DataFrame, against: str = "same target") -> pd.DataFrame:
    """Every ordered pair, the lowest mean Focus first, tested against a null and corrected.

    `rated` is of two-class mosaics by one method; intervals and tests are of all trainings.
    `against` names the null of the one-sided test that a pair's mean Focus is lower: that it equals
    the mean of the same target's other pairs, of all other pairs, or 0.5 ("chance"). With two
    classes the first has nothing to compare with: p is NaN.

    Returns
    -------
    DataFrame
        target; outer; mosaics; undefined (without positive relevance, left out); focus (mean) with
        low and high; reference (what the null says); difference (focus - reference) with
        difference_low and difference_high; p; p_adjusted (Holm's, over all pairs); rank (1 is the
        lowest focus); and rank_difference (1 is the lowest difference).

    Raises
    ------
    ValueError
        For several methods, mosaics of more than two classes, or an unknown `against`.
    """
    if "method" in rated and rated["method"].nunique() > 1:
        raise ValueError(
            f"{rated['method'].nunique()} methods are mixed here: rank the pairs of one method."
        )
    if rated["outer"].str.contains(" + ", regex=False).any():
        raise ValueError(
            "Some mosaics have two outer classes: pairs need mosaics of two classes, from "
            "`helpers.focus.pairs.design`."
        )
    if against not in AGAINST:
        raise ValueError(f"against={against!r}: use one of {', '.join(AGAINST)}.")
    counted = rated.assign(undefined=rated["focus"].isna()).groupby(PAIR, sort=False)
    table = counted.agg(mosaics=("mosaic", "nunique"), undefined=("undefined", "sum"))
    known = Means.of(rated.dropna(subset=["focus"]), PAIR)
    tested = [_tested(known, pair, against) for pair in known.focus.index]
    tested = pd.DataFrame(tested, columns=[*PAIR, "focus", "low", "high", *TESTED])
    table = table.reset_index().merge(tested, how="left", on=PAIR)
    table["p_adjusted"] = stats.adjust(table["p"])
    for name, of in (("rank", "focus"), ("rank_difference", "difference")):
        table[name] = table[of].rank(method="min")
    return table.sort_values("focus", kind="stable", ignore_index=True)


def _tested(known: Means, pair: tuple[str, str], against: str) -> dict:
    """One pair's mean, its difference from the null with two-sided intervals, and one-sided p."""
    focus, low, high = np.clip(known.contrast(pd.Series({pair: 1.0})).interval(), 0, 1)
    row = dict(zip(PAIR, pair, strict=True)) | {"focus": focus, "low": low, "high": high}
    others = [] if against == "chance" else [name for name in known.focus.index if name != pair]
    if against == "same target":
        others = [other for other in others if other[0] == pair[0]]
    if not others and against != "chance":
        return row
    weights = {pair: 1.0} | dict.fromkeys(others, -1 / max(len(others), 1))
    found = known.contrast(pd.Series(weights))
    if against == "chance":
        found = replace(found, estimate=found.estimate - 0.5)
    difference, low, high = found.interval()
    p = found.p / 2 if difference < 0 else 1 - found.p / 2
    values = known.focus[pair] - difference, difference, low, high, p
    return row | dict(zip(TESTED, values, strict=True))


def of_pair(table: pd.DataFrame, target: str, outer: str) -> pd.DataFrame:
    """The rows of one ordered pair."""
    return table[(table["target"] == target) & (table["outer"] == outer)]


def extremes(rated: pd.DataFrame, target: str, outer: str, n: int) -> pd.DataFrame:
    """A pair's `n` mosaics with the highest and with the lowest Focus, for a person to look at.

    Rows of `rated`, best first, with the column kind: "best" or "worst"; fewer where the pair has
    not 2 n. A pair without a Focus is refused.
    """
    part = of_pair(rated, target, outer).dropna(subset=["focus"])
    part = part.sort_values("focus", ascending=False, kind="stable")
    if len(part) < 2:
        raise ValueError(f"pair {target!r} beside {outer!r} has {len(part)} mosaics with a Focus")
    n = min(n, len(part) // 2)
    best, worst = part.head(n).assign(kind="best"), part.tail(n).assign(kind="worst")
    return pd.concat([best, worst])


def explained(model: Model, images: ImageSet, rows: pd.DataFrame, method: str) -> dict:
    """Mosaics of one pair and their relevance in the first training.

    `rows` are from :func:`helpers.focus.rate`, with a column kind that is shown where there is one;
    `images`, whose `patches` are what is shared, are those that the rows count. Returned is what
    :func:`helpers.figures.focus.mosaics_explained` takes by name.
    """
    target, outer = rows[PAIR].iloc[0]
    mosaics = torch.cat(list(batches(rows, images.images)))
    maps = explain.explain(model.trainings[0], mosaics, model.logit[target], method).maps
    kinds = rows["kind"] + ": " if "kind" in rows else [""] * len(rows)
    captions = [f"{k}Focus {value:.2f}" for k, value in zip(kinds, rows["focus"], strict=True)]
    return {
        "mosaics": mosaics,
        "maps": maps,
        "layouts": layouts(rows),
        "captions": captions,
        "names": (target, outer),
        "patches": None if images.patches is None else in_mosaics(rows, images.patches),
    }


def in_mosaics(rows: pd.DataFrame, masks: torch.Tensor) -> torch.Tensor:
    """Masks (M, H, W) put together as the images of the mosaics are: bool (N, rows, columns)."""
    stack = masks[:, None].expand(-1, 3, -1, -1).to(torch.uint8)
    return torch.cat([batch[:, 0] for batch in batches(rows, stack)]) > 0
