"""Figures of single gaps: what a measure reads, beside its interval and its null."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from helpers.plots.showing import whiskers
from helpers.plots_fairness.shared import CALM, FAINT, INK, MARKED

SHADES = ("#E69F00", "#56A0D3", "#0072B2", "#003049")


def null_of_worst_case(table: pd.DataFrame) -> Figure:
    """What a worst-case measure reads where there is no bias, by rows and number of groups.

    Parameters
    ----------
    table : DataFrame
        n, groups, median, low, high (of the measure under no bias).
    """
    figure, axes = plt.subplots(figsize=(7.2, 3.8))
    several = sorted(table["groups"].unique())
    for colour, count in zip(SHADES[-len(several) :], several, strict=True):
        part = table[table["groups"] == count].sort_values("n")
        axes.fill_between(part["n"], part["low"], part["high"], color=colour, alpha=0.18, lw=0)
        axes.plot(part["n"], part["median"], "o-", color=colour, ms=4)
        last = part.iloc[0]
        axes.annotate(
            f"{count} groups",
            (last["n"], last["median"]),
            xytext=(-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            color=colour,
            fontsize=9,
        )
    axes.axhline(0, color=INK, lw=1)
    axes.text(table["n"].max(), -0.02, "the truth: no bias", ha="right", va="top", fontsize=9)
    axes.set(
        xscale="log", xlabel="rows", ylabel="worst-case bias (db) as measured", ylim=(-0.09, 1.05)
    )
    axes.set_xlim(table["n"].min() / 3.2, table["n"].max() * 1.3)
    return figure


def ten_readings(table: pd.DataFrame) -> Figure:
    """The same gap under several measures: value, interval, and where its null lies.

    Parameters
    ----------
    table : DataFrame
        reading (its name), value, low, high, null_low, null_high, p.
    """
    table = table.iloc[::-1].reset_index(drop=True)
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.36 * len(table)))
    y = np.arange(len(table))
    axes.hlines(
        y, table["null_low"], table["null_high"], color="#d9d9d9", lw=9, label="no bias (95%)"
    )
    axes.hlines(y, table["low"], table["high"], color=CALM, lw=2, label="95% interval")
    axes.plot(table["value"], y, "o", color=CALM, ms=6, label="measured")
    axes.set_yticks(y, table["reading"])
    axes.set_xlabel("bias as this measure reads it")
    axes.set_xlim(left=0)
    axes.legend(loc="lower right")
    return figure


def group_rates(
    table: pd.DataFrame, label: str, fixed: str = "confounders", everyone: float | None = None
) -> Figure:
    """A base measure of groups with intervals, crude and, where given, with confounders fixed.

    Parameters
    ----------
    table : DataFrame
        panel, group, n, value, low, high, and optionally adjusted, adjusted_low, adjusted_high.
    label : str
    fixed : str
        What was held fixed, for the legend.
    everyone : float, optional
        Drawn as a line.
    """
    panels = list(table["panel"].unique())
    sizes = [int((table["panel"] == p).sum()) for p in panels]
    figure, axes = plt.subplots(
        len(panels),
        1,
        figsize=(7.2, 0.8 + 0.4 * (sum(sizes) + len(panels))),
        sharex=True,
        squeeze=False,
        height_ratios=sizes,
    )
    for ax, name in zip(axes[:, 0], panels, strict=True):
        part = table[table["panel"] == name].iloc[::-1].reset_index(drop=True)
        two = "adjusted" in part
        y, style = part.index.to_numpy(), {"lw": 1.6, "ms": 5}
        ends = _ends(part, "value", "low", "high")
        up = 0.14 if two else 0
        ax.errorbar(
            part["value"], y + up, xerr=ends, fmt="o", color=CALM, label="as it is", **style
        )
        if two:
            known = "adjusted_low" in part
            ends = _ends(part, "adjusted", "adjusted_low", "adjusted_high") if known else None
            text, look = f"{fixed} held fixed", {"fmt": "D", "mfc": "white", "mew": 1.6}
            ax.errorbar(
                part["adjusted"], y - up, xerr=ends, color=MARKED, label=text, **look, **style
            )
        ax.set_yticks(
            part.index, [f"{g}  (n = {n:,})" for g, n in zip(part["group"], part["n"], strict=True)]
        )
        ax.set_title(name)
        ax.set_ylim(-0.6, len(part) - 0.4)
        if everyone is not None:
            ax.axvline(everyone, color=FAINT, lw=1, ls=":")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    axes[-1, 0].set_xlabel(label)
    return figure


def _ends(part: pd.DataFrame, value: str, low: str, high: str) -> np.ndarray:
    return whiskers(part[value], part[low], part[high])


def suite(table: pd.DataFrame) -> Figure:
    """All notebooks in one report: worst gap of each with its interval and null.

    Parameters
    ----------
    table : DataFrame
        notebook, groups, reading, value, low, high, null_high, p_holm, worst, best
        (the two groups, printed beside the gap), at_limit (drawn hollow).
    """
    table = table.iloc[::-1].reset_index(drop=True)
    figure, axes = plt.subplots(figsize=(8.4, 0.9 + 0.42 * len(table)))
    y = np.arange(len(table))
    found = table["p_holm"] <= 0.05
    axes.barh(
        y, table["null_high"], color="#e3e3e3", height=0.62, label="reached without bias (95%)"
    )
    for mask, colour, text in (
        (found, MARKED, "more than chance"),
        (~found, FAINT, "not told from chance"),
    ):
        part = table[mask]
        ends = _ends(part, "value", "low", "high")
        axes.errorbar(
            part["value"], y[mask], xerr=ends, fmt="o", color=colour, ms=6, lw=2, label=text
        )
    hollow = table[table["at_limit"]]
    text = "holds a rate of 0 or 1: interval too short"
    axes.plot(hollow["value"], hollow.index, "o", ms=3, color="white", ls="", zorder=5)
    mark = plt.Line2D([], [], marker="o", ls="", color=INK, mfc="white", ms=6, mew=2, label=text)
    for row in table.itertuples():
        ends = f"  {row.worst} – {row.best}"
        axes.text(max(row.high, row.null_high), row.Index, ends, va="center", fontsize=8)
    axes.set_yticks(
        y, table["notebook"].str[:2] + ": " + table["groups"] + "\n" + table["reading"], fontsize=8
    )
    axes.set_xlim(0, 1.3 * table["high"].max())
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= 1.01])
    axes.set_xlabel("largest difference between two groups in the share served right")
    handles = axes.get_legend_handles_labels()[0] + ([mark] if len(hollow) else [])
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure
