"""Exercises: how answers are checked, and how results are compared with the package's."""

import ast

import nbformat
import numpy as np
import pandas as pd
import pytest
import torch

from helpers import exercises, overview, run_lesson

SHARE_OF_FLIPS = 0.43216
MISTAKES = {"This is a share of all mosaics.": 0.25}


@pytest.mark.parametrize(
    "answer",
    [
        SHARE_OF_FLIPS,
        0.432,
        np.float32(0.432),
        torch.tensor(SHARE_OF_FLIPS, requires_grad=True),
        pd.Series([0.432]),
    ],
)
def test_a_right_number_may_be_rounded_and_of_any_type(answer):
    exercises.assert_close(answer, SHARE_OF_FLIPS, "Give a share.", MISTAKES)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (None, "Write your code in the cell above"),
        (0.41, "Give a share."),
        (float("nan"), "Give a share."),
        (0.25, "This is a share of all mosaics."),
        (-0.432, "The sign is reversed."),
        (43.2, "This is a percentage."),
        ("much", "must be one number, not a str"),
        ([0.4, 0.5], "must be one number, not a list"),
    ],
)
def test_a_wrong_answer_gets_the_hint_that_fits(answer, hint):
    with pytest.raises(AssertionError, match=hint):
        exercises.assert_close(answer, SHARE_OF_FLIPS, "Give a share.", MISTAKES)


def test_of_two_close_numbers_the_nearer_one_decides():
    mistakes = {"This is the false positive rate.": 0.2280}
    exercises.assert_close(0.2269, 0.2269, "Give a rate.", mistakes)
    with pytest.raises(AssertionError, match="false positive rate"):
        exercises.assert_close(0.228, 0.2269, "Give a rate.", mistakes)


def test_zero_is_right_although_it_equals_its_negative():
    exercises.assert_close(0, 0.0, "Give a rate.")


@pytest.mark.parametrize(
    ("result", "package_result", "difference"),
    [
        (0.61, 0.82, "Focus is 0.61 here and 0.82 there"),
        (float("nan"), 0.5, "Focus is nan here and 0.5 there"),
        (np.array([1.0, 2.0]), [1.0, 2.5], "Focus differs by up to 0.5"),
        (torch.ones(2, 3), torch.ones(3), "Focus has the shape (2, 3) here"),
        ("bench", "plane", "Focus is bench here and plane there"),
    ],
)
def test_a_difference_from_the_package_is_printed(
    result, package_result, difference, capsys
):
    exercises.compare("Focus", result, package_result)
    printed = capsys.readouterr().out
    assert f"Your version differs from the package: {difference}" in printed


@pytest.mark.parametrize(
    ("result", "package_result"),
    [
        (0.5, 0.5 + 1e-9),
        (float("nan"), float("nan")),
        ([1, 2], torch.tensor([1.0, 2.0])),
        ("bench", "bench"),
    ],
)
def test_nothing_is_printed_where_results_agree(result, package_result, capsys):
    exercises.compare("Focus", result, package_result)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("path", overview.lessons(), ids=lambda path: path.stem)
def test_exercises_are_solution_and_check_which_are_folded_and_may_fail(path):
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert all("hide-input" in cell.metadata.tags for cell in cells)
    assert all("raises-exception" in cell.metadata.tags for cell in cells)
    for solution, check in zip(cells[::2], cells[1::2], strict=True):
        assert solution.metadata.nbgrader.solution
        assert "= None  # your code here\n### BEGIN SOLUTION" in solution.source
        assert check.metadata.nbgrader.grade
        asserts = [
            node
            for node in ast.walk(ast.parse(check.source))
            if isinstance(node, ast.Assert)
        ]
        assert all(node.msg for node in asserts), "each assert has a hint"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs an exercise and then an ordinary cell."""

    def execute(exercise, ordinary):
        cells = [nbformat.v4.new_code_cell(code) for code in (exercise, ordinary)]
        cells[0].metadata.tags = ["raises-exception"]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
        executed = tmp_path / "out.ipynb"
        source = tmp_path / "in.ipynb"
        nbformat.write(notebook, source)
        command = [
            "run_lesson",
            "--no-progress-bar",
            str(source),
            str(executed),
        ]
        monkeypatch.setattr("sys.argv", command)
        run_lesson.main()
        return nbformat.read(executed, as_version=4).cells

    return execute


@pytest.mark.slow
def test_a_run_goes_on_after_an_exercise(run):
    exercise, last = run("assert False, 'the hint'", "print('the end')")
    assert exercise.outputs[0].evalue == "the hint"
    assert last.outputs[0].text == "the end\n"


@pytest.mark.slow
def test_a_run_stops_at_an_ordinary_error_and_prints_it_without_traceback(run, capsys):
    with pytest.raises(SystemExit, match=r"out\.ipynb"):
        run("assert False, 'the hint'", "1 / 0")
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "ZeroDivisionError: division by zero"
