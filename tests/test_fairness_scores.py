"""Measures of scores and curves against enumeration, closed forms and dense sampling."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import fairness as fb
from helpers.fairness import base, curves, ranking

few = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 3)), min_size=4, max_size=7
)


def data_of(rows):
    by, y, s = (list(c) for c in zip(*rows, strict=True))
    by[:2] = ["a", "b"]
    return by, y, s, fb.table(by, labels=y, scores=s)


def orders(scores):
    """Every order of the rows from the highest score, tied rows in every order."""
    every = itertools.permutations(range(len(scores)))
    return [o for o in every if all(scores[a] >= scores[b] for a, b in itertools.pairwise(o))]


def over_orders(scores, of):
    every = orders(scores)
    return sum(of(order) for order in every) / len(every)


@settings(max_examples=20, deadline=None)
@given(few, st.integers(1, 4))
def test_top_k_measures_are_means_over_the_orders_of_ties(rows, k):
    by, y, s, data = data_of(rows)
    places = {g: [i for i, b in enumerate(by) if b == g] for g in "ab"}
    found = {
        name: base.values(base.measure(f"{name}@{k}"), data)
        for name in ("repr", "ar", "skew", "hr")
    }
    found["exposure"] = base.values(base.measure("exposure"), data)
    for at, g in enumerate("ab"):
        mine = places[g]
        top = lambda order, j: sum(i in mine for i in order[:j])  # noqa: B023, E731
        held = over_orders(s, lambda o: top(o, k) / k)  # noqa: B023
        assert found["repr"][at] == pytest.approx(held)
        average = over_orders(s, lambda o: sum(top(o, j) / j for j in range(1, k + 1)) / k)  # noqa: B023
        assert found["ar"][at] == pytest.approx(average)
        with np.errstate(divide="ignore"):
            assert found["skew"][at] == pytest.approx(np.log(held * len(by) / len(mine)))
        worth = lambda o: sum(1 / math.log2(2 + r) for r, i in enumerate(o) if i in mine)  # noqa: B023, E731
        seen = over_orders(s, worth)
        assert found["exposure"][at] == pytest.approx(seen / len(mine))
        own = [s[i] for i in mine]
        if len(mine) < k:
            assert math.isnan(found["hr"][at])
        else:
            hits = over_orders(own, lambda o: sum(y[mine[i]] for i in o[:k]) / k)  # noqa: B023
            assert found["hr"][at] == pytest.approx(hits)


def auc_by_hand(scores, labels):
    wins = [
        (a > b) + (a == b) / 2
        for a, p in zip(scores, labels, strict=True)
        for b, q in zip(scores, labels, strict=True)
        if p and not q
    ]
    return sum(wins) / len(wins) if wins else math.nan


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40), st.sampled_from([2, 5, 1000]))
def test_auc_of_groups_everyone_and_complements(seed, n, levels):
    rng = np.random.default_rng(seed)
    a, b, y, s = (rng.integers(0, high, n) for high in (3, 2, 2, levels))
    a[:2], b[:2] = [0, 1], [0, 1]
    for intersect in ("each", "joint", "all"):
        data = fb.table({"a": a, "b": b}, labels=y, scores=s, intersect=intersect)
        found = base.values(base.measure("auc"), data)
        for unit, value in zip(data.units, found, strict=True):
            at = data.groups.rows(unit)
            assert value == pytest.approx(auc_by_hand(s[at], y[at]), nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 30))
def test_weights_are_copies_of_rows(seed, n):
    rng = np.random.default_rng(seed)
    by, y, s = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 4, n)
    by[:2], w = [0, 1], rng.integers(1, 4, n)
    data = fb.table(by, labels=y, scores=s)
    again = [np.repeat(c, w) for c in (by, y, s)]
    copies = fb.table(again[0], labels=again[1], scores=again[2])
    for name in ("auc", "score", "mse", "mabs", "exposure", "repr@3", "ar@4", "skew@3", "hr@3"):
        of = base.measure(name)
        weighted = base.values(of, data, None, data.groups.atoms, w.astype(float))
        np.testing.assert_allclose(weighted, base.values(of, copies), rtol=1e-9, atol=1e-12)


def test_means_of_scores():
    data = fb.table(list("aab"), scores=[1.0, 3.0, 5.0], targets=[0.0, 0.0, 1.0])
    assert base.values(base.measure("score"), data)[:3] == pytest.approx([2, 5, 3])
    assert base.values(base.measure("mabs"), data)[:2] == pytest.approx([2, 4])
    assert base.values(base.measure("mse"), data)[:2] == pytest.approx([5, 16])


def exact_area(first, second):
    """abroca in fractions, each step and crossing on its own."""
    both = [[(Fraction(x, d), Fraction(y, e)) for x, y in path] for path, d, e in (first, second)]
    cuts = sorted({x for curve in both for x, _ in curve})
    total = Fraction(0)
    for left, right in itertools.pairwise(cuts):
        ends = [heights(curve, left, right) for curve in both]
        a, b = (abs(ends[0][k] - ends[1][k]) for k in (0, 1))
        crossing = (ends[0][0] - ends[1][0]) * (ends[0][1] - ends[1][1]) < 0
        total += (right - left) * ((a * a + b * b) / (a + b) if crossing else a + b) / 2
    return float(total)


def heights(curve, left, right):
    """A curve at both ends of an interval that no vertex interrupts."""
    segments = itertools.pairwise(curve)
    (xa, ya), (xb, yb) = next(s for s in segments if s[0][0] <= left and s[1][0] >= right)
    return [ya + (x - xa) * (yb - ya) / (xb - xa) for x in (left, right)]


def steps(scores, labels):
    p, n = int(sum(labels)), int(len(labels) - sum(labels))
    levels = sorted(set(scores), reverse=True)
    path = [(0, 0)] + [
        (
            sum(s >= t and not y for s, y in zip(scores, labels, strict=True)),
            sum(s >= t and y for s, y in zip(scores, labels, strict=True)),
        )
        for t in levels
    ]
    return path, n, p


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([2, 4, 100]))
def test_abroca_is_exact_ties_included(seed, n, levels):
    rng = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        y, s = rng.integers(0, 2, n), rng.integers(0, levels, n).tolist()
        y[:2] = [0, 1]
        sides.append((s, y.tolist()))
    found = fb.abroca(*(fb.roc(*side) for side in sides))
    assert found == pytest.approx(exact_area(*(steps(*side) for side in sides)), abs=1e-12)
    signed = curves.area_between(*(fb.roc(*side) for side in sides), signed=True)
    assert signed == pytest.approx(auc_by_hand(*sides[0]) - auc_by_hand(*sides[1]), abs=1e-12)


def test_abroca_in_closed_form():
    perfect, worst = fb.roc([2, 1], [1, 0]), fb.roc([1, 2], [1, 0])
    tied = fb.roc([1, 1], [1, 0])
    assert fb.abroca(perfect, worst) == pytest.approx(1)
    assert fb.abroca(perfect, tied) == pytest.approx(0.5)
    assert fb.abroca(tied, tied) == 0
    assert math.isnan(fb.abroca(tied, fb.roc([1, 2], [1, 1])))


def test_curve_cells():
    rng = np.random.default_rng(1)
    by, y, s = rng.integers(0, 3, 60), rng.integers(0, 2, 60), rng.integers(0, 9, 60)
    data = fb.table(by, labels=y, scores=s)
    rocs = [fb.roc(s[by == g], y[by == g]) for g in range(3)]
    worst = max(fb.abroca(a, b) for a, b in itertools.combinations(rocs, 2))
    assert fb.bias(data, "auc", "pairs", "curve", "max") == pytest.approx(worst)
    assert fb.named(data, "abroca") == pytest.approx(worst)
    gap = fb.bias(data, "auc", "pairs", "curve_signed", "max")
    assert gap == pytest.approx(fb.bias(data, "auc", "pairs", "sabs", "max"))
    held = np.stack(
        [ranking.representation(k)(data, data.groups.atoms, np.ones(60)) for k in range(1, 6)], 1
    )
    weight = 1 / np.log(1 + np.arange(1, 6))
    expected = max(
        np.abs(held[a] - held[b]) @ weight / weight.sum()
        for a, b in itertools.permutations(range(3), 2)
    )
    assert fb.bias(data, "ar@5", "pairs", "curve_dcg", "max") == pytest.approx(expected)
    with pytest.raises(ValueError, match="no curve"):
        fb.bias(data, "score", "pairs", "curve", "max")
    with pytest.raises(ValueError, match="infinite"):
        curves.compare(data, base.measure("auc"), "curve_dcg", np.array([0]), np.array([1]))
