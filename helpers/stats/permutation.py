"""Permutation tests of a family of statistics, and random permutations of labels.

Labels can be permuted within strata, and between clusters of rows that belong together.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import scipy.stats
from statsmodels.stats.multitest import multipletests

# the least number of clusters of about one size among which labels are exchanged
FEWEST_CLUSTERS = 20


def permuted_labels(
    labels: np.ndarray,
    rng: np.random.Generator,
    *,
    strata: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
    within_clusters: bool = False,
) -> Iterator[np.ndarray]:
    """Yield the labels in a random order, without end.

    The labels of a cluster move together to another cluster of nearly the same size.
    They are stretched or squeezed to fit it. Permuting single rows would give too
    narrow a null.

    Parameters
    ----------
    labels : array of shape (n,)
        Labels, such as groups. Row numbers give the order itself, to permute several
        columns of labels together.
    rng : numpy.random.Generator
    strata : array of shape (n,), optional
        Labels are permuted only within each stratum.
    clusters : array of shape (n,), optional
        The cluster of each row. Each row is a cluster of its own by default.
    within_clusters : bool, default=False
        Whether to permute labels within clusters too, if labels vary within any
        cluster.

    Yields
    ------
    array of shape (n,)

    Examples
    --------
    >>> orders = permuted_labels(np.arange(6), np.random.default_rng(0))
    >>> sorted(next(orders).tolist())
    [0, 1, 2, 3, 4, 5]
    """
    labels = np.asarray(labels)
    n = len(labels)
    if strata is None:
        strata = np.zeros(n, int)
    if clusters is None:
        clusters = np.arange(n)
    clusters = np.asarray(clusters)
    parts = []
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        together = clusters[rows]
        orders = [_orders_between(together, rng)]
        if within_clusters and _vary_within(labels[rows], together):
            orders.append(_orders_within(together, rng))
        parts.append((rows, orders))
    while True:
        permuted = labels.copy()
        for rows, orders in parts:
            for order in orders:
                permuted[rows] = permuted[rows][next(order)]
        yield permuted


def permutation_test(observed: np.ndarray, null: np.ndarray) -> pd.DataFrame:
    """Test a family of statistics against their values under random permutations.

    Parameters
    ----------
    observed : array of shape (S,)
        Statistics of the data. A large value speaks against the null hypothesis.
    null : array of shape (P, S)
        The same statistics of P permutations. NaN counts as large.

    Returns
    -------
    pandas.DataFrame
        One row per statistic. ``p`` is the share of orders, the observed one included,
        whose value is at least as large as the observed value. ``p_adjusted`` is
        `min_p`. Both are NaN if the statistic is NaN or the same in all permutations.
    """
    observed = np.asarray(observed, float)
    null = np.asarray(null, float)
    lowest = np.nanmin(null, axis=0, initial=np.inf)
    highest = np.nanmax(null, axis=0, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        varies = highest - lowest > 1e-12
    tested = np.flatnonzero(varies & ~np.isnan(observed))
    index = range(len(observed))
    table = pd.DataFrame(np.nan, index, ["p", "p_adjusted"])
    if len(tested):
        orders = np.vstack([observed, null])
        p = np.apply_along_axis(_share_as_large, 0, orders[:, tested])
        table.loc[tested, "p"] = p[0]
        table.loc[tested, "p_adjusted"] = min_p(p)
    return table


def min_p(p: np.ndarray) -> np.ndarray:
    """Adjust p values for their number by the step-down min-p method.

    The chance of any false positive is at most the level, whether all null hypotheses
    are true or only some. Holm's method has the same guarantee, but it ignores that the
    p values of a family are correlated, so it detects less.

    Parameters
    ----------
    p : array of shape (P + 1, S)
        The p value of S statistics in the data (row 0) and in each of P permutations,
        all computed among these P + 1 orders.

    Returns
    -------
    array of shape (S,)
        Adjusted p values.

    References
    ----------
    Westfall and Young, *Resampling-Based Multiple Testing*, 1993, algorithm 2.8.
    """
    p = np.asarray(p, float)
    largest_first = np.argsort(-p[0], kind="stable")
    # the smallest p of each statistic and of all those with a larger observed p
    p = p[:, largest_first]
    smallest = np.minimum.accumulate(p, axis=1)
    share = (smallest <= p[0] + 1e-12).mean(0)
    # an adjusted p is no smaller than that of any smaller observed p
    share = np.maximum.accumulate(share[::-1])[::-1]
    adjusted = np.empty_like(share)
    adjusted[largest_first] = share
    return adjusted


def adjust(p_values: np.ndarray, method: str = "holm") -> np.ndarray:
    """Adjust p values for their number, from the p values alone.

    Parameters
    ----------
    p_values : array_like of shape (S,)
        NaN is not counted.
    method : str, default="holm"
        As in `statsmodels.stats.multitest.multipletests`: "holm" controls the chance of
        any false positive, "fdr_bh" the share of false positives.

    Returns
    -------
    array of shape (S,)
    """
    p_values = np.asarray(p_values, float)
    known = ~np.isnan(p_values)
    adjusted = np.full(p_values.shape, np.nan)
    if known.any():
        adjusted[known] = multipletests(p_values[known], method=method)[1]
    return adjusted


def _share_as_large(values: np.ndarray) -> np.ndarray:
    """Return the share of values at least as large as each; NaN is largest."""
    finite = values[np.isfinite(values)]
    size = np.abs(finite).max(initial=0) or 1.0
    values = np.where(np.isnan(values), np.inf, values)
    # equal values can differ in the last digit
    rounded = np.round(values / size, 9)
    rank = scipy.stats.rankdata(-rounded, method="max")
    return rank / len(values)


def _vary_within(labels: np.ndarray, clusters: np.ndarray) -> bool:
    """Return whether any cluster has rows with different labels."""
    by_cluster = pd.Series(labels).groupby(clusters)
    return by_cluster.nunique().max() > 1


def _orders_between(
    clusters: np.ndarray, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield for each row the row of another cluster whose label it takes.

    Clusters of about one size are permuted. If a cluster of 2 rows gets the labels of a
    cluster of 4, its rows take the second and the fourth.
    """
    cluster = pd.factorize(clusters, sort=True)[0]
    size = np.bincount(cluster)
    size_classes = _size_classes(size)
    # rows sorted by cluster; those of cluster i begin at first[i]
    rows = np.argsort(cluster, kind="stable")
    cluster = cluster[rows]
    first = np.cumsum(size) - size
    middle = np.arange(len(rows)) - first[cluster] + 0.5  # of a row in its cluster
    donor = np.arange(len(size))  # the cluster from which each cluster takes labels
    while True:
        for members in size_classes:
            donor[members] = rng.permutation(members)
        stretch = size[donor] / size
        place = (middle * stretch[cluster]).astype(int)
        place += first[donor][cluster]
        order = np.empty_like(rows)
        order[rows] = rows[place]
        yield order


def _size_classes(size: np.ndarray) -> list[np.ndarray]:
    """Split the numbers of clusters into classes of nearly the same size.

    Each class has at least `FEWEST_CLUSTERS`, unless there are fewer in all.
    """
    by_size = np.argsort(size, kind="stable")
    cuts = []
    begin = 0
    for end in np.flatnonzero(np.diff(size[by_size])) + 1:
        fewer = min(end - begin, len(size) - end)
        if fewer >= FEWEST_CLUSTERS:
            cuts.append(end)
            begin = end
    return np.split(by_size, cuts)


def _orders_within(
    clusters: np.ndarray, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield for each row the row whose label it takes, from its own cluster."""
    rows = np.argsort(clusters, kind="stable")
    while True:
        random = rng.random(len(rows))
        order = np.empty_like(rows)
        order[rows] = np.lexsort((random, clusters))
        yield order
