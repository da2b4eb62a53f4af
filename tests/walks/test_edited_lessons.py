"""Whoever edits a method of a lesson sees all later results change."""

import nbformat
import pytest
from edits_of_methods import calls_of_the_package
from executed import executed, printed

from helpers import store

LESSONS = {  # parameters that make a run short
    "01": {},
    "04": {},
    "05": {},
    "06": {"mosaics": 1},
    "07": {},
    "08": {"planted_frames": 150, "resamples": 10},
    "09": {"draws": 99},
    "09b": {},
    "10": {},
}


def path_of(chapter):
    [path] = (store.root() / "notebooks").glob(f"{chapter}_*.ipynb")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("chapter", LESSONS)
def test_no_later_cell_computes_with_the_packages_copy_of_an_edited_method(chapter):
    values = LESSONS[chapter] | {"output": "edited"}
    _, later = calls_of_the_package(path_of(chapter), values, store.outputs())
    assert not later, (
        "these cells call the package's function, not the one that was edited"
    )


@pytest.mark.slow
def test_an_edited_lesson_goes_on_with_other_results_and_says_what_differs(tmp_path):
    """Lesson 09 with a mean by size that is doubled."""
    path = path_of("09")
    lesson = nbformat.read(path, as_version=4)
    for cell in lesson.cells:
        cell.source = cell.source.replace(
            "return ((1 - np.abs(share_i - share_j)) * compared).sum(-1)",
            "return 2 * ((1 - np.abs(share_i - share_j)) * compared).sum(-1)",
        )
    edited = tmp_path / path.name
    nbformat.write(lesson, edited)
    values = {"draws": 99, "output": "edited"}
    ran = {
        name: executed(file, values, tmp_path / name)
        for name, file in (("stored", path), ("edited", edited))
    }
    said = printed(ran["edited"])
    assert "Your version differs from the package: spsf is" in said
    assert "You changed draws, the method wmean" in said

    def table(name, cell):
        return (
            next(c for c in ran[name].cells if c.get("id") == cell)
            .outputs[-1]
            .data["text/plain"]
        )

    for cell in ("09-wmean-2", "09-13"):
        assert table("edited", cell) != table("stored", cell), cell
