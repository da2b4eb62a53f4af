"""Class pairs that a model confuses: Focus of two-class mosaics, ranked (section I-C).

Both outer images of these mosaics are of one class. Where the relevance for a target class falls on
images of another, these have something that the model takes for the target. The paper ranks pairs
by their lowest mean Focus. But a target that is explained poorly comes low with every outer class;
so each pair is also compared with the same target's other pairs. The null there: this outer class
draws no more relevance away than the target's other outer classes do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import scipy.stats
from scipy import sparse

from helpers import stats
from helpers.focus.design import IMAGES, TARGETS
from helpers.focus.design import design as _design
from helpers.focus.intervals import summary

PAIR = ["target", "outer"]
AGAINST = ("same target", "all pairs")
TESTED = ["reference", "difference", "difference_low", "difference_high", "p"]


def design(
    table: pd.DataFrame, classes: Sequence[str], *, per_pair: int = 24, seed: int = 0
) -> pd.DataFrame:
    """Two-class mosaics of every ordered pair: :func:`helpers.focus.design` with one outer class.

    Parameters
    ----------
    table : DataFrame
        Of held-out images, with the column `class`.
    classes : sequence of str
    per_pair : int
        Mosaics of each target and outer class.
    seed : int

    Returns
    -------
    DataFrame
        `per_pair` * K * (K - 1) mosaics of K classes, as from :func:`helpers.focus.design`.
    """
    per_class = per_pair * (len(classes) - 1)
    return _design(table, classes, outer="one class", per_class=per_class, seed=seed)


def matrix(table: pd.DataFrame, value: str = "focus") -> pd.DataFrame:
    """A column's mean for every pair: targets down, outer classes across, NaN on the diagonal.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.focus.rate`, undefined rows being left out, or from :func:`ranked`.
    value : str
    """
    order = sorted({*table["target"], *table["outer"]}, key=list(table["target"]).index)
    means = table.groupby(PAIR)[value].mean().unstack()
    return means.reindex(index=order, columns=order)


def ranked(
    rated: pd.DataFrame,
    *,
    against: str | float = "same target",
    method: str = "holm",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Every ordered pair, the lowest mean Focus first, tested against a null and corrected.

    Parameters
    ----------
    rated : DataFrame
        From :func:`helpers.focus.rate`, of two-class mosaics by one method.
    against : "same target", "all pairs" or a number
        The null of the one-sided test that a pair's mean Focus is lower: that it equals the mean of
        the same target's other pairs, of all other pairs, or that number (0.5 is chance). With two
        classes the first has nothing to compare with: p is NaN.
    method : str
        Of :func:`helpers.stats.adjust`, over all pairs: "holm" or "fdr_bh".
    level : float in (0, 1)
    resamples, seed : int
        Of the means' intervals, which resample source images.

    Returns
    -------
    DataFrame
        target; outer; mosaics; undefined (without positive relevance, left out); focus (mean) with
        low and high; reference (what the null says); difference (focus - reference) with
        difference_low and difference_high; p; p_adjusted; rank (1 is the lowest focus); and
        rank_difference (1 is the lowest difference).

    Raises
    ------
    ValueError
        For several methods, mosaics of more than two classes, or an unknown `against`.
    """
    _check(rated, against)
    known = rated.dropna(subset=["focus"]).reset_index(drop=True)
    table = summary(rated, PAIR, level=level, resamples=resamples, seed=seed)
    table = table.rename(columns={"mean": "focus", "mean_low": "low", "mean_high": "high"})
    table = table[[*PAIR, "mosaics", "undefined", "focus", "low", "high"]]
    tests = [_test(known, row.target, row.outer, against, level) for row in table.itertuples()]
    table = pd.concat([table, pd.DataFrame(tests, columns=TESTED)], axis=1)
    table["p_adjusted"] = stats.adjust(table["p"], method)
    for name, of in (("rank", "focus"), ("rank_difference", "difference")):
        table[name] = table[of].rank(method="min")
    return table.sort_values("focus", kind="stable", ignore_index=True)


def extremes(rated: pd.DataFrame, target: str, outer: str, n: int = 1) -> pd.DataFrame:
    """A pair's mosaics with the highest and the lowest Focus, which a person is to look at.

    Parameters
    ----------
    rated : DataFrame
    target, outer : str
    n : int
        Mosaics of each kind; fewer where the pair has not 2 n.

    Returns
    -------
    DataFrame
        Rows of `rated`, best first, with the column kind: "best" or "worst".

    Raises
    ------
    ValueError
        When there is no such pair with a Focus.
    """
    part = of_pair(rated, target, outer).dropna(subset=["focus"])
    part = part.sort_values("focus", ascending=False, kind="stable")
    if len(part) < 2:
        raise ValueError(f"pair {target!r} beside {outer!r} has {len(part)} mosaics with a Focus")
    n = min(n, len(part) // 2)
    best, worst = part.head(n).assign(kind="best"), part.tail(n).assign(kind="worst")
    return pd.concat([best, worst])


def of_pair(table: pd.DataFrame, target: str, outer: str) -> pd.DataFrame:
    """The rows of one ordered pair."""
    return table[(table["target"] == target) & (table["outer"] == outer)]


def contrast(rated: pd.DataFrame, weights: pd.Series) -> tuple[float, float, int]:
    """A weighted sum of pairs' mean Focus, and its standard error over source images.

    Two mosaics that share an image are not independent, of whichever pairs they are; two that share
    none are. So the variance sums the products of deviations over all couples of mosaics that share
    an image, each couple once (Aronow, Samii and Assenova, *Cluster-robust variance estimation for
    dyadic data*, Political Analysis 23, 2015), times n / (n - 1).

    Parameters
    ----------
    rated : DataFrame
        Without undefined rows.
    weights : Series
        Of the pairs, indexed by (target, outer); mosaics of other pairs do not count.

    Returns
    -------
    value, standard_error : float
    images : int
        n: different images of the class that has fewest of them in these mosaics. The standard
        error has n - 1 degrees of freedom.
    """
    of = pd.MultiIndex.from_frame(rated[PAIR])
    rated, of = rated[of.isin(weights.index)], of[of.isin(weights.index)]
    focus = rated["focus"].groupby([rated[name] for name in PAIR])
    value = float((focus.mean().reindex(weights.index) * weights).sum())
    weight = weights.reindex(of).to_numpy() / focus.transform("size").to_numpy()
    deviation = weight * (rated["focus"] - focus.transform("mean")).to_numpy()
    images = _fewest_images(rated)
    variance = float(deviation @ (_sharing(rated[IMAGES].to_numpy()) @ deviation))
    variance = max(variance, float(deviation @ deviation))  # never less than if all were apart
    return value, float(np.sqrt(variance * images / (images - 1))), images


def _test(known: pd.DataFrame, target: str, outer: str, against, level: float) -> dict:
    """One pair's difference from the null, its two-sided interval and one-sided p."""
    pairs = list(known.groupby(PAIR).groups)
    fixed = not isinstance(against, str)
    others = [] if fixed else [pair for pair in pairs if pair != (target, outer)]
    if against == "same target":
        others = [pair for pair in others if pair[0] == target]
    if (target, outer) not in pairs or not (fixed or others):
        return dict.fromkeys(TESTED, np.nan)
    weights = {(target, outer): 1.0, **dict.fromkeys(others, -1 / max(len(others), 1))}
    value, error, images = contrast(known, pd.Series(weights))
    difference = value - against if fixed else value
    student = scipy.stats.t(images - 1)
    p = float(student.cdf(difference / error)) if error > 0 else float(difference >= 0)
    half = student.ppf((1 + level) / 2) * error
    reference = of_pair(known, target, outer)["focus"].mean() - difference
    found = (reference, difference, difference - half, difference + half, p)
    return dict(zip(TESTED, found, strict=True))


def _sharing(images: np.ndarray) -> sparse.csr_array:
    """Which mosaics share an image, themselves included: N x N of 0 and 1."""
    used, place = np.unique(images, return_inverse=True)
    rows = np.repeat(np.arange(len(images)), images.shape[1])
    shape = (len(images), len(used))
    shows = sparse.csr_array((np.ones(images.size), (rows, place.ravel())), shape=shape)
    shared = shows @ shows.T
    shared.data = (shared.data > 0).astype(float)
    return shared


def _fewest_images(rated: pd.DataFrame) -> int:
    """Images of the class of which these mosaics show the fewest; two at least."""
    target, outer = (rated[name].to_numpy()[:, None] for name in PAIR)
    names = np.where(rated[TARGETS].to_numpy(bool), target, outer)
    images = pd.Series(rated[IMAGES].to_numpy().ravel())
    return int(images.groupby(names.ravel()).nunique().min())


def _check(rated: pd.DataFrame, against) -> None:
    if "method" in rated and rated["method"].nunique() > 1:
        raise ValueError(
            f"{rated['method'].nunique()} methods are mixed here: rank the pairs of one method."
        )
    mixed = rated["outer"].str.contains(" + ", regex=False)
    if mixed.any():
        raise ValueError(
            f"{int(mixed.sum())} mosaics have two outer classes: pairs need mosaics of two "
            "classes, from `helpers.focus.pairs.design`."
        )
    if isinstance(against, str) and against not in AGAINST:
        raise ValueError(f"against={against!r}: use one of {', '.join(AGAINST)}, or a number.")
