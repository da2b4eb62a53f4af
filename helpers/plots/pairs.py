"""Figures of class pairs: their matrix and ranking, Figure 2, and how a planted pair is found."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from helpers.plots.explanations import MAP
from helpers.plots.showing import FAINT, INK, readable_on

LOW = "#C8553D"
TARGET, OUTER = "#0072B2", "#E3E3E3"
SHADES = "cividis"


def pair_matrix(table: pd.DataFrame, *, level: float = 0.05, lowest: int = 3) -> Figure:
    """Mean Focus of every pair as a heat map, targets down and outer classes across.

    Parameters
    ----------
    table : DataFrame
        From `focus.pairs.ranked`.
    level : float
        Pairs whose corrected p is below it have a star.
    lowest : int
        How many of the first ranks are framed and numbered.

    Returns
    -------
    Figure
    """
    names = list(dict.fromkeys([*sorted(table["target"]), *sorted(table["outer"])]))
    side = len(names)
    cell = np.clip(9.5 / side, 0.62, 1.25)
    fig, ax = plt.subplots(figsize=(2.6 + cell * side, 1.0 + 0.72 * cell * side))
    grid = table.pivot(index="target", columns="outer", values="focus")
    grid = grid.reindex(index=names, columns=names).to_numpy()
    low = float(min(np.nanmin(grid), 0.5))
    shown = ax.imshow(grid, cmap=SHADES, vmin=low, vmax=1, aspect="auto")
    for row in table.itertuples():
        x, y = names.index(row.outer), names.index(row.target)
        _cell(ax, row, x, y, shown, row.p_adjusted < level, lowest, 10 if side <= 6 else 8)
    for at in range(side):
        ax.text(at, at, "\N{EN DASH}", ha="center", va="center", color=FAINT)
    ax.set_xticks(range(side), names, rotation=0 if side <= 6 else 40)
    if side > 6:
        plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    ax.set_yticks(range(side), names)
    ax.set(xlabel="outer class (shown beside it)", ylabel="target class (asked for)")
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)
    ax.set_title(f"Mean Focus; * lower than its null (corrected p < {level:g})", fontsize=10)
    bar = fig.colorbar(shown, ax=ax, shrink=0.9, pad=0.02)
    bar.set_label("mean Focus (0.5: chance)")
    return fig


def pair_ranking(table: pd.DataFrame, *, n: int = 12, planted: tuple | None = None) -> Figure:
    """The pairs with the lowest mean Focus, with intervals, beside what each is compared with.

    Parameters
    ----------
    table : DataFrame
        From `focus.pairs.ranked`.
    n : int
        How many pairs.
    planted : (target, outer), optional
        A pair to mark.

    Returns
    -------
    Figure
    """
    rows = table.head(n).to_dict("records")
    fig, ax = plt.subplots(figsize=(8.5, 1.3 + 0.34 * len(rows)))
    for y, row in enumerate(rows):
        mark = planted == (row["target"], row["outer"])
        ends = np.array([[row["focus"] - row["low"]], [row["high"] - row["focus"]]])
        look = {"color": LOW if mark else INK, "ms": 8, "lw": 2, "capsize": 3}
        ax.errorbar(row["focus"], y, xerr=np.nan_to_num(ends).clip(0), fmt="o", **look)
        ax.plot([row["reference"]] * 2, [y - 0.3, y + 0.3], color=FAINT, lw=3)
        star = " *" if row["p_adjusted"] < 0.05 else ""
        ax.text(1.01, y, f"{row['focus']:.2f}{star}", va="center", transform=_along(ax))
    names = [f"{row['target']} beside {row['outer']}" for row in rows]
    ax.set_yticks(range(len(rows)), names)
    for label, row in zip(ax.get_yticklabels(), rows, strict=True):
        if planted == (row["target"], row["outer"]):
            label.set(color=LOW)
    ax.axvline(0.5, color=INK, ls=":", lw=1)
    ax.set(xlabel="mean Focus (dotted: chance)", ylim=(len(rows) - 0.4, -0.6))
    ax.grid(axis="x", color="#eeeeee")
    handles = [
        Line2D([], [], marker="o", ls="", ms=8, color=INK, label="pair, with interval"),
        Line2D([], [], marker="|", ls="", ms=13, mew=3, color=FAINT, label="its null"),
    ]
    if planted:
        handles.append(Line2D([], [], marker="o", ls="", ms=8, color=LOW, label="planted"))
    fig.legend(handles=handles, loc="outside upper center", ncols=3)
    return fig


def mosaics_explained(
    mosaics: torch.Tensor,
    maps: torch.Tensor,
    layouts: torch.Tensor,
    captions: Sequence[str],
    names: tuple[str, str],
) -> Figure:
    """Mosaic, its map and its layout, a row a mosaic, with what it scored (Figure 2).

    Parameters
    ----------
    mosaics : uint8 tensor (N, 3, H, W)
    maps : float tensor (N, H, W)
        Positive relevance is drawn, as a share of the map's largest.
    layouts : bool tensor (N, 2, 2)
        True where the target is.
    captions : sequence of N str
        Beside each row, "best, Focus 0.82" for example.
    names : (str, str)
        The target and the outer class.

    Returns
    -------
    Figure
    """
    rows = len(mosaics)
    fig, axes = plt.subplots(rows, 3, figsize=(8.2, 2.45 * rows + 0.3), squeeze=False)
    positive = maps.clamp(min=0)
    shares = positive / positive.amax((1, 2), keepdim=True).clamp(min=1e-30)
    for trio, mosaic, share, layout, caption in zip(
        axes, mosaics, shares, layouts, captions, strict=True
    ):
        picture = mosaic.permute(1, 2, 0).numpy()
        trio[0].imshow(picture, interpolation="antialiased")
        trio[1].imshow(picture.mean(-1), cmap="gray", vmin=0, vmax=255)
        trio[1].imshow(share.numpy(), cmap=MAP, vmin=0, vmax=1, alpha=0.55)
        _layout(trio[2], layout, names, picture.shape)
        trio[0].set_ylabel(caption, fontsize=10)
        for ax in trio:
            ax.set(xticks=[], yticks=[])
            sns.despine(ax=ax, left=True, bottom=True)
        for ax in trio[:2]:
            _seams(ax, picture.shape)
    for ax, title in zip(axes[0], ("mosaic", f"relevance for {names[0]}", "layout"), strict=True):
        ax.set_title(title, loc="center", fontsize=10)
    return fig


def detection(rates: pd.DataFrame, trials: pd.DataFrame, *, chance: float) -> Figure:
    """How often the planted pair comes first at each dose, and how its Focus falls.

    Parameters
    ----------
    rates : DataFrame
        From `focus.trials.rates`: dose, trials, first, rate, low, high.
    trials : DataFrame
        From `focus.trials.run`: dose, focus (of the planted pair), others (mean of the other
        pairs).
    chance : float
        The rate of a ranking that knows nothing.

    Returns
    -------
    Figure
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.9))
    whiskers = np.array([rates["rate"] - rates["low"], rates["high"] - rates["rate"]]).clip(0)
    left.errorbar(rates["dose"], rates["rate"], whiskers, fmt="o-", color=LOW, ms=8, capsize=4)
    for row in rates.itertuples():
        up = 9 if row.rate < 0.9 else -16
        left.annotate(
            f"{row.first}/{row.trials}",
            (row.dose, row.rate),
            (-5, up),
            textcoords="offset points",
            ha="right",
            fontsize=9,
        )
    left.axhline(chance, color=FAINT, ls=":", lw=2, label=f"a blind ranking: {chance:.2f}")
    left.legend(loc="upper left", fontsize=9)
    left.set(ylim=(-0.04, 1.04), ylabel="share of seeds", title="The planted pair comes first")
    for column, colour, name in (("others", FAINT, "other pairs"), ("focus", LOW, "planted pair")):
        nudge = 0.012 if column == "others" else -0.012
        right.plot(trials["dose"] + nudge, trials[column], "o", color=colour, ms=5, alpha=0.45)
        means = trials.groupby("dose")[column].mean()
        right.plot(means.index, means, "-", color=colour, lw=2.5, label=f"{name}, mean of seeds")
    right.axhline(0.5, color=INK, ls=":", lw=1.5, label="chance")
    right.set(ylabel="mean Focus", title="What it scores", ylim=(0.3, 1.02))
    right.legend(loc="lower left", fontsize=9)
    for ax in (left, right):
        ax.set(xlabel="dose: share that carries the patch", xticks=sorted(rates["dose"].unique()))
        ax.set_xlim(-0.1, 1.08)
    return fig


def _cell(ax: Axes, row, x: int, y: int, shown, star: bool, lowest: int, size: int) -> None:
    """Value, star, and frame with rank of one pair."""
    if not np.isfinite(row.focus):
        ax.text(x, y, "none", ha="center", va="center", color=FAINT, fontsize=size)
        return
    ink = readable_on(shown.cmap(shown.norm(row.focus))[:3])
    framed = row.rank <= lowest
    text = f"{row.focus:.2f}{'*' if star else ''}"
    ax.text(x, y, text, ha="center", va="center", color=ink, fontsize=size)
    if framed:
        ax.add_patch(Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, fill=False, ec=LOW, lw=2.5))
        place = {"ha": "left", "va": "top", "color": ink, "fontsize": size - 1.5}
        ax.text(x - 0.42, y - 0.42, f"{row.rank:.0f}", **place)


def _along(ax: Axes):
    """x in axes' shares, y in data."""
    return ax.get_yaxis_transform()


def _layout(ax: Axes, layout: torch.Tensor, names: tuple[str, str], shape: tuple) -> None:
    """Which quadrant shows which class, drawn at the mosaic's size."""
    height, width = shape[0] / 2, shape[1] / 2
    for (r, c), is_target in np.ndenumerate(layout.numpy()):
        colour, name = (TARGET, names[0]) if is_target else (OUTER, names[1])
        ax.add_patch(Rectangle((c * width, r * height), width, height, fc=colour, ec="white", lw=3))
        at = ((c + 0.5) * width, (r + 0.5) * height)
        ax.text(*at, name.replace(" ", "\n"), ha="center", va="center", color=readable_on(colour))
    ax.set(xlim=(0, shape[1]), ylim=(shape[0], 0), aspect="equal")


def _seams(ax: Axes, shape: tuple) -> None:
    ax.axhline(shape[0] / 2 - 0.5, color="white", lw=1.5)
    ax.axvline(shape[1] / 2 - 0.5, color="white", lw=1.5)
