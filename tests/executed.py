"""Lessons as tests run them on other data, and copies of the project in which they may."""

import os
import shutil
import subprocess
import sys

from nbclient import NotebookClient
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from helpers import store


def executed(path, values, outputs, root=None):
    """The lesson as it ran with these parameters, its results below `outputs`."""
    lesson = parameterize_notebook(load_notebook_node(str(path)), values)
    own = {"PYTHONPATH": str(root or store.root()), "SUITE_OUTPUTS": str(outputs)}
    client = NotebookClient(lesson, kernel_name="python3", timeout=None)
    return client.execute(env=os.environ | own, cwd=str(path.parent))


def printed(lesson):
    """What it printed."""
    outputs = [one for cell in lesson.cells for one in cell.get("outputs", [])]
    return "".join(one.get("text", "") for one in outputs)


def copied(folder):
    """A copy of the project, in which a test may change what it reads."""
    unwanted = shutil.ignore_patterns("__pycache__", "downloads", ".ipynb_checkpoints")
    for name in (
        "helpers",
        "synthetic",
        "site",
        "sweeps",
        "notebooks",
        "data",
        "guide",
    ):
        shutil.copytree(store.root() / name, folder / name, ignore=unwanted)
    for name in (
        "Snakefile",
        "Makefile",
        "GUIDE.md",
        "TEACHING.md",
        "requirements.lock",
    ):
        shutil.copy(store.root() / name, folder / name)
    return folder


def readdressed(file, url, served):
    """A module of the copy that asks the local server."""
    assert file.read_text().count(url) == 1
    file.write_text(file.read_text().replace(url, served.url))


IN_TURN = """
import sys
from snakemake.cli import main
for words in sys.argv[2:]:
    print("ASKED", file=sys.stderr, flush=True)
    try:
        main(["-s", sys.argv[1], "--nolock", "--cores", "1", *words.split()])
    except SystemExit as error:
        print("ENDED WITH", error.code, file=sys.stderr)
"""


def snakemake(workflow, *calls, folder, outputs):
    """What it says to each of these words, and how it ended; one process asks in turn, for what it
    loads takes the longest."""
    own = {"SUITE_OUTPUTS": str(outputs), "PYTHONPATH": str(store.root())}
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, str(store.root() / workflow), *calls],
        cwd=folder,
        env=os.environ | own,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.stdout.split("ASKED\n")[1:]
