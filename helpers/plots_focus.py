"""Figures of Focus: Figure 1, maps of one mosaic, choices, controls, accuracy, time, positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from helpers.attribution import METHODS
from helpers.plots.showing import FAINT, INK, SET_COLOURS

MAP = "magma"
BLUE, ORANGE = "#0072B2", "#C8553D"
HOWS = {"own set": "o", "other set": "s", "stopped early": "^"}


def mosaic_maps(
    picture: torch.Tensor, layout: torch.Tensor, maps: Mapping[str, torch.Tensor], focus: Sequence
) -> Figure:
    """A mosaic with its target cells framed, and the map that each method makes of it.

    Parameters
    ----------
    picture : uint8 tensor (3, H, W)
    layout : bool tensor (2, 2)
    maps : dict from method name to float tensor (H, W)
        Positive relevance is drawn, as a share of the map's 99th percentile.
    focus : sequence of float
        Each map's Focus.

    Returns
    -------
    Figure
    """
    cols = 4
    rows = -(-(len(maps) + 1) // cols)
    fig, axes = plt.subplots(rows, cols, figsize=(9.5, 2.65 * rows), squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    _frames(axes.flat[0], picture, layout)
    axes.flat[0].set_title("mosaic, targets framed", fontsize=10)
    for ax, (name, relevance), score in zip(list(axes.flat)[1:], maps.items(), focus, strict=False):
        positive = relevance.clamp(min=0)
        top = max(float(torch.quantile(positive.flatten(), 0.99)), 1e-30)
        ax.imshow(positive / top, cmap=MAP, vmin=0, vmax=1)
        height, width = relevance.shape
        ax.axhline(height / 2 - 0.5, color="white", lw=0.8)
        ax.axvline(width / 2 - 0.5, color="white", lw=0.8)
        said = "undefined" if np.isnan(score) else f"{score:.2f}"
        ax.set_title(f"{name}: {said}", fontsize=10)
    return fig


def _frames(ax: Axes, picture: torch.Tensor, layout: torch.Tensor) -> None:
    ax.imshow(picture.permute(1, 2, 0).numpy())
    height, width = picture.shape[-2] / 2, picture.shape[-1] / 2
    look = {"fill": False, "ec": "#E8112D", "lw": 3}
    for row, col in layout.nonzero().tolist():
        at = (col * width + 1, row * height + 1)
        ax.add_patch(plt.Rectangle(at, width - 3, height - 3, **look))


def figure_1(rated: pd.DataFrame, means: pd.DataFrame) -> Figure:
    """Focus of every method as box plots, a panel an architecture, a colour an image set.

    Parameters
    ----------
    rated : DataFrame
        From `study.ratings`.
    means : DataFrame
        From `focus.summary(rated, by=["architecture", "method", "set"])`.

    Returns
    -------
    Figure
    """
    architectures, sets = list(rated["architecture"].unique()), list(rated["set"].unique())
    methods = list(rated["method"].unique())
    size = (9.5, 0.6 + 2.5 * len(architectures))
    fig, axes = plt.subplots(len(architectures), 1, figsize=size, squeeze=False, sharex=True)
    width = 0.78 / len(sets)
    for ax, architecture in zip(axes[:, 0], architectures, strict=True):
        for number, name in enumerate(sets):
            at = np.arange(len(methods)) + (number - (len(sets) - 1) / 2) * width
            mine = rated[(rated["architecture"] == architecture) & (rated["set"] == name)]
            _boxes(ax, at, [mine[mine["method"] == m] for m in methods], name, width)
            ends = means[(means["architecture"] == architecture) & (means["set"] == name)]
            _means(ax, at, ends.set_index("method").reindex(methods))
        ax.axhline(0.5, color=INK, ls=":", lw=1, zorder=0)
        ax.set(ylim=(0, 1.03), ylabel="Focus", title=architecture)
    axes[-1, 0].set_xticks(range(len(methods)), [_shown(m) for m in methods], fontsize=10)
    handles = [Patch(fc=SET_COLOURS.get(s, FAINT), ec=INK, label=f"set {s}") for s in sets]
    handles += [
        Line2D([], [], marker="D", color=INK, mfc="white", ms=5, label="mean and 95% interval"),
        Line2D([], [], color=INK, ls=":", label="chance"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return fig


def _boxes(ax: Axes, at, parts: list[pd.DataFrame], name: str, width: float) -> None:
    values = [part["focus"].dropna().to_numpy() for part in parts]
    look = {"patch_artist": True, "manage_ticks": False, "widths": width * 0.88}
    drawn = ax.boxplot(values, positions=at, flierprops={"ms": 2.5, "mec": FAINT}, **look)
    for box in drawn["boxes"]:
        box.set(facecolor=SET_COLOURS.get(name, FAINT), alpha=0.75)
    for line in drawn["medians"]:
        line.set(color=INK, lw=1.4)


def _means(ax: Axes, at, ends: pd.DataFrame) -> None:
    whiskers = _whiskers(ends, "mean", "mean_")
    look = {"fmt": "D", "ms": 4.5, "mfc": "white", "mec": INK, "ecolor": INK, "elinewidth": 1.8}
    ax.errorbar(at, ends["mean"], whiskers, zorder=4, **look)


def accuracy_and_focus(table: pd.DataFrame) -> Figure:
    """Focus of LRP and of GradCAM against the network's accuracy.

    Parameters
    ----------
    table : DataFrame
        From `comparisons.with_accuracy`.

    Returns
    -------
    Figure
    """
    fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.9), sharey=True)
    for ax, (method, name) in zip(axes, (("lrp", "LRP"), ("gradcam", "GradCAM")), strict=True):
        known = table.dropna(subset=[method]) if method in table else table.head(0)
        for how, marker in HOWS.items():
            part = known[known["how"] == how]
            if part.empty:
                continue
            ends = _whiskers(part, method, f"{method}_")
            look = {"fmt": marker, "ms": 7, "color": BLUE, "mfc": "white", "mew": 1.6}
            ax.errorbar(part["accuracy"], part[method], np.nan_to_num(ends), lw=1, **look)
        ax.axhline(0.5, color=INK, ls=":", lw=1)
        ax.set(title=name, xlabel="accuracy on the images of the mosaics", ylim=(0.3, 1.02))
    axes[0].set_ylabel("mean Focus")
    handles = [
        Line2D([], [], ls="", marker=m, ms=7, mfc="white", color=BLUE, mew=1.6, label=how)
        for how, m in HOWS.items()
    ]
    handles.append(Line2D([], [], color=INK, ls=":", label="chance"))
    fig.legend(handles=handles, loc="outside upper center", ncols=4)
    return fig


def choices(table: pd.DataFrame) -> Figure:
    """What each choice does to the mean Focus: two options a row.

    Parameters
    ----------
    table : DataFrame
        From `focus.summary(comparisons.choices(...), by=["choice", "method", "option"])`.

    Returns
    -------
    Figure
    """
    pairs = list(table.groupby(["choice", "method"], sort=False))
    fig, ax = plt.subplots(figsize=(9.5, 1.2 + 0.46 * len(pairs)))
    labels = []
    for y, ((choice, method), part) in enumerate(pairs):
        rows = part.to_dict("records")
        ax.plot([row["mean"] for row in rows], [y] * len(rows), color=FAINT, lw=1.2, zorder=0)
        for row, face, nudge in zip(rows, (BLUE, "white"), (-0.12, 0.12), strict=True):
            ends = _whiskers(row, "mean", "mean_")
            look = {"fmt": "o", "ms": 8, "color": BLUE, "mfc": face, "mew": 1.6}
            ax.errorbar(row["mean"], y + nudge, xerr=np.nan_to_num(ends), lw=1.2, **look)
        first, second = (row["option"] for row in rows)
        labels.append(f"{choice} · {_shown(method)}\n● {first}   ○ {second}")
    ax.axvline(0.5, color=INK, ls=":", lw=1)
    ax.set_yticks(range(len(pairs)), labels, fontsize=8.5)
    ax.set(ylim=(len(pairs) - 0.5, -0.6), xlabel="mean Focus, with 95% interval (dotted: chance)")
    return fig


def controls(table: pd.DataFrame) -> Figure:
    """Each control beside what it must be.

    Parameters
    ----------
    table : DataFrame
        From `focus.checks`, all tables together.

    Returns
    -------
    Figure
    """
    fig, ax = plt.subplots(figsize=(9.5, 1.1 + 0.26 * len(table)))
    for y, row in enumerate(table.to_dict("records")):
        colour = BLUE if row["holds"] else ORANGE
        ax.plot([row["expected"]] * 2, [y - 0.42, y + 0.42], color=INK, lw=2.2)
        ends = _whiskers(row, "mean")
        ax.errorbar(row["mean"], y, xerr=ends, fmt="o", ms=6, color=colour, lw=1.6)
    names = [f"{c} ({on})" for c, on in zip(table["control"], table["on"], strict=True)]
    ax.set_yticks(range(len(table)), names, fontsize=8)
    ax.set(ylim=(len(table) - 0.4, -0.6), xlim=(-0.03, 1.05), xlabel="Focus")
    ax.grid(axis="y", color="#eeeeee")
    handles = [
        Line2D([], [], marker="|", ms=12, mew=2.2, ls="", color=INK, label="must be"),
        Line2D([], [], marker="o", ls="", color=BLUE, label="is so"),
        Line2D([], [], marker="o", ls="", color=ORANGE, label="is not: see the table"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=3)
    return fig


def positions(table: pd.DataFrame) -> Figure:
    """How far the layout of the same four images moves Focus.

    Parameters
    ----------
    table : DataFrame
        From `checks.positions`.

    Returns
    -------
    Figure
    """
    cells = {"top": "■■\n□□", "left": "■□\n■□", "falling": "■□\n□■"}
    cells |= {"rising": "□■\n■□", "right": "□■\n□■", "bottom": "□□\n■■"}
    fig, ax = plt.subplots(figsize=(8.0, 3.0))
    ends = _whiskers(table, "mean")
    ax.errorbar(range(len(table)), table["mean"], ends, fmt="o", ms=8, color=BLUE, capsize=3)
    ax.axhline(0, color=INK, ls=":", lw=1)
    names = [cells[name] for name in table["layout"]]
    ax.set_xticks(range(len(table)), names, fontsize=15, linespacing=0.85, family="DejaVu Sans")
    ax.tick_params(axis="x", length=0)
    ax.set(ylabel="Focus, from the mean\nof the six layouts", xlim=(-0.5, len(table) - 0.5))
    ax.set_xlabel("■ cells that show the target class")
    return fig


def time_and_focus(table: pd.DataFrame, best: Sequence[str]) -> Figure:
    """Time against Focus, with the methods that no other beats in both joined.

    Parameters
    ----------
    table : DataFrame
        From `focus.summary`, a row a method.
    best : sequence of str
        Methods of the Pareto front, the fastest first.

    Returns
    -------
    Figure
    """
    fig, ax = plt.subplots(figsize=(9.0, 4.4))
    front = table.set_index("method").loc[list(best)]
    ax.plot(1e3 * front["seconds"], front["mean"], color=ORANGE, lw=2, zorder=0)
    for number, row in enumerate(table.sort_values("seconds").to_dict("records")):
        colour = ORANGE if row["method"] in best else BLUE
        nudge = (9, 8) if number % 2 else (9, -16)
        ends = _whiskers(row, "mean", "mean_")
        at = (1e3 * row["seconds"], row["mean"])
        ax.errorbar(*at, np.nan_to_num(ends), fmt="o", ms=8, color=colour, lw=1.2)
        look = {"fontsize": 9, "bbox": {"fc": "white", "ec": "none", "pad": 0.3, "alpha": 0.85}}
        ax.annotate(_shown(row["method"]), at, nudge, textcoords="offset points", **look)
    ax.axhline(0.5, color=INK, ls=":", lw=1)
    ax.set_xscale("log")
    ax.margins(x=0.15)
    ax.set(xlabel="time for a mosaic (ms, one core; logarithmic)", ylabel="mean Focus")
    handles = [
        Line2D([], [], marker="o", color=ORANGE, lw=2, label="no other is faster and better"),
        Line2D([], [], marker="o", ls="", color=BLUE, label="another is faster and better"),
        Line2D([], [], color=INK, ls=":", label="chance"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=3)
    return fig


def _shown(method: str) -> str:
    return METHODS[method].name if method in METHODS else method


def _whiskers(rows: pd.DataFrame | dict, value: str, ends: str = "") -> np.ndarray:
    """Lengths below and above a column or value, to `ends`low and `ends`high: (2, rows)."""
    below, above = rows[value] - rows[f"{ends}low"], rows[f"{ends}high"] - rows[value]
    return np.abs([below, above]).reshape(2, -1)
