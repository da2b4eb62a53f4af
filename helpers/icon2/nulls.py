"""A permutation null: what sigma looks like when the groups mean nothing.

Sigma is never negative and grows with noise, so the groups are permuted between images.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas
from helpers.icon2.analysis import ALL, POINTS
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import evaluate
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
    ones, found = np.ones((1, matches.n_images)), {}
    moved = list(_permuted(matches, sensitive, clusters, permutations, seed))
    for name in matches.classes:
        of_class = matches.of(name)
        found[name] = np.concatenate(
            [evaluate(of_class, (one,), ones, options)[0] for one in moved]
        )
    kept = [ap for ap in found.values() if not np.isnan(ap[0]).any()]
    if len(kept) > 1:
        found = {ALL: np.mean(kept, axis=0)} | found
    table = pd.DataFrame(
        {"class": name} | _compared(formulas.sigma(ap)) for name, ap in found.items()
    )
    return table.assign(p_holm=stats.adjust(table.p))


def _permuted(
    matches: Matches, attribute: Attribute, clusters, permutations: int, seed: int
) -> Iterator[Attribute]:
    """The attribute, and then with its known codes permuted, again and again.

    Codes of boxes move within their class, and from all boxes of an image to those of another,
    since single boxes, which resemble their neighbours, would give too narrow a null. With
    `clusters`, those of whole clusters of images move together.
    """
    together = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    apart = np.zeros(len(attribute.codes), int)
    if attribute.level == "box":
        image, apart = matches.boxes.image.to_numpy(), matches.boxes.category.to_numpy()
        together = image if together is None else together[image]
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


def _compared(values: np.ndarray) -> dict[str, float]:
    """The first sigma beside its null, the others: mean, 95th percentile, and p-value."""
    observed, null = values[0], values[1:][~np.isnan(values[1:])]
    known = len(null) and not np.isnan(observed)
    return {
        "sigma": POINTS * observed,
        "null_mean": POINTS * null.mean() if known else np.nan,
        "null_high": POINTS * np.quantile(null, 0.95) if known else np.nan,
        "p": (1 + (null >= observed).sum()) / (1 + len(null)) if known else np.nan,
    }
