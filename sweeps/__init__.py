"""Run lessons and measurements with many parameters and seeds."""

import helpers  # noqa: F401  the kernels are pinned before NumPy and torch load
