"""What every test shares: the folder of real inputs, and the quiet that stored outputs assume."""

import os
from pathlib import Path

import pytest

# tests run side by side: more threads would be in each other's way where kernels are not pinned
os.environ.setdefault("OMP_NUM_THREADS", "1")

from helpers import project  # pins the kernels, of the notebooks' too: nbval's kernels inherit them
from helpers.stored import QUIET

os.environ.update(QUIET)  # kernels started by nbval inherit it


@pytest.fixture(scope="session")
def real() -> Path:
    """Folder of real photographs and weights beside the checkout; the test skips without it."""
    folder = project.root().parent / "shared" / "real"
    if not folder.is_dir():
        pytest.skip("no real inputs beside the checkout (../shared/real)")
    return folder
