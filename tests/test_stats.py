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
from helpers.stats.extremes import largest, smallest


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def crossed(seed, runs=5, deviations=(1, 1, 1), groups=1, images=25):
    """Draw groups of values of mean 0: a part of the run, one of the image, and the rest."""
    rng = np.random.default_rng(seed)
    of_run, of_image, of_rest = deviations
    run = rng.normal(0, of_run, (runs, 1))  # the same in all groups
    values = []
    for _ in range(groups):
        image = rng.normal(0, of_image, (1, images))
        rest = rng.normal(0, of_rest, (runs, images))
        values.append(run + image + rest)
    return values


def tidy(values):
    """Turn an array (runs, images) into a table with one row per run and image."""
    run, image = np.indices(values.shape).reshape(2, -1)
    return pd.DataFrame({"run": run, "image": image, "value": values.ravel()})


# --- proportions ---


def test_wilsons_interval_is_that_of_statsmodels():
    successes = np.array([0, 1, 7, 29, 30])
    n = np.full(5, 30)
    expected = proportion_confint(successes, n, method="wilson")
    np.testing.assert_allclose(stats.wilson(successes, n), expected, atol=1e-12)
    assert stats.wilson(0, 30)[0] == 0 and stats.wilson(30, 30)[1] == 1
    assert stats.wilson(0, 0) == (0, 1)
    with pytest.raises(ValueError, match="k must lie"):
        stats.wilson(3, 2)


def with_wilson(positives, rows):
    return positives / rows, *stats.wilson(positives, rows)


def test_newcombes_interval_is_that_of_statsmodels():
    for first, second in itertools.product([0, 1, 7, 29, 30], [0, 3, 20]):
        expected = confint_proportions_2indep(first, 30, second, 20, method="newcomb")
        ours = stats.newcombe(with_wilson(first, 30), with_wilson(second, 20))
        assert (ours.low, ours.high) == pytest.approx(expected, abs=1e-12)


def coverage_of_newcombe(sizes, rates):
    """Enumerate both binomials: how often the interval holds the true difference."""
    n, m = sizes
    p, q = rates
    first, second = np.mgrid[: n + 1, : m + 1]
    chance = scipy.stats.binom.pmf(first, n, p)
    chance *= scipy.stats.binom.pmf(second, m, q)
    ours = stats.newcombe(with_wilson(first, n), with_wilson(second, m))
    covers = (ours.low <= p - q + 1e-9) & (p - q <= ours.high + 1e-9)
    return chance[covers].sum()


@pytest.mark.parametrize("sizes", [(20, 20), (20, 40), (40, 40)])
def test_newcombes_interval_covers_at_rates_of_0_and_1_and_near_them_on_average(sizes):
    for rates in [(1, 0), (0, 0), (1, 1), (1, 0.5), (0, 0.1), (1, 0.9)]:
        assert coverage_of_newcombe(sizes, rates) >= 0.95
    near = [0.005, 0.02, 0.06, 0.1, 0.98]
    pairs = itertools.product(near, near)
    covered = [coverage_of_newcombe(sizes, pair) for pair in pairs]
    assert np.mean(covered) > 0.94


def test_rates_are_wilsons_of_rows_or_those_of_runs_and_images():
    values = (crossed(0, 6)[0] > 0).astype(float)
    table = tidy(values).assign(half=lambda rows: rows["image"] % 2)
    [row] = stats.rates(table, "value").to_numpy()
    assert row == pytest.approx([*with_wilson(values.sum(), 150), 150])
    rates = stats.rates(table, "value", by=["half"], units=["run", "image"])
    assert rates.columns.tolist() == ["half", "rate", "ci_low", "ci_high", "n"]
    for row in rates.itertuples():
        expected = stats.share(values[:, row.half :: 2])
        assert (row.rate, row.ci_low, row.ci_high) == pytest.approx(expected)


# --- means over runs and images ---


def test_one_run_is_students_test_and_two_groups_are_welchs():
    rng = np.random.default_rng(0)
    first = rng.normal(0.5, 1, 25)
    second = rng.normal(0, 3, 12)
    ours = stats.mean(first)
    theirs = scipy.stats.ttest_1samp(first, 0)
    assert ours.interval()[1:] == pytest.approx(theirs.confidence_interval())
    assert ours.p == pytest.approx(theirs.pvalue)
    theirs = scipy.stats.ttest_ind(first, second, equal_var=False)
    ends = theirs.confidence_interval()
    contrast = stats.mean([first, second], [1, -1])
    difference = stats.difference(ours, stats.mean(second))
    assert contrast.interval()[1:] == pytest.approx(ends)
    assert difference.interval()[1:] == pytest.approx(ends)


def test_several_runs_are_the_analysis_of_variance():
    [values] = crossed(1, images=12)
    model = smf.ols("value ~ C(run) + C(image)", tidy(values)).fit()
    of_run, of_image, rest = anova_lm(model)["mean_sq"] / values.size
    ours = stats.mean(values)
    assert ours.error**2 == pytest.approx(of_run + of_image - rest)
    freedom = (of_run + of_image - rest) ** 2 / (of_run**2 / 4 + of_image**2 / 11)
    assert ours.freedom == pytest.approx(freedom)


def test_missing_values_do_not_count():
    [values] = crossed(4)
    gaps = values.copy()
    gaps[:, 3] = np.nan
    assert stats.mean(gaps) == stats.mean(np.delete(values, 3, 1))
    gaps[2] = np.nan
    known = np.delete(np.delete(values, 3, 1), 2, 0)
    assert stats.mean(gaps).interval() == pytest.approx(stats.mean(known).interval())


def test_values_without_spread_have_no_error_and_single_values_no_interval():
    assert stats.mean(np.full((5, 6), 2.0)).interval() == (2, 2, 2)
    assert stats.mean(np.zeros((5, 6))).p == 1
    for single in ([2.0], [[2.0], [3.0]]):
        ours = stats.mean(np.array(single)).interval()
        assert ours.estimate == np.mean(single) and np.isnan(ours[1:]).all()


@pytest.mark.parametrize(
    ("function", "values", "message"),
    [
        (stats.mean, [np.nan, np.nan], "0 finite values"),
        (stats.mean, [1.0, np.inf], "1 finite values"),
        (stats.mean, [np.zeros((5, 3)), np.zeros((4, 3))], r"have \[5, 4\] runs"),
        (lambda v: stats.mean(v, [1]), [np.zeros(3), np.zeros(4)], "1 weights for 2"),
        (stats.share, [0.5, 1.1], r"must lie in \[0, 1\], not 0.5..1.1"),
    ],
)
def test_bad_values_are_refused(function, values, message):
    with pytest.raises(ValueError, match=message):
        function(values)


SOURCES = [(1, 0.2, 0.2), (1, 1, 1), (0.2, 1, 1), (0, 1, 0)]  # runs, images, rest


@pytest.mark.slow
@pytest.mark.parametrize("runs", [5, 10])
@pytest.mark.parametrize("deviations", SOURCES)
@pytest.mark.parametrize("groups", [1, 3])
def test_intervals_of_means_cover(runs, deviations, groups):
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(1000):
        values = crossed(rng, runs, deviations, groups)
        ends = stats.mean(values).interval()
        hits.append(ends.low <= 0 <= ends.high)
    assert 0.93 <= np.mean(hits) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("runs", [5, 10])
@pytest.mark.parametrize("deviations", SOURCES)
@pytest.mark.parametrize(("middle", "least"), [(0, 0.93), (-1, 0.93), (-3, 0.88)])
def test_intervals_of_shares_cover(runs, deviations, middle, least):
    """Logistic-normal shares of mean 0.5, about 0.3 and about 0.1."""
    normal, weight = np.polynomial.hermite_e.hermegauss(60)
    spread = np.sqrt(np.sum(np.square(deviations)))
    truth = weight @ scipy.special.expit(middle + spread * normal) / weight.sum()
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(600):
        [values] = crossed(rng, runs, deviations)
        shares = scipy.special.expit(middle + values)
        ends = stats.share(shares)
        hits.append(ends.low <= truth <= ends.high)
    assert least <= np.mean(hits) <= 0.98


def test_shares_that_are_all_0_are_as_sure_as_wilson_has_them():
    ends = stats.share(np.zeros((5, 25)))  # the paper's plane + road: 0 of 125
    assert ends == (0, 0, pytest.approx(stats.wilson(0, 25)[1]))
    both = stats.share([np.zeros((5, 25))] * 2)
    assert both.high == pytest.approx(stats.wilson(0, 50)[1])
    equal = stats.mean(np.zeros((5, 25)), shares=True).interval()
    student = scipy.stats.t.ppf(0.975, 24) / scipy.stats.norm.ppf(0.975)
    assert equal.high == pytest.approx(ends.high * student) and equal.low == -equal.high


def test_means_of_a_table_are_those_of_arrays():
    first, second = crossed(2, groups=2, images=9)
    tables = [tidy(first).assign(kind="a"), tidy(second).assign(kind="b")]
    table = pd.concat(tables).sample(frac=1, random_state=0)
    by_kind = stats.mean_ci(table, "value", by=["kind"]).set_index("kind")
    expected = stats.mean(second).interval()
    assert by_kind.loc["b"].tolist() == pytest.approx([*expected, 45])
    table["image"] += 9 * (table["kind"] == "b")
    [row] = stats.mean_ci(table, "value", strata="kind").to_numpy()
    assert row == pytest.approx([*stats.mean([first, second]).interval(), 90])
    [row] = stats.mean_ci(tables[0], "value", units=["image"]).to_numpy()
    assert row[:3] == pytest.approx(stats.mean(first.mean(0)).interval())


def test_rows_that_share_images_are_not_counted_as_independent():
    """Mosaics of two of 25 images: 100 worlds in which the images differ."""
    rng, hits = np.random.default_rng(0), []
    for _ in range(100):
        pairs = rng.integers(25, size=(100, 2))
        of_mosaic = rng.normal(size=25)[pairs].sum(1) + rng.normal(0, 0.1, 100)
        table = tidy(of_mosaic + rng.normal(0, 0.1, (3, 1)))
        table[["left", "right"]] = pairs[table["image"]]
        for units in (["run", ["left", "right"]], ["run", "image"]):
            [row] = stats.mean_ci(table, "value", units=units).to_numpy()
            hits.append(row[1] <= 0 <= row[2])
    sharing, independent = np.reshape(hits, (100, 2)).mean(0)
    assert sharing >= 0.9 and independent < 0.75


def test_rows_of_one_image_each_share_nothing():
    table = tidy(crossed(3, 6)[0])
    shared = stats.mean_ci(table, "value", units=["run", ["image"]])
    pd.testing.assert_frame_equal(shared, stats.mean_ci(table, "value"))


# --- bootstrap ---


def test_the_bootstrap_of_one_unit_is_scipys_at_the_wider_level():
    values = np.random.default_rng(0).lognormal(size=12)
    ours = stats.bootstrap_ci([values[None]], lambda drawn: np.median(drawn[0]))
    wider = 1 - 2 * scipy.stats.norm.cdf(
        scipy.stats.t.ppf(0.025, 11) * np.sqrt(12 / 11)
    )
    options = {"confidence_level": wider, "method": "percentile", "n_resamples": 9999}
    theirs = scipy.stats.bootstrap((values,), np.median, rng=1, **options)
    expected = tuple(theirs.confidence_interval)
    assert ours.estimate == np.median(values)
    assert (ours.low, ours.high) == pytest.approx(expected, rel=0.1)


def test_the_bootstrap_of_a_table_is_that_of_its_array_and_about_the_closed_form():
    [values] = crossed(5, 10, (1, 0.2, 0.2))
    ours = stats.bootstrap_ci(tidy(values), lambda table: table["value"].mean())
    array = stats.bootstrap_ci([values], lambda drawn: drawn[0].mean())
    assert ours == pytest.approx(array)
    exact = stats.mean(values).interval()
    assert ours.high - ours.low == pytest.approx(exact.high - exact.low, rel=0.15)
    both = stats.bootstrap_ci([values], lambda drawn: np.full(2, drawn[0].mean()))
    assert both.low == pytest.approx([array.low, array.low])
    single = stats.bootstrap_ci([np.ones((1, 1))], lambda drawn: drawn[0].mean())
    assert single.estimate == 1 and np.isnan(single[1:]).all()


def test_a_table_is_resampled_within_strata():
    table = pd.DataFrame({"image": range(30), "kind": np.repeat(["a", "b"], [10, 20])})
    sizes = []

    def share_of_a(drawn):
        sizes.append(len(drawn))
        return (drawn["kind"] == "a").mean()

    how = {"units": ["image"], "strata": "kind", "resamples": 50}
    assert stats.bootstrap_ci(table, share_of_a, **how) == pytest.approx([1 / 3] * 3)
    assert set(sizes) == {30}


def test_clusters_are_drawn_as_often_as_there_are_clusters():
    counts = stats.cluster_bootstrap(5, 4000, np.random.default_rng(0))
    assert (counts.sum(1) == 5).all()
    assert counts.var(0) == pytest.approx(np.full(5, 0.8), abs=0.1)  # 5 x 1/5 x 4/5
    with pytest.raises(ValueError, match="one cluster"):
        stats.cluster_bootstrap(1, 9, np.random.default_rng(0))


# --- permutation tests ---


@given(st.lists(st.integers(1, 6), min_size=2, max_size=60), st.integers(0, 99))
def test_labels_of_a_cluster_come_from_one_other_cluster(sizes, seed):
    rng = np.random.default_rng(seed)
    clusters = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    taken = next(stats.permuted_labels(clusters, rng, clusters=clusters))
    donors = [np.unique(taken[clusters == one]) for one in range(len(sizes))]
    assert all(len(donor) == 1 for donor in donors)
    assert sorted(np.concatenate(donors)) == list(range(len(sizes)))


def test_labels_are_permuted_within_strata_and_inside_of_clusters():
    rng = np.random.default_rng(0)
    strata, rows = np.arange(40) % 4, np.arange(40)
    order = next(stats.permuted_labels(rows, rng, strata=strata))
    assert sorted(order) == rows.tolist() and (strata[order] == strata).all()
    clusters = np.repeat(np.arange(20), 2)
    how = {"clusters": clusters, "within_clusters": True}
    orders = stats.permuted_labels(rows, rng, **how)
    pairs = np.array([next(orders).reshape(20, 2) for _ in range(200)])
    assert (pairs // 2 == pairs[..., :1] // 2).all(), "a cluster stays together"
    assert (pairs[..., 0] % 2).mean() == pytest.approx(0.5, abs=0.05)


def test_p_is_that_of_all_permutations():
    """All 70 ways to choose four of eight rows, and 9,999 random ones."""
    values = np.array([3.0, 4.5, 5.0, 6.1, 1.0, 2.2, 4.6, 0.3])
    labels = np.repeat([1, 0], 4)

    def gap(labels):
        return values[labels == 1].mean() - values[labels == 0].mean()

    ways = (np.isin(np.arange(8), way) for way in itertools.combinations(range(8), 4))
    exact = np.mean([gap(way.astype(int)) >= gap(labels) - 1e-9 for way in ways])
    orders = stats.permuted_labels(labels, np.random.default_rng(0))
    null = np.array([[gap(next(orders))] for _ in range(9999)])
    table = stats.permutation_test([gap(labels)], null)
    assert table["p"][0] == pytest.approx(exact, abs=0.01)
    assert table["p_adjusted"][0] == table["p"][0], "one p is not adjusted"


def test_what_is_missing_or_cannot_vary_is_not_tested():
    null = np.array([[0.0, 1, 0], [1, 1, 1], [2, 1, 2], [np.nan, 1, 3]])
    table = stats.permutation_test([1.0, 1.0, np.nan], null)
    assert table["p"][0] == (1 + 3) / 5, "two are as large, and one is missing"
    assert table["p"][1:].isna().all() and table["p_adjusted"][1:].isna().all()


def westfall_and_young(p):
    """Adjust p values by the loop of their algorithm 2.8."""
    observed, adjusted, last = p[0], np.empty(p.shape[1]), 0.0
    for cell in np.argsort(observed, kind="stable"):
        rest = observed >= observed[cell]
        as_small = [row[rest].min() <= observed[cell] for row in p]
        last = adjusted[cell] = max(last, np.mean(as_small))
    return adjusted


def test_adjusted_p_are_those_of_westfall_and_youngs_loop():
    rng = np.random.default_rng(0)
    p = rng.integers(1, 40, (200, 12)) / 40
    p[0] = np.arange(1, 13) / 40
    assert stats.min_p(p) == pytest.approx(westfall_and_young(p))


def test_false_positives_of_a_family_come_at_the_level_where_holms_are_rarer():
    """Twenty statistics of correlation 0.9, one of them with a true effect; 300 families."""
    rng = np.random.default_rng(0)
    by_min_p, by_holm = [], []
    for _ in range(300):
        shared = rng.normal(0, np.sqrt(0.9), (200, 1))
        values = shared + rng.normal(0, np.sqrt(0.1), (200, 20))
        values[0, 0] += 9
        table = stats.permutation_test(values[0], values[1:])
        holm = stats.adjust(table["p"])
        assert table["p_adjusted"][0] <= 0.1
        by_min_p.append(table["p_adjusted"][1:].min() <= 0.05)
        by_holm.append(holm[1:].min() <= 0.05)
    error = np.sqrt(0.05 * 0.95 / 300)
    assert np.mean(by_holm) < 0.02 < np.mean(by_min_p) <= 0.05 + 2 * error


def test_holms_p_ignore_missing_values():
    p = stats.adjust([0.01, np.nan, 0.04, 0.03])
    assert p == pytest.approx([0.03, np.nan, 0.06, 0.06], nan_ok=True)


# --- power ---


def test_the_smallest_detectable_strength_is_that_of_the_normal_test():
    """A one-sided z test detects 80% at 1.645 + 0.842 standard errors."""
    strength = np.repeat(np.linspace(0, 4, 17), 400)
    z = np.random.default_rng(0).normal(strength)
    table = pd.DataFrame({"strength": strength, "detected": z > 1.645})
    assert stats.smallest_detectable(table) == pytest.approx(2.487, abs=0.15)
    assert np.isnan(stats.smallest_detectable(table[table["strength"] < 2]))


# --- rank correlation ---


def test_the_interval_of_a_rank_correlation_covers():
    """500 samples of 15 from a normal of correlation 0.7; rank correlation 6/pi asin(rho/2)."""
    rng = np.random.default_rng(1)
    true = 6 / np.pi * np.arcsin(0.7 / 2)
    hits = []
    for _ in range(500):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 15).T
        ends = stats.spearman(x, y)
        assert ends.estimate == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
        hits.append(ends.low <= true <= ends.high)
    assert 0.92 <= np.mean(hits) <= 0.985
    assert np.isnan(stats.spearman([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]).estimate)
    assert np.isnan(stats.spearman([1, 2, 3], [1, 3, 2]).low)


# --- the smallest of several ---


def normal_interval(value, error):
    """Return a value's normal interval as a function of the level."""

    def interval(level):
        half = scipy.stats.norm.ppf((1 + level) / 2) * error
        return value, value - half, value + half

    return interval


@pytest.mark.parametrize(
    ("true", "errors", "side", "expected"),
    [
        # all nine are 0, and the smallest seems to lie below
        (np.zeros(9), np.ones(9), "high", 1 - (1 - 0.025 / 9) ** 9),
        # one is 0 and doubtful, one 0.5 and sure, and all seem to lie above
        (np.array([0, 0.5]), np.array([1, 0.01]), "low", 0.025),
    ],
)
def test_the_smallest_of_several_is_wrong_as_often_as_bonferroni_says(
    true, errors, side, expected
):
    rng = np.random.default_rng(3)
    wrong = []
    for _ in range(1000):
        values = rng.normal(true, errors)
        low_end, high_end = smallest(list(map(normal_interval, values, errors)))[1:]
        wrong.append(high_end < 0 if side == "high" else low_end > 0)
    assert np.mean(wrong) == pytest.approx(expected, abs=0.015)
    turned = largest(list(map(normal_interval, -values, errors)))
    assert turned[[0, 2, 1]] == pytest.approx(
        -smallest(list(map(normal_interval, values, errors)))
    )
