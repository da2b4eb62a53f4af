"""The index page of a run: each notebook with its title, a picture, its time and its findings."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import jinja2
import nbformat
import pandas as pd

from helpers import artifacts, findings


@dataclass(frozen=True)
class Entry:
    """What the index says of one executed notebook."""

    name: str
    title: str
    question: str
    seconds: float | None
    thumbnail: str | None
    alt: str
    findings: list[dict]
    counts: dict[str, int]


def entry(folder: Path, notebook_path: Path, scorecard: pd.DataFrame) -> Entry:
    """Read what the index shows of one executed notebook.

    Parameters
    ----------
    folder
        The run's folder; paths in the entry are relative to it.
    notebook_path
        The executed notebook.
    scorecard
        As from :func:`helpers.findings.scorecard`.
    """
    notebook = nbformat.read(notebook_path, as_version=4)
    name = notebook_path.stem
    title, question = _opening(notebook)
    own = scorecard[scorecard["notebook"] == name]
    wanted = notebook.cells[0].metadata.get("thumbnail", "figure-*")
    thumbnail = _thumbnail(folder, name, wanted)
    return Entry(
        name=name,
        title=title or name,
        question=question,
        seconds=notebook.metadata.get("papermill", {}).get("duration"),
        thumbnail=thumbnail,
        alt=f"First figure of {title or name}",
        findings=own.to_dict("records"),
        counts=own["verdict"].value_counts().to_dict(),
    )


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


def write_index(folder: Path) -> Path:
    """Write ``index.html`` of a run from what its notebooks wrote.

    Parameters
    ----------
    folder
        A run's folder with ``notebooks/``, ``pages/``, ``figures/`` and ``findings/``.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    FileNotFoundError
        When the folder holds no executed notebook.
    """
    notebooks = sorted(folder.glob("notebooks/*.ipynb"))
    if not notebooks:
        raise FileNotFoundError(f"{folder}/notebooks holds no executed notebook: `make run` first")
    scorecard = findings.scorecard(folder)
    artifacts.write_text(folder / "scorecard.csv", scorecard.to_csv(index=False))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True
    )
    page = environment.get_template("index.html.jinja").render(
        run=folder.name,
        entries=[entry(folder, path, scorecard) for path in notebooks],
        total=scorecard["verdict"].value_counts().to_dict(),
        minutes=lambda s: f"{s:.0f} s" if s < 90 else f"{s / 60:.1f} min",
    )
    artifacts.write_text(folder / "index.html", page)
    return folder / "index.html"


def main() -> None:
    """``python -m helpers.pages FOLDER``: write the index of a run."""
    parser = argparse.ArgumentParser(description="Write the index page of a run.")
    parser.add_argument("folder", type=Path)
    print(f"open {write_index(parser.parse_args().folder)}")


if __name__ == "__main__":
    main()
