"""The notebooks as files: the table of exhibits, and findings."""

import json
import re
from types import SimpleNamespace

import nbformat
import pandas as pd
import yaml

from helpers import store
from helpers.stats import Estimate
from helpers.suite import claims, notebooks, project

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


def test_every_lesson_has_its_seconds_by_which_a_run_is_ordered():
    seconds = yaml.safe_load((store.root() / "data/seconds.yml").read_text())
    names = [path.stem for path in notebooks.lessons()]
    assert sorted(seconds) == names, (
        "a lesson's seconds, from run.json, stand in data/seconds.yml"
    )
    assert min(seconds.values()) > 0
