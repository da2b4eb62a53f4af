"""Figures about the groups: Tables 1 to 3 and Figure 6 of ICON2."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from helpers.plots.showing import FAINT, INK, readable_on
from helpers.plots_icon2.shared import (
    STRATA,
    group_colours,
    group_legend,
    interval,
)


def printed_sigmas(table: pd.DataFrame) -> Figure:
    """Sigma of the paper's Table 1 by two formulas, beside the printed value.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.icon2.printed.sigmas`.
    """
    fig, ax = plt.subplots(figsize=(8.5, 3.6))
    y = np.arange(len(table))
    ax.hlines(y, table.population, table["sample"], color="#dddddd", lw=2, zorder=0)
    ax.plot(table.population, y, "o", mfc="white", mec=STRATA, ms=8, label="population (Eq. 5)")
    ax.plot(table["sample"], y, "o", color=STRATA, ms=9, label="sample (n - 1)")
    ax.plot(table.printed, y, "x", color=INK, ms=10, mew=2, label="printed in Table 1")
    ax.set_yticks(y, table["class"])
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel="σ of AP over the three incomes (AP points)", xlim=(0, None))
    fig.legend(loc="outside upper center", ncols=3)
    return fig


def groups_by_class(groups: pd.DataFrame, sigmas: pd.DataFrame, title: str = "") -> Figure:
    """AP of every group and class with intervals, and sigma beside its null (Table 1).

    Parameters
    ----------
    groups : DataFrame
        From :meth:`Analysis.groups`.
    sigmas : DataFrame
        ``class sigma low high``, and ``null_mean null_high`` where there is a null.
    title
        Of the legend: what the groups are groups of.
    """
    classes, names = list(sigmas["class"]), list(dict.fromkeys(groups.value))
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 0.9 + 0.42 * len(classes)), sharey=True, width_ratios=[3, 2]
    )
    colours = group_colours(names)
    for number, name in enumerate(names):
        part = groups[groups.value == name].set_index("class").reindex(classes)
        y = np.arange(len(classes)) + 0.2 * (number - (len(names) - 1) / 2)
        interval(left, part.AP, part.low, part.high, y, colours[name], name)
    for y in np.flatnonzero(groups.groupby("class").AP.count().reindex(classes) == 0):
        left.text(left.get_xlim()[0], y, "  not estimable", va="center", fontsize=9, color=FAINT)
    left.set_yticks(range(len(classes)), classes)
    left.set(xlabel="average precision (%)", ylim=(len(classes) - 0.4, -0.6))
    left.tick_params(axis="y", length=0)
    y = np.arange(len(classes))
    if "null_high" in sigmas:
        right.barh(y, sigmas.null_high, 0.62, color="#dddddd", label="chance (95% of shuffles)")
    right.plot(sigmas.sigma, y, "D", color=INK, ms=6, label="σ over the groups")
    right.hlines(y, sigmas.low, sigmas.high, color=INK, lw=1.5)
    right.set(xlabel="σ of AP (points)", xlim=(0, None))
    right.tick_params(axis="y", length=0)
    handles = [*left.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles), title=title)
    return fig


def instance_counts(groups: pd.DataFrame, min_boxes: int, title: str = "") -> Figure:
    """Boxes of every class and group (Figure 6), with the support a cell needs.

    Parameters
    ----------
    groups : DataFrame
        From :meth:`Analysis.groups`, without the row of all classes.
    min_boxes : int
    title
        Of the legend: what the groups are groups of.
    """
    classes, names = list(dict.fromkeys(groups["class"])), list(dict.fromkeys(groups.value))
    fig, ax = plt.subplots(figsize=(9, 3.4))
    for number, (group, colour) in enumerate(group_colours(names).items()):
        boxes = groups[groups.value == group].set_index("class").boxes.reindex(classes)
        x = np.arange(len(classes)) + 0.2 * (number - (len(names) - 1) / 2)
        ax.plot(x, boxes, "o", color=colour, mec=INK, mew=0.6, ms=8)
    ax.axhline(min_boxes, color=INK, ls=":", lw=1.2)
    said = f"below {min_boxes}:\nnot estimable"
    ax.text(len(classes) - 0.45, 0.93 * min_boxes, said, va="top", fontsize=9)
    ax.set_yscale("log")
    ax.set(ylabel="boxes (log scale)", xlim=(-0.6, len(classes) + 0.6))
    ax.set_xticks(range(len(classes)), classes, rotation=20, ha="right", rotation_mode="anchor")
    group_legend(fig, names, title)
    return fig


def rankings(table: pd.DataFrame) -> Figure:
    """Sigma of ProxyAP of every class and attribute as a heat map (Tables 2 and 3).

    Beside it stands the share of resamples in which the attribute ranks first. A class of which
    fewer than two attributes are estimable has no ranking.

    Parameters
    ----------
    table : DataFrame
        From :meth:`Analysis.ranking`.
    """
    several = table.groupby("class").proxy_sigma.transform("count") > 1
    shown = table.assign(proxy_sigma=table.proxy_sigma.where(several))
    wide, firsts = (
        shown.pivot(index="class", columns="attribute", values=c).loc[shown["class"].unique()]
        for c in ("proxy_sigma", "first")
    )
    wide = wide[wide.mean().sort_values(ascending=False).index]
    firsts = firsts[wide.columns].to_numpy()
    fig, ax = plt.subplots(figsize=(7.5, 0.9 + 0.36 * len(wide)))
    image = ax.imshow(wide, cmap="Blues", aspect="auto", vmin=0)
    for (row, column), value in np.ndenumerate(wide.to_numpy()):
        often = "" if np.isnan(firsts[row, column]) else f" ({100 * firsts[row, column]:.0f}%)"
        text = "–" if np.isnan(value) else f"{value:.2f}{often}"
        colour = readable_on(image.cmap(image.norm(np.nan_to_num(value))))
        bold = {"weight": "bold"} if value == wide.iloc[row].max() else {}
        ax.text(column, row, text, ha="center", va="center", fontsize=9, color=colour, **bold)
    ax.set_xticks(range(wide.shape[1]), wide.columns)
    ax.set_yticks(range(len(wide)), wide.index)
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)
    ax.set_title("σ of ProxyAP over the groups (points), and how often it ranks first")
    return fig
