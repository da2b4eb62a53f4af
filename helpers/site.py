"""Build the site of a run with Sphinx: ``python -m helpers.site FOLDER``.

Without a folder, it is the site of the stored notebooks, in ``outputs/stored``. The
site shows the notebooks of the run, also those that failed, with their tables and
findings. Nothing is executed.
"""

import base64
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import nbformat
import pandas as pd
from sphinx.cmd.build import main as sphinx_build

import helpers
from helpers import overview, store

START = "00_start_here"
REDIRECT = """<!doctype html><title>The site of this run</title>
<meta http-equiv="refresh" content="0; url={0}"><a href="{0}">The site of this run</a>
"""
PAPERS = {"contexts": "Visual Contexts", "focus": "Focus", "icon2": "ICON2"}
TOCTREE = """```{{toctree}}
:hidden:
:caption: Lessons

{lessons}
```

```{{toctree}}
:hidden:
:caption: Guide

{guide}
```

```{{toctree}}
:hidden:
:caption: More

teaching
run
```"""
# tables to which the guide links
LINKED_TABLES = ("data/paper/claims.csv", "data/seeds.csv")


def build(folder: Path) -> Path:
    """Write ``pages/``, ``index.html``, ``scorecard.csv`` and ``run.json`` of a run.

    Parameters
    ----------
    folder
        Folder of the run. ``notebooks/`` holds the executed notebooks. For a notebook
        that failed, ``logs/`` holds the cells that were executed before.

    Returns
    -------
    Path
        The file to open.

    Raises
    ------
    FileNotFoundError
        No notebook of the run was executed.
    RuntimeError
        Sphinx could not build the site.
    """
    finished = overview.lessons(folder / "notebooks")
    names = [path.stem for path in finished]
    logs = overview.lessons(folder / "logs")
    failed = [path for path in logs if path.stem not in names]
    begun = [path for path in failed if path.stat().st_size]
    paths = sorted(finished + begun, key=lambda path: path.stem)
    if not paths:
        raise FileNotFoundError(
            f"{folder} holds no executed notebook. Execute the lessons with `make run`."
        )
    notebooks = {path.stem: overview.read(path) for path in paths}
    findings = overview.findings(paths)
    store.write_text(folder / "scorecard.csv", findings.to_csv(index=False))
    made_by = describe(notebooks)
    store.write_text(folder / "run.json", json.dumps(made_by, indent=1) + "\n")
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "source"
        write_notebooks(source, notebooks, [path.stem for path in failed])
        write_guide(source)
        shutil.copy(folder / "scorecard.csv", source)
        if (folder / "tables").is_dir():
            shutil.copytree(folder / "tables", source / "tables")
        store.write_text(source / "run.md", run_page(source, made_by, findings))
        run_sphinx(source, folder / "pages")
    index = REDIRECT.format(f"pages/{START}.html")
    return store.write_text(folder / "index.html", index)


def describe(notebooks: Mapping[str, nbformat.NotebookNode]) -> dict:
    """Describe the software and the times of a run (without git, no commit)."""
    command = "git describe --always --exclude='*' --dirty=+"
    git = subprocess.run(  # by a shell, which fails quietly where git is missing
        command, shell=True, cwd=store.root(), capture_output=True, text=True
    )
    seconds = {
        name: notebook.metadata.get("papermill", {}).get("duration")
        for name, notebook in notebooks.items()
    }
    return {
        "version": version("visual-bias-notebooks"),
        "commit": git.stdout.strip(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "pinned": helpers.pinned,
        "seconds": seconds,
    }


def write_notebooks(
    source: Path, notebooks: Mapping[str, nbformat.NotebookNode], failed: list[str]
) -> None:
    """Write the notebooks for Sphinx; the start page names those that failed."""
    lessons = []
    for name, notebook in notebooks.items():
        overview.replace_widgets(notebook)
        write_attachments(source, name, notebook.cells[0])
        store.write_text(source / f"{name}.ipynb", nbformat.writes(notebook))
        number = name.split("_")[0]
        lessons.append(f"{number} {overview.opening(notebook)['title']} <{name}>")
    start = overview.read(overview.NOTEBOOKS / f"{START}.ipynb")
    guide = "\n".join(["guide", *guide_pages()])
    toctree = TOCTREE.format(lessons="\n".join(lessons), guide=guide)
    start.cells.append(nbformat.v4.new_markdown_cell(toctree))
    if failed:
        links = ", ".join(f"[{name}]({name}.ipynb)" for name in failed)
        warning = f":::{{error}}\nThese lessons of the run failed: {links}.\n:::"
        start.cells.insert(1, nbformat.v4.new_markdown_cell(warning))
    store.write_text(source / f"{START}.ipynb", nbformat.writes(start))


def guide_pages() -> list[str]:
    """Name the pages of the guide, in the order in which its table lists them."""
    text = (store.root() / "GUIDE.md").read_text()
    return re.findall(r"\]\((guide/\w+)\.md\)", text)


def write_guide(source: Path) -> None:
    """Write the pages of the guide and of teaching, and the tables they link to."""
    root = store.root()
    guide = (root / "GUIDE.md").read_text().replace("](TEACHING.md", "](teaching.md")
    store.write_text(source / "guide.md", guide)
    shutil.copy(root / "TEACHING.md", source / "teaching.md")
    for path in (root / "guide").glob("*.md"):
        text = path.read_text().replace("](../notebooks/", "](../")
        text = text.replace("](../TEACHING.md", "](../teaching.md")
        store.write_text(source / "guide" / path.name, text)
    for name in LINKED_TABLES:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, source / name)


def write_attachments(source: Path, name: str, cell: nbformat.NotebookNode) -> None:
    """Write the images attached to a cell as files, because Sphinx shows only files."""
    for attached, image in cell.pop("attachments", {}).items():
        path = f"attached/{name}/{attached}"
        store.write_bytes(source / path, base64.b64decode(image["image/png"]))
        cell.source = cell.source.replace(f"attachment:{attached}", path)


def run_page(source: Path, made_by: Mapping, findings: pd.DataFrame) -> str:
    """Write the page about the software, the verdicts and the tables of the run."""
    software = (
        "The run was made by version {version} of this suite (commit {commit}), "
        "Python {python} and PyTorch {torch}."
    ).format(**made_by)
    parts = ["# About this run", software]
    parts.append("[All findings](scorecard.csv) in one table.")
    parts.append("## The exhibits of the papers, and what the run says about them")
    for paper, title in PAPERS.items():
        exhibits = overview.linked(overview.exhibits(paper, findings)).data
        parts += [f"### {title}", exhibits]
    tables = sorted(source.glob("tables/*"))
    if tables:
        parts.append("## The tables of the lessons")
    for folder in tables:
        names = sorted(path.name for path in folder.glob("*.csv"))
        links = [f"[{name}](tables/{folder.name}/{name})" for name in names]
        parts.append(f"{folder.name}: {', '.join(links)}")
    return "\n\n".join(parts) + "\n"


def run_sphinx(source: Path, pages: Path) -> None:
    """Build the pages, and then replace the earlier pages by them."""
    built = source.with_name("pages")
    options = ["-q", "-c", str(store.root() / "site")]
    if sphinx_build([*options, str(source), str(built)]):
        raise RuntimeError(f"Sphinx could not build {pages}. See the lines above.")
    store.write_text(built / "index.html", REDIRECT.format(f"{START}.html"))
    shutil.rmtree(built / ".doctrees")
    shutil.rmtree(pages, ignore_errors=True)
    shutil.move(built, pages)


def main() -> None:
    """Build the site of the folder that is given, or of the stored notebooks."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1]).resolve()
    else:
        folder = store.outputs() / "stored"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(overview.NOTEBOOKS, folder / "notebooks")
    try:
        index = build(folder)
    except (FileNotFoundError, store.UnreadableArtifact) as error:
        raise SystemExit(str(error)) from None
    print(f"open {index}")


if __name__ == "__main__":
    main()
