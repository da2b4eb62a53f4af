"""Execute notebooks in place: ``python -m helpers.execute NOTEBOOK ...``."""

import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from helpers import overview, store

QUIET = {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}


def execute(path: Path) -> None:
    """Execute a notebook in place; it stays unchanged if a cell fails."""
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
    overview.replace_widgets(notebook)
    attach_figures(notebook)
    store.write_text(path, nbformat.writes(notebook) + "\n")


def attach_figures(notebook: nbformat.NotebookNode) -> None:
    """Attach the figures to which the first cell refers, as the notebook shows them.

    ``![description](attachment:name.png)`` refers to the figure of ``run.show`` with
    that name.
    """
    opening = notebook.cells[0]
    names = re.findall(r"\(attachment:(.+?)\.png\)", opening.source)
    if names:
        opening.attachments = {
            f"{name}.png": {"image/png": overview.png(notebook, name)} for name in names
        }


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"running {name}")
        execute(Path(name))
