"""Permutation nulls: what sigma and Delta look like when nothing is there.

Sigma is never negative and grows with noise, so the groups are permuted between images
(`sigma_null`). Delta is not zero either where an attribute means nothing, so its values are
permuted within each group, which keeps the shares P(e|a) (`delta_null`). A small p of Delta says
that the attribute matters to detection, not that the groups differ in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas
from helpers.icon2.analysis import ALL, POINTS
from helpers.icon2.attributes import Attribute
from helpers.icon2.estimates import evaluate, within
from helpers.icon2.matching import Matches
from helpers.icon2.options import PAPER, Options
from helpers.stats import permutation


def sigma_null(
    matches: Matches,
    sensitive: Attribute,
    *,
    options: Options = PAPER,
    permutations: int = 200,
    seed: int = 0,
    clusters: np.ndarray | None = None,
) -> pd.DataFrame:
    """Sigma of each class, and of their mean, against groups that mean nothing.

    Parameters are those of :func:`helpers.icon2.analyse`; images of one of the `clusters` are
    permuted together. Columns ``class sigma null_mean null_high p p_holm``: AP points; the null's
    95th percentile; the share of permutations with a sigma at least as large, and the same adjusted
    for the number of rows.
    """
    category, ones = matches.boxes.category.to_numpy(), np.ones((1, matches.n_images))
    apart, found = category if sensitive.level == "box" else None, {}
    for name in matches.classes:
        moved = _permuted(matches, sensitive, apart, clusters, permutations, seed)
        found[name] = np.concatenate(
            [evaluate(matches.of(name), (one,), ones, options)[0] for one in moved]
        )
    kept = [ap for ap in found.values() if not np.isnan(ap[0]).any()]
    if len(kept) > 1:
        found = {ALL: np.mean(kept, axis=0)} | found
    table = pd.DataFrame(
        {"class": name} | _compared("sigma", formulas.sigma(ap)) for name, ap in found.items()
    )
    return table.assign(p_holm=stats.adjust(table.p))


def delta_null(
    matches: Matches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute],
    category: str,
    *,
    options: Options = PAPER,
    permutations: int = 100,
    seed: int = 0,
    clusters: np.ndarray | None = None,
) -> pd.DataFrame:
    """Delta of each attribute against labels that mean nothing within each group, for one class.

    Parameters are those of :func:`sigma_null`. Columns ``class attribute delta null_mean null_high
    p``.
    """
    of_class, ones, rows = matches.of(category), np.ones((1, matches.n_images)), []
    before = formulas.sigma(evaluate(of_class, (sensitive,), ones, options)[0])
    group = np.full(len(matches.boxes), -1)
    group[of_class.box_row] = of_class.codes(sensitive)
    of_image = sensitive.codes if sensitive.level == "image" else None  # else no single group
    for explaining in explanatory:
        apart = group if explaining.level == "box" else of_image
        moved = _permuted(matches, explaining, apart, clusters, permutations, seed)
        cells = [within(of_class, sensitive, one, ones, options)[0] for one in moved]
        after = formulas.controlled(np.concatenate(cells), options.averaged)
        row = {"class": category, "attribute": explaining.name}
        rows.append(row | _compared("delta", before - after))
    return pd.DataFrame(rows)


def _permuted(
    matches: Matches, attribute: Attribute, apart, clusters, permutations: int, seed: int
) -> Iterator[Attribute]:
    """The attribute, and then with its known codes permuted, again and again.

    Codes move only between entries with the same number in `apart`. Those of boxes move from all
    boxes of an image to those of another, since single boxes, which resemble their neighbours,
    would give too narrow a null. With `clusters`, those of whole clusters of images move together.
    """
    together = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    if attribute.level == "box":
        image = matches.boxes.image.to_numpy()
        together = image if together is None else together[image]
    apart = np.zeros(len(attribute.codes), int) if apart is None else apart
    known, rng = attribute.codes >= 0, np.random.default_rng(seed)
    yield attribute
    for _ in range(permutations):
        codes = attribute.codes.copy()
        for group in np.unique(apart[known]):
            where = np.flatnonzero(known & (apart == group))
            if together is None:
                codes[where] = rng.permutation(codes[where])
            else:
                codes[where] = codes[where[permutation.Clusters(together[where]).between(rng)]]
        yield replace(attribute, codes=codes)


def _compared(name: str, values: np.ndarray) -> dict[str, float]:
    """The first value beside its null, the others: mean, 95th percentile, and p-value."""
    observed, null = values[0], values[1:][~np.isnan(values[1:])]
    known = len(null) and not np.isnan(observed)
    return {
        name: POINTS * observed,
        "null_mean": POINTS * null.mean() if known else np.nan,
        "null_high": POINTS * np.quantile(null, 0.95) if known else np.nan,
        "p": (1 + (null >= observed).sum()) / (1 + len(null)) if known else np.nan,
    }
