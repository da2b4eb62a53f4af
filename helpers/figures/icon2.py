"""Draw the figures of a detector audit from tables of :mod:`helpers.icon2`."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from helpers.figures import style
from helpers.figures.style import FAINT, INK, RED, Table


def recall_by_size(within: Table) -> Figure:
    """Draw the recall of each group by the size of the boxes, all classes pooled.

    Parameters
    ----------
    within : pandas.DataFrame
        From `pooled_recall.within_size`, for one attribute.
    """
    fig, ax = plt.subplots(figsize=(8.5, 3.4))
    groups = list(dict.fromkeys(within["group"]))
    sizes = within.drop_duplicates("bin")
    for group, look in style.series(groups).items():
        part = within[within["group"] == group].dropna(subset="recall")
        ax.plot(part["bin"], part["recall"], ls="-", lw=1, label=group, **look)
    ax.set_xticks(sizes["bin"], sizes["side"])
    ax.set_xlabel("side of the box (pixels); each bin has a fifth of all boxes")
    ax.set(ylabel="recall at IoU 0.5 (%)", ylim=(0, 102))
    ax.legend(title=within["attribute"].iloc[0])
    return fig


def gaps(table: Table, null) -> Figure:
    """Draw gaps in AP with their intervals; the significant ones are red.

    Parameters
    ----------
    table : pandas.DataFrame
        From `detector_findings.gaps`, in the order to draw.
    null : group_gaps.Null
    """
    fig, ax = plt.subplots(figsize=(8.5, 0.9 + 0.32 * len(table)))
    significant = table["verdict"] == "significant"
    looks = {
        "significant": (significant, RED),
        "not significant": (~significant, FAINT),
    }
    for name, (chosen, colour) in looks.items():
        rows = np.flatnonzero(chosen)
        style.estimates(ax, table[chosen], "gap", rows, color=colour, label=name)
    style.name_rows(ax, list(table["attribute"] + ": " + table["class"]))
    ax.axvline(0, color=INK, lw=1)
    ax.set_xlabel("gap in AP between the lowest and the highest group (points)")
    ax.legend(loc="lower right")
    return fig


def detection_rates(power: Table) -> Figure:
    """Draw how often an injected fault is detected by the share of lost boxes.

    Parameters
    ----------
    power : pandas.DataFrame
        From `group_gaps.detection_rates`, without the first row.
    """
    attributes = list(dict.fromkeys(power["attribute"]))
    classes = list(dict.fromkeys(power["class"]))
    size = (9.5, 1.4 + 0.32 * len(classes))
    fig, axes = plt.subplots(
        1, len(attributes), figsize=size, sharey=True, squeeze=False, layout="tight"
    )
    for ax, attribute in zip(axes[0], attributes, strict=True):
        part = power[power["attribute"] == attribute].assign(rate=100 * power["rate"])
        rates = part.pivot_table("rate", "class", "loss").reindex(classes)
        rates.columns = [f"{loss:.0%}" for loss in rates.columns]
        sns.heatmap(
            rates,
            ax=ax,
            annot=True,
            fmt=".0f",
            cmap="Blues",
            vmin=0,
            vmax=150,
            cbar=False,
        )
        ax.set(title=attribute, xlabel="lost share of detected boxes", ylabel="")
    return fig
