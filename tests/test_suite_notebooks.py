"""The notebooks as files: the table of exhibits, findings, exercises, and a class's copies."""

import ast
import json
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
import yaml

from helpers import store
from helpers.stats import Estimate
from helpers.suite import claims, notebooks, project

KEYS = {
    "grade",
    "grade_id",
    "locked",
    "schema_version",
    "solution",
    "task",
}  # nbgrader's schema 3


def test_a_run_counts_its_own_verdicts_and_not_those_of_other_images(tmp_path):
    def judged(images, seed, name, verdict):
        record = {"settings": {"images": images, "seed": seed, "trainings": 3}}
        row = {"id": f"contexts/{name}", "verdict": verdict}
        (tmp_path / "findings" / f"{name}.json").write_text(
            json.dumps(record | {"findings": [row]})
        )

    (tmp_path / "findings").mkdir()
    world, folder = {"source": "world", "size": 96}, {"source": "folder", "size": 96}
    judged(world, 0, "own-set", claims.AGREES)
    judged(folder, 0, "every-pair", claims.DIFFERS)
    judged(world, 1, "road-few", claims.DIFFERS)
    settings = SimpleNamespace(images=SimpleNamespace(**world), seed=0, output="demo")
    found = project.Run("01_any", settings, tmp_path).judged()
    assert [*found["id"]] == ["contexts/own-set"] and [*found["verdict"]] == [
        claims.AGREES
    ]
    assert project.Run("01_any", settings, tmp_path / "new").judged().empty


def test_findings_come_back_from_a_notebook_as_they_were_judged(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(
        project, "display", lambda _, raw, metadata: kept.append(metadata)
    )
    some = [Estimate("contexts/every-pair", (2, 2, 2), note="measured")]
    project.Run("03_any", SimpleNamespace(seed=0), tmp_path).findings(some)
    output = nbformat.v4.new_output(
        "display_data", {"text/plain": "claims"}, metadata=kept[0]
    )
    cell = nbformat.v4.new_code_cell("run.findings(some)", outputs=[output])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "03_any.ipynb")
    back = notebooks.findings([tmp_path / "03_any.ipynb"])
    judged = claims.judge("03_any", some)
    alike = {"check_dtype": False}  # texts of a notebook and of a run
    pd.testing.assert_frame_equal(back.drop(columns="notebook"), judged, **alike)
    record = json.loads(
        (tmp_path / "findings" / "03_any.json").read_text(), parse_constant=int
    )
    assert record["findings"] == kept[0]["findings"] and record["settings"] == {
        "seed": 0
    }
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
    for name in ("class", "class/../elsewhere", "class/a/b", "class/my seat"):
        with pytest.raises(
            SystemExit, match=r"NAME is one plain name|cannot be the folder"
        ):
            notebooks.main("copy", str(tmp_path / name))


def test_every_lesson_has_its_seconds_by_which_a_run_is_ordered():
    seconds = yaml.safe_load((store.root() / "data/seconds.yml").read_text())
    names = [path.stem for path in notebooks.lessons()]
    assert sorted(seconds) == names, (
        "a lesson's seconds, from run.json, stand in data/seconds.yml"
    )
    assert min(seconds.values()) > 0
