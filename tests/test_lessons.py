"""The table of exhibits: complete, true to the stored notebooks, and counted as they judge."""

import re

import nbformat
import pandas as pd
import pytest

from helpers.suite import claims, lessons

LISTED = pd.read_csv(claims.TABLE.with_name("contexts_counterparts.csv"), keep_default_na=False)


def test_every_figure_and_table_of_the_paper_has_one_row():
    figures = [f"Figure {number}" for number in range(1, 17)]
    assert sorted(LISTED["exhibit"]) == sorted([*figures, "Table 1"])


@pytest.mark.parametrize("row", [*LISTED.itertuples()], ids=[*LISTED["exhibit"]])
def test_its_counterpart_is_in_the_stored_notebook(row):
    notebook = nbformat.read(lessons.NOTEBOOKS / f"{row.notebook}.ipynb", as_version=4)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    if row.exhibit.startswith("Figure"):
        assert "<img" in lessons.figure(row.notebook, row.name).data
    else:
        assert re.search(rf'run\.table\([^"]*"{row.name}"', code)


def test_claims_are_about_exhibits_that_are_listed():
    known = claims.read().query("exhibit != ''")
    named = {(claim.by, one) for claim in known.itertuples() for one in claim.exhibit.split("; ")}
    assert named <= {("contexts", exhibit) for exhibit in LISTED["exhibit"]}
    assert {exhibit for _, exhibit in named} >= {"Figure 2", "Figure 7", "Figure 11", "Table 1"}


def test_verdicts_are_counted_as_the_notebooks_are_stored(tmp_path, monkeypatch):
    names = {one.split("_")[0]: one for one in LISTED["notebook"]}
    for chapter in claims.read().query("by == 'contexts'")["notebook"].unique():
        found = claims.judge(chapter, [])  # nothing was measured: no claim has a counterpart
        if chapter == "02":
            found = found[:3].assign(verdict=[claims.AGREES, claims.UNDECIDED, claims.AGREES])
        kept = {"verdicts": found[["id", "of", "verdict"]].to_dict("records")}
        made = nbformat.v4.new_output("display_data", {"text/plain": "claims"}, metadata=kept)
        cell = nbformat.v4.new_code_cell("run.findings([])", outputs=[made])
        path = tmp_path / f"{names.get(chapter, chapter)}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    monkeypatch.setattr(lessons, "NOTEBOOKS", tmp_path)
    table = lessons.exhibits("contexts").set_index("exhibit")["its claims"]
    of_figure_2 = (claims.read()["exhibit"] == "Figure 2").sum()
    assert (
        table["Figure 2"] == f"2 agree, 1 undecided, {of_figure_2 - 3} without a stored verdict yet"
    )
    assert table["Figure 1"] == "an illustration"
    assert re.fullmatch(r"\d+ have no counterpart here", table["Figure 7"])
