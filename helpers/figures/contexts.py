"""The figures of notebooks 01 to 05 (*Assessing Biases through Visual Contexts*).

Every figure is drawn from a returned table; its title is what that table says. In all of them
`colours` is the palette, a dict from class to colour, and `context_of` a dict from class to the
name of its context, for the labels.
"""

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
from matplotlib.ticker import PercentFormatter

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

Names = Mapping[str, str]
MAP = "magma"
YES, NO = "#B5651D", "#EDEDED"
NOTHING = "nothing"  # pasted: the context alone
FAR = 3  # ranks apart from which a pair is named
ZERO = {"color": INK, "ls": "--", "lw": 1}
PAPER = {"marker": "D", "mfc": "white", "mec": INK, "ms": 6}
ORANGE = "#D55E00"
REFERENCE = {"marker": "|", "ms": 14, "mew": 2.5, "color": INK}
# How the networks of `effects.readings` are drawn, and what they are called.
NETWORKS = {
    "asked": {"color": INK, "fmt": "o", "ms": 7},
    "reference": {"color": ORANGE, "fmt": "s", "ms": 7, "mfc": "white", "mew": 1.6},
}
LABELS = {"asked": "the model", "reference": "the same, nothing planted"}
BY_SET = {"x": "model", "y": "accuracy", "hue": "test_set", "palette": SET_COLOURS}


# Notebook 01


def planted_bias(counts: pd.DataFrame) -> Figure:
    """Heat map of the number of images of each class (down) in each context (across).

    A class's own context is on the diagonal.
    """
    share = counts.div(counts.sum(axis=1), axis=0)
    labels = counts.astype(str) + "\n" + (100 * share).round().astype(int).astype(str) + "%"
    rows, columns = counts.shape
    fig, ax = plt.subplots(figsize=(2.2 + 1.1 * columns, 1.1 + 0.62 * rows))
    _cells(ax, _greys(share), labels, counts.index, counts.columns)
    ax.set(xlabel="context", ylabel="class")
    own = np.diag(counts).sum() / counts.to_numpy().sum()
    ax.set_title(f"{own:.0%} of the images of C show their class's own context (diagonal)")
    return fig


def mean_colours(table: pd.DataFrame) -> Figure:
    """The mean colours of `background.colours_by_class` as boxes: what classes share."""
    rows = table["set"] + ", " + table["region"]
    names, classes = rows.unique(), table["class"].unique()
    rgb = table[["red", "green", "blue"]].to_numpy().reshape(len(names), len(classes), 3)
    fig, ax = plt.subplots(figsize=(min(9.5, 1.6 + 1.7 * len(classes)), 0.8 + 0.6 * len(names)))
    texts = [[" ".join(f"{value:.0f}" for value in box) for box in line] for line in rgb]
    _cells(ax, rgb / 255, texts, names, classes)
    apart = names[np.ptp(rgb, axis=1).max(1).argmax()]
    ax.set_title(f"The classes differ most in the mean colour of {apart}")
    note(fig, "Mean red, green and blue, 0 to 255.")
    return fig


def colour_alone(table: pd.DataFrame) -> Figure:
    """How often one mean colour names the class, for each set and region, by `given_away`."""
    names = table["set"] + ", " + table["region"]
    colours = table["set"].map(SET_COLOURS)
    ends = table.rename(columns={"low": "accuracy_low", "high": "accuracy_high"})
    fig, ax = _estimates(ends, "accuracy", names, colours, reference="chance")
    ax.set(xlim=(0, 1), xlabel="classes guessed right")
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    most = table["accuracy"].idxmax()
    title = f"One mean colour names the class in {table['accuracy'][most]:.0%} of the images"
    handles = [mark("one mean colour", marker="o"), mark("guessing at random", **REFERENCE)]
    headed(fig, f"{title}: {names[most]}", handles)
    note(fig, "Whiskers: 95% intervals for other test images.")
    return fig


def steps(
    objects: Mapping[str, torch.Tensor],
    contexts: Mapping[str, torch.Tensor],
    colours: Names,
    context_of: Names,
) -> Figure:
    """The steps of the method (Figure 15): contexts, mosaics, and the question to the model.

    An image of each class and one of each context, uint8 (3, H, W). The third step is a sketch.
    """
    others = {name: [other for other in contexts if other != name] for name in objects}
    across = max(map(len, others.values()))
    widths = [1, 1, 0.2, *[2] * across, 0.2, 3]
    fig, axes = plt.subplots(
        len(objects),
        len(widths),
        figsize=(9.5, 9.5 / sum(widths) * len(objects) + 0.8),
        width_ratios=widths,
        squeeze=False,
    )
    for line, (name, image) in zip(axes, objects.items(), strict=True):
        own = [contexts[name]] if name in contexts else [torch.full_like(image, 255)]
        mosaics = [torch.cat([image, contexts[other]], -1) for other in others[name]]
        mosaics += [torch.full_like(image, 255)] * (across - len(mosaics))
        places = [*line[:2], *line[3 : 3 + across]]
        for ax, shown in zip(places, [image, *own, *mosaics], strict=True):
            ax.imshow(shown.permute(1, 2, 0).numpy(), interpolation="antialiased")
        line[0].set_ylabel(textwrap.fill(name, 9), rotation=0, ha="right", va="center")
        line[1].set_xlabel(context_of.get(name, "none"), fontsize=9, labelpad=2)
        for ax, other in zip(line[3:], others[name], strict=False):
            ax.set_xlabel(f"+ {context_of[other]}", fontsize=9, labelpad=2)
        if others[name]:
            _question(line[-1], name, others[name][0], colours)
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    titles = {0: "1. a context a class", 3: "2. mosaics", -1: "3. does the answer move?"}
    for column, title in titles.items():
        axes[0, column].set_title(title, fontsize=10)
    headed(fig, "Figure 15: each object is put beside the contexts of the other classes")
    drawn = "Step 3 is a sketch: triangle, the single image; star, its first mosaic; "
    note(fig, drawn + "dashed, where both classes have the same logit.")
    return fig


def _question(ax: Axes, name: str, other: str, colours: Names) -> None:
    """A line from one class to another, with a single image and an arrow to its mosaic."""
    ax.axhline(0, color=FAINT, lw=1)
    ax.axvline(0.5, ymin=0.3, ymax=0.7, **ZERO)
    ax.annotate("", (0.62, 0), (0.2, 0), arrowprops={"arrowstyle": "->", "color": INK, "lw": 1.5})
    ax.plot(0.16, 0, "^", color=colours[name], mec="black", ms=9)
    ax.plot(0.68, 0, "*", color=colours[other], mec="black", ms=14)
    look = {"fontsize": 8.5, "va": "top"}
    ax.text(0, -0.35, textwrap.fill(name, 12), ha="left", **look)
    ax.text(1, -0.35, textwrap.fill(other, 12), ha="right", **look)
    ax.set(xlim=(0, 1), ylim=(-1, 1))


# Notebook 02


def accuracy_bars(table: pd.DataFrame, n_classes: int) -> Figure:
    """Accuracy of every model on every test set (Figure 2), with the level of guessing.

    `table` is that of `cross_evaluation.accuracies`, with a column paper (share or NaN).
    """
    fig, ax = plt.subplots(figsize=(9.5, 4.2))
    sns.barplot(table, **BY_SET, saturation=1, errorbar=None, legend=False, ax=ax)
    sets = table.groupby("test_set", sort=False)
    for bars, (name, part) in zip(list(ax.containers), sets, strict=True):
        look = {"label_type": "center", "color": readable_on(SET_COLOURS[name])}
        ax.bar_label(bars, part["accuracy"].map("{:.0%}".format), fontsize=8, **look)
        at = [bar.get_x() + bar.get_width() / 2 for bar in bars]
        ends = (part[end] for end in ("accuracy", "low", "high"))
        interval(ax, *ends, at, vertical=True, fmt="none", ecolor=INK, elinewidth=1, capsize=0)
        ax.plot(at, part["paper"], ls="", zorder=4, **PAPER)
    ax.axhline(1 / n_classes, color=INK, lw=1, ls=":", zorder=0)
    ax.text(ax.get_xlim()[1], 1 / n_classes, " guessing", va="center", fontsize=8)
    ax.set(xlabel="", ylim=(0, 1.08))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.tick_params(axis="x", length=0)
    best = table.loc[table.groupby("model")["accuracy"].idxmax()]
    own = int((best["train_set"] == best["test_set"]).sum())
    title = f"Figure 2: {own} of {len(best)} models do best on the set they were trained on"
    headed(fig, title, _of_sets(table) + _of_paper(table, "the paper's value"))
    note(fig, WHISKERS)
    return fig


def _of_sets(table: pd.DataFrame) -> list:
    """The legend's entries of the test sets."""
    return [
        mark(f"tested on {name}", marker="s", ms=10, color=SET_COLOURS[name])
        for name in table["test_set"].unique()
    ]


def confusion_grid(
    matrices: Mapping[tuple[str, str], pd.DataFrame], classes: Sequence[str]
) -> Figure:
    """The matrices of `cross_evaluation.confusions`, a column a model and a row a test set."""
    models, sets = (list(dict.fromkeys(of)) for of in zip(*matrices, strict=True))
    cell = max(min(8.3 / len(models), 2.4), 0.22 * len(classes))
    size = (1.2 + cell * len(models), 1.5 + cell * len(sets))
    shared = {"squeeze": False, "sharex": True, "sharey": True}
    fig, axes = plt.subplots(len(sets), len(models), figsize=size, **shared)
    wrong, font = np.zeros(len(classes)), 6 if cell / len(classes) < 0.25 else 8
    for (model, test), matrix in matrices.items():
        ax, matrix = axes[sets.index(test), models.index(model)], np.asarray(matrix)
        share = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
        texts = np.where(matrix >= 0.5, np.char.mod("%.0f", matrix), "")
        _cells(ax, _greys(share), texts, classes, classes, font)
        ax.spines[:].set(visible=True, color=FAINT, linewidth=0.8)
        look = {"rotation": 40, "ha": "right", "rotation_mode": "anchor", "fontsize": 8}
        ax.set_xticks(range(len(classes)), classes, **look)
        wrong += matrix.sum(0) - np.diag(matrix)
    for row, test in zip(axes, sets, strict=True):
        row[0].set_ylabel(f"tested on {test}\ntrue class")
    for ax, model in zip(axes[0], models, strict=True):
        ax.set_title(model)
    fig.supxlabel("predicted class", fontsize=10)
    most, share = classes[wrong.argmax()], wrong.max() / max(wrong.sum(), 1)
    headed(fig, f"{share:.0%} of all mistakes name one class: {most}")
    return fig


# Notebook 03


def causal_graphs() -> Figure:
    """The three causal graphs of object O, context C and prediction Y (Figure 3).

    Desired (the context does not reach the prediction), learned (it does), and after the
    intervention do(C = c), which cuts what leads into C.
    """
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.1))
    nodes = {"O": (0.0, 0.0, "object"), "C": (1.0, 1.5, "context"), "Y": (2.0, 0.0, "prediction")}
    graphs = (
        ("(a) desired", ["OC", "OY"]),
        ("(b) learned", ["OC", "OY", "CY"]),
        ("(c) after the intervention", ["OY", "CY"]),
    )
    for ax, (title, arrows) in zip(axes, graphs, strict=True):
        ax.set_title(title, loc="center")
        fixed = "OC" not in arrows
        for start, end in arrows:
            strong = {"color": ORANGE, "lw": 3} if start == "C" else {"color": INK, "lw": 1.6}
            look = {"arrowstyle": "-|>", "mutation_scale": 18, "shrinkA": 19, "shrinkB": 19}
            ax.annotate("", nodes[end][:2], nodes[start][:2], arrowprops=look | strong)
        for name, (x, y, meaning) in nodes.items():
            look = {"boxstyle": "circle", "ec": INK, "lw": 1.8, "fc": "white"}
            letter, below = name, meaning
            if fixed and name == "C":
                letter, below, look["fc"] = "c", "do(C = c)", "#dddddd"
            ax.text(x, y, letter, ha="center", va="center", fontsize=13, bbox=look)
            place = (26, 0) if name == "C" else (0, -28)
            beside = {"ha": "left" if name == "C" else "center", "va": "center", "fontsize": 10}
            ax.annotate(below, (x, y), place, textcoords="offset points", **beside)
        ax.set(xlim=(-0.7, 2.9), ylim=(-0.85, 1.95), aspect="equal")
        ax.set_axis_off()
    headed(fig, "Figure 3: does the context reach the prediction (orange arrow)? Set it, and see")
    return fig


def logit_panels(
    points: pd.DataFrame, paper: pd.DataFrame, colours: Names, context_of: Names
) -> Figure:
    """One panel a pair: 2-D histogram of the two logits, with 1-D histograms (Figure 7).

    Single images in the object class's colour and with a triangle at their mean, mosaics in the
    context class's colour and with a star. Above the diagonal the context's class has won. Over
    each panel are the distances of the two means to the diagonal, and those in `paper` (from
    `paper.of_mosaics`). `points` are those of `effects.points`.
    """
    mosaics = points[points["kind"] == "context"]
    met = mosaics.groupby("context_class", sort=False)["object_class"].unique()
    across = max(map(len, met))
    side = min(max(9.5 / across, 1.7), 3.2)
    size = (side * across, 0.85 * side * len(met) + 0.7)
    fig, axes = plt.subplots(len(met), across, figsize=size, squeeze=False)
    theirs = paper.set_index(["object_class", "context_class"])
    for line, (context, objects) in zip(axes, met.items(), strict=True):
        for ax, name in zip(line, objects, strict=False):
            pair = _pair(points, name, context)
            _panel(ax, pair, colours[name], colours[context])
            ax.set_xlabel(f"logit of {name}", fontsize=8, labelpad=1)
            ax.set_ylabel(f"logit of {context}", fontsize=8, labelpad=1)
            mean = pair.groupby("kind")["distance"].mean()
            said = f"here {mean['single']:.1f} \N{RIGHTWARDS ARROW} {mean['context']:.1f}"
            if (name, context) in theirs.index:
                row = theirs.loc[name, context]
                said += f", paper {row['single']:.1f} \N{RIGHTWARDS ARROW} {row['mosaic']:.1f}"
            title = textwrap.fill(f"{name} + {context_name(context, context_of)}", 30)
            ax.top.set_title(f"{title}\n{said}", fontsize=8.5)
        for ax in line[len(objects) :]:
            ax.set_axis_off()
    grey = {"color": "#bbbbbb", "mec": "black"}
    handles = [
        mark("single images (mean), object's colour", marker="^", **grey),
        mark("mosaics (mean), context's colour", marker="*", **grey | {"ms": 11}),
        mark("both logits equal", **ZERO),
    ]
    over = mosaics.groupby(["object_class", "context_class"])["distance"].mean() < 0
    title = f"Figure 7: the mosaics' mean lies above the diagonal in {over.sum()} of {len(over)}"
    headed(fig, f"{title} pairs", handles)
    text = "Numbers: distance to the diagonal, mean of single images and then of mosaics."
    note(fig, text + " The few points beyond a panel count at its edge.")
    return fig


def _pair(points: pd.DataFrame, object_class: str, context_class: str) -> pd.DataFrame:
    """The single images and the mosaics of one pair."""
    return points[
        (points["object_class"] == object_class)
        & (points["context_class"] == context_class)
        & points["kind"].isin(["single", "context"])
    ]


def _panel(ax: Axes, pair: pd.DataFrame, object_colour: str, context_colour: str) -> None:
    """2-D histograms in shades of two colours, their margins and their means."""
    logits = pair[["object_logit", "context_logit"]]
    low, high = logits.quantile(0.005), logits.quantile(0.995)  # few lie beyond: no empty margins
    xs, ys = (np.linspace(low[name], high[name], 17) for name in logits)
    ax.set(xlim=xs[[0, -1]], ylim=ys[[0, -1]])
    ax.axline((0, 0), slope=1, zorder=3, **ZERO)
    ax.top = ax.inset_axes([0, 1.02, 1, 0.17], sharex=ax)
    ax.side = ax.inset_axes([1.02, 0, 0.17, 1], sharey=ax)
    for kind, colour, marker, size in (
        ("single", object_colour, "^", 8),
        ("context", context_colour, "*", 11),
    ):
        part = pair[pair["kind"] == kind]
        x, y = part["object_logit"].clip(*xs[[0, -1]]), part["context_logit"].clip(*ys[[0, -1]])
        ends = [(*to_rgb(colour), 0.3), (*to_rgb(colour), 0.95)]
        shades = LinearSegmentedColormap.from_list("shades", ends)
        counts, _, _ = np.histogram2d(x, y, (xs, ys))
        ax.pcolormesh(xs, ys, np.ma.masked_equal(counts.T, 0), cmap=shades)
        look = {"color": colour, "alpha": 0.65, "density": True}
        ax.top.hist(x, bins=xs, **look)
        ax.side.hist(y, bins=ys, orientation="horizontal", **look)
        ax.plot(x.mean(), y.mean(), marker, color=colour, mec="black", mew=1, ms=size, zorder=4)
    for margin in (ax.top, ax.side):
        margin.set_axis_off()
    ax.locator_params(nbins=4)
    ax.tick_params(labelsize=8, length=2, pad=2)


def _square(ax: Axes, pair: pd.DataFrame) -> tuple[float, float]:
    """Equal scales, so that a right angle looks like one, and the diagonal; the axes' limits."""
    logits = pair[["object_logit", "context_logit"]].to_numpy()
    pad = 0.06 * np.ptp(logits) or 1.0
    limits = logits.min() - pad, logits.max() + pad
    ax.set(xlim=limits, ylim=limits, box_aspect=1)
    ax.axline((limits[0], limits[0]), slope=1, zorder=3, **ZERO)
    return limits


def distance_construction(
    points: pd.DataFrame, object_class: str, context_class: str, colours: Names
) -> Figure:
    """How Table 1's distances are found (Figure 9): the points, their means, means to the diagonal.

    `points` are those of `effects.points`.
    """
    pair = _pair(points, object_class, context_class)
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 4.3), sharex=True, sharey=True)
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
            if step == 2:  # the line from the mean to its foot on the diagonal, and its length
                x, y = part.mean(0)
                ax.plot([x, (x + y) / 2], [y, (x + y) / 2], color=INK, lw=2, zorder=3)
                look = {"xytext": (9, -3), "va": "top"} if x > y else {"xytext": (-40, 8)}
                look |= {"textcoords": "offset points", "fontsize": 11, "fontweight": "bold"}
                ax.annotate(f"{(x - y) / np.sqrt(2):+.1f}", (x, y), zorder=6, **look)
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


def table_1_distances(
    effects: pd.DataFrame, colours: Names, context_of: Names, paper: pd.DataFrame
) -> Figure:
    """Table 1 as Figure 10: signed distances of mosaics (filled) and of single images (empty).

    `effects` are those of `effects.of_pairs`, and `paper` is from `paper.of_mosaics`.
    """
    fig, ax = plt.subplots(figsize=(8.8, 1.7))
    printed = paper[["object_class", "context_class", "mosaic", "single"]]
    table = effects.merge(printed, on=["object_class", "context_class"], how="left")
    for y, row in _rows(ax, table, context_of):
        colour = colours[row["object_class"]]
        ends = [row["mosaic_distance"], row["single_distance"]]
        ax.plot(ends, [y + 0.12, y - 0.12], color=colour, lw=1, alpha=0.5)
        for name, face, nudge in (("mosaic", colour, 0.12), ("single", "white", -0.12)):
            look = {"color": colour, "mfc": face, "mew": 1.8, "ms": 7, "zorder": 3}
            _point(ax, row, f"{name}_distance", y + nudge, **look)
            look = {"ms": 5, "mec": FAINT, "mfc": FAINT if name == "mosaic" else "white"}
            ax.plot(row[name], y + 0.4, **PAPER | look)
    ax.axvline(0, **ZERO)
    ax.set_xlabel(
        "\N{LEFTWARDS ARROW} context's class      "
        "signed distance of the mean to the diagonal (logits)"
        "      object's class \N{RIGHTWARDS ARROW}"
    )
    handles = [mark("mosaics", marker="o"), mark("single images", marker="o", mfc="white", mew=1.8)]
    if len(paper):
        handles.append(mark("the paper's two values", **PAPER | {"mfc": FAINT, "mec": FAINT}))
    nearer, across = (effects["drop"] > 0).sum(), (effects["mosaic_distance"] < 0).sum()
    title = f"Figure 10: beside a context {nearer} of {len(effects)} pairs come nearer to its class"
    headed(fig, f"{title}, and {across} cross over to it", handles)
    note(fig, WHISKERS)
    return fig


def paper_and_ours(
    pairs: pd.DataFrame, paper: pd.DataFrame, colours: Names, context_of: Names
) -> Figure:
    """Each pair's flips and distance, the paper's across and ours up.

    `pairs` are those of `effects.of_pairs`, and `paper` is from `paper.of_mosaics`.
    """
    table = pairs.merge(paper, on=["object_class", "context_class"], suffixes=("", "_paper"))
    table["flips_paper"] /= 125
    measures = {
        "flip_share": ("flips_paper", "share of mosaics that flip"),
        "mosaic_distance": ("mosaic", "distance of the mosaics' mean (logits)"),
    }
    fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.6))
    for ax, (ours, (theirs, name)) in zip(axes, measures.items(), strict=True):
        for row in table.dropna(subset=[theirs]).to_dict("records"):
            look = {"mfc": colours[row["context_class"]], "mec": colours[row["object_class"]]}
            look |= {"mew": 3, "ms": 11, "ecolor": "#999999", "elinewidth": 1, "capsize": 0}
            ends = (row[f"{ours}{end}"] for end in ("", "_low", "_high"))
            interval(ax, *ends, row[theirs], vertical=True, **look)
        ax.axline((0, 0), slope=1, **ZERO)
        ax.set(title=name, xlabel="the paper", ylabel="here")
    handles = [
        mark("face: the context's class", marker="o", ms=11, color="#bbbbbb"),
        mark("rim: the object's class", marker="o", ms=11, mfc="white", mew=3),
        mark("as in the paper", **ZERO),
    ]
    handles += [
        mark(f"{name}, {context_name(name, context_of)}", marker="s", ms=9, color=colours[name])
        for name in pairs["context_class"].unique()
    ]
    fig.legend(handles=handles, loc="outside right center")
    known = table.dropna(subset=["flips_paper"])
    near = int(((known["flip_share"] - known["flips_paper"]).abs() <= 0.1).sum())
    headed(fig, f"{near} of {len(known)} pairs flip as often as in the paper, give or take a tenth")
    note(fig, WHISKERS)
    return fig


def mosaic_logits(
    picture: torch.Tensor, logits: torch.Tensor, classes: Sequence[str], colours: Names, title: str
) -> Figure:
    """A mosaic, and each class's logit by every training: uint8 (3, H, W) and floats (T, K)."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.1), width_ratios=(2, 3))
    left.imshow(picture.permute(1, 2, 0).numpy(), interpolation="antialiased")
    left.set_axis_off()
    for y, (name, values) in enumerate(zip(classes, logits.T, strict=True)):
        right.plot(values, [y] * len(values), "o", color=colours[name], ms=5, alpha=0.5)
        right.plot(values.mean(), y, "|", color=INK, ms=20, mew=2.5)
    right.set_yticks(range(len(classes)), classes)
    right.set(ylim=(len(classes) - 0.5, -0.5), xlabel="logit: a dot a training, a line their mean")
    right.grid(axis="x", color="#eeeeee")
    headed(fig, title)
    return fig


def by_context(
    table: pd.DataFrame,
    title: str,
    context_of: Names,
    *,
    panel: str = "reading",
    singles: pd.DataFrame | None = None,
) -> Figure:
    """Strengths of contexts, a row a context, and a panel for each value of the column `panel`.

    `table` has that column, context_class, network, value, low and high, as from
    `effects.readings`. The model that was asked has a filled mark, the reference an open one.
    `singles` are values by training (`effects.of_trainings`, with network).
    """
    panels, contexts = table[panel].unique(), list(table["context_class"].unique())
    networks = [name for name in NETWORKS if name in set(table["network"])]
    rows = -(-len(panels) // 3)
    columns = -(-len(panels) // rows)
    size = (9.5, rows * (0.9 + 0.42 * len(contexts)) + 0.8)
    fig, axes = plt.subplots(rows, columns, figsize=size, sharey=True, squeeze=False)
    for ax, name in zip(axes.flat, panels, strict=False):
        ax.axvline(0, **ZERO)
        part = table[table[panel] == name]
        dots = None if singles is None else singles[singles[panel] == name]
        for nudge, network in zip((-0.18, 0.18), networks, strict=False):
            for row in part[part["network"] == network].to_dict("records"):
                place = contexts.index(row["context_class"]) + nudge
                interval(ax, row["value"], row["low"], row["high"], place, **NETWORKS[network])
            if dots is not None:
                mine = dots[dots["network"] == network]
                places = mine["context_class"].map(contexts.index) + nudge + 0.13
                ax.plot(mine["value"], places, "|", ms=5, color=NETWORKS[network]["color"])
        ax.set_title(textwrap.fill(str(name), 40 if columns < 3 else 30), fontsize=10)
        ax.set_yticks(range(len(contexts)), [context_name(c, context_of) for c in contexts])
        ax.set_ylim(len(contexts) - 0.5, -0.5)
        ax.grid(axis="y", color="#eeeeee")
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    handles = [_network(name) for name in networks]
    if singles is not None:
        handles.append(mark("one training", marker="|", ms=7))
    headed(fig, title, handles)
    note(fig, WHISKERS)
    return fig


def _network(name: str):
    """The legend's entry of a kind of networks."""
    look = dict(NETWORKS[name])
    return mark(LABELS[name], marker=look.pop("fmt"), **look)


def planted_and_measured(table: pd.DataFrame, colours: Names, context_of: Names) -> Figure:
    """The strength of each context against what was planted, measured in two ways.

    `table` has context_class, context_effect with its interval (`effects.of_contexts`), and
    p_context_given_class and p_class_given_context (`experiment.planted`).
    """
    shares = {
        "p_context_given_class": "share of the class's images in this context",
        "p_class_given_context": "share of this context's images with the class",
    }
    fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True)
    for ax, (share, name) in zip(axes, shares.items(), strict=True):
        for places, part in table.groupby(table[share].round(6)):
            nudges = np.arange(len(part)) - (len(part) - 1) / 2  # equal shares stand side by side
            for nudge, row in zip(nudges, part.to_dict("records"), strict=True):
                at = places + 0.04 * nudge * (np.ptp(table[share]) or 1)
                look = {"color": colours[row["context_class"]], "ms": 9, "vertical": True}
                _point(ax, row, "context_effect", at, **look)
        ax.axhline(0, **ZERO)
        ax.margins(x=0.15)
        ax.set_xlabel(name)
    axes[0].set_ylabel("effect beyond the reference (logits)")
    handles = [
        mark(context_name(name, context_of), marker="o", color=colours[name])
        for name in table["context_class"]
    ]
    names = [context_name(name, context_of) for name in table["context_class"]]
    effect = table["context_effect"].to_numpy()
    most, least = names[effect.argmax()], names[effect.argmin()]
    headed(fig, f"The {most} draws most, the {least} least", handles)
    note(fig, WHISKERS)
    return fig


def _rows(ax: Axes, effects: pd.DataFrame, context_of: Names) -> list[tuple[float, dict]]:
    """Place the pairs from top to bottom, with a gap between contexts; name and stripe them."""
    gaps = 0.6 * pd.factorize(effects["context_class"])[0]
    places = 1 + np.arange(len(effects)) + gaps
    ax.figure.set_figheight(ax.figure.get_figheight() + 0.3 * (places[-1] + 0.6))
    names = effects["object_class"] + " + "
    names += [context_name(name, context_of) for name in effects["context_class"]]
    ax.set_yticks(places, names)
    ax.set_ylim(places[-1] + 0.8, 0.2)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color="#eeeeee")
    ax.set_axisbelow(True)
    sns.despine(ax=ax, left=True)
    return list(zip(places, effects.to_dict("records"), strict=True))


# Notebook 04


def paste_counts(
    table: pd.DataFrame,
    pictures: Mapping[tuple[str, str], torch.Tensor],
    colours: Names,
    context_of: Names,
) -> Figure:
    """How many composites are taken for the context's class, a panel a context (Figures 11 to 14).

    `table` is that of `pasting.counts`, with a column paper (composites of 25, or NaN). `pictures`
    has an example for each bar, by context class and by what is pasted: uint8 tensors (3, H, W).
    """
    contexts = list(dict.fromkeys(table["context_class"]))
    rows = -(-len(contexts) // 2)
    fig, axes = plt.subplots(rows, 2, figsize=(9.5, 3.9 * rows + 0.4), squeeze=False)
    for ax, name in zip(axes.flat, contexts, strict=False):
        part = table[table["context_class"] == name].reset_index(drop=True)
        _bars(ax, part, colours, [pictures[name, pasted] for pasted in part["pasted"]])
        ax.set_title(f"{context_name(name, context_of)}: taken for {name}")
    for ax in axes.flat[len(contexts) :]:
        ax.set_axis_off()
    made = table[table["pasted"] != NOTHING]
    title = "Figures 11 to 14: contexts alone, and with objects"
    if len(made):
        mostly = int((made["share"] > 0.5).sum())
        title = f"Figures 11 to 14: the context wins in {mostly} of {len(made)} kinds of composite"
    headed(fig, title, _of_paper(table, "the paper's count"))
    note(fig, WHISKERS)
    return fig


def _bars(ax: Axes, part: pd.DataFrame, colours: Names, pictures: list[torch.Tensor]) -> None:
    """One context's shares with their intervals, the counts behind them, and examples beneath."""
    name, at = part["context_class"].iloc[0], np.arange(len(part))
    faces = [colours[name if pasted == NOTHING else pasted] for pasted in part["pasted"]]
    ax.bar(at, part["share"], 0.7, color=faces)
    ends = (part[end] for end in ("share", "low", "high"))
    interval(ax, *ends, at, vertical=True, fmt="none", ecolor=INK)
    ax.plot(at - 0.22, part["paper"] / 25, ls="", zorder=3, clip_on=False, **PAPER)
    ax.set(ylim=(0, 1.12), xlim=(-0.6, len(part) - 0.4), yticks=np.linspace(0, 1, 6))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xticks(at, ["the context alone" if p == NOTHING else p for p in part["pasted"]])
    ax.tick_params(axis="x", length=0)
    width = min(0.92 / len(part), 0.23)
    for x, (row, picture) in enumerate(zip(part.to_dict("records"), pictures, strict=True)):
        label = f"{row['predicted']:g}/{row['images']}"
        ax.text(x + 0.06, row["high"] + 0.016, label, fontsize=9)
        left = (x + 0.6) / (len(part) + 0.2) - width / 2
        inset = ax.inset_axes([left, -0.62, width, 0.46])
        inset.imshow(picture.permute(1, 2, 0).numpy(), interpolation="antialiased")
        inset.set_anchor("N")
        inset.set_axis_off()


def two_methods(pairs: pd.DataFrame, colours: Names, context_of: Names) -> Figure:
    """Effects in mosaics against effects in pasting, a point a pair of object and context.

    `pairs` are those of `effects.apart`; pairs that the methods rank far apart are named.
    """
    fig, ax = plt.subplots(figsize=(8.5, 5.2))
    ax.axhline(0, **ZERO)
    ax.axvline(0, **ZERO)
    for row in pairs.to_dict("records"):
        x, y = (
            [row[f"context_effect{end}_{which}"] for end in ("", "_low", "_high")]
            for which in ("first", "second")
        )
        colour, rim = colours[row["context_class"]], colours[row["object_class"]]
        look = {"ecolor": colour, "elinewidth": 1, "capsize": 0}
        interval(ax, *x, y[0], fmt="none", **look)
        interval(ax, *y, x[0], vertical=True, ms=11, mfc=colour, mec=rim, mew=3, **look)
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
    handles += [
        mark(f"{name}, {context_name(name, context_of)}", marker="s", ms=9, color=colours[name])
        for name in pairs["context_class"].unique()
    ]
    fig.legend(handles=handles, loc="outside right center")
    same = int((pairs["context_effect_first"] * pairs["context_effect_second"] > 0).sum())
    ax.set_title(f"Mosaics and pasting point the same way in {same} of {len(pairs)} pairs")
    note(fig, WHISKERS + f" Named: ranked {FAR} places or more apart.")
    return fig


# Notebook 05


def explained(
    images: torch.Tensor, maps: torch.Tensor, captions: Sequence[str], title: str = ""
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
    for ax in axes.flat:
        ax.set_axis_off()
    positive = maps.clamp(min=0)
    shares = (positive / positive.amax((1, 2), keepdim=True).clamp(min=1e-30)).numpy()
    look = {"cmap": MAP, "vmin": 0, "vmax": 1}
    for trio, image, share, caption in zip(
        axes.reshape(-1, 3), images, shares, captions, strict=False
    ):
        picture = image.permute(1, 2, 0).numpy()
        trio[0].imshow(picture, interpolation="antialiased")
        trio[0].set_title(caption, fontsize=9)
        trio[1].imshow(share, **look)
        trio[2].imshow(picture.mean(-1), cmap="gray", vmin=0, vmax=255)
        trio[2].imshow(share, alpha=0.55, **look)
    scale = ScalarMappable(Normalize(0, 1), MAP)
    bar = fig.colorbar(scale, ax=axes, shrink=0.9 if rows == 1 else 0.6, pad=0.01)
    bar.set_label("relevance\n(1: the map's most)", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return fig


def background_share(table: pd.DataFrame, colours: Names, context_of: Names) -> Figure:
    """Each class's share of relevance on the background, by `background.per_class`."""
    names = [f"{name} ({context_name(name, context_of)})" for name in table["class"]]
    fig, ax = _estimates(table, "share", names, table["class"].map(colours), reference="area")
    ax.set_xlabel("relevance on the background")
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    handles = [mark("GradCAM", marker="o"), mark("a uniform map", **REFERENCE)]
    less = int((table["share"] < table["area"]).sum())
    title = f"GradCAM puts less on the background than a uniform map in {less} of {len(table)}"
    headed(fig, f"{title} classes", handles)
    note(fig, WHISKERS)
    return fig


def answers(table: pd.DataFrame, context_of: Names) -> Figure:
    """The answers of `methods.answers` with the measured effects, beside what was planted."""
    text = table["answer"] + "\n" + table["effect"].map("{:+.2f}".format)
    measures = (table["method"] + "\n" + table["quantity"]).unique()
    contexts = table["context_class"].unique()
    shape, yes = (len(measures), len(contexts)), table["answer"] == "yes"
    fig, ax = plt.subplots(figsize=(9.5, 1.4 + 0.62 * len(contexts)))
    planted = table.groupby("context_class")["planted"].first()
    names = [f"{context_name(name, context_of)} ({name})" for name in contexts]
    if planted.notna().all():
        names = [f"{n}\nplanted: {planted[c]:.0%}" for n, c in zip(names, contexts, strict=True)]
    shades = np.where(yes.to_numpy().reshape(*shape, 1), to_rgb(YES), to_rgb(NO)).swapaxes(0, 1)
    _cells(ax, shades, text.to_numpy().reshape(shape).T, names, measures)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    counts = yes.groupby(table["method"], sort=False).agg(["sum", "size"])
    said = ", ".join(f"{name} {row['sum']} of {row['size']}" for name, row in counts.iterrows())
    headed(fig, f"Answers of yes: {said}")
    note(fig, "Numbers: measured effects. Yes: the whole 95% interval lies above zero.")
    return fig


def dose_response(
    table: pd.DataFrame, colours: Names, context_of: Names, *, nothing: float = 0.25
) -> Figure:
    """Each method's measured effect against the planted share, a panel a measure.

    A filled point is an answer "yes"; lines join the means over the seeds. `table` has the answers
    (`methods.answers`) of several models, told apart by dose and seed; at the share `nothing` class
    and context are independent.
    """
    parts = list(table.groupby(["method", "quantity"], sort=False))
    fig, axes = plt.subplots(2, 3, figsize=(9.5, 6.4))
    for ax, (measure, part) in zip(axes.flat, parts, strict=False):
        for name, rows in part.groupby("context_class", sort=False):
            _doses(ax, rows, colours[name])
        ax.axvline(nothing, color=FAINT, lw=1, ls=":")
        ax.axhline(0, **ZERO)
        ax.set(title=", ".join(measure), xlabel="planted: share in own context")
    for ax in axes.flat[len(parts) :]:
        ax.set_axis_off()
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


def _doses(ax: Axes, rows: pd.DataFrame, colour: str) -> None:
    """One measure and context: points with intervals, and a line through the means of each dose."""
    mean = rows.groupby("dose")[["planted", "effect"]].mean().sort_values("planted")
    ax.plot(mean["planted"], mean["effect"], color=colour, lw=1.4, alpha=0.8)
    for row in rows.to_dict("records"):
        face = colour if row["answer"] == "yes" else "white"
        look = {"color": colour, "mfc": face, "ms": 5, "elinewidth": 1, "capsize": 0}
        ends = (row[end] for end in ("effect", "low", "high"))
        interval(ax, *ends, row["planted"], vertical=True, zorder=3, **look)


# What several of them draw


def _estimates(
    table: pd.DataFrame, value: str, names: Sequence[str], colours, reference: str = ""
) -> tuple[Figure, Axes]:
    """A line a row: an estimate with its interval, and its reference where there is one."""
    fig, ax = plt.subplots(figsize=(8.5, 1.8 + 0.45 * len(table)))
    for y, (row, colour) in enumerate(zip(table.to_dict("records"), colours, strict=True)):
        _point(ax, row, value, y, color=colour, ms=9)
        if reference:
            ax.plot(row[reference], y, **REFERENCE)
    ax.set_yticks(range(len(table)), names)
    ax.set_ylim(len(table) - 0.4, -0.6)
    ax.grid(axis="x", color="#eeeeee")
    ax.set_axisbelow(True)
    return fig, ax


def _point(ax: Axes, row: Mapping, name: str, y: float, **look) -> None:
    interval(ax, row[name], row[f"{name}_low"], row[f"{name}_high"], y, **look)


def _cells(ax: Axes, shades: np.ndarray, texts, rows, columns, font: float = 9) -> None:
    """A table of coloured cells: shades (rows, columns, 3), and a text in each."""
    ax.imshow(shades, aspect="auto")
    for (y, x), text in np.ndenumerate(np.asarray(texts)):
        if text:
            look = {"ha": "center", "va": "center", "color": readable_on(shades[y, x])}
            ax.text(x, y, text, fontsize=font, **look)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    for edge in np.arange(1, len(rows)) - 0.5:
        ax.axhline(edge, color="white", lw=2)
    for edge in np.arange(1, len(columns)) - 0.5:
        ax.axvline(edge, color="white", lw=2)
    ax.spines[:].set_visible(False)


def _greys(shares) -> np.ndarray:
    return plt.colormaps["Greys"](np.asarray(shares, float))[..., :3]


def _of_paper(table: pd.DataFrame, label: str) -> list:
    """The legend's entry of the paper's values, where there are any."""
    return [mark(label, **PAPER)] if table["paper"].notna().any() else []
