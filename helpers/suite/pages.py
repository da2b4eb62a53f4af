"""The pages of a run: a book of its notebooks, which begins with what they found. Sphinx builds it
from the executed notebooks (MyST-NB, Jupyter Book's theme) and executes nothing."""

import html
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import jinja2
import latex2mathml.converter
import nbformat
import pandas as pd
import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from helpers import store
from helpers.suite import claims, notebooks, project

BOOK = Path(__file__).parent / "book"  # its settings, templates, style and script
PAPERMILL = "papermill-error-cell-tag"
SHOWN = 3  # findings below the opening of a page


def write(folder: Path) -> Path:
    """Write ``pages/`` and ``index.html`` of a run anew from what its notebooks wrote; the index.
    Notebooks that failed are named with their error, and shown as far as they got."""
    done = sorted(folder.glob("notebooks/*.ipynb"))
    names = {path.stem for path in done}
    logs = [path for path in sorted(folder.glob("logs/*.ipynb")) if path.stem not in names]
    begun = [path for path in logs if path.stat().st_size]
    read = {path.stem: _without_alarm(notebooks.read(path)) for path in done + begun}
    executed = {name: read[name] for name in sorted(read) if read[name].cells}
    failed = {path.stem: _error(executed.get(path.stem)) for path in logs}
    if not executed and not failed:
        raise FileNotFoundError(f"{folder}/notebooks holds no executed notebook: `make run` first")
    findings = notebooks.findings(done + begun)
    store.write_text(folder / "scorecard.csv", findings.to_csv(index=False))
    with tempfile.TemporaryDirectory(prefix=".book-", dir=folder) as temporary:
        source, pages = Path(temporary) / "source", Path(temporary) / "pages"
        source.mkdir()
        chapters = [_chapter(name, executed, findings, folder) for name in executed]
        for chapter in chapters:
            nbformat.write(chapter["notebook"], source / f"{chapter['name']}.ipynb")
        shutil.copy(store.root() / "TEACHING.md", source / "teaching.md")
        templates = jinja2.Environment(loader=jinja2.FileSystemLoader(BOOK), trim_blocks=True)
        templates.filters["sentence"] = sentence
        tally = findings["verdict"].value_counts()
        index = templates.get_template("index.md.jinja").render(
            folder=folder, chapters=chapters, failed=failed, tally=tally
        )
        (source / "index.md").write_text(index)
        _build(source, pages, project.record(folder, executed) | {"run": folder.name})
        shutil.rmtree(folder / "pages", ignore_errors=True)
        pages.rename(folder / "pages")
    return store.write_text(folder / "index.html", (BOOK / "redirect.html").read_text())


def _build(source: Path, pages: Path, about: dict) -> None:
    """Run Sphinx; a warning of its own would stand in the output of the run."""
    pinned = "pinned kernels" if about["pinned"] is True else f"not pinned: {about['pinned']}"
    footer = (BOOK / "footer.html").read_text().format(**about | {"pinned": pinned})
    settings = yaml.safe_load((BOOK / "conf.yml").read_text())
    settings["html_static_path"] = [str(BOOK / "static")]
    settings["html_theme_options"]["extra_footer"] = footer
    with docutils_namespace():
        trees = source / ".doctrees"
        book = Sphinx(source, None, pages, trees, "html", confoverrides=settings, status=None)
        book.build()
    if book.statuscode:
        raise RuntimeError(f"The pages could not be built from {source}: see the lines above.")


def setup(app: Sphinx) -> dict:
    """Make this module an extension of Sphinx: formulas become MathML, without a network."""

    def formula(display: str):
        def visit(self, node: nodes.math) -> None:
            self.body.append(latex2mathml.converter.convert(node.astext(), display=display))
            raise nodes.SkipNode

        return visit, None

    app.add_html_math_renderer("mathml", formula("inline"), formula("block"))
    return {"parallel_read_safe": True}


def _without_alarm(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A notebook without the cells in which papermill says that it failed."""
    notebook.cells = [c for c in notebook.cells if PAPERMILL not in c.metadata.get("tags", [])]
    return notebook


def _error(notebook: nbformat.NotebookNode | None) -> str:
    """The error at which a notebook stopped, in a line."""
    every = notebooks.outputs(notebook) if notebook else []
    errors = [f"{out.ename}: {out.evalue}" for out in every if out.output_type == "error"]
    return errors[-1].splitlines()[0] if errors else "it did not come to its end"


def _chapter(name: str, executed: Mapping, findings: pd.DataFrame, folder: Path) -> dict:
    """What the book shows of a notebook."""
    notebook = executed[name]
    opening = notebooks.opening(notebook)
    rows = findings[findings["notebook"] == name]
    measured = rows[rows["verdict"] != claims.NO_COUNTERPART]
    chosen = measured["id"] == notebook.cells[0].metadata.get("headline")
    undecided = measured["verdict"] == claims.UNDECIDED
    first = measured.loc[(undecided * 1 - chosen * 2).sort_values(kind="stable").index]
    first = first.head(SHOWN).to_dict("records")
    if first:
        text = "\n- ".join(["**Findings of this run**\n", *map(sentence, first)])
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(text))
    notebooks.without_widgets(notebook)
    number = name.split("_")[0]
    notebook.cells[0].source = re.sub(r"^# ", f"# {number} ", notebook.cells[0].source)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _unlinked(cell.source, executed)
        elif _prepares(cell):
            cell.metadata.tags = [notebooks.FOLD]
        for output in cell.get("outputs", []):  # their links are not those of Sphinx
            if text := output.get("data", {}).get("text/markdown"):
                text = _unlinked(text, executed).replace(".ipynb)", ".html)")
                output["data"]["text/markdown"] = text
    if tables := sorted(folder.glob(f"tables/{name}/*.csv")):
        links = [f'<a href="../tables/{name}/{path.name}">{path.name}</a>' for path in tables]
        text = f"The tables of this notebook: {', '.join(links)}."
        notebook.cells.append(nbformat.v4.new_markdown_cell(text))
    return {
        "name": name,
        "title": f"{number} {opening['title'] or name}",
        "question": opening["question"],
        "notebook": notebook,
        "seconds": notebook.metadata.get("papermill", {}).get("duration"),
        "headline": first[0] if first else None,
        "picture": _picture(folder, name, notebook.cells[0].metadata.get("thumbnail")),
        "papers": rows[rows["where"] != claims.OURS].to_dict("records"),
        "ours": rows[rows["where"] == claims.OURS].to_dict("records"),
    }


def _prepares(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell holds parameters, their check, or imports, which the pages fold."""
    tagged = {"parameters", "injected-parameters", "check"} & set(cell.metadata.get("tags", []))
    lines = [line for line in cell.source.splitlines() if line]
    imports = bool(lines) and all(line.startswith(("import ", "from ")) for line in lines)
    return bool(tagged) or imports or "project.start(" in cell.source


def _unlinked(text: str, known: Mapping[str, object]) -> str:
    """Markdown without the links to notebooks that are not in the book."""
    link = r"\[([^]]*)\]\((\w+)\.ipynb\)"
    return re.sub(link, lambda found: found[0] if found[2] in known else found[1], text)


def sentence(row: dict) -> str:
    """A judged claim as Markdown: the claim, its verdict, and the number behind it."""
    claim, note = html.escape(row["claim"]), html.escape(row["note"])
    if pd.isna(row["measured"]):
        return f"{claim}: **{row['verdict']}** ({note})."
    paper = f"; the paper prints {row['paper']}" if row["paper"] else ""
    return f"{claim}: **{row['verdict']}**, {html.escape(claims.measured(row))}{paper}."


def _picture(folder: Path, name: str, wanted: str | None) -> tuple[str, str] | None:
    """Name of the figure that stands for a notebook, and what it shows, as its SVG file says."""
    paths = sorted(folder.glob(f"figures/{name}/*.svg"))
    paths.sort(key=lambda path: (path.stem != wanted, not path.stem.startswith("figure")))
    if not paths:
        return None
    text = re.search(r"<dc:description>(.*?)</dc:description>", paths[0].read_text(), re.DOTALL)
    return paths[0].stem, html.unescape(text[1]) if text else paths[0].stem


def main() -> None:
    """``python -m helpers.suite.pages FOLDER``: write the pages of a run."""
    try:
        print(f"open {write(Path(sys.argv[1]).resolve())}")
    except (FileNotFoundError, store.UnreadableArtifact) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
