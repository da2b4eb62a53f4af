"""Table 1, FairBench's viewers, groups and rankings by hand, and what is refused."""

import warnings

import fairbench
import numpy as np
import pandas as pd
import pytest

from helpers import store
from helpers.blocks import blocks, bridge, counts, paper, report

RNG = np.random.default_rng(0)
N = 200
RACES = RNG.choice(["black", "white", "asian"], N)
Y_PRED, Y_TRUE = RNG.integers(0, 2, (2, N))


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_what_the_viewers_read_are_our_cells():
    data = counts.table(RACES, y_pred=Y_PRED, y_true=Y_TRUE)
    tree = bridge.to_fairbench(data)
    for name, of in (("min", "acc"), ("maxdiff", "tpr"), ("maxrel", "pr")):
        cell = blocks.bias(data, of, *paper.FIGURE_1[bridge.REDUCED[name]])
        assert float(tree.depends[name].depends[of]) == cell
    rate = float(tree.depends["min"].depends["pr"].depends["black"])
    assert rate == pytest.approx(Y_PRED[RACES == "black"].mean())
    stamps = tree.filter(fairbench.investigate.Stamps).depends
    assert float(stamps["worst accuracy"]) == blocks.bias(
        data, "acc", *paper.FIGURE_1["min"]
    )


def test_groups_their_intersections_individuals_and_rankings_by_hand():
    people = counts.table(None, y_score=[0.1, 0.2, 0.9])
    assert (
        blocks.bias(people, "score") == pytest.approx(0.8) and len(people.groups) == 3
    )
    order = pd.Series(list("aaabaabb"))
    share = pd.DataFrame({g: (order == g).expanding().mean() for g in "ab"})
    weight = 1 / np.log(1 + np.arange(1, 9))
    data = counts.table([*order], y_score=range(8, 0, -1))
    apart = (share["a"] - share["b"]).to_numpy()
    assert blocks.bias(data, "ar") == pytest.approx(apart.mean())
    assert blocks.bias(data, "ar_dcg") == pytest.approx(
        (apart * weight).sum() / weight.sum()
    )
    shared = {"a": ["x", "x", "y"], "b": ["x", "y", "y"]}
    assert counts.groups(shared, "joint").names == ("x & x", "x & y", "y & y"), (
        "no empty ones"
    )
    assert counts.groups(shared).names == ("a=x", "a=y", "b=x", "b=y")


def test_table_1_is_the_papers():
    """Base measures, sets, comparisons and reductions as data/paper/blocks_table1.csv has them."""
    printed = pd.read_csv(store.root() / "data/paper/blocks_table1.csv").set_index(
        "measure"
    )
    words = {
        "pr": "P(c = 1 | S)",
        "fpr": "P(c = 1 | S, Y = 0)",
        "fnr": "P(c = 0 | S, Y = 1)",
    }
    words |= {
        "tpr": "P(c = 1 | S)",
        "acc": "any",
    }  # |deo|: the row drops the condition of the text
    words |= {"compl": "compl of one group", "vsany": "vsany", "pairs": "pairs"}
    words |= {"sabs": "fi - fj", "abs": "|fi - fj|", "srel": "1 - fi / fj"}
    assert [*paper.TABLE_1, "ib"] == printed.index.tolist()
    for name, of in paper.TABLE_1.items():
        row = printed.loc[name, ["base", "set", "comparison", "reduction"]].tolist()
        taken = 2 if name == "F_bias" else 4  # which takes any comparison and reduction
        assert row[:taken] == [words.get(part, part) for part in of][:taken]


OK = {"y_pred": [0, 1, 1, 0], "y_true": [0, 1, 0, 1]}
AB = {"sensitive_features": list("aabb")}
REFUSED = [
    (AB | {"y_pred": [0, 1, 1]}, "must be of the same length"),
    (AB | OK | {"y_true": [0, 1, 2, 1]}, "y_true: 1 of 4 .* first is 2 in row 2"),
    (AB | {"y_pred": ["0", "1", "x", "0"]}, "y_pred: 1 of 4 .* first is x in row 2"),
    ({"sensitive_features": list("aaaa")} | OK, "one value, 'a', in all rows"),
    (
        {"sensitive_features": ["a", None, "b", "b"]} | OK,
        "1 of 4 values are missing.* row 1",
    ),
    (
        {"sensitive_features": [1, 0.5, 2.5, 1]} | OK,
        "'group': 2 of 4 .* fractions.* is 0.5 in row",
    ),
    ({"sensitive_features": {}} | OK, "no group columns"),
    (AB, "nothing to measure"),
    (
        AB | OK | {"intersect": "some"},
        "'some' is not known; there are each, joint, all",
    ),
    (AB | OK | {"clusters": [1] * 4}, "clusters has one value, '1', in all rows"),
    (
        AB | OK | {"clusters": [1, 2, None, 1]},
        "clusters: 1 of 4 values are missing.* row 2",
    ),
]


@pytest.mark.parametrize("columns, message", REFUSED)
def test_bad_columns_are_refused_with_a_sentence(columns, message):
    with pytest.raises(ValueError, match=message):
        counts.table(**columns)


def test_too_many_groups_are_refused():
    million = np.arange(1_000_000)
    with pytest.raises(ValueError, match=r"1,000,000 groups.*identifier"):
        counts.table(million, y_pred=million % 2)
    with pytest.raises(ValueError, match=r"pairs of 9,000 groups are too many"):
        blocks.bias(counts.table(million % 9000, y_pred=million % 2), "pr")


def test_a_report_of_nothing_but_zero_over_zero_is_quiet():
    data = counts.table(**AB, y_pred=[0, 1, 0, 0], y_true=[0, 0, 0, 0])
    whole = report.make(data, bootstrap=30, permutations=30)
    empty = whole.cells[whole.cells["measure"].isin(["tpr", "fnr"])]
    assert empty[["value", "low", "p"]].isna().to_numpy().all()
    cell = whole.cell("tpr", "pairs", "abs", "max")
    assert (cell["compared"], cell["skipped"], cell["group_i"]) == (0, 2, "")
