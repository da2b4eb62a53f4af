"""The frame: one list of versions, the same threads and seeds, an index page, the workflow."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import torch
import yaml

from helpers import artifacts, findings, pages, project

ROOT = project.root()


def locked():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return [line for line in lines if re.match(r"[A-Za-z]", line)]


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_locked_requirement_has_a_version_and_hashes():
    text = (ROOT / "requirements.lock").read_text()
    assert len(locked()) > 100
    assert all(re.match(r"[\w.-]+==[\w.+!-]+", line) for line in locked())
    assert len(re.split(r"^(?=[A-Za-z])", text, flags=re.M)) - 1 == len(locked())
    for block in re.split(r"^(?=[A-Za-z])", text, flags=re.M)[1:]:
        assert "--hash=sha256:" in block, block.splitlines()[0]


def test_the_lock_names_no_package_index():
    assert not re.search(
        r"https?://|index-url|find-links", (ROOT / "requirements.lock").read_text()
    )


def test_every_direct_dependency_is_locked():
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(about["dependencies"])
    for extra in about["optional-dependencies"].values():
        wanted += extra
    names = {plain(re.match(r"[\w.-]+", line)[0]) for line in locked()}
    assert {plain(re.match(r"[\w.-]+", w)[0]) for w in wanted} <= names


def test_conda_takes_its_versions_from_the_same_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(d["pip"] for d in environment["dependencies"] if isinstance(d, dict))
    assert "--requirement requirements.lock" in pip
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


def test_a_run_name_is_a_folder_name():
    with pytest.raises(ValueError, match=r"output: '\.\./x' is not a folder name"):
        project.start("01_a", SimpleNamespace(seed=0, output="../x", preset="demo"))


def executed(folder: Path, name: str, title: str, seconds: float):
    cell = nbformat.v4.new_markdown_cell(f"# {title}\n\n> Why?")
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"papermill": {"duration": seconds}})
    artifacts.write_text(folder / "notebooks" / f"{name}.ipynb", nbformat.writes(notebook))


def test_the_index_shows_title_picture_time_and_findings(tmp_path):
    executed(tmp_path, "01_a", "Title <A>", 12.3)
    executed(tmp_path, "02_b", "Title B", 300)
    artifacts.write_bytes(tmp_path / "figures" / "01_a" / "fig.png", b"png")
    run = project.Run("01_a", SimpleNamespace(seed=0), tmp_path)
    run.findings([findings.judge("Sky is strong", "w", (0.5, 0.25, 0.75), above=0, paper="0.35")])
    page = pages.write_index(tmp_path).read_text()
    assert "Title &lt;A&gt;" in page and "Why?" in page
    assert 'src="figures/01_a/fig.png"' in page
    assert "ran in 12 s" in page and "ran in 5.0 min" in page
    assert "Sky is strong" in page and "paper 0.35" in page
    assert len((tmp_path / "scorecard.csv").read_text().splitlines()) == 2


def test_an_index_of_nothing_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no executed notebook"):
        pages.write_index(tmp_path)


def snakemake(tmp_path, given):
    (tmp_path / "config.yml").write_text(yaml.safe_dump(given))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", "--nolock"]
    result = subprocess.run(
        [*command, "--configfile", str(tmp_path / "config.yml")],
        cwd=ROOT,
        env={**os.environ, "SUITE_OUTPUTS": str(tmp_path / "outputs")},
        capture_output=True,
        text=True,
    )
    return result.returncode, result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"parameters": {"sed": 3}}, "'sed' is not declared here; did you mean 'seed'?"),
        ({"preset": "huge"}, "parameter 'preset': 'huge' is not known; allowed: demo, paper"),
        ({"notebooks": ["99_none"]}, "99_none.ipynb"),
        ({"parameters": {"source": "folder"}}, "the parameter 'folder' must name one"),
        ({"source": "folder"}, "'source' is no key of the configuration"),
        ({"parameters": {"pretrained": "none.safetensors"}}, "none.safetensors"),
    ],
)
def test_the_workflow_refuses_before_anything_runs(tmp_path, given, said):
    code, output = snakemake(tmp_path, given)
    assert code != 0
    assert said in output


@pytest.mark.slow
def test_the_workflow_plans_every_notebook(tmp_path):
    code, output = snakemake(tmp_path, {"parameters": {"seed": 3}})
    assert code == 0, output
    for path in (ROOT / "notebooks").glob("0[1-9]_*.ipynb"):
        assert f"notebooks/{path.name}" in output


@pytest.mark.slow
def test_a_parameter_of_another_notebook_may_stay(tmp_path):
    given = {"notebooks": ["02_cross_evaluation"], "parameters": {"family": "probe"}}
    code, output = snakemake(tmp_path, given)
    assert code == 0 and "notebooks/03" not in output, output


@pytest.mark.slow
def test_a_folder_without_contexts_leaves_out_what_needs_them(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        (tmp_path / "photos" / name / "1.jpg").write_bytes(b"")
    photos = {"source": "folder", "folder": str(tmp_path / "photos")}
    code, output = snakemake(tmp_path, {"parameters": photos})
    assert code == 0, output
    assert "holds no context images, so these notebooks are left out: 03_" in output
    assert "notebooks/01_datasets.ipynb" in output
    assert "notebooks/03_contextualized_mosaics.ipynb" not in output
    assert "08_icon2 is not about photographs, so it is left out" in output
    assert "notebooks/08_icon2.ipynb" not in output
