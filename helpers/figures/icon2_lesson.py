"""Figures of lesson 08, from tables of :mod:`helpers.icon2`."""

from collections.abc import Mapping

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
    group_place, confounder_place, ap_place = (1.5, 0.6), (5.0, 2.4), (8.5, 0.6)
    texts = {
        group_place: f"sensitive attribute\n({sensitive})",
        confounder_place: "confounder\n(size, occlusion, time, ...)",
        ap_place: "average precision\nof the group",
    }
    arrows = [
        (group_place, confounder_place, "the groups' scenes differ", BLUE),
        (confounder_place, ap_place, "and some are harder", BLUE),
        (group_place, ap_place, "the detector is worse for it", RED),
    ]
    centred = {"ha": "center", "va": "center"}
    border = {"boxstyle": "round,pad=0.5", "fc": "white", "ec": INK}
    fig, ax = plt.subplots(figsize=(8.5, 3.4))
    ax.set(xlim=(0, 10), ylim=(0, 3))
    ax.set_axis_off()
    for start, end, text, color in arrows:
        arrow = {
            "arrowstyle": "-|>",
            "lw": 2,
            "color": color,
            "shrinkA": 50,  # points between an arrow and a text
            "shrinkB": 50,
        }
        ax.annotate("", end, start, arrowprops=arrow)
        x, y = np.mean([start, end], axis=0)
        ax.text(x, y, text, color=color, backgroundcolor="white", **centred)
    for (x, y), text in texts.items():
        ax.text(x, y, text, bbox=border, **centred)
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
    ax = axes["frame"]
    for row in both.itertuples():
        look = KINDS[row.kind]
        corner = row.x1, row.y1
        width = row.x2 - row.x1
        height = row.y2 - row.y1
        box = Rectangle(corner, width, height, fill=False, lw=2, **look)
        ax.add_patch(box)
        score = {
            "fontsize": 8,
            "color": "white",
            "backgroundcolor": look["color"],
        }
        if row.kind == HIT:
            ax.text(row.x1, row.y1, f"{row.score:.2f}", va="bottom", **score)
        elif row.kind == FALSE:
            ax.text(row.x2, row.y2, f"{row.score:.2f}", va="top", **score)
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
    values = groups["value"].unique()
    colours = sns.color_palette("rocket", len(values))
    edge = {"mec": INK, "mew": 0.6, "ms": 7}
    looks = {
        value: edge | {"color": colour}
        for value, colour in zip(values, colours, strict=True)
    }
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
