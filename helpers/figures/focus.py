"""Figures of Focus: Figure 1, maps of one mosaic, choices, controls, accuracy, time, positions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator
from matplotlib.transforms import Bbox

from helpers.explain import METHODS
from helpers.figures.style import FAINT, INK, SET_COLOURS, whiskers

MAP = "magma"
BLUE, ORANGE = "#0072B2", "#C8553D"
FRAME = "#00B8D4"  # seen on photographs and on dark and bright maps
LOOKS = (("#0072B2", "o"), ("#E69F00", "s"), ("#009E73", "^"), ("#5B0F2E", "D"))


def mosaic_maps(
    picture: torch.Tensor,
    layout: torch.Tensor,
    maps: Mapping[str, torch.Tensor],
    titles: Sequence[str],
    target: str,
) -> Figure:
    """A mosaic, and the map that each method makes of it, the target cells framed in all of them.

    Parameters
    ----------
    picture : uint8 tensor (3, H, W)
    layout : bool tensor (2, 2)
    maps : dict from method name to float tensor (H, W)
        Positive relevance is drawn, as a share of the map's 99th percentile.
    titles : sequence of str
        What stands under each method's name, such as its Focus.
    target : str
        The class that is asked for.

    Returns
    -------
    Figure
    """
    cols = 4
    rows = -(-(len(maps) + 1) // cols)
    fig, axes = plt.subplots(rows, cols, figsize=(9.5, 2.85 * rows), squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    first, *others = axes.flat
    first.imshow(picture.permute(1, 2, 0).numpy())
    first.set_title(f"why “{target}”?\nits two cells are framed", fontsize=10)
    _frames(first, picture.shape[-2:], layout)
    for ax, (name, relevance), said in zip(others, maps.items(), titles, strict=False):
        positive = relevance.clamp(min=0)
        top = max(float(torch.quantile(positive.flatten(), 0.99)), 1e-30)
        ax.imshow(positive / top, cmap=MAP, vmin=0, vmax=1)
        height, width = relevance.shape
        ax.axhline(height / 2 - 0.5, color="white", lw=0.8)
        ax.axvline(width / 2 - 0.5, color="white", lw=0.8)
        _frames(ax, relevance.shape, layout)
        ax.set_title(f"{name}\n{said}", fontsize=10)
    return fig


def _frames(ax: Axes, size: Sequence[int], layout: torch.Tensor) -> None:
    height, width = size[0] / 2, size[1] / 2
    look = {"fill": False, "ec": FRAME, "lw": 3}
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
    lengths = _whiskers(ends, "mean", "mean_")
    look = {"fmt": "D", "ms": 4.5, "mfc": "white", "mec": INK, "ecolor": INK, "elinewidth": 1.8}
    ax.errorbar(at, ends["mean"], lengths, zorder=4, **look)


def accuracy_and_focus(table: pd.DataFrame) -> Figure:
    """Focus of LRP, LIME and GradCAM against accuracy, the cases of the same networks joined.

    A small dot is one training in one case, a large mark the mean of a case's trainings.

    Parameters
    ----------
    table : DataFrame
        From `comparisons.with_accuracy`.

    Returns
    -------
    Figure
    """
    methods = [m for m in ("lrp", "lime", "gradcam") if m in table]
    names = list(table["architecture"].unique())
    looks = {n: LOOKS[i % len(LOOKS)] for i, n in enumerate(names)}
    fig, axes = plt.subplots(1, len(methods), figsize=(9.5, 3.9), sharey=True, squeeze=False)
    for ax, method in zip(axes[0], methods, strict=True):
        for _, part in table.dropna(subset=[method]).groupby("model", sort=False):
            colour, marker = looks[part["architecture"].iloc[0]]
            ax.plot(part["accuracy"], part[method], ".", color=colour, ms=4, alpha=0.45, zorder=0)
            cases = part.groupby(["set", "how"])[["accuracy", method]].mean()
            cases = cases.sort_values("accuracy").reset_index()
            ax.plot(cases["accuracy"], cases[method], color=colour, lw=1.2, alpha=0.6)
            for row in cases.to_dict("records"):
                look = {"ls": "", "marker": marker, "ms": 8, "color": colour, "mew": 1.5}
                look |= {"mfc": colour if row["how"] == "own set" else "white"}
                fill = {"fillstyle": "left", "mfc": colour, "markerfacecoloralt": "white"}
                look |= fill if row["how"] == "stopped early" else {}
                ax.plot(row["accuracy"], row[method], **look)
        ax.axhline(0.5, color=INK, ls=":", lw=1)
        ax.set(title=_shown(method), xlabel="accuracy on the set", ylim=(0.2, 1.02))
        ax.set_xlim(None, 1.04)
    axes[0, 0].set_ylabel("mean Focus")
    fig.legend(handles=_cases(looks), loc="outside upper center", ncols=4)
    return fig


def _cases(looks: Mapping[str, tuple[str, str]]) -> list[Line2D]:
    """Handles of the architectures, and of what was done to the networks."""
    shared = {"ls": "", "ms": 7.5, "mew": 1.5}
    found = [
        Line2D([], [], marker=marker, color=colour, label=name, **shared)
        for name, (colour, marker) in looks.items()
    ]
    faces = (("on its own set", INK), ("on another set", "white"))
    for label, face in faces:
        found.append(Line2D([], [], marker="o", color=INK, mfc=face, label=label, **shared))
    half = {"fillstyle": "left", "mfc": INK, "markerfacecoloralt": "white"}
    found.append(Line2D([], [], marker="o", color=INK, label="stopped early", **shared, **half))
    found.append(Line2D([], [], color=FAINT, lw=1.2, label="the same networks"))
    found.append(Line2D([], [], marker=".", ls="", color=FAINT, label="one training"))
    return [*found, Line2D([], [], color=INK, ls=":", label="chance")]


def choices(table: pd.DataFrame) -> Figure:
    """Two options of each choice, and what the second changes on the same mosaics.

    Parameters
    ----------
    table : DataFrame
        From `comparisons.paired`.

    Returns
    -------
    Figure
    """
    size = (9.5, 1.2 + 0.44 * len(table))
    fig, (ax, gaps) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=(1, 1))
    labels = []
    for y, row in enumerate(table.to_dict("records")):
        one, other = row["first_mean"], row["second_mean"]
        ax.plot([one, other], [y, y], color=FAINT, lw=1.2, zorder=0)
        ax.plot(one, y, "o", ms=8, color=BLUE)
        ax.plot(other, y, "o", ms=8, color=BLUE, mfc="white", mew=1.6)
        certain = row["low"] > 0 or row["high"] < 0
        look = {"fmt": "D", "ms": 6, "color": ORANGE if certain else FAINT, "lw": 1.6}
        gaps.errorbar(row["difference"], y, xerr=_whiskers(row, "difference"), **look)
        name = f"{row['choice']} · {_shown(row['method'])}"
        labels.append(f"{name}\n● {row['first']}   ○ {row['second']}")
    ax.axvline(0.5, color=INK, ls=":", lw=1)
    gaps.axvline(0, color=INK, lw=1)
    gaps.tick_params(axis="y", length=0)
    ax.set_yticks(range(len(table)), labels, fontsize=8.5)
    ax.set(ylim=(len(table) - 0.5, -0.6), xlabel="mean Focus (dotted: chance)")
    gaps.set_xlabel("○ minus ●, with 95% interval\n(orange: clear of zero)")
    return fig


def controls(table: pd.DataFrame) -> Figure:
    """Each control beside what it must be: a panel for 0.5, and one for 1.

    Parameters
    ----------
    table : DataFrame
        From `focus.checks`, all tables together.

    Returns
    -------
    Figure
    """
    parts = [table[table["expected"] == 0.5], table[table["expected"] == 1]]
    titles = ("must be 0.5 (99.5% interval)", "must be 1 (worst to best mosaic)")
    most = max(map(len, parts))
    fig, axes = plt.subplots(1, 2, figsize=(9.8, 1.3 + 0.27 * most))
    for ax, part, title in zip(axes, parts, titles, strict=True):
        for y, row in enumerate(part.to_dict("records")):
            colour = BLUE if row["holds"] else ORANGE
            look = {"fmt": "o" if row["holds"] else "X", "ms": 6.5, "color": colour, "lw": 1.8}
            if np.isnan(row["mean"]):
                ax.text(0, y, "gives no map", va="center", color=ORANGE, fontsize=8)
                continue
            ax.errorbar(row["mean"], y, xerr=_whiskers(row, "mean"), **look)
        pairs = zip(part["control"], part["on"], strict=True)
        names = [f"{c.removeprefix('disconnected heads: ')} ({on})" for c, on in pairs]
        ax.axvline(0.5 if part is parts[0] else 1, color=INK, lw=1.8, zorder=0)
        ax.set_yticks(range(len(part)), names, fontsize=8)
        ax.set(ylim=(most - 0.4, -0.6), xlim=(-0.03, 1.05), xlabel="Focus")
        ax.set_title(title, fontsize=10)
        ax.grid(axis="y", color="#eeeeee")
    handles = [
        Line2D([], [], color=INK, lw=1.8, label="what it must be"),
        Line2D([], [], marker="o", ls="", color=BLUE, label="holds"),
        Line2D([], [], marker="X", ls="", color=ORANGE, label="does not: see the table"),
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
    fig, ax = plt.subplots(figsize=(9.0, 4.6))
    front = table.set_index("method").loc[list(best)]
    ax.plot(1e3 * front["seconds"], front["mean"], color=ORANGE, lw=2, zorder=0)
    for row in table.to_dict("records"):
        on = row["method"] in best
        look = {"fmt": "o", "ms": 8, "color": ORANGE if on else BLUE, "lw": 1.2}
        ends = _whiskers(row, "mean", "mean_")
        ax.errorbar(1e3 * row["seconds"], row["mean"], ends, **look)
    ax.axhline(0.5, color=INK, ls=":", lw=1)
    ax.set_xscale("log")
    low, high = 1e3 * table["seconds"].min(), 1e3 * table["seconds"].max()
    ticks = [n * 10**k for k in range(-1, 6) for n in (1, 2, 5)]
    ax.set_xticks([t for t in ticks if low / 2 < t < high * 2])
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set(xlim=(low / 2, high * 2.2), ylim=(None, 1.04))
    ax.set(xlabel="time for a mosaic (ms, one core; logarithmic)", ylabel="mean Focus")
    handles = [
        Line2D([], [], marker="o", color=ORANGE, lw=2, label="no other is as fast and better"),
        Line2D([], [], marker="o", ls="", color=BLUE, label="another is as fast and better"),
        Line2D([], [], color=INK, ls=":", label="chance"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=3)
    _names(ax, table, front)
    return fig


def _names(ax: Axes, table: pd.DataFrame, front: pd.DataFrame) -> None:
    """Write each point's name where it hides no point, interval, front or other name."""
    ax.figure.draw_without_rendering()
    bends = ax.transData.transform(np.column_stack([1e3 * front["seconds"], front["mean"]]))
    line = [a + (b - a) * t for a, b in itertools.pairwise(bends) for t in np.linspace(0, 1, 50)]
    taken = [Bbox([at - 2, at + 2]) for at in line]
    for row in table.to_dict("records"):
        ends = [row["mean"] if np.isnan(row[k]) else row[k] for k in ("mean_low", "mean_high")]
        corners = ax.transData.transform([(1e3 * row["seconds"], end) for end in ends])
        taken.append(Bbox([corners[0] - 7, corners[1] + 7]))
    for row in table.sort_values("seconds").to_dict("records"):
        at, text = (1e3 * row["seconds"], row["mean"]), None
        for up, across in itertools.product((0, 12, -12, 24, -24, 36, -36), (9, -9)):
            if text:
                text.remove()
            look = {"fontsize": 9, "va": "center", "ha": "left" if across > 0 else "right"}
            text = ax.annotate(
                _shown(row["method"]), at, (across, up), textcoords="offset points", **look
            )
            box = text.get_window_extent()
            inside = ax.bbox.x0 + 5 < box.x0 and box.x1 < ax.bbox.x1
            if inside and not any(box.overlaps(other) for other in taken):
                break
        taken.append(box)


def _shown(method: str) -> str:
    return METHODS[method].name if method in METHODS else method


def _whiskers(rows: pd.DataFrame | dict, value: str, ends: str = "") -> np.ndarray:
    """Lengths below and above a column or value, to `ends`low and `ends`high: (2, rows)."""
    return whiskers(rows[value], rows[f"{ends}low"], rows[f"{ends}high"])
