"""Findings: the verdict follows the interval; the scorecard gathers what notebooks wrote."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.run import findings
from helpers.run.findings import judge

numbers = st.floats(-10, 10)


@given(numbers, numbers, numbers)
def test_verdict_above_follows_the_interval(a, b, threshold):
    low, high = sorted([a, b])
    verdict = judge("c", "w", (low, low, high), above=threshold).verdict
    if verdict == "holds":
        assert low > threshold
    elif verdict == "does not hold":
        assert high <= threshold
    else:
        assert low <= threshold < high


@given(numbers, numbers, numbers)
def test_below_mirrors_above(a, b, threshold):
    low, high = sorted([a, b])
    below = judge("c", "w", (low, low, high), below=threshold).verdict
    assert below == judge("c", "w", (-low, -high, -low), above=-threshold).verdict


def test_nan_is_not_tested_rather_than_false():
    assert judge("c", "w", (math.nan, math.nan, math.nan), above=0).verdict == "not tested here"
    assert judge("c", "w", (0.5, math.nan, math.nan), above=0).verdict == "not tested here"


def test_exactly_one_threshold():
    with pytest.raises(ValueError, match="exactly one of above and below"):
        judge("c", "w", (0, 0, 0))
    with pytest.raises(ValueError, match="exactly one of above and below"):
        judge("c", "w", (0, 0, 0), above=0, below=1)


def test_table_shows_value_interval_and_unit():
    one = judge("c", "w", (0.5, 0.25, 0.75), above=0, paper="0.65", unit="accuracy")
    shown = findings.table([one, findings.untested("d", "w", "no contexts")])
    assert list(shown["measured here"]) == ["0.50 [0.25, 0.75] accuracy", "–"]
    assert list(shown["paper"]) == ["0.65", "–"]
    assert list(shown["verdict"]) == ["holds", "not tested here"]


def test_scorecard_gathers_what_runs_wrote(tmp_path):
    from types import SimpleNamespace

    from helpers.run.project import Run

    for name in ("01_a", "02_b"):
        run = Run(name, SimpleNamespace(seed=0, path=tmp_path), tmp_path)
        run.findings([judge(name, "w", (1, 0, 2), above=-1), findings.untested("d", "w", "why")])
    card = findings.scorecard(tmp_path)
    assert list(card["notebook"]) == ["01_a", "01_a", "02_b", "02_b"]
    assert list(card["verdict"]) == ["holds", "not tested here"] * 2
    assert findings.scorecard(tmp_path / "empty").empty


def test_counts_of_numpy_are_numbers_in_the_record():
    found = findings.equal("two of four", "w", np.int64(2), np.int64(4), unit="of 4")
    assert [type(x) for x in (found.measured, found.low, found.high)] == [float] * 3
    assert found.verdict == "does not hold"
    assert findings.table([found])["measured here"][0] == "2 of 4"
