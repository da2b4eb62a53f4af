"""The shell, the file system and the kernels around a run: B4, B5, Ctrl-C, and failed notebooks."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import nbformat
import pytest

import forked
from helpers import store

ROOT = store.root()
MAKE = ["make", "-o", ".venv/ready", "run", "CORES=1"]
BEGINS = 'output: str = "demo"'
JUDGES = """import json, pathlib
row = {"id": "sky", "of": "", "claim": "Sky is strong", "where": "this suite", "paper": ""}
row |= {"measured": 0.5, "low": 0.2, "high": 0.8, "unit": "", "side": "above", "bound": 0}
row |= {"p": None, "verdict": "holds", "note": ""}
folder = pathlib.Path("outputs", output, "findings")
folder.mkdir(parents=True, exist_ok=True)
record = {"notebook": "10_a", "findings": [row]}
(folder / "10_a.json").write_text(json.dumps(record))
display("claims", metadata={"findings": record["findings"]})"""
FAILS = "assert not pathlib.Path('wrong').exists(), 'the share is of all rows'"


@pytest.fixture
def clone(tmp_path):
    """A clone where no name is plain, with a small notebook, which judges and then may fail, and
    another that does nothing. Its number is 10: two digits are seen by what runs lessons, too."""
    folder = tmp_path / 'it\'s here ü $x "q" {b}'
    shutil.copytree(ROOT / "sweeps", folder / "sweeps")
    for name in ("Snakefile", "Makefile", "TEACHING.md", "forked.py"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "helpers", folder / "helpers")
    (folder / "data").symlink_to(ROOT / "data")
    (folder / "site").symlink_to(ROOT / "site")
    cells = [nbformat.v4.new_code_cell(text) for text in (BEGINS, JUDGES, FAILS)]
    cells[0].metadata.tags = ["parameters"]
    about = {
        "kernelspec": {"name": "python3", "display_name": "", "language": "python"}
    }
    lesson = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell("# A lesson\n\n> Why?"), *cells],
        metadata=about,
    )
    (folder / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "00_start_here.ipynb", folder / "notebooks")
    nbformat.write(lesson, folder / "notebooks" / "10_a.ipynb")
    del lesson.cells[2:]
    nbformat.write(lesson, folder / "notebooks" / "02_b.ipynb")
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def run(folder, command, **more):
    other = {"SUITE_OUTPUTS", "MAKEFLAGS", "MAKELEVEL", "PYTHONPATH"}
    environment = {
        name: value for name, value in os.environ.items() if name not in other
    }
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more,
    )  # fmt: skip


@pytest.mark.slow
def test_a_failed_notebook_keeps_what_it_judged_and_runs_again(clone):
    """In a clone whose path holds an apostrophe, blanks, $, quotes and braces (B1, B4)."""
    (clone / "wrong").touch()
    first = run(clone, MAKE)
    told, demo = first.communicate()[0], clone / "outputs" / "demo"
    assert first.returncode, told
    assert (
        "10_a: FAILED" in told and "its findings had been judged and are kept" in told
    )
    assert "CalledProcessError" not in told and "Removing output" not in told
    assert json.loads((demo / "findings" / "10_a.json").read_text())["findings"]
    assert not (demo / "notebooks" / "10_a.ipynb").exists()
    start = demo / "pages" / "00_start_here.html"
    assert "lessons of the run failed" in start.read_text()
    assert "Sky is strong" in (demo / "scorecard.csv").read_text()
    assert "the share is of all rows" in (demo / "pages" / "10_a.html").read_text()
    (clone / "wrong").unlink()
    again = run(clone, MAKE)
    told = again.communicate()[0]
    assert again.returncode == 0 and "10_a: done in" in told, told
    assert "02_b: started" not in told, "what was done is not run again"
    assert "lessons of the run failed" not in start.read_text()


@pytest.mark.slow
def test_ctrl_c_ends_without_an_alarm(clone):
    path = clone / "notebooks" / "10_a.ipynb"
    path.write_text(
        path.read_text().replace("import json", "import time; time.sleep(60)")
    )
    process = run(clone, MAKE, start_new_session=True)
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "10_a: started" in line:
            os.killpg(process.pid, signal.SIGINT)
    process.wait()
    told = "".join(lines)
    assert "the same command goes on from there" in told, told
    assert "CalledProcessError" not in told and "make run` first" not in told


BEGAN = """import json, os, pathlib, sys
began = {"torch": "torch" in sys.modules, "path": sys.path, "about": dict(os.environ)}
pathlib.Path("began.json").write_text(json.dumps(began))"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux")
def test_kernels_of_a_run_are_forks_that_begin_as_others_do(clone, monkeypatch):
    """And where the process to fork is not there, kernels start as elsewhere."""
    path = clone / "notebooks" / "10_a.ipynb"
    lesson = nbformat.read(path, as_version=4)
    lesson.cells[2:] = [nbformat.v4.new_code_cell(BEGAN)]
    nbformat.write(lesson, path)
    (clone / "notebooks" / "02_b.ipynb").unlink()
    monkeypatch.delenv("JUPYTER_PATH", raising=False)
    began = {}
    for place in ("", "nowhere"):
        monkeypatch.setenv(forked.PLACE, place)
        if not place:
            monkeypatch.delenv(forked.PLACE)
        told = run(clone, MAKE)
        assert "10_a: done in" in told.communicate()[0]
        began[place] = json.loads((clone / "began.json").read_text())
        shutil.rmtree(clone / "outputs")
        del began[place]["about"]["JPY_PARENT_PID"]
    assert began[""].pop("torch") and not began["nowhere"].pop("torch")
    assert began["nowhere"]["about"].pop(forked.PLACE) == "nowhere"
    assert began[""] == began["nowhere"]


def test_make_quotes_the_folder_that_it_stands_in(clone):
    for goal in ("run", "sweep", "test", "test-fast", "lab"):
        made = run(clone, ["make", "-o", ".venv/ready", "-n", goal, "TABLE=a b.csv"])
        lines = made.communicate()[0]
        checked = run(clone, ["bash", "-n", "-c", lines])
        assert not checked.communicate()[0] and checked.returncode == 0, goal
        shells = re.findall(
            r"(?<![-\w./])(?:snakemake|pytest|papermill|jupyter|ruff) ", lines
        )
        unnamed = [word for word in shells if f"-m {word}" not in lines]
        assert not unnamed, f"{goal}: scripts name their folder"


@pytest.mark.slow
def test_a_file_of_the_readers_does_not_stand_before_the_package(tmp_path):
    """B5, and the warning that a kernel is not encrypted: by the kernels' configuration."""
    begins = "from helpers import store; import mine; assert mine.X and store.root()"
    cell = nbformat.v4.new_code_cell(begins)
    about = {
        "kernelspec": {"name": "python3", "display_name": "", "language": "python"}
    }
    nbformat.write(
        nbformat.v4.new_notebook(cells=[cell], metadata=about), tmp_path / "a.ipynb"
    )
    for name in ("helpers.py", "mine.py"):
        (tmp_path / name).write_text("X = 1\n")
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    shutil.copy(ROOT / "helpers" / "suite" / "ipython_kernel_config.py", profile)
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "papermill", "--no-progress-bar", "a.ipynb", "b.ipynb"],
        cwd=tmp_path, env={**kept, "IPYTHONDIR": str(tmp_path / "ipython")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and "encryption" not in done.stderr, done.stderr
