"""Copies of the notebooks: for a class without the solutions of their exercises, and for oneself.

The cells of an exercise carry nbgrader's metadata, so that nbgrader can collect and grade them.
"""

import re
import sys
from pathlib import Path

import nbformat

from helpers import store

SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.DOTALL | re.MULTILINE)
STUB = r"\1# YOUR CODE HERE\n\1raise NotImplementedError"
FOLD = "hide-input"  # the tag by which the pages fold a solution


def without_solutions(notebook: nbformat.NotebookNode) -> None:
    """Take the solutions out of a notebook and unfold their cells."""
    for cell in (cell for cell in notebook.cells if "nbgrader" in cell.metadata):
        cell.outputs, cell.execution_count = [], None
        if cell.metadata.nbgrader.solution:
            cell.source = SOLUTION.sub(STUB, cell.source)
            cell.metadata.tags = [tag for tag in cell.metadata.get("tags", []) if tag != FOLD]
            cell.metadata.pop("jupyter", None)


def copy(folder: Path, solved: bool) -> Path:
    """Copy the start page and the lessons to a folder; what is there already stays as it is.

    The copies write their results to a run that is called as the folder, not to the demo.
    """
    for path in (store.root() / "notebooks").glob("*_*.ipynb"):
        if path.stem == "00_template" or (folder / path.name).exists():
            continue
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if "parameters" in cell.metadata.get("tags", []):
                cell.source = cell.source.replace('= "demo"', f'= "{folder.name}"')
        if not solved:
            without_solutions(notebook)
        store.write_text(folder / path.name, nbformat.writes(notebook) + "\n")
    return folder


if __name__ == "__main__":  # python -m helpers.suite.exercises FOLDER [--solved]
    place = copy(Path(sys.argv[1]), solved="--solved" in sys.argv)
    print(f"the copies are in {place}; what was there is unchanged")
