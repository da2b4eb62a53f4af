"""Intervals, tests and multiplicity, for samples of which trainings and images are the units.
Trainings of a model and images are both drawn, and every interval speaks of both."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from helpers.stats.interval import components, crossed_error, student

UPPER = 0.975  # intervals are of 95% where nothing else is said
ALIKE = 20  # clusters of about one size, at least, among which labels are exchanged


class Interval(NamedTuple):
    """An estimate and the ends of its interval; NaN ends where the data cannot give one."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """What was measured for one claim."""

    claim: str  # its id
    # value, lower and upper end, in the claim's quantity; None or NaN where a run cannot measure it
    interval: tuple[float, float, float] | None = None
    # what the claim is about: fills the sentence's ``{names}`` and tells its estimates apart
    of: Mapping[str, object] = field(default_factory=dict)
    # corrected for multiplicity: it decides, with the side of the value, and not the interval
    p: float | None = None
    note: str = ""  # what the reader must know of this value, or why it is not measured
    # the same quantity of networks that cannot know what is claimed
    reference: tuple[float, float, float] | None = None


def wilson(k, n):
    """Low and high of Wilson's 95% interval of shares k / n, numbers or arrays; (0, 1) of 0 / 0."""
    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    if not ((k >= 0) & (k <= n)).all():
        raise ValueError(f"k must lie in 0..n, but k={k.tolist()} for n={n.tolist()}")
    low, high = proportion_confint(k, np.where(n > 0, n, 1), method="wilson")
    # The closed form misses 0 and 1 by a last digit at k = 0 and k = n.
    low, high = (
        np.where((n == 0) | (k == 0), 0.0, low),
        np.where((n == 0) | (k == n), 1.0, high),
    )
    return (float(low), float(high)) if k.ndim == 0 else (low, high)


@dataclass(frozen=True)
class Mean:
    """A mean over trainings and images, and how far it may be from the mean over all such."""

    estimate: float
    error: float  # standard error; NaN where the data cannot give one
    freedom: float  # degrees of freedom of `error`, for Student's distribution

    def interval(self, level: float = 0.95) -> Interval:
        """Student's interval."""
        return Interval(
            self.estimate, *student(self.estimate, self.error, self.freedom, level)
        )

    @property
    def p(self) -> float:
        """Two-sided p-value of "the mean is zero"; 1 where all values are zero."""
        if self.error == 0:
            return float(self.estimate == 0)
        return float(
            2 * scipy.stats.t.sf(abs(self.estimate) / self.error, self.freedom)
        )


def mean(
    values, weights=None, *, shares: bool = False, error: Callable = crossed_error
) -> Mean:
    """Mean over trainings and images, with the error of both (crossed random effects).

    `values` are an array (n,) or (T, n), or a list of such, a group of images each: a value an
    image or a training and image (mosaics of one object averaged first), NaN where not defined.
    `weights` of the groups' means are equal if not given; 1 and -1 compare two. `shares`: where a
    group's values are all equal, images are the trials, as in `share`. `error` is notebook 02's.
    With one training it speaks of other images only. A ValueError tells of a group without a value,
    infinite values, and other numbers of trainings. Covers in 93 to 97% (`tests/test_stats.py`)."""
    groups = _groups(values)
    weights = (
        np.full(len(groups), 1 / len(groups))
        if weights is None
        else np.asarray(weights)
    )
    if len(weights) != len(groups):
        raise ValueError(
            f"{len(weights)} weights for {len(groups)} groups: give one a group"
        )
    parts = zip(*(_components(group, shares) for group in groups), strict=True)
    means, by_training, of_images, rest, freedom = map(np.array, parts)
    estimate = float(sum(weights * means))
    of_images, rest = weights**2 * of_images, sum(weights**2 * rest)
    by_training = sum(weights[:, None] * by_training)
    by_training = by_training[~np.isnan(by_training)]
    return Mean(estimate, *error(by_training, of_images, rest, freedom))


def difference(first: Mean, second: Mean) -> Mean:
    """Difference of two independent means, such as those of two models (Welch's)."""
    parts = [(m.error**2, m.freedom) for m in (first, second)]
    variance, doubt = sum(v for v, _ in parts), sum(v**2 / f for v, f in parts)
    freedom = variance**2 / doubt if doubt else 1.0
    return Mean(
        first.estimate - second.estimate, float(np.sqrt(variance)), float(freedom)
    )


def share(values, error: Callable = crossed_error) -> Interval:
    """As the interval of `mean`, for values in [0, 1], with ends that stay inside [0, 1].

    Wilson's interval at the number of independent trials that would have the error of `mean` (Korn
    and Graubard, *Survey Methodology* 24, 1998). Where all values are 0, or all 1, images are the
    trials (0 of 25 images: 0 to 0.13). The interval covers in 93 to 98% of simulated cases; in
    about 90% where five trainings differ much and their mean is below 0.1 (`tests/test_stats.py`).
    """
    groups = _groups(values)
    low, high = min(np.nanmin(g) for g in groups), max(np.nanmax(g) for g in groups)
    if low < 0 or high > 1:
        raise ValueError(f"shares must lie in [0, 1], not {low}..{high}")
    average, trials = mean(groups, error=error), sum(g.shape[1] for g in groups)
    p = min(max(average.estimate, 0.0), 1.0)
    if 0 < p < 1:
        if not average.error > 0:
            return average.interval()
        student = scipy.stats.t.ppf(UPPER, average.freedom)
        trials = (
            p
            * (1 - p)
            / average.error**2
            * (scipy.stats.norm.ppf(UPPER) / student) ** 2
        )
    return Interval(p, *wilson(p * trials, trials))


def bootstrap(function, values, *, resamples: int = 2000) -> Interval:
    """95% interval of a number that is computed from trainings and images (two-way bootstrap).

    `function` takes a list of arrays (T, n_g, ...) such as `values`, without NaN, one a group.
    Trainings are drawn, the same for all groups, and images within each group (Owen, *Annals of
    Applied Statistics* 1, 2007), with percentiles at Hesterberg's expanded level, as trainings are
    few (*The American Statistician* 69, 2015). Ends are NaN where a resample has no such number."""
    groups = [np.asarray(group, float) for group in values]
    rng, trainings, drawn = np.random.default_rng(0), len(groups[0]), []
    for _ in range(resamples):
        some = rng.integers(trainings, size=trainings)
        images = (rng.integers(group.shape[1], size=group.shape[1]) for group in groups)
        drawn.append(
            function([g[some][:, i] for g, i in zip(groups, images, strict=True)])
        )
    fewest = trainings if trainings > 1 else min(group.shape[1] for group in groups)
    student = -scipy.stats.t.ppf(UPPER, fewest - 1) if fewest > 1 else np.nan
    tail = scipy.stats.norm.cdf(student * np.sqrt(fewest / max(fewest - 1, 1)))
    low, high = (
        (np.nan,) * 2 if np.isnan(tail) else np.quantile(drawn, [tail, 1 - tail])
    )
    return Interval(float(function(groups)), float(low), float(high))


def cluster_bootstrap(number: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """How often each of `number` clusters is in a resample of as many: int64 (draws, number)."""
    if draws and number < 2:
        raise ValueError(
            "all rows belong to one cluster: resampling it shows no variation"
        )
    drawn = [
        np.bincount(rng.integers(number, size=number), minlength=number)
        for _ in range(draws)
    ]
    return np.array(drawn, np.int64).reshape(draws, number)


def between_clusters(
    cluster: np.ndarray, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Where each row (n,) takes its label from, again and again: those of a cluster come from one
    of nearly its size, stretched or squeezed to fit, for single rows give too narrow a null."""
    _, number, size = np.unique(cluster, return_inverse=True, return_counts=True)
    order, by_size = np.argsort(number, kind="stable"), np.argsort(size, kind="stable")
    cuts = [0]  # between clusters of other sizes, where both sides have `ALIKE`
    for end in np.flatnonzero(np.diff(size[by_size])) + 1:
        if min(end - cuts[-1], len(size) - end) >= ALIKE:
            cuts.append(int(end))
    start, owner, donor = np.cumsum(size) - size, number[order], np.arange(len(size))
    middle = np.arange(len(order)) - start[owner] + 0.5
    while True:
        for alike in np.split(by_size, cuts[1:]):
            donor[alike] = rng.permutation(alike)
        taken = (middle * (size[donor] / size)[owner]).astype(np.int64) + start[donor][
            owner
        ]
        source = np.empty(len(order), np.int64)
        source[order] = order[taken]
        yield source


def within_clusters(
    cluster: np.ndarray, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Where each row (n,) takes its label from inside of its cluster, again and again."""
    order = np.argsort(cluster, kind="stable")
    while True:
        source = np.empty(len(order), np.int64)
        source[order] = np.lexsort((rng.random(len(order)), cluster))
        yield source


def adjust(p_values, method: str = "holm") -> np.ndarray:
    """P-values adjusted for being several, NaN uncounted: "holm" bounds the chance of any false
    finding at all, "fdr_bh" the share of false findings."""
    p_values = np.asarray(p_values, float)
    adjusted, known = np.full(p_values.shape, np.nan), ~np.isnan(p_values)
    if known.any():
        adjusted[known] = multipletests(p_values[known], method=method)[1]
    return adjusted


def spearman(x, y) -> Interval:
    """Spearman's correlation of independent points (n,), with Bonett and Wright's 95% interval
    (Psychometrika 65, 2000); the ends are NaN for fewer than five, or a correlation of 1 or -1."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    constant = len(x) < 2 or (x == x[0]).all() or (y == y[0]).all()
    r = np.nan if constant else float(scipy.stats.spearmanr(x, y).statistic)
    if len(x) < 5 or not abs(r) < 1:
        return Interval(r, np.nan, np.nan)
    half = scipy.stats.norm.ppf(UPPER) * np.sqrt((1 + r**2 / 2) / (len(x) - 3))
    low, high = np.tanh(np.arctanh(r) + np.array([-half, half]))
    return Interval(r, float(low), float(high))


def _groups(values) -> list[np.ndarray]:
    """Each group of images as an array (T, n)."""
    several = isinstance(values, list | tuple) and any(
        np.ndim(group) for group in values
    )
    groups = values if several else [values]
    groups = [np.atleast_2d(np.asarray(group, float)) for group in groups]
    if len({len(group) for group in groups}) > 1:
        raise ValueError(
            f"groups of {[len(g) for g in groups]} trainings: all must have the same"
        )
    for group in groups:
        if group.ndim != 2 or np.isnan(group).all() or np.isinf(group).any():
            raise ValueError(
                f"expected finite values of trainings and images, not an array of shape "
                f"{group.shape} with {int(np.isfinite(group).sum())} finite values"
            )
    return groups


def _components(group: np.ndarray, shares: bool) -> tuple:
    """Of one group: its mean, each training's mean (NaN where it has no value), the variances by
    images and by the rest, and the degrees of freedom of the images."""
    known = group[:, ~np.isnan(group).all(0)]
    known = known[~np.isnan(known).all(1)]
    by_training, of_images, of_rest = components(known)
    n = known.shape[1]
    if shares and np.nanmax(known) == np.nanmin(known):
        of_images = (wilson(0, n)[1] / scipy.stats.norm.ppf(UPPER)) ** 2
    whole = np.full(len(group), np.nan)
    whole[~np.isnan(group).all(1)] = by_training
    return float(np.nanmean(known)), whole, of_images, of_rest, max(n - 1, 1)
