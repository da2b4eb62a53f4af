"""The notebooks as files: the table of exhibits, findings, exercises, and a class's copies."""

import ast
import re

import nbformat
import pandas as pd
import pytest

from helpers import claims
from helpers.suite import notebooks

KEYS = {
    "grade",
    "grade_id",
    "locked",
    "schema_version",
    "solution",
    "task",
}  # nbgrader's schema 3
PAPERS = {
    paper: pd.read_csv(
        claims.TABLE.with_name(f"{paper}_counterparts.csv"), keep_default_na=False
    )
    for paper in ("contexts", "focus", "icon2")
}


def test_every_exhibit_of_the_paper_has_one_counterpart_in_a_stored_notebook():
    figures = [f"Figure {number}" for number in range(1, 17)]
    assert sorted(PAPERS["contexts"]["exhibit"]) == sorted([*figures, "Table 1"])
    for row in pd.concat(PAPERS.values()).itertuples():
        if row.exhibit != "Table 1":  # a KeyError names what is missing
            assert "<img" in notebooks.figure(row.notebook, row.name).data
        else:
            notebook = notebooks.read(notebooks.NOTEBOOKS / f"{row.notebook}.ipynb")
            code = "\n".join(
                cell.source for cell in notebook.cells if cell.cell_type == "code"
            )
            assert re.search(rf'run\.table\([^#]*"{row.name}"', code), row.exhibit


def test_claims_are_about_exhibits_that_are_listed():
    known = claims.read().query("exhibit != ''")
    named = {
        (claim.by, one)
        for claim in known.itertuples()
        for one in claim.exhibit.split("; ")
    }
    assert named <= {
        (paper, one) for paper, listed in PAPERS.items() for one in listed["exhibit"]
    }
    assert {exhibit for _, exhibit in named} >= {
        "Figure 2",
        "Figure 7",
        "Figure 11",
        "Table 1",
    }


def test_the_stored_table_of_exhibits_counts_the_stored_notebooks():
    stored = notebooks.findings(notebooks.lessons())
    table = notebooks.linked(notebooks.exhibits("contexts", stored)).data
    shown = notebooks.outputs(notebooks.read(notebooks.NOTEBOOKS / "01_datasets.ipynb"))
    assert table in [output.get("data", {}).get("text/markdown") for output in shown], (
        "execute 01 again, after the lessons whose verdicts it counts"
    )


def cells_of(path):
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if "nbgrader" in cell.metadata]


@pytest.mark.parametrize("path", notebooks.lessons(), ids=lambda path: path.stem)
def test_a_solution_is_folded_and_followed_by_its_check(path):
    cells = cells_of(path)
    for solution, check in zip(cells[::2], cells[1::2], strict=True):
        assert solution.metadata.nbgrader.solution and check.metadata.nbgrader.grade
        assert solution.metadata.nbgrader.keys() == KEYS
        assert check.metadata.nbgrader.keys() == KEYS | {"points"}
        assert notebooks.SOLUTION.search(solution.source)
        assert (
            notebooks.FOLD in solution.metadata.tags
            and solution.metadata.jupyter.source_hidden
        )
        asserted = [
            n for n in ast.walk(ast.parse(check.source)) if isinstance(n, ast.Assert)
        ]
        assert all(node.msg for node in asserted), "a check says what to look at"
        assert asserted or "exercises.same(" in check.source
    names = [cell.metadata.nbgrader.grade_id for cell in cells]
    assert len(set(names)) == len(names)


def test_the_class_gets_the_tasks_without_the_solutions(tmp_path):
    notebooks.copy(tmp_path / "class", solved=False)
    copies = sorted(tmp_path.glob("class/*.ipynb"))
    names = {path.stem for path in copies}
    assert {"00_start_here", "01_datasets", "09_bias_building_blocks"} <= names
    for path in copies:
        assert "BEGIN SOLUTION" not in path.read_text()
        for cell in cells_of(path):
            assert not cell.outputs
            if not cell.metadata.nbgrader.solution:
                assert cell.metadata.jupyter.source_hidden, "it computes the answer"
            elif "# YOUR CODE HERE" in cell.source:
                with pytest.raises(NotImplementedError):
                    exec(cell.source.split("# YOUR CODE HERE")[1], {})
            else:
                exec(cell.source, answers := {})
                answers.pop("__builtins__")
                assert answers and all(value is None for value in answers.values())
    worked_out = [
        path for path in copies if path.name[:3] in ("01_", "02_", "03_", "09_")
    ]
    assert not any("# YOUR CODE HERE" in path.read_text() for path in worked_out)


@pytest.mark.parametrize(
    "lesson", ["03_contextualized_mosaics", "09_bias_building_blocks"]
)
def test_a_class_does_not_get_what_is_to_be_predicted(tmp_path, lesson):
    for solved in (True, False):
        folder = notebooks.copy(tmp_path / str(solved), solved=solved)
        cells = nbformat.read(folder / f"{lesson}.ipynb", as_version=4).cells
        asks = [
            k
            for k, cell in enumerate(cells)
            if "predict" in cell.metadata.get("tags", [])
        ]
        assert asks and all(bool(cells[k + 1].outputs) == solved for k in asks)


def test_copies_write_to_a_run_of_their_own_and_are_not_replaced(tmp_path, monkeypatch):
    """A class's lie in one folder, beside its results; a seat has one plain name."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    for place, results in {
        "lab": "lab/results",
        "class/seat07": "class/seat07/results",
    }.items():
        mine = (
            notebooks.copy(tmp_path / place, solved=place == "lab")
            / "01_datasets.ipynb"
        )
        cells = nbformat.read(mine, as_version=4).cells
        assert f'output: str = "{results}"' in cells[2].source
        assert ("BEGIN SOLUTION" in mine.read_text()) == (place == "lab")
        mine.write_text("my work")
        notebooks.copy(tmp_path / place, solved=True)
        assert mine.read_text() == "my work"
    for name in ("class", "class/../elsewhere", "class/a/b"):
        with pytest.raises(SystemExit, match="NAME is one plain name"):
            notebooks.main("copy", str(tmp_path / name))
