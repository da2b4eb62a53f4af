"""The paper's snippets, reports that are saved and explored, and what is refused."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers import fairness as fb
from helpers.fairness import columns, explore, grouping, toolkits

RNG = np.random.default_rng(0)
N = 200
RACES = RNG.choice(["black", "white", "asian"], N)
GENDERS = RNG.choice(["man", "nonbinary", "woman"], N)
PREDICTIONS, LABELS, SCORES = RNG.integers(0, 2, N), RNG.integers(0, 2, N), RNG.random(N)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_snippets_of_the_paper_run_as_printed(capsys):
    """Sections 5.1 and 5.2, with values for their dots."""
    predictions, labels = list(PREDICTIONS), torch.tensor(LABELS)
    race, races, genders = RACES, list(RACES), pd.Series(GENDERS)

    s = fb.Fork(white=race == "white", black=race == "black")  # branches hold binary iterables
    acc = fb.accuracy(predictions=predictions, labels=labels, sensitive=s)
    fb.visualize(acc)  # visualize accuracy, which is also a fork
    white = race == "white"
    assert acc["white"] == pytest.approx((PREDICTIONS == LABELS)[white].mean())

    s = fb.Fork(fb.categories @ races, fb.categories @ genders)
    s = s.intersectional()
    print(s.sum())  # visualization is not very instructive for many branches
    both = ((RACES == "black") & (GENDERS == "man")).sum()
    assert f"black & man: {both}" in capsys.readouterr().out

    vsany = fb.unireport(predictions=predictions, labels=labels, sensitive=s)
    pairs = fb.multireport(predictions=predictions, labels=labels, sensitive=s)
    report = fb.combine(pairs, vsany)
    fb.describe(report)  # or print or fb.visualize
    assert "max srel" in capsys.readouterr().out
    fb.visualize(report)
    by = pd.DataFrame({"race": RACES, "gender": GENDERS})
    data = fb.table(by, predictions=PREDICTIONS, labels=LABELS, intersect="all")
    assert report.cell("pr", "pairs", "srel", "max")["value"] == fb.differential_bias(data)
    scored = fb.unireport(predictions=predictions, labels=labels, scores=SCORES, sensitive=s)
    assert {"acc", "auc"} <= set(scored.cells["measure"])


def test_a_fork_of_categories_is_the_papers_fork():
    cats = ["man", "woman", "man", "nonbinary"]
    fork = fb.Fork(fb.categories @ cats)
    assert list(fork) == ["man", "nonbinary", "woman"]
    assert fork.man.tolist() == [1, 0, 1, 0]
    with pytest.raises(ValueError, match="one name"):
        fb.Fork(fb.categories @ cats, man=[1, 0, 1, 0])


def test_columns_of_every_kind_count_alike():
    expected = fb.table(RACES, predictions=PREDICTIONS, labels=LABELS).counts
    for kind in (list, np.array, pd.Series, torch.tensor, lambda v: np.array(v, bool)):
        found = fb.table(list(RACES), predictions=kind(PREDICTIONS), labels=kind(LABELS))
        assert (found.counts == expected).all()
    for by in (pd.Series(RACES), pd.Series(RACES).astype("category"), pd.Categorical(RACES)):
        assert (fb.table(by, predictions=PREDICTIONS, labels=LABELS).counts == expected).all()
    if torch.cuda.is_available():
        found = fb.table(RACES, predictions=torch.tensor(PREDICTIONS).cuda(), labels=LABELS)
        assert (found.counts == expected).all()


def test_groups_and_their_intersections():
    by = pd.DataFrame({"race": RACES, "gender": GENDERS})
    for intersect, count in (("each", 6), ("joint", 9), ("all", 15)):
        found = fb.groups(by, intersect)
        assert len(found) == count
        for name in found.names:
            mine = np.ones(N, bool)
            for part in name.split(" & "):
                mine &= (part == RACES) | (part == GENDERS)
            assert (found.rows(name) == np.flatnonzero(mine)).all()
            assert (found.rows(f"not {name}") == np.flatnonzero(~mine)).all()
    assert len(found.rows("everyone")) == N


@given(
    st.lists(st.sampled_from(["a", "b", "Z", None, float("nan"), 3, True]), min_size=1),
    st.integers(1, 4),
)
def test_text_is_coded_as_pandas_would(values, copies):
    """Equal texts are one value, whether or not they are one object."""
    again = ["".join(["", v]) if isinstance(v, str) else v for v in values]  # same objects or not
    column = np.array((values + again) * copies, dtype=object)
    found = columns.by_reference(column)
    place, names = pd.factorize(column)
    assert found is not None and sorted(map(str, found[1])) == sorted(map(str, names))
    back = np.array([*found[1], None], dtype=object)[found[0]]
    truth = np.array([*names, None], dtype=object)[place]
    assert back.tolist() == truth.tolist()


def test_many_texts_are_hashed_instead():
    column = np.array([f"value {i}" for i in range(500)], dtype=object)
    assert columns.by_reference(column) is None
    late = np.array(["a"] * columns.SAMPLE + ["b"], dtype=object)
    assert columns.by_reference(late) is None, "an object that the sample has not seen"
    found, names = columns.codes(pd.Series(late), "letter")
    assert (found[-1], names) == (1, ["a", "b"])


def test_empty_intersections_are_left_out_and_values_shared_by_columns_told_apart():
    by = {"a": ["x", "x", "y"], "b": ["x", "y", "y"]}
    assert fb.groups(by, "joint").names == ("x & x", "x & y", "y & y")
    assert fb.groups(by).names == ("a=x", "a=y", "b=x", "b=y")


def test_small_groups_are_kept_marked_and_not_compared():
    data = fb.table(list("aaaabbbbc"), predictions=[1, 0, 0, 0, 1, 1, 0, 0, 1], min_size=3)
    assert data.frame().set_index("group").loc["c", "small"]
    report = fb.report(data, ["pr"], ["pairs"], ["abs"], ["max"])
    assert report.cells.loc[0, ["value", "compared", "skipped"]].tolist() == [0.25, 2, 4]


def test_drill_down_from_a_cell_to_pairs_counts_and_rows():
    data = fb.table(RACES, predictions=PREDICTIONS, labels=LABELS)
    report = fb.report(data)
    cell = report.cell("tpr", "pairs", "abs", "max")
    pair = report.pairs("tpr", "pairs", "abs").iloc[0]
    assert {pair["group_i"], pair["group_j"]} == {cell["group_i"], cell["group_j"]}
    counts = report.counts(cell["group_i"]).iloc[0]
    assert counts["tp"] / (counts["tp"] + counts["fn"]) == pytest.approx(cell["f_i"])
    rows = report.rows(cell["group_i"])
    assert len(rows) == counts["n"] and (RACES[rows] == cell["group_i"]).all()
    wide = report.table()
    assert wide.loc["tpr", ("pairs", "abs", "max")] == cell["value"]
    found = explore.explain(report, "tpr", "pairs", "abs", "max")
    assert set(found["counts"]["unit"]) == {cell["group_i"], cell["group_j"]}
    assert explore.step(report, "tpr", "pairs")["value"].dropna().is_monotonic_decreasing


def test_reports_are_saved_and_loaded(tmp_path):
    data = fb.table(RACES, predictions=PREDICTIONS, labels=LABELS, scores=SCORES, strata=GENDERS)
    for adjust in (None, "standardised", "stratified"):
        report = fb.report(data, ["acc", "auc"], adjust=adjust, permutations=5, bootstrap=5)
        path = report.save(tmp_path / "report.json")
        for again in (fb.load(path), fb.load(path, data)):
            pd.testing.assert_frame_equal(again.cells, report.cells, check_dtype=False)
            pd.testing.assert_frame_equal(again.units, report.units, check_dtype=False)
            pd.testing.assert_frame_equal(
                again.pairs("auc", "pairs", "rel"), report.pairs("auc", "pairs", "rel")
            )
    with pytest.raises(ValueError, match="rows are not saved"):
        fb.load(path).rows("black")
    with pytest.raises(ValueError, match="made from another"):
        fb.load(path, fb.table(GENDERS[:50], predictions=PREDICTIONS[:50]))
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(ValueError, match="not a report"):
        fb.load(tmp_path / "other.json")


def test_the_widget_follows_its_menus():
    report = fb.report(fb.table(RACES, predictions=PREDICTIONS, labels=LABELS))
    box = fb.interactive(report)
    menus, page = box.children[0].children, box.children[1]
    menus[0].value, menus[3].value = "ppv", "min"
    worst = report.cell("ppv", menus[1].value, menus[2].value, "min")
    assert worst["group_i"] in page.value and "ppv" in page.value


def test_table_1_and_its_choices():
    data = toolkits.data(toolkits.examples()["compas"])
    found = fb.table_1(data, group="African-American").set_index("measure")["value"]
    assert found["|deo|"] == pytest.approx(found["|dfnr|"])
    assert fb.opportunity_gap(data, 0) == pytest.approx(found["|dfpr|"])
    assert fb.opportunity_gap(data, "worst") == pytest.approx(max(found["|dfpr|"], found["|deo|"]))
    assert fb.opportunity_gap(data, None) == pytest.approx(found["cv"])
    sizes, rates, everyone = (
        np.array([3696, 3518]),
        np.array([2174 / 3696, 1143 / 3518]),
        3317 / 7214,
    )
    once = sizes / 7214 @ np.abs(rates - everyone)
    assert found["spsf"] == pytest.approx(2 * once)  # as printed: both directions
    assert fb.bias(data, "pr", "vsany", "abs", "wmean_normalised") == pytest.approx(once)
    assert found["db"] == pytest.approx(found["1 - prule"])  # two groups
    negative = 1 - (1 - rates[0]) / (1 - rates[1])
    assert fb.differential_bias(data, "all") == pytest.approx(max(found["db"], negative))
    accuracy = np.array([(990 + 1369) / 3696, (1691 + 666) / 3518])
    assert fb.worst_case(data, "acc") == pytest.approx(1 - accuracy.min() / accuracy.max())
    assert fb.groups_vs_all(data, "acc") == found["F_bias"]


def test_individual_bias_by_hand():
    y, x = np.array([0.0, 1.0, 0.4]), np.array([[0.0], [2.0], [2.1]])
    pairs = [(0, 1), (0, 2), (1, 2)]
    worst = max(abs(y[a] - y[b]) / abs(x[a, 0] - x[b, 0]) for a, b in pairs)
    assert fb.individual_bias(y, x) == pytest.approx(worst)
    assert fb.individual_bias([0, 1], [[1.0], [1.0]]) == math.inf
    assert math.isnan(fb.individual_bias([1, 1], [[1.0], [1.0]]))


OK = {"predictions": [0, 1, 1, 0], "labels": [0, 1, 0, 1]}
REFUSED = [
    (dict(by=list("aabb"), predictions=[0, 1, 1]), "predictions has 3.*group columns has 4"),
    (dict(by=list("aabb"), labels=[0, 1, 2, 1]), "labels: 1 of 4 .* first is 2 in row 2"),
    (dict(by=list("aabb"), predictions=["a", "b", "a", "b"]), "predictions holds 'a'"),
    (dict(by=list("aabb"), scores=[0, math.nan, 1, 1]), "scores: 1 of 4 .* row 1"),
    (dict(by=list("aaaa"), **OK), "one value, 'a', in all 4 rows"),
    (dict(by=["a", None, "b", "b"], **OK), "1 of 4 values are missing, the first in row 1"),
    (dict(by={"x": list("aab")}, **OK), "differ in length"),
    (dict(by=list("aabb")), "nothing to measure"),
    (dict(by=list("aabb"), predictions=[]), "empty"),
    (dict(by=list("aabb"), predictions=[[0, 1], [1, 0]]), r"shape \(2, 2\)"),
    (dict(by={}, **OK), "no group columns"),
    (dict(by=list("aabb"), intersect="some", **OK), "'each', 'joint' or 'all'"),
    (dict(by=list("aabb"), min_size=0, **OK), "min_size=0"),
]


@pytest.mark.parametrize("given, message", REFUSED)
def test_bad_columns_are_refused_with_a_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        fb.table(**given)


def test_all_empty_groups_and_a_million_groups_are_refused():
    with pytest.raises(ValueError, match="all groups are empty: x, y"):
        fb.branches({"x": [0, 0], "y": [0, 0]})
    million = np.arange(1_000_000)
    with pytest.raises(ValueError, match=r"1,000,000 groups.*identifier"):
        fb.table(million, predictions=million % 2)
    with pytest.raises(ValueError, match=r"9,000 groups make .* comparisons"):
        fb.bias(fb.table(million % 9000, predictions=million % 2), "pr")


@pytest.mark.parametrize(
    "blocks, message",
    [
        (("f1", "pairs", "abs", "max"), "base measure 'f1' is not known; there are pr"),
        (("pr", "some", "abs", "max"), "comparison set 'some'"),
        (("pr", "pairs", "difference", "max"), "comparison 'difference'"),
        (("pr", "pairs", "abs", "worst"), "reduction 'worst'"),
        (("auc", "pairs", "abs", "max"), "auc needs scores"),
        (("hr@0", "pairs", "abs", "max"), "hr@k"),
    ],
)
def test_unknown_blocks_are_refused(blocks, message):
    data = fb.table(list("aabb"), **OK)
    with pytest.raises(ValueError, match=message):
        fb.bias(data, *blocks)


def test_cells_and_groups_that_do_not_exist_are_named():
    report = fb.report(fb.table(list("aabb"), **OK), ["pr"])
    with pytest.raises(KeyError, match="no measure 'tpr'"):
        report.cell("tpr", "pairs", "abs", "max")
    with pytest.raises(KeyError, match="no group 'c'; there are a, b"):
        report.rows("c")
    with pytest.raises(ValueError, match="strata"):
        fb.report(fb.table(list("aabb"), **OK), adjust="standardised")
    with pytest.raises(ValueError, match="top of 9"):
        fb.bias(fb.table(list("aabb"), scores=[1, 2, 3, 4]), "ar@9")
    assert grouping.EVERYONE == "everyone"


def test_a_report_of_nothing_but_zero_over_zero_is_quiet():
    data = fb.table(list("aabb"), predictions=[0, 1, 0, 0], labels=[0, 0, 0, 0])
    cells = fb.report(data, bootstrap=30, permutations=30).cells
    assert (
        cells.loc[cells["measure"].isin(["tpr", "fnr"]), ["value", "low", "p"]]
        .isna()
        .to_numpy()
        .all()
    )


def test_text_among_numbers_is_found():
    with pytest.raises(ValueError, match="predictions holds 'x' in row 2: expected numbers"):
        fb.table(list("aabb"), predictions=["0", "1", "x", "0"])
