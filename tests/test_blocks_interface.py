"""The paper's snippets and Table 1, a reader's CSV, the way back from a cell, what is refused."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import store
from helpers.blocks import blocks, claims, counts, report
from helpers.blocks import paper as fb

RNG = np.random.default_rng(0)
N = 200
RACES = RNG.choice(["black", "white", "asian"], N)
GENDERS = RNG.choice(["man", "nonbinary", "woman"], N)
Y_PRED, Y_TRUE, Y_SCORE = RNG.integers(0, 2, N), RNG.integers(0, 2, N), RNG.random(N)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_the_papers_code_runs_as_printed(capsys):
    """Section 5.2, with values for its dots; groups as in section 5.1, with their intersections."""
    s = fb.Fork(fb.categories @ list(RACES), man=GENDERS == "man")
    vsany = fb.unireport(predictions=list(Y_PRED), labels=torch.tensor(Y_TRUE), sensitive=s)
    pairs = fb.multireport(predictions=list(Y_PRED), labels=torch.tensor(Y_TRUE), sensitive=s)
    report = fb.combine(pairs, vsany)
    fb.describe(report)  # or print or fb.visualize
    assert "srel" in capsys.readouterr().out
    rates = [Y_PRED[rows].mean() for rows in (*(r == RACES for r in set(RACES)), GENDERS == "man")]
    assert report.cell("pr", "pairs", "srel", "max")["value"] == 1 - min(rates) / max(rates)
    assert len(report.pairs("pr", "vsany", "rel")) == 2 * 4


def test_forks_are_checked_when_they_are_made():
    cats = ["man", "woman", "man", "nonbinary"]
    fork = fb.Fork(fb.categories @ cats)
    assert fork.names == ("man", "nonbinary", "woman") and fork.rows("man").tolist() == [0, 2]
    with pytest.raises(ValueError, match="one name"):
        fb.Fork(fb.categories @ cats, man=[1, 0, 1, 0])
    with pytest.raises(ValueError, match="'gender' is a whole dimension"):
        fb.Fork(gender=fb.categories @ cats)
    with pytest.raises(ValueError, match=r"branch 'old': 1 of 4 .* first is 2 in row 1"):
        fb.Fork(old=[0, 2, 1, 1])


def test_table_1_is_the_papers():
    """Base measures, sets, comparisons and reductions as data/paper/blocks_table1.csv has them."""
    printed = pd.read_csv(store.root() / "data/paper/blocks_table1.csv").set_index("measure")
    words = {"pr": "P(c = 1 | S)", "fpr": "P(c = 1 | S, Y = 0)", "fnr": "P(c = 0 | S, Y = 1)"}
    words |= {"tpr": "P(c = 1 | S)", "acc": "any"}  # |deo|: the row drops the condition of the text
    words |= {"compl": "compl of one group", "vsany": "vsany", "pairs": "pairs"}
    words |= {"sabs": "fi - fj", "abs": "|fi - fj|", "srel": "1 - fi / fj"}
    assert [*fb.TABLE_1, "ib"] == printed.index.tolist()
    for name, of in fb.TABLE_1.items():
        row = printed.loc[name, ["base", "set", "comparison", "reduction"]].tolist()
        taken = 2 if name == "F_bias" else 4  # which takes any comparison and reduction
        assert row[:taken] == [words.get(part, part) for part in of][:taken]


def test_table_1_by_hand():
    data = claims.counted(claims.tables()["compas"])
    found = fb.table_1(data, group="African-American").set_index("measure")["value"]
    rates = np.array([2174 / 3696, 1143 / 3518])
    once = np.array([3696, 3518]) / 7214 @ np.abs(rates - 3317 / 7214)
    assert found["spsf"] == pytest.approx(2 * once)  # as printed: both directions
    assert found["db"] == pytest.approx(found["1 - prule"]) == 1 - rates[1] / rates[0]
    accuracy = np.array([(990 + 1369) / 3696, (1691 + 666) / 3518])
    assert found["wcb"] == pytest.approx(1 - accuracy.min() / accuracy.max())
    for name, value in found.items():
        assert fb.by_name(data, name, "African-American") == value, "every printed name is known"
    with pytest.raises(ValueError, match=r"'f1' is not known; there are \|dfpr\|"):
        fb.by_name(data, "f1")


def test_groups_and_their_intersections():
    shared = {"a": ["x", "x", "y"], "b": ["x", "y", "y"]}
    assert counts.groups(shared, "joint").names == ("x & x", "x & y", "y & y"), "no empty ones"
    assert counts.groups(shared).names == ("a=x", "a=y", "b=x", "b=y")


def test_from_a_cell_to_pairs_counts_and_rows():
    data = counts.table(RACES, y_pred=Y_PRED, y_true=Y_TRUE, y_score=Y_SCORE)
    comparisons = ("abs", "srel", "curve")
    whole = report.make(data, ("tpr", "auc"), comparisons=comparisons, bootstrap=0, permutations=0)
    cell = whole.cell("tpr", "pairs", "abs", "max")
    found = report.explain(whole, "tpr", "pairs", "abs", "max")
    assert len(found["pairs"]) == 3, "once where both directions say the same"
    assert len(report.explain(whole, "tpr", "pairs", "srel", "max", top=9)["pairs"]) == 6
    of = found["counts"].set_index("unit").loc[cell["group_i"]]
    assert of["tp"] / (of["tp"] + of["fn"]) == pytest.approx(cell["f_i"])
    assert (RACES[whole.rows(cell["group_i"])] == cell["group_i"]).all()
    with pytest.raises(KeyError, match="no cell of comparison 'curve' here; there are abs, srel"):
        whole.cell("tpr", "pairs", "curve", "max")
    with pytest.raises(KeyError, match="no group 'c'; there are asian, black, white"):
        whole.rows("c")


OK = {"y_pred": [0, 1, 1, 0], "y_true": [0, 1, 0, 1]}
AB = {"sensitive_features": list("aabb")}
REFUSED = [
    (AB | {"y_pred": [0, 1, 1]}, "group columns has 4.*y_pred has 3"),
    (AB | OK | {"y_true": [0, 1, 2, 1]}, "y_true: 1 of 4 .* first is 2 in row 2"),
    (AB | {"y_pred": ["0", "1", "x", "0"]}, "y_pred: 1 of 4 .* first is x in row 2"),
    (AB | {"y_score": [0, math.nan, 1, 1]}, "y_score: 1 of 4 .* row 1"),
    ({"sensitive_features": list("aaaa")} | OK, "one value, 'a', in all rows"),
    ({"sensitive_features": ["a", None, "b", "b"]} | OK, "1 of 4 values are missing"),
    ({"sensitive_features": {"x": list("aab")}} | OK, "differ in length"),
    ({"sensitive_features": [0.5, 1, 2.5, 1]} | OK, "'group' holds fractions, such as 0.5"),
    ({"sensitive_features": {}} | OK, "no group columns"),
    (AB, "nothing to measure"),
    (AB | {"y_pred": []}, r"shape \(0,\)"),
    (AB | {"y_pred": [[0, 1], [1, 0]]}, r"shape \(2, 2\)"),
    (AB | OK | {"intersect": "some"}, "'each', 'joint' or 'all'"),
]


@pytest.mark.parametrize("given, message", REFUSED)
def test_bad_columns_are_refused_with_a_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        counts.table(**given)


def test_empty_groups_and_too_many_groups_are_refused():
    with pytest.raises(ValueError, match="all groups are empty: x, y"):
        fb.Fork(x=[0, 0], y=[0, 0])
    million = np.arange(1_000_000)
    with pytest.raises(ValueError, match=r"1,000,000 groups.*identifier"):
        counts.table(million, y_pred=million % 2)
    with pytest.raises(ValueError, match=r"9,000 groups make .* comparisons"):
        blocks.bias(counts.table(million % 9000, y_pred=million % 2), "pr")


@pytest.mark.parametrize(
    "of, message",
    [
        (("f1", "pairs", "abs", "max"), "base measure 'f1' is not known; there are pr"),
        (("pr", "some", "abs", "max"), "comparison set 'some'"),
        (("pr", "pairs", "difference", "max"), "comparison 'difference'"),
        (("pr", "pairs", "abs", "worst"), "reduction 'worst'"),
        (("auc", "pairs", "abs", "max"), "auc needs y_score"),
        (("pr", "pairs", "curve", "max"), "nothing to compute"),
    ],
)
def test_unknown_blocks_are_refused(of, message):
    with pytest.raises(ValueError, match=message):
        blocks.bias(counts.table(**AB, **OK), *of)


def test_a_report_of_nothing_but_zero_over_zero_is_quiet():
    data = counts.table(**AB, y_pred=[0, 1, 0, 0], y_true=[0, 0, 0, 0])
    cells = report.make(data, bootstrap=30, permutations=30).cells
    empty = cells.loc[cells["measure"].isin(["tpr", "fnr"]), ["value", "low", "p"]]
    assert empty.isna().to_numpy().all()
