"""Exercises: every one has a task, a solution and a check; the class's copy has no solution."""

import ast

import nbformat
import pytest

from helpers import store
from helpers.suite import exercises

NOTEBOOKS = sorted((store.root() / "notebooks").glob("[0-9]*.ipynb"))
KEYS = {"grade", "grade_id", "locked", "schema_version", "solution", "task"}  # nbgrader's schema 3


def cells_of(path):
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if "nbgrader" in cell.metadata]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_solution_is_folded_and_followed_by_its_check(path):
    cells = cells_of(path)
    for solution, check in zip(cells[::2], cells[1::2], strict=True):
        assert solution.metadata.nbgrader.solution and check.metadata.nbgrader.grade
        assert solution.metadata.nbgrader.keys() == KEYS
        assert check.metadata.nbgrader.keys() == KEYS | {"points"}
        assert exercises.SOLUTION.search(solution.source)
        assert exercises.FOLD in solution.metadata.tags and solution.metadata.jupyter.source_hidden
        asserted = [n for n in ast.walk(ast.parse(check.source)) if isinstance(n, ast.Assert)]
        assert asserted and all(node.msg for node in asserted), "a check says what to look at"
    names = [cell.metadata.nbgrader.grade_id for cell in cells]
    assert len(set(names)) == len(names)


def test_the_class_gets_the_tasks_without_the_solutions(tmp_path):
    exercises.copy(tmp_path / "class", solved=False)
    copies = sorted(tmp_path.glob("class/*.ipynb"))
    names = {path.stem for path in copies}
    assert {"00_start_here", "01_datasets", "09_bias_building_blocks"} <= names
    assert "00_template" not in names
    for path in copies:
        assert "BEGIN SOLUTION" not in path.read_text()
        for cell in cells_of(path):
            assert not cell.outputs
            if cell.metadata.nbgrader.solution:
                with pytest.raises(NotImplementedError):
                    exec(cell.source.split("# YOUR CODE HERE")[1], {})


def test_copies_write_to_a_run_of_their_own_and_are_not_replaced(tmp_path):
    mine = exercises.copy(tmp_path / "lab", solved=True) / "01_datasets.ipynb"
    assert 'output: str = "lab"' in nbformat.read(mine, as_version=4).cells[2].source
    assert "BEGIN SOLUTION" in mine.read_text()
    mine.write_text("my work")
    exercises.copy(tmp_path / "lab", solved=True)
    assert mine.read_text() == "my work"
