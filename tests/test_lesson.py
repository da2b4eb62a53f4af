"""The run of a lesson: where its results go, and what is said when it was changed."""

import json
from types import SimpleNamespace

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest

from helpers import claims, lesson
from helpers.figures import style
from helpers.stats import Estimate

BLOCKS = "09_bias_building_blocks"
SIXTY = [Estimate("suite/blocks/sixty", (0.9, 0.8, 1.0))]


@pytest.fixture(autouse=True)
def outputs(tmp_path, monkeypatch):
    """Results go to a temporary folder."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    return tmp_path / "outputs"


def start(notebook=BLOCKS, **parameters):
    """Start a lesson with the defaults of 09 and other parameters."""
    defaults = {"draws": 999, "seed": 0, "output": lesson.own_output(notebook)}
    given = {**defaults, **parameters}
    return lesson.start(notebook, SimpleNamespace(given=given, **given))


@pytest.fixture
def displayed(monkeypatch):
    """Collect the rows of the findings that are displayed."""
    rows = []
    monkeypatch.setattr(
        lesson, "display", lambda _, raw, metadata: rows.extend(metadata["findings"])
    )
    return rows


@pytest.mark.parametrize(
    ("output", "named"),
    [(lesson.own_output(BLOCKS), False), ("demo", False), ("mine", True)],
)
def test_results_go_to_the_folder_that_output_names(outputs, output, named):
    run = start(output=output)
    assert run.folder == outputs / output
    assert run.named == named


def test_tables_are_saved_under_the_name_of_the_lesson():
    run = start()
    table = pd.DataFrame({"group": ["a", "b"], "rate": [0.25, 0.5]})
    assert run.table(table, "rates") is table
    saved = pd.read_csv(run.folder / "tables" / BLOCKS / "rates.csv")
    pd.testing.assert_frame_equal(saved, table)


@pytest.mark.parametrize(
    ("changed", "alt"),
    [({}, "A line that rises"), ({"seed": 3}, "Points by group")],
)
def test_an_alternative_text_describes_only_the_stored_run(monkeypatch, changed, alt):
    shown = []
    monkeypatch.setattr(style, "display", lambda data, raw: shown.append(data))
    figure, _ = plt.subplots()
    run = start(**changed)
    run.show(figure, "points", caption="Points by group", alt="A line that rises")
    [data] = shown
    assert data["text/plain"] == f"Figure points: {alt}"


def test_the_last_line_says_where_the_results_are(displayed, capsys):
    start().findings(SIXTY)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"The results are in single-runs/{BLOCKS}, below outputs/."


def test_findings_are_saved_and_stored_in_the_notebook(displayed):
    run = start()
    run.findings(SIXTY)
    record = json.loads((run.folder / "findings" / f"{BLOCKS}.json").read_text())
    assert record["findings"] == displayed
    assert record["settings"]["draws"] == 999
    output = nbformat.v4.new_output("display_data", metadata={"findings": displayed})
    cell = nbformat.v4.new_code_cell("run.findings(estimates)", outputs=[output])
    collected = claims.collect([(BLOCKS, nbformat.v4.new_notebook(cells=[cell]))])
    judged = claims.judge(BLOCKS, SIXTY)
    assert set(collected["notebook"]) == {BLOCKS}
    compared = ["id", "verdict", "estimate", "ci_low", "ci_high", "note"]
    pd.testing.assert_frame_equal(
        collected[compared], judged[compared], check_dtype=False
    )


@pytest.mark.parametrize(
    ("changed", "counted"), [({}, True), ({"seed": 3}, True), ({"draws": 99}, False)]
)
def test_seeds_are_counted_unless_a_parameter_but_the_seed_was_changed(
    displayed, capsys, changed, counted
):
    start(**changed).findings(SIXTY)
    seeds = {row["id"]: row["seeds"] for row in displayed}["suite/blocks/sixty"]
    assert (seeds != "") == counted
    said = f"You changed {', '.join(changed)}: the text of this lesson"
    assert (said in capsys.readouterr().out) == bool(changed)


def test_no_seeds_are_counted_of_an_edited_method(displayed, capsys, monkeypatch):
    monkeypatch.setattr(lesson, "edited_methods", lambda notebook: ["minp"])
    start().findings(SIXTY)
    assert {row["seeds"] for row in displayed} == {""}
    assert "You changed the method minp:" in capsys.readouterr().out


METHOD = (
    '#| export stats.any\nWIDTH = 2\n\n\ndef score(x):\n    "Twice."\n    return 2 * x'
)
CHOICE = 'own = {"score": score}  # the method: change it\nother = 1'


@pytest.mark.parametrize(
    ("executed", "edited"),
    [
        ([METHOD, CHOICE], []),
        ([METHOD.replace("2 * x", "3 * x")], ["score"]),
        ([METHOD.replace("2 * x", "3 * x"), METHOD], []),
        ([METHOD, METHOD.replace("= 2", "= 3"), "broken = ("], ["WIDTH"]),
        ([METHOD.replace("Twice", "Two times") + "  # a comment"], []),
        ([METHOD, CHOICE.replace("score}", "max}")], ["own"]),
        ([METHOD, CHOICE.replace("other = 1", "other = 2")], []),
        ([METHOD, "score = max"], ["score"]),
        ([], []),
    ],
    ids=[
        "as stored",
        "edited",
        "edited and taken back",
        "constant",
        "comment and docstring",
        "line called the method",
        "line beside it",
        "another function",
        "not run",
    ],
)
def test_methods_are_compared_with_the_stored_notebook(
    tmp_path, monkeypatch, executed, edited
):
    cells = [nbformat.v4.new_code_cell(text) for text in (METHOD, CHOICE)]
    path = tmp_path / "09_any.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    shell = SimpleNamespace(user_ns={"In": executed})
    monkeypatch.setattr(lesson, "get_ipython", lambda: shell)
    monkeypatch.setattr(lesson, "_stored_path", lambda notebook: path)
    assert lesson.edited_methods("09_any") == edited
