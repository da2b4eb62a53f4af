"""Spearman with its interval, against scipy, the formula by hand, and simulation."""

import numpy as np
import pytest
import scipy.stats

from helpers import stats


def test_spearman_is_scipys_and_its_ends_are_the_formulas():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20)
    y = x + rng.normal(size=20)
    found = stats.spearman(x, y)
    r = scipy.stats.spearmanr(x, y).statistic
    z, half = 0.5 * np.log((1 + r) / (1 - r)), 1.959964 * np.sqrt((1 + r * r / 2) / 17)
    ends = [(np.exp(2 * v) - 1) / (np.exp(2 * v) + 1) for v in (z - half, z + half)]
    assert found.estimate == pytest.approx(r)
    assert [found.low, found.high] == pytest.approx(ends, abs=1e-6)


def test_the_interval_covers():
    """500 samples of 15 from a normal of correlation 0.7; rank correlation 6/pi asin(rho/2)."""
    rng, rho, hits = np.random.default_rng(1), 0.7, 0
    true = 6 / np.pi * np.arcsin(rho / 2)
    for _ in range(500):
        x, e = rng.normal(size=(2, 15))
        found = stats.spearman(x, rho * x + np.sqrt(1 - rho**2) * e)
        hits += found.low <= true <= found.high
    assert 0.92 <= hits / 500 <= 0.985


def test_spearman_without_spread_or_with_few_points():
    assert np.isnan(stats.spearman([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]).estimate)
    few, perfect = stats.spearman([1, 2, 3], [1, 3, 2]), stats.spearman(range(9), range(9))
    assert few.estimate == 0.5 and np.isnan(few.low)
    assert perfect.estimate == pytest.approx(1) and np.isnan(perfect.low)
    with pytest.raises(ValueError):
        stats.spearman([1, 2], [1, 2, 3])
