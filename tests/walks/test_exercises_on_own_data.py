"""Walk B1: a lesson on the reader's data never fails by the check of its own exercise."""

import sys
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient
from traitlets.config import Config

from helpers import store
from helpers.focus import feature
from helpers.focus.mosaics import IMAGES, TARGETS
from helpers.suite import exercises, project

PAIR = ("cup", "kangaroo")


def rated():
    """Return an intervention on twelve mosaics by two runs; some maps have no Focus."""
    one = pd.DataFrame({"mosaic": range(12), "target": PAIR[1], "outer": PAIR[0]})
    one = one.assign(set="C", architecture="any")
    one[IMAGES], one[TARGETS] = np.arange(48).reshape(12, 4), [True, True, False, False]
    states, rng = (
        (feature.BEFORE, feature.OVER, feature.ELSEWHERE),
        np.random.default_rng(0),
    )
    rows = [
        one.assign(run=run, state=state, focus=rng.random(12))
        for run in range(2)
        for state in states
    ]
    rows = pd.concat(rows, ignore_index=True)
    undefined = zip(
        (feature.ELSEWHERE, feature.OVER, feature.BEFORE), (3, 0, 5), strict=True
    )
    for state, mosaic in undefined:
        rows.loc[(rows["state"] == state) & (rows["mosaic"] == mosaic), "focus"] = (
            np.nan
        )
    return rows


def test_the_check_of_07_takes_the_rise_of_the_package_where_maps_have_no_focus():
    """Its own mean left out mosaics without a Focus in a state that the rise does not compare."""
    again = rated()
    lesson = nbformat.read(store.root() / "notebooks" / "07_focus_bias_pairs.ipynb", 4)
    [check] = [c for c in lesson.cells if c.metadata.get("nbgrader", {}).get("points")][
        :1
    ]
    masks = torch.zeros(2, 1, 1, dtype=torch.bool)
    masks[0] = True
    space = {
        "again": again,
        "exercises": exercises,
        "guess": masks,
        "held_out": SimpleNamespace(table=pd.DataFrame({"class": PAIR})),
        "pair": PAIR,
        "reverse": feature.rise(again).estimate,
    }
    exec(check.source, space)
    with pytest.raises(AssertionError, match="the rise is inpainted minus unchanged"):
        exec(check.source, space | {"reverse": space["reverse"] + 0.01})
    assert feature.rises(again).mean() == pytest.approx(space["reverse"], abs=0.01)
    both = again.pivot(index=["run", "mosaic"], columns="state", values="focus")
    single = (both[feature.OVER] - both[feature.BEFORE]).groupby("run").mean()
    np.testing.assert_allclose(feature.rises(again), single)


CELLS = [
    "seed: int = 0\noutput: str = 'own'\nlabels: str = None",
    "",
    "from helpers.suite.parameters import check\nsettings = check(globals())",
    "from helpers.suite import project\nrun = project.start('08_icon2', settings)",
    "assert True, 'of the lesson'\nprint('the lesson')",
    "### BEGIN SOLUTION\nanswer = [][0]\n### END SOLUTION",
    "assert answer == 1, 'the check'",
    "print('the next')\nassert True",
    "# YOUR CODE HERE\nanswer = 2",
    "assert answer == 1, 'the check'",
]


def sources(labels, cells):
    """Cells as papermill hands them to a kernel; `labels` are the reader's, or None."""
    chosen = [CELLS[number] for number in cells]
    chosen[1] = f"# Parameters\nlabels = {str(labels)!r}" if labels else ""
    return chosen


@pytest.fixture
def labels(tmp_path, monkeypatch):
    """A file of the reader's."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(store.root()))
    path = tmp_path / "labels.json"
    path.write_text("[]")
    return path


@pytest.mark.slow
def test_a_kernel_leaves_out_failing_exercises_on_own_data(labels):
    cells = [nbformat.v4.new_code_cell(source) for source in sources(labels, range(8))]
    NotebookClient(
        nbformat.v4.new_notebook(cells=cells), kernel_name="python3"
    ).execute()
    said = [output["text"].strip() for cell in cells for output in cell.outputs]
    assert said[0].startswith(
        "You changed labels: the sentences below tell of the stored run."
    )
    assert said[1:] == [
        "the lesson",
        exercises.LEFT_OUT,
        exercises.LEFT_OUT,
        "the next",
    ]


def errors(monkeypatch, labels, cells):
    """The errors of cells in a shell."""
    monkeypatch.setitem(
        sys.modules, "__main__", sys.modules["__main__"]
    )  # a shell takes its place
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    monkeypatch.setattr(exercises, "get_ipython", lambda: shell)
    done = [
        shell.run_cell(source, store_history=True) for source in sources(labels, cells)
    ]
    raised = [result.error_before_exec or result.error_in_exec for result in done]
    return [type(one) for one in raised if one]


def test_exercises_are_left_out_on_own_data_only(labels, monkeypatch):
    """A class's own answers are checked on any data."""
    solved, answered = range(8), [0, 1, 2, 3, 4, 8, 9]
    assert errors(monkeypatch, labels, solved) == []
    assert errors(monkeypatch, None, solved) == [IndexError, NameError]
    assert errors(monkeypatch, None, answered) == [AssertionError]
    assert errors(monkeypatch, labels, answered) == [AssertionError]


@pytest.mark.parametrize(
    ("settings", "runs"),
    [
        ({}, True),
        ({"images": SimpleNamespace(source="world", folder=None)}, True),
        ({"images": SimpleNamespace(source="folder", folder="mine")}, False),
        ({"models": [SimpleNamespace(weights=None)], "table": None}, True),
        ({"models": [SimpleNamespace(weights="mine.pt")]}, False),
        ({"table": "mine.csv"}, False),
    ],
)
def test_what_counts_as_the_embedded_data(monkeypatch, settings, runs):
    watched = SimpleNamespace(exercises=None)
    shell = SimpleNamespace(watch_of_failures=watched)
    monkeypatch.setattr(exercises, "get_ipython", lambda: shell)
    project.start("01_datasets", SimpleNamespace(seed=0, output="own", **settings))
    assert watched.exercises is runs
