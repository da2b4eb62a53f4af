"""Intervals of differences of rates of 0 and 1, and near them: widths and coverage."""

import numpy as np
import pandas as pd
import pytest

from helpers import stats
from helpers.blocks import counts, proportions, report

ALL_OR_NONE = [(40, 40), (0, 40)]  # positives and rows of each group


def table_of(groups, **columns):
    """The table of groups of which so many rows of so many are predicted positive."""
    names = np.repeat(
        [f"g{place}" for place in range(len(groups))], [n for _, n in groups]
    )
    y_pred = np.concatenate([np.arange(n) < positive for positive, n in groups])
    return counts.table(names, y_pred=y_pred.astype(int), **columns)


# --- two independent proportions ---


# --- tables: weights, clusters, strata ---


def test_equal_weights_and_copies_in_clusters_change_no_interval():
    plain = proportions.differences(table_of(ALL_OR_NONE), "pr")
    weighted = proportions.differences(
        table_of(ALL_OR_NONE, sample_weight=np.full(80, 3.0)), "pr"
    )
    five = [(5 * positive, 5 * n) for positive, n in ALL_OR_NONE]
    copies = table_of(five, clusters=np.repeat(np.arange(80), 5))
    assert plain[0][0] == pytest.approx(0.876, abs=5e-4)
    for interval in (weighted, proportions.differences(copies, "pr")):
        assert np.array(interval) == pytest.approx(np.array(plain))


def test_unequal_weights_count_as_fewer_rows():
    weight = np.tile([1.0, 3.0], 40)  # by Kish 80% of the rows
    data = table_of(ALL_OR_NONE, sample_weight=weight)
    fewer = proportions.differences(table_of([(32, 32), (0, 32)]), "pr")
    assert proportions.differences(data, "pr")[0] == pytest.approx(fewer[0])


def test_clusters_with_rows_of_both_groups_make_the_rates_dependent():
    """Each of 60 clusters has a row in both groups, and mostly the same outcome in both."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 60)
    second = np.where(rng.random(60) < 0.1, 1 - first, first)
    columns = {
        "y_pred": np.concatenate([first, second]),
        "clusters": np.tile(np.arange(60), 2),
    }
    data = counts.table(np.repeat(["a", "b"], 60), **columns)
    low, high = proportions.differences(data, "pr")
    change = first - second
    error = change.std() / np.sqrt(60)
    assert high[0] - low[0] == pytest.approx(2 * 1.96 * error, rel=0.15)


@pytest.mark.parametrize("strata", [2, 4])
def test_rates_of_0_and_1_in_every_stratum_have_a_width(strata):
    data = table_of(ALL_OR_NONE, strata=np.arange(80) % strata)
    low, high = proportions.differences(data, "pr")
    assert (low[0], high[0]) == pytest.approx((0.876, 1), abs=5e-4)


def test_intervals_with_strata_cover():
    """Rates of 0.02 to 0.9 over four strata, of which the groups have other mixes."""
    rng, hits = np.random.default_rng(0), []
    rates = np.array([0.02, 0.1, 0.5, 0.9])
    for _ in range(300):
        group = rng.integers(0, 2, 300)
        stratum = np.where(
            group == 1, rng.choice(4, 300), rng.choice(4, 300, p=[0.4, 0.3, 0.2, 0.1])
        )
        y_pred = (rng.random(300) < rates[stratum]).astype(int)
        data = counts.table(group, y_pred=y_pred, strata=stratum)
        low, high = proportions.differences(data, "pr")
        hits.append(low[0] <= 0 <= high[0])
    assert 0.93 <= np.mean(hits) <= 0.99


# --- reports: worst cases, means and ratios of many groups ---

EDGES = {
    "two": ALL_OR_NONE,
    "three": [(40, 40), (0, 40), (47, 100)],
    "none": [(0, 40), (0, 40)],
}


def cells(groups, comparisons, reductions, sets=("pairs",), **columns):
    data = table_of(groups, **columns)
    blocks_of = (["pr"], sets, comparisons, reductions)
    return report.make(data, *blocks_of, bootstrap=400, permutations=0).cells


@pytest.mark.parametrize("groups", EDGES)
@pytest.mark.parametrize("which", ["pairs", "vsany", "compl"])
def test_no_cell_of_a_report_has_a_width_of_0_at_rates_of_0_and_1(groups, which):
    table = cells(EDGES[groups], ["abs"], ["max", "min", "mean", "wmean"], [which])
    assert (table["high"] - table["low"] > 0.01).all(), table
    assert (table["low"] <= table["value"] + 1e-9).all()
    assert (table["value"] <= table["high"] + 1e-9).all()


def test_a_ratio_to_a_rate_of_0_has_a_finite_end():
    cell = cells(ALL_OR_NONE, ["srel"], ["max"]).iloc[0]
    assert (cell["value"], cell["high"]) == (1, 1)
    assert 0.85 < cell["low"] < 0.95


def test_the_rates_of_a_report_lie_between_0_and_1_and_so_do_their_ends():
    table = cells([(1, 40), (30, 40)], ["none"], ["min", "max"])
    assert table[["low", "high"]].to_numpy() == pytest.approx(
        np.array([stats.wilson(1, 40), stats.wilson(30, 40)]), abs=0.02
    )


@pytest.mark.parametrize("strata", [None, np.arange(80) % 2])
def test_strata_and_clusters_keep_the_width_of_a_worst_case(strata):
    cell = cells(ALL_OR_NONE, ["abs"], ["max"], strata=strata).iloc[0]
    assert cell["low"] == pytest.approx(0.876, abs=0.02)
    clusters = np.arange(80) // 2
    cell = cells(ALL_OR_NONE, ["abs"], ["max"], strata=strata, clusters=clusters).iloc[
        0
    ]
    assert 0.7 < cell["low"] < 0.85  # as of 20 and 20 rows


@pytest.mark.slow
@pytest.mark.parametrize(
    "rates", [(1, 0, 0.5), (0.98, 0.02, 0.1), (0, 0, 0), (0.03, 0.03, 0.03)]
)
def test_the_largest_gap_and_the_smallest_ratio_cover_near_0_and_1(rates):
    rng, hits = np.random.default_rng(0), []
    for trial in range(300):
        groups = [(rng.binomial(40, rate), 40) for rate in rates]
        data = table_of(groups)
        blocks_of = (["pr"], ["pairs"], ["abs", "srel"], ["max"])
        how = {"bootstrap": 199, "permutations": 0, "seed": trial}
        gap, ratio = report.make(data, *blocks_of, **how).cells.itertuples()
        true = np.ptp(rates)
        smallest = 1 - min(rates) / max(rates) if max(rates) else np.nan
        hits.append(
            [
                gap.low <= true + 1e-9 and true <= gap.high + 1e-9,
                np.isnan(ratio.low + smallest)
                or ratio.low <= smallest + 1e-9 <= ratio.high + 2e-9,
            ]
        )
    assert (np.mean(hits, axis=0) >= 0.93).all(), pd.DataFrame(hits).mean()
