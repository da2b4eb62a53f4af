"""`helpers.stats` against scipy, statsmodels, loops, enumeration and simulation."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from helpers import stats
from helpers.stats.extremes import smallest


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def simulate(seed, runs=5, deviations=(1, 1, 1), groups=1, images=25):
    """Draw groups of values of mean 0: parts of run and image, and noise."""
    rng = np.random.default_rng(seed)
    of_run, of_image, of_noise = deviations
    run = rng.normal(0, of_run, size=(runs, 1))  # the same in all groups
    values = []
    for _ in range(groups):
        image = rng.normal(0, of_image, size=(1, images))
        noise = rng.normal(0, of_noise, size=(runs, images))
        values.append(run + image + noise)
    return values


def tidy(values):
    """Turn an array (runs, images) into a table with one row per run and image."""
    run, image = np.indices(values.shape)
    columns = {
        "run": run.ravel(),
        "image": image.ravel(),
        "value": values.ravel(),
    }
    return pd.DataFrame(columns)


def covers(interval, truth):
    return interval.low <= truth <= interval.high


# --- proportions ---


def test_wilsons_interval_is_that_of_statsmodels():
    successes = np.array([0, 1, 7, 29, 30])
    n = np.full(5, 30)
    ours = stats.wilson(successes, n)
    theirs = proportion_confint(successes, n, method="wilson")
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_wilsons_interval_of_no_trial_is_0_to_1():
    assert stats.wilson(0, 0) == (0, 1)


def test_more_successes_than_trials_are_refused():
    with pytest.raises(ValueError, match="Successes must lie"):
        stats.wilson(3, 2)


def with_wilson(positives, rows):
    low, high = stats.wilson(positives, rows)
    return positives / rows, low, high


@pytest.mark.parametrize("first", [0, 1, 7, 29, 30])
@pytest.mark.parametrize("second", [0, 3, 20])
def test_newcombes_interval_is_that_of_statsmodels(first, second):
    ours = stats.newcombe(
        with_wilson(first, 30),
        with_wilson(second, 20),
    )
    theirs = confint_proportions_2indep(
        first,
        30,
        second,
        20,
        method="newcomb",
    )
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-12)


def coverage_of_newcombe(sizes, rates):
    """Enumerate both binomials: how often the interval holds the true difference."""
    n, m = sizes
    p, q = rates
    first, second = np.mgrid[: n + 1, : m + 1]
    chance = scipy.stats.binom.pmf(first, n, p)
    chance *= scipy.stats.binom.pmf(second, m, q)
    ours = stats.newcombe(
        with_wilson(first, n),
        with_wilson(second, m),
    )
    truth = p - q
    not_above = ours.low <= truth + 1e-9
    not_below = truth <= ours.high + 1e-9
    return chance[not_above & not_below].sum()


SIZES = [(20, 20), (20, 40), (40, 40)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    "rates", [(1, 0), (0, 0), (1, 1), (1, 0.5), (0, 0.1), (1, 0.9)]
)
def test_newcombes_interval_covers_at_rates_of_0_and_1(sizes, rates):
    assert coverage_of_newcombe(sizes, rates) >= 0.95


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("rates", [(0.02, 0.02), (0.98, 0.05)])
def test_newcombes_interval_covers_near_0_and_1(sizes, rates):
    assert coverage_of_newcombe(sizes, rates) >= 0.92


@pytest.mark.parametrize("sizes", SIZES)
def test_newcombes_interval_covers_near_0_and_1_on_average(sizes):
    covered = []
    near = [0.005, 0.02, 0.06, 0.1, 0.98]
    for rates in itertools.product(near, near):
        covered.append(coverage_of_newcombe(sizes, rates))
    assert np.mean(covered) > 0.94


def test_rates_have_wilsons_interval_where_rows_are_the_unit():
    [values] = simulate(0, runs=6)
    hits = (values > 0).astype(float)
    table = tidy(hits)
    [row] = stats.rates(table, "value").to_numpy()
    expected = with_wilson(hits.sum(), 150)
    assert row == pytest.approx([*expected, 150])


def test_rates_by_group_have_intervals_over_runs_and_images():
    [values] = simulate(0, runs=6)
    hits = (values > 0).astype(float)
    table = tidy(hits)
    table["half"] = table["image"] % 2
    rates = stats.rates(
        table,
        "value",
        by=["half"],
        units=["run", "image"],
    )
    for row in rates.itertuples():
        expected = stats.share(hits[:, row.half :: 2])
        ours = row.rate, row.ci_low, row.ci_high
        assert ours == pytest.approx(expected)


# --- means over runs and images ---


def test_the_mean_of_one_run_has_students_interval():
    values = np.random.default_rng(0).normal(0.5, 1, 25)
    ours = stats.mean(values)
    theirs = scipy.stats.ttest_1samp(values, 0)
    expected = theirs.confidence_interval()
    assert ours.interval()[1:] == pytest.approx(expected)
    assert ours.p == pytest.approx(theirs.pvalue)


def test_the_difference_of_two_groups_has_welchs_interval():
    rng = np.random.default_rng(0)
    first = rng.normal(0.5, 1, 25)
    second = rng.normal(0, 3, 12)
    theirs = scipy.stats.ttest_ind(first, second, equal_var=False)
    expected = theirs.confidence_interval()
    contrast = stats.mean([first, second], [1, -1])
    difference = stats.difference(
        stats.mean(first),
        stats.mean(second),
    )
    for ours in (contrast, difference):
        assert ours.interval()[1:] == pytest.approx(expected)


def test_the_error_over_several_runs_is_that_of_the_analysis_of_variance():
    [values] = simulate(1, images=12)
    model = smf.ols("value ~ C(run) + C(image)", tidy(values)).fit()
    squares = anova_lm(model)["mean_sq"]
    of_run, of_image, rest = squares / values.size
    ours = stats.mean(values)
    variance = of_run + of_image - rest
    assert ours.error**2 == pytest.approx(variance)
    freedom = variance**2 / (of_run**2 / 4 + of_image**2 / 11)
    assert ours.freedom == pytest.approx(freedom)


def test_missing_values_do_not_count():
    [values] = simulate(4)
    with_gaps = values.copy()
    with_gaps[:, 3] = np.nan
    with_gaps[2] = np.nan
    known = np.delete(values, 3, axis=1)
    known = np.delete(known, 2, axis=0)
    expected = stats.mean(known).interval()
    ours = stats.mean(with_gaps).interval()
    assert ours == pytest.approx(expected)


def test_values_without_spread_have_no_error():
    twos = stats.mean(np.full((5, 6), 2.0))
    assert twos.interval() == (2, 2, 2)
    zeros = stats.mean(np.zeros((5, 6)))
    assert zeros.p == 1


@pytest.mark.parametrize("values", [[2.0], [[2.0], [3.0]]])
def test_single_values_have_no_interval(values):
    ours = stats.mean(np.array(values)).interval()
    assert ours.estimate == np.mean(values)
    assert np.isnan(ours[1:]).all()


@pytest.mark.parametrize(
    ("function", "values", "message"),
    [
        (stats.mean, [np.nan, np.nan], "0 finite values"),
        (stats.mean, [1.0, np.inf], "1 finite values"),
        (stats.mean, [np.zeros((5, 3)), np.zeros((4, 3))], r"have \[5, 4\] runs"),
        (stats.share, [0.5, 1.1], r"must lie in \[0, 1\], not 0.5..1.1"),
    ],
)
def test_bad_values_are_refused(function, values, message):
    with pytest.raises(ValueError, match=message):
        function(values)


SOURCES = [  # deviations of runs, of images, and of the rest
    (1, 0.2, 0.2),
    (1, 1, 1),
    (0.2, 1, 1),
    (0, 1, 0),
]


@pytest.mark.slow
@pytest.mark.parametrize("runs", [5, 10])
@pytest.mark.parametrize("deviations", SOURCES)
@pytest.mark.parametrize("groups", [1, 3])
def test_intervals_of_means_cover(runs, deviations, groups):
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(1000):
        values = simulate(rng, runs, deviations, groups)
        hits.append(covers(stats.mean(values).interval(), 0))
    assert 0.93 <= np.mean(hits) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("deviations", SOURCES)
@pytest.mark.parametrize(("middle", "least"), [(0, 0.93), (-1, 0.93), (-3, 0.88)])
def test_intervals_of_shares_cover(deviations, middle, least):
    """Logistic-normal shares of mean 0.5, about 0.3 and about 0.1."""
    normal, weight = np.polynomial.hermite_e.hermegauss(60)
    spread = np.sqrt(np.sum(np.square(deviations)))
    truth = weight @ scipy.special.expit(middle + spread * normal) / weight.sum()
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(600):
        [values] = simulate(rng, 5, deviations)
        shares = scipy.special.expit(middle + values)
        hits.append(covers(stats.share(shares), truth))
    assert least <= np.mean(hits) <= 0.98


def test_a_share_of_0_in_all_runs_has_wilsons_interval_over_images():
    zeros = np.zeros((5, 25))  # the paper's plane + road: 0 of 125
    interval = stats.share(zeros)
    _, high = stats.wilson(0, 25)
    assert interval[:2] == (0, 0)
    assert interval.high == pytest.approx(high)
    two_groups = stats.share([zeros, zeros])
    _, high = stats.wilson(0, 50)
    assert two_groups.high == pytest.approx(high)


@pytest.mark.parametrize("level", [0.95, 1 - 0.05 / 3])
def test_a_share_by_level_is_wilsons_interval(level):
    """One run: as many trials as give Student's half of the interval."""
    z = scipy.stats.norm.ppf((1 + level) / 2)
    t = scipy.stats.t.ppf((1 + level) / 2, 24)
    trials = 24 * (z / t) ** 2
    low, high = proportion_confint(trials * 8 / 25, trials, 1 - level, "wilson")
    ours = stats.share(np.arange(25) < 8, level=level)
    assert ours == pytest.approx((8 / 25, low, high))


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_a_share_of_zero_is_wilsons_interval_of_the_images(level):
    ours = stats.share(np.zeros((3, 25)), level=level)
    expected = proportion_confint(0, 25, 1 - level, "wilson")
    assert ours[1:] == pytest.approx(expected, abs=1e-12)


def test_means_of_a_table_are_those_of_arrays():
    first, second = simulate(2, groups=2, images=9)
    of_a = tidy(first).assign(kind="a")
    of_b = tidy(second).assign(kind="b")
    table = pd.concat([of_a, of_b])
    table = table.sample(frac=1, random_state=0)
    by_kind = stats.mean_ci(table, "value", by=["kind"])
    row = by_kind.set_index("kind").loc["b"]
    expected = stats.mean(second).interval()
    assert row.tolist() == pytest.approx([*expected, 45])

    table["image"] += 9 * (table["kind"] == "b")
    by_stratum = stats.mean_ci(table, "value", strata="kind")
    [row] = by_stratum.to_numpy()
    expected = stats.mean([first, second]).interval()
    assert row == pytest.approx([*expected, 90])


def test_rows_that_share_images_are_not_counted_as_independent():
    """Mosaics of two of 25 images, in 100 datasets whose images differ."""
    rng = np.random.default_rng(0)
    hits = {"sharing": [], "independent": []}
    for _ in range(100):
        pairs = rng.integers(25, size=(100, 2))
        images = rng.normal(size=25)
        mosaic = images[pairs].sum(axis=1) + rng.normal(0, 0.1, 100)
        run = rng.normal(0, 0.1, size=(3, 1))
        table = tidy(mosaic + run)
        table[["left", "right"]] = pairs[table["image"]]
        units = {
            "sharing": ["run", ["left", "right"]],
            "independent": ["run", "image"],
        }
        for name in hits:
            interval = stats.mean_ci(table, "value", units=units[name])
            [row] = interval.itertuples()
            hits[name].append(row.ci_low <= 0 <= row.ci_high)
    assert np.mean(hits["sharing"]) >= 0.9
    assert np.mean(hits["independent"]) < 0.75


# --- bootstrap ---


def test_the_bootstrap_of_one_unit_is_scipys_at_the_wider_level():
    values = np.random.default_rng(0).lognormal(size=12)
    ours = stats.bootstrap_ci(
        [values[None]],
        lambda drawn: np.median(drawn[0]),
    )
    quantile = scipy.stats.t.ppf(0.025, 11) * np.sqrt(12 / 11)
    outside = 2 * scipy.stats.norm.cdf(quantile)
    theirs = scipy.stats.bootstrap(
        (values,),
        np.median,
        rng=1,
        confidence_level=1 - outside,
        method="percentile",
    )
    expected = tuple(theirs.confidence_interval)
    assert ours.estimate == np.median(values)
    assert (ours.low, ours.high) == pytest.approx(expected, rel=0.1)


def test_the_bootstrap_over_runs_and_images_is_about_the_closed_form():
    [values] = simulate(5, 10, (1, 0.2, 0.2))
    ours = stats.bootstrap_ci(
        [values],
        lambda drawn: drawn[0].mean(),
    )
    exact = stats.mean(values).interval()
    width = exact.high - exact.low
    assert ours.high - ours.low == pytest.approx(width, rel=0.15)


def test_clusters_are_drawn_as_often_as_there_are_clusters():
    rng = np.random.default_rng(0)
    counts = stats.cluster_bootstrap(5, 4000, rng)
    assert (counts.sum(axis=1) == 5).all()
    variance = np.full(5, 5 * 1 / 5 * 4 / 5)
    assert counts.var(axis=0) == pytest.approx(variance, abs=0.1)


def test_one_cluster_cannot_be_resampled():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="one cluster"):
        stats.cluster_bootstrap(1, 9, rng)


# --- permutation tests ---


@given(st.lists(st.integers(1, 6), min_size=2, max_size=60), st.integers(0, 99))
def test_labels_of_a_cluster_come_from_one_other_cluster(sizes, seed):
    rng = np.random.default_rng(seed)
    numbers = np.arange(len(sizes))
    clusters = rng.permutation(np.repeat(numbers, sizes))
    orders = stats.permuted_labels(clusters, rng, clusters=clusters)
    labels = next(orders)
    donors = []
    for number in numbers:
        [donor] = np.unique(labels[clusters == number])
        donors.append(donor)
    assert sorted(donors) == numbers.tolist()


def test_labels_are_permuted_within_strata():
    strata = np.arange(40) % 4
    rows = np.arange(40)
    rng = np.random.default_rng(0)
    orders = stats.permuted_labels(rows, rng, strata=strata)
    order = next(orders)
    assert sorted(order) == rows.tolist()
    assert (strata[order] == strata).all()


def test_labels_are_permuted_within_clusters_too():
    rows = np.arange(40)
    orders = stats.permuted_labels(
        rows,
        np.random.default_rng(0),
        clusters=rows // 2,
        within_clusters=True,
    )
    permuted = list(itertools.islice(orders, 200))
    pairs = np.reshape(permuted, (200, 20, 2))
    first = pairs[..., 0]
    second = pairs[..., 1]
    assert (first // 2 == second // 2).all(), "a cluster stays together"
    assert (first % 2).mean() == pytest.approx(0.5, abs=0.05)


def test_p_is_that_of_all_permutations():
    """All 70 ways to choose four of eight rows, and 9,999 random ones."""
    values = np.array([3.0, 4.5, 5.0, 6.1, 1.0, 2.2, 4.6, 0.3])
    labels = np.repeat([1, 0], 4)

    def gap(labels):
        return values[labels == 1].mean() - values[labels == 0].mean()

    observed = gap(labels)
    as_large = []
    for chosen in itertools.combinations(range(8), 4):
        permuted = np.zeros(8)
        permuted[[*chosen]] = 1
        as_large.append(gap(permuted) >= observed - 1e-9)
    orders = stats.permuted_labels(labels, np.random.default_rng(0))
    null = []
    for permuted in itertools.islice(orders, 9999):
        null.append([gap(permuted)])
    table = stats.permutation_test([observed], null)
    p = table["p"][0]
    assert p == pytest.approx(np.mean(as_large), abs=0.01)
    assert table["p_adjusted"][0] == p, "one p is not adjusted"


def test_what_is_missing_or_cannot_vary_is_not_tested():
    null = pd.DataFrame(
        {
            "one missing": [0, 1, 2, np.nan],
            "constant": [1, 1, 1, 1],
            "not observed": [0, 1, 2, 3],
        }
    )
    observed = [1.0, 1.0, np.nan]
    p = stats.permutation_test(observed, null)["p"]
    assert p[0] == (1 + 3) / 5, "two are as large, and one is missing"
    assert p[1:].isna().all()


def westfall_and_young(p):
    """Adjust p values by the loop of their algorithm 2.8."""
    observed = p[0]
    adjusted = np.empty(p.shape[1])
    last = 0.0
    for cell in np.argsort(observed, kind="stable"):
        rest = observed >= observed[cell]
        as_small = [row[rest].min() <= observed[cell] for row in p]
        last = max(last, np.mean(as_small))
        adjusted[cell] = last
    return adjusted


def test_adjusted_p_are_those_of_westfall_and_youngs_loop():
    rng = np.random.default_rng(0)
    p = rng.integers(1, 40, size=(200, 12)) / 40
    p[0] = np.arange(1, 13) / 40
    expected = westfall_and_young(p)
    assert stats.min_p(p) == pytest.approx(expected)


def test_false_positives_of_a_family_come_at_the_level_where_holms_are_rarer():
    """Twenty statistics of correlation 0.9, one with a true effect, in 300 families."""
    rng = np.random.default_rng(0)
    by_min_p = []
    by_holm = []
    for _ in range(300):
        shared = rng.normal(0, np.sqrt(0.9), size=(200, 1))
        values = shared + rng.normal(0, np.sqrt(0.1), size=(200, 20))
        values[0, 0] += 9
        table = stats.permutation_test(values[0], values[1:])
        min_p = table["p_adjusted"]
        holm = stats.adjust(table["p"])
        assert min_p[0] <= 0.1
        by_min_p.append(min_p[1:].min() <= 0.05)
        by_holm.append(holm[1:].min() <= 0.05)
    error = np.sqrt(0.05 * 0.95 / 300)
    assert np.mean(by_holm) < 0.02 < np.mean(by_min_p) <= 0.05 + 2 * error


def test_holms_p_ignore_missing_values():
    p = stats.adjust([0.01, np.nan, 0.04, 0.03])
    expected = [0.03, np.nan, 0.06, 0.06]
    assert p == pytest.approx(expected, nan_ok=True)


# --- power ---


def test_the_smallest_detectable_strength_is_that_of_the_normal_test():
    """A one-sided z test detects 80% at 1.645 + 0.842 standard errors."""
    strengths = np.linspace(0, 4, 17)
    table = pd.DataFrame({"strength": np.repeat(strengths, 400)})
    z = np.random.default_rng(0).normal(table["strength"])
    table["detected"] = z > 1.645
    smallest_strength = stats.smallest_detectable(table)
    assert smallest_strength == pytest.approx(2.487, abs=0.15)
    weak = table[table["strength"] < 2]
    assert np.isnan(stats.smallest_detectable(weak))


# --- rank correlation ---


def test_the_interval_of_a_rank_correlation_covers():
    """Samples of 15 of correlation 0.7; the rank correlation is 6/pi asin(rho/2)."""
    rng = np.random.default_rng(1)
    truth = 6 / np.pi * np.arcsin(0.7 / 2)
    hits = []
    covariance = [[1, 0.7], [0.7, 1]]
    for _ in range(500):
        x, y = rng.multivariate_normal([0, 0], covariance, 15).T
        ours = stats.spearman(x, y)
        theirs = scipy.stats.spearmanr(x, y)
        assert ours.estimate == pytest.approx(theirs.statistic)
        hits.append(covers(ours, truth))
    assert 0.92 <= np.mean(hits) <= 0.985


# --- the smallest of several ---


def normal_interval(value, error):
    """Return a value's normal interval as a function of the level."""

    def interval(level):
        half = scipy.stats.norm.ppf((1 + level) / 2) * error
        return value, value - half, value + half

    return interval


def smallest_of(true, errors):
    """Yield the smallest of several estimates with its interval, 1,000 times."""
    rng = np.random.default_rng(3)
    for _ in range(1000):
        values = rng.normal(true, errors)
        intervals = list(map(normal_interval, values, errors))
        yield smallest(intervals)


def test_the_smallest_of_nine_zeros_seems_negative_as_often_as_bonferroni_says():
    intervals = smallest_of(np.zeros(9), np.ones(9))
    wrong = [high < 0 for _, _, high in intervals]
    expected = 1 - (1 - 0.025 / 9) ** 9
    assert np.mean(wrong) == pytest.approx(expected, abs=0.015)


def test_a_doubtful_zero_next_to_a_sure_half_seems_positive_at_the_level():
    true = np.array([0, 0.5])
    errors = np.array([1, 0.01])
    intervals = smallest_of(true, errors)
    wrong = [low > 0 for _, low, _ in intervals]
    assert np.mean(wrong) == pytest.approx(0.025, abs=0.015)
