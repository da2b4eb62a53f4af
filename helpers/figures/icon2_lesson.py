"""Figures of lessons 08 and 08b, from tables of :mod:`helpers.icon2`."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from helpers.figures import style
from helpers.figures.style import BLUE, INK, RED, Table

CROSS = {"marker": "x", "color": RED, "mew": 1.8}  # the paper's values
CHANCE = {"marker": "s", "color": "#dddddd", "ms": 10}
OUTLINE = [Stroke(linewidth=4, foreground=INK), Normal()]
FOUND = "a labelled box that was detected"
MISS = "a miss: a labelled box that was not detected"
HIT = "a hit: a detection that took a box"
FALSE = "a false positive: it took no box"
KINDS = {
    FOUND: {"color": "white", "ls": "-", "path_effects": OUTLINE},
    MISS: {"color": "#F5C04A", "ls": "-", "path_effects": OUTLINE},
    HIT: {"color": BLUE, "ls": "--"},
    FALSE: {"color": RED, "ls": ":"},
}


def causal_diagram(sensitive: str) -> Figure:
    """Draw the two reasons why a group can have a lower average precision."""
    group = f"sensitive attribute\n({sensitive})"
    confounder = "confounder\n(size, occlusion, time, ...)"
    precision = "average precision\nof the group"
    places = {group: (1.5, 0.6), confounder: (5.0, 2.4), precision: (8.5, 0.6)}
    arrows = [  # start, end, text, place of the text, colour
        (group, confounder, "the groups' scenes differ", (1.9, 1.7), BLUE),
        (confounder, precision, "and some are harder", (8.1, 1.7), BLUE),
        (group, precision, "the detector is worse for it", (5.0, 0.8), RED),
    ]
    fig, ax = plt.subplots(figsize=(8.5, 2.6))
    ax.set(xlim=(0, 10), ylim=(0, 3))
    ax.set_axis_off()
    for start, end, text, place, colour in arrows:
        arrow = {
            "arrowstyle": "-|>",
            "lw": 2,
            "color": colour,
            "shrinkA": 70,  # points between an arrow and a text
            "shrinkB": 70,
        }
        ax.annotate("", places[end], places[start], arrowprops=arrow)
        ax.text(*place, text, ha="center", color=colour)
    frame = {
        "boxstyle": "round,pad=0.5",
        "fc": "white",
        "ec": INK,
    }
    for text, place in places.items():
        ax.text(*place, text, ha="center", va="center", bbox=frame)
    return fig


def frame(
    picture: np.ndarray,
    boxes: Table,
    detections: Table,
    appearances: Mapping[str, np.ndarray],
) -> Figure:
    """Draw a frame with its boxes and detections.

    Parameters
    ----------
    picture : array of shape (height, width, 3)
    boxes : pandas.DataFrame
        With ``x1 y1 x2 y2 found``.
    detections : pandas.DataFrame
        With ``x1 y1 x2 y2 score hit``.
    appearances : mapping of str to array
        Small pictures, which are drawn below the frame.
    """
    rows = [["frame"] * max(len(appearances), 1)]
    if appearances:
        rows.append(list(appearances))
    ratios = [4, 1][: len(rows)]
    fig, axes = plt.subplot_mosaic(rows, figsize=(9, 6.4), height_ratios=ratios)
    axes["frame"].imshow(picture)
    for name, small in appearances.items():
        axes[name].imshow(small)
        axes[name].set_title(name, fontsize=9)
    for ax in axes.values():
        ax.set_axis_off()
    found = np.where(boxes["found"], FOUND, MISS)
    hit = np.where(detections["hit"], HIT, FALSE)
    both = pd.concat([boxes.assign(kind=found), detections.assign(kind=hit)])
    for row in both.itertuples():
        sides = row.x2 - row.x1, row.y2 - row.y1
        look = KINDS[row.kind]
        box = Rectangle((row.x1, row.y1), *sides, fill=False, lw=2, **look)
        axes["frame"].add_patch(box)
    for row in detections.itertuples():
        x, y, side = row.x2, row.y2, "top"
        if row.hit:
            x, y, side = row.x1, row.y1, "bottom"
        colour = BLUE if row.hit else RED
        axes["frame"].text(
            x,
            y,
            f"{row.score:.2f}",
            va=side,
            fontsize=8,
            color="white",
            backgroundcolor=colour,
        )
    counts = both["kind"].value_counts()
    looks = {f"{kind} ({counts.get(kind, 0)})": look for kind, look in KINDS.items()}
    title = f"{boxes['found'].sum()} of {len(boxes)} boxes are detected"
    return style.headed(fig, title, looks)


def groups_by_class(groups: Table, sigmas: Table, by: str, paper: Table) -> Figure:
    """Draw AP of every group and class, and sigma with its null (Table 1).

    Parameters
    ----------
    groups : pandas.DataFrame
        From `Analysis.groups`.
    sigmas : pandas.DataFrame
        From `Analysis.sigmas`, with ``null_high`` and ``p_holm`` of `sigma_null`.
    by : str
        The name of the attribute.
    paper : pandas.DataFrame
        The paper's values, or an empty table.
    """
    classes = list(sigmas["class"])
    rows = np.arange(len(classes))
    size = (9.5, 0.9 + 0.42 * len(classes))
    fig, (left, right) = plt.subplots(
        1, 2, figsize=size, sharey=True, width_ratios=[3, 2]
    )
    looks = markers(groups["value"].unique())
    style.compared(left, groups, "AP", "class", looks, "value", classes)
    left.set_xlabel("average precision (%)")
    right.barh(rows, sigmas["null_high"], 0.62, color=CHANCE["color"])
    diamond = {
        "marker": "D",
        "color": INK,
        "ms": 6,
    }
    style.estimates(right, sigmas, "sigma", rows, **diamond)
    legend = looks | {"σ over the groups": diamond}
    if len(paper):
        printed = paper.reindex(classes)
        right.plot(printed["sigma"], rows, ls="", **CROSS)
        for name, look in looks.items():
            cross = CROSS | {"color": look["color"]}
            left.plot(printed[name], rows, ls="", **cross)
        legend["the paper's"] = CROSS
    right.set(xlabel="σ of AP (points)", xlim=(0, None))
    right.tick_params(axis="y", length=0)
    significant = (sigmas["p_holm"] <= 0.05).sum()
    tested = sigmas["p_holm"].notna().sum()
    title = f"AP differs significantly by {by} in {significant} of {tested} rows"
    legend["chance (95% of permutations)"] = CHANCE
    return style.headed(fig, title, legend)


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
        is_shown = (cells["class"] == name) & (cells["attribute"] == attribute)
        for value, line in cells[is_shown].groupby("value", sort=False):
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


def markers(groups: Sequence[str]) -> dict[str, dict]:
    """Return the markers of sensitive values, dark to light in their order."""
    colours = sns.color_palette("rocket", len(groups))
    look = {
        "mec": INK,
        "mew": 0.6,
        "ms": 7,
    }
    return {
        group: look | {"color": colour}
        for group, colour in zip(groups, colours, strict=True)
    }
