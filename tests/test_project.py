"""The frame: one list of versions, the same threads and seeds, the words of make, the workflow."""

import os
import re
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import yaml
from executed import snakemake
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from helpers import store
from helpers.suite import notebooks, parameters, preflight, project

ROOT = store.root()


def test_every_direct_dependency_is_locked_and_conda_takes_its_versions_from_the_same_lock():
    text = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"https?://|index-url|find-links", text)
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(about["dependencies"])
    for extra in about["optional-dependencies"].values():
        wanted += extra
    names = set(re.findall(r"^([a-z][\w.-]*)==", text, re.M))
    assert {canonicalize_name(Requirement(one).name) for one in wanted} <= names
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(d["pip"] for d in environment["dependencies"] if isinstance(d, dict))
    lock = re.findall(r"^([a-z0-9][^ ]*==.*\S) *\\$", text, re.M)
    assert pip == [*lock, "-e ."] and len(lock) > 200, "make environment.yml"
    others = [d for d in environment["dependencies"] if isinstance(d, str)]
    assert [re.split("[=<>]", d)[0] for d in others] == ["python", "pip", "make"]
    python = next(d for d in others if d.startswith("python="))
    assert python.split("=")[1] in {"3.11", "3.12", "3.13"}


def test_seeding_sets_one_thread_and_repeats():
    project.seed_everything(3)
    first = torch.rand(3)
    project.seed_everything(3)
    assert torch.equal(first, torch.rand(3))
    assert torch.get_num_threads() == 1


def make(folder, *arguments, **environment):
    command = [
        "make",
        "--no-print-directory",
        "-C",
        str(folder),
        "-f",
        str(ROOT / "Makefile"),
    ]
    result = subprocess.run(
        [*command, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    return result.stdout


def test_names_may_have_a_space_and_what_cannot_be_as_wanted_says_what_to_do(tmp_path):
    (tmp_path / ".venv").mkdir()
    for name in ("requirements.lock", "pyproject.toml", ".venv/ready"):
        (tmp_path / name).touch()
    assert "--configfile  'my photos.yml'" in make(
        tmp_path, "-n", "run", "CONFIG=my photos.yml"
    )
    (tmp_path / ".venv/lib/python3/site-packages/nvidia").mkdir(parents=True)
    (tmp_path / ".venv/ready").touch()
    assert "CUDA: rm -rf .venv, then make setup TORCH=cpu" in make(
        tmp_path, "setup", "TORCH=cpu"
    )
    assert "no file it's/n.tar: FROM names" in make(
        tmp_path, "networks", "FROM=it's/n.tar"
    )


def test_a_home_that_cannot_be_written_to_is_replaced(tmp_path):
    show = ["--eval", "show: ; @echo $$HOME", "show"]
    assert make(tmp_path, *show, HOME=str(tmp_path)) == f"{tmp_path}\n"
    other = make(tmp_path, *show, HOME=str(tmp_path / "none")).strip()
    assert other == str(tmp_path / "outputs" / "home") and Path(other).is_dir()


@pytest.mark.slow
def test_the_workflow_plans_every_notebook_and_refuses_before_anything_runs(tmp_path):
    for name in ("helpers", "data", "notebooks"):
        (tmp_path / name).symlink_to(ROOT / name)
    calls = []
    for name in ("seed", "sed"):
        config = store.write_text(
            tmp_path / f"{name}.yml", f"parameters: {{{name}: 3}}"
        )
        calls.append(f"--dry-run --configfile {config}")
    where = {"folder": tmp_path, "outputs": tmp_path / "outputs"}
    planned, refused = snakemake("Snakefile", *calls, **where)
    assert "ENDED WITH 0" in planned, planned
    for path in notebooks.lessons():
        assert f"notebooks/{path.name}" in planned
    assert "ENDED WITH 1" in refused and "refused before anything ran:" in refused
    assert "'sed' is not declared here; did you mean 'seed'?" in refused
    assert "Traceback" not in refused


PATHS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
WITH_PARAMETERS = [path for path in PATHS if path.stem != "00_start_here"]


@pytest.mark.parametrize("path", WITH_PARAMETERS, ids=lambda path: path.stem)
def test_a_notebook_that_is_run_by_itself_writes_to_its_own_folder(path):
    assert parameters.defaults(path)["output"] == f"single-runs/{path.stem}"


def test_make_run_gives_every_notebook_the_folder_of_the_run():
    name, planned = preflight.plan({}, ROOT / "notebooks")
    assert name == "demo" and {given["output"] for given in planned.values()} == {
        "demo"
    }


def run_of(lesson, output, folder):
    settings = SimpleNamespace(seed=0, output=output)
    return project.Run(lesson, settings, folder / output)


@pytest.mark.parametrize(
    ("output", "by_itself", "named"),
    [
        ("single-runs/03_any", True, False),
        ("demo", False, False),
        ("mine", False, True),
    ],
)
def test_a_run_knows_who_named_its_folder(output, by_itself, named, tmp_path):
    run = run_of("03_any", output, tmp_path)
    assert (run.by_itself, run.named) == (by_itself, named)


def test_the_last_line_says_where_the_results_are(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    run_of("03_any", "single-runs/03_any", tmp_path).findings([])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "The results are in single-runs/03_any, below outputs/."


def test_a_notebook_by_itself_shows_the_verdicts_that_others_are_stored_with(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    lesson = "06_focus_rating"
    run = run_of(lesson, project.own_output(lesson), tmp_path)
    judged = run.judged()
    assert "verdicts of other lessons are those stored" in capsys.readouterr().out
    assert "focus/remedy" in set(judged["id"]), "a claim of lesson 07"


def test_a_notebook_of_a_run_shows_the_verdicts_of_that_run_only(tmp_path, capsys):
    assert run_of("06_focus_rating", "demo", tmp_path).judged().empty
    assert capsys.readouterr().out == ""


def test_a_home_that_can_be_written_to_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.writable_home() == tmp_path and os.environ["HOME"] == str(tmp_path)


def test_an_audit_without_a_writable_home_gets_one_in_outputs(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    home = store.writable_home()
    assert home == tmp_path / "outputs" / "home" and home.is_dir()
    assert os.environ["HOME"] == str(home)
