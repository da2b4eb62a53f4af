"""What sigma and Delta look like when nothing is there: permutation nulls.

Sigma is never negative and grows with noise, so a sigma by itself says little: under no effect at
all 150 boxes a group give about 2 AP points. Two nulls answer two questions.

``sensitive``: the groups are exchanged between images. Is sigma larger than with groups that mean
nothing?

``explanatory``: the confounder is exchanged within each group, so that every group keeps its
shares P(e|a) but e no longer has anything to do with how hard a box is. Is Delta larger than by
controlling for a label that means nothing? Small strata alone make Delta negative, and the null
shows by how much. A small p says that e matters to detection, not yet that e differs between the
groups: where strata are of unequal difficulty sigma shrinks in the hard ones, and Delta can be
positive though P(e|a) is the same for all. Standardisation does not have that fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from helpers.detection import Matches, OfClass
from helpers.icon2 import statistics
from helpers.icon2.attributes import Attribute
from helpers.icon2.cells import Factor, factor, name_of
from helpers.icon2.estimates import deviations, group_ap
from helpers.icon2.options import Options
from helpers.icon2.resampling import p_value, shuffled
from helpers.icon2.tables import ALL, POINTS


def sigma_null(
    matches: Matches,
    sensitive: Attribute,
    *,
    classes: Iterable[str] | None = None,
    options: Options | None = None,
    permutations: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Sigma of each class, and of their mean, against groups that mean nothing.

    Returns
    -------
    DataFrame
        ``class sigma null_mean null_high p``: AP points; ``null_high`` is the null's 95th
        percentile, ``p`` the share of permutations with a sigma at least as large.

    Notes
    -----
    Groups are exchanged between images (or boxes, for an attribute of boxes) one by one: where many
    images share a place or a video the null is too narrow.
    """
    options = options or Options()
    found = {}
    for of_class in _chosen(matches, classes):
        rng = np.random.default_rng(seed)  # the same shuffles for every class
        given = [sensitive, *(shuffled(sensitive, rng) for _ in range(permutations))]
        found[of_class.name] = np.array([group_ap(of_class, one, options) for one in given])
    kept = [ap for ap in found.values() if not np.isnan(ap[0]).any()]
    if len(kept) > 1:
        found = {ALL: np.mean(kept, axis=0)} | found
    spread = {name: statistics.sigma(ap, options.ddof) for name, ap in found.items()}
    return pd.DataFrame(
        {"class": name} | _compared("sigma", s[0], s[1:]) for name, s in spread.items()
    )


def delta_null(
    matches: Matches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute | Sequence[Attribute]],
    *,
    classes: Iterable[str] | None = None,
    options: Options | None = None,
    permutations: int = 100,
    seed: int = 0,
    shuffle: str = "explanatory",
) -> pd.DataFrame:
    """Delta of each class and confounder against labels that mean nothing.

    Parameters
    ----------
    shuffle
        ``explanatory`` or ``sensitive``: see the module's first lines.

    Returns
    -------
    DataFrame
        ``class attribute delta null_mean null_high p``.

    Raises
    ------
    ValueError
        For an unknown `shuffle`.
    """
    if shuffle not in ("explanatory", "sensitive"):
        raise ValueError(f"shuffle={shuffle!r} is not known; allowed: explanatory, sensitive")
    options = options or Options()
    rows = []
    for of_class in _chosen(matches, classes):
        for explaining in map(factor, explanatory):
            rng = np.random.default_rng(seed)
            observed = _delta(of_class, sensitive, explaining, options)
            drawn = []
            for _ in range(permutations):
                if shuffle == "sensitive":
                    again = _delta(of_class, shuffled(sensitive, rng), explaining, options)
                else:
                    moved = _exchanged(of_class, sensitive, explaining, rng)
                    again = _delta(of_class, sensitive, moved, options)
                drawn.append(again)
            row = {"class": of_class.name, "attribute": name_of(explaining)}
            rows.append(row | _compared("delta", observed, np.array(drawn)))
    return pd.DataFrame(rows)


def _chosen(matches: Matches, classes: Iterable[str] | None) -> Iterable[OfClass]:
    for name in classes or matches.classes:
        yield matches.of(matches.classes.index(name))


def _delta(of_class: OfClass, sensitive: Attribute, explaining: Factor, options: Options) -> float:
    before, after = deviations(of_class, sensitive, explaining, options)
    return before - after


def _exchanged(of_class: OfClass, sensitive: Attribute, explaining: Factor, rng) -> Factor:
    """The confounder permuted within each group (and class, for one of boxes).

    The attributes of a pair are exchanged each on its own.
    """
    moved = []
    for attribute in explaining:
        groups = sensitive.codes
        if attribute.level == "box":
            kept = np.full(len(attribute.codes), -1)
            rows = of_class.box_row
            kept[rows] = groups[of_class.box_image] if sensitive.level == "image" else groups[rows]
            groups = kept
        elif sensitive.level == "box":
            groups = None  # an image has no single group
        moved.append(shuffled(attribute, rng, groups))
    return tuple(moved)


def _compared(name: str, observed: float, null: np.ndarray) -> dict[str, float]:
    known = null[~np.isnan(null)] if not np.isnan(observed) else null[:0]
    return {
        name: POINTS * observed,
        "null_mean": POINTS * known.mean() if len(known) else np.nan,
        "null_high": POINTS * np.quantile(known, 0.95) if len(known) else np.nan,
        "p": p_value(observed, null),
    }
