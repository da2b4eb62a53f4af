"""Shares beside what guessing at random would give."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from helpers.figures.style import FAINT, INK, SET_COLOURS


def guesses(table: pd.DataFrame) -> Figure:
    """How often the class is guessed right from one number or few, a bar a set and region.

    Parameters
    ----------
    table : DataFrame
        From `colour.given_away`: set, region, accuracy, low, high, chance (shares).

    Returns
    -------
    Figure
    """
    fig, ax = plt.subplots(figsize=(8.5, 1.2 + 0.45 * len(table)))
    for y, row in enumerate(table.to_dict("records")):
        ax.barh(y, 100 * row["accuracy"], 0.62, color=SET_COLOURS.get(row["set"], FAINT))
        ax.hlines(y, 100 * row["low"], 100 * row["high"], color=INK, lw=1.6)
        ax.text(100 * row["high"] + 1.5, y, f"{row['accuracy']:.0%}", va="center", color=INK)
        ax.vlines(100 * row["chance"], y - 0.42, y + 0.42, color=INK, lw=1.2, ls=(0, (3, 2)))
    ax.set_yticks(range(len(table)), table["set"] + ", " + table["region"])
    ax.set(xlim=(0, 108), ylim=(len(table) - 0.4, -0.6))
    ax.set_xlabel("classes guessed right from one mean colour (%); dashed: guessing at random")
    return fig
