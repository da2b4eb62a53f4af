"""`helpers.stats` against scipy, statsmodels, loops and simulations."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.anova import anova_lm

from helpers import stats
from helpers.stats.extremes import largest, smallest


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def wilson_by_hand(k, n, z):
    """Wilson (1927), the roots of (p - k/n)**2 = z**2 p (1 - p) / n."""
    roots = np.roots([1 + z**2 / n, -(2 * k / n + z**2 / n), (k / n) ** 2])
    return sorted(roots.real)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_the_root_of_its_equation(k_n):
    k, n = k_n
    z = scipy.stats.norm.ppf(0.975)
    assert stats.wilson(k, n) == pytest.approx(wilson_by_hand(k, n, z), abs=1e-7)


def test_wilson_takes_arrays_and_no_trials():
    low, high = stats.wilson(np.array([0, 5, 5]), np.array([0, 5, 10]))
    assert (low[0], high[0]) == (0, 1)
    assert high[1] == 1
    assert (low[2], high[2]) == pytest.approx(stats.wilson(5, 10))
    with pytest.raises(ValueError, match="k must lie"):
        stats.wilson(3, 2)


def draw(rng, trainings, deviations, groups=1, images=25):
    """Groups of values of mean 0: a training's part, an image's and the rest."""
    of_training, of_image, of_rest = deviations
    training = rng.normal(0, of_training, (trainings, 1))  # the same in all groups
    return [
        training
        + rng.normal(0, of_image, (1, images))
        + rng.normal(0, of_rest, (trainings, images))
        for _ in range(groups)
    ]


def test_one_training_is_students_two_groups_welchs_and_several_the_analysis_of_variance():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.5, 1, 25), rng.normal(0, 3, 12)
    ours, theirs = stats.mean(first), scipy.stats.ttest_1samp(first, 0)
    assert ours.interval() == pytest.approx(
        (first.mean(), *theirs.confidence_interval(0.95))
    )
    assert ours.p == pytest.approx(theirs.pvalue)
    ours = stats.mean([first, second], [1, -1])
    theirs = scipy.stats.ttest_ind(first, second, equal_var=False)
    assert ours.interval()[1:] == pytest.approx(tuple(theirs.confidence_interval()))
    assert ours.p == pytest.approx(theirs.pvalue)
    (values,) = draw(np.random.default_rng(1), 5, (1, 1, 1), images=12)
    training, image = np.indices(values.shape)
    table = pd.DataFrame(
        {"y": values.ravel(), "t": training.ravel(), "i": image.ravel()}
    )
    squares = anova_lm(smf.ols("y ~ C(t) + C(i)", table).fit())["mean_sq"]
    of_t, of_i, rest = squares / values.size
    ours = stats.mean(values)
    assert ours.estimate == pytest.approx(values.mean())
    assert ours.error**2 == pytest.approx(of_t + of_i - rest)
    assert ours.freedom == pytest.approx(
        (of_t + of_i - rest) ** 2 / (of_t**2 / 4 + of_i**2 / 11)
    )


def test_values_that_are_not_there_do_not_count():
    (values,) = draw(np.random.default_rng(4), 5, (1, 1, 1))
    gaps = values.copy()
    gaps[:, 3] = np.nan
    assert stats.mean(gaps) == stats.mean(np.delete(values, 3, 1))
    gaps[2] = np.nan  # a training none of whose values is defined
    known = np.delete(np.delete(values, 3, 1), 2, 0)
    assert stats.mean(gaps).interval() == pytest.approx(stats.mean(known).interval())
    pair = stats.mean([gaps, values[:, :9]], [1, -1])
    both = stats.mean([known, np.delete(values[:, :9], 2, 0)], [1, -1])
    assert pair.freedom < stats.mean([values, values[:, :9]], [1, -1]).freedom
    assert pair.error == pytest.approx(both.error, rel=0.1)


def test_what_has_no_spread_and_what_one_source_alone_shows():
    assert stats.mean(np.full((5, 6), 2.0)).interval() == (2, 2, 2)
    assert (
        stats.mean(np.zeros((5, 6))).p == 1 and stats.mean(np.full((5, 6), 2.0)).p == 0
    )
    for alone in ([2.0], [[2.0], [3.0]]):
        ours = stats.mean(np.array(alone)).interval()
        assert (
            ours.estimate == np.mean(alone)
            and np.isnan(ours.low)
            and np.isnan(ours.high)
        )
    ours = stats.mean(
        [[[2.0, 0.0], [0.0, 2.0]]]
    )  # all trainings alike, all images alike
    assert ours.estimate == 1 and ours.error**2 == pytest.approx(
        1
    )  # rest: 4 / 1 / (2 * 2)
    rest = np.array([[0.1, -0.1, 0], [-0.1, 0.1, 0], [0, 0, 0]])
    rest += np.array([[1], [2], [4]])  # of the trainings
    assert stats.mean(rest).error == pytest.approx(
        np.std([1, 2, 4], ddof=1) / np.sqrt(3)
    )


@pytest.mark.parametrize(
    ("function", "values", "message"),
    [
        (stats.mean, [np.nan, np.nan], "0 finite values"),
        (stats.mean, [], "0 finite values"),
        (stats.mean, [1.0, np.inf], "1 finite values"),
        (stats.mean, np.zeros((2, 3, 4)), r"shape \(2, 3, 4\)"),
        (
            stats.mean,
            [np.zeros((5, 3)), np.zeros((4, 3))],
            r"groups of \[5, 4\] trainings",
        ),
        (
            lambda v: stats.mean(v, [1]),
            [np.zeros(3), np.zeros(4)],
            "1 weights for 2 groups",
        ),
        (stats.share, [0.5, 1.1], r"must lie in \[0, 1\], not 0.5..1.1"),
    ],
)
def test_bad_values_are_refused(function, values, message):
    with pytest.raises(ValueError, match=message):
        function(values)


SOURCES = [(1, 0.2, 0.2), (1, 1, 1), (0.2, 1, 1), (0, 1, 0)]  # trainings, images, rest


@pytest.mark.slow
@pytest.mark.parametrize("trainings", [5, 10])
@pytest.mark.parametrize("deviations", SOURCES)
@pytest.mark.parametrize("groups", [1, 3])
def test_intervals_of_means_cover_as_often_as_they_say(trainings, deviations, groups):
    rng, hits = np.random.default_rng(0), 0
    for _ in range(1000):
        ends = stats.mean(draw(rng, trainings, deviations, groups)).interval()
        hits += ends.low <= 0 <= ends.high
    assert 0.93 <= hits / 1000 <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("trainings", [5, 10])
@pytest.mark.parametrize("deviations", SOURCES)
@pytest.mark.parametrize(("middle", "least"), [(0, 0.93), (-1, 0.93), (-3, 0.88)])
def test_intervals_of_shares_cover_as_often_as_they_say(
    trainings, deviations, middle, least
):
    """Logistic-normal shares of mean .5, about .3 and about .1, where the skew costs most."""
    normal, weight = np.polynomial.hermite_e.hermegauss(60)
    spread = np.sqrt(np.sum(np.square(deviations)))
    truth = weight @ scipy.special.expit(middle + spread * normal) / weight.sum()
    rng, hits = np.random.default_rng(0), 0
    for _ in range(600):
        (values,) = draw(rng, trainings, deviations)
        ends = stats.share(scipy.special.expit(middle + values))
        hits += ends.low <= truth <= ends.high
    assert least <= hits / 600 <= 0.98


def test_shares_without_spread_are_as_sure_as_wilson_has_them():
    z2 = scipy.stats.norm.ppf(0.975) ** 2
    ends = stats.share(np.zeros((5, 25)))  # the paper's plane + road: 0 of 125
    assert ends == (0, 0, pytest.approx(z2 / (25 + z2)))
    assert stats.share(np.ones((5, 25))).low == pytest.approx(1 - ends.high)
    assert stats.share([np.zeros((5, 25))] * 2).high == pytest.approx(z2 / (50 + z2))
    alike = np.ones((5, 25)) - np.ones((5, 25))
    assert stats.mean(alike).interval() == (0, 0, 0)
    ends = stats.mean(alike, shares=True).interval()
    assert ends.low == -ends.high
    wilson, student = stats.wilson(0, 25)[1], scipy.stats.t.ppf(0.975, 24)
    assert ends.high == pytest.approx(wilson * student / scipy.stats.norm.ppf(0.975))
    two = stats.mean([np.ones((5, 25)), np.ones((5, 25))], [1, -1], shares=True)
    assert two.error == pytest.approx(np.sqrt(2) * stats.mean(alike, shares=True).error)
    spread = draw(np.random.default_rng(0), 5, (1, 1, 1))
    assert stats.mean(spread, shares=True) == stats.mean(spread)


@given(st.integers(1, 6), st.integers(2, 30), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_intervals_of_shares_stay_inside(trainings, images, seed):
    values = np.random.default_rng(seed).integers(0, 6, (trainings, images)) / 5
    ours = stats.share(values)
    assert ours.estimate == pytest.approx(values.mean())
    assert (
        0 <= ours.low <= ours.estimate + 1e-12
        and ours.estimate - 1e-12 <= ours.high <= 1
    )


@pytest.mark.parametrize(
    ("trainings", "deviations"), [(1, (0, 1, 0)), (10, (1, 0.2, 0.2))]
)
def test_bootstrap_of_a_mean_is_about_what_mean_says(trainings, deviations):
    groups = draw(np.random.default_rng(5), trainings, deviations, groups=2)
    ours = stats.bootstrap_ci(lambda drawn: drawn[0].mean() - drawn[1].mean() / 2, groups)
    exact = stats.mean(groups, [1, -0.5]).interval()
    assert ours.estimate == pytest.approx(exact.estimate)
    assert ours.high - ours.low == pytest.approx(exact.high - exact.low, rel=0.15)
    alone = stats.bootstrap_ci(lambda drawn: drawn[0].mean(), [np.array([[2.0]])])
    assert alone.estimate == 2 and np.isnan(alone.low) and np.isnan(alone.high)


def test_holm_by_hand_and_with_missing_values():
    p = stats.adjust([0.01, np.nan, 0.04, 0.03])
    assert p[[0, 2, 3]] == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(p[1])
    assert np.isnan(stats.adjust([np.nan])).all()


def test_spearman_is_scipys_and_its_ends_are_the_formulas():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20)
    y = x + rng.normal(size=20)
    ours = stats.spearman(x, y)
    r = scipy.stats.spearmanr(x, y).statistic
    z, half = 0.5 * np.log((1 + r) / (1 - r)), 1.959964 * np.sqrt((1 + r * r / 2) / 17)
    ends = [(np.exp(2 * v) - 1) / (np.exp(2 * v) + 1) for v in (z - half, z + half)]
    assert ours == pytest.approx((r, *ends), abs=1e-6)
    assert np.isnan(stats.spearman([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]).estimate)
    few, perfect = (
        stats.spearman([1, 2, 3], [1, 3, 2]),
        stats.spearman(range(9), range(9)),
    )
    assert few.estimate == 0.5 and np.isnan(few.low)
    assert perfect.estimate == pytest.approx(1) and np.isnan(perfect.low)
    with pytest.raises(ValueError):
        stats.spearman([1, 2], [1, 2, 3])


def test_the_interval_of_a_rank_correlation_covers():
    """500 samples of 15 from a normal of correlation 0.7; rank correlation 6/pi asin(rho/2)."""
    rng, rho, hits = np.random.default_rng(1), 0.7, 0
    true = 6 / np.pi * np.arcsin(rho / 2)
    for _ in range(500):
        x, e = rng.normal(size=(2, 15))
        ends = stats.spearman(x, rho * x + np.sqrt(1 - rho**2) * e)
        hits += ends.low <= true <= ends.high
    assert 0.92 <= hits / 500 <= 0.985


def of_normals(values, errors):
    """Normal intervals of each value, by level."""
    z = cache(lambda level: scipy.stats.norm.ppf((1 + level) / 2))
    pairs = zip(values, errors, strict=True)
    return [
        lambda level, x=x, e=e: (x, x - z(level) * e, x + z(level) * e)
        for x, e in pairs
    ]


def test_what_says_that_one_of_nine_lies_below_is_wrong_as_often_as_bonferroni_says():
    """All nine are 0. With its own whisker the smallest lies below in 1 - .975**9, one of five."""
    rng, below, alone = np.random.default_rng(3), 0, 0
    for _ in range(4000):
        nine = of_normals(rng.normal(size=9), np.ones(9))
        below += smallest(nine)[2] < 0
        alone += min(one(0.95) for one in nine)[2] < 0
    assert below / 4000 == pytest.approx(1 - (1 - 0.025 / 9) ** 9, abs=0.008)
    assert alone / 4000 == pytest.approx(1 - 0.975**9, abs=0.025)


def test_what_says_that_all_lie_above_is_wrong_in_one_of_forty_however_sure_the_others_are():
    """One is 0 and doubtful, one .5 and sure: the smaller estimate alone would pass for both."""
    rng, above, alone = np.random.default_rng(4), 0, 0
    for _ in range(4000):
        two = of_normals(rng.normal([0, 0.5], [1, 0.01]), [1, 0.01])
        above += smallest(two)[1] > 0
        alone += min(one(0.95) for one in two)[1] > 0
    assert above / 4000 == pytest.approx(0.025, abs=0.008)
    assert alone / 4000 == pytest.approx(scipy.stats.norm.sf(0.5), abs=0.03), (
        "three of ten"
    )


def test_the_largest_is_the_smallest_of_the_negated_and_one_alone_is_itself():
    rng = np.random.default_rng(5)
    values, errors = rng.normal(size=4), rng.uniform(0.1, 2, 4)
    value, low, high = smallest(of_normals(-values, errors))
    assert largest(of_normals(values, errors)) == pytest.approx((-value, -high, -low))
    assert value <= high and low <= value
    [one] = of_normals([0.3], [0.2])
    assert tuple(smallest([one])) == tuple(largest([one])) == one(0.95)
