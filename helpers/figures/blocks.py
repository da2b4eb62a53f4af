"""Figures of notebooks 09: reports, gaps beside their nulls and curves."""

import io
import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from helpers.figures.style import (
    BLUE,
    FAINT,
    INK,
    RED,
    cells,
    estimates,
    headed,
    mark,
    marks,
    name_rows,
    shades,
)

LEVEL = 0.05
WITHOUT_BIAS = {"marker": "s", "color": "#d9d9d9"}
SHADES = ("#E69F00", "#56A0D3", "#0072B2", "#003049")
SET_NAMES = {
    "vsany": "vsany: a group and everyone",
    "pairs": "pairs: two groups",
    "compl": "compl: a group and the rest",
}
GAPS = itertools.product(("abs", "rel"), ("max", "mean", "wmean_normalised"))
SHOWN = (*GAPS, ("srel", "max"))


def null_of_worst_case(table: pd.DataFrame) -> Figure:
    """What a worst-case measure reads where there is no bias: n, groups, median, low, high."""
    figure, axes = plt.subplots(figsize=(7.2, 3.8))
    several = sorted(table["groups"].unique())
    place = {"xytext": (-6, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
    for colour, count in zip(SHADES[-len(several) :], several, strict=True):
        part = table[table["groups"] == count].sort_values("n")
        axes.fill_between(part["n"], part["low"], part["high"], color=colour, alpha=0.18, lw=0)
        axes.plot(part["n"], part["median"], "o-", color=colour, ms=4)
        first = part.iloc[0]
        at = first["n"], first["median"]
        axes.annotate(f"{count} groups", at, color=colour, fontsize=9, **place)
    axes.axhline(0, color=INK, lw=1)
    axes.text(table["n"].max(), -0.02, "the truth: no bias", ha="right", va="top", fontsize=9)
    axes.set(xscale="log", xlabel="rows", ylabel="differential bias (db) as measured")
    axes.set(ylim=(-0.09, 1.05), xlim=(table["n"].min() / 3.2, table["n"].max() * 1.3))
    reading = f"{several[-1]} groups read {first['median']:.2f} in {first['n']:,.0f} rows"
    axes.set_title(f"Without any bias, {reading}")
    return figure


def ten_readings(table: pd.DataFrame) -> Figure:
    """The same gap under several measures: reading, value, low, high, null_low, null_high."""
    figure, axes = plt.subplots(figsize=(8, 1.1 + 0.36 * len(table)))
    y = np.arange(len(table))
    axes.hlines(y, table["null_low"], table["null_high"], lw=9, color=WITHOUT_BIAS["color"])
    estimates(axes, table, "value", y, color=BLUE, ms=6)
    name_rows(axes, table["reading"])
    axes.set(xlabel="bias as this measure reads it", xlim=(0, None))
    looks = {"no bias (95%)": WITHOUT_BIAS}
    looks["measured, 95% interval"] = {"marker": "o", "color": BLUE}
    low, high = table["value"].min(), table["value"].max()
    title = f"The same counts read from {low:.2f} to {high:.2f}, by the question asked"
    headed(figure, title, marks(looks))
    return figure


def group_rates(table: pd.DataFrame, label: str, fixed: str) -> Figure:
    """A base measure of groups with intervals, as it is and with `fixed` held fixed.

    `table` has panel, group, n, value, low, high, adjusted, adjusted_low and adjusted_high.
    """
    figure, panels = _panels(table, "panel", 0.4)
    looks = {"as it is": {"marker": "o", "color": BLUE}}
    looks[f"{fixed} held fixed"] = {"marker": "D", "mfc": "white", "mew": 1.6, "color": RED}
    ways = list(zip(("value", "adjusted"), (-0.14, 0.14), looks.values(), strict=True))
    for ax, name, part in panels:
        for value, up, look in ways:
            estimates(ax, part, value, np.arange(len(part)) + up, ms=5, **look)
        name_rows(ax, part["group"] + part["n"].map("  (n = {:,})".format))
        ax.set_title(name)
    most = table.loc[(table["adjusted"] - table["value"]).abs().idxmax()]
    ends = f"from {most['value']:.2f} to {most['adjusted']:.2f}"
    headed(figure, f"Holding the {fixed} fixed moves {most['group']} most: {ends}", marks(looks))
    ax.set_xlabel(label)
    return figure


def _panels(table: pd.DataFrame, by: str, line: float) -> tuple[Figure, list]:
    """Panels below each other, one a value of `by`: the axes, the value and its rows."""
    parts = list(table.groupby(by, sort=False))
    sizes = [len(part) + 1 for _, part in parts]
    options = {"sharex": True, "squeeze": False, "height_ratios": sizes}
    size = 7.6, 0.8 + line * sum(sizes)
    figure, axes = plt.subplots(len(parts), 1, figsize=size, **options)
    return figure, [(ax, *part) for ax, part in zip(axes[:, 0], parts, strict=True)]


def figure_1(table: pd.DataFrame) -> Figure:
    """The report as the paper prints it: measure, column, value, best, gap, size and corrected.

    The larger the `size` of a gap, the darker; a dot marks a `corrected` p of at most .05. `best`
    says which value of a column is best, and stands below its name.
    """
    heads = table.drop_duplicates("column").set_index("column")["best"]
    wide = table.pivot(index="measure", columns="column")
    wide = wide.loc[table["measure"].unique()].reindex(heads.index, level="column", axis=1)
    values, size, corrected = (wide[one] for one in ("value", "size", "corrected"))
    figure, axes = plt.subplots(figsize=(1.6 + 1.15 * len(heads), 1.2 + 0.34 * len(values)))
    _shaded(axes, values, size, corrected, 11)
    axes.set_xticks(range(len(heads)), heads.index + "\n" + heads)
    gaps = table[table["gap"]]
    beyond = (gaps["corrected"] <= LEVEL).sum()
    headed(figure, f"Figure 1: {beyond} of {len(gaps)} gaps are more than chance gives", _legend())
    return figure


def grid(values: pd.DataFrame, corrected: pd.DataFrame) -> Figure:
    """The sizes of gaps of a whole report: measures x (set, comparison, reduction).

    Shown are the columns `SHOWN`, of which 0 is no bias; a dot where `corrected` is at most .05.
    """
    sets = [s for s in SET_NAMES if s in values.columns.unique(0)]
    chosen = [(s, *column) for s in sets for column in SHOWN]
    found, sure = values[chosen], corrected[chosen]
    figure, axes = plt.subplots(figsize=(1.4 + 0.5 * len(chosen), 2.2 + 0.32 * len(values)))
    _shaded(axes, found, found, sure, 8)
    reductions = [how.replace("wmean_normalised", "wmean") for _, _, how in chosen]
    axes.set_xticks(range(len(chosen)), reductions, rotation=90, fontsize=9)
    for at, (which, comparison, _) in enumerate(chosen):
        if at == 0 or chosen[at - 1][:2] != (which, comparison):
            axes.text(at - 0.4, -1.75, comparison, fontsize=9)
        if at % len(SHOWN) == 0:
            axes.axvline(at - 0.5, color=INK, lw=1.5)
            axes.text(at - 0.4, -2.5, SET_NAMES[which], fontsize=10)
    beyond = (sure <= LEVEL).to_numpy().sum()
    title = f"The report: {beyond} of these {sure.size} gaps are more than chance gives"
    headed(figure, title, _legend())
    return figure


def _shaded(ax, values: pd.DataFrame, size: pd.DataFrame, corrected: pd.DataFrame, font) -> None:
    """Numbers on a ground as dark as their size, with a dot where they are beyond chance."""
    texts = values.map("{:.2f}".format).replace({"nan": "–", "inf": "∞"})
    grounds = shades(np.clip(size.to_numpy(float), 0, 1) / 1.3, "Blues")
    cells(ax, grounds, texts, values.index, range(values.shape[1]), font)
    y, x = np.nonzero((corrected <= LEVEL).to_numpy())
    ax.plot(x + 0.36, y - 0.28, "o", color=RED, ms=3.6, mec="white", mew=0.5)
    ax.xaxis.tick_top()


def _legend() -> list:
    """What the grounds and the dots of a report mean."""
    text = f"more than chance gives, corrected for all cells (p ≤ {LEVEL:g})"
    ground = mark("the darker, the larger the gap", marker="s", color="#6BAED6", ms=10)
    return [ground, mark(text, marker="o", color=RED, ms=5)]


def rocs(curves: Mapping[str, tuple], pair: Sequence[str], area: float) -> Figure:
    """Roc curves (fpr, tpr) of a pair of groups, and the area between them (abroca, printed)."""
    figure, axes = plt.subplots(figsize=(4.8, 4.4))
    both = [curves[g] for g in pair]
    areas = [np.trapezoid(curve.tpr, curve.fpr) for curve in both]
    for colour, name, curve, auc in zip((BLUE, RED), pair, both, areas, strict=True):
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
    table = table.assign(row=table["attribute"] + " = " + table["group"])
    names, rows = table["measure"].unique(), list(table["row"].unique())
    across = min(4, len(names))
    down = -(-len(names) // across)
    spread = table.groupby("measure").agg({"low": "min", "high": "max"})
    wide = 1.1 * (spread["high"] - spread["low"]).max()
    size = (2.6 * across + 1.6, down * (1.1 + 0.26 * (len(rows) + 1)))
    options = {"sharey": True, "squeeze": False, "layout": "constrained"}
    figure, axes = plt.subplots(down, across, figsize=size, **options)
    for ax, name in zip(axes.flat, names, strict=False):
        part = table[table["measure"] == name]
        estimates(ax, part, "value", part["row"].map(rows.index), color=BLUE, ms=5)
        name_rows(ax, rows)
        ax.set_title(words[name], fontsize=10)
        middle = spread.loc[name].mean()
        left = np.clip(middle - wide / 2, -0.02, max(1.02 - wide, -0.02))
        ax.set_xlim(left, left + wide)
        ax.locator_params(axis="x", nbins=4)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    ends = table.groupby(["measure", "attribute"], sort=False)["value"].agg(["min", "max"])
    name, by = (ends["max"] - ends["min"]).idxmax()
    low, high = ends.loc[(name, by)]
    headed(figure, f"The {words[name]} differs most: from {low:.2f} to {high:.2f} by {by}")
    return figure


def svg(figure: Figure) -> str:
    """A figure as an SVG element, for a page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]
