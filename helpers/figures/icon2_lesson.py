"""Figures of lesson 08, from tables of :mod:`helpers.icon2`."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import seaborn.objects as so
import torch
from matplotlib.figure import Figure

from helpers.figures import style
from helpers.figures.style import BLUE, FAINT, INK, RED, Table

CROSS = {"marker": "x", "color": RED, "mew": 1.8}  # the paper's values
CHANCE = {"marker": "s", "color": FAINT, "alpha": 0.4}
LEAST_SCORE = 0.1  # below which no number is drawn
KINDS = {
    "labelled box, detected": "#FFFFFF",
    "labelled box, missed": "#FFC400",
    "detection, hit": BLUE,
    "detection, false positive": RED,
}


def causal_diagram(sensitive: str) -> Figure:
    """Draw the two reasons why a group can have a lower average precision."""
    attribute = f"sensitive attribute\n({sensitive})"
    confounder = "confounder\n(size, occlusion, ...)"
    ap = "average precision\nof the group"
    # each text, its place, the other end of its arrow, and the arrow's shape and colour
    arrows = [
        (attribute, (0.15, 0.1), (0.38, 0.9), "-|>", BLUE),
        (confounder, (0.5, 0.9), (0.82, 0.3), "-|>", BLUE),
        (ap, (0.85, 0.1), (0.24, 0.1), "<|-", RED),  # it ends at its text
    ]
    fig, ax = plt.subplots(figsize=(8.5, 2))
    ax.set_axis_off()
    for text, place, end, shape, color in arrows:
        arrow = {"arrowstyle": shape, "color": color, "lw": 2}
        ax.annotate(text, end, place, arrowprops=arrow, ha="center", va="center")
    return fig


def frame(picture: np.ndarray, boxes: Table, detections: Table) -> Figure:
    """Draw a frame with its boxes and detections.

    Parameters
    ----------
    picture : array of shape (height, width, 3)
    boxes : pandas.DataFrame
        With ``x1 y1 x2 y2 found``.
    detections : pandas.DataFrame
        With ``x1 y1 x2 y2 score hit``.
    """
    from torchvision.utils import draw_bounding_boxes  # takes seconds

    detected, missed, hit, false_positive = KINDS.values()
    boxes = boxes.assign(colour=np.where(boxes["found"], detected, missed))
    detections = detections.sort_values("hit")  # hits are drawn last
    detections["colour"] = np.where(detections["hit"], hit, false_positive)
    scale = max(1, 960 // picture.shape[1])  # so that lines are sharp
    enlarged = picture.repeat(scale, 0).repeat(scale, 1)
    drawn = torch.from_numpy(enlarged).permute(2, 0, 1)
    for table, width in ((boxes, 4), (detections, 2)):
        drawn = draw_bounding_boxes(
            drawn,
            scale * torch.tensor(table[["x1", "y1", "x2", "y2"]].to_numpy()),
            colors=list(table["colour"]),
            width=width,
        )
    fig, ax = plt.subplots(figsize=(9, 5.2))
    ax.imshow(drawn.permute(1, 2, 0), interpolation="nearest")
    for row in detections[detections["score"] >= LEAST_SCORE].itertuples():
        ax.text(
            scale * row.x1,
            scale * row.y1,
            f"{row.score:.2f}",
            fontsize=8,
            color="white",
            bbox={"color": row.colour, "pad": 1},
        )
    ax.set_axis_off()
    looks = {
        kind: {"color": color, "marker": "s", "mec": INK}
        for kind, color in KINDS.items()
    }
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
    ap = groups.assign(panel="average precision (AP)")
    spread = sigmas.rename(columns={"sigma": "AP"})
    spread = spread.assign(value="σ", panel="σ of AP over the groups")
    printed = paper.rename(columns={"sigma": "σ"})
    printed = printed.melt(var_name="value", value_name="paper", ignore_index=False)
    both = pd.concat([ap, spread]).merge(printed, how="left", on=["class", "value"])
    fig = plt.figure(figsize=(9.5, 1 + 0.42 * len(sigmas)))
    colours = sns.color_palette("rocket", groups["value"].nunique())
    dodge = so.Dodge(empty="drop")
    chance = so.Bar(color=FAINT, alpha=0.3)
    cross = so.Dot(marker="x", color=RED)
    plot = (
        so.Plot(both, x="AP", y="class", xmin="low", xmax="high", color="value")
        .facet("panel")
        .share(x=False)
        .scale(color=[*colours, INK])
        .label(x="points", y="", color=by)
        .add(chance, x="null_high", color=None)
        .add(so.Range(), dodge)
        .add(so.Dot(), dodge)
        .add(cross, dodge, x="paper", legend=False)
    )
    plot.on(fig).plot()
    significant = (sigmas["p_holm"] <= 0.05).sum()
    title = f"AP differs significantly by {by} in {significant} of {len(sigmas)} rows"
    looks = {"chance (95% of permutations)": CHANCE}
    if len(paper):
        looks["the paper's value"] = CROSS
    return style.headed(fig, title, looks)
