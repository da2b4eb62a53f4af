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
from IPython.display import HTML, Markdown
from nbclient import NotebookClient

from helpers import store
from helpers.suite import claims

NOTEBOOKS = store.root() / "notebooks"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
QUIET = {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
WIDGET = "application/vnd.jupyter.widget-view+json"
MENUS = "Here are menus or sliders: open this notebook in JupyterLab and run this cell to use them."
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION$", re.DOTALL | re.MULTILINE)
STUB = r"\1# YOUR CODE HERE\n\1raise NotImplementedError"
FOLD = "hide-input"  # the tag by which the pages fold a cell
NOT_STORED = "without a stored verdict yet"
COUNTED = {  # words for one and for several, in the order of the table of exhibits
    claims.AGREES: ("agrees", "agree"),
    claims.CONTRADICTS: ("contradicts", "contradict"),
    claims.UNDECIDED: ("undecided", "undecided"),
    claims.NO_COUNTERPART: ("has no counterpart here", "have no counterpart here"),
    NOT_STORED: (NOT_STORED, NOT_STORED),
}


def lessons(folder: Path | None = None) -> list[Path]:
    """The notebooks of a folder (default: the project's) that are lessons, in their order."""
    paths = (folder or NOTEBOOKS).glob("[0-9][0-9]*_*.ipynb")
    return sorted(path for path in paths if not path.name.startswith("00"))


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook; where it was cut short, the error says which file to delete."""
    with store.reading(path):
        return nbformat.read(path, as_version=4)


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """What all cells of a notebook put out."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def opening(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The title, the question and the rows of the table with which a notebook opens."""
    text = notebook.cells[0].source
    rows = dict(re.findall(r"^\| \**([\w ]+?)\** \| (.*?) \|$", text, re.MULTILINE))
    heads = {"title": r"^# (.*)$", "question": r"^> (.*)$"}
    lines = {name: re.search(head, text, re.MULTILINE) for name, head in heads.items()}
    return {name: match[1] if match else "" for name, match in lines.items()} | rows


def overview() -> HTML:
    """A row a lesson, with a link to it: its question, what it needs, and how long it takes."""
    rows = []
    for path in lessons():
        head = opening(read(path))
        link = f'<a href="{path.name}">{path.stem}</a>'
        needs = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head["You need"])
        rows.append((link, head["question"], needs, head["Time"]))
    table = pd.DataFrame(rows, columns=["lesson", "question", "you need", "time"])
    with pd.option_context("display.max_colwidth", None):
        return HTML(table.to_html(index=False, escape=False, justify="left"))


def figure(notebook: str, name: str) -> HTML:
    """A figure as it is stored in a notebook, with its caption; KeyError where there is none.
    `notebook` is the file's name without ending, `name` what the notebook gave to `run.show`."""
    for output in outputs(read(NOTEBOOKS / f"{notebook}.ipynb")):
        data = output.get("data", {})
        if data.get("text/plain", "").startswith(f"Figure {name}:"):
            return HTML(data["text/html"])
    raise KeyError(f"{notebook} holds no figure {name!r}")


def findings(paths: Iterable[Path]) -> pd.DataFrame:
    """The claims that executed notebooks judged (`run.findings`): `notebook` and `COLUMNS`."""
    rows = [
        {"notebook": path.stem} | one
        for path in paths
        for output in outputs(read(path))
        for one in output.get("metadata", {}).get("findings", [])
    ]
    table = pd.DataFrame(rows, columns=["notebook", *claims.COLUMNS])
    return table.astype(dict.fromkeys(claims.NUMBERS, float))


def exhibits(paper: str) -> pd.DataFrame:
    """A paper's figures and tables, each with its counterpart here and its claims' verdicts.

    The exhibits are those of ``data/paper/<paper>_counterparts.csv``, the verdicts those of the
    stored notebooks, on the claims of ``claims.csv`` that name the exhibit. The columns are texts:
    exhibit, it shows, here (a link in Markdown), same quantity, its claims (counted by verdict)."""
    listed = pd.read_csv(claims.TABLE.with_name(f"{paper}_counterparts.csv"), keep_default_na=False)
    known = claims.read().query("by == @paper and exhibit != ''").reset_index()
    known = known.assign(exhibit=known["exhibit"].str.split("; ")).explode("exhibit")
    chapters = {*known["notebook"]}
    stored = findings(p for p in NOTEBOOKS.glob("*.ipynb") if p.stem.split("_")[0] in chapters)
    judged = known[["id", "exhibit"]].merge(stored[["id", "verdict"]], on="id", how="left")
    counted = judged.groupby("exhibit")["verdict"].agg(_counted)
    link = "[" + listed["notebook"] + "](" + listed["notebook"] + ".ipynb): " + listed["name"]
    table = listed.rename(columns={"shows": "it shows", "same": "same quantity"})
    counted = counted.reindex(listed["exhibit"], fill_value="an illustration").to_numpy()
    table = table.assign(here=link, **{"its claims": counted})
    return table[["exhibit", "it shows", "here", "same quantity", "its claims"]]


def _counted(verdicts: pd.Series) -> str:
    """The verdicts of an exhibit's claims in a few words, NaN where none is stored."""
    counts = verdicts.fillna(NOT_STORED).value_counts()
    return ", ".join(
        f"{counts[verdict]} {words[int(counts[verdict] > 1)]}"
        for verdict, words in COUNTED.items()
        if verdict in counts
    )


def linked(table: pd.DataFrame) -> Markdown:
    """A table of texts as Markdown, in which links can be followed."""
    lines = [table.columns, ["---"] * table.shape[1], *table.to_numpy()]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def execute(path: Path) -> None:
    """Execute a notebook and store it with its outputs; when a cell fails, it stays as it was."""
    notebook = read(path)
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
    for output in outputs(notebook):
        if WIDGET in output.get("data", {}):
            output.data = {"text/markdown": MENUS, "text/plain": MENUS}
    notebook.metadata.pop("widgets", None)


def copy(folder: Path, solved: bool) -> Path:
    """Copy the start page and the lessons to a folder; what is there already stays as it is. The
    copies write their results to a run that is called as the folder, not to the demo. Without the
    solutions, exercises carry nbgrader's metadata, so that nbgrader can collect and grade them."""
    for path in [NOTEBOOKS / "00_start_here.ipynb", *lessons()]:
        if (folder / path.name).exists():
            continue
        notebook = read(path)
        for cell in notebook.cells:
            if "parameters" in cell.metadata.get("tags", []):
                cell.source = cell.source.replace('= "demo"', f'= "{folder.name}"')
            if "nbgrader" in cell.metadata and not solved:
                _without_solution(cell)
        store.write_text(folder / path.name, nbformat.writes(notebook) + "\n")
    return folder


def _without_solution(cell: nbformat.NotebookNode) -> None:
    """Take the solution out of an exercise's cell, and unfold it."""
    cell.outputs, cell.execution_count = [], None
    if cell.metadata.nbgrader.solution:
        cell.source = SOLUTION.sub(STUB, cell.source)
        cell.metadata.tags = [tag for tag in cell.metadata.get("tags", []) if tag != FOLD]
        cell.metadata.pop("jupyter", None)


def main(what: str, *names: str) -> None:
    """The commands at the top of this module."""
    if what == "copy":
        place = copy(Path(names[0]), solved="--solved" in names)
        print(f"the copies are in {place}; what was there is unchanged")
    for name in names if what == "execute" else ():
        print(f"running {name}")
        execute(Path(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
