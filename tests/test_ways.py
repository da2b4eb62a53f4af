"""Rates and AUC of lesson 10 against loops, scikit-learn, and another recorded table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from helpers import store
from helpers.contexts import detection
from sweeps import audit_trials, ways

UNITS = ["a", "b", "c"]


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    return (
        rng.integers(-1, 2, (20, 3, 2)),
        rng.uniform(0, 1, (20, 3)),
        rng.normal(size=(20, 3, 2)),
    )


@pytest.mark.parametrize("kind", detection.KINDS)
def test_rates_are_means_over_datasets(drawn, kind):
    flags, strength, _ = drawn
    table = detection.rates(flags, strength, UNITS)
    table = table.query("kind == @kind").set_index("unit")
    low, high = detection.KINDS[kind]
    for name, some in {"all": [0, 1, 2], "b": [1]}.items():
        by_dataset = []
        for dataset in range(20):
            yes = [
                flags[dataset, u, 1] != 0
                if kind == "false positive rate"
                else flags[dataset, u, 0] == 1
                for u in some
                if low <= strength[dataset, u] < high
            ]
            if yes:
                by_dataset.append(sum(yes) / len(yes))
        assert table.loc[name, "n"] == len(by_dataset)
        assert table.loc[name, "share"] == pytest.approx(np.mean(by_dataset))


def test_the_auc_is_the_mean_of_scikit_learns_over_the_contexts(drawn):
    _, strength, effects = drawn
    injected, each = strength >= 0.5, []
    for u in range(3):
        some = effects[injected[:, u], u, 0]
        truth = np.r_[np.ones(len(some)), np.zeros(20)]
        each.append(roc_auc_score(truth, np.r_[some, effects[:, u, 1]]))
    value, low, high = detection.auc(effects, injected)
    assert value == pytest.approx(np.mean(each)) and low < value < high


def test_the_share_on_the_context_is_that_of_the_places_outside_of_the_frame():
    """Two photographs of each of two classes, 9 x 9 places: the middle 5 x 5 are in the frame."""
    inside = np.zeros((9, 9), bool)
    inside[2:7, 2:7] = True
    maps = np.zeros((4, 2, 81, 2), np.float32)
    maps[:, 0, ~inside.ravel(), 0] = (
        1  # feature 0 lies on context 0, feature 1 in the frame
    )
    maps[:, 0, inside.ravel(), 1] = 1
    maps[:, 1, inside.ravel(), :] = 1
    y, ask = np.array([0, 0, 1, 1]), np.zeros((4, 2, 2))
    of = ways.Ways(y, ask, ask, ask, ask, maps)
    weights = np.array(
        [[1.0, 2.0], [-1.0, 1.0]]
    )  # (features, classes): class 0 has no relevance
    shares = of.outside(lambda features: features @ weights + 3.0, np.arange(4))
    assert shares[0] == pytest.approx([1, 0]) and shares[1, 1] == 0
    assert shares[1, 0] == pytest.approx(56 * 2 / (56 * 2 + 25))


@pytest.mark.parametrize("strength", [0.5, 1])
def test_pasting_detects_as_many_contexts_as_in_the_trials_of_the_audit(strength):
    rows = pd.read_csv(store.root() / "data/ways.csv").query(
        "bias_strength == @strength and injected == 1"
    )
    trials = pd.read_csv(store.root() / "data/audit_summary.csv").query(
        "images == 'photographs' and kind == 'context' and dose == @strength and quantity == 'found'"
        " and photographs == 'others' and recipe == 'all'"
    )
    assert (
        trials["low"].item()
        <= (rows["pasting, logits, minus other contexts"] >= 1).mean()
        <= trials["high"].item()
    )


def test_trials_of_heads_that_there_are_not_are_refused_with_those_that_there_are(
    monkeypatch,
):
    monkeypatch.setattr(audit_trials, "squeezenet", lambda weights: None)
    monkeypatch.setattr(audit_trials, "kinds", lambda network: {"own head": None})
    words = "trials t.csv --heads tree --photographs p --weights w"
    monkeypatch.setattr("sys.argv", words.split())
    with pytest.raises(SystemExit, match="'tree' is none of: all, own head"):
        audit_trials.main()
