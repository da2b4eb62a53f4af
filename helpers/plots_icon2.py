"""Figures of notebook 08, each drawn from a table that :mod:`helpers.icon2` returned."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.plots.showing import FAINT, INK, readable_on

THREE = ("#5B0F2E", "#C8553D", "#F5C04A")
"""Groups from the first to the last, also from dark to light."""
BEFORE, STRATA, STANDARD = "#4A4A4A", "#0072B2", "#009E73"


def group_colours(groups: Sequence[str]) -> dict[str, str]:
    """A colour for each sensitive value, dark to light in their order."""
    if len(groups) <= 3:
        return dict(zip(groups, THREE, strict=False))
    return dict(zip(groups, sns.color_palette("rocket", len(groups)).as_hex(), strict=True))


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


def groups_by_class(groups: pd.DataFrame, sigmas: pd.DataFrame) -> Figure:
    """AP of every group and class with intervals, and sigma beside its null (Table 1).

    Parameters
    ----------
    groups : DataFrame
        From :meth:`Analysis.groups`.
    sigmas : DataFrame
        ``class sigma low high``, and ``null_mean null_high`` where there is a null.
    """
    classes, names = list(sigmas["class"]), list(dict.fromkeys(groups.value))
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 0.9 + 0.42 * len(classes)), sharey=True, width_ratios=[3, 2]
    )
    colours = group_colours(names)
    for number, name in enumerate(names):
        part = groups[groups.value == name].set_index("class").reindex(classes)
        y = np.arange(len(classes)) + 0.2 * (number - (len(names) - 1) / 2)
        _interval(left, part.AP, part.low, part.high, y, colours[name], name)
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
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return fig


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
        _whiskers(top, x, part)
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
        _grouped_bars(below, share, list(part.value), groups, "share", scale=100)
        below.set_xticks(x, list(part.value), rotation=35, ha="right", rotation_mode="anchor")
    axes[0, 0].set_ylabel("AP of the value (%)")
    axes[1, 0].set_ylabel("share of the group's boxes (%)")
    _group_legend(fig, groups, title)
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
        _grouped_bars(ax, part, order, groups, "AP")
        slanted = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(range(len(order)), order, **(slanted if len(order) > 1 else {}))
        ax.set_title(name)
    axes[0, 0].set_ylabel("average precision (%)")
    _group_legend(fig, groups, title)
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
        ``none``, ``within its values`` or ``standardised``.
    """
    if control not in CONTROLS:
        raise ValueError(f"control={control!r} is not known; allowed: {', '.join(CONTROLS)}")
    if control == "none":
        table = analysis.groups().rename(columns={"value": "group"})
        table = table.assign(attribute="", value="all boxes")
    elif control == "standardised":
        table = analysis.standardised().assign(value="all boxes, standardised")
    else:
        table = analysis.cells()
    part = table[table["class"].eq(category) & table.attribute.isin(["", attribute])]
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
        From :meth:`Analysis.control`, one class, in the order to draw.
    null_high : float, optional
        What sigma reaches by chance: drawn as a band.
    """
    fig, ax = plt.subplots(figsize=(8.5, 1.3 + 0.42 * len(control)))
    y = np.arange(len(control))
    if null_high is not None:
        ax.axvspan(0, null_high, color="#e9e9e9", zorder=0, label="chance (95% of shuffles)")
    ax.axvline(control.sigma.iloc[0], color=BEFORE, lw=2, label="σ before")
    for column, colour, marker, name, dy in (
        ("controlled", STRATA, "s", "mean σ within strata (the paper's control)", -0.13),
        ("standardised", STANDARD, "o", "σ after standardising", 0.13),
    ):
        ax.hlines(y + dy, control[column], control.sigma, color=colour, lw=1.2, alpha=0.6)
        ax.plot(control[column], y + dy, marker, color=colour, ms=8, label=name)
    ax.set_yticks(y, control.attribute)
    ax.set(xlabel="σ of AP over the groups (points)", xlim=(0, None))
    ax.set_ylim(len(control) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    fig.legend(loc="outside upper center", ncols=2)
    return fig


def instance_counts(groups: pd.DataFrame, min_boxes: int) -> Figure:
    """Boxes of every class and group (Figure 6), with the support a cell needs.

    Parameters
    ----------
    groups : DataFrame
        From :meth:`Analysis.groups`, without the row of all classes.
    min_boxes : int
    """
    classes, names = list(dict.fromkeys(groups["class"])), list(dict.fromkeys(groups.value))
    fig, ax = plt.subplots(figsize=(9, 3.4))
    part = groups.rename(columns={"value": "group", "class": "value"})
    _grouped_bars(ax, part, classes, names, "boxes")
    ax.axhline(min_boxes, color=INK, ls=":", lw=1.2)
    ax.text(len(classes) - 0.45, min_boxes, f" {min_boxes}: least", va="center", fontsize=8)
    ax.set_yscale("log")
    ax.set(ylabel="boxes (log scale)", xlim=(-0.6, len(classes) + 0.25))
    ax.set_xticks(range(len(classes)), classes, rotation=20, ha="right", rotation_mode="anchor")
    _group_legend(fig, names, "")
    return fig


def rankings(table: pd.DataFrame) -> Figure:
    """Sigma of ProxyAP of every class and attribute as a heat map (Tables 2 and 3).

    Parameters
    ----------
    table : DataFrame
        From :meth:`Analysis.ranking`.
    """
    wide = table.pivot(index="class", columns="attribute", values="proxy_sigma")
    wide = wide.loc[list(dict.fromkeys(table["class"]))]
    wide = wide[wide.mean().sort_values(ascending=False).index]
    fig, ax = plt.subplots(figsize=(7.5, 0.9 + 0.36 * len(wide)))
    image = ax.imshow(wide, cmap="Blues", aspect="auto", vmin=0)
    for (row, column), value in np.ndenumerate(wide.to_numpy()):
        known = wide.iloc[row].dropna()
        first = len(known) > 1 and value == known.max()
        text = "–" if np.isnan(value) else f"{value:.2f}" + (" ◂ 1st" if first else "")
        colour = readable_on(image.cmap(image.norm(np.nan_to_num(value))))
        ax.text(column, row, text, ha="center", va="center", fontsize=9, color=colour)
    ax.set_xticks(range(wide.shape[1]), wide.columns)
    ax.set_yticks(range(len(wide)), wide.index)
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)
    ax.set_title("σ of ProxyAP over the groups (points)")
    return fig


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
        ax.barh(y, 100 * part.share, 0.62, color=np.where(part.right, STANDARD, "#C8553D"))
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
        for colour, name in ((STANDARD, "right: should be 100"), ("#C8553D", "wrong: should be 0"))
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2)
    return fig


def readings(table: pd.DataFrame) -> Figure:
    """Confounded worlds by two readings of precision: ranked first, and explained by strata.

    Parameters
    ----------
    table : DataFrame
        From :func:`helpers.icon2.trials.readings`.
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
        ax.set_xticks(range(len(names)), names)
        ax.set(title=f"the planted confounder: {question}", ylim=(0, 116), yticks=(0, 50, 100))
        ax.tick_params(axis="x", length=0)
    axes[0, 0].set_ylabel("confounded worlds (%)")
    handles = [
        Line2D([], [], ls="", marker="s", ms=10, color=c, label=n) for n, c in colours.items()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=3)
    return fig


def _interval(ax: Axes, x, low, high, y, colour: str, label: str) -> None:
    ax.hlines(y, low, high, color=colour, lw=2)
    ax.plot(x, y, "o", color=colour, mec=INK, mew=0.6, ms=7, label=label, ls="")


def _whiskers(ax: Axes, x, part: pd.DataFrame) -> None:
    ax.vlines(x, part.low, part.high, color=INK, lw=1.3)


def _grouped_bars(ax: Axes, part, order, groups, column, scale: float = 1.0) -> None:
    """Bars of each value side by side for the groups; intervals and "n < min" where there are."""
    colours, width = group_colours(groups), 0.8 / len(groups)
    for number, group in enumerate(groups):
        rows = part[part.group == group].set_index("value").reindex(order)
        x = np.arange(len(order)) + width * (number - (len(groups) - 1) / 2)
        ax.bar(x, scale * rows[column].fillna(0), 0.94 * width, color=colours[group])
        if column == "AP":
            ax.vlines(x, rows.low, rows.high, color=FAINT, lw=1.4)
            for at in x[~rows.estimable.to_numpy(bool)]:
                ax.text(at, 0.5, "n < min", rotation=90, ha="center", va="bottom", fontsize=7)


def _group_legend(fig: Figure, groups: Sequence[str], title: str) -> None:
    handles = [
        Line2D([], [], ls="", marker="s", ms=10, color=c, label=name)
        for name, c in group_colours(groups).items()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles), title=title)
