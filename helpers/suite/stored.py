"""Run the stored notebooks anew, in place and from a fresh kernel: what ``make notebooks`` does."""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from helpers import store

QUIET = {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
WIDGET = "application/vnd.jupyter.widget-view+json"
MENUS = "Here are menus or sliders: open this notebook in JupyterLab and run this cell to use them."


def execute(path: Path) -> None:
    """Execute a notebook and store it with its outputs; when a cell fails, it stays as it was."""
    notebook = nbformat.read(path, as_version=4)
    options = {"record_timing": False, "store_widget_state": False, "timeout": 1800}
    place = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, kernel_name="python3", resources=place, **options)
    client.execute(env={**os.environ, **QUIET})
    language = notebook.metadata.language_info  # as JupyterLab writes it
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": language})
    without_widgets(notebook)
    store.write_text(path, nbformat.writes(notebook) + "\n")


def without_widgets(notebook: nbformat.NotebookNode) -> None:
    """Put a sentence where widgets stood, which are dead without a kernel."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if WIDGET in output.get("data", {}):
                output.data = {"text/markdown": MENUS, "text/plain": MENUS}
    notebook.metadata.pop("widgets", None)


if __name__ == "__main__":  # python -m helpers.suite.stored NOTEBOOK...
    for name in sys.argv[1:]:
        print(f"running {name}")
        execute(Path(name))
