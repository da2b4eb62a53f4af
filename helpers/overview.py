"""Show titles, figures, findings and exhibits of other lessons.

Everything is read from notebooks that were executed before.
"""

import base64
import io
import re
from collections.abc import Iterable
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import yaml
from IPython.display import HTML, Markdown
from PIL import Image

from helpers import claims, store, workflow

NOTEBOOKS = store.root() / "notebooks"
PAPER = store.root() / "data" / "paper"
THREE_FINDINGS = store.root() / "data" / "three_findings.yml"
WIDGET = "application/vnd.jupyter.widget-view+json"
WIDGET_SENTENCE = (
    "Here are menus or sliders: open this notebook in JupyterLab and run this cell "
    "to use them."
)


def lessons(folder: Path = NOTEBOOKS) -> list[Path]:
    """Return the paths of the lessons of a folder in their order."""
    return [folder / f"{name}.ipynb" for name in workflow.lessons(folder)]


def read(path: Path) -> nbformat.NotebookNode:
    """Read a notebook, or name the file in the error."""
    with store.reading(path):
        return nbformat.read(path, as_version=4)


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the outputs of all cells of a notebook."""
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def opening(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Return the title, the question and the table with which a notebook opens."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    text = next((text for text in texts if text.startswith("# ")), "")
    table_row = r"^\| \**([\w ]+?)\** \| (.*?) \|$"
    entries = dict(re.findall(table_row, text, re.MULTILINE))
    for name, prefix in {"title": "#", "question": ">"}.items():
        line = re.search(rf"^{prefix} (.*)$", text, re.MULTILINE)
        entries[name] = line[1] if line else ""
    return entries


def linked(table: pd.DataFrame) -> Markdown:
    """Show a table of texts as Markdown, in which links can be followed."""
    rows = [table.columns, [":--"] * len(table.columns), *table.astype(str).to_numpy()]
    return Markdown("\n".join(f"| {' | '.join(row)} |" for row in rows))


def link_to(notebook: str) -> str:
    """Link to a notebook; the text has spaces, so that it wraps in a table."""
    return f"[{notebook.replace('_', ' ')}]({notebook}.ipynb)"


def table_of_lessons() -> Markdown:
    """Show one row per lesson, with its link, question, requirements and duration."""
    rows = []
    for path in lessons():
        entries = opening(read(path))
        columns = [entries["question"], entries["You need"], entries["Time"]]
        rows.append([link_to(path.stem), *columns])
    return linked(
        pd.DataFrame(rows, columns=["lesson", "question", "you need", "time"])
    )


def figure(notebook: str, name: str) -> HTML:
    """Show a figure with its caption as another notebook stores it.

    Parameters
    ----------
    notebook
        Name of the notebook's file, without its ending.
    name
        Name under which the notebook shows the figure.

    Raises
    ------
    KeyError
        The notebook stores no figure of that name.
    """
    return HTML(figure_html(read(NOTEBOOKS / f"{notebook}.ipynb"), name))


def figure_html(notebook: nbformat.NotebookNode, name: str) -> str:
    """Return the HTML of a figure that a notebook stores."""
    for output in outputs(notebook):
        data = output.get("data", {})
        if data.get("text/plain", "").startswith(f"Figure {name}:"):
            return data["text/html"]
    raise KeyError(
        f"The notebook stores no figure {name!r}. Execute the notebook again."
    )


def png(notebook: nbformat.NotebookNode, name: str) -> str:
    """Return a figure that a notebook stores as a PNG file in base64."""
    return re.search(r"data:image/png;base64,([^\"]+)", figure_html(notebook, name))[1]


def gallery(pictures: Iterable[tuple[str, str, tuple, str]]) -> HTML:
    """Show parts of figures of other notebooks in one row.

    Parameters
    ----------
    pictures
        For each picture, the notebook, the name of its figure, the part of the figure
        that is shown (left, top, right and bottom as shares), and a few words about it.
    """
    parts = []
    for notebook, name, part, words in pictures:
        image = png(read(NOTEBOOKS / f"{notebook}.ipynb"), name)
        parts.append(
            '<figure style="margin: 0; width: min-content">'
            f'<img src="data:image/png;base64,{_cropped(image, part)}" alt="{words}" '
            'style="height: 6em; max-width: none">'
            f"<figcaption>{words}</figcaption></figure>"
        )
    row = "display: flex; flex-wrap: wrap; gap: 1em"
    return HTML(f'<div style="{row}">{"".join(parts)}</div>')


def _cropped(image: str, part: tuple) -> str:
    """Crop a PNG file, in base64, to a part given as shares of its size."""
    picture = Image.open(io.BytesIO(base64.b64decode(image)))
    corners = np.multiply(part, picture.size * 2)  # width, height, width, height
    file = io.BytesIO()
    picture.crop(corners.tolist()).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def findings(paths: Iterable[Path]) -> pd.DataFrame:
    """Read the judged claims of executed notebooks (:func:`claims.collect`)."""
    return claims.collect((path.stem, read(path)) for path in paths)


def with_interval(finding: pd.Series, form: str) -> str:
    """Write a measured number with its 95% interval, each in a format such as .0%."""
    value = format(finding["estimate"], form)
    low = format(finding["ci_low"], form)
    high = format(finding["ci_high"], form)
    return f"{value} (95% CI {low} to {high})"


def three(lesson: str | None = None) -> Markdown:
    """Show the three findings of ``data/three_findings.yml`` with their numbers.

    Parameters
    ----------
    lesson
        Show only the finding of this lesson.
    """
    lines = []
    for entry in yaml.safe_load(THREE_FINDINGS.read_text()):
        if lesson not in (None, entry["lesson"]):
            continue
        name = entry["lesson"]
        judged = findings([NOTEBOOKS / f"{name}.ipynb"]).set_index(["id", "subject"])
        numbers = [
            with_interval(judged.loc[tuple(claim)], entry["format"])
            for claim in entry["claims"]
        ]
        link = f"[{name.split('_')[0]}]({name}.ipynb)"
        lines.append(f"- {entry['text'].format(*numbers)} ({link})")
    return Markdown("\n".join(lines))


def exhibits(paper: str, judged: pd.DataFrame | None = None) -> pd.DataFrame:
    """List the figures and tables of a paper with links to their counterparts here.

    Parameters
    ----------
    paper
        Name of the paper, as in ``data/paper/<paper>_counterparts.csv``.
    judged
        Findings of a run. A further column then counts the verdicts on the claims that
        the paper makes with each exhibit.
    """
    listed = pd.read_csv(PAPER / f"{paper}_counterparts.csv", keep_default_na=False)
    table = pd.DataFrame(
        {
            "exhibit": listed["exhibit"],
            "it shows": listed["shows"],
            "here": [
                f"{link_to(row.notebook)}: {row.name}"
                for row in listed.itertuples(index=False)
            ],
            "same quantity": listed["same"],
        }
    )
    if judged is None:
        return table
    of_paper = pd.read_csv(PAPER / "claims.csv", keep_default_na=False)
    of_paper["exhibit"] = of_paper["exhibit"].str.split("; ")
    of_paper = of_paper[of_paper["by"] == paper].explode("exhibit")
    verdicts = of_paper.merge(judged[["id", "verdict"]], on="id")
    counts = verdicts.groupby("exhibit")["verdict"].agg(count_verdicts).to_dict()
    texts = [counts.get(exhibit, "–") for exhibit in table["exhibit"]]
    return table.assign(verdicts=texts)


def count_verdicts(verdicts: pd.Series) -> str:
    """Write how often each verdict occurs, such as "replicated: 2; inconclusive: 1"."""
    counts = verdicts.value_counts()
    return "; ".join(f"{verdict}: {count}" for verdict, count in counts.items())


def replace_widgets(notebook: nbformat.NotebookNode) -> None:
    """Replace widgets, which do nothing without a kernel, by a sentence."""
    for output in outputs(notebook):
        if WIDGET in output.get("data", {}):
            output.data = {
                "text/markdown": WIDGET_SENTENCE,
                "text/plain": WIDGET_SENTENCE,
            }
    notebook.metadata.pop("widgets", None)
