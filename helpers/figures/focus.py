"""Figures of *Focus!*: methods rated (06) and class pairs ranked (07), drawn from tables.

One mark means one thing everywhere: a dot with a line is a mean with its 95% interval, a dotted
line is chance, red is what the title speaks of.
"""

import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator

from helpers.figures.style import (
    BLUE,
    COLOURS,
    FAINT,
    INK,
    RED,
    SET_COLOURS,
    image_grid,
    interval,
    palette,
    readable_on,
)

__all__ = ["image_grid", "palette"]  # what notebooks call beside these

FRAME = "#00B8D4"  # seen on photographs and on dark and bright maps
CHANCE = Line2D([], [], color=INK, ls=":", label="chance")
LOWEST = 3  # pairs whose rank is written


def figure_1(rated: pd.DataFrame, means: pd.DataFrame) -> Figure:
    """Focus of every method as box plots, a panel an architecture, a colour a set (Figure 1).

    `rated` is from `rating.ratings`, `means` its summary by method, the highest first.
    """
    architectures, sets = list(rated["architecture"].unique()), list(rated["set"].unique())
    methods = list(means["method"])
    size = (9.5, 0.9 + 2.2 * len(architectures))
    fig, axes = plt.subplots(len(architectures), 1, figsize=size, squeeze=False, sharex=True)
    width = 0.78 / len(sets)
    colours = {name: SET_COLOURS.get(name) or COLOURS[n] for n, name in enumerate(sets)}
    for ax, architecture in zip(axes[:, 0], architectures, strict=True):
        for number, name in enumerate(sets):
            at = np.arange(len(methods)) + (number - (len(sets) - 1) / 2) * width
            mine = rated[(rated["architecture"] == architecture) & (rated["set"] == name)]
            values = [mine.loc[mine["method"] == m, "focus"].dropna() for m in methods]
            _boxes(ax, at, values, colours[name], width)
        ax.axhline(0.5, color=INK, ls=":", lw=1, zorder=0)
        ax.set(ylim=(0, 1.03), ylabel="Focus")
        ax.set_title(architecture, fontsize=10)
    axes[-1, 0].set_xticks(range(len(methods)), methods, fontsize=10)
    handles = [Patch(fc=c, ec=INK, label=f"set {name}") for name, c in colours.items()]
    said = "Figure 1: Focus of each method"
    if len(methods) > 2:
        said += f"; {methods[0]} and {methods[1]} look most where the class is, {methods[-1]} least"
    _head(fig, said, [*handles, CHANCE])
    return fig


def _boxes(ax: Axes, at: np.ndarray, values: list, colour: str, width: float) -> None:
    look = {"patch_artist": True, "manage_ticks": False, "widths": width * 0.88}
    look |= {"boxprops": {"facecolor": colour, "alpha": 0.75}}
    look |= {"medianprops": {"color": INK, "lw": 1.4}}
    ax.boxplot(values, positions=at, flierprops={"ms": 2.5, "mec": FAINT}, **look)


TIERS = {
    "GradCAM": "reliable",
    "LRP": "reliable",
    "GradCAM++": "above chance, behind both",
    "LIME": "varies most",
    "SmoothGrad": "nearly random",
    "IG": "nearly random",
}
"""What the paper says of each method."""


def tiers(means: pd.DataFrame, networks: pd.DataFrame, photographs: pd.DataFrame | None) -> Figure:
    """Mean Focus of each method, with the paper's word for it, and the means of single networks.

    `means` and `networks` are summaries by method, and by method, architecture and set;
    `photographs` is a recorded summary by method that is drawn beside them.
    """
    fig, ax = plt.subplots(figsize=(9.5, 1.7 + 0.42 * len(means)))
    for y, row in enumerate(_rows(means)):
        own = networks.loc[networks["method"] == row["method"], "mean"]
        ax.plot(own, np.full(len(own), y + 0.2), "|", color=FAINT, ms=9, mew=1.5)
        _interval(ax, row, y, ends="mean_", color=BLUE)
        ax.text(1.02, y, TIERS.get(row["method"], ""), va="center", fontsize=10)
    handles = [Line2D([], [], marker="o", lw=1.8, color=BLUE, label="here: mean, 95% interval")]
    handles.append(Line2D([], [], marker="|", ls="", ms=9, mew=1.5, color=FAINT))
    handles[-1].set_label("its networks, one by one")
    if photographs is not None:
        place = means.reset_index().set_index("method")["index"]
        for row in _rows(photographs[photographs["method"].isin(place.index)]):
            look = {"color": RED, "fmt": "D", "mfc": "white"}
            _interval(ax, row, place[row["method"]] - 0.2, ends="mean_", **look)
        label = "one network on photographs of ImageNet"
        handles.append(Line2D([], [], marker="D", lw=1.8, mfc="white", color=RED, label=label))
    ax.axvline(0.5, color=INK, ls=":", lw=1)
    ax.text(1.02, -0.75, "the paper says", fontsize=9, color=FAINT)
    ax.set_yticks(range(len(means)), means["method"], fontsize=10)
    ax.set(ylim=(len(means) - 0.4, -0.6), xlim=(0.4, 1.0), xlabel="mean Focus")
    ax.grid(axis="y", color="#eeeeee")
    names = list(means["method"])
    said = f"{' and '.join(names[:2])} lead here, {names[-1]} is last"
    if photographs is not None:
        said += f"; on photographs {photographs.loc[photographs['mean'].idxmin(), 'method']} is"
    _head(fig, said, [*handles, CHANCE])
    return fig


def mosaic_maps(
    picture: torch.Tensor,
    layout: torch.Tensor,
    maps: Mapping[str, torch.Tensor],
    focus: Mapping[str, float],
    target: str,
) -> Figure:
    """A mosaic, and the map that each method makes of it, the target cells framed in all of them.

    Positive relevance is drawn, as a share of the map's 99th percentile. `picture` is (3, H, W),
    `layout` (2, 2); `maps` and `focus` are by method.
    """
    cols = len(maps) + 1 if len(maps) < 5 else 4
    rows = -(-(len(maps) + 1) // cols)
    fig, axes = plt.subplots(rows, cols, figsize=(min(2.4 * cols, 9.5), 2.6 * rows), squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    first, *others = axes.flat
    first.imshow(picture.permute(1, 2, 0).numpy())
    first.set_title(f"Where is the {target}?", fontsize=10)
    _frames(first, picture.shape[-2:], layout, FRAME, 3)
    for ax, (name, relevance) in zip(others, maps.items(), strict=False):
        positive = relevance.clamp(min=0).numpy()
        top = max(float(np.quantile(positive, 0.99)), 1e-30)
        ax.imshow(positive / top, cmap="magma", vmin=0, vmax=1)
        _seams(ax, relevance.shape, 0.8)
        _frames(ax, relevance.shape, layout, FRAME, 3)
        ax.set_title(f"{name}: Focus {focus[name]:.2f}", fontsize=10)
    ordered = sorted((focus[name], name) for name in maps if focus[name] == focus[name])
    if len(ordered) > 1:
        (low, last), (high, best) = ordered[0], ordered[-1]
        _head(fig, f"{best} puts {high:.0%} of its relevance in the frames, {last} {low:.0%}")
    return fig


FACES = {
    "own set": {},
    "other set": {"mfc": "white"},
    "stopped early": {"fillstyle": "left", "mfcalt": "white"},
}


def accuracy_and_focus(table: pd.DataFrame, rises: Mapping[str, float]) -> Figure:
    """Focus of LRP, LIME and GradCAM against accuracy, the cases of the same networks joined.

    A small dot is one training in one case, a large mark the mean of a case's trainings. The tables
    are those of `choices.with_accuracy` and `choices.rises`.
    """
    names = list(table["architecture"].unique())
    looks = dict(zip(names, itertools.cycle(zip(COLOURS, "os^D", strict=False)), strict=False))
    fig, axes = plt.subplots(1, len(rises), figsize=(9.5, 4.3), sharey=True, squeeze=False)
    for ax, (method, rise) in zip(axes[0], rises.items(), strict=True):
        for _, part in table.dropna(subset=[method]).groupby("model", sort=False):
            _networks(ax, part, method, *looks[part["architecture"].iloc[0]])
        ax.axhline(0.5, color=INK, ls=":", lw=1)
        ax.set(xlabel="accuracy on the set", ylim=(None, 1.02), xlim=(None, 1.04))
        ax.set_title(f"{method}: {rise / 10:+.3f} for 0.1 of accuracy", fontsize=10)
    axes[0, 0].set_ylabel("mean Focus")
    mark = {"ls": "", "ms": 8, "mew": 1.5}
    handles = [Line2D([], [], marker=m, color=c, label=n, **mark) for n, (c, m) in looks.items()]
    for how in (how for how in FACES if how in set(table["how"])):
        handles.append(Line2D([], [], marker="o", color=INK, label=how, **mark, **FACES[how]))
    handles.append(Line2D([], [], color=FAINT, lw=1.2, marker=".", label="the same networks"))
    follow = ", ".join(name for name, rise in rises.items() if rise > 0)
    title = f"More accurate networks, more Focus: {follow or 'for none of the methods'}"
    _head(fig, title, [*handles, CHANCE])
    return fig


def _networks(ax: Axes, part: pd.DataFrame, method: str, colour: str, marker: str) -> None:
    """The cases of one model, joined, and its trainings as dots."""
    ax.plot(part["accuracy"], part[method], ".", color=colour, ms=4, alpha=0.4, zorder=0)
    cases = part.groupby(["set", "how"])[["accuracy", method]].mean()
    cases = cases.sort_values("accuracy").reset_index()
    ax.plot(cases["accuracy"], cases[method], color=colour, lw=1.2, alpha=0.6)
    for row in _rows(cases):
        look = {"ms": 8, "mew": 1.5, **FACES[row["how"]]}
        ax.plot(row["accuracy"], row[method], marker, color=colour, **look)


def choices(table: pd.DataFrame) -> Figure:
    """Two options of each choice, and what the second changes (from `choices.paired`)."""
    size = (9.5, 1.5 + 0.44 * len(table))
    fig, (ax, gaps) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=(1, 1))
    labels = []
    for y, row in enumerate(_rows(table)):
        one, other = row["first_mean"], row["second_mean"]
        ax.plot([one, other], [y, y], color=FAINT, lw=1.2, zorder=0)
        ax.plot(one, y, "o", ms=8, color=BLUE)
        ax.plot(other, y, "o", ms=8, color=BLUE, mfc="white", mew=1.6)
        clear = row["low"] > 0 or row["high"] < 0
        _interval(gaps, row, y, "difference", color=RED if clear else FAINT)
        lost = f"   ({row['undefined']} of {row['maps']} maps empty)" * bool(row["undefined"])
        name = f"{row['choice']} · {row['method']}{lost}"
        labels.append(f"{name}\n● {row['first']}   ○ {row['second']}")
    ax.axvline(0.5, color=INK, ls=":", lw=1)
    gaps.axvline(0, color=INK, lw=1)
    gaps.tick_params(axis="y", length=0)
    ax.set_yticks(range(len(table)), labels, fontsize=8.5)
    ax.set(ylim=(len(table) - 0.5, -0.6), xlabel="mean Focus (dotted: chance)")
    gaps.set_xlabel("○ minus ●, with 95% interval (red: clear of zero)")
    whole = table[table["undefined"] == 0]  # a choice that empties maps is not named
    most = whole.loc[whole["difference"].abs().idxmax()]
    said = f"{most['choice'].capitalize()} moves Focus most: {most['difference']:+.2f} for"
    _head(fig, f"{said} {most['method']}, {most['second']} in place of {most['first']}")
    return fig


def controls(blind: pd.DataFrame, deep: pd.DataFrame) -> Figure:
    """Left what must be 0.5 (`controls.knows_nothing`); right `controls.deep`."""
    deep = deep.assign(
        name=deep["method"] + (", " + deep["setting"]).where(deep["setting"] != "", "")
    )
    names = list(deep["name"].unique())
    size = (9.8, 1.6 + 0.3 * max(len(blind), len(names)))
    fig, (ax, right) = plt.subplots(1, 2, figsize=size)
    for y, row in enumerate(_rows(blind)):
        if np.isnan(row["mean"]):
            ax.text(0.5, y, "gives no map", ha="center", va="center", color=RED, fontsize=8)
        _interval(ax, row, y, color=BLUE if row["holds"] else RED, fmt="o" if row["holds"] else "X")
    ax.set_yticks(range(len(blind)), blind["method"].str.replace("_", " "), fontsize=9)
    ax.set_title("A map or a network that knows nothing: 0.5\n(99.5% intervals)", fontsize=10)
    for control, nudge, face in (("DiFull", -0.12, BLUE), ("DiPart", 0.12, "white")):
        rows = deep[deep["control"] == control]
        for name, part in rows.groupby("name"):
            ends = {"mean": part["focus"].mean()}
            ends |= {"low": part["focus"].min(), "high": part["focus"].max()}
            _interval(right, ends, names.index(name) + nudge, color=BLUE, mfc=face)
    reads = deep.drop_duplicates("name").set_index("name")["reads"]
    right.set_yticks(range(len(names)), [_reading(n, reads[n]) for n in names], fontsize=9)
    right.set_title(
        "Cells that never meet (●), or meet in the features (○)\n(worst to best mosaic)"
    )
    right.title.set_fontsize(10)
    for one, known, count in ((ax, 0.5, len(blind)), (right, 1.0, len(names))):
        one.axvline(known, color=INK, lw=1.8, zorder=0)
        one.set(ylim=(count - 0.4, -0.6), xlabel="Focus (line: what it must be)")
        one.grid(axis="y", color="#eeeeee")
    known = deep[(deep["control"] == "DiFull") & (deep["reads"] == "input")]
    known = known.groupby("method", sort=False)["focus"].min()
    wrong = ", ".join(known.index[known < 0.999])
    said = f"Left, {int((~blind['holds']).sum())} of {len(blind)} are not 0.5; right, of what reads"
    _head(fig, f"{said} the input {wrong or 'nothing'} shows cells that are not seen (● below 1)")
    return fig


def _reading(name: str, reads: str) -> str:
    return name if reads == "input" or reads in name else f"{name}, {reads}"


def sums(table: pd.DataFrame) -> Figure:
    """Focus of pixels and of sums of cells beside the right one (from `controls.sums`)."""
    means = table.groupby("method", sort=False)[["focus", "by_cell", "right"]].mean()
    means = means.dropna().sort_values("focus", ascending=False)
    fig, ax = plt.subplots(figsize=(8.5, 1.6 + 0.34 * len(means)))
    for y, row in enumerate(means.itertuples()):
        ax.plot([row.focus, row.by_cell], [y, y], color=FAINT, lw=1.2, zorder=0)
        ax.plot(row.focus, y, "o", color=BLUE, ms=8)
        ax.plot(row.by_cell, y, "s", color=BLUE, mfc="white", ms=8, mew=1.6)
    right = float(table["right"].mean())
    ax.axvline(right, color=RED, lw=2, zorder=0)
    ax.axvline(0.5, color=INK, ls=":", lw=1)
    ax.set_yticks(range(len(means)), means.index, fontsize=10)
    ax.set(ylim=(len(means) - 0.4, -0.6), xlabel="mean Focus")
    ax.grid(axis="y", color="#eeeeee")
    handles = [
        Line2D([], [], color=RED, lw=2, label="right: the cells' known contributions"),
        Line2D([], [], marker="o", ls="", color=BLUE, ms=8, label="Focus, of pixels"),
        Line2D([], [], marker="s", ls="", color=BLUE, mfc="white", ms=8, label="of sums of cells"),
        CHANCE,
    ]
    moved = (means["by_cell"] - means["focus"]).idxmax()
    said = f"Summed cell by cell, {moved} has {means.loc[moved, 'by_cell']:.2f} in place of"
    _head(fig, f"{said} {means.loc[moved, 'focus']:.2f}; right is {right:.2f}", handles)
    return fig


def trainings(rated: pd.DataFrame, order: Sequence[str]) -> Figure:
    """Mean Focus of each training, by method, a mark an architecture."""
    names = list(rated["architecture"].unique())
    looks = dict(zip(names, itertools.cycle(zip(COLOURS, "os^D", strict=False)), strict=False))
    fig, ax = plt.subplots(figsize=(9, 1.6 + 0.42 * len(order)))
    each = rated.groupby(["architecture", "method", "training"])["focus"].mean()
    for number, (name, (colour, marker)) in enumerate(looks.items()):
        nudge = 0.22 * (number - (len(looks) - 1) / 2)
        for y, method in enumerate(order):
            if (name, method) in each.index:
                values = each[name, method]
                ax.plot(
                    values, np.full(len(values), y + nudge), marker, color=colour, ms=6, alpha=0.7
                )
    ax.axvline(0.5, color=INK, ls=":", lw=1)
    ax.set_yticks(range(len(order)), order, fontsize=10)
    ax.set(ylim=(len(order) - 0.4, -0.6), xlabel="mean Focus of one training")
    ax.grid(axis="y", color="#eeeeee")
    marks = {"ls": "", "ms": 7}
    handles = [Line2D([], [], marker=m, color=c, label=n, **marks) for n, (c, m) in looks.items()]
    spread = each.groupby(["method", "architecture"]).agg(np.ptp).groupby("method").max()
    widest = spread.idxmax()
    _head(
        fig,
        f"Trainings differ most for {widest}: by up to {spread[widest]:.2f}",
        [*handles, CHANCE],
    )
    return fig


def time_and_focus(table: pd.DataFrame) -> Figure:
    """The methods, the fastest first: what each takes, and its Focus (from `choices.timed`)."""
    size = (9.0, 1.6 + 0.32 * len(table))
    fig, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True)
    for y, row in enumerate(_rows(table)):
        colour = RED if row["front"] else BLUE
        left.plot(1e3 * row["seconds"], y, "o", color=colour)
        _interval(right, row, y, ends="mean_", color=colour)
    left.set_xscale("log")
    left.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.xaxis.set_major_formatter("{x:g}")
    left.minorticks_off()
    left.xaxis.set_major_formatter("{x:g}")
    left.set_yticks(range(len(table)), table["method"])
    left.set(ylim=(len(table) - 0.4, -0.6))
    left.set_xlabel("time for a mosaic (ms, one core; logarithmic)")
    right.set(xlabel="mean Focus, 95% interval (dotted: chance)", xlim=(None, 1.04))
    right.axvline(0.5, color=INK, ls=":", lw=1)
    for ax in (left, right):
        ax.grid(axis="y", color="#eeeeee")
    best = ", ".join(table["method"][table["front"]])
    _head(fig, f"No other is as fast and better (red): {best}")
    return fig


def pair_matrix(
    table: pd.DataFrame, classes: Sequence[str], planted: tuple[str, str] | None
) -> Figure:
    """Mean Focus of every pair of `pairs.ranked` as a heat map: targets down, outer classes across.

    The three lowest pairs carry their rank, the `planted` one a frame.
    """
    names, side = list(classes), len(classes)
    cell = np.clip(9.5 / side, 0.62, 1.25)
    fig, ax = plt.subplots(figsize=(2.6 + cell * side, 1.5 + 0.72 * cell * side))
    grid = table.pivot(index="target", columns="outer", values="focus")
    grid = grid.reindex(index=names, columns=names).to_numpy()
    low = float(min(np.nanmin(grid), 0.5))
    drawn = ax.imshow(grid, cmap="cividis", vmin=low, vmax=1, aspect="auto")
    size = 10 if side <= 6 else 8
    for row in table.itertuples():
        at = names.index(row.outer), names.index(row.target)
        ink = readable_on(drawn.cmap(drawn.norm(row.focus))[:3])
        text = f"{row.focus:.2f}" if np.isfinite(row.focus) else "none"
        text += f"\n({row.rank:.0f}.)" * (row.rank <= LOWEST)
        ax.text(*at, text, ha="center", va="center", color=ink, fontsize=size)
        if planted == (row.target, row.outer):
            corner = at[0] - 0.47, at[1] - 0.46
            ax.add_patch(Rectangle(corner, 0.94, 0.92, fill=False, ec=RED, lw=3))
    ax.set_xticks(range(side), names, rotation=0 if side <= 6 else 40)
    if side > 6:
        plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    ax.set_yticks(range(side), names)
    ax.set(xlabel="outer class (shown beside it)", ylabel="target class (asked for)")
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)
    note = "(1.) to (3.): the lowest" + "; framed: the planted pair" * bool(planted)
    ax.set_title(note, fontsize=10)
    fig.colorbar(drawn, ax=ax, shrink=0.9, pad=0.02).set_label("mean Focus (0.5: chance)")
    first = table.iloc[0]
    _head(fig, f"The lowest Focus, {first['focus']:.2f}: {first['target']} beside {first['outer']}")
    return fig


def mosaics_explained(
    mosaics: torch.Tensor,
    maps: torch.Tensor,
    layouts: torch.Tensor,
    captions: Sequence[str],
    names: tuple[str, str],
    patches: torch.Tensor | None,
    title: str = "",
) -> Figure:
    """Mosaics, each beside the map of its relevance (Figure 2).

    The target's images are framed. In the map every image says its class and its share of the
    relevance: those of the target sum to the Focus. All but the `title` is from `look.explained`;
    `patches` are outlined.
    """
    n = len(mosaics)
    size = (max(4.9 * n, 6.5), 3.1)
    fig, axes = plt.subplots(1, 2 * n, figsize=size, squeeze=False)
    for at in range(n):
        left, right = axes[0, 2 * at : 2 * at + 2]
        positive = maps[at].clamp(min=0).double().numpy()
        left.imshow(mosaics[at].permute(1, 2, 0).numpy(), interpolation="antialiased")
        left.set_title(captions[at], fontsize=10)
        right.imshow(positive / max(positive.max(), 1e-30), cmap="Reds", vmin=0, vmax=1)
        right.set_title(f"relevance for {names[0]}", fontsize=10)
        if patches is not None and patches[at].any():
            right.contour(patches[at].numpy(), [0.5], colors=INK, linewidths=1.2)
        _shares(right, layouts[at].numpy(), positive, names)
        for ax in (left, right):
            ax.set(xticks=[], yticks=[])
            _frames(ax, positive.shape, layouts[at], INK, 2.5)
            _seams(ax, positive.shape, 1.5)
    _head(fig, title or f"Relevance for {names[0]}: what lies on {names[1]} is wrong")
    return fig


def _shares(ax: Axes, layout: np.ndarray, relevance: np.ndarray, names: tuple[str, str]) -> None:
    """Each image's class and share of the relevance."""
    height, width = relevance.shape[0] / 2, relevance.shape[1] / 2
    parts = relevance.reshape(2, int(height), 2, int(width)).sum((1, 3))
    for (r, c), is_target in np.ndenumerate(layout):
        share = f" {parts[r, c] / parts.sum():.0%}" if parts.sum() > 0 else ""
        box = {"fc": "white", "ec": "none", "pad": 1.5, "alpha": 0.9}
        at = (c + 0.05) * width, (r + 0.94) * height
        ax.text(*at, names[0 if is_target else 1] + share, color=INK, fontsize=8, bbox=box)


def located(
    images: torch.Tensor,
    maps: Mapping[str, torch.Tensor],
    tops: Mapping[str, Sequence[tuple[int, int]]],
    patches: torch.Tensor | None,
    title: str,
) -> Figure:
    """Images (N, 3, H, W), and below them each method's relevance with a cross at its peak.

    `maps` (N, H, W) and `tops` (row, column) are by method; `patches` are outlined.
    """
    rows, n = ["image", *maps], len(images)
    fig, axes = plt.subplots(
        len(rows), n, figsize=(1.3 * n + 1.4, 1.35 * len(rows) + 0.4), squeeze=False
    )
    for ax, image in zip(axes[0], images, strict=True):
        ax.imshow(image.permute(1, 2, 0).numpy())
    for line, name in zip(axes[1:], maps, strict=True):
        for at, ax in enumerate(line):
            positive = maps[name][at].clamp(min=0).numpy()
            top = max(float(np.quantile(positive, 0.995)), 1e-30)
            ax.imshow(positive / top, cmap="Reds", vmin=0, vmax=1)
            if top > 1e-30:
                ax.plot(*tops[name][at][::-1], "x", color=INK, ms=9, mew=2.2)
            if patches is not None and patches[at].any():
                ax.contour(patches[at].numpy(), [0.5], colors=INK, linewidths=1)
    for line, name in zip(axes, rows, strict=True):
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
        for ax in line:
            ax.set(xticks=[], yticks=[])
    _head(fig, title)
    return fig


def interventions(table: pd.DataFrame, effect: float, pair: tuple[str, str]) -> Figure:
    """Mean Focus of one pair's mosaics in each state, by networks (from `feature.states`)."""
    states, nets = list(table["state"].unique()), list(table["networks"].unique())
    fig, ax = plt.subplots(figsize=(9.0, 1.6 + 0.5 * len(states)))
    looks = dict(zip(nets, ({"color": RED}, {"color": INK, "mfc": "white"}), strict=False))
    for row in _rows(table):
        y = states.index(row["state"]) + 0.14 * (nets.index(row["networks"]) * 2 - len(nets) + 1)
        _interval(ax, row, y, "focus", **looks[row["networks"]])
    before = table[table["state"] == states[0]].set_index("networks")["focus"]
    ax.axvline(before[nets[0]] + effect, color=RED, ls="--", lw=1.5)
    ax.axvline(0.5, color=INK, ls=":", lw=1)
    ax.set_yticks(range(len(states)), states)
    xlabel = (
        f"mean Focus of {pair[0]} beside {pair[1]} (lines: 95% intervals over trainings and images)"
    )
    ax.set(ylim=(len(states) - 0.5, -0.5), xlabel=xlabel)
    ax.grid(axis="x", color="#eeeeee")
    handles = [Line2D([], [], marker="o", lw=1.8, label=n, **looks[n]) for n in nets]
    label = f"as it is + {effect:g}: the effect that counts"
    handles += [Line2D([], [], color=RED, ls="--", label=label), CHANCE]
    after = table[(table["state"] == states[1]) & (table["networks"] == nets[0])]["focus"].item()
    rise = after - before[nets[0]]
    said = "enough to count" if rise > effect else "too little to count"
    _head(fig, f"{states[1].capitalize()}: Focus changes by {rise:+.2f}, {said}", handles)
    return fig


def trials(table: pd.DataFrame, effect: float) -> Figure:
    """The rise of Focus in every trial, by dose, learned or not (from `trials.judged`)."""
    doses = sorted(table["dose"].unique())
    fig, ax = plt.subplots(figsize=(9.0, 4.2))
    rng = np.random.default_rng(0)
    for at, dose in enumerate(doses):
        part = table[table["dose"] == dose]
        x = at + rng.uniform(-0.28, 0.28, len(part))
        learned = part["learned"].to_numpy()
        ax.plot(x[learned], part["rise"][learned], "o", color=RED, ms=5, alpha=0.75)
        ax.plot(x[~learned], part["rise"][~learned], "o", color=INK, mfc="white", ms=5)
        text = f"{int(part['found'].sum())} of {len(part)}"
        ax.text(at, 1.0, text, transform=ax.get_xaxis_transform(), ha="center", va="bottom")
    ax.axhline(effect, color=RED, ls="--", lw=1.5)
    ax.axhline(0, color=FAINT, lw=1)
    ax.set_xticks(range(len(doses)), [f"{dose:g}" for dose in doses])
    ax.set(xlabel="dose: how far the eyespot is moved to the target class")
    ax.set_ylabel("rise of Focus, eyespots painted over")
    mark = {"ls": "", "marker": "o"}
    handles = [
        Line2D([], [], color=RED, label="a trial whose networks learned the eyespot", **mark),
        Line2D([], [], color=INK, mfc="white", label="not learned", **mark),
        Line2D([], [], color=RED, ls="--", label=f"{effect:g}: the effect that counts"),
    ]
    none, full = table[table["dose"] == 0], table[(table["dose"] == 1) & table["learned"]]
    said = f"Proved in {int(full['found'].sum())} of {len(full)} trials that learned it at dose 1"
    said += f"; {int(none['found'].sum())} of {len(none)} false alarms"
    _head(fig, f"{said} (above: all that are proved)", handles)
    return fig


def _interval(ax: Axes, row: dict, at: float, value: str = "mean", ends: str = "", **look) -> None:
    """A mean of a table's row with its interval, at a place along the other axis."""
    look = {"ms": 6.5, "lw": 1.8, "elinewidth": 1.8, "capsize": 0, "color": INK} | look
    interval(ax, row[value], row[f"{ends}low"], row[f"{ends}high"], at, **look)


def _frames(ax: Axes, size: Sequence[int], layout: torch.Tensor, colour: str, lw: float) -> None:
    """Frame the target cells."""
    height, width = size[0] / 2, size[1] / 2
    for row, col in layout.nonzero().tolist():
        at = (col * width + 1, row * height + 1)
        ax.add_patch(Rectangle(at, width - 3, height - 3, fill=False, ec=colour, lw=lw))


def _seams(ax: Axes, shape: Sequence[int], lw: float) -> None:
    ax.axhline(shape[0] / 2 - 0.5, color="white", lw=lw)
    ax.axvline(shape[1] / 2 - 0.5, color="white", lw=lw)


def _head(fig: Figure, title: str, handles: Sequence = ()) -> None:
    """The answer over the figure, and the legend below it."""
    fig.suptitle(title, x=0.01, ha="left", fontsize=12)
    if handles:
        fig.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4))


def _rows(table: pd.DataFrame) -> list[dict]:
    return table.to_dict("records")
