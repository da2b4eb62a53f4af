"""Execute notebooks in place: ``python -m helpers.execute NOTEBOOK ...``."""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from helpers import store

QUIET = {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
WIDGET = "application/vnd.jupyter.widget-view+json"
INSTEAD_OF_WIDGET = (
    "Here are menus or sliders: open this notebook in JupyterLab and run this cell to "
    "use them."
)


def execute(path: Path) -> None:
    """Execute a notebook and store its outputs; it stays as it was if a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=None,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute(env={**os.environ, **QUIET})
    without_widgets(notebook)
    store.write_text(path, nbformat.writes(notebook) + "\n")


def without_widgets(notebook: nbformat.NotebookNode) -> None:
    """Put a sentence in the place of widgets, which do nothing without a kernel."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if WIDGET in output.get("data", {}):
                texts = ("text/markdown", "text/plain")
                output.data = dict.fromkeys(texts, INSTEAD_OF_WIDGET)
    notebook.metadata.pop("widgets", None)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"running {name}")
        execute(Path(name))
