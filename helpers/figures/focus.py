"""Figures of *Focus!*: rated methods (06) and ranked class pairs (07).

A dot with a whisker is a mean with its 95% interval, and a dotted line is chance."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures import style
from helpers.figures.style import BLUE, CHANCE, FAINT, INK, RED, Table, image_grid

__all__ = ["image_grid"]  # what notebooks also call from here

FRAME = "#00B8D4"  # seen on photographs and on dark and bright maps
BY_CHANCE = {"chance": CHANCE}
PHOTOGRAPH = {"marker": "D", "color": RED, "mfc": "white"}
COUNTS = {"color": RED, "ls": "--", "lw": 1.5}
LOWEST = 3  # pairs whose rank is written
TIERS = dict.fromkeys(
    ["GradCAM", "LRP"], "consistently reliable"
)  # the paper's words for each
TIERS |= {
    "GradCAM++": "better than random, below both",
    "LIME": "even larger variance",
}
TIERS |= dict.fromkeys(["SmoothGrad", "IG"], "quasi-random")


def figure_1(rated: Table, means: Table) -> Figure:
    """Draw Figure 1: `rated` as box plots, one panel per architecture, methods in `means`' order."""
    architectures, sets = rated["architecture"].unique(), list(rated["set"].unique())
    methods = list(means["method"])
    size = (9.5, 0.9 + 2.2 * len(architectures))
    fig, axes = plt.subplots(
        len(architectures), 1, figsize=size, squeeze=False, sharex=True
    )
    colours = {
        name: style.SET_COLOURS.get(name) or style.COLOURS[n]
        for n, name in enumerate(sets)
    }
    look = {
        "palette": colours,
        "saturation": 1,
        "gap": 0.12,
        "fliersize": 2.5,
        "legend": False,
    }
    look |= {"linecolor": INK, "linewidth": 1}
    for ax, architecture in zip(axes[:, 0], architectures, strict=True):
        part = rated[rated["architecture"] == architecture]
        sns.boxplot(
            part, x="method", y="focus", order=methods, hue="set", ax=ax, **look
        )
        ax.axhline(0.5, zorder=0, **CHANCE)
        ax.set(ylim=(0, 1.03), ylabel="Focus", xlabel="")
        ax.set_title(architecture, fontsize=10)
    square = {"marker": "s", "mec": INK}
    looks = {
        f"image set {name}": square | {"color": colour}
        for name, colour in colours.items()
    }
    heading = "Focus of each method by architecture"
    if len(methods) > 2:
        heading = f"{' and '.join(methods[:2])} have the highest Focus, {methods[-1]} the lowest"
    return style.headed(fig, heading, looks | BY_CHANCE)


def tiers(means: Table, networks: Table, photographs: Table) -> Figure:
    """Draw the mean Focus of each method, of single `networks` and on recorded `photographs`.

    All three tables are summaries. The paper's words stand in the right margin."""
    names = list(means["method"])
    photographs = photographs[photographs["method"].isin(names)]
    networks = networks.filter(["method", "mean"])
    looks = {
        "one network on photographs of ImageNet": PHOTOGRAPH,
        "these networks: mean, 95% interval": {"color": BLUE},
        "each architecture and image set": {"marker": "|", "color": FAINT},
    }
    parts = dict(zip(looks, (photographs, means, networks), strict=True))
    table = pd.concat(parts, names=["of"]).reset_index("of")
    fig = style.forest(
        table, "mean", "method", looks, "of", names=names, at=0.5, line=CHANCE
    )
    [ax] = fig.axes
    for y, name in enumerate(names):
        ax.text(1.02, y, TIERS.get(name, ""), va="center", fontsize=10)
    ax.text(1.02, -0.75, "the paper says", fontsize=9, color=FAINT)
    ax.set(xlabel="mean Focus (0 to 1)", xlim=(0.4, 1.0))
    there = list(
        photographs.sort_values("mean", ascending=False, kind="stable")["method"]
    )
    heading = f"{' and '.join(names[:2])} have the highest Focus"
    if there:
        heading += f"; on photographs, {' and '.join(there[:2])}"
    return style.headed(fig, heading, looks | BY_CHANCE)


def mosaic_maps(picture, layout, maps: Mapping, focus: Mapping, target: str) -> Figure:
    """Draw a mosaic (3, H, W) and each method's map of it, up to the map's 99th percentile.

    The target cells of the `layout` (2, 2) are framed."""
    captions = [
        f"Where is the {target}?",
        *(f"{n}: Focus {focus[n]:.2f}" for n in maps),
    ]
    known, title = pd.Series(focus).dropna(), ""
    if len(known) > 1:
        best, last = known.idxmax(), known.idxmin()
        title = f"{known.max():.0%} of {best}'s positive relevance is in the frames"
        title += f", and {known.min():.0%} of {last}'s"
    cols = min(len(captions), 5 if len(maps) < 5 else 4)
    pictures = [picture, *maps.values()]
    fig = style.framed(pictures, captions, cols=cols, title=title, most=0.99)
    for ax in fig.axes[: len(pictures)]:
        _frames(ax, picture.shape[-2:], layout, FRAME, 3)
    return fig


FACES = {"trained": {}, "stopped early": {"mfc": "white"}}


def accuracy_and_focus(table: Table) -> Figure:
    """Draw Focus against accuracy: small dots are training runs, large markers their means.

    A line joins a model to the same model stopped early."""
    looks = style.series(table["architecture"])
    methods = [name for name in ("GradCAM", "LRP", "LIME") if name in table]
    known = {m: table.dropna(subset=[m])[["accuracy", m]].T.to_numpy() for m in methods}
    slopes = {m: np.polyfit(*at, 1)[0] for m, at in known.items() if np.ptp(at[0]) > 0}
    fig, axes = plt.subplots(
        1, len(methods), figsize=(9.5, 4.3), sharey=True, squeeze=False
    )
    for ax, method in zip(axes[0], methods, strict=True):
        for (name, _), part in table.dropna(subset=[method]).groupby(
            ["architecture", "model"]
        ):
            look = looks[name] | {"ms": 8, "mew": 1.5}
            ax.plot(
                part["accuracy"],
                part[method],
                ".",
                color=look["color"],
                alpha=0.4,
                zorder=0,
            )
            cases = part.groupby(["set", "how"])[["accuracy", method]].mean()
            cases = cases.sort_values("accuracy").reset_index()
            ax.plot(
                cases["accuracy"], cases[method], color=look["color"], lw=1.2, alpha=0.6
            )
            for how, case in cases.groupby("how"):
                ax.plot(case["accuracy"], case[method], ls="", **look | FACES[how])
        ax.axhline(0.5, **CHANCE)
        ax.set(
            xlabel="accuracy on the image set (0 to 1)",
            ylim=(None, 1.02),
            xlim=(None, 1.04),
        )
        ax.set_title(method, fontsize=10)
    axes[0, 0].set_ylabel("mean Focus (0 to 1)")
    own = {"color": INK, "mew": 1.5}
    looks |= {
        how: own | face for how, face in FACES.items() if how in set(table["how"])
    }
    looks["the same model"] = {"color": FAINT, "ls": "-", "lw": 1.2, "marker": "."}
    title = "All networks have the same accuracy"
    if slopes:
        listed = ", ".join(f"{value:+.2f} ({name})" for name, value in slopes.items())
        title = f"The slope of Focus by accuracy is {listed}"
    return style.headed(fig, title, looks | BY_CHANCE)


def controls(known: Table) -> Figure:
    """Draw what must be 1 (`controls.in_disconnected`): per method, the mean and the range."""
    ends = known.groupby("name", sort=False)["focus"].agg(["mean", "min", "max"])
    ends = ends.set_axis(["mean", "low", "high"], axis=1).reset_index()
    looks = {
        "correct in all mosaics": {"color": BLUE},
        "relevance in cells that the network did not use": {
            "marker": "X",
            "color": RED,
        },
    }
    ends["holds"] = np.where(ends["low"] > 0.999, *looks)
    fig = style.forest(
        ends, "mean", "name", looks, "holds", apart=0, at=1, line={"color": INK}
    )
    fig.axes[0].set_xlabel(
        "mean Focus (whiskers: from the lowest to the highest mosaic); 1 is correct"
    )
    correct = (ends["low"] > 0.999).sum()
    last = ends.loc[ends["mean"].idxmin()]
    title = f"{correct} of {len(ends)} maps have the correct Focus of 1"
    title += f"; {last['name']} has {last['mean']:.2f}"
    return style.headed(fig, title, looks)


def pair_matrix(table: Table, classes: Sequence[str], injected) -> Figure:
    """Draw the mean Focus of every pair of `means.ranked`: targets down, outer classes across.

    The lowest pairs carry their rank, and the pair with the `injected` bias has a frame."""
    names, side = list(classes), len(classes)
    cell = np.clip(9.5 / side, 0.62, 1.25)
    fig, ax = plt.subplots(figsize=(2.6 + cell * side, 1.5 + 0.72 * cell * side))
    label = table["focus"].map("{:.2f}".format, na_action="ignore").fillna("none")
    ranks = table["rank"].map("\n({:.0f}.)".format)
    label += ranks.where(table["rank"] <= LOWEST, "")
    wide = table.assign(said=label).pivot(index="target", columns="outer")
    grid, texts = (
        wide[value].reindex(names, columns=names) for value in ("focus", "said")
    )
    norm = Normalize(min(table["focus"].min(), 0.5), 1)
    grounds = style.shades(norm(grid.to_numpy()), "cividis")
    grounds[np.eye(side, dtype=bool)] = 1
    style.cells(ax, grounds, texts.fillna(""), names, names, 10 if side <= 6 else 8)
    if injected:
        corner = names.index(injected[1]) - 0.47, names.index(injected[0]) - 0.46
        ax.add_patch(Rectangle(corner, 0.94, 0.92, fill=False, ec=RED, lw=3))
    if side > 6:
        plt.setp(ax.get_xticklabels(), rotation=40, ha="right", rotation_mode="anchor")
    ax.set(
        xlabel="outer class (the other two images)", ylabel="target class (explained)"
    )
    label = f"(1.) to ({LOWEST}.): the lowest"
    if injected:
        label += "; framed: the pair with the injected bias"
    ax.set_title(label, fontsize=10)
    bar = fig.colorbar(ScalarMappable(norm, "cividis"), ax=ax, shrink=0.9, pad=0.02)
    bar.set_label("mean Focus (0.5: chance)")
    target, outer, focus = table[["target", "outer", "focus"]].iloc[0]
    return style.headed(
        fig, f"The lowest Focus is that of {target} next to {outer}: {focus:.2f}"
    )


def mosaics_explained(
    mosaics, maps, layouts, captions, names, patches, title=""
) -> Figure:
    """Draw mosaics, each next to its map, with the share of relevance of every image (Figure 2).

    All arguments but the `title` are from `feature.explained`; `patches` are outlined."""
    pictures = [one for pair in zip(mosaics, maps, strict=True) for one in pair]
    texts = [
        text for caption in captions for text in (caption, f"relevance for {names[0]}")
    ]
    title = title or f"Relevance for {names[0]}; relevance on {names[1]} is misplaced"
    fig = style.framed(pictures, texts, cols=len(pictures), title=title, shade="Reds")
    for at, ax in enumerate(fig.axes):
        _frames(ax, maps.shape[1:], layouts[at // 2], INK, 2.5)
    for at, ax in enumerate(fig.axes[1::2]):
        outlined(ax, patches, at)
        _shares(ax, layouts[at], maps[at].clamp(min=0).double(), names)
    return fig


def outlined(ax: Axes, patches: torch.Tensor | None, at: int) -> None:
    """Outline the known feature of an image, where there is one."""
    if patches is not None and patches[at].any():
        ax.contour(patches[at].numpy(), [0.5], colors=INK, linewidths=1.2)


def _shares(
    ax: Axes, layout: torch.Tensor, relevance: torch.Tensor, names: Sequence[str]
) -> None:
    """Write each image's class and share of the relevance."""
    parts = relevance.unflatten(1, (2, -1)).unflatten(0, (2, -1)).sum((1, 3))
    look = {"transform": ax.transAxes, "color": INK, "fontsize": 8}
    look["bbox"] = {"fc": "white", "ec": "none", "pad": 1.5, "alpha": 0.9}
    for (r, c), is_target in np.ndenumerate(layout.numpy()):
        share = f" {parts[r, c] / parts.sum():.0%}" if parts.sum() > 0 else ""
        ax.text(
            0.5 * c + 0.025,
            0.53 - 0.5 * r,
            names[0 if is_target else 1] + share,
            **look,
        )


def _frames(
    ax: Axes, size: Sequence[int], layout: torch.Tensor, colour: str, lw: float
) -> None:
    """Frame the target cells of a mosaic, and draw the seams between its cells."""
    height, width = size[0] / 2, size[1] / 2
    ax.axhline(height - 0.5, color="white", lw=1)
    ax.axvline(width - 0.5, color="white", lw=1)
    for row, col in layout.nonzero().tolist():
        at = (col * width + 1, row * height + 1)
        ax.add_patch(Rectangle(at, width - 3, height - 3, fill=False, ec=colour, lw=lw))
