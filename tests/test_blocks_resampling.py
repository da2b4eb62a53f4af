"""Resampling, nulls, intervals and multiplicity: by simulation where there is no formula."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from helpers.blocks import blocks, counts, intervals, report


def table_of(held):
    """A table from counts (K, 4), without rows: enough for all that counts decide."""
    k = np.repeat(np.arange(len(held)), 2)
    kinds = counts.table([0, 1], y_pred=[0, 1], y_true=[0, 1]).kinds
    return counts.Table(counts.groups({"g": k}), kinds, np.asarray(held))


def drawn(rates, shares, n, rng):
    """Counts of n rows, half of them positive: rates (G, 2) are fpr and tpr."""
    rates, shares = np.asarray(rates), np.asarray(shares)[:, None] / 2
    p = np.hstack([(1 - rates) * shares, rates * shares])
    return rng.multinomial(n, p.ravel() / p.sum()).reshape(-1, 4), p / p.sum()


BLOCKS = {
    "sets": ["vsany", "pairs", "compl"],
    "comparisons": ["abs", "srel"],
    "reductions": ["max", "wmean"],
}


@pytest.mark.slow
def test_null_p_values_are_uniform_on_unbiased_data():
    """250 tables without bias: at most chance says otherwise, at every level, in every cell."""
    rng = np.random.default_rng(3)
    every = []
    for trial in range(250):
        held, _ = drawn([[0.3, 0.7]] * 5, [0.3, 0.25, 0.2, 0.15, 0.1], 3000, rng)
        null = {"permutations": 99, "bootstrap": 0, "seed": trial}
        cells = report.make(
            table_of(held), ["pr", "tpr", "acc"], **BLOCKS, **null
        ).cells
        every.append(cells[["p", "p_minp"]].dropna().to_numpy())
    p = np.stack(every)[:, :, 0]
    for cell in p.T:  # 0.103 is the 1% point of Kolmogorov's distance for 250 values
        assert scipy.stats.kstest(cell, "uniform").statistic < 0.103 + 1 / 100
    for level in (0.05, 0.2):  # several standard errors of a share of 250
        assert np.abs((p <= level).mean(0) - level).max() < 4 * np.sqrt(
            level * (1 - level) / 250
        )
    assert (
        np.stack(every)[:, :, 1].min(1) <= 0.05
    ).mean() < 0.05 + 0.03  # any false finding at all


COVERED = [
    ("pairs", "abs", "max"),
    ("vsany", "abs", "mean"),
    ("vsany", "none", "min"),
    ("pairs", "srel", "max"),
    ("compl", "abs", "wmean"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rates, lowest, highest",
    [
        (
            [[0.2, 0.7], [0.3, 0.8], [0.25, 0.6], [0.5, 0.9]],
            0.91,
            0.99,
        ),  # one clear worst pair
        (
            [[0.3, 0.7]] * 4,
            0.93,
            1.0,
        ),  # no bias: at the edge intervals may be too long, not short
    ],
)
def test_intervals_cover(rates, lowest, highest):
    """95% intervals of 400 tables: standard error of the coverage 0.011."""
    rng = np.random.default_rng(5)
    shares, hits = [0.4, 0.3, 0.2, 0.1], []
    truth = table_of(np.round(drawn(rates, shares, 1, rng)[1] * 10**8).astype(int))
    for trial in range(400):
        data = table_of(drawn(rates, shares, 3000, rng)[0])
        for cell_of in COVERED:
            only = [[b] for b in cell_of]
            how = {"bootstrap": 300, "permutations": 0, "seed": trial}
            cell = report.make(data, ["pr", "tpr"], *only, **how).cells
            true = np.array([blocks.bias(truth, of, *cell_of) for of in ("pr", "tpr")])
            hits.append((cell["low"] <= true + 1e-6) & (true <= cell["high"] + 1e-6))
    coverage = np.reshape(hits, (400, len(COVERED), 2)).mean(0)
    assert (coverage >= lowest).all() and (coverage <= highest).all(), coverage


def test_intervals_of_an_extreme_are_normal_where_one_is_far_from_the_others():
    rng = np.random.default_rng(6)
    draws = 0.5 + rng.normal(0, 0.1, (20_000, 1))
    ends = intervals.extreme(np.array([0.5]), draws)
    assert ends == pytest.approx((0.5 - 0.196, 0.5 + 0.196), abs=0.005)
    both = np.hstack([draws, draws + 2.5])
    least = intervals.extreme(np.array([0.5, 3.0]), both, least=True)
    assert least == pytest.approx(ends, abs=0.005)


def test_confounded_groups_are_not_found_biased_once_adjusted_and_too_many_draws_are_refused():
    rng = np.random.default_rng(9)
    z = rng.integers(0, 2, 2000)
    by = (rng.random(2000) < np.where(z, 0.8, 0.2)).astype(int)
    p = (rng.random(2000) < np.where(z, 0.8, 0.3)).astype(int)
    for strata, small in ((None, True), (z, False)):
        data = counts.table(by, y_pred=p, strata=strata)
        cells = report.make(
            data, ["pr"], ["pairs"], ["abs"], ["max"], permutations=199
        ).cells
        assert (cells["p"][0] < 0.05) == small
    rng = np.random.default_rng(10)
    data = counts.table(rng.integers(0, 600, 2000), y_pred=rng.integers(0, 2, 2000))
    with pytest.raises(ValueError, match="drawn comparisons are too many"):
        report.make(data, bootstrap=1000)
    of = {"bootstrap": 0, "permutations": 130}
    assert report.make(data, ["pr"], ["pairs"], ["abs"], ["max"], **of).null.shape == (
        130,
        1,
    )


# --- rows that are not independent: drawn and exchanged by clusters ---

WORST = (["pr"], ["pairs"], ["abs"], ["max"])


def copies(seed, clusters=60, each=1, gap=0.0):
    """Two groups, whole clusters in each; the rows of a cluster are copies of one."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(clusters) % 2)
    yes = (rng.random(clusters) < 0.4 + gap * group).astype(int)
    table = pd.DataFrame({"group": np.array(["a", "b"])[group], "said": yes})
    return (
        table.loc[np.repeat(np.arange(clusters), each)]
        .rename_axis("cluster")
        .reset_index()
    )


def reported(table, clustered):
    clusters = table["cluster"] if clustered else None
    data = counts.table(table["group"], y_pred=table["said"], clusters=clusters)
    return report.make(data, *WORST, bootstrap=400, permutations=400).cells.iloc[0]


def test_copies_add_nothing_when_they_are_one_cluster():
    single = reported(copies(0, 200, 1, 0.3), False)
    copied, fooled = (reported(copies(0, 200, 5, 0.3), on) for on in (True, False))
    width, wide, narrow = (
        cell["high"] - cell["low"] for cell in (single, copied, fooled)
    )
    assert copied["value"] == pytest.approx(single["value"])
    assert wide == pytest.approx(width, rel=0.15)
    assert narrow == pytest.approx(width / np.sqrt(5), rel=0.2)


def alike(seed, clusters=60, each=12):
    """As `copies`, without any gap, and each cluster with a rate of its own."""
    table, rng = copies(seed, clusters, each), np.random.default_rng(seed)
    rate = rng.uniform(0.1, 0.9, clusters)[table["cluster"]]
    return table.assign(said=(rng.random(len(table)) < rate).astype(int))


def crossed(seed, objects=50):
    """Every object in each of three contexts: the groups vary inside of a cluster."""
    rng = np.random.default_rng(seed)
    cluster, context = np.divmod(np.arange(3 * objects), 3)
    yes = (rng.random(len(cluster)) < rng.uniform(0.05, 0.95, objects)[cluster]).astype(
        int
    )
    group = np.array(["x", "y", "z"])[context]
    return pd.DataFrame({"cluster": cluster, "group": group, "said": yes})


@pytest.mark.slow
@pytest.mark.parametrize("made", [alike, crossed])
def test_p_is_uniform_where_clusters_share_an_outcome(made):
    p = np.array([reported(made(s), True)["p"] for s in range(150)])
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.01


@pytest.mark.parametrize("of, fixed", [("auc", None), ("tpr", np.arange(300) % 6 // 3)])
def test_scores_and_strata_by_clusters(of, fixed):
    table, rng = copies(2, 100, 3, 0.2), np.random.default_rng(0)
    columns = {"y_true": rng.integers(0, 2, 300), "y_score": rng.random(300)}
    columns |= {"y_pred": table["said"], "clusters": table["cluster"], "strata": fixed}
    data = counts.table(table["group"], **columns)
    whole = report.make(data, [of], *WORST[1:], bootstrap=20, permutations=20)
    assert whole.cells[["low", "high", "p"]].notna().all().all()
    if fixed is not None:
        with pytest.raises(
            ValueError, match="strata can be held fixed for rates, not for auc"
        ):
            report.make(data, ["auc"])
