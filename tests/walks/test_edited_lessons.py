"""Whoever edits a method of a lesson sees all later results change."""

import nbformat
import pytest
from executed import executed, printed

from helpers import store


@pytest.mark.slow
def test_an_edited_lesson_goes_on_with_other_results_and_says_what_differs(tmp_path):
    """Lesson 09 with a mean by size that is doubled."""
    [path] = (store.root() / "notebooks").glob("09_*.ipynb")
    lesson = nbformat.read(path, as_version=4)
    before = "return np.nansum(weights * compared"
    after = "return 2 * np.nansum(weights * compared"
    for cell in lesson.cells:
        cell.source = cell.source.replace(before, after)
    edited = tmp_path / path.name
    nbformat.write(lesson, edited)
    values = {"draws": 99, "output": "edited"}
    plain_run = executed(path, values, tmp_path / "stored")
    edited_run = executed(edited, values, tmp_path / "edited")
    text = printed(edited_run)
    assert "Your version differs from the package: spsf is" in text
    assert "You changed draws, the method wmean" in text
    for cell in ("09-table-1", "09-13"):
        assert shown_table(edited_run, cell) != shown_table(plain_run, cell), cell


def shown_table(notebook, name):
    """Return the text of the table that a cell shows."""
    [cell] = [cell for cell in notebook.cells if cell.get("id") == name]
    return cell.outputs[-1].data["text/plain"]
