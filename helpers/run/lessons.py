"""What the notebooks say of themselves: their opening tables, and the figures stored in them."""

import re

import nbformat
import pandas as pd
from IPython.display import HTML

from helpers.run import artifacts, project

NOTEBOOKS = project.root() / "notebooks"


def opening(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The title, the question and the rows of the table with which a notebook opens."""
    source = notebook.cells[0].source
    rows = dict(re.findall(r"^\| \**([\w ]+?)\** \| (.*?) \|$", source, re.MULTILINE))
    heads = {"title": r"^# (.*)$", "question": r"^> (.*)$"}
    found = {name: re.search(head, source, re.MULTILINE) for name, head in heads.items()}
    return {name: match[1] if match else "" for name, match in found.items()} | rows


def overview() -> HTML:
    """A row a lesson, with a link to it: its question, what it needs, and how long it runs."""
    rows = []
    for path in sorted(NOTEBOOKS.glob("0[1-9]*_*.ipynb")):
        said = opening(nbformat.read(path, as_version=4))
        link = f'<a href="{path.name}">{path.stem}</a>'
        rows.append((link, said["question"], said["You need"], said["Time"]))
    table = pd.DataFrame(rows, columns=["lesson", "question", "you need", "it runs"])
    plain = table.replace(r"\[([^]]*)\]\([^)]*\)", r"\1", regex=True)
    with pd.option_context("display.max_colwidth", None):
        return HTML(plain.to_html(index=False, escape=False, justify="left"))


def figure(notebook: str, name: str) -> HTML:
    """A figure as it is stored in a notebook, with its caption.

    Parameters
    ----------
    notebook : str
        The notebook's name without ending, such as ``03_contextualized_mosaics``.
    name : str
        The figure's, as the notebook gave it to `run.show`.

    Raises
    ------
    KeyError
        When the notebook holds no such figure.
    """
    with artifacts.reading(NOTEBOOKS / f"{notebook}.ipynb") as path:
        cells = nbformat.read(path, as_version=4).cells
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        data = output.get("data", {})
        if data.get("text/plain", "").startswith(f"Figure {name}:"):
            return HTML(data["text/html"])
    raise KeyError(f"{notebook} holds no figure {name!r}")
