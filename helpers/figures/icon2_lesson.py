"""Figures that only lesson 08 draws, from tables of :mod:`helpers.icon2`."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from helpers.figures import style
from helpers.figures.style import BLUE, FAINT, INK, RED, Table

CARS_OF_PAPER = 200_000  # in 20,000 frames, at about ten per frame
CAUSES = {"scenes": "due to scenes", "appearance": "due to appearance"}


def causal_diagram(sensitive: str) -> Figure:
    """Draw the two reasons why a group can have a lower average precision."""
    boxes = {
        f"sensitive attribute\n({sensitive})": (1.5, 0.6),
        "confounder\n(size, occlusion, time, ...)": (5.0, 2.4),
        "average precision\nof the group": (8.5, 0.6),
    }
    arrows = {  # text: start, end, place of the text, colour
        "the groups' scenes differ": (
            (2.2, 1.15),
            (3.7, 2.0),
            (1.9, 1.85),
            BLUE,
        ),
        "and some are harder": (
            (6.3, 2.0),
            (7.8, 1.15),
            (8.1, 1.85),
            BLUE,
        ),
        "the detector is worse for it": (
            (3.1, 0.6),
            (7.1, 0.6),
            (5.1, 0.8),
            RED,
        ),
    }
    fig, ax = plt.subplots(figsize=(8.5, 2.6))
    ax.set(xlim=(0, 10), ylim=(0, 3))
    ax.set_axis_off()
    frame = {
        "boxstyle": "round,pad=0.5",
        "fc": "white",
        "ec": INK,
    }
    for text, place in boxes.items():
        ax.text(*place, text, ha="center", va="center", bbox=frame)
    for text, (start, end, place, colour) in arrows.items():
        arrow = {
            "arrowstyle": "-|>",
            "lw": 2,
            "color": colour,
        }
        ax.annotate("", end, start, arrowprops=arrow)
        ax.text(*place, text, ha="center", color=colour)
    return fig


def slopes(cells: Table, groups: Table, by: str) -> Figure:
    """Draw the AP of each group within each value of some confounders.

    Parameters
    ----------
    cells : pandas.DataFrame
        From `Analysis.cells`. There is one row of panels per class, and one panel per
        attribute.
    groups : pandas.DataFrame
        From `Analysis.groups`; the AP of all boxes is a dashed line.
    by : str
        The name of the sensitive attribute.
    """
    grid = sns.FacetGrid(
        cells, row="class", col="attribute", sharey="row", height=2.6, aspect=1.2
    )
    for (name, attribute), ax in grid.axes_dict.items():
        overall = groups[groups["class"] == name]
        ax.plot(overall["value"], overall["AP"], **style.ZERO)
        of_class = cells[cells["class"] == name]
        panel = of_class[of_class["attribute"] == attribute]
        for value, line in panel.groupby("value", sort=False):
            place = range(len(line))
            look = {
                "ls": "-",
                "color": BLUE,
                "ms": 5,
            }
            style.estimates(ax, line, "AP", place, vertical=True, **look)
            last = line["AP"].iloc[-1]
            ax.text(len(line) - 0.85, last, value, va="center", fontsize=9)
        ax.set_xlim(-0.3, len(overall) + 0.1)
    grid.set_titles("{row_name}, by {col_name}")
    grid.set_axis_labels(by, "AP (%)")
    return grid.figure


def parts_of_the_gap(record: Table) -> Figure:
    """Draw the parts of the gap due to scenes and due to appearance.

    Parameters
    ----------
    record : pandas.DataFrame
        ``data/streets.csv``. There is one row of panels per class, one panel per scene
        difficulty, and one dot per training run.
    """
    long = style.stacked(record, CAUSES, "cause")
    long = long.sort_values("share_of_b", ascending=False, kind="stable")
    percent = 100 * long["share_of_b"]
    long["share"] = percent.map("{:g}%".format)
    colours = dict(zip(CAUSES.values(), (BLUE, RED), strict=True))
    grid = sns.relplot(
        long,
        kind="line",
        x="share",
        y="value",
        hue="cause",
        palette=colours,
        errorbar=None,
        row="class",
        col="difficulty",
        height=2.4,
        aspect=1.2,
    )
    shares = list(long["share"].unique())
    for (name, difficulty), ax in grid.axes_dict.items():
        of_class = long[long["class"] == name]
        panel = of_class[of_class["difficulty"] == difficulty]
        for cause, part in panel.groupby("cause"):
            nudge = np.where(part["run"] == 0, -0.06, 0.06)
            place = part["share"].map(shares.index) + nudge
            look = {
                "color": colours[cause],
                "ms": 4,
                "elinewidth": 1,
            }
            style.estimates(ax, part, "value", place, vertical=True, **look)
    grid.refline(y=0)
    grid.set_titles("{row_name}, scene difficulty {col_name:g}")
    grid.set_axis_labels("share of B in training", "AP points")
    grid.legend.set_title("")
    return grid.figure


def half_widths(groups: Table) -> tuple[Figure, float]:
    """Draw half of each 95% interval of AP by the number of boxes of a group.

    Parameters
    ----------
    groups : pandas.DataFrame
        From `Analysis.groups`, without the row of all classes.

    Returns
    -------
    fig : Figure
    needed : float
        At how many boxes the line through the dots, which falls with the root of the
        number of boxes, reaches the paper's 0.1.
    """
    known = groups.dropna(subset="low")
    boxes = known["boxes"].to_numpy(float)
    width = known["high"] - known["low"]
    half = width.to_numpy() / 2
    log_scale = np.log(half * np.sqrt(boxes))
    scale = np.exp(log_scale.mean())
    needed = (scale / 0.1) ** 2
    needed = float(f"{needed:.2g}")
    fig, ax = plt.subplots(figsize=(8.5, 3.6))
    ax.plot(boxes, half, "o", color=INK)
    ends = np.array([boxes.min(), 2 * needed])
    ax.plot(ends, scale / np.sqrt(ends), color=FAINT)
    ax.axhline(0.1, color=RED)
    ax.text(ends[0], 0.105, "the paper's ±0.1", color=RED, va="bottom")
    ax.axvline(CARS_OF_PAPER, **style.ZERO)
    ax.text(0.9 * CARS_OF_PAPER, 2, "all cars of\nthe paper's frames", ha="right")
    ax.set(xscale="log", yscale="log")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="boxes of the class in the group", ylabel="half width (AP points)")
    return fig, needed


def null_of_sigma(null: Table, printed: Table) -> Figure:
    """Draw the 95th percentile of sigma by chance by the number of boxes per group.

    Parameters
    ----------
    null : pandas.DataFrame
        From `checks.sigma_null`, with the column ``boxes``.
    printed : pandas.Series
        The paper's sigma by class.
    """
    fig, ax = plt.subplots(figsize=(9, 4))
    colours = list(style.COLOURS[: null["class"].nunique()])
    sns.lineplot(
        null,
        x="boxes",
        y="null_high",
        hue="class",
        marker="o",
        palette=colours,
        ax=ax,
    )
    right = null["boxes"].max() * 1.15
    for place, (name, value) in enumerate(printed.sort_values().items()):
        ax.axhline(value, color=RED, lw=0.7, ls=":")
        column = right * 1.75 ** (place % 3)  # so that close values do not overlap
        background = {"fc": "white", "ec": "none", "pad": 0.5}
        ax.text(
            column,
            value,
            f"{name} {value:.2f}",
            color=RED,
            va="center",
            fontsize=8,
            bbox=background,
        )
    ax.set(xscale="log", xlim=(None, 5 * right), ylim=(0, None))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlabel="boxes per group (log scale)", ylabel="σ of AP (points)")
    return fig


def analyses(record: Table, names: list[str]) -> Figure:
    """Draw analyses against the intervention, one panel each.

    Parameters
    ----------
    record : pandas.DataFrame
        ``data/streets.csv``.
    names : list of str
        Columns of the analyses.
    """
    looks = {
        0: {
            "mfc": "white",
            "color": FAINT,
            "label": "used to choose the analysis",
        },
        1: {
            "marker": "D",
            "color": RED,
            "label": "used to evaluate it",
        },
    }
    fig, axes = plt.subplots(
        1, len(names), figsize=(9.5, 4.2), sharex=True, sharey=True
    )
    for ax, name in zip(axes, names, strict=True):
        for run, look in looks.items():
            rows = record[record["run"] == run]
            place = rows["scenes"]
            look = look | {"ms": 5, "elinewidth": 0.8}
            style.estimates(ax, rows, name, place, vertical=True, **look)
        ax.axline((0, 0), slope=1, **style.ZERO)
        ax.set_title(name)
        ax.set_xlabel("due to scenes, by intervention (AP points)")
    axes[0].set_ylabel("due to scenes,\nby the analysis (AP points)")
    axes[0].legend()
    return fig


def rates_of_rules(rates: Table, title: str) -> Figure:
    """Draw true and false positives of each rule and scenario.

    Parameters
    ----------
    rates : pandas.DataFrame
        From `checks.error_rates`.
    title : str
    """
    titles = {
        "true positive": "flags the injected confounder (100% is best)",
        "false positive": "flags another attribute (0% is best)",
    }
    looks = style.series(rates["rule"])
    scenarios = list(rates["scenario"].unique())
    kept = rates[rates["outcome"].isin(titles)]
    kept = kept.assign(title=kept["outcome"].map(titles))
    kept[["share", "low", "high"]] *= 100
    kept = kept.sort_values("outcome", ascending=False, kind="stable")
    fig = style.forest(
        kept, "share", "scenario", looks, "rule", "title", names=scenarios
    )
    for ax in fig.axes:
        ax.set(xlim=(-3, 103), xlabel="% of settings")
    return style.headed(fig, title, looks)
