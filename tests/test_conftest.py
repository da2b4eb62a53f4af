"""Notebooks are compared strictly where the numbers are the suite's own, leniently elsewhere."""

import os
import subprocess
import sys

import forked
import nbformat
import pytest

import helpers
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
            nbformat.v4.new_code_cell(one, outputs=outputs, execution_count=1) for one in CELLS
        ]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebook.ipynb")
        code = "import helpers\n" + MACHINE.format(own=own, why="It has no AVX2.")
        (tmp_path / "pretended.py").write_text(code)
        command = [sys.executable, "-m", "pytest", "-p", "pretended", "-p", "conftest", "--nbval"]
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
def test_lenient_elsewhere_where_a_cell_may_not_fail_and_the_first_line_says_why(tested, options):
    first, output = tested(False, *options)
    assert first.endswith("It has no AVX2.") and output.count("leniently") == 1
    assert "1 failed, 2 passed" in output, output


FORK = """import sys
early = "torch" in sys.modules
import helpers
from tqdm import tqdm
assert early and helpers.unpinned == UNPINNED and tqdm([]).disable"""
READY = f"""import os, papermill, sys, time
while not os.path.exists(os.environ[{forked.PLACE!r}]):  # kernels before start as elsewhere
    time.sleep(0.1)
papermill.execute_notebook("a.ipynb", "b.ipynb")
sys.exit(7)"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux")
def test_kernels_of_a_run_are_forks_of_one_process_pinned_and_quiet(tmp_path):
    """And the status of what was run is handed on."""
    cell = nbformat.v4.new_code_cell(FORK.replace("UNPINNED", repr(helpers.unpinned)))
    about = {"kernelspec": {"name": "python3", "display_name": "", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata=about)
    nbformat.write(notebook, tmp_path / "a.ipynb")
    own = {**helpers.PINS, forked.PLACE: "", "JUPYTER_PATH": "", "TQDM_DISABLE": "1"}
    command = [sys.executable, store.root() / "tests/forked.py", "with", "-c", READY]
    environment = {name: value for name, value in os.environ.items() if name not in own}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
