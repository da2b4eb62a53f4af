"""A run from outside: the shell, the file system, failed notebooks and Ctrl-C."""

import os
import re
import shutil
import signal
import subprocess
import sys

import nbformat
import pytest

from helpers import store

ROOT = store.root()
MAKE = ["make", "-o", ".venv/ready", "run", "CORES=1"]
PYTHON3 = {"name": "python3", "display_name": "Python 3", "language": "python"}
PARAMETERS = 'output: str = "single-runs/10_a"'
JUDGES = """
from types import SimpleNamespace
from helpers import lesson
given = {"seed": 0, "output": output}
run = lesson.start("10_a", SimpleNamespace(given=given, **given))
run.findings([])"""
FAILS = """from pathlib import Path
assert not Path("wrong").exists(), "the share is of all rows\""""


def write_notebook(path, *cells):
    """Write a notebook whose first cell declares the parameters."""
    cells = [nbformat.v4.new_code_cell(text) for text in cells]
    cells[0].metadata.tags = ["parameters"]
    title = nbformat.v4.new_markdown_cell("# A lesson\n\n> Why?")
    notebook = nbformat.v4.new_notebook(
        cells=[title, *cells], metadata={"kernelspec": PYTHON3}
    )
    nbformat.write(notebook, path)


@pytest.fixture
def clone(tmp_path):
    """Copy the project to a folder with a difficult name, with two small lessons."""
    folder = tmp_path / 'it\'s here ü $x "q" {b}'
    (folder / "notebooks").mkdir(parents=True)
    for name in ("Snakefile", "Makefile", "GUIDE.md", "TEACHING.md"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("helpers", "synthetic", "sweeps", "guide"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "data").symlink_to(ROOT / "data")
    (folder / "site").symlink_to(ROOT / "site")
    shutil.copy(ROOT / "notebooks" / "00_start_here.ipynb", folder / "notebooks")
    (folder / ".venv").symlink_to(sys.prefix)
    write_notebook(folder / "notebooks" / "10_a.ipynb", PARAMETERS, JUDGES, FAILS)
    write_notebook(folder / "notebooks" / "02_b.ipynb", PARAMETERS)
    return folder


def begin(folder, command, **options):
    """Start a command in a folder, with its outputs on one stream."""
    other = {"SUITE_OUTPUTS", "MAKEFLAGS", "MAKELEVEL", "PYTHONPATH"}
    environment = {k: v for k, v in os.environ.items() if k not in other}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **options,
    )


def finish(folder, command):
    """Run a command to its end; return its status and what it printed."""
    process = begin(folder, command)
    printed = process.communicate()[0]
    return process.returncode, printed


@pytest.mark.slow
def test_a_failed_lesson_keeps_its_findings_and_the_next_run_goes_on(clone):
    (clone / "wrong").touch()
    status, printed = finish(clone, MAKE)
    demo = clone / "outputs" / "demo"
    assert status, printed
    assert "10_a: FAILED" in printed
    assert "its findings had been judged and are kept" in printed
    assert "CalledProcessError" not in printed
    assert (demo / "findings" / "10_a.json").exists()
    assert not (demo / "notebooks" / "10_a.ipynb").exists()
    start = demo / "pages" / "00_start_here.html"
    assert "lessons of the run failed" in start.read_text()
    assert "the share is of all rows" in (demo / "pages" / "10_a.html").read_text()

    (clone / "wrong").unlink()
    status, printed = finish(clone, MAKE)
    assert status == 0, printed
    assert "10_a: done in" in printed
    assert "02_b: started" not in printed, "what is done is kept"

    status, printed = finish(clone, MAKE)
    assert status == 0, printed
    assert "Nothing to be done" in printed
    assert "lessons of the run failed" not in start.read_text()


@pytest.mark.slow
def test_a_wrong_parameter_is_refused_before_anything_runs(clone):
    (clone / "my.yml").write_text("parameters: {sed: 3}\n")
    status, printed = finish(clone, [*MAKE, "CONFIG=my.yml"])
    assert status
    assert "There is no parameter 'sed'" in printed
    assert "Traceback" not in printed
    assert not (clone / "outputs" / "demo").exists()


@pytest.mark.slow
def test_ctrl_c_ends_a_run_without_an_alarm(clone):
    sleeps = "import time; time.sleep(60)"
    write_notebook(clone / "notebooks" / "10_a.ipynb", PARAMETERS, sleeps)
    process = begin(clone, MAKE, start_new_session=True)
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "10_a: started" in line:
            os.killpg(process.pid, signal.SIGINT)
    process.wait()
    printed = "".join(lines)
    assert "Run the same command again" in printed, printed
    assert "CalledProcessError" not in printed


@pytest.mark.parametrize("goal", ["run", "sweep", "test", "lab"])
def test_make_quotes_the_folder_that_it_is_in(clone, goal):
    _, lines = finish(clone, ["make", "-o", ".venv/ready", "-n", goal])
    assert finish(clone, ["bash", "-n", "-c", lines]) == (0, "")
    scripts = r"(?<![-\w./])(?:snakemake|pytest|papermill|jupyter|ruff) "
    for name in re.findall(scripts, lines):
        assert f"-m {name}" in lines, "the scripts of .venv name their folder"
