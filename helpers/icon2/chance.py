"""Test the spread of average precision over groups against random groups."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas
from helpers.icon2.analysis import ALL, POINTS
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import PAPER, Options, evaluate
from helpers.icon2.matching import Matches


def sigma_null(
    matches: Matches,
    sensitive: Attribute,
    *,
    options: Options = PAPER,
    permutations: int = 200,
    seed: int = 0,
    clusters=None,
    formulas: SimpleNamespace = formulas,
) -> pd.DataFrame:
    """Test sigma of each class, and of their mean, by permuting groups between images.

    Groups of boxes are permuted between the boxes of a class, where the boxes of an
    image stay together.

    Parameters
    ----------
    clusters : array of shape (n images,), optional
        Images of one cluster are permuted together.
    formulas : namespace
        Lesson 08 passes its own.

    Returns
    -------
    pandas.DataFrame
        ``null_mean`` and ``null_high`` are the mean and the 95th percentile of the
        permutations (AP points), ``p`` is the share of permutations with a sigma at
        least as large, and ``p_holm`` its adjustment for the number of rows.
    """
    orders = _random_groups(matches, sensitive, clusters, seed)
    groups = [sensitive, *itertools.islice(orders, permutations)]
    each_once = np.ones((1, matches.n_images))
    group_ap = {}
    for name in matches.classes:
        of_class = matches.of(name)
        rows = []
        for attribute in groups:
            formula = formulas.average_precision
            ap, _ = evaluate(of_class, [attribute], each_once, options, formula)
            rows.append(ap)
        group_ap[name] = np.concatenate(rows)
    estimable = [ap for ap in group_ap.values() if not np.isnan(ap[0]).any()]
    if len(estimable) > 1:
        group_ap = {ALL: np.mean(estimable, axis=0)} | group_ap
    sigmas = pd.DataFrame()
    for name, ap in group_ap.items():
        sigmas[name] = POINTS * formulas.sigma(ap)
    observed = sigmas.iloc[0]
    null = sigmas.iloc[1:]
    columns = {
        "sigma": observed,
        "null_mean": null.mean(),
        "null_high": null.quantile(0.95),
        "p": (1 + (null >= observed).sum()) / (1 + null.count()),
    }
    is_known = observed.notna() & (null.count() > 0)
    table = pd.DataFrame(columns).where(is_known)
    table = table.rename_axis("class").reset_index()
    return table.assign(p_holm=stats.adjust(table["p"]))


def _random_groups(
    matches: Matches, attribute: Attribute, clusters, seed: int
) -> Iterator[Attribute]:
    """Yield the attribute with randomly permuted values, without end."""
    unit = np.arange(matches.n_images) if clusters is None else np.asarray(clusters)
    strata = np.zeros(len(attribute.codes), int)
    if attribute.level == "box":
        unit = unit[matches.boxes["image"]]
        strata = matches.boxes["category"].to_numpy()
    known = attribute.codes >= 0
    orders = stats.permuted_labels(
        attribute.codes[known],
        np.random.default_rng(seed),
        strata=strata[known],
        clusters=unit[known],
    )
    for order in orders:
        codes = attribute.codes.copy()
        codes[known] = order
        yield replace(attribute, codes=codes)
