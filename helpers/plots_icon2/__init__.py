"""Figures of notebook 08, each drawn from a table that :mod:`helpers.icon2` returned."""

from helpers.plots_icon2.controls import (
    CONTROLS,
    before_and_after,
    chooser,
    controlled_cells,
    one_control,
    values_and_shares,
)
from helpers.plots_icon2.groups import (
    groups_by_class,
    instance_counts,
    printed_sigmas,
    rankings,
)
from helpers.plots_icon2.worlds import error_rates, readings

__all__ = [
    "CONTROLS",
    "before_and_after",
    "chooser",
    "controlled_cells",
    "error_rates",
    "groups_by_class",
    "instance_counts",
    "one_control",
    "printed_sigmas",
    "rankings",
    "readings",
    "values_and_shares",
]
