"""Set up pinned kernels, quiet programs and the folder of real inputs for all tests.

Notebooks are compared with their stored outputs where the kernels are pinned.
Elsewhere every cell must run, and the header of the test run says so.
"""

import gc
import os
import sys
from pathlib import Path

import pytest

import helpers

# tests run in parallel, so each has one thread, also if the kernels are not pinned
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("SUITE_THREADS", "1")
os.environ["TQDM_DISABLE"] = "1"
os.environ["PYTHONWARNINGS"] = "ignore"

import pandas as pd

from helpers import store

sys.path.insert(0, str(store.root() / "tests"))
LENIENT = (
    "The kernels are not pinned on this machine, so notebooks are checked leniently: "
    "every cell must run, and outputs may differ from the stored ones."
)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Compare no outputs of notebooks where the kernels are not pinned."""
    pd.set_option("mode.string_storage", "python")  # as in every run of a lesson
    if config.option.nbval and not helpers.pinned:
        config.option.nbval = False
        config.option.nbval_lax = True


def pytest_report_header(config):
    """Say that notebooks are checked leniently."""
    lenient = config.option.nbval_lax and not helpers.pinned
    return LENIENT if lenient else None


def pytest_collection_finish(session):
    """Exempt loaded objects from garbage collection, which statsmodels calls often."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session):
    """Undo the exemption, so that DuckDB can close its connections."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def real() -> Path:
    """Return the folder of real photographs and weights, or skip the test."""
    folder = store.root().parent / "shared" / "real"
    if not folder.is_dir():
        pytest.skip("no real inputs next to the checkout (../shared/real)")
    return folder
