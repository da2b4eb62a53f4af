"""What every test shares: the folder of real inputs, and the quiet that stored outputs assume.

Notebooks are compared with their stored outputs where the machine gives the suite's own numbers;
elsewhere they are checked leniently, and the first line of a test run says so.
"""

import gc
import os
import sys
from pathlib import Path

import pytest

# tests run side by side: more threads would be in each other's way where kernels are not pinned
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("SUITE_THREADS", "1")

import forked
from helpers import store

os.environ.update(
    {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
)  # kernels of nbval, too
sys.path.insert(0, str(store.root() / "tests"))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Compare no outputs (nbval's lax mode) where this machine's numbers are not the suite's."""
    import pandas as pd  # after helpers, which pins the kernels

    pd.set_option(
        "mode.string_storage", "python"
    )  # as every run has it (`seed_everything`)
    config.add_cleanup(forked.begin("now" if config.option.nbval else "later"))
    if not config.option.nbval:
        return
    if hasattr(config, "workerinput"):
        own = config.workerinput["own_numbers"]
    else:
        import kernels

        own = kernels.own_numbers()
    if not own:
        config.option.nbval, config.option.nbval_lax = False, True


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """What the probe told is told to each of pytest-xdist's workers."""
    node.workerinput["own_numbers"] = not node.config.option.nbval_lax


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    """Say so in the first line; with pytest-xdist, once and not in every worker."""
    config = session.config
    if config.option.nbval_lax and not hasattr(config, "workerinput"):
        import kernels

        config.get_terminal_writer().line(
            f"Notebooks are checked leniently (every cell must run, outputs may differ). "
            f"{kernels.why_not()}"
        )


def pytest_collection_finish(session):
    """What is loaded by now is no garbage: statsmodels looks for some at every correction."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session):
    """DuckDB counts what is left at the end."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def real() -> Path:
    """Folder of real photographs and weights beside the checkout; the test skips without it."""
    folder = store.root().parent / "shared" / "real"
    if not folder.is_dir():
        pytest.skip("no real inputs beside the checkout (../shared/real)")
    return folder
