"""The frame: one list of versions, the same threads and seeds, the words of make, the workflow."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import torch
import yaml
from executed import snakemake
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from helpers import store
from helpers.suite import notebooks, project

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
    command = ["make", "--no-print-directory", "-C", str(folder), "-f", str(ROOT / "Makefile")]
    result = subprocess.run(
        [*command, *arguments], env={**os.environ, **environment}, capture_output=True, text=True
    )
    return result.stdout


def test_names_may_have_a_space_and_what_cannot_be_as_wanted_says_what_to_do(tmp_path):
    (tmp_path / ".venv").mkdir()
    for name in ("requirements.lock", "pyproject.toml", ".venv/ready"):
        (tmp_path / name).touch()
    assert "--configfile  'my photos.yml'" in make(tmp_path, "-n", "run", "CONFIG=my photos.yml")
    (tmp_path / ".venv/lib/python3/site-packages/nvidia").mkdir(parents=True)
    (tmp_path / ".venv/ready").touch()
    assert "CUDA: rm -rf .venv, then make setup TORCH=cpu" in make(tmp_path, "setup", "TORCH=cpu")
    assert "no file it's/n.tar: FROM names" in make(tmp_path, "networks", "FROM=it's/n.tar")


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
        config = store.write_text(tmp_path / f"{name}.yml", f"parameters: {{{name}: 3}}")
        calls.append(f"--dry-run --configfile {config}")
    where = {"folder": tmp_path, "outputs": tmp_path / "outputs"}
    planned, refused = snakemake("Snakefile", *calls, **where)
    assert "ENDED WITH 0" in planned, planned
    for path in notebooks.lessons():
        assert f"notebooks/{path.name}" in planned
    assert "ENDED WITH 1" in refused and "refused before anything ran:" in refused
    assert "'sed' is not declared here; did you mean 'seed'?" in refused
    assert "Traceback" not in refused
