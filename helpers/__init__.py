"""Pin the kernels of torch, NumPy and SciPy as soon as this package is imported.

These environment variables make the libraries compute the same bits on every Linux
machine whose x86-64 processor has AVX2. Programs that are started from here inherit
them. Torch's `sqrt`, `atan` and `acos` are exceptions, so the package does not call
them.
"""

import os
import sys
from pathlib import Path

PINS = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # torch's convolutions
    "MKL_CBWR": "COMPATIBLE",  # torch's matrix products; AVX2 differs on AMD
    "OPENBLAS_CORETYPE": "Haswell",  # linear algebra of NumPy and SciPy
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "OMP_NUM_THREADS": "1",  # sums are split by the number of threads
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
PINNED_LIBRARIES = {"torch", "numpy", "scipy"}
PROCESSOR = Path("/proc/cpuinfo")


def _pin() -> bool:
    """Set the environment variables, and return whether they take effect."""
    processor = PROCESSOR.read_text() if PROCESSOR.is_file() else ""
    if not {"avx2", "fma"} <= set(processor.split()):
        return False
    inherited = all(os.environ.get(name) == value for name, value in PINS.items())
    os.environ.update(PINS)
    return inherited or not PINNED_LIBRARIES & sys.modules.keys()


pinned = _pin()
"""Whether the kernels of this process are pinned.

False on other processors, or if torch, NumPy or SciPy was imported before.
"""
