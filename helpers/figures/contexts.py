"""The figures of lessons 01 to 05 (*Assessing Biases through Visual Contexts*), in their order.

`colours` is the palette, from class to colour. `context_of` names the context of each class.
"""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from helpers.figures import style
from helpers.figures.style import INK, SET_COLOURS, WHISKERS, Table

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
BASELINE = {"marker": "|", "ms": 14, "mew": 2.5, "color": INK}


def accuracy_bars(table: Table, n_classes: int) -> Figure:
    """Draw accuracies of `effects.accuracies`, with a column `paper` (share or NaN), as Figure 2."""
    fig, ax = plt.subplots(figsize=(9.5, 4.2))
    by = {"x": "model", "y": "accuracy", "hue": "test_set", "palette": SET_COLOURS}
    sns.barplot(table, **by, saturation=1, errorbar=None, legend=False, ax=ax)
    sets = table.groupby("test_set", sort=False)
    for bars, (name, part) in zip(list(ax.containers), sets, strict=True):
        look = {"label_type": "center", "color": style.readable_on(SET_COLOURS[name])}
        ax.bar_label(bars, part["accuracy"].map("{:.0%}".format), fontsize=8, **look)
        at = [bar.get_x() + bar.get_width() / 2 for bar in bars]
        for bar, is_own in zip(bars, part["train_set"] == name, strict=True):
            bar.set(ec=INK if is_own else "none", lw=2, zorder=1 + is_own)
        style.estimates(
            ax, part, "accuracy", at, vertical=True, marker="", color=INK, elinewidth=1
        )
        ax.plot(at, part["paper"], ls="", zorder=4, **PAPER)
    ax.axhline(1 / n_classes, **style.CHANCE, zorder=0)
    ax.text(ax.get_xlim()[1], 1 / n_classes, " chance", va="center", fontsize=8)
    ax.set(xlabel="model", ylabel="accuracy", ylim=(0, 1.08))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.tick_params(axis="x", length=0)
    own = table["train_set"] == table["test_set"]
    title = f"Accuracy on {table['test_set'].iloc[0]}, the only image set"
    if len(sets) > 1:
        least = table.loc[table.loc[~own, "accuracy"].idxmin()]
        title = f"Accuracy is {table.loc[own, 'accuracy'].min():.0%} or more on the own set and"
        title += f" falls to {least['accuracy']:.0%} outside it ({least['model']} on {least['test_set']})"
    looks = {
        f"tested on {n}": {"marker": "s", "ms": 10, "color": SET_COLOURS[n]}
        for n, _ in sets
    }
    return style.headed(
        fig, title, looks | _of_paper(table, "the paper's value"), WHISKERS
    )


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


def _of_paper(table: Table, label: str) -> dict:
    """Return the legend's entry of the paper's values, where there are any."""
    return {label: PAPER} if table["paper"].notna().any() else {}


def comparisons(table: Table, context_of: Names, title: str, units: Names) -> Figure:
    """Draw `methods.context_effects`: one panel per measure, one line per context.

    A measure is a method and a quantity, with its unit. Marks are comparisons.
    """
    of = table["method"] + ", " + table["quantity"]
    table = table.assign(
        panel=table["method"] + of.map(units).map(" ({})".format),
        line=table["context_class"].map(lambda name: context_name(name, context_of)),
    )
    looks = style.series(table["comparison"])
    size = {"across": 2, "apart": 0.25, "at": 0, "sharex": False}
    fig = style.forest(table, "effect", "line", looks, "comparison", "panel", **size)
    return style.headed(fig, title, looks, WHISKERS)


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
