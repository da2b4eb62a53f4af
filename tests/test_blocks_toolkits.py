"""Agreement with fairlearn and FairBench where they are right, and why they are not elsewhere."""

import blocks_toolkits
import pandas as pd
import pytest

from helpers.blocks import examples
from helpers.run import project


def test_compas_counts_are_the_cited_ones():
    """The two tables printed in data/toolkits/README.md; the rest is their difference."""
    data = examples.counted(examples.tables()["compas"])
    cells = data.frame().set_index("group")[["tn", "fp", "fn", "tp"]]
    assert cells.loc["everyone"].tolist() == [2681, 1282, 1216, 2035]
    assert cells.loc["African-American"].tolist() == [990, 805, 532, 1369]


def test_the_installed_toolkits_answer_as_recorded():
    for name in ("fairlearn", "fairbench"):
        pytest.importorskip(name, reason=f"{name} is not installed; recorded answers are used")
    recorded = pd.read_csv(project.root() / examples.FOLDER / "blocks_answers.csv")
    asked = blocks_toolkits.ask()
    versions = set(zip(recorded["toolkit"], recorded["version"], strict=True))
    if versions != set(zip(asked["toolkit"], asked["version"], strict=True)):
        pytest.skip("other versions of the toolkits are installed than those recorded")
    pd.testing.assert_frame_equal(asked, recorded, check_dtype=False)
