"""The book of a run: what its first page says, and what happens where a notebook is not whole."""

import json
import sys
from importlib.metadata import version

import nbformat
import pandas as pd
import pytest
import yaml

from helpers import claims, store
from helpers.contexts.sweep import BEST
from helpers.suite import notebooks, pages

PYTHON = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}


SOLVED = "### BEGIN SOLUTION\nsecret = 7\n### END SOLUTION"
FIGURE = (
    '<figure><img src="data:image/png;base64,iVBORw0KGgo=" alt="A &lt; B"></figure>'
)


def executed(folder, name, title, error=None, findings=()):
    """A notebook of one lesson as a run leaves it, in `notebooks` or, where it failed, `logs`."""
    opening = nbformat.v4.new_markdown_cell(
        f"# {title}\n\n> Why?\n\nWith $\\frac{{a}}{{b}}$."
    )
    sources = [
        "1",
        "2",
        "import a",
        "run = lesson.start(a)",
        SOLVED,
        "run.show(1, 'f', 'A < B')",
    ]
    cells = [opening, *map(nbformat.v4.new_code_cell, sources)]
    cells[5].metadata = {"nbgrader": {"solution": True}, "tags": ["hide-input"]}
    judged = {"findings": [*findings]}
    cells[2].outputs = [
        nbformat.v4.new_output("display_data", {"text/plain": "-"}, metadata=judged)
    ]
    data = {"text/html": FIGURE, "text/plain": "Figure f: A < B"}
    cells[6].outputs = [nbformat.v4.new_output("display_data", data)]
    if error:
        cells[1].outputs = [
            nbformat.v4.new_output("error", ename="ValueError", evalue=error)
        ]
        cells[1].outputs[0].traceback = ["ValueError"]
    place = folder / ("logs" if error else "notebooks") / f"{name}.ipynb"
    store.write_text(
        place, nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=PYTHON))
    )


def claim(**changes):
    judged = {
        "id": "sky",
        "claim": "Sky is strong",
        "verdict": claims.SUPPORTED,
        "unit": "logits",
    }
    judged |= {
        "estimate": 0.5,
        "ci_low": 0.25,
        "ci_high": 0.75,
        "paper": "0.35",
        "note": "",
    }
    return judged | {"source": "this suite"} | changes


@pytest.mark.slow
def test_the_first_page_tells_what_was_found_and_what_failed(tmp_path):
    rows = [claim(claim="Unsure", verdict=claims.INCONCLUSIVE), claim()]
    executed(tmp_path, "01_a", "Title & A", findings=rows)
    executed(
        tmp_path,
        "02_b",
        "Title B",
        error="no such <column>",
        findings=[claim(claim="Kept")],
    )
    store.write_text(tmp_path / "tables" / "01_a" / "t.csv", "x,y\n1,2\n")
    pages.write(tmp_path)
    index = (tmp_path / "pages" / "index.html").read_text()
    assert "Title &amp; A" in index and "Why?" in index
    told = "<strong>holds</strong>: Sky is strong: 0.50\xa0[0.25,\xa00.75] logits; the paper: 0.35."
    assert f"<p>{told}</p>" in index, "a decided claim comes before an undecided one"
    assert "02_b failed" in index and "ValueError: no such &lt;column&gt;" in index
    assert "ValueError" in (tmp_path / "pages" / "02_b.html").read_text(), (
        "as far as it got"
    )
    page = (tmp_path / "pages" / "01_a.html").read_text()
    assert told in page and "<mfrac>" in page and "http" not in page.split("</head>")[0]
    assert 'alt="A &lt; B"' in index and 'href="../tables/01_a/t.csv"' in page
    order = [
        page.index(text)
        for text in ("Why?", told, 'src="_static/01_a/f.png"', "<mfrac>")
    ]
    assert order == sorted(order), "a lesson's first screen"
    assert page.count("Show the code") == 1, (
        "parameters, check and imports are one folded line"
    )
    assert "Show a solution" in page
    start = (tmp_path / "pages" / "00_start_here.html").read_text()
    assert "Read 01 to 05" in start and "01_datasets.html" not in start, (
        "it did not run"
    )
    kept = (tmp_path / "scorecard.csv").read_text()
    assert len(kept.splitlines()) == 4 and "Kept" in kept, (
        "what was judged before it failed"
    )
    assert not list(tmp_path.glob(".book-*"))
    made = json.loads((tmp_path / "run.json").read_text())
    assert made["torch"] == version("torch") and set(made["seconds"]) == {
        "01_a",
        "02_b",
    }
    assert made["commit"][:7] in index and made["processor"] in index


def test_pages_of_nothing_or_of_a_notebook_cut_short_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["pages", str(tmp_path)])
    with pytest.raises(SystemExit, match="no executed notebook"):
        pages.main()
    executed(tmp_path, "01_a", "Title A")
    path = tmp_path / "notebooks" / "01_a.ipynb"
    path.write_text(path.read_text()[:100])
    with pytest.raises(
        SystemExit, match=r"01_a.ipynb cannot be read .* Delete that file"
    ):
        pages.main()


def test_the_table_of_exhibits_counts_the_whole_run(tmp_path, monkeypatch):
    """Whatever had been judged when its lesson ran."""
    executed(tmp_path, "01_a", "Title A")
    path = tmp_path / "notebooks" / "01_a.ipynb"
    notebook = nbformat.read(path, as_version=4)
    early = nbformat.v4.new_output("display_data", {"text/markdown": "| nothing yet |"})
    cell = nbformat.v4.new_code_cell(
        "exhibits", outputs=[early], metadata={"exhibits": "contexts"}
    )
    notebook.cells.append(cell)
    nbformat.write(notebook, path)
    of_figure_2 = claim(id="contexts/own-set", verdict=claims.INCONCLUSIVE)
    executed(tmp_path, "02_b", "Title B", findings=[of_figure_2])
    monkeypatch.setattr(
        pages, "_build", lambda source, place, about: source.rename(place)
    )
    pages.write(tmp_path)
    page = (tmp_path / "pages" / "01_a.ipynb").read_text()
    assert "nothing yet" not in page and "inconclusive: 1; not run yet: 10 |" in page


def test_the_first_lines_tell_what_found_what_was_planted():
    rows = [
        claim(id="suite/focus/found", subject="40", estimate=0.9),
        claim(id="suite/focus/alarms", subject="10", estimate=0.1),
        claim(id="suite/contexts/power", subject=BEST, verdict=claims.INCONCLUSIVE),
        claim(id="icon2/ranks-first", subject="", verdict=claims.REPORTED_ONLY),
        claim(
            id="icon2/rule/alarm",
            subject="the scenes differ by 1.5",
            source="icon2, section 3",
            verdict=claims.NOT_REPLICATED,
        ),
        claim(
            id="suite/blocks/sixty",
            source="blocks, section 1",
            verdict=claims.REPORTED_ONLY,
        ),
    ]
    findings = pd.DataFrame([{"notebook": "01_a", "seeds": ""} | row for row in rows])
    page = pages.first(findings, [], {})
    assert (
        "painting it over showed this in 90% of 120 trials" in page
        and "in 10% of 120." in page
    )
    assert "contexts shown alone" not in page.split("##")[0], (
        "three of its claims were not judged"
    )
    interval = "0.50\xa0[0.25,\xa00.75]"
    assert f"an innocent attribute in {interval} (*not replicated*)." in page
    assert f"between sixty groups reads {interval} more" in page, (
        "told without a verdict"
    )
    assert "GradCAM++" not in page, "it was not judged"
    assert "✓ 2" in page and "✗ 1" in page and "? 1" in page
    empty = pages.first(findings[:0], [], {"02_b": "x < y"})
    assert "planted" not in empty.split("##")[0] and "x &lt; y" in empty


def test_what_the_first_page_says_is_about_claims_and_a_figure_that_there_are():
    say = yaml.safe_load((notebooks.BOOK / "front.yml").read_text())
    named = [*(one for paper in say["papers"].values() for one in paper["says"])]
    stored = notebooks.findings(notebooks.lessons())
    known = {*zip(stored["id"], stored["subject"], strict=True)}
    three = [claim for one in say["three"] for claim in one["claims"]]
    assert {tuple(one) for one in [*three, *(one["claim"] for one in named)]} <= known
    notebooks.figure(say["picture"]["lesson"], say["picture"]["figure"])
    for path in notebooks.lessons():
        lesson, rows = notebooks.read(path), stored[stored["notebook"] == path.stem]
        if rows.empty:  # an audit of the reader's own has no claims
            continue
        chosen, (row, figure) = (
            lesson.cells[0].metadata,
            pages.telling(lesson, rows, notebooks.pictures(lesson)),
        )
        assert chosen["headline"] in (row["id"], f"{row['id']}: {row['subject']}"), (
            path.stem
        )
        assert chosen["thumbnail"] == figure, path.stem
