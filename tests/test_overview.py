"""What lessons and the site show of other lessons."""

import base64
import io
import re

import nbformat
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from helpers import overview

PAPERS = ("contexts", "focus", "icon2")
EXHIBITS = pd.concat(
    [
        pd.read_csv(
            overview.PAPER / f"{paper}_counterparts.csv", keep_default_na=False
        ).assign(paper=paper)
        for paper in PAPERS
    ]
)


@pytest.mark.parametrize(
    "paper, notebook, name",
    [
        (row.paper, row.notebook, row.name)
        for row in EXHIBITS.itertuples(index=False)
        if row.exhibit != "Table 1"
    ],
)
def test_a_figure_of_a_paper_has_a_counterpart_in_a_stored_lesson(
    paper, notebook, name
):
    assert "<img" in overview.figure(notebook, name).data


def test_a_table_of_a_paper_has_a_counterpart_in_a_stored_lesson():
    for row in EXHIBITS[EXHIBITS["exhibit"] == "Table 1"].itertuples(index=False):
        notebook = overview.read(overview.NOTEBOOKS / f"{row.notebook}.ipynb")
        code = "\n".join(cell.source for cell in notebook.cells)
        assert re.search(rf'run\.table\([^#]*"{row.name}"', code)


def test_claims_are_about_exhibits_that_are_listed():
    claims = pd.read_csv(overview.PAPER / "claims.csv", keep_default_na=False)
    claims = claims[claims["exhibit"] != ""]
    claims["exhibit"] = claims["exhibit"].str.split("; ")
    named = claims.explode("exhibit")[["by", "exhibit"]].itertuples(index=False)
    listed = EXHIBITS[["paper", "exhibit"]].itertuples(index=False)
    assert {tuple(pair) for pair in named} <= {tuple(pair) for pair in listed}


def test_a_missing_figure_is_named():
    with pytest.raises(KeyError, match="stores no figure 'nowhere'"):
        overview.figure("01_datasets", "nowhere")


def test_exhibits_count_the_verdicts_of_a_run():
    judged = pd.DataFrame(
        [
            {"id": "contexts/own-set", "verdict": "replicated"},
            {"id": "suite/focus/found", "verdict": "supported"},
        ]
    )
    counted = overview.exhibits("contexts", judged).set_index("exhibit")["verdicts"]
    claims = pd.read_csv(overview.PAPER / "claims.csv").set_index("id")
    [exhibit] = claims.loc[["contexts/own-set"], "exhibit"]
    assert counted[exhibit] == "replicated: 1"
    assert (counted.drop(exhibit) == "–").all()


def test_verdicts_are_counted_from_the_most_frequent():
    verdicts = pd.Series(["inconclusive", "replicated", "replicated"])
    assert overview.count_verdicts(verdicts) == "replicated: 2; inconclusive: 1"


def test_lessons_are_listed_with_their_question():
    rows = overview.table_of_lessons().data.splitlines()
    assert len(rows) == 2 + len(overview.lessons())
    assert "[01 datasets](01_datasets.ipynb)" in rows[2]
    assert "What could a model learn from such images" in rows[2]


def test_a_gallery_shows_a_part_of_a_figure(monkeypatch):
    pixels = np.arange(8 * 4 * 3, dtype=np.uint8).reshape(8, 4, 3)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    figure = base64.b64encode(file.getvalue()).decode()
    monkeypatch.setattr(overview, "png", lambda notebook, name: figure)
    part = (0.5, 0.25, 1, 0.75)
    shown = overview.gallery([("01_datasets", "figure", part, "a few words")]).data
    [image] = re.findall('base64,([^"]*)', shown)
    cropped = Image.open(io.BytesIO(base64.b64decode(image)))
    assert np.array_equal(cropped, pixels[2:6, 2:])


def test_a_widget_becomes_a_sentence():
    data = {overview.WIDGET: {"model_id": "1"}, "text/plain": "interactive(...)"}
    output = nbformat.v4.new_output("display_data", data)
    cell = nbformat.v4.new_code_cell("menu", outputs=[output])
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {}})
    overview.replace_widgets(notebook)
    assert notebook.cells[0].outputs[0].data["text/plain"].startswith("Here are menus")
    assert overview.WIDGET not in notebook.cells[0].outputs[0].data
    assert "widgets" not in notebook.metadata
