"""What sigma and Delta look like when nothing is there: permutation nulls.

Sigma is never negative and grows with noise, so a sigma by itself says little: under no effect at
all 150 boxes a group give about 2 AP points. Two nulls answer two questions.

``sensitive``: the groups are exchanged between images. Is sigma larger than with groups that mean
nothing?

``explanatory``: the confounder is exchanged within each group, so that every group keeps its
shares P(e|a) but e no longer has anything to do with how hard a box is. Is Delta larger than by
controlling for a label that means nothing? Small strata make Delta of an attribute of images
negative; values of boxes share their false positives, so that all APs and their sigma are lower
within a value, and Delta is positive for a label that means nothing. A small p says that e matters
to detection, not yet that e differs between the groups: where strata are of unequal difficulty
sigma shrinks in the hard ones, and Delta can be positive though P(e|a) is the same for all.
Standardisation does not have that fault.

What is exchanged is whole: an attribute of images moves from image to image, one of boxes from the
boxes of an image to those of another, since the boxes of one image resemble each other and single
boxes would give too narrow a null. With `clusters`, whole clusters of images are exchanged. Under
COCO's rule for false positives (an option) detections keep their own values of size or aspect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from helpers import stats
from helpers.detection import Matches, OfClass
from helpers.icon2 import statistics
from helpers.icon2.attributes import Attribute
from helpers.icon2.cells import Factor, factor, name_of
from helpers.icon2.estimates import controlled, group_ap
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
    clusters: np.ndarray | None = None,
) -> pd.DataFrame:
    """Sigma of each class, and of their mean, against groups that mean nothing.

    Parameters
    ----------
    clusters : array (n images,), optional
        Images that belong together, such as frames of one video, are exchanged together.

    Returns
    -------
    DataFrame
        ``class sigma null_mean null_high p p_holm``: AP points; ``null_high`` is the null's 95th
        percentile, ``p`` the share of permutations with a sigma at least as large, ``p_holm``
        the same adjusted for the number of rows.
    """
    options, found = options or Options(), {}
    apart = matches.boxes.category.to_numpy() if sensitive.level == "box" else None
    together = _together(matches, sensitive, clusters)
    for of_class in _chosen(matches, classes):
        rng = np.random.default_rng(seed)  # the same shuffles for every class
        again = (shuffled(sensitive, rng, apart, together) for _ in range(permutations))
        given = [sensitive, *again]
        found[of_class.name] = np.array([group_ap(of_class, one, options) for one in given])
    kept = [ap for ap in found.values() if not np.isnan(ap[0]).any()]
    if len(kept) > 1:
        found = {ALL: np.mean(kept, axis=0)} | found
    spread = {name: statistics.sigma(ap, options.ddof) for name, ap in found.items()}
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
    options: Options | None = None,
    permutations: int = 100,
    seed: int = 0,
    shuffle: str = "explanatory",
    clusters: np.ndarray | None = None,
) -> pd.DataFrame:
    """Delta of each class and confounder against labels that mean nothing.

    Parameters
    ----------
    shuffle
        ``explanatory`` or ``sensitive``: see the module's first lines.
    clusters : array (n images,), optional
        Images that belong together are exchanged together.

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
    options, rows = options or Options(), []
    for of_class in _chosen(matches, classes):
        for explaining in map(factor, explanatory):
            rng = np.random.default_rng(seed)
            before = _sigma(of_class, sensitive, options)
            observed = before - controlled(of_class, sensitive, explaining, options)
            drawn = []
            for _ in range(permutations):
                if shuffle == "sensitive":
                    (moved,) = _exchanged(matches, of_class, None, (sensitive,), clusters, rng)
                    after = controlled(of_class, moved, explaining, options)
                    drawn.append(_sigma(of_class, moved, options) - after)
                else:
                    moved = _exchanged(matches, of_class, sensitive, explaining, clusters, rng)
                    drawn.append(before - controlled(of_class, sensitive, moved, options))
            row = {"class": of_class.name, "attribute": name_of(explaining)}
            rows.append(row | _compared("delta", observed, np.array(drawn)))
    return pd.DataFrame(rows)


def _chosen(matches: Matches, classes: Iterable[str] | None) -> Iterable[OfClass]:
    for name in classes or matches.classes:
        yield matches.of(matches.classes.index(name))


def _sigma(of_class: OfClass, sensitive: Attribute, options: Options) -> float:
    return float(statistics.sigma(group_ap(of_class, sensitive, options), options.ddof))


def _together(matches: Matches, attribute: Attribute, clusters) -> np.ndarray | None:
    """Number of the cluster of each entry of an attribute; None: each for itself."""
    of = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    if attribute.level == "image":
        return of
    image = matches.boxes.image.to_numpy()
    return image if of is None else of[image]


def _exchanged(matches, of_class, sensitive, attributes: Factor, clusters, rng) -> Factor:
    """Attributes permuted: within each sensitive group if given, those of boxes within the class.

    The attributes of a pair are exchanged each on its own.
    """
    moved = []
    for attribute in attributes:
        groups = _groups(of_class, sensitive, attribute)
        moved.append(shuffled(attribute, rng, groups, _together(matches, attribute, clusters)))
    return tuple(moved)


def _groups(of_class: OfClass, sensitive: Attribute | None, attribute: Attribute):
    """Between which entries of an attribute its values are exchanged."""
    if attribute.level == "box":
        kept, rows = np.full(len(attribute.codes), -1), of_class.box_row
        if sensitive is None:
            kept[rows] = 0
        else:
            of_image = sensitive.level == "image"
            kept[rows] = sensitive.codes[of_class.box_image if of_image else rows]
        return kept
    if sensitive is None or sensitive.level == "box":
        return None  # an image has no single group
    return sensitive.codes


def _compared(name: str, observed: float, null: np.ndarray) -> dict[str, float]:
    known = null[~np.isnan(null)] if not np.isnan(observed) else null[:0]
    return {
        name: POINTS * observed,
        "null_mean": POINTS * known.mean() if len(known) else np.nan,
        "null_high": POINTS * np.quantile(known, 0.95) if len(known) else np.nan,
        "p": p_value(observed, null),
    }
