"""Intervals for Focus that know that mosaics share images, and differences between methods.

A test split has far fewer images than there are mosaics of it: an image that a model finds hard
makes all its mosaics hard. So images are what is resampled. Each resample counts a random half of
each class's images twice and the others not at all; a mosaic weighs what its four images weigh on
average. An image then has a quarter of the say that it would have alone, so deviations are taken
four times.

That counts two mosaics once for each image that they share, and so a mosaic's own scatter four
times. What is counted too often is known (Aronow, Samii and Assenova 2015 do so for pairs) and is
taken back: the deviations are shrunk by the ratio of the two standard deviations. And they are
widened, as a class's mean is taken from the very images it is to judge: by (n + 1) / (n - 1) for n
images a class, and by Student's quantile over the normal's. Simulated coverage of 95% intervals is
90 to 98% (tests/test_focus_intervals.py).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.stats
from scipy import sparse

from helpers.focus.design import CELLS, IMAGES, TARGETS
from helpers.stats import Interval

RESAMPLES = 1000
AT_A_TIME = 200  # resamples, and thousands of mosaics, held in memory


def summary(
    rated: pd.DataFrame,
    by: list[str] | None = None,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> pd.DataFrame:
    """Mean and median Focus of each method, with intervals that resample source images.

    Parameters
    ----------
    rated : DataFrame
        From :func:`helpers.focus.rate`; several may be concatenated.
    by : list of str, optional
        Columns that tell ratings apart, each of one image set; None is `["method"]`.
    level : float in (0, 1)
    resamples, seed : int

    Returns
    -------
    DataFrame
        One row a rating: the columns `by`; mosaics; images (different ones); undefined (mosaics
        without positive relevance, left out of the rest); mean, median (with `_low` and `_high`);
        seconds (a mosaic, mean). NaN where nothing is defined.
    """
    rows = []
    for names, part in rated.groupby(by or ["method"], sort=False, observed=True):
        row = dict(zip(by or ["method"], names, strict=True)) | {"mosaics": len(part)}
        row["images"] = len(np.unique(part[IMAGES]))
        row["undefined"] = int(part["focus"].isna().sum())
        known = part.dropna(subset=["focus"])
        for what, of in (("mean", mean), ("median", median)):
            estimate, low, high = of(known, level=level, resamples=resamples, seed=seed)
            row |= {what: estimate, f"{what}_low": low, f"{what}_high": high}
        rows.append(row | {"seconds": part["seconds"].mean() if "seconds" in part else np.nan})
    return pd.DataFrame(rows)


def differences(
    first: pd.DataFrame,
    second: pd.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict:
    """Mean difference in Focus between two methods on the same mosaics.

    Parameters
    ----------
    first, second : DataFrame
        Ratings of the same design.
    level, resamples, seed
        As for :func:`summary`.

    Returns
    -------
    dict
        first, second (the methods); mosaics (where both are defined); undefined (where one is not);
        difference (first - second), low, high; p (two-sided, of no difference).

    Raises
    ------
    ValueError
        For ratings of different mosaics.
    """
    same = [*IMAGES, *TARGETS, "target"]
    if len(first) != len(second) or (first[same].to_numpy() != second[same].to_numpy()).any():
        raise ValueError("The two ratings are of different mosaics: rate both on one design.")
    gap = first.assign(focus=first["focus"].to_numpy() - second["focus"].to_numpy())
    known = gap.dropna(subset=["focus"])
    estimate, deviations = _resampled(known, "mean", resamples, seed)
    low, high = _ends(estimate, deviations, level)
    p = (1 + (abs(deviations) >= abs(estimate)).sum()) / (1 + len(deviations))
    row = {"first": first["method"].iloc[0], "second": second["method"].iloc[0]}
    row |= {"mosaics": len(known), "undefined": len(gap) - len(known), "difference": estimate}
    return row | {"low": low, "high": high, "p": p if len(known) else np.nan}


def mean(rated: pd.DataFrame, *, level=0.95, resamples=RESAMPLES, seed=0) -> Interval:
    """Mean Focus of one rating without undefined rows, its interval resampling source images."""
    return _interval(rated, "mean", level, resamples, seed)


def median(rated: pd.DataFrame, *, level=0.95, resamples=RESAMPLES, seed=0) -> Interval:
    """Median Focus, as :func:`mean`."""
    return _interval(rated, "median", level, resamples, seed)


def _interval(rated, what, level, resamples, seed) -> Interval:
    estimate, deviations = _resampled(rated, what, resamples, seed)
    low, high = _ends(estimate, deviations, level)
    return Interval(estimate, *np.clip((low, high), 0, 1).tolist())


def _ends(estimate: float, deviations: np.ndarray, level: float) -> tuple[float, float]:
    if len(deviations) == 0:
        return np.nan, np.nan
    low, high = np.quantile(deviations, [(1 - level) / 2, (1 + level) / 2])
    return estimate + float(low), estimate + float(high)


def _resampled(rated: pd.DataFrame, what: str, resamples: int, seed: int):
    """The estimate, and how far resampling images moves it, (resamples,); NaN and () of nothing."""
    values = rated["focus"].to_numpy(dtype=float)
    if len(values) == 0:
        return np.nan, np.empty(0)
    shows, group = _shown(rated)
    estimate = float(np.mean(values) if what == "mean" else np.median(values))
    influence = values - estimate if what == "mean" else np.sign(values - estimate)
    if not influence.any():
        return estimate, np.zeros(resamples)
    rng, found = np.random.default_rng(seed), []
    for start in range(0, resamples, AT_A_TIME):
        signs = _halves(group, min(AT_A_TIME, resamples - start), rng)
        weights = 1 + shows @ signs / CELLS
        found.append(_mean(values, weights) if what == "mean" else _median(values, weights))
    deviations = CELLS * (np.concatenate(found) - estimate)
    scale = _shrink(shows, influence, rated["target"].to_numpy(), group) * _widen(group)
    return estimate, deviations * scale


def _shown(rated: pd.DataFrame) -> tuple[sparse.csr_array, np.ndarray]:
    """Which mosaic shows which image (N x images), and the target class each image stands for."""
    images = rated[IMAGES].to_numpy()
    used, place = np.unique(images, return_inverse=True)
    place = place.reshape(images.shape)
    rows = np.repeat(np.arange(len(images)), CELLS)
    shape = (len(images), len(used))
    shows = sparse.csr_array((np.ones(images.size, np.float32), (rows, place.ravel())), shape)
    group, targets = np.full(len(used), "", dtype=object), rated[TARGETS].to_numpy(dtype=bool)
    names = np.broadcast_to(rated["target"].to_numpy()[:, None], images.shape)
    group[place[targets]] = names[targets]
    return shows, group


def _halves(group: np.ndarray, resamples: int, rng) -> np.ndarray:
    """+1 for a random half of each group's images, -1 for the others: (images, resamples)."""
    signs = np.empty((len(group), resamples), np.float32)
    for name in sorted(set(group.tolist())):
        at = np.flatnonzero(group == name)
        half = np.where(np.arange(len(at)) % 2, 1, -1).astype(np.float32)
        flipped = half[:, None] * rng.choice([-1, 1], resamples).astype(np.float32)
        signs[at] = rng.permuted(flipped, axis=0)
    return signs


def _mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return values @ weights / weights.sum(0)


def _median(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    order = np.argsort(values)
    below = np.cumsum(weights[order], axis=0)
    return values[order][(below >= below[-1] / 2).argmax(0)]


def _shrink(shows: sparse.csr_array, influence: np.ndarray, targets, group) -> float:
    """Standard deviation with each pair of mosaics counted once, over that of the resamples."""
    within = influence - pd.Series(influence).groupby(targets).transform("mean").to_numpy()
    sums = pd.Series(shows.T @ within).groupby(group)
    several = float((sums.transform("var").fillna(0).to_numpy()).sum())
    too_often, step = 0.0, 1000
    for start in range(0, len(within), step):
        shared = shows[start : start + step] @ shows.T
        shared.data = (shared.data - 1).clip(min=0)
        too_often += float(within[start : start + step] @ (shared @ within))
    share = 1 - too_often / several if several > 0 else 1.0
    return float(np.sqrt(np.clip(share, 1 / CELLS, 1)))


def _widen(group: np.ndarray) -> float:
    """What small classes need: found right by simulation from 5 images a class on."""
    images, classes = len(group), len(set(group.tolist()))
    each = max(images / classes, 2)
    free = max(images - classes, 1)
    student = scipy.stats.t.ppf(0.975, free) / scipy.stats.norm.ppf(0.975)
    return float((each + 1) / (each - 1) * student)
