"""Sweeps over the parameters of a lesson: one papermill run per combination."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml

from helpers import store
from sweeps import grid, resume, seeds

SUBMIT = "--cluster-generic-submit-cmd bash"  # runs the job at once
LESSON = """
import json, pathlib
from helpers import store
folder = store.outputs() / output
(folder / "tables/10_small").mkdir(parents=True)
(folder / "tables/10_small/areas.csv").write_text(f"side,area\\n{side},{side * scale}\\n")
(folder / "findings").mkdir()
findings = [{"id": "large", "verdict": "supported" if side > 1 else "not supported"}]
(folder / "findings/10_small.json").write_text(json.dumps({"findings": findings}))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with one small lesson, which writes a table and a finding."""
    parameters = nbformat.v4.new_code_cell(
        'side: int = 1\nscale: float = 1.0\noutput: str = "alone"'
    )
    parameters.metadata["tags"] = ["parameters"]
    cells = [parameters, nbformat.v4.new_code_cell(LESSON)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    kernel = {"name": "python3", "display_name": "Python", "language": "python"}
    notebook.metadata["kernelspec"] = kernel
    (tmp_path / "notebooks").mkdir()
    nbformat.write(notebook, tmp_path / "notebooks/10_small.ipynb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setenv("PYTHONPATH", str(store.root()))
    return tmp_path


def sweep(project: Path, *options: str, **config) -> str:
    """Run the workflow in the project, and return what it prints."""
    path = store.write_text(project / "my.yml", yaml.safe_dump(config))
    command = [sys.executable, "-m", "snakemake"]
    command += ["--snakefile", str(store.root() / "sweeps/Snakefile")]
    command += ["--configfile", str(path), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return output


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ["--cores", "2"],
        f"--jobs 2 --executor cluster-generic {SUBMIT}".split(),
    ],
    ids=["local", "cluster"],
)
def test_runs_with_several_parameters_become_one_table(project, options):
    parameters = {"side": [1, 2], "scale": 3.0}
    sweep(project, *options, lesson="10_small", parameters=parameters)
    table = pd.read_csv(project / "outputs/sweep/10_small/areas.csv")
    assert list(table) == ["scale", "parameter side", "side", "area"]
    assert sorted(table["area"]) == [3.0, 6.0]
    findings = pd.read_csv(project / "outputs/sweep/10_small/findings.csv")
    assert (findings["side"] == 2).equals(findings["verdict"] == "supported")
    again = sweep(project, *options, lesson="10_small", parameters=parameters)
    assert "Nothing to be done" in again


def test_a_list_of_values_is_combined_with_each_other_list(project):
    parameters = {"side": [1, 2], "scale": [0.5, 3.0]}
    runs = grid.plan({"lesson": "10_small", "parameters": parameters})
    assert list(runs["10_small"].values()) == [
        {"side": side, "scale": scale} for side in (1, 2) for scale in (0.5, 3.0)
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"lesson": "10_small", "parameters": {"sides": 1}}, "parameter of 10_small"),
        ({"lesson": "10_big"}, "lesson '10_big'"),
        ({"lesson": "10_small", "seeds": [1]}, "key 'seeds'"),
        ({}, "lesson None"),
    ],
)
def test_an_unknown_name_is_refused(project, config, message):
    with pytest.raises(ValueError, match=f"no {message}"):
        grid.plan(config)


def test_verdicts_of_a_seed_are_replaced_and_counted(tmp_path, monkeypatch):
    recorded = (
        "lesson,id,of,seed,verdict\n03_a,sky,,0,supported\n03_a,road,,0,supported\n"
    )
    path = store.write_text(tmp_path / "seeds.csv", recorded)
    monkeypatch.setattr(seeds, "SEEDS", path)
    rows = [
        ("sky", "", 0, "inconclusive"),
        ("sky", "", 1, "supported"),
        ("road", "", 0, "supported"),
        ("road", "", 1, "not supported"),
        ("blocks/deo", "", 1, "supported"),  # of fixed data
    ]
    findings = pd.DataFrame(rows, columns=["id", "of", "seed", "verdict"])
    seeds.record(findings, "03_a")
    verdicts = seeds.read_verdicts().set_index(["id", "seed"])["verdict"]
    assert verdicts.to_dict() == {
        ("road", 0): "supported",
        ("road", 1): "not supported",
        ("sky", 0): "inconclusive",
        ("sky", 1): "supported",
    }
    counts = seeds.summarize(seeds.read_verdicts()).loc["all"]
    assert counts.to_dict() == {
        "verdicts": 2,
        "same in all": 0,
        "differ": 2,
        "turned over": 1,
    }


def test_claims_that_no_seed_changes_exist_and_are_not_recorded():
    known = pd.read_csv(store.root() / "data/paper/claims.csv")["id"]
    assert set(seeds.FIXED_CLAIMS) <= set(known)
    assert not seeds.read_verdicts()["id"].isin(seeds.FIXED_CLAIMS).any()


def test_a_sweep_that_was_stopped_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    measured = []

    def measure(seed: int, name: str) -> pd.DataFrame:
        if (seed, name) == (1, "b") and len(measured) < 3:
            measured.append("stopped")
            raise KeyboardInterrupt
        measured.append((seed, name))
        return pd.DataFrame({"seed": [seed], "name": name, "value": seed / 3})

    cases = [(0, "a"), (0, "b"), (1, "b")]
    path = tmp_path / "table.csv"
    with pytest.raises(KeyboardInterrupt):
        resume.collect(path, measure, cases)
    assert not path.exists()
    table = resume.collect(path, measure, cases, float_format="%.2g")
    assert measured == [(0, "a"), (0, "b"), "stopped", (1, "b")]
    assert path.read_text() == "seed,name,value\n0,a,0\n0,b,0\n1,b,0.33\n"
    assert table["value"].tolist() == [0, 0, 0.33]
