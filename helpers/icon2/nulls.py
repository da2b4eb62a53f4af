"""Permutation nulls: what sigma and Delta look like when nothing is there.

Sigma is never negative and grows with noise: under no effect at all 150 boxes a group give about 2
AP points. So the groups are permuted between images (`sigma_null`), or a confounder within each
group, which keeps the shares P(e|a) (`delta_null`). Under that null Delta is negative for
attributes of images, whose strata are small, and positive for those of boxes, whose values share
their false positives. A small p says that e matters to detection, not yet that the groups differ in
it: sigma shrinks in hard strata, so that Delta can be positive though P(e|a) is the same for all.
Standardisation does not have that fault.

An attribute of images moves from image to image. One of boxes moves from all boxes of an image to
those of another, since single boxes, which resemble their neighbours, would give too narrow a null.
With `clusters`, whole clusters of images are permuted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas
from helpers.icon2.analysis import ALL, POINTS
from helpers.icon2.attributes import Attribute
from helpers.icon2.cells import factor, name_of
from helpers.icon2.estimates import controlled, group_ap
from helpers.icon2.matching import ClassMatches, Matches
from helpers.icon2.options import PAPER, Options
from helpers.stats import permutation


def sigma_null(
    matches: Matches,
    sensitive: Attribute,
    *,
    classes: Iterable[str] | None = None,
    options: Options = PAPER,
    permutations: int = 200,
    seed: int = 0,
    clusters: np.ndarray | None = None,
) -> pd.DataFrame:
    """Sigma of each class, and of their mean, against groups that mean nothing.

    Parameters are those of :func:`helpers.icon2.analyse`; with `clusters` (n images,), images that
    belong together, such as frames of one video, are permuted together.

    Returns
    -------
    DataFrame
        ``class sigma null_mean null_high p p_holm``: AP points; ``null_high`` is the null's 95th
        percentile, ``p`` the share of permutations with a sigma at least as large, ``p_holm``
        the same adjusted for the number of rows.
    """
    apart = matches.boxes.category.to_numpy() if sensitive.level == "box" else None
    together, found = _together(matches, sensitive, clusters), {}
    for name in classes or matches.classes:
        of_class = matches.of(name)
        rng = np.random.default_rng(seed)  # the same permutations for every class
        ap = [group_ap(of_class, sensitive, options)]
        for _ in range(permutations):
            moved = permuted(sensitive, rng, apart, together)
            ap.append(group_ap(of_class, moved, options))
        found[name] = np.array(ap)
    kept = [ap for ap in found.values() if not np.isnan(ap[0]).any()]
    if len(kept) > 1:
        found = {ALL: np.mean(kept, axis=0)} | found
    spread = {name: formulas.sigma(ap, options.ddof) for name, ap in found.items()}
    table = pd.DataFrame(
        {"class": name} | _compared("sigma", s[0], s[1:]) for name, s in spread.items()
    )
    return table.assign(p_holm=stats.adjust(table.p))


def delta_null(
    matches: Matches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute | Sequence[Attribute]],
    *,
    classes: Iterable[str] | None = None,
    options: Options = PAPER,
    permutations: int = 100,
    seed: int = 0,
    clusters: np.ndarray | None = None,
) -> pd.DataFrame:
    """Delta of each class and confounder against labels that mean nothing within each group.

    Parameters are those of :func:`sigma_null`; the attributes of a pair are permuted each on its
    own.

    Returns
    -------
    DataFrame
        ``class attribute delta null_mean null_high p``.
    """
    rows = []
    for name in classes or matches.classes:
        of_class = matches.of(name)
        before = formulas.sigma(group_ap(of_class, sensitive, options), options.ddof)
        for explaining in map(factor, explanatory):
            rng = np.random.default_rng(seed)
            asked = [
                (_within(of_class, sensitive, a), _together(matches, a, clusters))
                for a in explaining
            ]
            delta = [before - controlled(of_class, sensitive, explaining, options)]
            for _ in range(permutations):
                pairs = zip(explaining, asked, strict=True)
                moved = tuple(permuted(a, rng, *how) for a, how in pairs)
                delta.append(before - controlled(of_class, sensitive, moved, options))
            row = {"class": name, "attribute": name_of(explaining)}
            rows.append(row | _compared("delta", delta[0], np.array(delta[1:])))
    return pd.DataFrame(rows)


def permuted(
    attribute: Attribute,
    rng: np.random.Generator,
    within: np.ndarray | None = None,
    together: np.ndarray | None = None,
) -> Attribute:
    """The attribute with its known codes permuted.

    Codes move only between entries with the same number in `within`. Entries with the same number
    in `together` are a cluster: each takes the codes of another of nearly its size, whole where
    the sizes are equal, else stretched or squeezed to fit.
    """
    codes = attribute.codes.copy()
    within = np.zeros(len(codes), int) if within is None else within
    known = codes >= 0
    for group in np.unique(within[known]):
        where = np.flatnonzero(known & (within == group))
        if together is None:
            codes[where] = rng.permutation(codes[where])
        else:
            codes[where] = codes[where[permutation.Clusters(together[where]).between(rng)]]
    return replace(attribute, codes=codes)


def _together(matches: Matches, attribute: Attribute, clusters) -> np.ndarray | None:
    """Number of the cluster of each entry of an attribute; None: each for itself."""
    of = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    if attribute.level == "image":
        return of
    image = matches.boxes.image.to_numpy()
    return image if of is None else of[image]


def _within(of_class: ClassMatches, sensitive: Attribute, attribute: Attribute):
    """Group of each entry of an attribute; for one of boxes -1 outside of the class."""
    if attribute.level == "box":
        group, rows = np.full(len(attribute.codes), -1), of_class.box_row
        of_image = sensitive.level == "image"
        group[rows] = sensitive.codes[of_class.box_image if of_image else rows]
        return group
    return None if sensitive.level == "box" else sensitive.codes  # an image has no single group


def _compared(name: str, observed: float, null: np.ndarray) -> dict[str, float]:
    """Beside its null: mean, 95th percentile and p-value, the observed one counted in."""
    null = null[~np.isnan(null)]
    known = len(null) and not np.isnan(observed)
    return {
        name: POINTS * observed,
        "null_mean": POINTS * null.mean() if known else np.nan,
        "null_high": POINTS * np.quantile(null, 0.95) if known else np.nan,
        "p": (1 + (null >= observed).sum()) / (1 + len(null)) if known else np.nan,
    }
