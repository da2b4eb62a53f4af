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
    """Oracle values of shared/design/facts.md, section 4."""
    data = toolkits.data(toolkits.examples()["compas"])
    expected = {"1-prule": 0.447639, "cv": 0.263303, "dfpr": 0.228450, "dfnr": 0.226814}
    for name, value in expected.items():
        assert fb.named(data, name, "African-American") == pytest.approx(value, abs=1e-6)


def test_the_installed_toolkits_answer_as_recorded():
    for name in ("fairlearn", "fairbench"):
        pytest.importorskip(name, reason=f"{name} is not installed; recorded answers are used")
    recorded = pd.read_csv(project.root() / toolkits.FOLDER / "blocks_answers.csv")
    asked = fairness_toolkits.ask()
    versions = set(zip(recorded["toolkit"], recorded["version"], strict=True))
    if versions != set(zip(asked["toolkit"], asked["version"], strict=True)):
        pytest.skip("other versions of the toolkits are installed than those recorded")
    pd.testing.assert_frame_equal(asked, recorded, check_dtype=False)
