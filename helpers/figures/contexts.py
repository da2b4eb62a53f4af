"""The figures of notebooks 01 to 05 (*Assessing Biases through Visual Contexts*).

Every figure is drawn from a returned table; its title is what that table says. In all of them
`colours` is the palette, a dict from class to colour, and `context_of`, where there is one, a dict
from class to the name of its context, for the labels.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

from helpers.figures.style import (
    FAINT,
    INK,
    SET_COLOURS,
    WHISKERS,
    context_name,
    framed,
    headed,
    image_grid,
    interval,
    mark,
    note,
    palette,
    readable_on,
    show,
    style,
)

__all__ = ["framed", "image_grid", "palette", "show", "style"]  # what notebooks call beside these

MAP = "magma"
YES, NO = "#B5651D", "#EDEDED"
NOTHING = "nothing"  # pasted: the context alone
LEVEL = 0.05  # effects whose p-value, adjusted by Holm, is below it are filled
FAR = 3  # ranks apart from which a pair is named
ZERO = {"color": INK, "ls": "--", "lw": 1}
PAPER = {"marker": "D", "mfc": "white", "mec": INK, "ms": 6}
PLACES = {"O": (0.0, 0.0), "C": (1.0, 1.5), "Y": (2.0, 0.0)}


# Notebook 01


def planted_bias(counts: pd.DataFrame) -> Figure:
    """How many images of each class have each context, as a heat map.

    Parameters
    ----------
    counts : DataFrame of int
        Classes down, contexts across, own contexts on the diagonal.
    """
    share = counts.div(counts.sum(axis=1), axis=0)
    labels = counts.astype(str) + "\n" + (100 * share).round().astype(int).astype(str) + "%"
    rows, columns = counts.shape
    fig, ax = plt.subplots(figsize=(2.2 + 1.1 * columns, 1.1 + 0.62 * rows))
    look = {"cmap": "Greys", "vmin": 0, "vmax": 1, "linewidths": 1.5, "cbar": False}
    sns.heatmap(share, annot=labels, fmt="", annot_kws={"fontsize": 9}, ax=ax, **look)
    ax.set(xlabel="context", ylabel="class")
    ax.tick_params(length=0, axis="both", rotation=0)
    own = np.diag(counts).sum() / counts.to_numpy().sum()
    ax.set_title(f"{own:.0%} of the images of C show their class's own context (diagonal)")
    return fig


def mean_colours(table: pd.DataFrame) -> Figure:
    """Each set's and class's mean colour as a box: what classes share besides their object.

    Parameters
    ----------
    table : DataFrame
        From `background.colours_by_class`: set, region, class, red, green, blue (0 to 255).
    """
    table = table.assign(row=table["set"] + ", " + table["region"])
    rows, classes = list(dict.fromkeys(table["row"])), list(dict.fromkeys(table["class"]))
    fig, ax = plt.subplots(figsize=(min(9.5, 1.6 + 1.7 * len(classes)), 0.8 + 0.6 * len(rows)))
    for row in table.to_dict("records"):
        x, y = classes.index(row["class"]), rows.index(row["row"])
        rgb = np.array([row["red"], row["green"], row["blue"]])
        ax.add_patch(Rectangle((x - 0.48, y - 0.45), 0.96, 0.9, color=rgb / 255))
        text = " ".join(f"{value:.0f}" for value in rgb)
        ax.text(x, y, text, ha="center", va="center", color=readable_on(rgb / 255), fontsize=9)
    ax.set(xlim=(-0.5, len(classes) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.set_xticks(range(len(classes)), classes)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)
    apart = table.groupby("row", sort=False)[["red", "green", "blue"]].agg(np.ptp).max(axis=1)
    ax.set_title(f"The classes differ most in the mean colour of {apart.idxmax()}")
    note(fig, "Mean red, green and blue, 0 to 255.")
    return fig


def colour_alone(table: pd.DataFrame) -> Figure:
    """How often the class is guessed right from one mean colour, a bar a set and region.

    Parameters
    ----------
    table : DataFrame
        From `background.given_away`: set, region, accuracy, low, high, chance (shares).
    """
    fig, ax = plt.subplots(figsize=(8.5, 1.5 + 0.45 * len(table)))
    at = np.arange(len(table))
    colours = [SET_COLOURS.get(name, FAINT) for name in table["set"]]
    ax.barh(at, 100 * table["accuracy"], 0.62, color=colours)
    ends = (100 * table[name] for name in ("accuracy", "low", "high"))
    interval(ax, *ends, at, fmt="none", ecolor=INK)
    for y, row in enumerate(table.to_dict("records")):
        ax.text(100 * row["high"] + 1.5, y, f"{row['accuracy']:.0%}", va="center", color=INK)
        ax.vlines(100 * row["chance"], y - 0.42, y + 0.42, color=INK, lw=1.2, ls=(0, (3, 2)))
    names = table["set"] + ", " + table["region"]
    ax.set_yticks(at, names)
    ax.set(xlim=(0, 108), ylim=(len(table) - 0.4, -0.6), xlabel="classes guessed right (%)")
    most = table["accuracy"].idxmax()
    share = f"{table['accuracy'][most]:.0%}"
    ax.set_title(f"One mean colour names the class in {share} of the images: {names[most]}")
    note(fig, "Dashed: guessing at random. Whiskers: 95% intervals for other test images.")
    return fig


# Notebook 02


def accuracy_bars(table: pd.DataFrame, n_classes: int | None = None) -> Figure:
    """Accuracy of every model on every test set (Figure 2), with intervals.

    Parameters
    ----------
    table : DataFrame
        From `cross_evaluation.accuracies`: model, train_set, test_set, accuracy, low, high
        (shares); optionally paper (share or NaN).
    n_classes : int, optional
        Draws the level of guessing.
    """
    models, sets = (list(dict.fromkeys(table[name])) for name in ("model", "test_set"))
    fig, ax = plt.subplots(figsize=(9.5, 4.2))
    width = 0.8 / len(sets)
    for number, name in enumerate(sets):
        part, colour = table[table["test_set"] == name], SET_COLOURS.get(name, FAINT)
        at = part["model"].map(models.index) + (number - (len(sets) - 1) / 2) * width
        ax.bar(at, 100 * part["accuracy"], width * 0.94, color=colour, label=name)
        ends = (100 * part[end] for end in ("accuracy", "low", "high"))
        interval(ax, *ends, at, vertical=True, fmt="none", ecolor=INK, elinewidth=1, capsize=0)
        for x, value in zip(at, part["accuracy"], strict=True):
            look = {"ha": "center", "va": "bottom", "color": readable_on(colour), "fontsize": 9}
            ax.text(x, 2, f"{100 * value:.0f}", **look)
        if "paper" in part:
            ax.plot(at, 100 * part["paper"], ls="", zorder=4, **PAPER)
    if n_classes:
        ax.axhline(100 / n_classes, color=INK, lw=1, ls=":", zorder=0)
        ax.text(len(models) - 0.5, 100 / n_classes, " guessing", va="center", fontsize=8)
    ax.set(ylabel="accuracy (%)", ylim=(0, 108), yticks=range(0, 101, 20))
    ax.set_xlim(-0.5, len(models) - 0.5)
    ax.set_xticks(range(len(models)), models)
    ax.tick_params(axis="x", length=0)
    best = table.loc[table.groupby("model")["accuracy"].idxmax()]
    own = int((best["train_set"] == best["test_set"]).sum())
    title = f"Figure 2: {own} of {len(models)} models do best on the set they were trained on"
    _of_sets(fig, title, sets, "paper" in table and bool(table["paper"].notna().any()))
    note(fig, WHISKERS)
    return fig


def accuracy_by_training(table: pd.DataFrame) -> Figure:
    """Every training's accuracy on every test set: how far the trainings of a model are apart.

    Parameters
    ----------
    table : DataFrame
        From `cross_evaluation.by_training`: a row a dot, with model, train_set, training, test_set
        and accuracy (share).
    """
    models, sets = (list(dict.fromkeys(table[name])) for name in ("model", "test_set"))
    fig, ax = plt.subplots(figsize=(9.5, 3.7))
    for number, name in enumerate(sets):
        part = table[table["test_set"] == name]
        at = part["model"].map(models.index) + 0.25 * (number - (len(sets) - 1) / 2)
        look = {"s": 34, "alpha": 0.75, "edgecolor": INK, "lw": 0.5, "zorder": 3}
        ax.scatter(at, 100 * part["accuracy"], color=SET_COLOURS.get(name, FAINT), **look)
    least = max(100 * table["accuracy"].min() - 8, 0)
    ax.set(ylabel="accuracy (%)", ylim=(least, 104), xlim=(-0.5, len(models) - 0.5))
    ax.set_xticks(range(len(models)), models)
    ax.grid(axis="y", color="#e5e5e5")
    ax.tick_params(axis="x", length=0)
    apart = 100 * table.groupby(["model", "train_set", "test_set"])["accuracy"].agg(np.ptp)
    apart = apart.rename("points").reset_index()
    own = apart["train_set"] == apart["test_set"]
    home, away = apart.loc[own, "points"].max(), apart.loc[~own, "points"].max()
    title = f"Trainings of one model differ by up to {home:.0f} points on its own set"
    _of_sets(fig, title + (f", and by up to {away:.0f} elsewhere" if (~own).any() else ""), sets)
    return fig


def _of_sets(fig: Figure, title: str, sets: Sequence[str], paper: bool = False) -> None:
    handles = [
        mark(f"tested on {name}", marker="s", ms=10, color=SET_COLOURS.get(name, FAINT))
        for name in sets
    ]
    headed(fig, title, handles + [mark("the paper's value", **PAPER)] * paper)


def confusion_grid(
    matrices: Mapping[tuple[str, str], pd.DataFrame], classes: Sequence[str]
) -> Figure:
    """Confusion matrices, a column a model and a row a test set.

    Parameters
    ----------
    matrices : dict from (model, test set) to DataFrame (K, K)
        From `cross_evaluation.confusions`: true class down, predicted class across.
    """
    models, sets = (list(dict.fromkeys(of)) for of in zip(*matrices, strict=True))
    cell = max(min(8.3 / len(models), 2.4), 0.22 * len(classes))
    size = (1.2 + cell * len(models), 1.5 + cell * len(sets))
    fig, axes = plt.subplots(
        len(sets), len(models), figsize=size, squeeze=False, sharex=True, sharey=True
    )
    wrong = np.zeros(len(classes))
    for (model, test), matrix in matrices.items():
        ax, matrix = axes[sets.index(test), models.index(model)], np.asarray(matrix)
        _confusion(ax, matrix, classes, small=cell / len(classes) < 0.25)
        wrong += matrix.sum(0) - np.diag(matrix)
    for row, test in zip(axes, sets, strict=True):
        row[0].set_ylabel(f"tested on {test}\ntrue class")
    for ax, model in zip(axes[0], models, strict=True):
        ax.set_title(model)
    fig.supxlabel("predicted class", fontsize=10)
    most, share = classes[wrong.argmax()], wrong.max() / max(wrong.sum(), 1)
    headed(fig, f"{share:.0%} of all mistakes name one class: {most}")
    return fig


def _confusion(ax: Axes, matrix: np.ndarray, classes: Sequence[str], small: bool) -> None:
    share = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    ax.imshow(share, cmap="Greys", vmin=0, vmax=1)
    for (true, predicted), count in np.ndenumerate(matrix):
        if count >= 0.5:
            colour = "white" if share[true, predicted] > 0.5 else INK
            look = {"ha": "center", "va": "center", "color": colour, "fontsize": 6 if small else 8}
            ax.text(predicted, true, f"{count:.0f}", **look)
    at = range(len(classes))
    ax.set_xticks(at, classes, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(at, classes)
    ax.tick_params(length=0, labelsize=7 if small else 8)
    ax.spines[:].set(visible=True, color=FAINT, linewidth=0.8)


# Notebook 03


def causal_graphs() -> Figure:
    """The three causal graphs of object O, context C and prediction Y (Figure 3).

    Desired (the context does not reach the prediction), learned (it does), and after the
    intervention do(C = c), which cuts what leads into C.
    """
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.1))
    graphs = (
        ("(a) desired", [("O", "C"), ("O", "Y")], None),
        ("(b) learned", [("O", "C"), ("O", "Y"), ("C", "Y")], None),
        ("(c) after the intervention", [("O", "Y"), ("C", "Y")], "C"),
    )
    for ax, (title, arrows, fixed) in zip(axes, graphs, strict=True):
        ax.set_title(title, loc="center")
        for arrow in arrows:
            _arrow(ax, *(PLACES[name] for name in arrow), strong=arrow == ("C", "Y"))
        for name, place in PLACES.items():
            _node(ax, name, place, name == fixed)
        ax.set(xlim=(-0.7, 2.9), ylim=(-0.85, 1.95), aspect="equal")
        ax.set_axis_off()
    headed(fig, "Figure 3: does the context reach the prediction (orange arrow)? Set it, and see")
    return fig


def _node(ax: Axes, name: str, place: tuple, fixed: bool) -> None:
    meaning = {"O": "object", "C": "context", "Y": "prediction"}[name]
    ax.add_patch(Circle(place, 0.28, fc="#dddddd" if fixed else "white", ec=INK, lw=1.8, zorder=3))
    ax.text(*place, "c" if fixed else name, ha="center", va="center", fontsize=13, zorder=4)
    if name == "C":
        text = "do(C = c)" if fixed else meaning
        ax.text(place[0] + 0.4, place[1], text, va="center", fontsize=10)
    else:
        ax.text(place[0], place[1] - 0.4, meaning, ha="center", va="top", fontsize=10)


def _arrow(ax: Axes, start: tuple, end: tuple, strong: bool) -> None:
    """An arrow between the rims of two nodes; the one in question is thick and orange."""
    look = {"color": "#D55E00", "lw": 3} if strong else {"color": INK, "lw": 1.6}
    start, end = np.array(start), np.array(end)
    inward = 0.3 * (end - start) / np.linalg.norm(end - start)
    ends = start + inward, end - inward
    ax.add_patch(FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=18, **look))


def logit_panels(
    points: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
) -> Figure:
    """One panel a pair: 2-D histogram of the two logits, with 1-D histograms (Figure 7).

    Single images in the object class's colour and with a triangle at their mean, mosaics in the
    context class's colour and with a star. Beyond the diagonal (upper left) the context's class
    has won. With more than five contexts to an object, panels are small and keep only their titles
    (the object's logit across, the context's up).

    Parameters
    ----------
    points : DataFrame
        From `effects.points`.
    """
    mosaics = points[points["kind"] == "context"]
    met = set(zip(mosaics["context_class"], mosaics["object_class"], strict=True))
    rows = [name for name in colours if name in set(mosaics["context_class"])]
    columns = {c: [name for name in colours if (c, name) in met] for c in rows}
    across = max(len(objects) for objects in columns.values())
    side = min(max(9.5 / across, 1.7), 2.8)
    size = (side * across, side * len(rows) + 0.7)
    fig, axes = plt.subplots(len(rows), across, figsize=size, squeeze=False)
    for line, context in zip(axes, rows, strict=True):
        for ax in line[len(columns[context]) :]:
            ax.set_axis_off()
        for ax, name in zip(line, columns[context], strict=False):
            pair = points[(points["context_class"] == context) & (points["object_class"] == name)]
            beside = context_name(context, context_of)
            _panel(ax, pair, colours[name], colours[context])
            if side >= 1.8:
                ax.set_xlabel(f"logit of {name}", fontsize=8, labelpad=1)
                ax.set_ylabel(f"logit of {context}", fontsize=8, labelpad=1)
                ax.top.set_title(f"{name} + {beside}", fontsize=9)
            else:
                ax.tick_params(labelleft=False, labelbottom=False)
                ax.top.set_title(textwrap.fill(f"{name} + {beside}", 24), fontsize=7)
    grey = {"color": "#bbbbbb", "mec": "black"}
    handles = [
        mark("single images (mean), object's colour", marker="^", **grey),
        mark("mosaics (mean), context's colour", marker="*", **grey | {"ms": 11}),
        mark("both logits equal", **ZERO),
    ]
    over = mosaics.groupby(["object_class", "context_class"])["distance"].mean() < 0
    title = (
        f"Figure 7: the mean of the mosaics lies over the diagonal in {over.sum()} of {len(over)}"
    )
    headed(fig, f"{title} pairs", handles)
    return fig


def _panel(ax: Axes, pair: pd.DataFrame, object_colour: str, context_colour: str) -> None:
    single, mosaic = (pair[pair["kind"] == kind] for kind in ("single", "context"))
    edges = np.linspace(*_limits(pair), 17)
    ax.top = ax.inset_axes([0, 1.02, 1, 0.17], sharex=ax)
    ax.side = ax.inset_axes([1.02, 0, 0.17, 1], sharey=ax)
    for part, colour, marker in ((single, object_colour, "^"), (mosaic, context_colour, "*")):
        _cloud(ax, part, colour, edges)
        x, y = part["object_logit"].mean(), part["context_logit"].mean()
        size = 11 if marker == "*" else 8
        ax.plot(x, y, marker, color=colour, mec="black", mew=1, ms=size, zorder=4)
    _square(ax, pair)
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


def _limits(pair: pd.DataFrame) -> tuple[float, float]:
    """The span of both logits, for axes of equal scales."""
    part = pair[pair["kind"].isin(["single", "context"])]
    logits = part[["object_logit", "context_logit"]].to_numpy()
    pad = 0.06 * np.ptp(logits) or 1.0
    return logits.min() - pad, logits.max() + pad


def _square(ax: Axes, pair: pd.DataFrame) -> None:
    """Equal scales, so that a right angle looks like one, and the diagonal."""
    low, high = _limits(pair)
    ax.set(xlim=(low, high), ylim=(low, high), box_aspect=1)
    ax.axline((low, low), slope=1, zorder=3, **ZERO)


def distance_construction(
    points: pd.DataFrame, object_class: str, context_class: str, colours: Mapping[str, str]
) -> Figure:
    """How Table 1's distances are found (Figure 9): the points, their means, means to the diagonal.

    Parameters
    ----------
    points : DataFrame
        From `effects.points`.
    """
    pair = points[
        (points["object_class"] == object_class) & (points["context_class"] == context_class)
    ]
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.9), sharex=True, sharey=True)
    titles = ("1. the logits", "2. their means", "3. distance to the diagonal")
    looks = {"single": (object_class, "^", 10), "context": (context_class, "*", 15)}
    for step, (ax, title) in enumerate(zip(axes, titles, strict=True)):
        for kind, (name, marker, size) in looks.items():
            part = pair.loc[pair["kind"] == kind, ["object_logit", "context_logit"]].to_numpy()
            dots = {"s": 9, "alpha": (0.5, 0.12, 0.06)[step], "lw": 0}
            ax.scatter(*part.T, color=colours[name], **dots)
            if step:
                look = {"color": colours[name], "mec": "black", "ms": size, "zorder": 4}
                ax.plot(*part.mean(0), marker, **look)
            if step == 2:
                _distance(ax, part.mean(0))
        _square(ax, pair)
        ax.set(title=title, xlabel=f"logit of {object_class}")
    axes[0].set_ylabel(f"logit of {context_class}")
    handles = [
        mark("single images", marker="^", color=colours[object_class]),
        mark("mosaics", marker="*", ms=12, color=colours[context_class]),
    ]
    title = "Figure 9: a pair in two numbers, the distances of its two means to the diagonal"
    headed(fig, title, handles)
    return fig


def _distance(ax: Axes, mean: np.ndarray) -> None:
    """The line from a mean to its foot on the diagonal, with the signed length."""
    foot = np.full(2, mean.mean())
    ax.plot(*np.transpose([mean, foot]), color=INK, lw=2, zorder=3)
    label = {"textcoords": "offset points", "fontsize": 11, "fontweight": "bold", "zorder": 6}
    beyond = {"xytext": (9, -3), "va": "top"} if mean[0] > mean[1] else {"xytext": (-40, 8)}
    ax.annotate(f"{(mean[0] - mean[1]) / np.sqrt(2):+.1f}", mean, **label, **beyond)


def table_1_distances(
    effects: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
    paper: pd.DataFrame | None = None,
) -> Figure:
    """Table 1 as Figure 10: signed distances of mosaics (filled) and of single images (empty).

    Parameters
    ----------
    effects : DataFrame
        From `effects.of_pairs`.
    paper : DataFrame, optional
        The paper's distances: object_class, context_class, mosaic, single.
    """
    fig, ax = plt.subplots(figsize=(8.8, 1.7 + 0.3 * _lines(effects)))
    printed = {} if paper is None else paper.set_index(["object_class", "context_class"])
    for y, row in _rows(ax, effects, context_of):
        colour = colours[row["object_class"]]
        ends = [row["mosaic_distance"], row["single_distance"]]
        ax.plot(ends, [y + 0.12, y - 0.12], color=colour, lw=1, alpha=0.5)
        for name, face, nudge in (("mosaic", colour, 0.12), ("single", "white", -0.12)):
            look = {"color": colour, "mfc": face, "mew": 1.8, "ms": 7, "zorder": 3}
            _point(ax, row, f"{name}_distance", y + nudge, **look)
            if len(printed):
                theirs = printed.loc[(row["object_class"], row["context_class"]), name]
                look = {"ms": 5, "mec": FAINT, "mfc": FAINT if name == "mosaic" else "white"}
                ax.plot(theirs, y + 0.4, **PAPER | look)
    ax.axvline(0, **ZERO)
    ax.set_xlabel(
        "\N{LEFTWARDS ARROW} context's class      "
        "signed distance of the mean to the diagonal (logits)"
        "      object's class \N{RIGHTWARDS ARROW}"
    )
    handles = [mark("mosaics", marker="o"), mark("single images", marker="o", mfc="white", mew=1.8)]
    if len(printed):
        handles.append(mark("the paper's two values", **PAPER | {"mfc": FAINT, "mec": FAINT}))
    nearer, across = (effects["drop"] > 0).sum(), (effects["mosaic_distance"] < 0).sum()
    title = f"Figure 10: beside a context {nearer} of {len(effects)} pairs come nearer to its class"
    headed(fig, f"{title}, and {across} cross over to it", handles)
    note(fig, WHISKERS)
    return fig


def context_contrasts(
    effects: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
) -> Figure:
    """Tell the context from the mosaic: beside own, neutral and other context, and the difference.

    Parameters
    ----------
    effects : DataFrame
        From `effects.of_pairs`, with the neutral and the own controls.
    """
    size = (9.5, 1.8 + 0.3 * _lines(effects))
    fig, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=(3, 2))
    beside = (("own", "s", -0.24), ("neutral", "D", 0.0), ("mosaic", "o", 0.24))
    for y, row in _rows(left, effects, context_of):
        colour = colours[row["object_class"]]
        for name, marker, nudge in beside:
            if f"{name}_distance" in row:
                look = {"color": colour, "fmt": marker, "ms": 6, "mec": INK, "mew": 0.6}
                _point(left, row, f"{name}_distance", y + nudge, **look)
        clear = row["context_effect_p_holm"] < LEVEL
        look = {"color": colour, "ms": 7, "mfc": colour if clear else "white", "mew": 1.6}
        _point(right, row, "context_effect", y, **look)
    for ax in (left, right):
        ax.axvline(0, **ZERO)
    left.set(xlabel="signed distance to the diagonal (logits)", title="Where the mosaics are")
    right.set(xlabel="distance beside neutral - beside context", title="What the context does")
    right.tick_params(axis="y", length=0)
    sns.despine(ax=right, left=True)
    right.grid(axis="y", color="#eeeeee")
    handles = [
        mark("beside its own context", marker="s", ms=6),
        mark("beside a neutral image", marker="D", ms=6),
        mark("beside the context", marker="o", ms=6),
        mark("no clear effect (Holm)", marker="o", ms=7, mfc="white", mew=1.6),
    ]
    clear = int((effects["context_effect_p_holm"] < LEVEL).sum())
    title = f"Compared with a neutral image, the context has a clear effect in {clear} of"
    headed(fig, f"{title} {len(effects)} pairs", handles)
    note(fig, WHISKERS)
    return fig


def planted_and_measured(
    contexts: pd.DataFrame,
    planted: Mapping[str, float],
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
) -> Figure:
    """The measured strength of each context, the most strongly planted first.

    Parameters
    ----------
    contexts : DataFrame
        From `effects.of_contexts`, with the neutral control.
    planted : dict from class to float
        The share of the class's images that were given its own context.
    """
    rows = sorted(contexts.to_dict("records"), key=lambda row: -planted[row["context_class"]])
    fig, ax = plt.subplots(figsize=(8.5, 1.5 + 0.45 * len(rows)))
    for y, row in enumerate(rows):
        _point(ax, row, "context_effect", y, color=colours[row["context_class"]], ms=9)
    names = [context_name(row["context_class"], context_of) for row in rows]
    shares = [planted[row["context_class"]] for row in rows]
    labels = [f"{n}, planted {share:.0%}" for n, share in zip(names, shares, strict=True)]
    ax.set_yticks(range(len(rows)), labels)
    ax.axvline(0, **ZERO)
    ax.set(ylim=(len(rows) - 0.5, -0.5))
    ax.set_xlabel("measured: logits by which the context draws other objects to its class")
    order = np.argsort([-row["context_effect"] for row in rows])
    ax.set_title(f"The {names[order[0]]} draws most, the {names[order[-1]]} least")
    note(fig, WHISKERS)
    return fig


def _lines(effects: pd.DataFrame) -> float:
    """Lines of a figure: a pair each, and a gap between contexts."""
    return len(effects) + 0.6 * effects["context_class"].nunique()


def _rows(ax: Axes, effects: pd.DataFrame, context_of) -> list[tuple[float, dict]]:
    """Place the pairs from top to bottom, grouped by context; name and stripe them."""
    places, y, before = [], 0.0, None
    for row in effects.to_dict("records"):
        y += 1.6 if before not in (None, row["context_class"]) else 1
        before = row["context_class"]
        places.append((y, row))
    names = [
        f"{row['object_class']} + {context_name(row['context_class'], context_of)}"
        for _, row in places
    ]
    ax.set_yticks([y for y, _ in places], names)
    ax.set_ylim(y + 0.8, 0.2)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color="#eeeeee")
    ax.set_axisbelow(True)
    sns.despine(ax=ax, left=True)
    return places


def _point(ax: Axes, row: dict, name: str, y: float, **look) -> None:
    interval(ax, row[name], row[f"{name}_low"], row[f"{name}_high"], y, **look)


# Notebook 04


def paste_counts(
    table: pd.DataFrame,
    pictures: Mapping[tuple[str, str], torch.Tensor],
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
) -> Figure:
    """How many composites are taken for the context's class, a panel a context (Figures 11 to 14).

    Parameters
    ----------
    table : DataFrame
        From `pasting.counts`; optionally paper (composites of 25, or NaN).
    pictures : dict from (context class, what is pasted) to uint8 tensor (3, H, W)
        One example for each bar, shown beneath it.
    """
    contexts = list(dict.fromkeys(table["context_class"]))
    rows = -(-len(contexts) // 2)
    fig, axes = plt.subplots(rows, 2, figsize=(9.5, 3.9 * rows + 0.4), squeeze=False)
    for ax, name in zip(axes.flat, contexts, strict=False):
        part = table[table["context_class"] == name].reset_index(drop=True)
        _bars(ax, part, colours)
        for x, pasted in enumerate(part["pasted"]):
            _beneath(ax, x, len(part), pictures[name, pasted])
        ax.set_title(f"{context_name(name, context_of)}: taken for {name}")
    for ax in axes.flat[len(contexts) :]:
        ax.set_axis_off()
    paper = "paper" in table and bool(table["paper"].notna().any())
    made = table[table["pasted"] != NOTHING]
    title = "Figures 11 to 14: contexts alone, and with objects"
    if len(made):
        mostly = int((made["share"] > 0.5).sum())
        title = f"Figures 11 to 14: the context wins in {mostly} of {len(made)} kinds of composite"
    headed(fig, title, [mark("the paper's count", **PAPER)] * paper)
    note(fig, WHISKERS)
    return fig


def _bars(ax: Axes, part: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """One context's counts with their intervals; percentages where totals differ."""
    name, total = part["context_class"].iloc[0], part["images"].to_numpy()
    alike = len(set(total)) == 1
    whole, at = (total[0] if alike else 100), np.arange(len(part))
    faces = [colours[name if pasted == NOTHING else pasted] for pasted in part["pasted"]]
    ax.bar(at, part["share"] * whole, 0.7, color=faces)
    ends = (part[end] * whole for end in ("share", "low", "high"))
    interval(ax, *ends, at, vertical=True, fmt="none", ecolor=INK)
    for x, row in part.iterrows():
        label = f"{row['predicted']:g}" if alike else f"{row['predicted']:g} of {row['images']}"
        ax.text(x + 0.06, (row["high"] + 0.016) * whole, label, fontsize=9)
    if "paper" in part and alike:
        paper = part["paper"] / 25 * whole
        ax.plot(at - 0.22, paper, ls="", zorder=3, clip_on=False, **PAPER)
    ax.set(ylim=(0, whole * 1.12), xlim=(-0.6, len(part) - 0.4))
    ax.set_ylabel(f"images of {whole}" if alike else "images (%)")
    ax.set_xticks(at, ["the context alone" if p == NOTHING else p for p in part["pasted"]])
    ax.tick_params(axis="x", length=0)


def _beneath(ax: Axes, x: int, bars: int, picture: torch.Tensor) -> None:
    """An example under its bar, below the tick labels."""
    width = min(0.92 / bars, 0.23)
    left = (x + 0.6) / (bars + 0.2) - width / 2
    inset = ax.inset_axes([left, -0.62, width, 0.46])
    inset.imshow(picture.permute(1, 2, 0).numpy(), interpolation="antialiased")
    inset.set_anchor("N")
    inset.set_axis_off()


def two_methods(
    pairs: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
) -> Figure:
    """Effects in mosaics against effects in pasting, a point a pair of object and context.

    Parameters
    ----------
    pairs : DataFrame
        From `ranks.apart`. Pairs that the methods rank far apart are named.
    """
    fig, ax = plt.subplots(figsize=(8.5, 5.2))
    ax.axhline(0, **ZERO)
    ax.axvline(0, **ZERO)
    for row in pairs.to_dict("records"):
        colour = colours[row["context_class"]]
        x, y = (
            [row[f"context_effect{end}_{which}"] for end in ("", "_low", "_high")]
            for which in ("first", "second")
        )
        look = {"fmt": "none", "ecolor": colour, "elinewidth": 1, "alpha": 0.6, "capsize": 0}
        interval(ax, *x, y[0], **look)
        interval(ax, *y, x[0], vertical=True, **look)
        rim = {"mfc": colour, "mec": colours[row["object_class"]], "mew": 3, "zorder": 3}
        ax.plot(x[0], y[0], "o", ms=11, **rim)
        if row["ranks_apart"] >= FAR:
            label = f"{row['object_class']} + {context_name(row['context_class'], context_of)}"
            place = {"textcoords": "offset points", "ha": "left", "fontsize": 9, "zorder": 4}
            ax.annotate(label, (x[0], y[0]), (9, 7), **place)
    ax.margins(0.12)
    ax.set(xlabel="effect in mosaics (logits)", ylabel="effect in pasting (logits)")
    handles = [
        mark("face: the context's class", marker="o", ms=11, color="#bbbbbb"),
        mark("rim: the object's class", marker="o", ms=11, mfc="white", mew=3),
    ]
    for name in dict.fromkeys(pairs["context_class"]):
        label = f"{name}, {context_name(name, context_of)}"
        handles.append(mark(label, marker="s", ms=9, color=colours[name]))
    fig.legend(handles=handles, loc="outside right center")
    same = int((pairs["context_effect_first"] * pairs["context_effect_second"] > 0).sum())
    ax.set_title(f"Mosaics and pasting point the same way in {same} of {len(pairs)} pairs")
    note(fig, WHISKERS + f" Named: ranked {FAR} places or more apart.")
    return fig


# Notebook 05


def explained(
    images: torch.Tensor,
    maps: torch.Tensor,
    captions: Sequence[str],
    title: str = "",
) -> Figure:
    """Image beside map beside overlay, all maps on one colour scale (Figure 16).

    Parameters
    ----------
    images : uint8 tensor (N, 3, H, W)
    maps : float tensor (N, H, W)
        Positive relevance is drawn, as a share of the map's largest; an empty map is black.
    captions : sequence of N str
    title : str
    """
    cols = min(2, len(images))
    rows = -(-len(images) // cols)
    cell = min(9.2 / (3 * cols), 1.7)
    size = (3 * cols * cell + 0.6, rows * (cell + 0.25))
    fig, axes = plt.subplots(rows, 3 * cols, figsize=size, squeeze=False)
    headed(fig, title)
    positive = maps.clamp(min=0)
    shares = positive / positive.amax((1, 2), keepdim=True).clamp(min=1e-30)
    for number, trio in enumerate(axes.reshape(-1, 3)):
        for ax in trio:
            ax.set_axis_off()
        if number < len(images):
            picture = images[number].permute(1, 2, 0).numpy()
            trio[0].imshow(picture, interpolation="antialiased")
            trio[1].imshow(shares[number], cmap=MAP, vmin=0, vmax=1)
            trio[2].imshow(picture.mean(-1), cmap="gray", vmin=0, vmax=255)
            trio[2].imshow(shares[number], cmap=MAP, vmin=0, vmax=1, alpha=0.55)
            trio[0].set_title(captions[number], fontsize=9)
    scale = ScalarMappable(Normalize(0, 1), MAP)
    bar = fig.colorbar(scale, ax=axes, shrink=0.9 if rows == 1 else 0.6, pad=0.01)
    bar.set_label("relevance\n(1: the map's most)", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return fig


def background_share(
    table: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
) -> Figure:
    """Each class's share of relevance on the background, beside what a uniform map has there.

    Parameters
    ----------
    table : DataFrame
        From `background.per_class`.
    """
    fig, ax = plt.subplots(figsize=(8.5, 1.8 + 0.45 * len(table)))
    for y, row in enumerate(table.to_dict("records")):
        ends = (100 * row[f"share{end}"] for end in ("", "_low", "_high"))
        if np.isfinite(row["share"]):
            interval(ax, *ends, y, color=colours[row["class"]], ms=9)
        ax.plot([100 * row["area"]] * 2, [y - 0.33, y + 0.33], color=INK, lw=2.5)
    names = [f"{name} ({context_name(name, context_of)})" for name in table["class"]]
    ax.set_yticks(range(len(table)), names)
    ax.set(ylim=(len(table) - 0.4, -0.6), xlabel="relevance on the background (%)")
    ax.grid(axis="x", color="#eeeeee")
    handles = [mark("GradCAM", marker="o"), mark("a uniform map", marker="|", ms=14, mew=2.5)]
    less = int((table["share"] < table["area"]).sum())
    title = f"GradCAM puts less on the background than a uniform map in {less} of {len(table)}"
    headed(fig, f"{title} classes", handles)
    note(fig, WHISKERS)
    return fig


def answers(table: pd.DataFrame, context_of: Mapping[str, str] | None = None) -> Figure:
    """What each method answers for each context, with its measure, beside what was planted.

    "Yes" is dark and bold; numbers are the measured effects.

    Parameters
    ----------
    table : DataFrame
        From `methods.Measured.answers`.
    """
    measures = list(dict.fromkeys(zip(table["method"], table["quantity"], strict=True)))
    contexts = list(dict.fromkeys(table["context_class"]))
    fig, ax = plt.subplots(figsize=(9.5, 1.4 + 0.62 * len(contexts)))
    for row in table.to_dict("records"):
        x = measures.index((row["method"], row["quantity"]))
        y, yes = contexts.index(row["context_class"]), row["answer"] == "yes"
        ax.add_patch(plt.Rectangle((x - 0.48, y - 0.45), 0.96, 0.9, color=YES if yes else NO))
        look = {"color": "white", "fontweight": "bold"} if yes else {"color": INK}
        text = f"{row['answer']}\n{row['effect']:+.2f}"
        ax.text(x, y, text, ha="center", va="center", fontsize=9, **look)
    first = table.drop_duplicates("context_class").set_index("context_class")["planted"]
    names = [f"{context_name(name, context_of)} ({name})" for name in contexts]
    if first.notna().all():
        names = [f"{n}\nplanted: {first[c]:.0%}" for n, c in zip(names, contexts, strict=True)]
    ax.set_yticks(range(len(contexts)), names)
    ax.set_xticks(range(len(measures)), ["\n".join(measure) for measure in measures])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set(xlim=(-0.5, len(measures) - 0.5), ylim=(len(contexts) - 0.5, -0.5))
    sns.despine(ax=ax, left=True, bottom=True)
    yes = (table["answer"] == "yes").groupby(table["method"], sort=False).agg(["sum", "size"])
    said = ", ".join(f"{name} {row['sum']} of {row['size']}" for name, row in yes.iterrows())
    headed(fig, f"Answers of yes: {said}")
    note(fig, "Numbers: measured effects. Yes: the whole 95% interval lies above zero.")
    return fig


def dose_response(
    table: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
    *,
    nothing: float = 0.25,
) -> Figure:
    """Each method's measured effect against the planted share, a panel a measure.

    A filled point is an answer "yes"; lines join the means over the seeds.

    Parameters
    ----------
    table : DataFrame
        Answers of several models (`methods.Measured.answers`), told apart by dose and seed.
    nothing : float
        The share at which class and context are independent.
    """
    parts = list(table.groupby(["method", "quantity"], sort=False))
    fig, axes = plt.subplots(2, 3, figsize=(9.5, 6.0), sharex=True)
    for ax, (measure, part) in zip(axes.flat, parts, strict=False):
        _doses(ax, part, colours)
        ax.axvline(nothing, color=FAINT, lw=1, ls=":")
        ax.axhline(0, **ZERO)
        ax.set_title(", ".join(measure))
    for ax in axes.flat[len(parts) :]:
        ax.set_axis_off()
    for ax in axes.flat[max(len(parts) - 3, 0) : len(parts)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("planted: share in own context")
    for ax in axes[:, 0]:
        ax.set_ylabel("measured effect")
    handles = [
        mark(context_name(name, context_of), color=colours[name], marker="o", ls="-")
        for name in dict.fromkeys(table["context_class"])
    ]
    handles += [
        mark('answer "yes"', marker="o"),
        mark('answer "no"', marker="o", mfc="white"),
        mark("class and context independent", color=FAINT, ls=":"),
    ]
    axes.flat[-1].legend(handles=handles, loc="center", fontsize=9)
    none = table[table["dose"] <= nothing]
    false = f"{(none['answer'] == 'yes').sum()} of {len(none)}"
    headed(fig, f"Where nothing is planted (dotted line and left of it), {false} answers are yes")
    note(fig, WHISKERS)
    return fig


def _doses(ax: Axes, part: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """One measure: points with intervals, and lines through the means of each context."""
    for name, rows in part.groupby("context_class", sort=False):
        mean = rows.groupby("dose")[["planted", "effect"]].mean().sort_values("planted")
        ax.plot(mean["planted"], mean["effect"], color=colours[name], lw=1.4, alpha=0.8)
        ends = (rows[end] for end in ("effect", "low", "high"))
        look = {"ecolor": colours[name], "elinewidth": 1, "capsize": 0, "alpha": 0.6}
        interval(ax, *ends, rows["planted"], vertical=True, fmt="none", **look)
        for row in rows.to_dict("records"):
            face = colours[name] if row["answer"] == "yes" else "white"
            ax.plot(row["planted"], row["effect"], "o", ms=5, mfc=face, mec=colours[name], zorder=3)
