"""What the lessons say together: gaps from tables, tests on a known truth, remedies."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from helpers import stats
from helpers.synthesis import gaps


def shares(hits, n):
    """A table of shares with Wilson's intervals."""
    low, high = stats.wilson(np.array(hits), np.full(len(hits), n))
    value = np.array(hits) / n
    return pd.DataFrame({"g": list("abcdefgh")[: len(hits)], "v": value, "low": low, "high": high})


def test_the_gap_of_two_shares_is_newcombes():
    found = gaps.gap(shares([30, 70], 100), "g", "v")
    assert (found["lowest"], found["highest"]) == ("a", "b")
    ends = confint_proportions_2indep(70, 100, 30, 100, method="newcomb", compare="diff")
    assert found[["value", "low", "high"]].tolist() == pytest.approx([0.4, *ends])


def test_the_widest_of_many_pairs_covers_and_p_is_no_smaller_than_uniform():
    """Eight groups without any difference: false findings, and the truth (0) in the interval."""
    rng = np.random.default_rng(0)
    found = [gaps.gap(shares(rng.binomial(400, 0.4, 8), 400), "g", "v") for _ in range(300)]
    assert np.mean([one["p"] <= 0.05 for one in found]) <= 0.05 + 0.03
    assert np.mean([one["low"] > 0 for one in found]) <= 0.05 + 0.03


def test_questions_are_answered_where_there_is_a_table():
    rows = shares([50, 90, 60], 100).rename(columns={"g": "test_set", "v": "accuracy"})
    key = "02_cross_evaluation", "accuracy"
    found = gaps.gaps({key: pd.concat([rows.assign(train_set="C"), rows.assign(train_set="NC")])})
    assert found["notebook"].tolist() == ["02_cross_evaluation"]
    assert found.loc[0, ["lowest", "highest", "value"]].tolist() == ["a", "b", 0.4]
    one_group = rows[:1].assign(train_set="C")
    assert gaps.gaps({key: one_group}).empty and gaps.gaps({}).empty
    assert gaps.tried({}).empty and gaps.remedies({}).empty
    assert gaps.estimates(gaps.gaps({}), gaps.remedies({})) == []


def test_a_rule_that_says_the_same_everywhere_knows_nothing():
    kinds = pd.DataFrame({"world": ["scenes harder", "neither", "detector worse", "neither"]})
    kinds = kinds.assign(outcome=["hit", *3 * ["false alarm"]], of=50, times=0)
    table = pd.concat([kinds.assign(rule="never"), kinds.assign(rule="always", times=50)])
    found = gaps.tried({("08b_deeper_icon2", "error-rates"): table}).set_index("method")
    assert found.loc[["never", "always"], "value"].tolist() == [0.5, 0.5]
    assert (found["chance"] == 0.5).all()


def test_tables_of_a_run_become_those_of_the_stored_lessons(tmp_path, monkeypatch):
    folder = tmp_path / "tables" / "06_focus_rating"
    folder.mkdir(parents=True)
    shares([50, 90], 100).to_csv(folder / "pooled.csv", index=False)
    monkeypatch.setattr(gaps, "STORED", tmp_path / "stored")
    gaps.main(str(tmp_path))
    [(key, table)] = gaps.tables().items()
    assert key == ("06_focus_rating", "pooled")
    pd.testing.assert_frame_equal(table, shares([50, 90], 100))
