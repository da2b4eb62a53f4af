"""Class pairs that a model confuses: Focus of two-class mosaics, ranked (section I-C)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from helpers import stats
from helpers.focus.means import Means
from helpers.focus.mosaics import LAYOUTS, batches, placed
from helpers.focus.mosaics import design as _design

PAIR = ["target", "outer"]


def design(
    table: pd.DataFrame, classes: Sequence[str], *, per_pair: int, seed: int = 0
) -> pd.DataFrame:
    """Two-class mosaics, `per_pair` of every ordered pair; see :func:`helpers.focus.design`."""
    per_class = per_pair * (len(classes) - 1)
    return _design(table, classes, per_class=per_class, two_classes=True, seed=seed)


def ranked(rated: pd.DataFrame) -> pd.DataFrame:
    """Every ordered pair, the lowest mean Focus first, of ratings by one method; p of "lower than
    the same target's `others`" is one-sided, and adjusted by Holm over all pairs."""
    if rated["method"].nunique() > 1 or rated["outer"].str.contains(" + ", regex=False).any():
        raise ValueError("Rank pairs by one method and mosaics of two classes, not by several.")
    counted = rated.assign(undefined=rated["focus"].isna()).groupby(PAIR, sort=False)
    table = counted.agg(mosaics=("mosaic", "nunique"), undefined=("undefined", "sum"))
    known = Means.of(rated.dropna(subset=["focus"]), PAIR)
    rows = []
    for pair in known.focus.index:
        focus, low, high = np.clip(known.contrast(pd.Series({pair: 1.0})).interval(), 0, 1)
        rows.append(dict(zip(PAIR, pair, strict=True)) | {"focus": focus, "low": low, "high": high})
        others = [name for name in known.focus.index if name[0] == pair[0] and name != pair]
        if others:
            gap = known.contrast(pd.Series({pair: 1.0} | dict.fromkeys(others, -1 / len(others))))
            p = gap.p / 2 if gap.estimate < 0 else 1 - gap.p / 2
            rows[-1] |= {"others": focus - gap.estimate, "p": p}
    tested = pd.DataFrame(rows, columns=[*PAIR, "focus", "low", "high", "others", "p"])
    table = table.reset_index().merge(tested, how="left", on=PAIR)
    table["p_adjusted"] = stats.adjust(table["p"])
    table["rank"] = table["focus"].rank(method="min")
    return table.sort_values("focus", kind="stable", ignore_index=True)


def mosaic(images: Sequence[int], target: str, outer: str) -> pd.DataFrame:
    """One mosaic as a design: the numbers of two images of the target above, two outer below."""
    named = {"mosaic": 0, "target": target, "outer": outer}
    return pd.DataFrame([named | placed(images, LAYOUTS[0])])


def of_pair(table: pd.DataFrame, target: str, outer: str) -> pd.DataFrame:
    """The rows of one ordered pair."""
    return table[(table["target"] == target) & (table["outer"] == outer)]


def extremes(rated: pd.DataFrame, target: str, outer: str, n: int) -> pd.DataFrame:
    """A pair's `n` mosaics with the highest Focus ("best") and the lowest ("worst")."""
    part = of_pair(rated, target, outer).dropna(subset=["focus"])
    part = part.sort_values("focus", ascending=False, kind="stable")
    if len(part) < 2:
        raise ValueError(f"pair {target!r} beside {outer!r} has {len(part)} mosaics with a Focus")
    n = min(n, len(part) // 2)
    return pd.concat([part.head(n).assign(kind="best"), part.tail(n).assign(kind="worst")])


def in_mosaics(rows: pd.DataFrame, masks: torch.Tensor) -> torch.Tensor:
    """Masks (M, H, W) put together as the images of the mosaics are: bool (N, rows, columns)."""
    stack = masks[:, None].expand(-1, 3, -1, -1).to(torch.uint8)
    return torch.cat([batch[:, 0] for batch in batches(rows, stack)]) > 0
