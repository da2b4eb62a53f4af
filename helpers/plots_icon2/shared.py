"""What the figures of notebook 08 share: colours of groups and controls, grouped bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.plots.showing import FAINT, INK

THREE = ("#5B0F2E", "#C8553D", "#F5C04A")
"""Groups from the first to the last, also from dark to light."""


BEFORE, STRATA, STANDARD = "#4A4A4A", "#0072B2", "#009E73"
WRONG = "#C8553D"


def group_colours(groups: Sequence[str]) -> dict[str, str]:
    """A colour for each sensitive value, dark to light in their order."""
    if len(groups) <= 3:
        return dict(zip(groups, THREE, strict=False))
    return dict(zip(groups, sns.color_palette("rocket", len(groups)).as_hex(), strict=True))


def interval(ax: Axes, x, low, high, y, colour: str, label: str) -> None:
    """A point with its interval, horizontally."""
    ax.hlines(y, low, high, color=colour, lw=2)
    ax.plot(x, y, "o", color=colour, mec=INK, mew=0.6, ms=7, label=label, ls="")


def whiskers(ax: Axes, x, part: pd.DataFrame) -> None:
    """Vertical intervals ``low`` to ``high``."""
    ax.vlines(x, part.low, part.high, color=INK, lw=1.3)


def grouped_bars(ax: Axes, part, order, groups, column, scale: float = 1.0) -> None:
    """Bars of each value side by side for the groups; intervals and "n < min" where there are."""
    colours, width = group_colours(groups), 0.8 / len(groups)
    for number, group in enumerate(groups):
        rows = part[part.group == group].set_index("value").reindex(order)
        x = np.arange(len(order)) + width * (number - (len(groups) - 1) / 2)
        ax.bar(x, scale * rows[column].fillna(0), 0.94 * width, color=colours[group])
        if "low" in rows:
            ax.vlines(x, scale * rows.low, scale * rows.high, color=FAINT, lw=1.4)
        if column == "AP":
            for at in x[~rows.estimable.to_numpy(bool)]:
                ax.text(at, 0.5, "n < min", rotation=90, ha="center", va="bottom", fontsize=7)


def group_legend(fig: Figure, groups: Sequence[str], title: str) -> None:
    """A legend of the groups, above the figure."""
    handles = [
        Line2D([], [], ls="", marker="s", ms=10, color=c, label=name)
        for name, c in group_colours(groups).items()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles), title=title)
