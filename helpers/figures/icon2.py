"""Draw the figures of a detector audit from tables of :mod:`helpers.icon2`."""

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from helpers.figures import style
from helpers.figures.style import BLUE, FAINT, RED, Table


def recall_by_size(within: Table) -> Figure:
    """Draw the recall of each group by the size of the boxes, all classes pooled.

    Parameters
    ----------
    within : pandas.DataFrame
        From `pooled_recall.within_size`, for one attribute.
    """
    fig, ax = plt.subplots(figsize=(8.5, 3.4))
    title = within["attribute"].iloc[0]
    lines = within.rename(columns={"group": title})
    sns.lineplot(
        lines,
        x="side",
        y="recall",
        hue=title,
        style=title,
        palette="rocket",
        dashes=False,
        markers=True,
        ax=ax,
    )
    ax.set_xlabel("side of the box (pixels); each bin has a fifth of all boxes")
    ax.set(ylabel="recall at IoU 0.5 (%)", ylim=(0, 102))
    return fig


def gaps(table: Table) -> Figure:
    """Draw gaps in AP with their intervals; the significant ones are red.

    Parameters
    ----------
    table : pandas.DataFrame
        From `group_gaps.gap_table`, in the order to draw.
    """
    looks = {
        "significant": {"color": RED},
        "may be due to class or size": {"color": BLUE},
        "not significant": {"color": FAINT},
    }
    table = table.assign(row=table["attribute"] + ": " + table["class"])
    fig = style.forest(table, "gap", "row", looks, "verdict", apart=0, at=0)
    [ax] = fig.axes
    ax.set_xlabel("gap in AP between the lowest and highest group (points)")
    for name, look in looks.items():
        ax.plot([], [], marker="o", ls="", label=name, **look)
    ax.legend(loc="lower right")
    return fig
