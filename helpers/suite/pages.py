"""The pages of a run: a book of its notebooks, which begins with what they found.

Sphinx builds it from the executed notebooks (MyST-NB, Jupyter Book's theme) and executes nothing.
"""

import html
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
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
from helpers.suite import claims, exercises, lessons, provenance, stored

BOOK = Path(__file__).parent / "book"  # its settings, templates, style and script
PAPERMILL = "papermill-error-cell-tag"
SHOWN = 3  # findings below the opening of a page


def write(folder: Path) -> Path:
    """Write ``pages/`` and ``index.html`` of a run from what its notebooks wrote; the index.

    Notebooks that failed are named with their error, and shown as far as they got. The pages are
    replaced as a whole.
    """
    executed = {path.stem: lessons.read(path) for path in sorted(folder.glob("notebooks/*.ipynb"))}
    logs = [p for p in sorted(folder.glob("logs/*.ipynb")) if p.stem not in executed]
    begun = {path.stem: _begun(path) for path in logs if path.stat().st_size}
    failed = {path.stem: _error(begun.get(path.stem)) for path in logs}
    executed = dict(sorted((executed | begun).items()))
    if not executed and not failed:
        raise FileNotFoundError(f"{folder}/notebooks holds no executed notebook: `make run` first")
    scorecard = claims.scorecard(folder)
    store.write_text(folder / "scorecard.csv", scorecard.to_csv(index=False))
    with tempfile.TemporaryDirectory(prefix=".book-", dir=folder) as temporary:
        source, pages = Path(temporary) / "source", Path(temporary) / "pages"
        source.mkdir()
        chapters = [_chapter(name, executed, scorecard) for name in executed]
        for chapter in chapters:
            nbformat.write(chapter["notebook"], source / f"{chapter['name']}.ipynb")
        known = {
            "folder": folder,
            "chapters": chapters,
            "failed": failed,
            "tally": scorecard["verdict"].value_counts(),
            "figures": _gallery(folder / "figures", "svg", _alternative_text),
            "tables": _gallery(folder / "tables", "csv", _first_rows),
        }
        shutil.copy(store.root() / "TEACHING.md", source / "teaching.md")
        templates = jinja2.Environment(loader=jinja2.FileSystemLoader(BOOK), trim_blocks=True)
        templates.filters["sentence"] = sentence
        for name in templates.list_templates(["jinja"]):
            page = templates.get_template(name).render(known)
            (source / name.removesuffix(".jinja")).write_text(page)
        _build(source, pages, provenance.write(folder, executed) | {"run": folder.name})
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


def _begun(path: Path) -> nbformat.NotebookNode:
    """A notebook that failed, without the cells in which papermill says so."""
    notebook = lessons.read(path)
    told = [PAPERMILL in cell.metadata.get("tags", []) for cell in notebook.cells]
    notebook.cells = [cell for cell, it in zip(notebook.cells, told, strict=True) if not it]
    return notebook


def _error(notebook: nbformat.NotebookNode | None) -> str:
    """The error at which a notebook stopped, in a line."""
    outputs = lessons.outputs(notebook) if notebook else []
    errors = [f"{out.ename}: {out.evalue}" for out in outputs if out.output_type == "error"]
    return errors[-1].splitlines()[0] if errors else "it did not come to its end"


def _chapter(name: str, executed: Mapping, scorecard: pd.DataFrame) -> dict:
    """What the book shows of a notebook."""
    notebook = executed[name]
    opening = lessons.opening(notebook)
    rows = scorecard[scorecard["notebook"] == name]
    measured = rows[rows["verdict"] != claims.NO_COUNTERPART]
    chosen = measured["id"] == notebook.cells[0].metadata.get("headline")
    undecided = measured["verdict"] == claims.UNDECIDED
    told = measured.loc[(undecided * 1 - chosen * 2).sort_values(kind="stable").index]
    told = told.head(SHOWN).to_dict("records")
    if told:
        text = "\n- ".join(["**Findings of this run**\n", *map(sentence, told)])
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(text))
    stored.without_widgets(notebook)
    number = name.split("_")[0]
    notebook.cells[0].source = re.sub(r"^# ", f"# {number} ", notebook.cells[0].source)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _unlinked(cell.source, executed)
        elif _prepares(cell):
            cell.metadata.tags = [exercises.FOLD]
        for output in cell.get("outputs", []):  # their links are not those of Sphinx
            if text := output.get("data", {}).get("text/markdown"):
                text = _unlinked(text, executed).replace(".ipynb)", ".html)")
                output["data"]["text/markdown"] = text
    return {
        "name": name,
        "title": f"{number} {opening['title'] or name}",
        "question": opening["question"],
        "notebook": notebook,
        "seconds": notebook.metadata.get("papermill", {}).get("duration"),
        "headline": told[0] if told else None,
        "picture": notebook.cells[0].metadata.get("thumbnail", ""),
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


def _gallery(folder: Path, ending: str, about: Callable) -> dict[str, list[tuple[str, str]]]:
    """Notebook to its files, the paper's figures first: each one's name, and what to say of it."""
    found = {}
    paths = folder.glob(f"*/*.{ending}")
    for path in sorted(paths, key=lambda p: (p.parent, not p.stem.startswith("figure"), p)):
        found.setdefault(path.parent.name, []).append((path.stem, about(path)))
    return found


def _alternative_text(path: Path) -> str:
    """What a figure shows, as its SVG file says it."""
    found = re.search(r"<dc:description>(.*?)</dc:description>", path.read_text(), re.DOTALL)
    return html.unescape(found[1]) if found else path.stem


def _first_rows(path: Path) -> str:
    """The first rows of a table as HTML in one line."""
    rows = pd.read_csv(path).iloc[:5, :12]
    return re.sub(r"\n\s*", "", rows.to_html(index=False, border=0, float_format="{:.3g}".format))


def main() -> None:
    """``python -m helpers.suite.pages FOLDER``: write the pages of a run."""
    try:
        print(f"open {write(Path(sys.argv[1]).resolve())}")
    except (FileNotFoundError, store.UnreadableArtifact) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
