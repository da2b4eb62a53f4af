"""`make class` and `make grade`, with three students who hand in lesson 09."""

import subprocess

import nbformat
import pandas as pd
import pytest

from helpers import store

LESSON = "09_bias_building_blocks.ipynb"


def make(*arguments):
    """Call make in the checkout."""
    return subprocess.run(
        ["make", *arguments], cwd=store.root(), capture_output=True, text=True
    )


def solution_cells(notebook):
    """Return the cells that students fill in."""
    return [
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    ]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return a course folder with the notebooks that a class gets."""
    if make(".venv-nbgrader/ready").returncode != 0:
        pytest.skip("The environment of nbgrader needs a network once.")
    folder = tmp_path_factory.mktemp("class")
    made = make("class", f"CLASS={folder}")
    assert made.returncode == 0, made.stderr
    return folder


def hand_in(course, student, answer):
    """Write a student's notebook, with `answer` applied to each solution cell."""
    released = nbformat.read(course / "release" / "09" / LESSON, as_version=4)
    solved = nbformat.read(store.root() / "notebooks" / LESSON, as_version=4)
    cells = solution_cells(released)
    for cell, solution in zip(cells, solution_cells(solved), strict=True):
        cell.source = answer(cell.source, solution.source)
    for cell in released.cells:
        cell.source = cell.source.replace("draws: int = 999", "draws: int = 99")
    folder = course / "submissions" / student
    folder.mkdir(parents=True)
    nbformat.write(released, folder / LESSON)


@pytest.mark.slow
def test_a_class_gets_no_solutions_and_no_outputs(course):
    for path in course.glob("release/*/*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        assert not any(cell.get("outputs") for cell in notebook.cells)
        for cell in solution_cells(notebook):
            assert cell.source.strip().endswith("= None  # your code here")
            assert "jupyter" not in cell.metadata, "students see where they write"


@pytest.mark.slow
def test_a_right_an_empty_and_a_wrong_notebook_get_their_scores(course):
    hand_in(course, "right", lambda stub, solution: solution)
    hand_in(course, "empty", lambda stub, solution: stub)
    hand_in(course, "wrong", lambda stub, solution: stub.replace("None", "1.5"))
    graded = make("grade", "LESSON=09", f"CLASS={course}")
    assert graded.returncode == 0, graded.stderr
    scores = pd.read_csv(course / "scores-09.csv", index_col="student_id")
    assert scores["score"].to_dict() == {"right": 3, "empty": 0, "wrong": 0}
    assert (scores["max_score"] == 3).all()
