"""Measures of scores and curves against enumeration, closed forms and dense sampling."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.blocks import blocks, claims, counts


def of_units(name, data):
    grid = blocks.grid_of(data, [name], ["vsany"], ["none"], ["max"])
    return blocks.drawn(data, grid).f[name]


def auc_by_hand(scores, labels):
    wins = [(a > b) + (a == b) / 2 for a in scores[labels == 1] for b in scores[labels == 0]]
    return np.mean(wins) if wins else math.nan


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40), st.sampled_from([2, 5, 1000]))
def test_auc_of_groups_everyone_and_complements(seed, n, levels):
    rng = np.random.default_rng(seed)
    a, b, y, s = (rng.integers(0, high, n) for high in (3, 2, 2, levels))
    a[:2], b[:2] = [0, 1], [0, 1]
    for intersect in ("each", "joint", "all"):
        data = counts.table({"a": a, "b": b}, y_true=y, y_score=s, intersect=intersect)
        found = of_units("auc", data)
        for unit, value in zip(data.units, found, strict=True):
            at = data.groups.rows(unit)
            assert value == pytest.approx(auc_by_hand(s[at], y[at]), nan_ok=True)


def curve(scores, labels):
    """Shares (fpr, tpr) by a threshold at every score."""
    said = [labels[scores >= t] for t in sorted(set(scores), reverse=True)]
    steps = [((y == 0).sum() / (labels == 0).sum(), y.sum() / labels.sum()) for y in said]
    return np.transpose([(0, 0), *steps])


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([2, 4, 100]))
def test_abroca_is_exact_ties_included(seed, n, levels):
    rng = np.random.default_rng(seed)
    s, y = rng.integers(0, levels, (2, n)), rng.integers(0, 2, (2, n))
    y[:, :2] = [0, 1]
    by = np.repeat(["first", "second"], n)
    data = counts.table(by, y_true=y.ravel(), y_score=s.ravel())
    found = blocks.bias(data, "auc", "pairs", "curve", "max")
    curves = [curve(*rows) for rows in zip(s, y, strict=True)]
    cuts = np.unique(np.concatenate([fpr for fpr, _ in curves]))
    inside = cuts[:-1, None] + np.diff(cuts)[:, None] * (np.arange(2000) + 0.5) / 2000
    heights = [np.interp(inside, *of) for of in curves]
    area = np.diff(cuts) @ np.abs(heights[0] - heights[1]).mean(1)
    assert found == pytest.approx(area, abs=1e-6)


def test_recorded_curves_of_equal_area_are_those_of_their_distributions():
    """Both areas are Φ(1/√2) but for rounding, as data/toolkits/README.md has it."""
    data = claims.counted(claims.tables()["equal areas"])
    areas = [np.trapezoid(curve.tpr, curve.fpr) for curve in blocks.rocs(data).values()][:2]
    assert areas == pytest.approx([scipy.stats.norm.cdf(2**-0.5)] * 2, abs=2e-3)
