"""The notebooks as files: what they say of themselves."""

import base64
import html
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import nbformat
import pandas as pd
import yaml
from IPython.display import HTML, Markdown

from helpers import claims, store

NOTEBOOKS = store.root() / "notebooks"
BOOK = Path(__file__).parent / "book"  # settings, templates, style and script
FOLD = "hide-input"  # the tag by which the pages fold a cell
NOT_RUN = "not run yet"


def lessons(folder: Path | None = None) -> list[Path]:
    """The notebooks of a folder (default: the project's) that are lessons, in their order."""
    paths = (folder or NOTEBOOKS).glob("[0-9][0-9]*_*.ipynb")
    return sorted(path for path in paths if not path.name.startswith("00"))


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook; where it was cut short, the error says which file to delete."""
    with store.reading(path):
        return nbformat.read(path, as_version=4)


def outputs(notebook: Mapping) -> list[nbformat.NotebookNode]:
    """What all cells of a notebook put out."""
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def opening(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The title, the question and the rows of the table with which a notebook opens."""
    text = notebook.cells[0].source
    rows = dict(re.findall(r"^\| \**([\w ]+?)\** \| (.*?) \|$", text, re.MULTILINE))
    heads = {"title": r"^# (.*)$", "question": r"^> (.*)$"}
    lines = {name: re.search(head, text, re.MULTILINE) for name, head in heads.items()}
    return {name: match[1] if match else "" for name, match in lines.items()} | rows


def overview() -> Markdown:
    """A row a lesson, with a link to it: its question, what it needs, and how long it takes."""
    rows = []
    for path in lessons():
        head, link = (
            opening(read(path)),
            f"[{path.stem.replace('_', ' ')}]({path.name})",
        )
        rows.append((link, head["question"], head["You need"], head["Time"]))
    return linked(
        pd.DataFrame(rows, columns=["lesson", "question", "you need", "time"])
    )


def figures(notebook: Mapping) -> dict[str, str]:
    """A notebook's figures with their captions, as HTML, by the names that `run.show` got."""
    named = {}
    for data in (output.get("data", {}) for output in outputs(notebook)):
        if name := re.match(r"Figure ([\w-]+):", data.get("text/plain", "")):
            named.setdefault(name[1], data["text/html"])
    return named


def pictures(notebook: Mapping) -> dict[str, tuple[bytes, str]]:
    """A notebook's figures, each as PNG and alternative text, by name."""
    image = re.compile(r'base64,([^"]+)" alt="([^"]*)"')
    matches = {name: image.search(text) for name, text in figures(notebook).items()}
    return {
        n: (base64.b64decode(f[1]), html.unescape(f[2]))
        for n, f in matches.items()
        if f
    }


def figure(notebook: str, name: str) -> HTML:
    """A figure as it is stored in a notebook, with its caption; both by their names."""
    return HTML(figures(read(NOTEBOOKS / f"{notebook}.ipynb"))[name])


def findings(paths: Iterable[Path]) -> pd.DataFrame:
    """The claims that executed notebooks judged (`run.findings`): `notebook` and `COLUMNS`."""
    return claims.collect((path.stem, read(path)) for path in paths)


def three(judged: pd.DataFrame | None = None) -> Markdown:
    """What README, 00 and the book begin with: three findings, with the numbers of what a run
    `judged` (:func:`findings`), or of the stored lessons."""
    say, lines = yaml.safe_load((BOOK / "front.yml").read_text())["three"], []
    if judged is None:
        judged = findings(NOTEBOOKS / f"{one['lesson']}.ipynb" for one in say)
    rows = claims.steady(judged.fillna({"subject": ""})).to_dict("records")
    known = {(row["id"], row["subject"]): row for row in rows}
    for one in say:
        claims_of = [*map(tuple, one["claims"])]
        if known.keys() >= {*claims_of}:
            shown = [known[claim] for claim in claims_of]
            text = one["text"].format(*(row["estimate"] for row in shown))
            link = f"([{one['lesson'].split('_')[0]}]({one['lesson']}.ipynb))"
            lines.append(f"- {text}{_undecided(shown)} {link}")
    return Markdown("\n".join(lines))


def _undecided(shown: Iterable[Mapping]) -> str:
    """Say which of the claims behind a finding are undecided, by the rows of their numbers."""
    texts = [
        f"“{row['claim']}” ({claims.format_estimate(row)})"
        for row in shown
        if row["verdict"] == claims.INCONCLUSIVE
    ]
    return f" Undecided by the 95% interval: {'; '.join(texts)}." if texts else ""


def exhibits(paper: str, judged: pd.DataFrame) -> pd.DataFrame:
    """A paper's figures and tables (``data/paper/<paper>_counterparts.csv``), each with a link to
    its counterpart here, and the verdicts of its claims among those `judged` (:func:`findings`)."""
    listed = pd.read_csv(
        claims.TABLE.with_name(f"{paper}_counterparts.csv"), keep_default_na=False
    )
    known = claims.read().query("by == @paper and exhibit != ''").reset_index()
    known = known.assign(exhibit=known["exhibit"].str.split("; ")).explode("exhibit")
    verdicts = known[["id", "exhibit"]].merge(
        judged[["id", "verdict"]], on="id", how="left"
    )
    counts = pd.crosstab(verdicts["exhibit"], verdicts["verdict"].fillna(NOT_RUN))
    counts = counts.reindex(columns=[*claims.VERDICTS, NOT_RUN], fill_value=0)
    text = "{}: {}".format
    counts = counts.apply(
        lambda row: "; ".join(text(*of) for of in row.items() if of[1]), axis=1
    )
    link = (
        "["
        + listed["notebook"]
        + "]("
        + listed["notebook"]
        + ".ipynb): "
        + listed["name"]
    )
    table = listed.rename(columns={"shows": "it shows", "same": "same quantity"})
    counts = counts.reindex(listed["exhibit"], fill_value="an illustration").to_numpy()
    table = table.assign(here=link, **{"its claims": counts})
    return table[["exhibit", "it shows", "here", "same quantity", "its claims"]]


def linked(table: pd.DataFrame) -> Markdown:
    """A table of texts as Markdown, in which links can be followed."""
    lines = [table.columns, [":--"] * table.shape[1], *table.to_numpy()]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
