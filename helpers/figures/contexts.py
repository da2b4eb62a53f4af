"""The figures of lessons 01 to 05 (*Assessing Biases through Visual Contexts*), in their order.

`colours` is the palette, from class to colour. `context_of` names the context of each class.
"""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from helpers.figures import style
from helpers.figures.style import FAINT, INK, WHISKERS, Table

# What lessons use from `style`.
framed, image_grid, palette, show = (
    style.framed,
    style.image_grid,
    style.palette,
    style.show,
)
context_name = style.context_name

Names = Mapping[str, str]
PAPER = {"marker": "D", "mfc": "white", "mec": INK, "ms": 6}
ORANGE = "#D55E00"
EMPTY, THEIRS = {"mfc": "white", "mew": 1.8}, PAPER | {"mfc": FAINT, "mec": FAINT}
BASELINE = {"marker": "|", "ms": 14, "mew": 2.5, "color": INK}


def causal_graphs() -> Figure:
    """Draw the causal graphs of object, context and prediction (Figure 3)."""
    graphs = {
        "(a) desired": ["OC", "OY"],
        "(b) suspected": ["OC", "OY", "CY"],
        "(c) after the intervention": ["OY", "CY"],
    }
    places = {"O": (0, 0), "C": (1, 1.5), "Y": (2, 0)}
    names = {"O": "object O", "C": "context C", "Y": "prediction Y"}
    figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.1))
    for ax, (title, arrows) in zip(axes, graphs.items(), strict=True):
        ax.set_title(title, loc="center")
        for start, end in arrows:
            arrow = {"arrowstyle": "-|>", "mutation_scale": 18}
            arrow["color"] = ORANGE if start == "C" else INK
            arrow["linewidth"] = 3 if start == "C" else 1.6
            arrow["shrinkA"] = arrow["shrinkB"] = 19
            ax.annotate("", places[end], places[start], arrowprops=arrow)
        for node, (x, y) in places.items():
            is_set = node == "C" and "intervention" in title
            circle = {"boxstyle": "circle", "ec": INK, "lw": 1.8}
            circle["fc"] = "#dddddd" if is_set else "white"
            middle = {"ha": "center", "va": "center"}
            ax.text(x, y, "c" if is_set else node, bbox=circle, fontsize=13, **middle)
            name = "do(C = c)" if is_set else names[node]
            ax.text(x, y + (0.6 if y else -0.6), name, fontsize=10, **middle)
        ax.set(xlim=(-0.7, 2.7), ylim=(-0.85, 2.3), aspect="equal")
        ax.set_axis_off()
    return figure


def by_class(
    tables: Mapping[str, Table], measures: Names, title: str, of="class"
) -> Figure:
    """Draw tables of shares, as of `effects.intervals`.

    There is one line per entry of the column `of`, one panel per measure, one mark per table.
    """
    parts = [table.assign(network=name) for name, table in tables.items()]
    table = style.stacked(pd.concat(parts), measures, "measure")
    looks = style.series(table["network"])
    fig = style.forest(table, "value", of, looks, "network", "measure", at=0)
    for ax in fig.axes:
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return style.headed(fig, title, looks, WHISKERS)
