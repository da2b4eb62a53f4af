"""Figures of class pairs: their matrix and ranking, Figure 2, and how a planted pair is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter

from helpers.figures.style import FAINT, INK, palette, readable_on, whiskers

LOW = "#C8553D"
RELEVANCE, HALF = "#D7301F", "#7F0000"
SHADES = "cividis"
LEVEL = 0.05


def pair_matrix(
    table: pd.DataFrame, classes: Sequence[str] | None = None, *, lowest: int = 3
) -> Figure:
    """Mean Focus of every pair as a heat map, targets down and outer classes across.

    Parameters
    ----------
    table : DataFrame
        From `focus.pairs.ranked`. Pairs whose corrected p is below .05 have a star.
    classes : sequence of str, optional
        Their order; None is by name.
    lowest : int
        How many of the first ranks are framed and numbered.

    Returns
    -------
    Figure
    """
    names = list(classes or sorted({*table["target"], *table["outer"]}))
    side = len(names)
    cell = np.clip(9.5 / side, 0.62, 1.25)
    fig, ax = plt.subplots(figsize=(2.6 + cell * side, 1.2 + 0.72 * cell * side))
    grid = table.pivot(index="target", columns="outer", values="focus")
    grid = grid.reindex(index=names, columns=names).to_numpy()
    low = float(min(np.nanmin(grid), 0.5))
    shown = ax.imshow(grid, cmap=SHADES, vmin=low, vmax=1, aspect="auto")
    for row in table.itertuples():
        x, y = names.index(row.outer), names.index(row.target)
        _cell(ax, row, x, y, shown, row.p_adjusted < LEVEL, lowest, 10 if side <= 6 else 8)
    for at in range(side):
        ax.text(at, at, "\N{EN DASH}", ha="center", va="center", color=FAINT)
    ax.set_xticks(range(side), names, rotation=0 if side <= 6 else 40)
    if side > 6:
        plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    ax.set_yticks(range(side), names)
    ax.set(xlabel="outer class (shown beside it)", ylabel="target class (asked for)")
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)
    ax.set_title(
        f"Mean Focus. Framed: the {min(lowest, len(table))} lowest, in their order\n"
        f"* lower than its null (corrected p < {LEVEL:g})",
        fontsize=10,
    )
    bar = fig.colorbar(shown, ax=ax, shrink=0.9, pad=0.02)
    bar.set_label("mean Focus (0.5: chance)")
    return fig


def pair_ranking(table: pd.DataFrame, *, n: int = 12, planted: tuple | None = None) -> Figure:
    """The pairs with the lowest mean Focus, each beside its null, and the difference tested.

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
        Left the means with intervals and their nulls; right focus - null with the interval of this
        difference, the rank by it, and the corrected p.
    """
    rows = table.head(n).to_dict("records")
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(10, 1.5 + 0.34 * len(rows)), sharey=True, width_ratios=(1.25, 1)
    )
    for y, row in enumerate(rows):
        mark = planted == (row["target"], row["outer"])
        _ends(left, row["focus"], row["low"], row["high"], y, mark)
        left.plot([row["reference"]] * 2, [y - 0.3, y + 0.3], color=FAINT, lw=3)
        _ends(right, row["difference"], row["difference_low"], row["difference_high"], y, mark)
        rank = row["rank_difference"]
        beside = {"transform": _along(right), "va": "center", "fontsize": 9.5}
        right.text(1.09, y, f"{rank:.0f}" if rank == rank else "", ha="center", **beside)
        right.text(1.2, y, _p(row["p_adjusted"]), **beside)
    names = [f"{row['target']} beside {row['outer']}" for row in rows]
    left.set_yticks(range(len(rows)), names)
    for label, row in zip(left.get_yticklabels(), rows, strict=True):
        if planted == (row["target"], row["outer"]):
            label.set(color=LOW)
    left.axvline(0.5, color=INK, ls=":", lw=1)
    right.axvline(0, color=FAINT, lw=3, zorder=0)
    left.set(xlabel="mean Focus (dotted: chance)", ylim=(len(rows) - 0.4, -0.6))
    right.set_xlabel("Focus minus its null")
    over = {"transform": right.transAxes, "va": "bottom", "fontsize": 9}
    right.text(1.09, 1.01, "rank", ha="center", **over)
    right.text(1.2, 1.01, f"corrected p\n(* < {LEVEL:g})", **over)
    for ax in (left, right):
        ax.grid(axis="x", color="#eeeeee")
    handles = [
        Line2D([], [], marker="o", ls="", ms=8, color=INK, label="pair, with interval"),
        Line2D(
            [],
            [],
            marker="|",
            ls="",
            ms=13,
            mew=3,
            color=FAINT,
            label="its null",
        ),
    ]
    if planted:
        handles.append(Line2D([], [], marker="o", ls="", ms=8, color=LOW, label="planted"))
    fig.legend(handles=handles, loc="outside upper left", ncols=3)
    return fig


def mosaics_explained(
    mosaics: torch.Tensor,
    maps: torch.Tensor,
    layouts: torch.Tensor,
    captions: Sequence[str],
    names: tuple[str, str],
    *,
    colours: Mapping[str, str] | None = None,
    patches: torch.Tensor | None = None,
) -> Figure:
    """Mosaics and, below each (beside it where there is one), where its relevance lies (Figure 2).

    The mosaic is grey and the redder the more relevant, with a line at half of the maximum. Every
    image says its class and its share of the relevance: the target's, in frames, sum to the Focus.

    Parameters
    ----------
    mosaics : uint8 tensor (N, 3, H, W)
    maps : float tensor (N, H, W)
        Positive relevance is drawn, as a share of the map's largest.
    layouts : bool tensor (N, 2, 2)
        True where the target is.
    captions : sequence of N str
        Over each mosaic, "best: Focus 0.82" for example.
    names : (str, str)
        The target and the outer class.
    colours : dict from class to colour, optional
        The palette.
    patches : bool tensor (N, H, W), optional
        What is known to be shared: outlined with dashes.

    Returns
    -------
    Figure
    """
    n = len(mosaics)
    shape = {"figsize": (2.45 * n + 0.9, 5.4)} if n > 1 else {"figsize": (6.6, 3.1)}
    fig, axes = plt.subplots(*((2, n) if n > 1 else (1, 2)), squeeze=False, **shape)
    axes = axes if n > 1 else axes.T
    colour = (colours or palette(names))[names[0]]
    positive = maps.clamp(min=0).double()
    for at, (top, below) in enumerate(axes.T):
        picture = mosaics[at].permute(1, 2, 0).numpy()
        top.imshow(picture, interpolation="antialiased")
        top.set_title(captions[at], loc="center", fontsize=10)
        _relevant(below, picture, positive[at].numpy())
        if patches is not None and patches[at].any():
            below.contour(patches[at].numpy(), [0.5], colors=INK, linewidths=1.1, linestyles="--")
        _quadrants(below, layouts[at].numpy(), positive[at].numpy(), names, colour)
        for ax in (top, below):
            ax.set(xticks=[], yticks=[])
            sns.despine(ax=ax, left=True, bottom=True)
            _seams(ax, picture.shape)
    if n > 1:
        axes[0, 0].set_ylabel("mosaic")
    axes[1, 0].set_ylabel(f"relevance for {names[0]} (framed)")
    bar = fig.colorbar(_strength(), ax=axes[1], shrink=0.85, pad=0.02, ticks=(0, 0.5, 1))
    bar.set_label("relevance / its maximum")
    bar.ax.axhline(0.5, color=HALF, lw=1.5)
    return fig


def on_patch(found: pd.DataFrame) -> Figure:
    """How much of the wrong relevance lies on what is shared, beside how large that is.

    Parameters
    ----------
    found : DataFrame
        From `focus.feature.by_method`.

    Returns
    -------
    Figure
    """
    fig, ax = plt.subplots(figsize=(8, 1.4 + 0.5 * len(found)))
    for y, row in enumerate(found.to_dict("records")):
        low, high = row["area"] + row["low"], row["area"] + row["high"]
        _ends(ax, row["share"], low, high, y, False)
        ax.plot([row["area"]] * 2, [y - 0.3, y + 0.3], color=FAINT, lw=3)
        ax.annotate(
            f"{row['share']:.0%} on {row['area']:.0%} of the area",
            (max(high, row["area"]), y),
            (10, 0),
            textcoords="offset points",
            va="center",
        )
    ax.set_yticks(range(len(found)), found["method"])
    ax.set(ylim=(len(found) - 0.4, -0.6), xlabel="share of the relevance on the outer images")
    ax.set_xlim(0, max(0.4, float((found["area"] + found["high"]).max()) * 1.6))
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    handles = [
        Line2D([], [], marker="o", ls="", ms=8, color=INK, label="on the eyespots, with interval"),
        Line2D([], [], marker="|", ls="", ms=13, mew=3, color=FAINT, label="the eyespots' area"),
    ]
    fig.legend(handles=handles, loc="outside upper left", ncols=2)
    return fig


def detection(
    rates: pd.DataFrame,
    trials: pd.DataFrame,
    own: pd.DataFrame | None = None,
    *,
    chance: float,
    title: str = "",
) -> Figure:
    """How often the planted pair comes first, how many others have a star, and what it scores.

    Parameters
    ----------
    rates : DataFrame
        From `focus.trials.rates`: dose, trials, first, rate, low, high.
    trials : DataFrame
        From `focus.trials.run`.
    own : DataFrame, optional
        Further ones, drawn as triangles and counted in no line or interval.
    chance : float
        The rate of a ranking that knows nothing.
    title : str

    Returns
    -------
    Figure
    """
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12.5, 4.3))
    fig.suptitle(title, x=0.01, ha="left", fontsize=12)
    _rates(left, rates, chance)
    own = trials.head(0) if own is None or own.empty else own
    same, few = (part[part["carried"] == part["dose"]] for part in (trials, own))
    _over_seeds(middle, same, few, "alarms", INK, "mean of seeds (a larger dot: more seeds)")
    middle.set(title="Stars for pairs that were not planted", ylabel="starred pairs of the others")
    middle.set_ylim(-0.4, max(6.9, same["alarms"].max() + 1.9))
    _over_seeds(right, same, few, "others", FAINT, "other pairs", 0.014)
    _over_seeds(right, same, few, "focus", LOW, "planted pair, images of the dose", -0.014)
    every = trials[trials["carried"] == 1].groupby("dose")["focus"].mean()
    label = "planted pair, all images carry it"
    right.plot(every.index, every, "--s", color=LOW, lw=1.5, mfc="white", label=label)
    right.axhline(0.5, color=INK, ls=":", lw=1.5, label="chance")
    right.set(ylabel="mean Focus", title="Focus, mean of seeds", ylim=(0.15, 1.02))
    if len(few):
        middle.plot([], [], "^", color=INK, mfc="none", label="this run, other seeds")
    for ax in (left, middle, right):
        ax.set(xlabel="dose: share that carries the eyespot in training", xlim=(-0.17, 1.1))
        doses = sorted(rates["dose"].unique())
        ax.set_xticks(doses, [f"{dose:g}" for dose in doses])
        ax.legend(loc="lower left" if ax is right else "upper left", fontsize=8.5)
    return fig


def _rates(ax: Axes, rates: pd.DataFrame, chance: float) -> None:
    """Share of seeds by dose, with its counts."""
    whiskers = np.array([rates["rate"] - rates["low"], rates["high"] - rates["rate"]]).clip(0)
    ax.errorbar(rates["dose"], rates["rate"], whiskers, fmt="o-", color=LOW, ms=8, capsize=4)
    for row in rates.itertuples():
        place = {"textcoords": "offset points", "ha": "right", "va": "center", "fontsize": 9}
        ax.annotate(f"{row.first}/{row.trials}", (row.dose, row.rate), (-6, 8), **place)
    ax.axhline(chance, color=FAINT, ls=":", lw=2, label=f"a blind ranking: {chance:.2f}")
    ax.set(ylim=(-0.04, 1.1), ylabel="share of seeds", title="The planted pair comes first")


def _over_seeds(
    ax: Axes, many: pd.DataFrame, few: pd.DataFrame, column: str, colour: str, name: str, nudge=0.0
) -> None:
    """A dot a seed, larger for several, a triangle for those of `few`, and the mean of `many`."""
    means = many.groupby("dose")[column].mean()
    counted = many.groupby(["dose", column]).size().reset_index(name="seeds")
    sizes, place = 22 * counted["seeds"], counted["dose"] + nudge
    ax.scatter(place, counted[column], s=sizes, color=colour, ec="none", alpha=0.35)
    ax.plot(few["dose"] + 2 * nudge, few[column], "^", color=colour, ms=6, mfc="none")
    ax.plot(means.index, means, "-", color=colour, lw=2.5, label=name)


def _ends(ax: Axes, value: float, low: float, high: float, y: int, mark: bool) -> None:
    """A dot with its interval."""
    look = {"color": LOW if mark else INK, "ms": 8, "lw": 2, "capsize": 3}
    ax.errorbar(value, y, xerr=whiskers(value, low, high), fmt="o", **look)


def _p(value: float) -> str:
    """A corrected p as a reader wants it."""
    if not np.isfinite(value):
        return "\N{EN DASH}"
    text = "< 0.001" if value < 0.001 else f"{value:.3f}"
    return f"{text} *" if value < LEVEL else text


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


def _relevant(ax: Axes, picture: np.ndarray, relevance: np.ndarray) -> None:
    """A pale grey picture, the redder the more relevant, with a line at half of the maximum."""
    share = relevance / max(relevance.max(), 1e-30)
    ax.imshow(picture.mean(-1), cmap="gray", vmin=-120, vmax=255)
    ax.imshow(np.dstack([np.broadcast_to(to_rgb(RELEVANCE), picture.shape), share]))
    if relevance.max() > 0:
        ax.contour(share, [0.5], colors=HALF, linewidths=1.6)


def _strength() -> ScalarMappable:
    """White to red: opacity as a colour bar shows it."""
    return ScalarMappable(cmap=LinearSegmentedColormap.from_list("", ["white", RELEVANCE]))


def _quadrants(
    ax: Axes, layout: np.ndarray, relevance: np.ndarray, names: tuple[str, str], colour: str
) -> None:
    """Each image's class and share of the relevance; the target's have frames of its colour."""
    height, width = relevance.shape[0] / 2, relevance.shape[1] / 2
    parts = relevance.reshape(2, int(height), 2, int(width)).sum((1, 3))
    for (r, c), is_target in np.ndenumerate(layout):
        share = f" {parts[r, c] / parts.sum():.0%}" if parts.sum() > 0 else ""
        text = names[0 if is_target else 1] + share
        box = {"fc": colour if is_target else "white", "ec": "none", "pad": 1.5, "alpha": 0.9}
        ink = readable_on(colour) if is_target else INK
        ax.text((c + 0.04) * width, (r + 0.94) * height, text, color=ink, fontsize=8, bbox=box)
        if is_target:
            inset = 0.015 * width
            corner = c * width + inset, r * height + inset
            sides = width - 2 * inset, height - 2 * inset
            ax.add_patch(Rectangle(corner, *sides, fill=False, ec=colour, lw=2.5))


def _seams(ax: Axes, shape: tuple) -> None:
    ax.axhline(shape[0] / 2 - 0.5, color="white", lw=1.5)
    ax.axvline(shape[1] / 2 - 0.5, color="white", lw=1.5)
