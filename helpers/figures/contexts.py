"""The figures of lessons 01 to 05 (*Assessing Biases through Visual Contexts*), in their order.

`colours` is the palette, from class to colour. `context_of` names the context of each class.
"""

import textwrap
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from helpers.figures import style
from helpers.figures.style import FAINT, INK, SET_COLOURS, WHISKERS, ZERO, Table

# What lessons use from `style`.
framed, image_grid, palette, show = (
    style.framed,
    style.image_grid,
    style.palette,
    style.show,
)
context_name = style.context_name

Names = Mapping[str, str]
PAIR = ["object_class", "context_class"]
RISES, FALLS = style.RED, style.BLUE
PAPER = {"marker": "D", "mfc": "white", "mec": INK, "ms": 6}
ORANGE = "#D55E00"
BASELINE = {"marker": "|", "ms": 14, "mew": 2.5, "color": INK}
EMPTY, THEIRS = {"mfc": "white", "mew": 1.8}, PAPER | {"mfc": FAINT, "mec": FAINT}


def accuracy_bars(table: Table, n_classes: int) -> Figure:
    """Draw accuracies of `effects.accuracies`, with a column `paper` (share or NaN), as Figure 2."""
    fig, ax = plt.subplots(figsize=(9.5, 4.2))
    by = {"x": "model", "y": "accuracy", "hue": "test_set", "palette": SET_COLOURS}
    sns.barplot(table, **by, saturation=1, errorbar=None, legend=False, ax=ax)
    sets = table.groupby("test_set", sort=False)
    for bars, (name, part) in zip(list(ax.containers), sets, strict=True):
        look = {"label_type": "center", "color": style.readable_on(SET_COLOURS[name])}
        ax.bar_label(bars, part["accuracy"].map("{:.0%}".format), fontsize=8, **look)
        at = [bar.get_x() + bar.get_width() / 2 for bar in bars]
        for bar, is_own in zip(bars, part["train_set"] == name, strict=True):
            bar.set(ec=INK if is_own else "none", lw=2, zorder=1 + is_own)
        style.estimates(
            ax, part, "accuracy", at, vertical=True, marker="", color=INK, elinewidth=1
        )
        ax.plot(at, part["paper"], ls="", zorder=4, **PAPER)
    ax.axhline(1 / n_classes, **style.CHANCE, zorder=0)
    ax.text(ax.get_xlim()[1], 1 / n_classes, " chance", va="center", fontsize=8)
    ax.set(xlabel="model", ylabel="accuracy", ylim=(0, 1.08))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.tick_params(axis="x", length=0)
    own = table["train_set"] == table["test_set"]
    title = f"Accuracy on {table['test_set'].iloc[0]}, the only image set"
    if len(sets) > 1:
        least = table.loc[table.loc[~own, "accuracy"].idxmin()]
        title = f"Accuracy is {table.loc[own, 'accuracy'].min():.0%} or more on the own set and"
        title += f" falls to {least['accuracy']:.0%} outside it ({least['model']} on {least['test_set']})"
    looks = {
        f"tested on {n}": {"marker": "s", "ms": 10, "color": SET_COLOURS[n]}
        for n, _ in sets
    }
    return style.headed(
        fig, title, looks | _of_paper(table, "the paper's value"), WHISKERS
    )


def causal_graphs() -> Figure:
    """Draw the causal graphs of object, context and prediction (Figure 3)."""
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.1))
    nodes = {"O": (0, 0), "C": (1, 1.5), "Y": (2, 0)}
    free = {"O": "object", "C": "context", "Y": "prediction"}
    graphs = (
        ("(a) desired", ["OC", "OY"], free),
        ("(b) suspected", ["OC", "OY", "CY"], free),
        ("(c) after the intervention", ["OY", "CY"], free | {"C": "do(C = c)"}),
    )
    ring = {"boxstyle": "circle", "ec": INK, "lw": 1.8}
    arrow = {"arrowstyle": "-|>", "mutation_scale": 18, "shrinkA": 19, "shrinkB": 19}
    for ax, (title, arrows, meanings) in zip(axes, graphs, strict=True):
        ax.set_title(title, loc="center")
        for start, end in arrows:
            look = (
                {"color": ORANGE, "lw": 3}
                if start == "C"
                else {"color": INK, "lw": 1.6}
            )
            ax.annotate("", nodes[end], nodes[start], arrowprops=arrow | look)
        for name, (x, y) in nodes.items():
            fixed, middle = (
                meanings[name].startswith("do"),
                {"ha": "center", "va": "center"},
            )
            box = ring | {"fc": "#dddddd" if fixed else "white"}
            ax.text(x, y, "c" if fixed else name, bbox=box, fontsize=13, **middle)
            ax.text(x, y + (0.55 if y else -0.6), meanings[name], fontsize=10, **middle)
        ax.set(xlim=(-0.7, 2.7), ylim=(-0.85, 2.3), aspect="equal")
        ax.set_axis_off()
    title = "An intervention on the context tests whether it reaches the prediction (orange)"
    return style.headed(fig, title)


def logit_panels(
    points: Table, paper: Table, colours: Names, context_of: Names
) -> Figure:
    """Draw one panel per pair of `effects.points`, titled with our and the paper's distances.

    After Figure 7 of the paper.
    """
    drawn = points[points["kind"].isin(["single", "context"])]
    met = drawn.groupby("context_class", sort=False)["object_class"].unique()
    means = drawn.groupby([*PAIR, "kind"])["distance"].mean().unstack()
    frame = drawn[["object_logit", "context_logit"]].agg(["min", "max"])
    side = min(max(9.5 / (across := max(map(len, met))), 1.7), 3.2)
    size = (side * across, 0.85 * side * len(met) + 0.7)
    fig, axes = plt.subplots(len(met), across, figsize=size, squeeze=False)
    theirs = paper.set_index(PAIR)
    for line, (context, objects) in zip(axes, met.items(), strict=True):
        for ax, name in zip(line, objects, strict=False):
            pair = _of(drawn, object_class=name, context_class=context)
            _panel(ax, pair, colours[name], colours[context], frame)
            ax.set_xlabel(f"logit of {name}", fontsize=8, labelpad=1)
            ax.set_ylabel(f"logit of {context}", fontsize=8, labelpad=1)
            row = means.loc[(name, context)]
            caption = (
                f"ours {row['single']:.1f} \N{RIGHTWARDS ARROW} {row['context']:.1f}"
            )
            if (name, context) in theirs.index:
                row = theirs.loc[(name, context)]
                caption += f", paper {row['single']:.1f} \N{RIGHTWARDS ARROW} {row['mosaic']:.1f}"
            title = textwrap.fill(f"{name} + {context_name(context, context_of)}", 30)
            ax.set_title(f"{title}\n{caption}", fontsize=8.5)
        list(map(Axes.set_axis_off, line[len(objects) :]))
    grey = {"color": "#bbbbbb", "mec": "black"}
    looks = {"mean of single images": grey | {"marker": "^"}}
    looks["mean of mosaics"] = grey | {"marker": "*", "ms": 11}
    looks["both logits equal"] = ZERO
    title = "The mean of the mosaics lies above the diagonal in "
    title += f"{(means['context'] < 0).sum()} of {len(means)} pairs"
    text = "Numbers: signed distance of both means to the diagonal (logits)."
    return style.headed(fig, title, looks, text)


def _panel(
    ax: Axes, pair: Table, object_colour: str, context_colour: str, frame: Table
) -> None:
    """Draw 2-D histograms of two kinds of points in two colours, and their means, in a frame."""
    ax.axline((0, 0), slope=1, zorder=3, **ZERO)
    looks = ("single", object_colour, "^", 8), ("context", context_colour, "*", 11)
    for kind, colour, marker, size in looks:
        part = _of(pair, kind=kind)
        bins = {"binwidth": (frame.iloc[1] - frame.iloc[0]).max() / 32, "alpha": 0.8}
        sns.histplot(
            part, x="object_logit", y="context_logit", color=colour, ax=ax, **bins
        )
        mean = part[["object_logit", "context_logit"]].mean()
        ax.plot(*mean, marker, color=colour, mec="black", mew=1, ms=size, zorder=4)
    ax.set(xlim=frame["object_logit"], ylim=frame["context_logit"])
    ax.locator_params(nbins=4)
    ax.tick_params(labelsize=8, length=2, pad=2)


def distance_construction(
    points: Table, label: str, other: str, colours: Names
) -> Figure:
    """Draw how Table 1's distances are found, for one pair of `effects.points` (Figure 9)."""
    pair = _of(points, object_class=label, context_class=other)
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 4.3), sharex=True, sharey=True)
    titles = "1. the logits", "2. their means", "3. distance to the diagonal"
    looks = ("single", label, "^", 10), ("context", other, "*", 15)
    for ax, title, alpha in zip(axes, titles, (0.5, 0.12, 0.06), strict=True):
        ax.axline((0, 0), slope=1, zorder=3, **ZERO)
        ax.set(title=title, xlabel=f"logit of {label}", aspect="equal")  # right angles
        for kind, name, marker, size in looks:
            part = _of(pair, kind=kind)[["object_logit", "context_logit"]].to_numpy()
            ax.scatter(*part.T, color=colours[name], s=9, alpha=alpha, lw=0)
            x, y = part.mean(0)
            if ax is not axes[0]:
                ax.plot(
                    x, y, marker, color=colours[name], mec="black", ms=size, zorder=4
                )
            if (
                ax is axes[2]
            ):  # the line from the mean to its foot on the diagonal, and its length
                ax.plot([x, (x + y) / 2], [y, (x + y) / 2], color=INK, lw=2, zorder=3)
                look = (
                    {"xytext": (9, -3), "va": "top"} if x > y else {"xytext": (-40, 8)}
                )
                look |= {
                    "textcoords": "offset points",
                    "fontsize": 11,
                    "fontweight": "bold",
                }
                ax.annotate(f"{(x - y) / np.sqrt(2):+.2f}", (x, y), zorder=6, **look)
    axes[0].set_ylabel(f"logit of {other}")
    entries = {"single images": {"marker": "^", "color": colours[label]}}
    entries |= {"mosaics": {"marker": "*", "ms": 12, "color": colours[other]}}
    title = "A pair in two numbers: the distances of its two means to the diagonal"
    return style.headed(fig, title, entries)


def table_1_distances(
    effects: Table, colours: Names, context_of: Names, paper: Table
) -> Figure:
    """Draw Table 1 as Figure 10 does, from `effects.of_pairs` and `claims.printed_pairs`."""
    columns = {"mosaic_distance": "mosaic", "single_distance": "single"}
    fig, ax, _ = _by_pair(effects, paper, columns, colours, context_of)
    ax.axvline(0, **ZERO)
    ends = "\N{LEFTWARDS ARROW} context's class", "object's class \N{RIGHTWARDS ARROW}"
    ax.set_xlabel(
        "      signed distance of the mean to the diagonal (logits)      ".join(ends)
    )
    entries = {"mosaics": {}, "single images": EMPTY}
    entries |= {"the paper's two values": THEIRS} if len(paper) else {}
    nearer, across = (effects["drop"] > 0).sum(), (effects["mosaic_distance"] < 0).sum()
    title = f"{nearer} of {len(effects)} pairs move towards the context's class, and the mean of"
    title += f" {across} crosses the diagonal"
    return style.headed(fig, title, entries, WHISKERS)


def flip_counts(
    effects: Table, colours: Names, context_of: Names, paper: Table
) -> Figure:
    """Draw the flips of each pair's mosaics from `effects.of_pairs`, next to the paper's."""
    whole, many, ends = (
        effects["mosaics"],
        effects["mosaics"].max(),
        ("", "_low", "_high"),
    )
    ours = {f"ours{end}": effects[f"flip_share{end}"] * whole for end in ends}
    theirs = paper.rename(columns={"flips": "paper"})
    of = effects.assign(**ours), theirs, {"ours": "paper"}, colours, context_of
    fig, ax, table = _by_pair(*of)
    ax.set(
        xlim=(-0.03 * many, 1.03 * many), xlabel=f"flips of {many:.0f} mosaics (count)"
    )
    entries = {"ours, mean of the training runs": {}}
    entries |= {"the paper's number": THEIRS} if len(paper) else {}
    most = {
        who: table.loc[table[who].idxmax()] for who in ["ours", "paper"][: len(entries)]
    }
    texts = [
        f"{row['pair']} ({who}, {round(row[who], 1):g})" for who, row in most.items()
    ]
    title = f"Most flips of {many:.0f} mosaics: {', '.join(texts)}"
    return style.headed(fig, title, entries, WHISKERS)


def _by_pair(
    effects: Table, paper: Table, columns: Names, colours: Names, context_of: Names
):
    """Draw one line per pair: at most two estimates, each with a column of the paper's values."""
    table = effects.merge(paper[[*PAIR, *columns.values()]], on=PAIR, how="left")
    named = [context_name(name, context_of) for name in table["context_class"]]
    table["pair"], rows = table["object_class"] + " + " + named, np.arange(len(table))
    fig, ax = plt.subplots(figsize=(8.8, 1.4 + 0.4 * len(table)))
    for (name, theirs), look in zip(columns.items(), ({}, EMPTY), strict=False):
        for y, row in zip(rows, table.to_dict("records"), strict=True):
            style.estimates(
                ax, row, name, y, color=colours[row["object_class"]], ms=7, **look
            )
        face, below = look.get("mfc", FAINT), 0.3 * (len(columns) > 1)
        ax.plot(
            table[theirs], rows + below, **THEIRS | {"mfc": face, "ms": 5, "ls": ""}
        )
    joined = (table[name] for name in [*columns, *columns.values()][:2])
    ax.hlines(rows, *joined, color=FAINT, lw=1, zorder=0)
    style.name_rows(ax, table["pair"])
    return fig, ax, table


def mosaic_logits(
    picture, logits, classes: Sequence, colours: Names, *pair: str
) -> Figure:
    """Draw a mosaic, uint8 (3, H, W), and each class's logit by every training run, (T, K).

    `pair` is the object's class and the context's name.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.1), width_ratios=(2, 3))
    style.heat(left, picture)
    left.set_axis_off()
    higher = (logits > logits[:, [list(classes).index(pair[0])]]).sum(0).tolist()
    counts = [f"{name} in {n}" for name, n in zip(classes, higher, strict=True) if n]
    for y, (name, values) in enumerate(zip(classes, logits.T, strict=True)):
        right.plot(values, [y] * len(values), "o", color=colours[name], ms=5, alpha=0.5)
        right.plot(values.mean(), y, "|", color=INK, ms=20, mew=2.5)
    right.plot(logits.T, range(len(classes)), color=FAINT, lw=0.5, alpha=0.6, zorder=0)
    style.name_rows(right, classes)
    right.set_xlabel("logit")
    title = f"Higher logit than {pair[0]}: {', '.join(counts) or 'none in any'}"
    return style.headed(fig, f"{title} of {len(logits)} training runs")


def _of(table: Table, **values) -> Table:
    """Select the rows that have these values in the columns of these names."""
    return table[(table[list(values)] == list(values.values())).all(axis=1)]


def _of_paper(table: Table, label: str) -> dict:
    """Return the legend's entry of the paper's values, where there are any."""
    return {label: PAPER} if table["paper"].notna().any() else {}


def by_class(
    tables: Mapping[str, Table], measures: Names, title: str, of="class"
) -> Figure:
    """Draw tables of shares, as of `effects.intervals`.

    There is one line per entry of the column `of`, one panel per measure, one mark per table.
    """
    parts = [table.assign(network=name) for name, table in tables.items()]
    table = style.stacked(pd.concat(parts), measures, "measure")
    looks = style.series(table["network"])
    fig = style.forest(table, "value", of, looks, "network", "measure", at=0)
    for ax in fig.axes:
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return style.headed(fig, title, looks, WHISKERS)
