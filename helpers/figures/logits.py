"""Figure 7: the logits of single images against those of mosaics."""

import textwrap
from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.figures.style import INK, context_name


def logit_panels(
    points: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
    *,
    contexts: list[str] | None = None,
    bins: int = 16,
    width: float = 9.5,
) -> Figure:
    """One panel a combination: 2-D histogram of the two logits, with 1-D histograms (Figure 7).

    Single images in the object class's colour and with a triangle at their mean, mosaics in the
    context class's colour and with a star. Beyond the diagonal (upper left) the context's class
    has won.

    Parameters
    ----------
    points : DataFrame
        From `context.points`.
    colours : dict from class to colour
        From `palette`; also the order of rows and columns.
    context_of : dict from class to context name, optional
        For the labels.
    contexts : list of str, optional
        Classes whose contexts to draw; all by default.
    bins : int
        A side of a panel.
    width : float
        Of the figure, in inches; more where there are more than five panels across.

    Returns
    -------
    Figure
        With more than five contexts to an object, panels are small and keep only their titles
        (the object's logit across, the context's up).
    """
    found = set(points.loc[points["kind"] == "context", "context_class"])
    rows = contexts or [name for name in colours if name in found]
    columns = {c: _objects(points, c, colours) for c in rows}
    across = max(len(objects) for objects in columns.values())
    side = min(max(width / across, 1.7), 2.8)
    fig, axes = plt.subplots(
        len(rows), across, figsize=(side * across, side * len(rows) + 0.4), squeeze=False
    )
    for line, context in zip(axes, rows, strict=True):
        for ax in line[len(columns[context]) :]:
            ax.set_axis_off()
        for ax, name in zip(line, columns[context], strict=False):
            pair = points[(points["context_class"] == context) & (points["object_class"] == name)]
            beside = context_name(context, context_of)
            _panel(ax, pair, colours[name], colours[context], bins)
            if side >= 1.8:
                ax.set_xlabel(f"logit of {name}", fontsize=8, labelpad=1)
                ax.set_ylabel(f"logit of {context}", fontsize=8, labelpad=1)
                ax.top.set_title(f"{name} + {beside}", fontsize=9)
            else:
                ax.tick_params(labelleft=False, labelbottom=False)
                ax.top.set_title(textwrap.fill(f"{name} + {beside}", 24), fontsize=7)
    fig.legend(handles=_handles(), loc="outside upper center", ncols=4)
    return fig


def _objects(points: pd.DataFrame, context: str, colours) -> list[str]:
    there = set(points.loc[points["context_class"] == context, "object_class"])
    return [name for name in colours if name in there]


def _panel(ax: Axes, pair: pd.DataFrame, object_colour, context_colour, bins: int) -> None:
    single, mosaic = (pair[pair["kind"] == kind] for kind in ("single", "context"))
    both = pd.concat([single, mosaic])[["object_logit", "context_logit"]].to_numpy()
    low, high = both.min(), both.max()
    pad = 0.06 * (high - low) or 1.0
    edges = np.linspace(low - pad, high + pad, bins + 1)
    ax.top = ax.inset_axes([0, 1.02, 1, 0.17], sharex=ax)
    ax.side = ax.inset_axes([1.02, 0, 0.17, 1], sharey=ax)
    for part, colour, marker in ((single, object_colour, "^"), (mosaic, context_colour, "*")):
        _cloud(ax, part, colour, edges)
        x, y = part["object_logit"].mean(), part["context_logit"].mean()
        size = 11 if marker == "*" else 8
        ax.plot(x, y, marker, color=colour, mec="black", mew=1, ms=size, zorder=4)
    ax.axline((low, low), slope=1, color=INK, lw=1, ls="--", zorder=3)
    ax.set(xlim=edges[[0, -1]], ylim=edges[[0, -1]], box_aspect=1)
    ax.locator_params(nbins=4)
    ax.tick_params(labelsize=8, length=2, pad=2)


def _cloud(ax: Axes, part: pd.DataFrame, colour: str, edges: np.ndarray) -> None:
    """2-D histogram in shades of one colour, and its two margins."""
    x, y = part["object_logit"], part["context_logit"]
    shades = LinearSegmentedColormap.from_list(
        "shades", [(*to_rgb(colour), 0.3), (*to_rgb(colour), 0.95)]
    )
    counts, _, _ = np.histogram2d(x, y, edges)
    ax.pcolormesh(edges, edges, np.ma.masked_equal(counts.T, 0), cmap=shades)
    look = {"bins": edges, "color": colour, "alpha": 0.65, "density": True}
    ax.top.hist(x, **look)
    ax.side.hist(y, orientation="horizontal", **look)
    for margin in (ax.top, ax.side):
        margin.set_axis_off()


def _handles() -> list[Line2D]:
    grey = {"ls": "", "color": "#bbbbbb", "mec": "black"}
    return [
        Line2D([], [], marker="^", ms=8, label="single images (mean), object's colour", **grey),
        Line2D([], [], marker="*", ms=11, label="mosaics (mean), context's colour", **grey),
        Line2D([], [], color=INK, lw=1, ls="--", label="both logits equal"),
    ]
