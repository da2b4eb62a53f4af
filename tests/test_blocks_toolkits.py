"""Agreement with fairlearn and FairBench where they are right, and why they are not elsewhere."""

import blocks_toolkits
import numpy as np
import pandas as pd
import pytest

from helpers import store
from helpers.blocks import blocks, counts, report
from helpers.blocks import paper as fb


def test_the_installed_toolkits_answer_as_recorded():
    for name in ("fairlearn", "fairbench"):
        pytest.importorskip(name, reason=f"{name} is not installed; recorded answers are used")
    recorded = pd.read_csv(store.root() / fb.FOLDER / "blocks_answers.csv")
    asked = blocks_toolkits.ask()
    versions = set(zip(recorded["toolkit"], recorded["version"], strict=True))
    if versions != set(zip(asked["toolkit"], asked["version"], strict=True)):
        pytest.skip("other versions of the toolkits are installed than those recorded")
    pd.testing.assert_frame_equal(asked, recorded, check_dtype=False)


def rates(data, *names):
    """Base measures of the groups: a row a group, a column a measure."""
    found = {of: report.rates(data, of).set_index("group")["value"] for of in names}
    return pd.DataFrame(found)


def test_fairbench_prints_these_cells():
    """FairBench 0.3, docs/basics/reports.md: the whole report of its example with men and women."""
    printed = {
        "min": {"acc": 0.333, "pr": 0.333, "tpr": 0, "tnr": 0.5},
        "wmean": {"acc": 0.6, "pr": 0.4, "tpr": 0.4, "tnr": 0.7},
        "gini": {"acc": 0.25, "pr": 0.1, "tpr": 0.5, "tnr": 0.167},
        "minratio": {"acc": 0.333, "pr": 0.667, "tpr": 0, "tnr": 0.5},
        "maxdiff": {"acc": 0.667, "pr": 0.167, "tpr": 1, "tnr": 0.5},
    }
    men = [1, 1, 0, 0, 0]
    data = counts.table(men, y_pred=[1, 0, 1, 0, 0], y_true=[1, 0, 0, 1, 0])
    cells = fb.FIGURE_1 | {
        "wmean": (blocks.alone, "none", "wmean_normalised"),
        "gini": ("pairs", "none", "gini"),
    }
    for name, of_measures in printed.items():
        for of, value in of_measures.items():
            found = blocks.bias(data, of, *cells[name])
            found = 1 - found if name == "minratio" else found
            assert found == pytest.approx(value, abs=6e-4), (name, of)


def test_fairlearn_prints_these_cells():
    """fairlearn's user guide, "Perform fairness assessment", with its sixteen rows.

    Precision is 0/0 where nobody is predicted; there is no such group here. The group (a, 8) has no
    rows: fairlearn shows NaN, and here there is no such group.
    """
    y_true = [0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1]
    y_pred = [0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1]
    by, weight = list("dacbbcccbdcabdcc"), [1, 2, 1, 3, 2, 3, 1, 2, 1, 2, 3, 1, 2, 3, 2, 3]
    given = {"y_true": y_true, "y_pred": y_pred}
    data = counts.table(by, **given)
    found = rates(data, "ppv", "tpr")
    assert found["ppv"].tolist() == pytest.approx([0, 1, 0.6, 0])
    assert found["tpr"].tolist() == [0, 0.5, 0.75, 0]
    assert data.frame()["n"].tolist() == [2, 4, 7, 3, 16]
    assert blocks.bias(data, "tpr", "pairs", "abs", "max") == 0.75
    assert 1 - blocks.bias(data, "tpr", "pairs", "srel", "max") == 0
    heavy = rates(counts.table(by, sample_weight=weight, **given), "tpr")
    assert heavy["tpr"].tolist() == pytest.approx([0, 0.5, 0.7142, 0], abs=1e-4)
    second = [8, 6, 8, 8, 8, 8, 6, 6, 6, 8, 6, 6, 6, 6, 8, 6]
    both = counts.table({"SF 0": by, "SF 1": second}, intersect="joint", **given)
    printed = {"b & 6": 0.5, "b & 8": 0.5, "c & 6": 1, "c & 8": 0.5, "d & 6": 0, "a & 6": 0}
    found = rates(both, "tpr")["tpr"]
    assert {name: found[name] for name in printed} == printed and "a & 8" not in found


AEQUITAS = {  # tn, fn, fp, tp, and the rates that it prints
    "African-American": (990, 532, 805, 1369, 0.720147, 0.551532, 0.629715, 0.65046, 0.588203),
    "Asian": (21, 3, 2, 6, 0.666667, 0.913043, 0.75, 0.875, 0.25),
    "Caucasian": (1139, 461, 349, 505, 0.522774, 0.765457, 0.591335, 0.711875, 0.348003),
    "Hispanic": (318, 129, 87, 103, 0.443966, 0.785185, 0.542105, 0.711409, 0.298273),
    "Native American": (5, 1, 3, 9, 0.9, 0.625, 0.75, 0.833333, 0.666667),
    "Other": (208, 90, 36, 43, 0.323308, 0.852459, 0.544304, 0.697987, 0.209549),
}


def test_aequitas_prints_these_cells():
    """aequitas' compas_demo: the crosstab of race, of ProPublica's counts.

    Its pprev is our pr, its false discovery and omission rates are 1 - ppv and 1 - npv. Its ppr is
    by another definition: the group's share of all who are predicted positive. Its disparities are
    ratios to a reference group, here from the rates as printed.
    """
    held = np.array([row[:4] for row in AEQUITAS.values()])
    group, outcome = np.indices(held.shape).reshape(2, -1).repeat(held.ravel(), axis=1)
    names = np.array(list(AEQUITAS))[group]
    data = counts.table(names, y_pred=outcome // 2, y_true=outcome % 2)
    found = rates(data, "tpr", "tnr", "ppv", "npv", "pr")
    printed = np.array([row[4:] for row in AEQUITAS.values()])
    np.testing.assert_allclose(found.loc[list(AEQUITAS)], printed, atol=1e-6)
    for table in (data, fb.counted(fb.tables()["compas"])):  # data/toolkits/README.md
        cells = table.frame().set_index("group")[["tn", "fp", "fn", "tp"]]
        assert cells.loc["everyone"].tolist() == [2681, 1282, 1216, 2035]
        assert cells.loc["African-American"].tolist() == [990, 805, 532, 1369]
    fpr = dict(zip(AEQUITAS, 1 - printed[:, 1], strict=True))
    others, base = np.delete(np.arange(6), at := data.groups.place("Caucasian")), np.full(5, at)
    reference = lambda g: blocks.both_ways(others, base)  # noqa: E731
    most = max(1 - fpr[name] / fpr["Caucasian"] for name in fpr)
    most = max(most, max(1 - fpr["Caucasian"] / fpr[name] for name in fpr))
    assert blocks.bias(data, "fpr", reference, "srel", "max") == pytest.approx(most, abs=1e-5)
