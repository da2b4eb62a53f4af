"""The book of a run: what its first page says, and what happens where a notebook is not whole."""

import json
import sys
from importlib.metadata import version

import nbformat
import pytest

from helpers import store
from helpers.suite import pages

PYTHON = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}


def executed(folder, name, title, error=None, findings=()):
    """A notebook of one lesson as a run leaves it, in `notebooks` or, where it failed, `logs`."""
    opening = nbformat.v4.new_markdown_cell(f"# {title}\n\n> Why?\n\nWith $\\frac{{a}}{{b}}$.")
    cells = [opening, nbformat.v4.new_code_cell("1"), nbformat.v4.new_code_cell("2")]
    judged = {"findings": [*findings]}
    cells[2].outputs = [
        nbformat.v4.new_output("display_data", {"text/plain": "-"}, metadata=judged)
    ]
    if error:
        cells[1].outputs = [nbformat.v4.new_output("error", ename="ValueError", evalue=error)]
        cells[1].outputs[0].traceback = ["ValueError"]
    place = folder / ("logs" if error else "notebooks") / f"{name}.ipynb"
    store.write_text(place, nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=PYTHON)))


def claim(**changes):
    judged = {"id": "sky", "claim": "Sky is strong", "verdict": "holds", "unit": "logits"}
    judged |= {"measured": 0.5, "low": 0.25, "high": 0.75, "paper": "0.35", "note": ""}
    return judged | {"where": "this suite"} | changes


@pytest.mark.slow
def test_the_first_page_tells_what_was_found_and_what_failed(tmp_path):
    rows = [claim(claim="Unsure", verdict="undecided"), claim()]
    executed(tmp_path, "01_a", "Title & A", findings=rows)
    executed(tmp_path, "02_b", "Title B", error="no such <column>", findings=[claim(claim="Kept")])
    store.write_text(tmp_path / "tables" / "01_a" / "t.csv", "x,y\n1,2\n")
    svg = "<svg><dc:description>A &lt; B</dc:description></svg>"
    store.write_text(tmp_path / "figures" / "01_a" / "f.svg", svg)
    pages.write(tmp_path)
    index = (tmp_path / "pages" / "index.html").read_text()
    assert "Title &amp; A" in index and "Why?" in index
    told = "<strong>holds</strong>, 0.50\xa0[0.25,\xa00.75] logits; the paper prints 0.35."
    assert f"<p>Sky is strong: {told}</p>" in index, "a decided claim comes before an undecided one"
    assert "02_b failed" in index and "ValueError: no such &lt;column&gt;" in index
    assert "ValueError" in (tmp_path / "pages" / "02_b.html").read_text(), "as far as it got"
    page = (tmp_path / "pages" / "01_a.html").read_text()
    assert told in page and "<mfrac>" in page and "http" not in page.split("</head>")[0]
    assert 'alt="A &lt; B"' in index and 'href="../tables/01_a/t.csv"' in page
    assert "Kept" in index, "what a notebook judged before it failed"
    assert len((tmp_path / "scorecard.csv").read_text().splitlines()) == 4
    assert not list(tmp_path.glob(".book-*"))
    made = json.loads((tmp_path / "run.json").read_text())
    assert made["torch"] == version("torch") and set(made["seconds"]) == {"01_a", "02_b"}
    assert made["commit"][:7] in index and made["processor"] in index


def test_pages_of_nothing_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no executed notebook"):
        pages.write(tmp_path)


def test_an_executed_notebook_cut_short_says_which_file_to_delete(tmp_path, monkeypatch):
    executed(tmp_path, "01_a", "Title A")
    path = tmp_path / "notebooks" / "01_a.ipynb"
    path.write_text(path.read_text()[:100])
    monkeypatch.setattr(sys, "argv", ["pages", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"01_a.ipynb cannot be read .* Delete that file"):
        pages.main()
