"""The pages of a run: a book of its notebooks, which begins with what they found; none is executed.

python -m helpers.suite.pages [FOLDER]    `make book`, of the last run unless named
"""

import html
import itertools
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import jinja2
import latex2mathml.converter
import nbformat
import pandas as pd
import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from helpers import claims, store, workflow
from helpers.execute import without_widgets
from helpers.suite import notebooks

ALARM = "papermill-error-cell-tag"  # of the cells in which papermill says that a notebook failed
START = "00_start_here"  # a page, though not a lesson
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(notebooks.BOOK.parent), trim_blocks=True
)


def write(folder: Path) -> Path:
    """Write ``pages/`` and ``index.html`` of a run anew from what its notebooks wrote; the index."""
    done = sorted(folder.glob("notebooks/*.ipynb"))
    logs = sorted(folder.glob("logs/*.ipynb"))
    logs = [path for path in logs if path.stem not in {one.stem for one in done}]
    begun = [path for path in logs if path.stat().st_size]
    read = {path.stem: notebooks.read(path) for path in done + begun}
    for notebook in read.values():
        notebook.cells = [
            c for c in notebook.cells if ALARM not in c.metadata.get("tags", [])
        ]
    executed = {name: read[name] for name in sorted(read) if read[name].cells}
    failed = {path.stem: _error(executed.get(path.stem)) for path in logs}
    if not executed and not failed:
        raise FileNotFoundError(
            f"{folder}/notebooks holds no executed notebook: `make run` first"
        )
    findings = notebooks.findings(done + begun)
    record = workflow.write_record(folder) | {"run": folder.name}
    store.write_text(folder / "scorecard.csv", findings.to_csv(index=False))
    start = {
        path.stem: notebooks.read(path)
        for path in notebooks.NOTEBOOKS.glob(f"{START}.ipynb")
    }
    with tempfile.TemporaryDirectory(prefix=".book-", dir=folder) as temporary:
        source, pages = Path(temporary) / "source", Path(temporary) / "pages"
        chapters = [
            _chapter(name, start | executed, findings, folder)
            for name in start | executed
        ]
        for chapter in chapters:
            text = nbformat.writes(chapter["notebook"])
            store.write_text(source / f"{chapter['name']}.ipynb", text)
            for name, (png, _) in chapter["pictures"].items():
                store.write_bytes(
                    source / "static" / chapter["name"] / f"{name}.png", png
                )
        shutil.copy(store.root() / "TEACHING.md", source / "teaching.md")
        (source / "index.md").write_text(first(findings, chapters, failed))
        _build(source, pages, record)
        shutil.rmtree(folder / "pages", ignore_errors=True)
        pages.rename(folder / "pages")
    return store.write_text(
        folder / "index.html", (notebooks.BOOK / "redirect.html").read_text()
    )


def first(
    findings: pd.DataFrame,
    chapters: Sequence[Mapping],
    failed: Mapping,
) -> str:
    """The first page as Markdown, by ``book/front.yml``: what was found, the papers, the lessons;
    notebooks that `failed` are linked where solutions may be read."""
    say = yaml.safe_load((notebooks.BOOK / "front.yml").read_text())
    findings = claims.steady(findings.fillna({"subject": ""}))
    rows = findings.to_dict("records")
    judged, counts = {(row["id"], row["subject"]): row for row in rows}, {}
    for row in rows:
        look = claims.LOOKS.get(
            row["verdict"], claims.NOT_COUNTED
        )  # of a run with other words
        counts.setdefault(row["source"].split(",")[0], Counter())[look] += 1
    pictured = {chapter["name"]: chapter["pictures"] for chapter in chapters}
    return TEMPLATES.get_template("book/index.md.jinja").render(
        sentence=markdown,
        three=notebooks.three(findings).data,
        says={
            name: _says(paper["says"], judged) for name, paper in say["papers"].items()
        },
        large=pictured.get(say["picture"]["lesson"], {}).get(say["picture"]["figure"]),
        picture_of=say["picture"],
        papers=say["papers"],
        counts=counts,
        looks=dict.fromkeys(claims.LOOKS.values()),
        legend=claims.LOOKS,
        chapters=chapters,
        failed=failed,
    )


def markdown(row: Mapping) -> str:
    """A verdict and its sentence, for the pages."""
    said = html.escape(claims.sentence(row), quote=False)
    if row["verdict"] == claims.NOT_SPECIFIC:
        return f"{said}: **{claims.NOT_SPECIFIC}**."
    return f"**{row['verdict']}**: {said}."


def _says(entries: Iterable[Mapping], judged: Mapping) -> str:
    """What the numbers of a paper's claims say, each with the verdict on what the paper says."""
    texts = []
    for one in entries:
        if row := judged.get(tuple(one["claim"])):
            counted = (
                row["source"] != claims.THIS_SUITE
                and claims.LOOKS.get(row["verdict"]) != claims.NOT_COUNTED
            )
            verdict = f" (*{row['verdict']}*)" if counted else ""
            texts.append(
                f"{one['text'].format(claims.format_estimate(row), claims.short_unit(row))}{verdict}."
            )
    return " ".join(texts)


def _build(source: Path, pages: Path, about: dict) -> None:
    pinned = (
        "pinned kernels"
        if about["pinned"] is True
        else f"not pinned: {about['pinned']}"
    )
    footer = (
        (notebooks.BOOK / "footer.html")
        .read_text()
        .format(**about | {"pinned": pinned})
    )
    settings = yaml.safe_load((notebooks.BOOK / "conf.yml").read_text())
    settings["html_static_path"] = [
        str(notebooks.BOOK / "static"),
        str(source / "static"),
    ]
    settings["html_theme_options"]["extra_footer"] = footer
    with docutils_namespace():
        trees = source / ".doctrees"
        book = Sphinx(
            source, None, pages, trees, "html", confoverrides=settings, status=None
        )
        book.build()
    if book.statuscode:
        raise RuntimeError(
            f"The pages could not be built from {source}: see the lines above."
        )


def setup(app: Sphinx) -> dict:
    """As an extension of Sphinx: formulas become MathML, without a network."""

    def formula(display: str):
        def visit(self, node: nodes.math) -> None:
            self.body.append(
                latex2mathml.converter.convert(node.astext(), display=display)
            )
            raise nodes.SkipNode

        return visit, None

    app.add_html_math_renderer("mathml", formula("inline"), formula("block"))
    return {"parallel_read_safe": True}


def _error(notebook: nbformat.NotebookNode | None) -> str:
    """The error at which a notebook stopped, in a line."""
    every = notebooks.outputs(notebook) if notebook else []
    errors = [
        f"{out.ename}: {out.evalue}" for out in every if out.output_type == "error"
    ]
    return errors[-1].splitlines()[0] if errors else "it did not come to its end"


def telling(
    notebook, judged: pd.DataFrame, names: Iterable
) -> tuple[dict | None, str | None]:
    """The finding and the figure that stand for a notebook: those that its first cell chooses
    (`headline`, by a claim's id, or "id: what it is about"; `thumbnail`), or the first."""
    chosen = notebook.cells[0].metadata
    rows = judged[judged["verdict"] != claims.NOT_TESTABLE].to_dict("records")

    def behind(row: Mapping) -> tuple[bool, bool]:
        own = chosen.get("headline") in (row["id"], f"{row['id']}: {row['subject']}")
        return not own, row["verdict"] == claims.INCONCLUSIVE

    picture = min(names, default=None, key=lambda name: name != chosen.get("thumbnail"))
    return min(rows, default=None, key=behind), picture


def _chapter(
    name: str, executed: Mapping, findings: pd.DataFrame, folder: Path
) -> dict:
    """What the book shows of a notebook."""
    notebook, rows = executed[name], findings[findings["notebook"] == name]
    opening, pictures = notebooks.opening(notebook), notebooks.pictures(notebook)
    headline, picture = telling(notebook, claims.steady(rows), pictures)
    chapter = {
        "name": name,
        "title": f"{name.split('_')[0]} {opening['title'] or name}",
    }
    chapter |= {
        "question": opening["question"],
        "notebook": notebook,
        "headline": headline,
    }
    chapter |= {"picture": picture, "pictures": pictures}
    without_widgets(notebook)
    _, question, rest = (notebook.cells[0].source + "\n\n\n\n").split("\n\n", 2)
    parts = [
        f"# {chapter['title']}",
        question,
        markdown(headline) if headline else "",
    ]
    if picture:
        image = f'src="_static/{name}/{picture}.png" alt="{html.escape(pictures[picture][1])}"'
        parts.append(f'<figure class="first"><img {image}></figure>')
    notebook.cells[0].source = "\n\n".join([*parts, rest])
    notebook.cells = [*_folded(notebook.cells)]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _unlinked(cell.source, executed)
        for output in cell.get("outputs", []):  # their links are not those of Sphinx
            if paper := cell.metadata.get("exhibits"):  # by now the whole run is judged
                exhibits = notebooks.linked(notebooks.exhibits(paper, findings))
                output["data"] = {"text/markdown": exhibits.data}
            for kind in {"text/markdown", "text/html"} & set(output.get("data", {})):
                text = _unlinked(output["data"][kind], executed)
                output["data"][kind] = re.sub(r"\.ipynb([)\"])", r".html\1", text)
    if tables := sorted(folder.glob(f"tables/{name}/*.csv")):
        links = [
            f'<a href="../tables/{name}/{path.name}">{path.name}</a>' for path in tables
        ]
        text = f"The tables of this notebook: {', '.join(links)}."
        notebook.cells.append(nbformat.v4.new_markdown_cell(text))
    return chapter


def _folded(cells: Iterable) -> Iterator[nbformat.NotebookNode]:
    """The cells of a page: parameters, check and imports are one cell, and folded; a fold says so
    where it hides a solution."""
    for prepares, group in itertools.groupby(cells, _prepares):
        first, *more = group
        if prepares:
            first.source = "\n\n".join(cell.source for cell in (first, *more))
            first.outputs = notebooks.outputs({"cells": [first, *more]})
            first.metadata.tags, more = [notebooks.FOLD], []
        for cell in (first, *more):
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.metadata.mystnb = {"code_prompt_show": "Show a solution"}
            yield cell


def _prepares(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell holds parameters, their check, or imports."""
    tagged = {"parameters", "injected-parameters", "check"} & set(
        cell.metadata.get("tags", [])
    )
    lines = [
        line for line in cell.source.splitlines() if line and cell.cell_type == "code"
    ]
    imports = bool(lines) and all(
        line.startswith(("import ", "from ")) for line in lines
    )
    return bool(tagged) or imports or "lesson.start(" in "".join(lines)


def _unlinked(text: str, known: Mapping[str, object]) -> str:
    """Markdown or HTML without the links to notebooks that are not in the book."""
    markdown = r"\[(?P<text>[^]]*)\]\((?P<to>\w+)\.ipynb\)"
    for link in (markdown, r'<a href="(?P<to>\w+)\.ipynb">(?P<text>.*?)</a>'):
        text = re.sub(
            link, lambda link: link[0] if link["to"] in known else link["text"], text
        )
    return text


def main() -> None:
    """The command at the top of this module."""
    names = sys.argv[1:]
    runs = sorted(
        store.outputs().glob("*/run.json"), key=lambda path: path.stat().st_mtime
    )
    if not names and not runs:
        raise SystemExit("no run has been finished here: `make run` first")
    folder = Path(names[0]).resolve() if names else runs[-1].parent
    try:
        print(f"open {write(folder)}")
    except (FileNotFoundError, store.UnreadableArtifact) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
