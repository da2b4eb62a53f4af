"""Every figure of the suite: `plots.name(data) -> Figure`, drawn from a returned table.

`style` sets the look (called once by a notebook), `palette` gives a class its colour everywhere,
and `show` saves a figure, displays it with its alternative text and closes it.
"""

from helpers.plots.accuracy import accuracy_bars, confusion_grid, own_and_other_sets
from helpers.plots.diagrams import causal_graphs, distance_construction
from helpers.plots.effects import context_contrasts, planted_and_measured, table_1_distances
from helpers.plots.guesses import guesses
from helpers.plots.logits import logit_panels
from helpers.plots.pictures import framed, image_grid, mean_colours, planted_bias
from helpers.plots.showing import SET_COLOURS, palette, show, style

__all__ = [
    "SET_COLOURS",
    "accuracy_bars",
    "causal_graphs",
    "confusion_grid",
    "context_contrasts",
    "distance_construction",
    "framed",
    "guesses",
    "image_grid",
    "logit_panels",
    "mean_colours",
    "own_and_other_sets",
    "palette",
    "planted_and_measured",
    "planted_bias",
    "show",
    "style",
    "table_1_distances",
]
