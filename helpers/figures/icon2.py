"""Draw the figures of a detector audit from tables of :mod:`helpers.icon2`."""

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from helpers.figures import style
from helpers.figures.style import BLUE, FAINT, RED, Table


def recall_by_size(table: Table) -> Figure:
    """Draw the recall of each group by the size of the boxes, of all classes.

    Parameters
    ----------
    table : pandas.DataFrame
        From `measures.recall_by_size`, for one attribute.
    """
    fig, ax = plt.subplots(figsize=(8.5, 3.4))
    title = table["attribute"].iloc[0]
    lines = table.rename(columns={"group": title}).astype({"side": str})
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


def findings(table: Table) -> Figure:
    """Draw the difference of each finding with its interval, coloured by its verdict.

    Parameters
    ----------
    table : pandas.DataFrame
        From `detector_findings.findings`, in the order to draw.
    """
    looks = {
        "significant": {"color": RED},
        "may be due to class or size": {"color": BLUE},
        "not significant": {"color": FAINT},
    }
    row = table["measure"] + ": " + table["by"] + " is " + table["group"]
    table = table.assign(row=row)
    fig = style.forest(table, "value", "row", looks, "verdict", apart=0, at=0)
    [ax] = fig.axes
    ax.set_xlabel("difference from the other groups (points; false positives per 100)")
    for name, look in looks.items():
        ax.plot([], [], marker="o", ls="", label=name, **look)
    ax.legend(loc="best")
    return fig
