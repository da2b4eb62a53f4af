"""The class's copies: the notebooks without the solutions of their exercises.

An exercise is a cell with the task, a cell with its solution between two comments, and a cell that
checks what the student computed. The two code cells carry nbgrader's metadata, so that a teacher
can also collect and grade the same notebooks with nbgrader.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import nbformat

from helpers.run import artifacts, project

SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.DOTALL | re.MULTILINE)
STUB = r"\1# YOUR CODE HERE\n\1raise NotImplementedError"
FOLD = "hide-input"  # the tag by which the pages fold a cell


def without_solutions(notebook: nbformat.NotebookNode) -> int:
    """Take the solutions out of a notebook and unfold their cells; the number of exercises."""
    cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    for cell in cells:
        cell.outputs, cell.execution_count = [], None
        if cell.metadata.nbgrader.solution:
            cell.source = SOLUTION.sub(STUB, cell.source)
            cell.metadata.tags = [tag for tag in cell.metadata.get("tags", []) if tag != FOLD]
            cell.metadata.pop("jupyter", None)
    return sum(cell.metadata.nbgrader.solution for cell in cells)


def write(folder: Path) -> Path:
    """Write the class's copy of every notebook that has exercises; gives their folder."""
    for path in sorted((project.root() / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if without_solutions(notebook):
            artifacts.write_text(folder / path.name, nbformat.writes(notebook) + "\n")
    return folder


def main() -> None:
    """``python -m helpers.run.exercises [FOLDER]``: write the class's copies."""
    parser = argparse.ArgumentParser(description="Write the notebooks without their solutions.")
    parser.add_argument("folder", type=Path, nargs="?", default=project.outputs() / "exercises")
    print(f"the class's copies are in {write(parser.parse_args().folder)}")


if __name__ == "__main__":
    main()
