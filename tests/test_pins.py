"""Pinned kernels, and how strictly notebooks are compared with their stored outputs."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
import threadpoolctl
import torch

import helpers
from helpers import store

ROOT = store.root()
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
needs_pins = pytest.mark.skipif(not helpers.pinned, reason="kernels are not pinned")
NO_PINS = {name: text for name, text in os.environ.items() if name not in helpers.PINS}
TEST_NOTEBOOK = """
import {first}, {second}
import pytest
pytest.main(["-p", "conftest", "--nbval", "notebook.ipynb"])
"""


@needs_pins
def test_the_pins_are_in_force():
    assert torch.backends.cpu.get_cpu_capability() == "AVX2"
    assert torch.get_num_threads() == 1
    libraries = threadpoolctl.threadpool_info()
    assert {library["num_threads"] for library in libraries} == {1}
    blas = [library for library in libraries if library["internal_api"] == "openblas"]
    assert {library["architecture"] for library in blas} == {"Haswell"}


@needs_pins
def test_the_pins_do_not_hold_if_numpy_was_imported_before():
    for imports, pinned in (("numpy, helpers", False), ("helpers, numpy", True)):
        code = f"import {imports}; print(helpers.pinned)"
        command = [sys.executable, "-c", code]
        output = subprocess.check_output(command, env=NO_PINS, cwd=ROOT, text=True)
        assert output == f"{pinned}\n"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_imports_the_pins_before_other_libraries(path):
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    packages = re.findall(r"^(?:import|from) (\w+)", code, re.M)
    before = set(packages[: packages.index("helpers")])
    assert before <= sys.stdlib_module_names


@needs_pins
@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("helpers", "numpy", "2 failed, 1 passed"),
        ("numpy", "helpers", "1 failed, 2 passed"),
    ],
    ids=["strict", "lenient"],
)
def test_outputs_are_compared_only_where_the_kernels_are_pinned(
    first, second, outcome, tmp_path
):
    """The cells print what is stored, print something else, and raise an error."""
    stored = [nbformat.v4.new_output("stream", text="2\n")]
    cells = [
        nbformat.v4.new_code_cell(code, outputs=stored, execution_count=1)
        for code in ("print(2)", "print(1)", "1 / 0")
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebook.ipynb")
    code = TEST_NOTEBOOK.format(first=first, second=second)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=NO_PINS | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert outcome in done.stdout
    assert ("checked leniently" in done.stdout) == (first == "numpy")
