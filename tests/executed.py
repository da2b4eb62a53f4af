"""Lessons on other data, one after the other in one kernel: what it loads, it loads once."""

import os
import shutil

import nbformat
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from helpers import store


class Kernel:
    """A kernel that forgets, before each lesson, the names of the one before."""

    def __init__(self, root=None):
        root = root or store.root()
        how = {"env": os.environ | {"PYTHONPATH": str(root)}, "cwd": str(root / "notebooks")}
        self.manager, client = start_new_kernel(kernel_name="python3", **how)
        client.stop_channels()

    def run(self, path, given, outputs, folder=None):
        """The lesson as it ran with these parameters, its results below `outputs`."""
        lesson = parameterize_notebook(load_notebook_node(str(path)), given)
        return self.execute(lesson, outputs, folder or path.parent)

    def execute(self, lesson, outputs, folder=None):
        begins = f"%reset -f\nimport os\nos.environ['SUITE_OUTPUTS'] = {str(outputs)!r}"
        begins += f"\nos.chdir({str(folder or store.root())!r})\ndel os"
        lesson.cells.insert(0, nbformat.v4.new_code_cell(begins))
        NotebookClient(lesson, km=self.manager, timeout=None).execute()
        del lesson.cells[0]
        return lesson

    def end(self):
        self.manager.shutdown_kernel(now=True)


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
