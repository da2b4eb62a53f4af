"""`helpers.stats` against closed forms, scipy's other routes and a simulation."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import stats


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


def test_wilson_on_a_number_of_the_paper():
    low, high = stats.wilson(44, 125)  # bench + sky, section 3
    assert 44 / 125 == 0.352
    assert (round(low, 3), round(high, 3)) == (
        0.274,
        0.439,
    )  # R: prop.test(44, 125, correct = FALSE)


def test_wilson_takes_arrays_and_no_trials():
    low, high = stats.wilson(np.array([0, 5, 5]), np.array([0, 5, 10]))
    assert (low[0], high[0]) == (0, 1)
    assert high[1] == 1
    assert (low[2], high[2]) == pytest.approx(stats.wilson(5, 10))


@pytest.mark.parametrize(("k", "n", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 95)])
def test_wilson_refuses_nonsense(k, n, level):
    with pytest.raises(ValueError, match=r"k must lie|level="):
        stats.wilson(k, n, level)


def test_cluster_means_against_a_loop():
    rng = np.random.default_rng(0)
    values, clusters = rng.normal(size=(60, 2)), rng.integers(0, 7, 60)
    expected = [values[clusters == c].mean(0) for c in np.unique(clusters)]
    assert stats.cluster_means(values, clusters) == pytest.approx(np.array(expected))
    assert stats.cluster_means(values[:, 0], clusters).ndim == 1


@pytest.mark.parametrize("n", [5, 25, 200])
def test_bootstrap_is_as_wide_as_students_interval_on_normal_data(n):
    values = scipy.stats.norm.ppf((np.arange(n) + 0.5) / n)  # ideal, symmetric sample
    found = stats.bootstrap(values, resamples=20000)
    half = scipy.stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)
    assert found.estimate == pytest.approx(0, abs=1e-12)
    tolerance = 0.12 if n == 5 else 0.04  # five values have few different resamples
    assert found.high == pytest.approx(half, rel=tolerance)
    assert found.low == pytest.approx(-half, rel=tolerance)


def test_bootstrap_of_groups_matches_a_plain_loop():
    rng = np.random.default_rng(1)
    groups = [rng.normal(loc, 1, n) for loc, n in ((0, 30), (3, 60), (9, 45))]
    found = stats.bootstrap(groups, resamples=4000)
    means = [
        np.mean([rng.choice(group, len(group)).mean() for group in groups]) for _ in range(4000)
    ]
    assert found.estimate == pytest.approx(np.mean([group.mean() for group in groups]))
    # 30 values: Student's 2.045 and sqrt(30 / 29) in place of 1.96
    wider = scipy.stats.t.ppf(0.975, 29) * np.sqrt(30 / 29)
    assert found.high - found.low == pytest.approx(2 * wider * np.std(means), rel=0.05)


def test_bootstrap_is_reproducible_and_seeded():
    values = np.random.default_rng(2).normal(size=25)
    assert stats.bootstrap(values, seed=3) == stats.bootstrap(values, seed=3)
    assert stats.bootstrap(values, seed=3) != stats.bootstrap(values, seed=4)


def test_bootstrap_of_degenerate_samples():
    assert stats.bootstrap([2.0] * 6) == (2, 2, 2)
    alone = stats.bootstrap([2.0])
    assert alone.estimate == 2 and np.isnan(alone.low) and np.isnan(alone.high)
    with pytest.raises(ValueError, match="1 of 3 values are NaN"):
        stats.bootstrap([1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="one value an image"):
        stats.bootstrap([np.array([])])


@pytest.mark.slow
def test_bootstrap_covers_what_it_says_when_images_are_clusters():
    """25 images x 5 mosaics, flips whose rate varies by image: 95% should hold the true mean."""
    rng, hits, naive = np.random.default_rng(0), 0, 0
    runs = 600
    for run in range(runs):
        flips = rng.random((25, 5)) < rng.beta(1, 2, (25, 1))  # true mean 1/3
        found = stats.bootstrap_share(flips.mean(1), resamples=600, seed=run)
        hits += found.low <= 1 / 3 <= found.high
        low, high = stats.wilson(int(flips.sum()), flips.size)  # as if all mosaics were independent
        naive += low <= 1 / 3 <= high
    assert 0.93 <= hits / runs <= 0.975
    assert naive / runs < 0.88  # why images, and not mosaics, are resampled


def test_bootstrap_share_where_no_image_flips_is_not_certain():
    found = stats.bootstrap_share(np.zeros(25))  # plane + road: 0 of 125
    assert found == (0, 0, pytest.approx(scipy.stats.norm.ppf(0.975) ** 2 / (25 + 3.8414588), 1e-6))
    assert stats.bootstrap_share(np.ones(25)).low == pytest.approx(1 - found.high)


@given(st.lists(st.sampled_from([0, 0.2, 0.4, 0.6, 0.8, 1]), min_size=2, max_size=30))
@settings(max_examples=30, deadline=None)
def test_bootstrap_share_stays_inside(shares):
    found = stats.bootstrap_share(shares, resamples=200)
    assert 0 <= found.low <= found.estimate + 1e-12 and found.estimate - 1e-12 <= found.high <= 1


def test_sign_flip_is_exact_for_few_images():
    differences = np.array([0.3, 1.1, -0.4, 2.0, 0.9, 0.1])
    signs = np.array(list(itertools.product([1, -1], repeat=6)))
    means = (signs * differences).mean(1)
    expected = (np.abs(means) >= abs(differences.mean()) - 1e-12).mean()
    assert stats.sign_flip(differences) == pytest.approx(expected)


def test_sign_flip_at_its_ends():
    assert stats.sign_flip(np.full(25, 1.5)) == pytest.approx(2 / 10000)
    assert stats.sign_flip(np.zeros(25)) == 1
    assert stats.sign_flip([3.0]) == 1


@pytest.mark.slow
def test_sign_flip_is_level_under_the_null():
    rng = np.random.default_rng(0)
    found = [stats.sign_flip(rng.normal(size=12), resamples=400, seed=s) for s in range(600)]
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.025)


def test_holm_by_hand_and_with_missing_values():
    found = stats.adjust([0.01, np.nan, 0.04, 0.03])
    assert found[[0, 2, 3]] == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(found[1])
    assert np.isnan(stats.adjust([np.nan])).all()
