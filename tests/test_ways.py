"""Detection rates of methods, compared with loops over all cases and scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from helpers.contexts import detection

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
def test_what_is_called_is_counted_within_worlds_first(drawn, kind):
    called, dose, _ = drawn
    table = (
        detection.shares(called, dose, UNITS).query("kind == @kind").set_index("unit")
    )
    low, high = detection.KINDS[kind]
    for name, some in {"all": [0, 1, 2], "b": [1]}.items():
        by_world = []
        for world in range(20):
            yes = [
                called[world, u, 1] != 0
                if kind == "false alarms"
                else called[world, u, 0] == 1
                for u in some
                if low <= dose[world, u] < high
            ]
            by_world += [sum(yes) / len(yes)] if yes else []
        assert table.loc[name, "worlds"] == len(by_world)
        assert table.loc[name, "share"] == pytest.approx(sum(by_world) / len(by_world))


def test_the_auc_is_the_mean_of_scikit_learns_over_the_contexts(drawn):
    _, dose, effects = drawn
    planted, each = dose >= 0.5, []
    for u in range(3):
        some = effects[planted[:, u], u, 0]
        truth = np.r_[np.ones(len(some)), np.zeros(20)]
        each.append(roc_auc_score(truth, np.r_[some, effects[:, u, 1]]))
    value, low, high = detection.auc(effects, planted)
    assert value == pytest.approx(np.mean(each)) and low < value < high
