"""Every figure of the suite: `plots.name(data) -> Figure`, drawn from a returned table.

`style` sets the look (called once by a notebook), `palette` gives a class its colour everywhere,
and `show` saves a figure, displays it with its alternative text and closes it.
"""

from helpers.figures.accuracy import (
    accuracy_bars,
    accuracy_by_training,
    confusion_grid,
    own_and_other_sets,
)
from helpers.figures.checks import paste_counts, two_methods
from helpers.figures.diagrams import causal_graphs, distance_construction
from helpers.figures.effects import context_contrasts, planted_and_measured, table_1_distances
from helpers.figures.explanations import answers, background_share, dose_response, explained
from helpers.figures.guesses import guesses
from helpers.figures.logits import logit_panels
from helpers.figures.pictures import framed, image_grid, mean_colours, planted_bias
from helpers.figures.style import SET_COLOURS, palette, show, style

__all__ = [
    "SET_COLOURS",
    "accuracy_bars",
    "accuracy_by_training",
    "answers",
    "background_share",
    "causal_graphs",
    "confusion_grid",
    "context_contrasts",
    "distance_construction",
    "dose_response",
    "explained",
    "framed",
    "guesses",
    "image_grid",
    "logit_panels",
    "mean_colours",
    "own_and_other_sets",
    "palette",
    "paste_counts",
    "planted_and_measured",
    "planted_bias",
    "show",
    "style",
    "table_1_distances",
    "two_methods",
]
