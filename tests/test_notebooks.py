"""Guards over the notebooks: their template, stored outputs and typed parameters."""

import ast
import dis
import re
from functools import cache

import nbformat
import papermill
import pytest

from helpers import overview, store
from helpers.workflow import defaults

NOTEBOOKS = sorted((store.root() / "notebooks").glob("[0-9]*.ipynb"))
CHAPTERS = [path for path in NOTEBOOKS if not path.name.startswith("00")]
LESSONS = [path for path in NOTEBOOKS if path.stem != "00_start_here"]
LAST_SECTIONS = ["Findings", "Limits", "Exercises", "What to read next"]
SHOWS = re.compile(r"\b(run\.show|print)\(")
MACHINE = re.compile(r'(?<![\w./"])/(home|root|tmp|work|Users)/\w')

every, every_lesson, every_text = (
    pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)
    for paths in (NOTEBOOKS, LESSONS, [NOTEBOOKS[0], *CHAPTERS])
)


@cache
def cells(path, kind="code"):
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == kind]


def tags(cell):
    return cell.metadata.get("tags", [])


@every
def test_opens_and_ends_by_the_template(path):
    texts = [cell.source for cell in cells(path, "markdown")]
    assert nbformat.read(path, as_version=4).cells[0].source == texts[0]
    assert re.match(r"# \S.*\n\n> \S", texts[0]), (
        "a title, then the question as a quote"
    )
    for row in ("Reproduces", "You will see", "Time", "You need"):
        assert re.search(rf"^\| \**{row}\** \|", texts[0], re.M), f"no row {row!r}"
    headings = re.findall(r"^## (.*?)\s*$", "\n".join(texts), re.M)
    sections = [heading for heading in headings if not heading.startswith("Appendix")]
    assert sections[-4:] == LAST_SECTIONS or path not in LESSONS


@every_lesson
def test_parameters_come_first_with_type_and_help_and_are_checked_next(path):
    first, second = cells(path)[:2]
    assert "parameters" in tags(first) and "hide-input" in tags(first)
    assert "check" in tags(second) and "check(" in second.source
    own = defaults(path)
    known = papermill.inspect_notebook(str(path))
    assert set(known) == set(own), "papermill does not list a type such as Literal[...]"
    for parameter in known.values():
        assert len(parameter["help"]) > 10, parameter


@every
def test_outputs_are_stored_from_top_to_bottom_and_hold_no_error(path):
    counts = [cell.execution_count for cell in cells(path)]
    assert counts == list(range(1, len(counts) + 1))
    for cell in cells(path):
        kinds = [o.output_type for o in cell.outputs]
        assert "error" not in kinds, cell.source
        assert not any(o.get("name") == "stderr" for o in cell.outputs), cell.source
        assert not any("\r" in o.get("text", "") for o in cell.outputs), (
            "a line of progress"
        )
        assert not cell.source.rstrip().endswith(";"), "a hidden output"
        ends_in_value = isinstance(
            (ast.parse(cell.source).body or [None])[-1], ast.Expr
        )
        if SHOWS.search(cell.source) or (
            ends_in_value and not cell.source.endswith(")")
        ):
            assert kinds, f"no output stored for:\n{cell.source}"
    assert not MACHINE.search(path.read_text()) and path.stat().st_size <= 1_500_000


@every_text
def test_figures_are_stored_with_a_caption_and_an_alternative_text(path):
    data = [output.get("data", {}) for cell in cells(path) for output in cell.outputs]
    figures = [text for one in data if "<img" in (text := one.get("text/html", ""))]
    assert len(figures) >= 3 and not any("image/png" in one for one in data)
    for figure in figures:
        alternatives = re.findall(r'alt="([^"]+)"', figure)
        captions = re.findall(r"<figcaption[^>]*>([^<]+)</figcaption>", figure)
        assert len(alternatives) == len(captions) == figure.count("<img")
        texts = alternatives + captions
        lengths = [len(text) for text in texts]
        assert min(lengths) > 20


@every_lesson
def test_numbers_of_what_we_found_are_in_the_stored_outputs(path):
    """Numbers on the first screen are those of the default run, or the paper's."""
    [opening] = [c.source for c in cells(path, "markdown") if c.source.startswith("# ")]
    if "**What we found**" not in opening:
        return
    sentences = opening.partition("**What we found**")[2].partition("\n|")[0]
    sentences = re.sub(r"^\d\. |lesson \d+|95%", "", sentences, flags=re.M)
    numbers = re.findall(r"-?\d+(?:\.\d+)?%?", sentences)
    assert numbers
    outputs = [output for cell in cells(path) for output in cell.outputs]
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    printed = re.findall(r"-?\d+(?:\.\d+)?%?", " ".join(texts))
    percentages = {number for number in printed if number.endswith("%")}
    printed = {round(float(number.rstrip("%")), 2) for number in printed}
    for number in numbers:
        if number in percentages:
            continue
        value = float(number.rstrip("%")) / (100 if number.endswith("%") else 1)
        assert round(value, 2) in printed, f"{number} is printed nowhere"


@every_lesson
def test_figures_attached_to_the_first_cell_are_those_of_the_notebook(path):
    """`helpers.execute` attaches them."""
    notebook = overview.read(path)
    for name, image in notebook.cells[0].get("attachments", {}).items():
        shown = overview.png(notebook, name.removesuffix(".png"))
        assert image == {"image/png": shown}


@every
def test_unchecked_cells_say_why_and_are_seconds_or_widgets(path):
    """Kernels are pinned, so every other output is the same on any processor.

    What `interactive` draws by itself comes back while a run waits, and may be lost.
    """
    for cell in cells(path):
        assert "interactive(" not in cell.source or '"manual": True' in cell.source
        assert ("raises-exception" in tags(cell)) == ("nbgrader" in cell.metadata)
        if {"nbval-ignore-output", "nbval-skip"} & set(tags(cell)):
            assert len(cell.metadata.get("reason", "")) > 20, cell.source
            is_widget = any(
                overview.WIDGET_SENTENCE in str(output.get("data"))
                for output in cell.outputs
            )
            depends = cell.metadata["reason"].startswith(
                "depends on files beside the notebook"
            )
            why = f"can be compared:\n{cell.source}"
            assert is_widget or depends or "seconds" in cell.source, why


@every_lesson
def test_no_cell_rebinds_the_name_of_a_parameter(path):
    """So that the cell that checks the parameters can be run again at any time."""
    own = set(defaults(path))
    for cell in cells(path)[1:]:
        steps = dis.get_instructions(cell.source)  # by =, for, with, import, def, :=
        rebound = own & {step.argval for step in steps if step.opname == "STORE_NAME"}
        assert not rebound, cell.source
