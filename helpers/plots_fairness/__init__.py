"""Figures of bias reports, each drawn from a returned table."""

from helpers.plots_fairness.gaps import group_rates, null_of_worst_case, suite, ten_readings
from helpers.plots_fairness.reports import bars, figure_1, grid, rocs

__all__ = [
    "bars",
    "figure_1",
    "grid",
    "group_rates",
    "null_of_worst_case",
    "rocs",
    "suite",
    "ten_readings",
]
