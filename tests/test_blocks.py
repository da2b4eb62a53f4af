"""Measures of bias against the paper's formulas over rows, and by enumeration."""

import ast
import itertools
import math

import nbformat
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import store
from helpers.blocks import counts, measures, paper
from helpers.blocks.framework import COMPARISONS, REDUCTIONS, SETS, bias

F = {
    "pr": lambda p, y: share(p, p | ~p),
    "tpr": lambda p, y: share(p & y, y),
    "tnr": lambda p, y: share(~p & ~y, ~y),
    "fpr": lambda p, y: share(p & ~y, ~y),
    "fnr": lambda p, y: share(~p & y, y),
    "ppv": lambda p, y: share(p & y, p),
    "npv": lambda p, y: share(~p & ~y, ~p),
    "acc": lambda p, y: share(p == y, p | ~p),
    "error": lambda p, y: share(p != y, p | ~p),
    "prevalence": lambda p, y: share(y, p | ~p),
}
COMPARE = {
    "abs": lambda a, b: abs(a - b),
    "sabs": lambda a, b: a - b,
    "srel": lambda a, b: 1 - a / b,
}


def share(part, whole):
    return np.float64(part.sum() / whole.sum()) if whole.any() else np.float64("nan")


def pairs_by_hand(groups, name):
    """Return pairs of masks, none with itself, as Equations 6 to 8 list them."""
    if name == "pairs":
        return list(itertools.permutations(groups, 2))
    everyone = np.ones_like(groups[0])
    others = [everyone if name == "vsany" else ~group for group in groups]
    forward = list(zip(groups, others, strict=True))
    return forward + [(other, group) for group, other in forward]


def by_hand(p, y, groups, measure, set_name, comparison, reduction):
    """Compute one measure of bias by the paper's formulas, a comparison at a time."""
    compared, weights = [], []
    for a, b in pairs_by_hand(groups, set_name):
        with np.errstate(divide="ignore", invalid="ignore"):
            value = COMPARE[comparison](F[measure](p[a], y[a]), F[measure](p[b], y[b]))
        if not np.isnan(value):
            compared.append(value)
            weights.append(1 - abs(a.sum() - b.sum()) / len(p))
    if not compared:
        return 0.0 if reduction == "wmean" else math.nan
    if reduction == "wmean":
        return np.dot(compared, weights)
    return {"max": max, "min": min, "mean": np.mean}[reduction](compared)


def groups_by_hand(colours, shapes, intersect):
    of_colours = [colours == value for value in np.unique(colours)]
    of_shapes = [shapes == value for value in np.unique(shapes)]
    crossed = [a & b for a in of_colours for b in of_shapes if (a & b).any()]
    each = of_colours + of_shapes
    return {"each": each, "joint": crossed, "all": each + crossed}[intersect]


@st.composite
def tables(draw):
    """Draw columns of colours, shapes, predictions and labels."""
    n = draw(st.integers(4, 30))
    columns = []
    for highest in (3, 2, 1, 1):
        values = st.lists(st.integers(0, highest), min_size=n, max_size=n)
        columns.append(np.array(draw(values)))
    columns[0][:2] = columns[1][:2] = [0, 1]
    return columns


@pytest.mark.filterwarnings("ignore:All-NaN|Mean of empty|invalid value")
@settings(max_examples=15, deadline=None)
@given(tables(), st.sampled_from(["each", "joint", "all"]))
def test_every_measure_is_the_papers_formula(columns, intersect):
    colours, shapes, p, y = columns
    frame = pd.DataFrame({"colour": colours, "shape": shapes}).astype(str)
    table = counts.count(frame, {"y_pred": p, "y_true": y}, intersect=intersect)
    groups = groups_by_hand(colours, shapes, intersect)
    for cell in itertools.product(F, SETS, COMPARISONS, REDUCTIONS):
        expected = by_hand(p == 1, y == 1, groups, *cell)
        np.testing.assert_allclose(
            bias(table, *cell), expected, rtol=1e-9, atol=1e-12, err_msg=str(cell)
        )


def test_functions_and_arrays_of_your_own_are_blocks():
    columns = {"y_pred": [1, 0, 1, 1, 0, 0], "y_true": [1, 1, 1, 0, 0, 1]}
    table = counts.count(pd.Series([*"aaabbb"], name="g"), pd.DataFrame(columns))

    def first_pair(groups):
        return np.array([0]), np.array([1])

    def ratio(f_i, f_j):
        return f_i / f_j

    def total(compared, weights):
        return compared.sum(axis=-1)

    accuracy = table.values("acc")
    assert bias(table, accuracy, first_pair, ratio, total) == pytest.approx(2)
    error = bias(table, 1 - accuracy, "pairs", "abs", "max")
    assert error == pytest.approx(bias(table, "error", "pairs", "abs", "max"))


def table_1_of_the_lesson():
    """Return the dictionary TABLE_1 that lesson 09 writes."""
    path = store.root() / "notebooks" / "09_bias_building_blocks.ipynb"
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.source.startswith("TABLE_1"):
            return ast.literal_eval(ast.parse(cell.source).body[0].value)


def test_table_1_is_the_papers():
    printed = pd.read_csv(store.root() / "data/paper/blocks_table1.csv")
    printed = printed.set_index("measure")
    words = {
        "pr": "P(c = 1 | S)",
        "fpr": "P(c = 1 | S, Y = 0)",
        "fnr": "P(c = 0 | S, Y = 1)",
        "tpr": "P(c = 1 | S)",  # |deo|: the row drops the condition of the text
        "acc": "any",
        "compl": "compl of one group",
        "sabs": "fi - fj",
        "abs": "|fi - fj|",
        "srel": "1 - fi / fj",
    }
    ours = table_1_of_the_lesson()
    assert [*ours, "ib"] == printed.index.tolist()
    for name, blocks in ours.items():
        row = printed.loc[name, ["base", "set", "comparison", "reduction"]].tolist()
        n_fixed = 2 if name == "F_bias" else 4  # F_bias takes any further blocks
        assert row[:n_fixed] == [words.get(block, block) for block in blocks][:n_fixed]


# --- groups and counts ---


def test_names_of_groups_and_their_intersections():
    frame = pd.DataFrame({"a": [*"xxy"], "b": [*"zww"]})
    values = {"y_pred": [0, 1, 1]}
    assert counts.count(frame, values).groups == ["x", "y", "w", "z"]
    crossed = counts.count(frame, values, intersect="joint").groups
    assert crossed == ["x & w", "x & z", "y & w"]
    shared = frame.replace({"z": "x", "w": "y"})
    assert counts.count(shared, values).groups == ["a=x", "a=y", "b=x", "b=y"]


def test_rows_that_stand_for_several_rows_count_as_often():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 3, (400, 3)), columns=["g", "y_pred", "score"])
    rows["y_pred"] = rows["y_pred"].clip(upper=1)
    tally = rows.value_counts(sort=False).rename("times").reset_index()
    plain = counts.count(rows["g"], rows)
    counted = counts.count(tally["g"], tally, times=tally["times"])
    assert (plain.cells == counted.cells).all()
    pd.testing.assert_frame_equal(plain.kinds, counted.kinds)


GROUPS = pd.Series([*"aabb"], name="g")


@pytest.mark.parametrize(
    ("groups", "values", "message"),
    [
        (GROUPS, {"y_pred": [0, 1, 2, 1]}, "y_pred has the values .*2.*Give 0 and 1"),
        (GROUPS, {"y_pred": [0, 1, None, 1]}, "y_pred has 1 missing values"),
        (GROUPS.where(GROUPS == "a"), {"y_pred": [0, 1, 0, 1]}, "g has 2 missing"),
    ],
)
def test_columns_that_cannot_be_counted_are_refused(groups, values, message):
    with pytest.raises(ValueError, match=message):
        counts.count(groups, pd.DataFrame(values))


def test_too_many_groups_are_refused():
    many = pd.Series(np.arange(5000), name="id")
    with pytest.raises(ValueError, match=r"5,000 groups.*bins"):
        counts.count(many, {"y_pred": many % 2})
    with pytest.raises(ValueError, match=r"no measure 'auroc'.* are pr, "):
        counts.count(GROUPS, {"y_pred": [0, 1, 0, 1]}).values("auroc")


# --- scores and curves ---


def test_calibration_errors_and_areas_by_hand():
    rows = pd.DataFrame({"y_true": [0, 1, 1, 1, 0, 1]})
    rows["score"] = [0.05, 0.05, 0.95, 0.55, 0.58, 1.0]
    table = counts.count(pd.Series([*"aaabbb"], name="g"), rows)
    errors = table.values("calibration")[:2]
    assert errors == pytest.approx([(0.9 + 0.05) / 3, 0.13 / 3])
    table = paper.count_example("equal areas")
    expected = scipy.stats.norm.cdf(2**-0.5)
    for unit in range(2):
        fpr, tpr = measures.roc(table.kinds, table.mass[unit])
        assert np.trapezoid(tpr, fpr) == pytest.approx(expected, abs=2e-3)
        assert np.trapezoid(tpr, fpr) == pytest.approx(table.values("auc")[unit])


def auc_by_hand(scores, labels):
    positives, negatives = scores[labels == 1], scores[labels == 0]
    wins = [(a > b) + (a == b) / 2 for a in positives for b in negatives]
    return np.mean(wins) if wins else math.nan


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40), st.sampled_from([2, 5, 1000]))
def test_auc_of_groups_everyone_and_complements(seed, n, levels):
    rng = np.random.default_rng(seed)
    group, label, score = (rng.integers(0, high, n) for high in (2, 2, levels))
    group[:2] = [0, 1]
    rows = {"y_true": label, "score": score}
    table = counts.count(pd.Series(group, name="g"), rows)
    in_unit = [group == 0, group == 1, group >= 0, group != 0, group != 1]
    for member, value in zip(in_unit, table.values("auc"), strict=True):
        expected = auc_by_hand(score[member], label[member])
        assert value == pytest.approx(expected, nan_ok=True)


# --- permuted and resampled tables ---


def test_permuted_tables_keep_the_groups_and_kinds_of_each_stratum():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (200, 3)), columns=["g", "y_pred", "s"])
    table = counts.count(rows["g"], rows, strata=rows[["s"]])
    [permuted] = table.permuted(500, seed=0)
    assert (permuted.cells.sum(-1) == table.cells.sum(-1)).all()
    assert (permuted.cells.sum(-2) == table.cells.sum(-2)).all()
    # the count of a cell is hypergeometric
    stratum = table.cells[0]
    expected = stratum.sum(1)[0] * stratum.sum(0)[0] / stratum.sum()
    drawn = permuted.cells[:, 0, 0, 0]
    assert drawn.mean() == pytest.approx(expected, abs=4 * drawn.std() / np.sqrt(500))


def test_the_p_value_of_a_gap_is_that_of_permuted_rows():
    rows = paper.tables()["six groups"]
    table = paper.count_example("six groups")
    cell = ("pr", "pairs", "abs", "max")
    null = counts.over(table.permuted(2000, seed=0), lambda drawn: bias(drawn, *cell))
    rng = np.random.default_rng(0)
    by_rows = []
    for _ in range(300):
        permuted = rng.permutation(rows["group"])
        by_rows.append(np.ptp(rows.groupby(permuted)["y_pred"].mean()))
    assert scipy.stats.ks_2samp(null, by_rows).pvalue > 0.01
