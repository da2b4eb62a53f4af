"""Rows that are not independent: drawn and exchanged by clusters."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from helpers import stats
from helpers.blocks import counts, report

WORST = (["pr"], ["pairs"], ["abs"], ["max"])
sizes = st.lists(st.integers(1, 6), min_size=2, max_size=60)


@given(sizes, st.integers(0, 99))
def test_labels_come_from_one_other_cluster_or_from_inside_of_their_own(of, seed):
    rng = np.random.default_rng(seed)
    cluster = rng.permutation(np.repeat(np.arange(len(of)), of))
    taken = cluster[next(stats.between_clusters(cluster, rng))]
    source = next(stats.within_clusters(cluster, rng))
    donors = [np.unique(taken[cluster == c]) for c in range(len(of))]
    assert all(len(donor) == 1 for donor in donors)
    assert sorted(np.concatenate(donors)) == list(range(len(of))), "each gives once"
    assert (cluster[source] == cluster).all() and len(set(source)) == len(cluster)


def rows(seed, clusters=60, each=1, gap=0.0):
    """Two groups, whole clusters in each; the rows of a cluster are copies of one."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(clusters) % 2)
    said = (rng.random(clusters) < 0.4 + gap * group).astype(int)
    table = pd.DataFrame({"group": np.array(["a", "b"])[group], "said": said})
    return table.loc[np.repeat(np.arange(clusters), each)].rename_axis("cluster").reset_index()


def reported(table, clustered):
    clusters = table["cluster"] if clustered else None
    data = counts.table(table["group"], y_pred=table["said"], clusters=clusters)
    return report.make(data, *WORST, bootstrap=400, permutations=400).cells.iloc[0]


def test_copies_add_nothing_when_they_are_one_cluster():
    single = reported(rows(0, 200, 1, 0.3), False)
    copied, fooled = (reported(rows(0, 200, 5, 0.3), on) for on in (True, False))
    width, wide, narrow = (cell["high"] - cell["low"] for cell in (single, copied, fooled))
    assert copied["value"] == pytest.approx(single["value"])
    assert wide == pytest.approx(width, rel=0.15)
    assert narrow == pytest.approx(width / np.sqrt(5), rel=0.2)


def alike(seed, clusters=60, each=12):
    """As `rows`, without any gap, and each cluster with a rate of its own."""
    table, rng = rows(seed, clusters, each), np.random.default_rng(seed)
    rate = rng.uniform(0.1, 0.9, clusters)[table["cluster"]]
    return table.assign(said=(rng.random(len(table)) < rate).astype(int))


def crossed(seed, objects=50):
    """Every object in each of three contexts: the groups vary inside of a cluster."""
    rng = np.random.default_rng(seed)
    cluster, context = np.divmod(np.arange(3 * objects), 3)
    said = (rng.random(len(cluster)) < rng.uniform(0.05, 0.95, objects)[cluster]).astype(int)
    group = np.array(["x", "y", "z"])[context]
    return pd.DataFrame({"cluster": cluster, "group": group, "said": said})


@pytest.mark.slow
@pytest.mark.parametrize("made", [alike, crossed])
def test_p_is_uniform_where_clusters_share_an_outcome(made):
    p = np.array([reported(made(s), True)["p"] for s in range(150)])
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.01


@pytest.mark.parametrize("of, fixed", [("auc", None), ("tpr", np.arange(300) % 6 // 3)])
def test_scores_and_strata_by_clusters(of, fixed):
    table, rng = rows(2, 100, 3, 0.2), np.random.default_rng(0)
    columns = {"y_true": rng.integers(0, 2, 300), "y_score": rng.random(300)}
    columns |= {"y_pred": table["said"], "clusters": table["cluster"], "strata": fixed}
    data = counts.table(table["group"], **columns)
    found = report.make(data, [of], *WORST[1:], bootstrap=20, permutations=20)
    assert found.cells[["low", "high", "p"]].notna().all().all()
    if fixed is not None:
        with pytest.raises(ValueError, match="strata can be held fixed for rates, not for auc"):
            report.make(data, ["auc"])


@pytest.mark.parametrize(
    "clusters, message",
    [
        ([1, 1, 1, 1], "clusters: all rows belong to one"),
        ([1, 2, None, 1], "1 of 4 values are missing, the first is in row 2"),
        ([1, 2, 3], "clusters has 3"),
    ],
)
def test_bad_clusters_are_refused(clusters, message):
    with pytest.raises(ValueError, match=message):
        counts.table(list("aabb"), y_pred=[0, 1, 1, 0], clusters=clusters)
