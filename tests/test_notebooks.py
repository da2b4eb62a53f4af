"""Guards over the notebooks: one template, executed in order, outputs stored, parameters typed."""

import ast
import re
import statistics

import nbformat
import papermill
import pytest

from helpers import store
from helpers.suite import notebooks, parameters

NOTEBOOKS = sorted((store.root() / "notebooks").glob("[0-9]*.ipynb"))
CHAPTERS = [path for path in NOTEBOOKS if not path.name.startswith("00")]
LESSONS = [path for path in NOTEBOOKS if path.stem != "00_start_here"]
LAST_SECTIONS = ["Findings", "Limits", "Exercises", "What to read next"]
SHOWS = re.compile(r"\b(run\.show|print)\(")


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [c for c in notebook.cells if c.cell_type == "code"]


def tags(cell):
    return cell.metadata.get("tags", [])


def name(path):
    return path.stem


every = pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
every_lesson = pytest.mark.parametrize("path", LESSONS, ids=name)
every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=name)


@every
def test_opens_by_the_template(path):
    first = read(path).cells[0]
    assert first.cell_type == "markdown"
    assert re.match(r"# \S.*\n\n> \S", first.source), "a title, then the question as a quote"
    for row in ("Reproduces", "You will see", "Time", "You need"):
        assert re.search(rf"^\| \**{row}\** \|", first.source, re.M), f"no row {row!r}"


@every_lesson
def test_ends_by_the_template(path):
    headings = [
        line[3:].strip()
        for cell in read(path).cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("## ")
    ]
    assert headings[-4:] == LAST_SECTIONS


@every_lesson
def test_parameters_come_first_and_are_checked_next(path):
    cells = code_cells(read(path))
    assert tags(cells[0]) == ["parameters"]
    assert tags(cells[1]) == ["check"]
    assert "check(" in cells[1].source


@every_lesson
def test_every_parameter_has_type_and_help_in_papermill(path):
    known = papermill.inspect_notebook(str(path))
    assert list(known) == list(parameters.defaults(path)), "papermill reads all of them"
    for parameter in known.values():
        assert parameter["inferred_type_name"] != "None", parameter
        assert len(parameter["help"]) > 10, parameter


@every
def test_executed_from_top_to_bottom(path):
    counts = [c.execution_count for c in code_cells(read(path))]
    assert counts == list(range(1, len(counts) + 1))


@every
def test_outputs_are_stored_and_hold_no_error(path):
    for cell in code_cells(read(path)):
        kinds = [o.output_type for o in cell.outputs]
        assert "error" not in kinds, cell.source
        assert not any(o.get("name") == "stderr" for o in cell.outputs), cell.source
        assert not any("\r" in o.get("text", "") for o in cell.outputs), "a line of progress"
        ends_in_value = isinstance((ast.parse(cell.source).body or [None])[-1], ast.Expr)
        if SHOWS.search(cell.source) or (ends_in_value and not cell.source.endswith(")")):
            assert kinds, f"no output stored for:\n{cell.source}"


@every_chapter
def test_figures_are_stored_with_a_caption_that_is_their_alternative_text(path):
    outputs = [output for cell in code_cells(read(path)) for output in cell.outputs]
    shown = [output.get("data", {}).get("text/html", "") for output in outputs]
    figures = [text for text in shown if "<img" in text]
    assert len(figures) >= 3 and not any("image/png" in o.get("data", {}) for o in outputs)
    for figure in figures:
        [alternative] = re.findall(r'alt="([^"]+)"', figure)
        assert len(alternative) > 20 and f">{alternative}</figcaption>" in figure


@every_chapter
def test_cells_are_short_and_few(path):
    """A method's cell, which is exported, has a limit for each function (tests/test_export.py)."""
    cells = code_cells(read(path))
    lengths = [len(c.source.splitlines()) for c in cells if not c.source.startswith("#| export")]
    assert 12 <= len(cells) <= 30
    assert max(lengths) <= 20
    assert statistics.median(lengths) <= 5


@every
def test_unchecked_cells_say_why_and_are_seconds_or_widgets(path):
    """Kernels are pinned: every other output is the same on any processor and must be compared."""
    for cell in code_cells(read(path)):
        assert "raises-exception" not in tags(cell)
        if {"nbval-ignore-output", "nbval-skip"} & set(tags(cell)):
            assert len(cell.metadata.get("reason", "")) > 20, cell.source
            is_widget = any(notebooks.MENUS in str(output.get("data")) for output in cell.outputs)
            depends = cell.metadata["reason"].startswith("depends on files beside the notebook")
            assert is_widget or depends or "seconds" in cell.source, (
                f"can be compared:\n{cell.source}"
            )


@every
def test_a_widget_waits_for_a_click(path):
    """What `interactive` draws when it appears, the client of a run sends back to the kernel while
    it waits for the cell's end: now and then the answer is lost, and the run waits for ever."""
    for cell in code_cells(read(path)):
        assert "interactive(" not in cell.source or '"manual": True' in cell.source


@every
def test_no_hidden_output_and_no_machine_paths(path):
    notebook = read(path)
    text = path.read_text()
    assert not any(c.source.rstrip().endswith(";") for c in code_cells(notebook))
    assert not re.search(r'(?<![\w./"])/(home|root|tmp|work|Users)/\w', text)
    assert path.stat().st_size <= 1_500_000


@every_lesson
def test_no_cell_rebinds_the_name_of_a_parameter(path):
    """So that the cell that checks the parameters can be run again at any time."""
    cells = code_cells(read(path))
    own, bound = set(parameters.defaults(path)), set()
    for cell in cells[1:]:
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [name for target in targets for name in ast.walk(target)]
                bound |= {name.id for name in names if isinstance(name, ast.Name)}
        if cell.source.startswith("#| export"):
            bound -= own  # in functions, which have names of their own
    assert not own & bound
