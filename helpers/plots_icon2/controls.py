"""Figures about confounders and control: Figures 2 to 5 and Table 2 of ICON2, and the menus."""

from __future__ import annotations

import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from helpers.plots.showing import FAINT, INK
from helpers.plots_icon2.shared import (
    BEFORE,
    STANDARD,
    STRATA,
    group_legend,
    grouped_bars,
    whiskers,
)


def values_and_shares(values: pd.DataFrame, shares: pd.DataFrame, title: str = "") -> Figure:
    """AP of every explanatory value, and P(e|a) below (Figures 2 and 3), for one class.

    Parameters
    ----------
    values : DataFrame
        From :meth:`Analysis.values`, one class.
    shares : DataFrame
        From :meth:`Analysis.shares`, the same class.
    """
    names = list(dict.fromkeys(values.attribute))
    counts = [values.attribute.eq(n).sum() for n in names]
    fig, axes = plt.subplots(
        2, len(names), figsize=(10, 5.2), width_ratios=counts, sharey="row", squeeze=False
    )
    groups = list(dict.fromkeys(shares.group))
    for (top, below), name in zip(axes.T, names, strict=True):
        part = values[values.attribute == name]
        x = np.arange(len(part))
        top.bar(x, part.AP.fillna(0), 0.7, color=FAINT)
        whiskers(top, x, part)
        for place, row in zip(x, part.itertuples(), strict=True):
            text = f"{row.AP:.0f}" if row.estimable else "n < min"
            top.text(
                place,
                1,
                text,
                ha="center",
                va="bottom",
                fontsize=8,
                color="white" if row.estimable else INK,
            )
        top.set_xticks(x, [])
        top.set_title(name)
        share = shares[shares.attribute == name]
        grouped_bars(below, share, list(part.value), groups, "share", scale=100)
        below.set_xticks(x, list(part.value), rotation=35, ha="right", rotation_mode="anchor")
    axes[0, 0].set_ylabel("AP of the value (%)")
    axes[1, 0].set_ylabel("share of boxes (%)")
    group_legend(fig, groups, title)
    return fig


def controlled_cells(cells: pd.DataFrame, title: str = "") -> Figure:
    """AP of every group within every explanatory value (Figures 4 and 5), for one class.

    Parameters
    ----------
    cells : DataFrame
        From :meth:`Analysis.cells`, one class. Cells that are not estimable are marked.
    """
    names = list(dict.fromkeys(cells.attribute))
    values = [list(dict.fromkeys(cells.value[cells.attribute == n])) for n in names]
    groups = list(dict.fromkeys(cells.group))
    bars = sum(map(len, values)) * len(groups)
    fig, axes = plt.subplots(
        1,
        len(names),
        figsize=(min(10, 3.5 + 0.3 * bars), 3.6),
        width_ratios=[len(v) for v in values],
        sharey=True,
        squeeze=False,
    )
    for ax, name, order in zip(axes[0], names, values, strict=True):
        part = cells[cells.attribute == name]
        grouped_bars(ax, part, order, groups, "AP")
        slanted = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(
            range(len(order)), order, **(slanted if len(order) > 2 or len(names) > 1 else {})
        )
        ax.set_title(name)
    axes[0, 0].set_ylabel("average precision (%)")
    group_legend(fig, groups, title)
    return fig


CONTROLS = ("none", "within its values", "standardised")


def one_control(analysis, category: str, attribute: str, control: str) -> Figure:
    """AP of the groups of one class under one control of one attribute.

    Parameters
    ----------
    analysis : helpers.icon2.Analysis
    category, attribute
        Names of a class and of an explanatory attribute.
    control
        ``none``, ``within its values`` or ``standardised``; the groups as they are stand beside
        the last two.
    """
    if control not in CONTROLS:
        raise ValueError(f"control={control!r} is not known; allowed: {', '.join(CONTROLS)}")
    before = analysis.groups().rename(columns={"value": "group"})
    tables = [before.assign(attribute=attribute, value="before")]
    if control == "standardised":
        tables.append(analysis.standardised().assign(value="standardised"))
    elif control != "none":
        tables.append(analysis.cells())
    table = pd.concat(tables, ignore_index=True)
    part = table[table["class"].eq(category) & table.attribute.eq(attribute)]
    return controlled_cells(part.assign(attribute=""), f"{category}, {attribute}: {control}")


def chooser(analysis):
    """Menus of class, attribute and control, and the figure of :func:`one_control` below them.

    Returns
    -------
    ipywidgets.VBox
        The picture is an image widget (an output widget would not survive nbconvert and nbval).
    """
    import ipywidgets

    parts = next(iter(analysis.estimates.values())).parts
    choices = {
        "class": list(analysis.estimates),
        "attribute": [part.name for part in parts],
        "control": list(CONTROLS),
    }
    menus = [ipywidgets.Dropdown(options=o, description=name) for name, o in choices.items()]
    picture = ipywidgets.Image(format="png")

    def draw(_=None) -> None:
        fig = one_control(analysis, *(menu.value for menu in menus))
        file = io.BytesIO()
        fig.savefig(file, format="png", bbox_inches="tight")
        plt.close(fig)
        picture.value = file.getvalue()

    for menu in menus:
        menu.observe(draw, names="value")
    draw()
    return ipywidgets.VBox([ipywidgets.HBox(menus), picture])


def before_and_after(control: pd.DataFrame, null_high: float | None = None) -> Figure:
    """Sigma before, within strata, and after standardising, an attribute a row (Table 2).

    Parameters
    ----------
    control : DataFrame
        From :meth:`Analysis.control`, one class, in the order to draw. Whiskers are the intervals
        of the falls, drawn from sigma before.
    null_high : float, optional
        What sigma reaches by chance: drawn as a band.
    """
    fig, ax = plt.subplots(figsize=(8.5, 1.3 + 0.42 * len(control)))
    y = np.arange(len(control))
    if null_high is not None:
        ax.axvspan(0, null_high, color="#e9e9e9", zorder=0, label="chance (95% of shuffles)")
    ax.axvline(control.sigma.iloc[0], color=BEFORE, lw=2, label="σ before")
    for column, ends, colour, marker, name, dy in (
        ("controlled", "", STRATA, "s", "mean σ within strata (the paper's control)", -0.15),
        ("standardised", "standardised_", STANDARD, "o", "σ after standardising", 0.15),
    ):
        low, high = (control.sigma - control[f"{ends}{end}"] for end in ("high", "low"))
        ax.hlines(y + dy, low, high, color=colour, lw=2.5, alpha=0.5)
        ax.plot(control[column], y + dy, marker, color=colour, ms=8, label=name)
    ax.set_yticks(y, control.attribute)
    ax.set(xlabel="σ of AP over the groups (points)", xlim=(0, None))
    ax.set_ylim(len(control) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    fig.legend(loc="outside upper center", ncols=2)
    return fig
