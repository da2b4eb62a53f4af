"""What notebook 09 reads beside its cells: nulls by size, rates, and real frames."""

import blocks_frames
import numpy as np
import pandas as pd
import pytest

from helpers.blocks import counts, evidence, report


def test_a_worst_case_without_bias_shrinks_with_rows_and_grows_with_groups():
    """Medians of db with 60 groups that design notes give: 1.00, 0.80, 0.32 (rate not stated)."""
    unbiased = evidence.without_bias([1000, 10_000, 100_000], [2, 60], draws=60)
    median = unbiased.pivot(index="n", columns="groups", values="median")
    assert median.loc[1000, 60] == 1
    assert 0.6 < median.loc[10_000, 60] < 0.85 and 0.25 < median.loc[100_000, 60] < 0.35
    assert (median[60] > median[2]).all() and (median.diff().dropna() < 0).all().all()


def test_rates_and_their_adjustment_by_hand():
    by, z = np.repeat(list("ab"), 10), np.tile([0, 1], 10)
    p = np.array([1, 0] * 5 + [1, 1, 0, 0, 1] * 2)
    data = counts.table(by, y_pred=p, strata=z)
    found = report.rates(data).set_index("group")
    fixed = {g: np.mean([p[(by == g) & (z == s)].mean() for s in (0, 1)]) for g in "ab"}
    for g in "ab":
        assert found.loc[g, "value"] == p[by == g].mean()
        assert found.loc[g, "adjusted"] == pytest.approx(fixed[g])
    gap = report.make(data, bootstrap=9, permutations=0).cell("pr", "pairs", "sabs", "max")["value"]
    assert gap == pytest.approx(abs(fixed["a"] - fixed["b"]))


def test_the_p_value_of_frames_that_are_exchanged_is_that_of_shuffles():
    rng = np.random.default_rng(1)
    scene = pd.Series(rng.integers(0, 2, 900))
    inside = pd.Series(rng.random(900) < 0.2 + 0.3 * scene)
    right = pd.Series((rng.random(900) < 0.6 + 0.2 * scene - 0.08 * inside).astype(int))

    def gap(inside):
        share = right.groupby([scene, inside]).mean().unstack()
        return (scene.value_counts(normalize=True) * (share[False] - share[True])).sum()

    shuffled = [gap(inside.groupby(scene).transform(rng.permutation)) for _ in range(2000)]
    share = np.mean(np.abs(shuffled) >= abs(gap(inside)))
    assert 0.001 < share < 0.3
    found = blocks_frames.exchange_p(gap(inside), inside, right, scene)
    assert found == pytest.approx(share, abs=0.015)
