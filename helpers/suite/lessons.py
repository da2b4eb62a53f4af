"""What the stored notebooks say of themselves: opening tables, figures, verdicts, exhibits."""

import re
from pathlib import Path

import nbformat
import pandas as pd
from IPython.display import HTML, Markdown

from helpers import store
from helpers.suite import claims, project

NOTEBOOKS = store.root() / "notebooks"
NOT_STORED = "without a stored verdict yet"
COUNTED = {  # words for one and for several, in the order of the table of exhibits
    claims.AGREES: ("agrees", "agree"),
    claims.CONTRADICTS: ("contradicts", "contradict"),
    claims.UNDECIDED: ("undecided", "undecided"),
    claims.NO_COUNTERPART: ("has no counterpart here", "have no counterpart here"),
    NOT_STORED: (NOT_STORED, NOT_STORED),
}


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook; where it was cut short, the error says which file to delete."""
    with store.reading(path):
        return nbformat.read(path, as_version=4)


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """What all cells of a notebook put out."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def opening(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The title, the question and the rows of the table with which a notebook opens."""
    source = notebook.cells[0].source
    rows = dict(re.findall(r"^\| \**([\w ]+?)\** \| (.*?) \|$", source, re.MULTILINE))
    heads = {"title": r"^# (.*)$", "question": r"^> (.*)$"}
    found = {name: re.search(head, source, re.MULTILINE) for name, head in heads.items()}
    return {name: match[1] if match else "" for name, match in found.items()} | rows


def overview() -> HTML:
    """A row a lesson, with a link to it: its question, what it needs, and how long it takes."""
    rows = []
    for path in project.lessons():
        said = opening(read(path))
        link = f'<a href="{path.name}">{path.stem}</a>'
        needs = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", said["You need"])
        rows.append((link, said["question"], needs, said["Time"]))
    table = pd.DataFrame(rows, columns=["lesson", "question", "you need", "time"])
    with pd.option_context("display.max_colwidth", None):
        return HTML(table.to_html(index=False, escape=False, justify="left"))


def figure(notebook: str, name: str) -> HTML:
    """A figure as it is stored in a notebook, with its caption; KeyError where there is none.

    `notebook` is the file's name without ending, and `name` what the notebook gave to `run.show`.
    """
    for output in outputs(read(NOTEBOOKS / f"{notebook}.ipynb")):
        data = output.get("data", {})
        if data.get("text/plain", "").startswith(f"Figure {name}:"):
            return HTML(data["text/html"])
    raise KeyError(f"{notebook} holds no figure {name!r}")


def verdicts(notebook: str) -> pd.DataFrame:
    """The verdicts stored in a notebook, by `run.findings`: id, of, verdict; empty without any."""
    every = outputs(read(NOTEBOOKS / f"{notebook}.ipynb"))
    found = [one for output in every for one in output.get("metadata", {}).get("verdicts", [])]
    return pd.DataFrame(found, columns=["id", "of", "verdict"])


def exhibits(paper: str) -> pd.DataFrame:
    """A paper's figures and tables, each with its counterpart here and its claims' verdicts.

    The exhibits are those of ``data/paper/<paper>_counterparts.csv``; the verdicts are those of the
    stored notebooks, on the claims that name the exhibit in ``claims.csv``. The columns are texts:
    exhibit, it shows, here (a link in Markdown), same quantity, its claims (counted by verdict).
    """
    listed = pd.read_csv(claims.TABLE.with_name(f"{paper}_counterparts.csv"), keep_default_na=False)
    known = claims.read().query("by == @paper and exhibit != ''").reset_index()
    known = known.assign(exhibit=known["exhibit"].str.split("; ")).explode("exhibit")
    chapters = {*known["notebook"]}
    names = [p.stem for p in NOTEBOOKS.glob("*.ipynb") if p.stem.split("_")[0] in chapters]
    judged = known.merge(pd.concat(map(verdicts, names)), on="id", how="left")
    by_exhibit = judged.groupby("exhibit")["verdict"]
    link = "[" + listed["notebook"] + "](" + listed["notebook"] + ".ipynb): " + listed["name"]
    counted = by_exhibit.agg(_counted).reindex(listed["exhibit"], fill_value="an illustration")
    table = listed.rename(columns={"shows": "it shows", "same": "same quantity"})
    table = table.assign(here=link, **{"its claims": counted.to_numpy()})
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
