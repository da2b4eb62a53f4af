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


def share(part, whole):
    """Divide two numbers of rows; 0/0 is NaN."""
    if not whole.any():
        return np.float64("nan")
    return np.float64(part.sum() / whole.sum())


def base_measure(name, p, y):
    """Compute a base measure over rows, with predictions p and labels y."""
    everyone = np.ones_like(p)
    hits, trials = {
        "pr": (p, everyone),
        "tpr": (p & y, y),
        "tnr": (~p & ~y, ~y),
        "fpr": (p & ~y, ~y),
        "fnr": (~p & y, y),
        "ppv": (p & y, p),
        "npv": (~p & ~y, ~p),
        "acc": (p == y, everyone),
        "error": (p != y, everyone),
        "prevalence": (y, everyone),
    }[name]
    return share(hits, trials)


def compared_by_hand(f_i, f_j, comparison):
    """Compare two values by a formula of section 4.3."""
    if comparison == "abs":
        return abs(f_i - f_j)
    if comparison == "sabs":
        return f_i - f_j
    return 1 - f_i / f_j


def pairs_by_hand(groups, name):
    """Return pairs of masks, none with itself, as Equations 6 to 8 list them."""
    if name == "pairs":
        return list(itertools.permutations(groups, 2))
    everyone = np.ones_like(groups[0])
    pairs = []
    for group in groups:
        other = everyone if name == "vsany" else ~group
        pairs.append((group, other))
        pairs.append((other, group))
    return pairs


def by_hand(p, y, groups, measure, set_name, comparison, reduction):
    """Compute one measure of bias by the paper's formulas, a comparison at a time."""
    compared = []
    weights = []
    for first, second in pairs_by_hand(groups, set_name):
        f_i = base_measure(measure, p[first], y[first])
        f_j = base_measure(measure, p[second], y[second])
        with np.errstate(divide="ignore", invalid="ignore"):
            value = compared_by_hand(f_i, f_j, comparison)
        if not np.isnan(value):
            compared.append(value)
            weights.append(1 - abs(first.sum() - second.sum()) / len(p))
    if reduction == "wmean":
        return np.dot(compared, weights)
    if not compared:
        return math.nan
    if reduction == "max":
        return max(compared)
    if reduction == "min":
        return min(compared)
    return np.mean(compared)


def groups_by_hand(colours, shapes, intersect):
    """Return the masks of all colours, shapes and, if asked, their intersections."""
    of_colours = [colours == value for value in np.unique(colours)]
    of_shapes = [shapes == value for value in np.unique(shapes)]
    groups = of_colours + of_shapes
    if intersect:
        for colour, shape in itertools.product(of_colours, of_shapes):
            if (colour & shape).any():
                groups.append(colour & shape)
    return groups


@st.composite
def tables(draw):
    """Draw columns of colours, shapes, predictions and labels."""
    n = draw(st.integers(4, 30))
    columns = []
    for highest in (3, 2, 1, 1):
        values = st.lists(st.integers(0, highest), min_size=n, max_size=n)
        columns.append(np.array(draw(values)))
    for column in columns[:2]:
        column[:2] = [0, 1]
    return columns


@pytest.mark.filterwarnings("ignore:All-NaN|Mean of empty|invalid value")
@settings(max_examples=15, deadline=None)
@given(tables(), st.booleans())
def test_every_measure_is_the_papers_formula(columns, intersect):
    colours, shapes, p, y = columns
    frame = pd.DataFrame({"colour": colours, "shape": shapes}).astype(str)
    table = counts.count(frame, {"y_pred": p, "y_true": y}, intersect=intersect)
    groups = groups_by_hand(colours, shapes, intersect)
    rates = measures.RATES
    for cell in itertools.product(rates, SETS, COMPARISONS, REDUCTIONS):
        expected = by_hand(p == 1, y == 1, groups, *cell)
        np.testing.assert_allclose(
            bias(table, *cell),
            expected,
            rtol=1e-9,
            atol=1e-12,
            err_msg=str(cell),
        )


def test_functions_and_arrays_of_your_own_are_blocks():
    columns = {
        "y_pred": [1, 0, 1, 1, 0, 0],
        "y_true": [1, 1, 1, 0, 0, 1],
    }
    group = pd.Series([*"aaabbb"], name="g")
    table = counts.count(group, pd.DataFrame(columns))

    def first_pair(groups):
        return np.array([0]), np.array([1])

    def ratio(f_i, f_j):
        return f_i / f_j

    def total(compared, weights):
        return compared.sum(axis=-1)

    accuracy = table.values("acc")
    assert bias(table, accuracy, first_pair, ratio, total) == pytest.approx(2)
    blocks = ("pairs", "abs", "max")
    error = bias(table, "error", *blocks)
    assert bias(table, 1 - accuracy, *blocks) == pytest.approx(error)


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
    frame = pd.DataFrame(
        {
            "a": ["x", "x", "y"],
            "b": ["z", "w", "w"],
        }
    )
    values = {"y_pred": [0, 1, 1]}
    single = counts.count(frame, values).groups
    assert single == ["x", "y", "w", "z"]
    crossed = counts.count(frame, values, intersect=True).groups
    assert crossed == ["x", "y", "w", "z", "x & w", "x & z", "y & w"]
    frame["b"] = frame["b"].replace({"z": "x", "w": "y"})
    shared = counts.count(frame, values).groups
    assert shared == ["a=x", "a=y", "b=x", "b=y"]


def test_rows_that_stand_for_several_rows_count_as_often():
    rng = np.random.default_rng(0)
    columns = {
        "g": rng.integers(0, 3, 400),
        "y_pred": rng.integers(0, 2, 400),
        "score": rng.integers(0, 3, 400),
    }
    rows = pd.DataFrame(columns)
    tally = rows.value_counts(sort=False)
    tally = tally.rename("times").reset_index()
    plain = counts.count(rows["g"], rows)
    counted = counts.count(tally["g"], tally, times=tally["times"])
    assert (plain.cells == counted.cells).all()
    pd.testing.assert_frame_equal(plain.kinds, counted.kinds)


@pytest.mark.parametrize(
    ("y_pred", "message"),
    [
        ([0, 1, 2, 1], "y_pred has the values .*2.*Give 0 and 1"),
        ([0, 1, None, 1], "y_pred has the values .*nan.*Give 0 and 1"),
    ],
)
def test_predictions_other_than_0_and_1_are_refused(y_pred, message):
    groups = pd.Series([*"aabb"], name="g")
    with pytest.raises(ValueError, match=message):
        counts.count(groups, {"y_pred": pd.Series(y_pred)})


def test_a_measure_that_does_not_exist_is_refused():
    groups = pd.Series([*"aabb"], name="g")
    table = counts.count(groups, {"y_pred": [0, 1, 0, 1]})
    with pytest.raises(ValueError, match=r"no measure 'auroc'.* are pr, "):
        table.values("auroc")


# --- scores and curves ---


def test_calibration_errors_by_hand():
    rows = pd.DataFrame(
        {
            "y_true": [0, 1, 1, 1, 0, 1],
            "score": [0.05, 0.05, 0.95, 0.55, 0.58, 1.0],
        }
    )
    table = counts.count(pd.Series([*"aaabbb"], name="g"), rows)
    errors = table.values("calibration")[:2]
    assert errors == pytest.approx([(0.9 + 0.05) / 3, 0.13 / 3])


def test_areas_under_roc_curves_are_those_of_the_normal_scores():
    table = paper.count_example("equal areas")
    expected = scipy.stats.norm.cdf(2**-0.5)
    for unit in range(2):
        fpr, tpr = measures.roc(table.kinds, table.mass[unit])
        area = np.trapezoid(tpr, fpr)
        assert area == pytest.approx(expected, abs=2e-3)
        assert area == pytest.approx(table.values("auc")[unit])


def auc_by_hand(scores, labels):
    positives = scores[labels == 1]
    negatives = scores[labels == 0]
    wins = []
    for positive, negative in itertools.product(positives, negatives):
        wins.append((positive > negative) + (positive == negative) / 2)
    return np.mean(wins) if wins else math.nan


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40), st.sampled_from([2, 5, 1000]))
def test_auc_of_groups_everyone_and_complements(seed, n, levels):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    label = rng.integers(0, 2, n)
    score = rng.integers(0, levels, n)
    group[:2] = [0, 1]
    table = counts.count(
        pd.Series(group, name="g"),
        {"y_true": label, "score": score},
    )
    in_unit = [
        group == 0,
        group == 1,
        group >= 0,
        group != 0,
        group != 1,
    ]
    for member, value in zip(in_unit, table.values("auc"), strict=True):
        expected = auc_by_hand(score[member], label[member])
        assert value == pytest.approx(expected, nan_ok=True)


# --- permuted and resampled tables ---


def test_permuted_tables_keep_the_groups_and_kinds_of_each_stratum():
    rng = np.random.default_rng(0)
    columns = ["g", "y_pred", "s"]
    rows = pd.DataFrame(rng.integers(0, 2, (200, 3)), columns=columns)
    table = counts.count(rows["g"], rows, strata=rows[["s"]])
    [permuted] = table.permuted(500, seed=0)
    for axis in (-1, -2):
        kept = permuted.cells.sum(axis) == table.cells.sum(axis)
        assert kept.all()
    # the count of a cell is hypergeometric
    stratum = table.cells[0]
    atoms = stratum.sum(axis=1)
    kinds = stratum.sum(axis=0)
    expected = atoms[0] * kinds[0] / stratum.sum()
    drawn = permuted.cells[:, 0, 0, 0]
    error = drawn.std() / np.sqrt(500)
    assert drawn.mean() == pytest.approx(expected, abs=4 * error)


def test_the_p_value_of_a_gap_is_that_of_permuted_rows():
    rows = paper.tables()["six groups"]
    table = paper.count_example("six groups")

    def gap(drawn):
        return bias(drawn, "pr", "pairs", "abs", "max")

    null = counts.over(table.permuted(2000, seed=0), gap)
    rng = np.random.default_rng(0)
    by_rows = []
    for _ in range(300):
        permuted = rng.permutation(rows["group"])
        rates = rows.groupby(permuted)["y_pred"].mean()
        by_rows.append(np.ptp(rates))
    assert scipy.stats.ks_2samp(null, by_rows).pvalue > 0.01
