"""The notebooks as files: what they say of themselves, executing them in place, and copies.

python -m helpers.suite.notebooks execute NOTEBOOK ...       `make notebooks`
python -m helpers.suite.notebooks copy FOLDER [--solved]     `make exercises`, `make lab`
"""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import nbformat
import pandas as pd
from nbclient import NotebookClient

from helpers import store
from helpers.overview import NOTEBOOKS, lessons, read, replace_widgets
from helpers.suite import claims, project

KERNEL = {
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "name": "python3",
}
QUIET = {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
SOLUTION = re.compile(
    r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.DOTALL | re.MULTILINE
)
STUB = r"\1# YOUR CODE HERE\n\1raise NotImplementedError"
FOLD = "hide-input"  # the tag by which the pages fold a cell
PREDICT = (
    "predict"  # the tag of a question before a cell, whose output a class does not get
)


def findings(paths: Iterable[Path]) -> pd.DataFrame:
    """The claims that executed notebooks judged (`run.findings`): `notebook` and `COLUMNS`."""
    return claims.collected((path.stem, read(path)) for path in paths)


def execute(path: Path) -> None:
    """Execute a notebook and store it with its outputs; when a cell fails, it stays as it was."""
    notebook = read(path)
    options = {
        "record_timing": False,
        "store_widget_state": False,
        "coalesce_streams": True,
    }
    place = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, resources=place, timeout=1800, **options)
    client.execute(env={**os.environ, **QUIET})
    language = notebook.metadata.language_info  # as JupyterLab writes it
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": language}
    )
    replace_widgets(notebook)
    store.write_text(path, nbformat.writes(notebook) + "\n")


def copy(folder: Path, solved: bool) -> Path:
    """Copy the start page and the lessons to a folder; what is there already stays as it is. The
    copies write their results to one folder beside them."""
    place, all_runs = folder.resolve(), store.outputs()
    inside = place.is_relative_to(all_runs)
    if inside and "class" in folder.parts and place.parent != all_runs / "class":
        raise ValueError(f"{folder}: NAME is one plain name, such as seat07")
    results = f"{place.relative_to(all_runs)}/results" if inside else folder.name
    project.output_name(results)  # a ValueError where it is no name
    for path in [NOTEBOOKS / "00_start_here.ipynb", *lessons()]:
        if (folder / path.name).exists():
            continue
        notebook = read(path)
        for cell in notebook.cells:
            if "parameters" in cell.metadata.get("tags", []):
                own = f'output: str = "{project.own_output(path.stem)}"'
                cell.source = cell.source.replace(own, f'output: str = "{results}"')
        if not solved:
            unsolved(notebook)
        store.write_text(folder / path.name, nbformat.writes(notebook) + "\n")
    return folder


def unsolved(notebook: nbformat.NotebookNode) -> None:
    """Take the solutions out, fold their checks, and clear what is to be predicted."""
    predict = False
    for cell in notebook.cells:
        predict |= PREDICT in cell.metadata.get("tags", [])
        task = cell.metadata.get("nbgrader")
        if cell.cell_type == "code" and (predict or task):
            cell.outputs, cell.execution_count, predict = [], None, False
        if (
            task and task.solution
        ):  # what stands before it is the stub, and its cell is unfolded
            cell.source = SOLUTION.sub("", cell.source).strip() or SOLUTION.sub(
                STUB, cell.source
            )
            cell.metadata.tags = [tag for tag in cell.metadata.tags if tag != FOLD]
            cell.metadata.pop("jupyter", None)
        elif task:
            cell.metadata.jupyter = {"source_hidden": True}


def main(what: str, *names: str) -> None:
    """The commands at the top of this module."""
    if what == "copy":
        try:
            place = copy(Path(names[0]), solved="--solved" in names)
        except ValueError as error:
            raise SystemExit(f"refused: {error}") from None
        print(f"the copies are in {place}; what was there is unchanged")
    for name in names if what == "execute" else ():
        print(f"running {name}")
        execute(Path(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
