"""The notebooks as files: the table of exhibits, findings, exercises, and a class's copies."""

import ast
import json
import re
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
import yaml

from helpers import store
from helpers.stats import Estimate
from helpers.suite import claims, notebooks, project

KEYS = {"grade", "grade_id", "locked", "schema_version", "solution", "task"}  # nbgrader's schema 3
LISTED = pd.read_csv(claims.TABLE.with_name("contexts_counterparts.csv"), keep_default_na=False)


def test_every_figure_and_table_of_the_paper_has_one_row():
    figures = [f"Figure {number}" for number in range(1, 17)]
    assert sorted(LISTED["exhibit"]) == sorted([*figures, "Table 1"])


@pytest.mark.parametrize("row", [*LISTED.itertuples()], ids=[*LISTED["exhibit"]])
def test_its_counterpart_is_in_the_stored_notebook(row):
    notebook = nbformat.read(notebooks.NOTEBOOKS / f"{row.notebook}.ipynb", as_version=4)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    if row.exhibit.startswith("Figure"):
        assert "<img" in notebooks.figure(row.notebook, row.name).data
    else:
        assert re.search(rf'run\.table\([^"]*"{row.name}"', code)


def test_claims_are_about_exhibits_that_are_listed():
    known = claims.read().query("exhibit != ''")
    named = {(claim.by, one) for claim in known.itertuples() for one in claim.exhibit.split("; ")}
    assert named <= {("contexts", exhibit) for exhibit in LISTED["exhibit"]}
    assert {exhibit for _, exhibit in named} >= {"Figure 2", "Figure 7", "Figure 11", "Table 1"}


def test_verdicts_are_counted_as_the_notebooks_are_stored(tmp_path, monkeypatch):
    names = {one.split("_")[0]: one for one in LISTED["notebook"]}
    for chapter in claims.read().query("by == 'contexts'")["notebook"].unique():
        found = claims.judge(chapter, [])  # nothing was measured: no claim has a counterpart
        if chapter == "02":
            found = found[:3].assign(verdict=[claims.AGREES, claims.UNDECIDED, claims.AGREES])
        kept = {"findings": found.astype(object).where(found.notna(), None).to_dict("records")}
        made = nbformat.v4.new_output("display_data", {"text/plain": "claims"}, metadata=kept)
        cell = nbformat.v4.new_code_cell("run.findings([])", outputs=[made])
        path = tmp_path / f"{names.get(chapter, chapter)}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path)
    table = notebooks.exhibits("contexts").set_index("exhibit")["its claims"]
    of_figure_2 = (claims.read()["exhibit"] == "Figure 2").sum()
    assert (
        table["Figure 2"] == f"2 agree, 1 undecided, {of_figure_2 - 3} without a stored verdict yet"
    )
    assert table["Figure 1"] == "an illustration"
    assert re.fullmatch(r"\d+ have no counterpart here", table["Figure 7"])


def test_findings_come_back_from_a_notebook_as_they_were_judged(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(project, "display", lambda _, metadata: kept.append(metadata))
    some = [Estimate("contexts/every-pair", (2, 2, 2), note="measured")]
    project.Run("03_any", SimpleNamespace(seed=0), tmp_path).findings(some)
    output = nbformat.v4.new_output("display_data", {"text/plain": "claims"}, metadata=kept[0])
    cell = nbformat.v4.new_code_cell("run.findings(some)", outputs=[output])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "03_any.ipynb")
    back = notebooks.findings([tmp_path / "03_any.ipynb"])
    judged = claims.judge("03_any", some)
    pd.testing.assert_frame_equal(back.drop(columns="notebook"), judged)
    record = json.loads((tmp_path / "findings" / "03_any.json").read_text(), parse_constant=int)
    assert record["findings"] == kept[0]["findings"] and record["settings"] == {"seed": 0}
    assert notebooks.findings([]).empty


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
        assert notebooks.FOLD in solution.metadata.tags and solution.metadata.jupyter.source_hidden
        asserted = [n for n in ast.walk(ast.parse(check.source)) if isinstance(n, ast.Assert)]
        assert asserted and all(node.msg for node in asserted), "a check says what to look at"
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
            if cell.metadata.nbgrader.solution:
                with pytest.raises(NotImplementedError):
                    exec(cell.source.split("# YOUR CODE HERE")[1], {})


def test_copies_write_to_a_run_of_their_own_and_are_not_replaced(tmp_path):
    mine = notebooks.copy(tmp_path / "lab", solved=True) / "01_datasets.ipynb"
    assert 'output: str = "lab"' in nbformat.read(mine, as_version=4).cells[2].source
    assert "BEGIN SOLUTION" in mine.read_text()
    mine.write_text("my work")
    notebooks.copy(tmp_path / "lab", solved=True)
    assert mine.read_text() == "my work"


def test_every_lesson_has_its_seconds_by_which_a_run_is_ordered():
    seconds = yaml.safe_load((store.root() / "data/seconds.yml").read_text())
    assert sorted(seconds) == [path.stem for path in notebooks.lessons()]
    assert min(seconds.values()) > 0
