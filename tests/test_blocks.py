"""Cells of bias reports and curves against the paper's formulas over rows, and by enumeration."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.blocks import blocks, counts, curves, paper, report

PLAIN = {"bootstrap": 0, "permutations": 0}
ALL = list(itertools.product(blocks.SETS, blocks.COMPARISONS, blocks.REDUCTIONS))


NAN = math.nan
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
}
COMPARE = {
    "none": lambda a, b: a,
    "abs": lambda a, b: abs(a - b),
    "rel": lambda a, b: abs(1 - a / b),
    "sabs": lambda a, b: a - b,
    "srel": lambda a, b: 1 - a / b,
}


def share(top, bottom):
    return np.float64(top.sum() / bottom.sum()) if bottom.any() else np.float64(NAN)


def pairs_by_hand(groups, which):
    """Pairs of masks, none with itself, as Equations 6 to 8 list them."""
    if which == "pairs":
        return list(itertools.permutations(groups, 2))
    everyone = np.ones_like(groups[0])
    other = [everyone if which == "vsany" else ~group for group in groups]
    return [(a, b) for a, b in zip(groups, other, strict=True)] + [
        (b, a) for a, b in zip(groups, other, strict=True)
    ]


def reduced(v, w, how):
    """Values (m,) and weights (m,) of the estimable comparisons as one number."""
    if len(v) == 0:
        return NAN
    if how == "gini":
        differences = np.abs(v[:, None] - v).sum()
        return differences / (2 * len(v) * v.sum()) if v.min() >= 0 and v.sum() else NAN
    plain = {"max": v.max(), "min": v.min(), "mean": v.sum() / len(v)}
    return (plain | {"wmean": v @ w, "wmean_normalised": v @ w / w.sum()})[how]


def by_hand(p, y, groups, name, which, how, reduction):
    """One cell by the paper's formulas, a comparison at a time."""
    with np.errstate(divide="ignore", invalid="ignore"):
        both = pairs_by_hand(groups, which)
        values = np.array(
            [COMPARE[how](F[name](p[a], y[a]), F[name](p[b], y[b])) for a, b in both]
        )
        weights = np.array([1 - abs(a.sum() - b.sum()) / len(p) for a, b in both])
        known = ~np.isnan(values)
        return reduced(values[known], weights[known], reduction)


def groups_by_hand(colours, shapes, intersect):
    of_colours, of_shapes = (
        [column == value for value in np.unique(column)]
        for column in (np.array(colours), np.array(shapes))
    )
    each = of_colours + of_shapes
    joint = [both for a in of_colours for b in of_shapes if (both := a & b).any()]
    return {"each": each, "joint": joint, "all": each + joint}[intersect]


@st.composite
def tables(draw, most=30):
    """Columns of 2 to 4 colours, 2 or 3 shapes, predictions and labels."""
    n = draw(st.integers(4, most))
    column = lambda high: st.lists(st.integers(0, high), min_size=n, max_size=n)  # noqa: E731
    colours, shapes = draw(column(3)), draw(column(2))
    colours[:2], shapes[:2] = [0, 1], [0, 1]
    return colours, shapes, draw(column(1)), draw(column(1))


def frame(colours, shapes):
    return pd.DataFrame(
        {"colour": [f"c{c}" for c in colours], "shape": [f"s{s}" for s in shapes]}
    )


@settings(max_examples=10, deadline=None)
@given(tables(), st.sampled_from(["each", "joint", "all"]))
def test_every_cell_is_the_papers_formula(columns, intersect):
    colours, shapes, p, y = columns
    data = counts.table(frame(colours, shapes), y_pred=p, y_true=y, intersect=intersect)
    groups = groups_by_hand(colours, shapes, intersect)
    cells = report.make(data, **PLAIN).cells
    p, y = np.array(p, bool), np.array(y, bool)
    expected = [by_hand(p, y, groups, *key) for key in cells[report.KEYS].values]
    assert len(cells) == len(F) * len(ALL)
    np.testing.assert_allclose(cells["value"], expected, rtol=1e-9, atol=1e-12)


def test_epsilon_is_taken_off_every_comparison():
    data = counts.table(list("aabbcc"), y_pred=[1, 1, 1, 0, 0, 0], y_true=[1] * 6)
    for how, reduction, epsilon, value in (
        ("abs", "max", 0.2, 0.8),
        ("abs", "mean", 0.6, 0.4 / 3),
        ("sabs", "min", 0, 0),
    ):
        whole = report.make(
            data, ["pr"], ["pairs"], [how], [reduction], epsilon=epsilon, **PLAIN
        )
        assert whole.cells.loc[0, "value"] == pytest.approx(value)
    with pytest.raises(ValueError, match="epsilon"):
        report.make(data, epsilon=-1.0)


def test_functions_of_the_user_are_blocks():
    p, y, by = [1, 0, 1, 1, 0, 0], [1, 1, 1, 0, 0, 1], list("aaabbb")
    data = counts.table(by, y_pred=p, y_true=y)
    agreement = lambda rows: (rows["y_pred"] == rows["y_true"]).mean()  # noqa: E731
    ratio = lambda a, b: np.minimum(a / b, b / a)  # noqa: E731
    middle = lambda values, weights: np.median(values)  # noqa: E731
    with_first = lambda g: (np.zeros(g - 1, int), np.arange(1, g))  # noqa: E731
    acc = blocks.bias(data, "acc", "compl", "rel", "mean")
    assert blocks.bias(data, agreement, "compl", "rel", "mean") == pytest.approx(acc)
    assert blocks.bias(data, "acc", "pairs", ratio, middle) == pytest.approx(
        (1 / 3) / (2 / 3)
    )
    options = {
        "comparisons": ["srel", "abs"],
        "reductions": ["max"],
        "bootstrap": 200,
        "permutations": 0,
    }
    cells = report.make(data, ["pr", "acc"], [with_first], **options).cells
    assert cells["value"].tolist() == pytest.approx([-1, 1 / 3, -1, 1 / 3])
    assert (cells["low"] <= cells["value"]).all() and (
        cells["value"] <= cells["high"]
    ).all()


# --- scores and curves ---


def test_calibration_errors_and_areas_by_hand():
    score = [0.05, 0.05, 0.95, 0.55, 0.58, 1.0]
    data = counts.table(list("aaabbb"), y_true=[0, 1, 1, 1, 0, 1], y_score=score)
    error = blocks.calibration_error(data.kinds, data.mass())
    assert error[:2] == pytest.approx([(0.9 + 0.05) / 3, 0.13 / 3])
    data = paper.counted(paper.tables()["equal areas"])
    areas = [
        np.trapezoid(curve.tpr, curve.fpr) for curve in curves.rocs(data).values()
    ][:2]
    assert areas == pytest.approx([scipy.stats.norm.cdf(2**-0.5)] * 2, abs=2e-3)


def auc_by_hand(scores, labels):
    wins = [
        (a > b) + (a == b) / 2 for a in scores[labels == 1] for b in scores[labels == 0]
    ]
    return np.mean(wins) if wins else math.nan


def rows_of(groups, unit):
    if unit == "everyone":
        return np.full(len(groups.atoms), True)
    outside = unit not in groups.names
    inside = groups.member[
        [groups.place(unit.removeprefix("not ") if outside else unit)]
    ]
    return (inside.toarray()[0] > 0)[groups.atoms] != outside


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40), st.sampled_from([2, 5, 1000]))
def test_auc_of_groups_everyone_and_complements(seed, n, levels):
    rng = np.random.default_rng(seed)
    a, b, y, s = (rng.integers(0, high, n) for high in (3, 2, 2, levels))
    a[:2], b[:2] = [0, 1], [0, 1]
    for intersect in ("each", "joint", "all"):
        data = counts.table({"a": a, "b": b}, y_true=y, y_score=s, intersect=intersect)
        ours = curves.auc(data.kinds, data.mass())
        for unit, value in zip(data.units, ours, strict=True):
            at = rows_of(data.groups, unit)
            assert value == pytest.approx(auc_by_hand(s[at], y[at]), nan_ok=True)


def curve(scores, labels):
    """Shares (fpr, tpr) by a threshold at every score."""
    above = [labels[scores >= t] for t in sorted(set(scores), reverse=True)]
    steps = [
        ((y == 0).sum() / (labels == 0).sum(), y.sum() / labels.sum()) for y in above
    ]
    return np.transpose([(0, 0), *steps])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([2, 4, 100]))
def test_abroca_is_exact_ties_included(seed, n, levels):
    rng = np.random.default_rng(seed)
    s, y = rng.integers(0, levels, (2, n)), rng.integers(0, 2, (2, n))
    y[:, :2] = [0, 1]
    by = np.repeat(["first", "second"], n)
    data = counts.table(by, y_true=y.ravel(), y_score=s.ravel())
    ours = blocks.bias(data, "auc", "pairs", "curve", "max")
    curves = [curve(*rows) for rows in zip(s, y, strict=True)]
    cuts = np.unique(np.concatenate([fpr for fpr, _ in curves]))
    inside = cuts[:-1, None] + np.diff(cuts)[:, None] * (np.arange(2000) + 0.5) / 2000
    heights = [np.interp(inside, *of) for of in curves]
    area = np.diff(cuts) @ np.abs(heights[0] - heights[1]).mean(1)
    assert ours == pytest.approx(area, abs=1e-6)
