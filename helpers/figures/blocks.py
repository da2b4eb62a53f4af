"""Figures of notebook 09: whole reports, single gaps beside their nulls, and crossing curves."""

import io
import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from helpers.figures.style import BLUE, FAINT, INK, RED, headed, readable_on, whiskers

MARKED, CALM = RED, BLUE
LEVEL = 0.05
SHADES = ("#E69F00", "#56A0D3", "#0072B2", "#003049")
SET_NAMES = {
    "vsany": "vsany: a group and everyone",
    "pairs": "pairs: two groups",
    "compl": "compl: a group and the rest",
}
SHOWN = (
    *(
        (how, reduction)
        for how in ("abs", "rel")
        for reduction in ("max", "mean", "wmean_normalised")
    ),
    ("srel", "max"),
)


def null_of_worst_case(table: pd.DataFrame) -> Figure:
    """What a worst-case measure reads where there is no bias: n, groups, median, low, high."""
    figure, axes = plt.subplots(figsize=(7.2, 3.8))
    several = sorted(table["groups"].unique())
    for colour, count in zip(SHADES[-len(several) :], several, strict=True):
        part = table[table["groups"] == count].sort_values("n")
        axes.fill_between(part["n"], part["low"], part["high"], color=colour, alpha=0.18, lw=0)
        axes.plot(part["n"], part["median"], "o-", color=colour, ms=4)
        place = {"xytext": (-6, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
        first = tuple(part[["n", "median"]].iloc[0])
        axes.annotate(f"{count} groups", first, color=colour, fontsize=9, **place)
    axes.axhline(0, color=INK, lw=1)
    axes.text(table["n"].max(), -0.02, "the truth: no bias", ha="right", va="top", fontsize=9)
    axes.set(xscale="log", xlabel="rows", ylabel="worst-case bias (db) as measured")
    axes.set_ylim(-0.09, 1.05)
    axes.set_xlim(table["n"].min() / 3.2, table["n"].max() * 1.3)
    worst = table[table["groups"] == several[-1]].sort_values("n").iloc[0]
    axes.set_title(
        f"Without any bias, {several[-1]} groups read {worst['median']:.2f} "
        f"in {worst['n']:,.0f} rows"
    )
    return figure


def ten_readings(table: pd.DataFrame) -> Figure:
    """The same gap under several measures: reading, value, low, high, null_low, null_high."""
    table = table.iloc[::-1].reset_index(drop=True)
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.36 * len(table)))
    y = np.arange(len(table))
    look = {"color": "#d9d9d9", "lw": 9, "label": "no bias (95%)"}
    axes.hlines(y, table["null_low"], table["null_high"], **look)
    axes.hlines(y, table["low"], table["high"], color=CALM, lw=2, label="95% interval")
    axes.plot(table["value"], y, "o", color=CALM, ms=6, label="measured")
    axes.set_yticks(y, table["reading"])
    axes.set_xlabel("bias as this measure reads it")
    axes.set_xlim(left=0)
    axes.legend(loc="lower right")
    low, high = table["value"].min(), table["value"].max()
    axes.set_title(f"The same counts read from {low:.2f} to {high:.2f}, by the question asked")
    return figure


def group_rates(table: pd.DataFrame, label: str, fixed: str) -> Figure:
    """A base measure of groups with intervals, as it is and with `fixed` held fixed.

    `table` has panel, group, n, value, low, high, adjusted, adjusted_low and adjusted_high.
    """
    panels = dict(list(table.groupby("panel", sort=False)))
    sizes, height = [len(part) for part in panels.values()], 0.8 + 0.4 * (len(table) + len(panels))
    options = {"sharex": True, "squeeze": False, "height_ratios": sizes}
    figure, axes = plt.subplots(len(panels), 1, figsize=(7.2, height), **options)
    looks = {
        "as it is": (["value", "low", "high"], 0.14, {"fmt": "o", "color": CALM}),
        f"{fixed} held fixed": (
            ["adjusted", "adjusted_low", "adjusted_high"],
            -0.14,
            {"fmt": "D", "mfc": "white", "mew": 1.6, "color": MARKED},
        ),
    }
    for ax, (name, part) in zip(axes[:, 0], panels.items(), strict=True):
        part = part.iloc[::-1].reset_index(drop=True)
        for text, (columns, up, look) in looks.items():
            value, low, high = (part[c] for c in columns)
            ends = whiskers(value, low, high)
            ax.errorbar(value, part.index + up, xerr=ends, label=text, lw=1.6, ms=5, **look)
        groups = zip(part["group"], part["n"], strict=True)
        ax.set_yticks(part.index, [f"{group}  (n = {n:,})" for group, n in groups])
        ax.set_title(name)
        ax.set_ylim(-0.6, len(part) - 0.4)
    most = table.loc[(table["adjusted"] - table["value"]).abs().idxmax()]
    ends = f"from {most['value']:.2f} to {most['adjusted']:.2f}"
    title = f"Holding the {fixed} fixed moves {most['group']} most: {ends}"
    marks = axes[0, 0].get_legend_handles_labels()
    figure.legend(*marks, loc="outside upper right", ncols=2, title=title)
    axes[-1, 0].set_xlabel(label)
    return figure


def suite(table: pd.DataFrame) -> Figure:
    """All notebooks in one report (`gaps.one_report`): worst gaps, intervals and nulls.

    The two groups are printed beside the gap; what is at a limit is drawn hollow.
    """
    table = table.iloc[::-1].reset_index(drop=True)
    figure, axes = plt.subplots(figsize=(8.4, 0.9 + 0.42 * len(table)))
    y = np.arange(len(table))
    found = table["p_holm"] <= 0.05
    look = {"color": "#e3e3e3", "height": 0.62, "label": "reached without bias (95%)"}
    axes.barh(y, table["null_high"], **look)
    looks = {True: (MARKED, "more than chance"), False: (FAINT, "not told from chance")}
    for more, part in sorted(table.groupby(found), reverse=True, key=lambda pair: pair[0]):
        ends, (colour, text) = whiskers(part["value"], part["low"], part["high"]), looks[more]
        look = {"fmt": "o", "color": colour, "ms": 6, "lw": 2, "label": text}
        axes.errorbar(part["value"], part.index, xerr=ends, **look)
    hollow = table[table["at_limit"]]
    text = "holds a rate of 0 or 1: interval too short"
    axes.plot(hollow["value"], hollow.index, "o", ms=3, color="white", ls="", zorder=5)
    mark = plt.Line2D([], [], marker="o", ls="", color=INK, mfc="white", ms=6, mew=2, label=text)
    for row in table.itertuples():
        ends = f"  {row.worst} – {row.best}"
        axes.text(max(row.high, row.null_high), row.Index, ends, va="center", fontsize=8)
    names = table["notebook"].str[:2] + ": " + table["groups"] + "\n" + table["reading"]
    axes.set_yticks(y, names, fontsize=8)
    axes.set_xlim(0, 1.3 * table["high"].max())
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= 1.01])
    axes.set_xlabel("largest difference between two groups in the share served right")
    handles = axes.get_legend_handles_labels()[0] + ([mark] if len(hollow) else [])
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    axes.set_title(f"{found.sum()} of {len(table)} gaps are larger than chance gives (Holm)")
    return figure


def figure_1(table: pd.DataFrame) -> Figure:
    """The report as the paper prints it: measure, column, value, best, gap, size and corrected.

    The larger the `size` of a gap, the darker; a dot marks a `corrected` p of at most .05. `best`
    says which value of a column is best, and stands below its name.
    """
    names, columns = (list(table[c].unique()) for c in ("measure", "column"))
    heads = table.drop_duplicates("column").set_index("column")["best"]
    values, size, sure = (_wide(table, c, names, columns) for c in ("value", "size", "corrected"))
    figure, axes = plt.subplots(figsize=(1.6 + 1.15 * len(columns), 1.2 + 0.34 * len(names)))
    _shaded(axes, values, size, sure <= LEVEL)
    axes.set_xticks(range(len(columns)), [f"{name}\n{heads[name]}" for name in columns])
    axes.set_yticks(range(len(names)), names)
    _dot(figure, "more than chance gives, corrected for all gaps here (p ≤ 0.05)")
    gaps = table[table["gap"]]
    beyond = (gaps["corrected"] <= LEVEL).sum()
    headed(figure, f"Figure 1: {beyond} of {len(gaps)} gaps are more than chance gives")
    return figure


def grid(values: pd.DataFrame, corrected: pd.DataFrame) -> Figure:
    """The sizes of gaps of a whole report: measures x (set, comparison, reduction).

    Shown are the columns `SHOWN`, of which 0 is no bias; a dot where `corrected` is at most .05.
    """
    sets = [s for s in SET_NAMES if s in values.columns.unique(0)]
    chosen = [(s, *column) for s in sets for column in SHOWN]
    found, sure = values[chosen].to_numpy(float), corrected[chosen].to_numpy(float) <= LEVEL
    figure, axes = plt.subplots(figsize=(1.4 + 0.5 * len(chosen), 2.2 + 0.32 * len(values)))
    _shaded(axes, found, found, sure, fontsize=8)
    reductions = [how.replace("wmean_normalised", "wmean") for _, _, how in chosen]
    axes.set_xticks(range(len(chosen)), reductions, rotation=90, fontsize=9)
    axes.set_yticks(range(len(values)), values.index)
    for at, (which, comparison, _) in enumerate(chosen):
        first = at == 0 or chosen[at - 1][:2] != (which, comparison)
        if first:
            axes.text(at - 0.4, -1.75, comparison, fontsize=9)
        if at % len(SHOWN) == 0:
            axes.axvline(at - 0.5, color=INK, lw=1.5)
            axes.text(at - 0.4, -2.5, SET_NAMES[which], fontsize=10)
    _dot(figure, f"more than chance gives, corrected for all cells of the report (p ≤ {LEVEL:g})")
    headed(figure, f"The report: {sure.sum()} of these {sure.size} gaps are more than chance gives")
    return figure


def _wide(table: pd.DataFrame, column: str, names: list, columns: list) -> np.ndarray:
    wide = table.pivot(index="measure", columns="column", values=column)
    return wide.loc[names, columns].to_numpy(float)


def _shaded(ax, values: np.ndarray, size: np.ndarray, marked: np.ndarray, fontsize=11) -> None:
    """Numbers on a ground as dark as their size, from 0 to 1, with a dot where they are marked."""
    shown = np.ma.masked_invalid(np.clip(size, 0, 1))
    ax.imshow(shown, cmap="Blues", vmin=0, vmax=1.3, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else "∞" if np.isinf(value) else f"{value:.2f}"
        colour = (
            FAINT
            if np.isnan(size[row, column])
            else readable_on(plt.cm.Blues(size[row, column] / 1.3))
        )
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=fontsize)
        if marked[row, column]:
            ax.plot(column + 0.36, row - 0.28, "o", color=MARKED, ms=3.6, mec="white", mew=0.5)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _dot(figure: Figure, text: str) -> None:
    mark = plt.Line2D([], [], ls="", marker="o", color=MARKED, ms=5)
    figure.legend([mark], [text], loc="outside lower center")


def rocs(curves: Mapping[str, tuple], pair: Sequence[str], area: float) -> Figure:
    """Roc curves (fpr, tpr) of a pair of groups, and the area between them (abroca, printed)."""
    figure, axes = plt.subplots(figsize=(4.8, 4.4))
    both = [curves[g] for g in pair]
    areas = [np.trapezoid(curve.tpr, curve.fpr) for curve in both]
    for colour, name, curve, auc in zip((CALM, MARKED), pair, both, areas, strict=True):
        axes.plot(curve.fpr, curve.tpr, color=colour, lw=1.8, label=f"{name}: auc {auc:.3f}")
    x = np.linspace(0, 1, 2001)
    heights = [np.interp(x, curve.fpr, curve.tpr) for curve in both]
    axes.fill_between(x, *heights, color="#F5A623", alpha=0.35, lw=0, label=f"abroca {area:.3f}")
    axes.plot([0, 1], [0, 1], ":", color=FAINT, lw=1)
    axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1.01))
    axes.legend(loc="lower right")
    axes.set_title(f"Areas {abs(areas[0] - areas[1]):.3f} apart, curves {area:.3f} (abroca)")
    return figure


def audit(table: pd.DataFrame, words: Mapping[str, str]) -> Figure:
    """Every group's rates: attribute, group, measure, value, low and high; a panel a measure.

    All panels are equally wide in units of the rate, so that gaps can be compared.
    """
    names, attributes = list(table["measure"].unique()), list(table["attribute"].unique())
    rows = table[["attribute", "group"]].drop_duplicates(ignore_index=True)
    rows["y"] = np.arange(len(rows)) + rows["attribute"].map(attributes.index)
    across = min(4, len(names))
    down = -(-len(names) // across)
    spread = table.groupby("measure").agg({"low": "min", "high": "max"})
    wide = 1.1 * (spread["high"] - spread["low"]).max()
    size = (2.6 * across + 1.6, down * (1.1 + 0.26 * (rows["y"].max() + 1)))
    figure, axes = plt.subplots(down, across, figsize=size, sharey=True, squeeze=False)
    for ax, name in itertools.zip_longest(axes.flat, names):
        if name is None:
            ax.set_visible(False)
            continue
        part = rows.merge(table[table["measure"] == name], on=["attribute", "group"])
        ends = whiskers(part["value"], part["low"], part["high"])
        ax.errorbar(part["value"], part["y"], xerr=ends, fmt="o", color=CALM, ms=5, lw=1.6)
        ax.set_title(words[name], fontsize=10)
        low, high = part["low"].min(), part["high"].max()
        left = np.clip((low + high - wide) / 2, -0.02, max(1.02 - wide, -0.02))
        ax.set_xlim(left, left + wide)
        ax.locator_params(axis="x", nbins=4)
    axes[0, 0].set_yticks(rows["y"], rows["attribute"] + " = " + rows["group"])
    axes[0, 0].invert_yaxis()
    figure.set_layout_engine("constrained")
    return figure


def svg(figure: Figure) -> str:
    """A figure as an SVG element, for a page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]
