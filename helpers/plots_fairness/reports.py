"""Figures of whole reports and of curves: Figure 1 of the paper, one measure by group, abroca."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from helpers.fairness.reports import Report
from helpers.plots_fairness.shared import CALM, FAINT, INK, MARKED

SET_NAMES = {
    "vsany": "vsany\ngroup vs everyone",
    "pairs": "pairs\ntwo groups",
    "compl": "compl\ngroup vs rest",
}
FIGURE_1 = {
    "min": ("pairs", "none", "min"),
    "wmean": ("vsany", "none", "wmean_normalised"),
    "minratio": ("pairs", "srel", "max"),  # 1 - the cell: the smallest ratio of two groups
    "maxdiff": ("pairs", "abs", "max"),
    "maxdiff,\neveryone": ("vsany", "abs", "max"),
}
"""Columns of a report as FairBench prints it, by the blocks they are made of."""


def bars(values: pd.Series, label: str = "") -> Figure:
    """One bar a group, largest first."""
    values = values.astype(float).sort_values()
    figure, axes = plt.subplots(figsize=(6, 0.6 + 0.28 * len(values)))
    axes.barh(values.index.astype(str), values, color=CALM)
    axes.bar_label(axes.containers[0], fmt="%.3f", padding=3, fontsize=8)
    axes.set_xlabel(label)
    return figure


def figure_1(report: Report, level: float = 0.05) -> Figure:
    """The report as the paper prints it: values of few columns; those beyond chance are filled.

    Parameters
    ----------
    report : Report
        With permutations, of the measures that are to be shown and the cells of `FIGURE_1`.
    level : float
        A cell with p at most this is filled. Cells that are no gap (min, wmean) never are.
    """
    value, p = report.table(), report.table("p")
    figure, axes = plt.subplots(figsize=(1.4 + 1.05 * len(FIGURE_1), 0.9 + 0.34 * len(value)))
    for column, (name, blocks) in enumerate(FIGURE_1.items()):
        gap = blocks[1] != "none"
        for row, found in enumerate(value[blocks]):
            shown = 1 - found if name == "minratio" else found
            beyond = gap and p[blocks].iloc[row] <= level
            if beyond:
                axes.add_patch(plt.Rectangle((column - 0.47, row - 0.44), 0.94, 0.88, color=MARKED))
            text = "–" if np.isnan(shown) else f"{shown:.2f}"
            colour = "white" if beyond else INK if gap else FAINT
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=11)
    axes.set(xlim=(-0.5, len(FIGURE_1) - 0.5), ylim=(len(value) - 0.5, -0.5))
    axes.set_xticks(range(len(FIGURE_1)), FIGURE_1)
    axes.set_yticks(range(len(value)), value.index)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    patch = plt.Rectangle((0, 0), 1, 1, color=MARKED, label=f"more than chance (p ≤ {level:g})")
    figure.legend(handles=[patch], loc="outside lower center")
    return figure


def grid(report: Report, level: float = 0.05, correction: str = "p_bh") -> Figure:
    """Every cell of a report on one page (the paper's Figure 1), significant ones marked.

    Parameters
    ----------
    report : Report
        With permutations, a dot marks cells whose corrected p is at most `level`; without, none.
    level : float
    correction : {"p", "p_holm", "p_bh", "p_minp"}

    Returns
    -------
    Figure
        A panel a comparison set, a block of columns a comparison. Colour is the p value where there
        is one, else the value; a dash is a cell that is not estimable or that shuffling cannot
        change. Columns that have nothing but dashes are left out.
    """
    tested = correction in report.cells
    sets, wide = list(report.cells["set"].unique()), report.table()
    shown = report.table("p") if tested else wide
    said = shown.notna().any().groupby(level=[1, 2], sort=False).transform("any")
    wide, shown = wide.loc[:, said], shown.loc[:, said]
    marked = report.table(correction).loc[:, said] <= level if tested else None
    columns = max(wide[s].shape[1] for s in sets)
    figure, axes = plt.subplots(
        len(sets),
        1,
        figsize=(1.6 + 0.26 * columns, 1.5 + 0.27 * len(sets) * len(wide)),
        squeeze=False,
    )
    norm = LogNorm(1e-3, 1) if tested else None
    for ax, which in zip(axes[:, 0], sets, strict=True):
        found = shown[which].to_numpy(float)
        image = ax.imshow(found, cmap="Blues_r", norm=norm, aspect="auto")
        _cells(ax, found, None if marked is None else marked[which].to_numpy())
        _names(ax, wide[which], first=which == sets[0], last=which == sets[-1])
        ax.set_ylabel(SET_NAMES.get(which, which))
    bar = figure.colorbar(image, ax=axes[:, 0].tolist(), shrink=0.5, pad=0.01)
    bar.outline.set_visible(False)
    bar.set_label("p: how often shuffled groups give as much" if tested else "value")
    if tested:
        bar.set_ticks([1, 0.1, 0.01, 0.001], labels=["1", "0.1", "0.01", "0.001"])
        bar.ax.minorticks_off()
        dot = plt.Line2D([], [], ls="", marker="o", color=MARKED, ms=4)
        text = f"still at most {level:g} after correcting for all cells"
        figure.legend([dot], [text], loc="outside upper right")
    return figure


def rocs(curves: Mapping[str, tuple], pair: Sequence[str], area: float) -> Figure:
    """Roc curves of groups, the area between a pair shaded (abroca).

    Parameters
    ----------
    curves : mapping of group to Roc
        Their area (auc) is printed.
    pair : two of the groups
    area : float
        Their abroca, printed.
    """
    figure, axes = plt.subplots(figsize=(4.8, 4.4))
    for colour, (name, curve) in zip((CALM, MARKED), ((g, curves[g]) for g in pair), strict=True):
        text = f"{name}: auc {np.trapezoid(curve.tpr, curve.fpr):.3f}"
        axes.plot(curve.fpr, curve.tpr, color=colour, lw=1.8, label=text)
    x = np.linspace(0, 1, 2001)
    heights = [np.interp(x, curves[g].fpr, curves[g].tpr) for g in pair]
    axes.fill_between(x, *heights, color="#F5A623", alpha=0.35, lw=0, label=f"abroca {area:.3f}")
    axes.plot([0, 1], [0, 1], ":", color=FAINT, lw=1)
    axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1.01))
    axes.legend(loc="lower right")
    return figure


def _cells(ax, values: np.ndarray, marked: np.ndarray | None) -> None:
    for row, column in np.ndindex(values.shape):
        if np.isnan(values[row, column]):
            ax.text(column, row, "–", ha="center", va="center", color=FAINT, fontsize=7)
        elif marked is not None and marked[row, column]:
            ax.plot(column, row, "o", color=MARKED, ms=3.4, mec="white", mew=0.4)


def _names(ax, values: pd.DataFrame, first: bool, last: bool) -> None:
    """Measures at the left; comparisons above the first panel, reductions below the last."""
    ax.set_yticks(range(len(values)), values.index)
    reductions = [r.replace("wmean_normalised", "wmean, norm.") for _, r in values.columns]
    ax.set_xticks(range(values.shape[1]), reductions if last else [], rotation=90, fontsize=8)
    comparisons = values.columns.get_level_values(0)
    for name in comparisons.unique():
        at = np.flatnonzero(comparisons == name)
        ax.axvline(at[0] - 0.5, color="white", lw=4)
        if first:
            ax.text(at.mean(), -0.8, name, ha="center", va="bottom", fontsize=10)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
