"""Importing this package pins the kernels: torch, numpy and scipy, loaded later, compute the same
bits on every x86-64 processor with AVX2, and so do programs started from here; not torch's `sqrt`,
`atan` and `acos`, which are not used. ``SUITE_PINNED=0`` turns the pins off: faster, other digits.
"""

import os
import platform
import sys
from pathlib import Path

PINS = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # torch's convolutions
    "MKL_CBWR": "COMPATIBLE",  # torch's matrix products; "AVX2" is other code on AMD processors
    "OPENBLAS_CORETYPE": "Haswell",  # linear algebra of numpy and scipy
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",  # all that numpy 2.4 has
    "OMP_NUM_THREADS": "1",  # sums are split by the number of threads
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
PROCESSOR = Path("/proc/cpuinfo")


def _pin() -> str | None:
    """Set the pins; None when they hold, else the reason why they do not."""
    if os.environ.get("SUITE_PINNED") == "0":
        return "the pins are turned off by SUITE_PINNED=0"
    if not (
        PROCESSOR.is_file() and {"avx2", "fma"} <= set(PROCESSOR.read_text().split())
    ):
        return "the pinned kernels are for Linux on x86-64 processors with AVX2"
    loaded = [name for name in ("torch", "numpy", "scipy") if name in sys.modules]
    before = {name: os.environ.get(name) for name in PINS}
    os.environ.update(PINS)  # also for what is loaded later, and for child processes
    if loaded and before != PINS:
        return f"{loaded[0]} was imported before helpers, which pins the kernels"
    return None


unpinned: str | None = _pin()
"""Why the kernels of this process are not pinned; None when they are."""

# a workflow computes nothing itself, and the kernels that it starts are pinned
quiet = "SUITE_PINNED" in os.environ or "snakemake" in sys.modules
if unpinned and not quiet and platform.machine() in ("x86_64", "AMD64"):
    cure = "Import helpers first. " if "imported before" in unpinned else ""
    print(
        f"Kernels are not pinned: {unpinned}. {cure}Numbers may differ from the suite's own.",
        file=sys.stderr,
    )
