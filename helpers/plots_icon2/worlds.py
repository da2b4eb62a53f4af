"""Figures about planted worlds: how often the method is right."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.icon2.trials import FIRST, PLAIN
from helpers.plots.showing import FAINT, INK
from helpers.plots_icon2.shared import (
    STANDARD,
    STRATA,
    WRONG,
)


def error_rates(rates: pd.DataFrame, answers: pd.DataFrame) -> Figure:
    """How often each rule says that the confounder explains the gap, by kind of planted world.

    Parameters
    ----------
    rates : DataFrame
        From :func:`helpers.icon2.trials.rates`, in the order to draw.
    answers : DataFrame
        From :func:`helpers.icon2.trials.answers`: where that is right.
    """
    rules, worlds = list(dict.fromkeys(rates.rule)), list(dict.fromkeys(rates.world))
    rates = rates.merge(answers, on=["rule", "world"])
    fig, axes = plt.subplots(
        1, len(worlds), figsize=(10, 1.5 + 0.42 * len(rules)), sharey=True, squeeze=False
    )
    y = np.arange(len(rules))
    for ax, world in zip(axes[0], worlds, strict=True):
        part = rates[rates.world == world].set_index("rule").loc[rules]
        ax.barh(y, 100 * part.share, 0.62, color=np.where(part.right, STANDARD, WRONG))
        ax.hlines(y, 100 * part.low, 100 * part.high, color=INK, lw=1.3)
        for at, value, high in zip(y, part.share, part.high, strict=True):
            ax.text(100 * high + 3, at, f"{100 * value:.0f}", va="center", fontsize=9)
        ax.set_title(f"planted: {world}")
        ax.set(xlim=(0, 122), xticks=(0, 50, 100), ylim=(len(rules) - 0.5, -0.5))
        ax.tick_params(axis="y", length=0)
    axes[0, 0].set_yticks(y, rules)
    fig.supxlabel("worlds in which the rule says so (%)", fontsize=10)
    handles = [
        Line2D([], [], ls="", marker="s", ms=10, color=colour, label=name)
        for colour, name in ((STANDARD, "right: should be 100"), (WRONG, "wrong: should be 0"))
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2)
    return fig


def readings(table: pd.DataFrame, attributes: int = 5) -> Figure:
    """Confounded worlds by two readings of precision: ranked first, and explained by strata.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.icon2.trials.readings`.
    attributes
        How many are ranked: a ranking by lot has one of them first as often as any other.
    """
    questions, names = (list(dict.fromkeys(table[c])) for c in ("question", "confounder"))
    colours = dict(zip(dict.fromkeys(table.by), (STRATA, STANDARD, FAINT), strict=False))
    fig, axes = plt.subplots(1, len(questions), figsize=(10, 3.2), sharey=True, squeeze=False)
    for ax, question in zip(axes[0], questions, strict=True):
        asked = table[table.question == question]
        kinds = list(dict.fromkeys(asked.by))
        width = 0.8 / len(kinds)
        for number, by in enumerate(kinds):
            part = asked[asked.by == by].set_index("confounder").loc[names]
            x = np.arange(len(names)) + width * (number - (len(kinds) - 1) / 2)
            ax.bar(x, 100 * part.share, 0.94 * width, color=colours[by])
            ax.vlines(x, 100 * part.low, 100 * part.high, color=INK, lw=1.3)
            for at, row in zip(x, part.itertuples(), strict=True):
                ax.text(at, 100 * row.high + 2, f"{100 * row.share:.0f}", ha="center", fontsize=9)
        if question == FIRST:
            ax.axhline(100 / attributes, color=INK, ls=":", lw=1.2)
        ax.set_xticks(range(len(names)), names)
        ax.set(title=f"the planted confounder: {question}", ylim=(0, 116), yticks=(0, 50, 100))
        ax.tick_params(axis="x", length=0)
    axes[0, 0].set_ylabel("confounded worlds (%)")
    said = {PLAIN: f"{PLAIN} (a ranking only)"}
    handles = [
        Line2D([], [], ls="", marker="s", ms=10, color=c, label=said.get(n, n))
        for n, c in colours.items()
    ]
    chance = f"a ranking by lot: 1 of {attributes}"
    handles.append(Line2D([], [], color=INK, ls=":", lw=1.2, label=chance))
    fig.legend(handles=handles, loc="outside upper center", ncols=4)
    return fig
