"""Lessons as tests run them on other data, and copies of the project in which they may."""

import os
import shutil

from nbclient import NotebookClient
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from helpers import store


def executed(path, given, outputs, root=None):
    """The lesson as it ran with these parameters, its results below `outputs`."""
    lesson = parameterize_notebook(load_notebook_node(str(path)), given)
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
    for name in ("helpers", "sweeps", "notebooks", "data"):
        shutil.copytree(store.root() / name, folder / name, ignore=unwanted)
    for name in ("Snakefile", "Makefile", "TEACHING.md", "requirements.lock"):
        shutil.copy(store.root() / name, folder / name)
    return folder


def readdressed(file, url, served):
    """A module of the copy that asks the local server."""
    assert file.read_text().count(url) == 1
    file.write_text(file.read_text().replace(url, served.url))
