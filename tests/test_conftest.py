"""Notebooks are compared strictly where the numbers are the suite's own, leniently elsewhere."""

import os
import subprocess
import sys

import nbformat
import pytest

from helpers import store

MACHINE = """import sys, types
sys.modules["kernels"] = types.SimpleNamespace(
    own_numbers=lambda: {own}, why_not=lambda: {why!r})
"""


CELLS = "print(2)", "print(1)", "1 / 0"  # as it is stored, otherwise, and an error


@pytest.fixture
def tested(tmp_path):
    """A function that tests a notebook on a machine of own or other numbers."""

    def run(own, *options):
        outputs = [nbformat.v4.new_output("stream", text="2\n")]
        cells = [
            nbformat.v4.new_code_cell(one, outputs=outputs, execution_count=1)
            for one in CELLS
        ]
        nbformat.write(
            nbformat.v4.new_notebook(cells=cells), tmp_path / "notebook.ipynb"
        )
        code = "import helpers\n" + MACHINE.format(own=own, why="It has no AVX2.")
        (tmp_path / "pretended.py").write_text(code)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "pretended",
            "-p",
            "conftest",
            "--nbval",
        ]
        result = subprocess.run(
            [*command, *options, "notebook.ipynb"],
            cwd=tmp_path,
            env=dict(os.environ, PYTHONPATH=f"{store.root()}:{tmp_path}"),
            capture_output=True,
            text=True,
        )
        return result.stdout.splitlines()[0], result.stdout

    return run


@pytest.mark.slow
def test_strict_where_the_numbers_are_the_suites_own(tested):
    first, output = tested(True)
    assert "leniently" not in output and "test session starts" in first
    assert "2 failed, 1 passed" in output, output


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_lenient_elsewhere_where_a_cell_may_not_fail_and_the_first_line_says_why(
    tested, options
):
    first, output = tested(False, *options)
    assert first.endswith("It has no AVX2.") and output.count("leniently") == 1
    assert "1 failed, 2 passed" in output, output
