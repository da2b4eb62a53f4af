"""Helpers of the suite: one module an idea; notebooks import from here.

Importing this package pins the kernels: before torch, numpy and scipy are loaded it sets the
environment variables that make them compute the same bits on every x86-64 processor with AVX2,
Intel or AMD (`tests/kernels.py` proves it). Programs started from here inherit them. Three
functions of torch escape them and are not used here: the last digits of `sqrt`, `atan` and `acos`
depend on the processor. Set ``SUITE_PINNED=0`` to turn the pins off: faster, with all threads, but
other last digits, hence other trained networks and other numbers.
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


def _cannot(cpuinfo: Path = Path("/proc/cpuinfo")) -> str | None:
    """Why the kernels of this machine cannot be pinned; None where they can."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"the pinned kernels are for x86-64 processors and this one is {platform.machine()}"
    if not cpuinfo.is_file():
        return f"the pinned kernels are for Linux and this is {platform.system()}"
    with cpuinfo.open() as lines:
        flags = next((line.split() for line in lines if line.startswith("flags")), [])
    return None if {"avx2", "fma"} <= set(flags) else "this processor has no AVX2"


def _pin() -> str | None:
    """Set the pins; None when they hold, else the reason why they do not."""
    if os.environ.get("SUITE_PINNED") == "0":
        return "the pins are turned off by SUITE_PINNED=0"
    reason = _cannot()
    if reason is None:
        loaded = [name for name in ("torch", "numpy", "scipy") if name in sys.modules]
        before = {name: os.environ.get(name) for name in PINS}
        os.environ.update(PINS)  # also for what is loaded later, and for child processes
        if loaded and before != PINS:
            reason = f"{loaded[0]} was imported before helpers, which pins the kernels"
    return reason


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
