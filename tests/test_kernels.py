"""Pinned kernels: set before torch in every process, in force, and giving the stored digests."""

import json
import os
import re
import subprocess
import sys

import kernels
import nbformat
import numpy as np
import pytest
import threadpoolctl
import torch

import helpers
from helpers import store

ROOT = store.root()
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
pinnable = pytest.mark.skipif(
    helpers.unpinned is not None, reason=f"not pinned: {helpers.unpinned}"
)


def python(code: str, **changes: str) -> subprocess.CompletedProcess:
    """Run code in a fresh process that inherits no pins."""
    kept = {
        k: v for k, v in os.environ.items() if k not in (*helpers.PINS, "SUITE_PINNED")
    }
    environment = {**kept, "PYTHONPATH": str(ROOT), **changes}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )


# digests of what is computed


@pinnable
def test_every_digest_is_the_stored_one():
    """On every x86-64 processor with AVX2 and the locked libraries."""
    if kernels.other_versions():
        pytest.skip(f"other libraries than the locked ones: {kernels.other_versions()}")
    stored = json.loads(kernels.STORED.read_text())
    today = kernels.digests()
    assert today == stored, (
        "renew with `python tests/kernels.py --write` if the code changed"
    )


# the pins are set, and in force


def test_the_pins_are_set_before_torch_in_every_notebook():
    assert len(NOTEBOOKS) > 8
    for path in NOTEBOOKS:
        code = "\n".join(
            c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"
        )
        roots = re.findall(r"^(?:import|from) (\w+)", code, re.M)
        assert "helpers" in roots, f"{path.name} never imports helpers"
        heavy = {*roots[: roots.index("helpers")]} - {*sys.stdlib_module_names}
        assert not heavy, (
            f"{path.name} imports {heavy} before helpers, which pins the kernels"
        )


@pinnable
def test_the_pins_are_in_force_and_numpy_knows_the_names_that_it_is_told_not_to_use():
    assert {name: os.environ[name] for name in helpers.PINS} == helpers.PINS
    assert torch.backends.cpu.get_cpu_capability() == "AVX2"
    assert torch.get_num_threads() == 1
    libraries = {lib["filepath"]: lib for lib in threadpoolctl.threadpool_info()}
    blas = [lib for lib in libraries.values() if lib["internal_api"] == "openblas"]
    assert {lib["architecture"] for lib in blas} == {"Haswell"}
    assert {lib["num_threads"] for lib in libraries.values()} == {1}
    dispatched = np._core._multiarray_umath.__cpu_dispatch__
    told = helpers.PINS["NPY_DISABLE_CPU_FEATURES"].split()
    assert sorted(dispatched) == sorted(told)
    assert not any(np._core._multiarray_umath.__cpu_features__[name] for name in told)


@pinnable
def test_convolutions_and_matrix_products_say_that_they_are_pinned():
    code = (
        "import helpers, torch; x = torch.rand(32, 16, 24, 24, requires_grad=True);"
        "torch.nn.Conv2d(16, 16, 3)(x).sum().backward(); torch.rand(64, 64) @ torch.rand(64, 64)"
    )
    lines = python(code, ONEDNN_VERBOSE="1", MKL_VERBOSE="1").stdout.splitlines()
    ran = [line for line in lines if "convolution" in line]
    assert len(ran) >= 3  # forward, and backward to weights and data
    assert all("avx2" in line and "avx512" not in line for line in ran)
    products = [line for line in lines if "GEMM" in line]
    assert products
    assert all("CNR:COMPATIBLE" in line for line in products)


# and where they cannot be


def test_the_switch_turns_the_pins_off():
    code = "import os, helpers; print(helpers.unpinned, set(helpers.PINS) & set(os.environ))"
    run = python(code, SUITE_PINNED="0")
    assert run.stdout == "the pins are turned off by SUITE_PINNED=0 set()\n"
    assert run.stderr == ""


@pinnable
def test_who_imports_numpy_first_is_told_once_and_a_child_that_inherits_the_pins_is_not():
    run = python("import numpy, helpers, helpers.store; print(numpy.ones(2).sum())")
    assert run.stdout == "2.0\n"
    assert run.stderr.count("numpy was imported before helpers") == 1
    assert "Import helpers first" in run.stderr
    run = python("import numpy, helpers; print(helpers.unpinned)", **helpers.PINS)
    assert (run.stdout, run.stderr) == ("None\n", "")
