"""Figures of notebooks 09, 09b and 13: reports of gaps, and rates by group."""

import itertools
from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from helpers.figures import style
from helpers.figures.style import BLUE, INK, RED, Table

LEVEL = 0.05
SHADES = ("#E69F00", "#56A0D3", "#0072B2", "#003049")
SET_NAMES = {
    "vsany": "vsany: a group and everyone",
    "pairs": "pairs: two groups",
    "compl": "compl: a group and the rest",
}
GAPS = itertools.product(("abs", "rel"), ("max", "mean", "wmean_normalised"))
SHOWN = (*GAPS, ("srel", "max"))
KNOWN = {"none", "abs", "rel", "sabs", "srel"}  # comparisons; others are a user's own
REPORT = {  # legend of a report
    "the darker, the larger the gap": {"marker": "s", "color": "#6BAED6", "ms": 10},
    f"significant (adjusted p ≤ {LEVEL:g})": {
        "color": RED,
        "ms": 5,
    },
}


def grid(values: Table, corrected: Table) -> Figure:
    """Draw the gaps of a whole report: measures by (set, comparison, reduction).

    The columns are `SHOWN`, of which 0 is no bias, and the maximum of a user's own comparisons."""
    sets = [s for s in SET_NAMES if s in values.columns.unique(0)]
    own = [(name, "max") for name in values.columns.unique(1) if name not in KNOWN]
    chosen = [(s, *column) for s in sets for column in [*SHOWN, *own]]
    estimates, adjusted = values[chosen], corrected[chosen]
    figure, axes = plt.subplots(
        figsize=(1.4 + 0.5 * len(chosen), 2.2 + 0.32 * len(values))
    )
    shaded(axes, estimates, estimates, adjusted, 8)
    reductions = [how.replace("wmean_normalised", "wmean") for _, _, how in chosen]
    axes.set_xticks(range(len(chosen)), reductions, rotation=90, fontsize=9)
    for at, (which, comparison, _) in enumerate(chosen):
        if at == 0 or chosen[at - 1][:2] != (which, comparison):
            axes.text(at - 0.4, -1.75, comparison, fontsize=9)
        if at == 0 or chosen[at - 1][0] != which:
            axes.axvline(at - 0.5, color=INK, lw=1.5)
            axes.text(at - 0.4, -2.5, SET_NAMES[which], fontsize=10)
    significant = (adjusted <= LEVEL).to_numpy().sum()
    title = f"{significant} of these {adjusted.size} gaps are significant"
    return style.headed(figure, title, REPORT)


def shaded(ax, values: Table, size: Table, corrected: Table, font) -> None:
    """Write numbers on a ground that is darker for larger ones, with dots on significant ones."""
    texts = values.map("{:.2f}".format).replace({"nan": "–", "inf": "∞"})
    grounds = style.shades(np.clip(size.to_numpy(float), 0, 1) / 1.3, "Blues")
    style.cells(ax, grounds, texts, values.index, range(values.shape[1]), font)
    y, x = np.nonzero((corrected <= LEVEL).to_numpy())
    ax.plot(x + 0.36, y - 0.28, "o", color=RED, ms=3.6, mec="white", mew=0.5)
    ax.xaxis.tick_top()


def audit(table: Table, words: Mapping[str, str]) -> Figure:
    """Draw every group's rates, one panel per measure.

    The columns are attribute, group, measure, value, low and high. All panels are equally wide in
    units of the rate, so that gaps can be compared."""
    table = table.assign(row=table["attribute"] + " = " + table["group"])
    table["measure"] = table["measure"].map(words)
    spread = table.groupby("measure", sort=False).agg({"low": "min", "high": "max"})
    wide, across = 1.1 * (spread["high"] - spread["low"]).max(), min(4, len(spread))
    size = {"across": across, "width": 2.6 * across + 1.6, "sharex": False}
    legend = {"rate": {"color": BLUE, "ms": 5}}
    figure = style.forest(table, "value", "row", legend, panel="measure", **size)
    for ax, middle in zip(figure.axes, spread.mean(axis=1), strict=False):
        left = np.clip(middle - wide / 2, -0.02, max(1.02 - wide, -0.02))
        ax.set_xlim(left, left + wide)
        ax.locator_params(axis="x", nbins=4)
    ends = table.groupby(["measure", "attribute"], sort=False)["value"].agg(
        ["min", "max"]
    )
    name, by = (ends["max"] - ends["min"]).idxmax()
    low, high = ends.loc[(name, by)]
    title = f"The {name} differs most by {by}, from {low:.2f} to {high:.2f}"
    if len(ends) == 1:
        title = f"The {name} differs by {by}, from {low:.2f} to {high:.2f}"
    return style.headed(figure, title)
