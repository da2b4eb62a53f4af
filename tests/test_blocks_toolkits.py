"""Agreement with fairlearn and FairBench where they are right, and why they are not elsewhere."""

import blocks_toolkits
import numpy as np
import pandas as pd
import pytest

from helpers import store
from helpers.blocks import blocks, claims, counts, report


def test_the_installed_toolkits_answer_as_recorded():
    for name in ("fairlearn", "fairbench"):
        pytest.importorskip(name, reason=f"{name} is not installed; recorded answers are used")
    recorded = pd.read_csv(store.root() / claims.FOLDER / "blocks_answers.csv")
    today = blocks_toolkits.ask()
    versions = set(zip(recorded["toolkit"], recorded["version"], strict=True))
    if versions != set(zip(today["toolkit"], today["version"], strict=True)):
        pytest.skip("other versions of the toolkits are installed than those recorded")
    pd.testing.assert_frame_equal(today, recorded, check_dtype=False)


def rates(data, *names):
    """Base measures of the groups: a row a group, a column a measure."""
    table = {of: report.rates(data, of).set_index("group")["value"] for of in names}
    return pd.DataFrame(table)


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
    ours = rates(data, "tpr", "tnr", "ppv", "npv", "pr")
    printed = np.array([row[4:] for row in AEQUITAS.values()])
    np.testing.assert_allclose(ours.loc[list(AEQUITAS)], printed, atol=1e-6)
    for table in (data, claims.counted(claims.tables()["compas"])):  # data/toolkits/README.md
        cells = table.frame().set_index("group")[["tn", "fp", "fn", "tp"]]
        assert cells.loc["everyone"].tolist() == [2681, 1282, 1216, 2035]
        assert cells.loc["African-American"].tolist() == [990, 805, 532, 1369]
    fpr = dict(zip(AEQUITAS, 1 - printed[:, 1], strict=True))
    others, base = np.delete(np.arange(6), at := data.groups.place("Caucasian")), np.full(5, at)
    reference = lambda g: blocks.both_ways(others, base)  # noqa: E731
    most = max(1 - fpr[name] / fpr["Caucasian"] for name in fpr)
    most = max(most, max(1 - fpr["Caucasian"] / fpr[name] for name in fpr))
    assert blocks.bias(data, "fpr", reference, "srel", "max") == pytest.approx(most, abs=1e-5)
