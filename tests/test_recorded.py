"""Recorded numbers: compared within a tolerance, and only with a run of the same parameters."""

from types import SimpleNamespace

import pandas as pd
import pytest

from helpers import findings, project, recorded


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(project, "root", lambda: tmp_path)
    monkeypatch.delenv(recorded.RECORD, raising=False)
    return project.Run("01_a", SimpleNamespace(seed=0, output="demo"), tmp_path / "outputs")


@pytest.fixture
def table():
    return pd.DataFrame({"model": ["C", "NC"], "accuracy": [0.5, 0.75], "n": [100, 100]})


def record(run, table, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv(recorded.RECORD, "1")
        recorded.agrees(run, table, "t", 0.1)


def test_equal_and_near_numbers_agree(run, table, monkeypatch, capsys):
    record(run, table, monkeypatch)
    recorded.agrees(run, table.assign(accuracy=[0.59, 0.66]), "t", 0.1)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "t: 2 numbers agree with the recorded run within 0.1"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"accuracy": [0.5, 0.9]}, "accuracy of row 1 is 0.9, recorded was 0.75"),
        ({"accuracy": [0.5, float("nan")]}, "accuracy of row 1 is nan"),
        ({"n": [100, 99]}, "n of row 1 is 99, recorded was 100"),
        ({"model": ["C", "WB"]}, "model of row 1 is WB, recorded was NC"),
        ({"more": [1, 2]}, "recorded were 2 rows of"),
    ],
)
def test_what_differs_is_named(run, table, monkeypatch, change, said):
    record(run, table, monkeypatch)
    with pytest.raises(AssertionError, match=said):
        recorded.agrees(run, table.assign(**change), "t", 0.1)


def test_missing_rows_are_named(run, table, monkeypatch):
    record(run, table, monkeypatch)
    with pytest.raises(AssertionError, match="1 rows of"):
        recorded.agrees(run, table.head(1), "t", 0.1)


def test_another_seed_is_not_compared_another_folder_is(run, table, monkeypatch, capsys):
    record(run, table, monkeypatch)
    wrong = table.assign(accuracy=0.0)
    run.settings.seed = 1
    recorded.agrees(run, wrong, "t", 0.1)
    assert "not compared" in capsys.readouterr().out
    run.settings.seed, run.settings.output = 0, "other"
    with pytest.raises(AssertionError):
        recorded.agrees(run, wrong, "t", 0.1)


def finding(verdict, claim="sky is strong"):
    return findings.Finding(claim, "w", "", 0, 0, 0, "", verdict)


def test_verdicts_may_become_undecided_but_not_the_contrary(run, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setenv(recorded.RECORD, "1")
        recorded.verdicts(run, [finding("holds")])
    recorded.verdicts(run, [finding("undecided")])
    assert "1 verdicts, none contradicts the recorded run" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="'sky is strong': does not hold here, holds when"):
        recorded.verdicts(run, [finding("does not hold")])
    with pytest.raises(AssertionError, match="claims differ"):
        recorded.verdicts(run, [finding("holds", "park is strong")])


def test_a_verdict_may_turn_where_its_value_hardly_moved(run, monkeypatch):
    def measured(verdict, value):
        return findings.Finding("sky is strong", "w", "", value, 0, 0, "", verdict)

    with monkeypatch.context() as patch:
        patch.setenv(recorded.RECORD, "1")
        recorded.verdicts(run, [measured("holds", 0.1)], tolerance=0.3)
    recorded.verdicts(run, [measured("does not hold", -0.15)], tolerance=0.3)
    with pytest.raises(AssertionError, match="does not hold here, holds when recorded"):
        recorded.verdicts(run, [measured("does not hold", -0.25)], tolerance=0.3)


def test_nothing_recorded_is_said(run, table):
    with pytest.raises(AssertionError, match="t: nothing is recorded; `make notebooks` records"):
        recorded.agrees(run, table, "t", 0.1)
