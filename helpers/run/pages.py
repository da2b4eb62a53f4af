"""The pages of a run: each notebook, and an index with their pictures, times and findings."""

from __future__ import annotations

import argparse
from pathlib import Path

import jinja2
import nbformat
import pandas as pd
from nbconvert import HTMLExporter

from helpers.run import artifacts, claims

TEMPLATES = Path(__file__).parent / "templates"


def entry(folder: Path, notebook_path: Path, scorecard: pd.DataFrame) -> dict:
    """What the index shows of one executed notebook; its paths are relative to the run's folder."""
    notebook = _executed(notebook_path)
    name = notebook_path.stem
    title, question = _opening(notebook)
    own = scorecard[scorecard["notebook"] == name]
    wanted = notebook.cells[0].metadata.get("thumbnail", "figure-*")
    thumbnail = _thumbnail(folder, name, wanted)
    return dict(
        name=name,
        title=title or name,
        question=question,
        seconds=notebook.metadata.get("papermill", {}).get("duration"),
        thumbnail=thumbnail,
        alt=f"First figure of {title or name}",
        findings=own.to_dict("records"),
        counts=own["verdict"].value_counts().to_dict(),
    )


def _executed(path: Path) -> nbformat.NotebookNode:
    with artifacts.reading(path):
        return nbformat.read(path, as_version=4)


def _opening(notebook: nbformat.NotebookNode) -> tuple[str, str]:
    """Title and first quoted line (the question) of the first markdown cell."""
    source = next((c.source for c in notebook.cells if c.cell_type == "markdown"), "")
    lines = [line.strip() for line in source.splitlines()]
    title = next((line.lstrip("# ") for line in lines if line.startswith("# ")), "")
    return title, next((line.lstrip("> ") for line in lines if line.startswith("> ")), "")


def _thumbnail(folder: Path, name: str, wanted: str) -> str | None:
    """The figure that the notebook names, or else the first, relative to the folder."""
    figures = folder / "figures" / name
    found = sorted(figures.glob(f"{wanted}.png")) or sorted(figures.glob("*.png"))
    return found[0].relative_to(folder).as_posix() if found else None


def write_page(folder: Path, name: str) -> Path:
    """Write ``pages/<name>.html`` of an executed notebook."""
    exporter = HTMLExporter(template_name="page", extra_template_basedirs=[str(TEMPLATES)])
    notebook = _executed(folder / "notebooks" / f"{name}.ipynb")
    page, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"name": name}})
    return artifacts.write_text(folder / "pages" / f"{name}.html", page)


def write_index(folder: Path) -> Path:
    """Write ``index.html`` of a run from what its notebooks wrote."""
    notebooks = sorted(folder.glob("notebooks/*.ipynb"))
    if not notebooks:
        raise FileNotFoundError(f"{folder}/notebooks holds no executed notebook: `make run` first")
    scorecard = claims.scorecard(folder)
    artifacts.write_text(folder / "scorecard.csv", scorecard.to_csv(index=False))
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True)
    page = environment.get_template("index.html.jinja").render(
        run=folder.name,
        entries=[entry(folder, path, scorecard) for path in notebooks],
        failed=sorted({p.stem for p in folder.glob("logs/*.ipynb")} - {p.stem for p in notebooks}),
        total=scorecard["verdict"].value_counts().to_dict(),
        minutes=lambda s: f"{s:.0f} s" if s < 90 else f"{s / 60:.1f} min",
    )
    return artifacts.write_text(folder / "index.html", page)


def main() -> None:
    """``python -m helpers.run.pages FOLDER [NAME]``: write a page or a run's index."""
    parser = argparse.ArgumentParser(description="Write a page of a run.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("name", nargs="?", help="a notebook; without it, the index is written")
    asked = parser.parse_args()
    try:
        if asked.name:
            write_page(asked.folder, asked.name)
        else:
            print(f"open {write_index(asked.folder)}")
    except (FileNotFoundError, artifacts.UnreadableArtifact) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
