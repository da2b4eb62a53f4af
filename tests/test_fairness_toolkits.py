"""Agreement with fairlearn and FairBench where they are right, and why they are not elsewhere."""

import fairness_toolkits
import pandas as pd
import pytest

from helpers import fairness as fb
from helpers import project
from helpers.fairness import toolkits


def test_recorded_answers_agree_but_for_zero_over_zero_and_ties():
    found = toolkits.answers()
    differ = found[~found["agree"]]
    assert len(found) == 276 and len(differ) == 26
    of = {name: set(part["measure"]) for name, part in differ.groupby("example")}
    expected = {"no positives": {"tpr", "fnr"}, "nobody predicted": {"ppv"}, "tied scores": {"auc"}}
    assert of == expected
    assert set(differ.loc[differ["example"] == "tied scores", "comparison"]) == {"curve"}


def test_compas_as_four_libraries_have_it():
    """The values are on record in data/toolkits/README.md."""
    data = toolkits.data(toolkits.examples()["compas"])
    expected = {"1-prule": 0.447639, "cv": 0.263303, "dfpr": 0.228450, "dfnr": 0.226814}
    for name, value in expected.items():
        assert fb.named(data, name, "African-American") == pytest.approx(value, abs=1e-6)


def test_only_one_table_of_the_rest_gives_the_four_values():
    """As data/toolkits/README.md says: the first row is printed, the other follows."""
    counts = pd.read_csv(project.root() / toolkits.FOLDER / "blocks_examples.csv")
    first, rest = counts[counts["example"] == "compas"][["tn", "fn", "fp", "tp"]].to_numpy()
    assert first.tolist() == [990, 532, 805, 1369]
    n, near = 7214 - first.sum(), 0.51e-6
    fpr, fnr = 805 / 1795 - 0.228450, 532 / 1901 + 0.226814
    pr = (805 + 1369) / 3696 - 0.263303
    found = []
    for negatives in range(1, n):
        positives = n - negatives
        fp, fn = round(fpr * negatives), round(fnr * positives)
        off = abs(fp / negatives - fpr), abs(fn / positives - fnr)
        if max(*off, abs((fp + positives - fn) / n - pr)) < near:
            found.append([negatives - fp, fn, fp, positives - fn])
    assert found == [rest.tolist()]
    right = first[[0, 3]].sum() + rest[[0, 3]].sum()
    assert right / 7214 == pytest.approx(0.654, abs=5e-4), "Dressel and Farid, 2018"


def test_the_installed_toolkits_answer_as_recorded():
    for name in ("fairlearn", "fairbench"):
        pytest.importorskip(name, reason=f"{name} is not installed; recorded answers are used")
    recorded = pd.read_csv(project.root() / toolkits.FOLDER / "blocks_answers.csv")
    asked = fairness_toolkits.ask()
    versions = set(zip(recorded["toolkit"], recorded["version"], strict=True))
    if versions != set(zip(asked["toolkit"], asked["version"], strict=True)):
        pytest.skip("other versions of the toolkits are installed than those recorded")
    pd.testing.assert_frame_equal(asked, recorded, check_dtype=False)
