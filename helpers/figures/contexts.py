"""The figures of notebooks 01 to 05 (*Assessing Biases through Visual Contexts*), in their order.
`colours` is the palette, from class to colour; `context_of` names the context of each class."""

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

from helpers.figures import style
from helpers.figures.style import FAINT, INK, SET_COLOURS, WHISKERS, ZERO, Looks, Table

# what notebooks call beside the figures
framed, image_grid, palette, show = style.framed, style.image_grid, style.palette, style.show
context_name = style.context_name

Names = Mapping[str, str]
Pairs = Sequence[tuple[str, str]]
PAIR = ["object_class", "context_class"]
YES, NO = "#B5651D", "#EDEDED"
NOTHING = "nothing"  # pasted: the context alone
PAPER = {"marker": "D", "mfc": "white", "mec": INK, "ms": 6}
ORANGE = "#D55E00"
REFERENCE = {"marker": "|", "ms": 14, "mew": 2.5, "color": INK}
LABELS = {"asked": "the model", "reference": "the reference"}  # networks of `effects.readings`
SHADE = {"nothing planted: yes is a false alarm": {"marker": "s", "color": "#E4E4E4", "ms": 10}}


def colour_alone(table: Table) -> Figure:
    """How often one mean colour names the class, for each set and region, by `given_away`."""
    table = table.assign(row=table["set"] + ", " + table["region"])
    looks = {name: {"color": SET_COLOURS[name]} for name in table["set"].unique()}
    fig = style.forest(table, "accuracy", "row", looks, "set", apart=0, width=8.5)
    [ax] = fig.axes
    ax.plot(table["chance"], range(len(table)), ls="", **REFERENCE)
    ax.set(xlim=(0, 1), xlabel="classes guessed right")
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    most = table.loc[table["accuracy"].idxmax()]
    title = f"One mean colour names the class in {most['accuracy']:.0%} of the images"
    title += f": {most['row']}"
    entries = {"one mean colour": {}, "guessing at random": REFERENCE}
    return style.headed(fig, title, entries, "Whiskers: 95% intervals for other test images.")


def accuracy_bars(table: Table, n_classes: int) -> Figure:
    """`cross_evaluation.accuracies`, with a column paper (share or NaN), as Figure 2."""
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
        style.estimates(ax, part, "accuracy", at, vertical=True, marker="", color=INK, elinewidth=1)
        ax.plot(at, part["paper"], ls="", zorder=4, **PAPER)
    ax.axhline(1 / n_classes, **style.CHANCE, zorder=0)
    ax.text(ax.get_xlim()[1], 1 / n_classes, " guessing", va="center", fontsize=8)
    ax.set(xlabel="", ylim=(0, 1.08))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.tick_params(axis="x", length=0)
    own = table["train_set"] == table["test_set"]
    title = f"Figure 2: accuracy on {table['test_set'].iloc[0]}, the only set there is"
    if len(sets) > 1:
        least = table.loc[table.loc[~own, "accuracy"].idxmin()]
        title = f"Figure 2: {table.loc[own, 'accuracy'].min():.0%} or more on the own set; outside"
        title += f" it, {least['model']} falls to {least['accuracy']:.0%} on {least['test_set']}"
    looks = {f"tested on {n}": {"marker": "s", "ms": 10, "color": SET_COLOURS[n]} for n, _ in sets}
    return style.headed(fig, title, looks | _of_paper(table, "the paper's value"), WHISKERS)


def causal_graphs() -> Figure:
    """The causal graphs of object, context and prediction: desired, learned, set (Figure 3)."""
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.1))
    nodes = {"O": (0, 0), "C": (1, 1.5), "Y": (2, 0)}
    free = {"O": "object", "C": "context", "Y": "prediction"}
    graphs = (
        ("(a) desired", ["OC", "OY"], free),
        ("(b) learned", ["OC", "OY", "CY"], free),
        ("(c) after the intervention", ["OY", "CY"], free | {"C": "do(C = c)"}),
    )
    ring = {"boxstyle": "circle", "ec": INK, "lw": 1.8}
    arrow = {"arrowstyle": "-|>", "mutation_scale": 18, "shrinkA": 19, "shrinkB": 19}
    for ax, (title, arrows, meanings) in zip(axes, graphs, strict=True):
        ax.set_title(title, loc="center")
        for start, end in arrows:
            look = {"color": ORANGE, "lw": 3} if start == "C" else {"color": INK, "lw": 1.6}
            ax.annotate("", nodes[end], nodes[start], arrowprops=arrow | look)
        for name, (x, y) in nodes.items():
            fixed, middle = meanings[name].startswith("do"), {"ha": "center", "va": "center"}
            box = ring | {"fc": "#dddddd" if fixed else "white"}
            ax.text(x, y, "c" if fixed else name, bbox=box, fontsize=13, **middle)
            ax.text(x, y + (0.55 if y else -0.6), meanings[name], fontsize=10, **middle)
        ax.set(xlim=(-0.7, 2.7), ylim=(-0.85, 2.3), aspect="equal")
        ax.set_axis_off()
    title = "Figure 3: does the context reach the prediction (orange arrow)? Set it, and see"
    return style.headed(fig, title)


def logit_panels(points: Table, paper: Table, colours: Names, context_of: Names) -> Figure:
    """Figure 7: a panel a pair of `effects.points`; over it its distances and `paper.of_pairs`'."""
    shown = points[points["kind"].isin(["single", "context"])]
    met = shown.groupby("context_class", sort=False)["object_class"].unique()
    means = shown.groupby([*PAIR, "kind"])["distance"].mean().unstack()
    frame = shown[["object_logit", "context_logit"]].quantile([0.005, 0.995])
    across = max(map(len, met))
    side = min(max(9.5 / across, 1.7), 3.2)
    size = (side * across, 0.85 * side * len(met) + 0.7)
    fig, axes = plt.subplots(len(met), across, figsize=size, squeeze=False)
    theirs = paper.set_index(PAIR)
    for line, (context, objects) in zip(axes, met.items(), strict=True):
        for ax, name in zip(line, objects, strict=False):
            pair = _of(shown, object_class=name, context_class=context)
            _panel(ax, pair, colours[name], colours[context], frame)
            ax.set_xlabel(f"logit of {name}", fontsize=8, labelpad=1)
            ax.set_ylabel(f"logit of {context}", fontsize=8, labelpad=1)
            row = means.loc[(name, context)]
            said = f"here {row['single']:.1f} \N{RIGHTWARDS ARROW} {row['context']:.1f}"
            if (name, context) in theirs.index:
                row = theirs.loc[(name, context)]
                said += f", paper {row['single']:.1f} \N{RIGHTWARDS ARROW} {row['mosaic']:.1f}"
            title = textwrap.fill(f"{name} + {context_name(context, context_of)}", 30)
            ax.top.set_title(f"{title}\n{said}", fontsize=8.5)
        for ax in line[len(objects) :]:
            ax.set_axis_off()
    grey = {"color": "#bbbbbb", "mec": "black"}
    looks = {
        "single images (mean), object's colour": grey | {"marker": "^"},
        "mosaics (mean), context's colour": grey | {"marker": "*", "ms": 11},
        "both logits equal": ZERO,
    }
    over = (means["context"] < 0).sum()
    title = f"Figure 7: the mosaics' mean lies above the diagonal in {over} of {len(means)} pairs"
    text = "Numbers: distance to the diagonal, mean of single images and then of mosaics."
    text += " All panels have the same scales; a few points beyond count at their edge."
    return style.headed(fig, title, looks, text)


def _panel(ax: Axes, pair: Table, object_colour: str, context_colour: str, frame: Table) -> None:
    """2-D histograms in shades of two colours, their margins and their means, inside a frame."""
    xs, ys = (np.linspace(*frame[name], 25) for name in frame)
    ax.set(xlim=xs[[0, -1]], ylim=ys[[0, -1]])
    ax.axline((0, 0), slope=1, zorder=3, **ZERO)
    ax.top = ax.inset_axes([0, 1.02, 1, 0.17], sharex=ax)
    ax.side = ax.inset_axes([1.02, 0, 0.17, 1], sharey=ax)
    looks = ("single", object_colour, "^", 8), ("context", context_colour, "*", 11)
    for kind, colour, marker, size in looks:
        part = _of(pair, kind=kind)
        x, y = part["object_logit"].clip(*xs[[0, -1]]), part["context_logit"].clip(*ys[[0, -1]])
        ends = [(*to_rgb(colour), 0.3), (*to_rgb(colour), 0.95)]
        tones = LinearSegmentedColormap.from_list("tones", ends)
        counts, _, _ = np.histogram2d(x, y, (xs, ys))
        ax.pcolormesh(xs, ys, np.ma.masked_equal(counts.T, 0), cmap=tones)
        look = {"color": colour, "alpha": 0.65, "density": True}
        ax.top.hist(x, bins=xs, **look)
        ax.side.hist(y, bins=ys, orientation="horizontal", **look)
        ax.plot(x.mean(), y.mean(), marker, color=colour, mec="black", mew=1, ms=size, zorder=4)
    for margin in (ax.top, ax.side):
        margin.set_axis_off()
    ax.locator_params(nbins=4)
    ax.tick_params(labelsize=8, length=2, pad=2)


def distance_construction(
    points: Table, object_class: str, context_class: str, colours: Names
) -> Figure:
    """How Table 1's distances are found (Figure 9), by one pair of `effects.points`."""
    pair = _of(points, object_class=object_class, context_class=context_class)
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 4.3), sharex=True, sharey=True)
    looks = ("single", object_class, "^", 10), ("context", context_class, "*", 15)
    for kind, name, marker, size in looks:
        part = _of(pair, kind=kind)[["object_logit", "context_logit"]].to_numpy()
        for ax, alpha in zip(axes, (0.5, 0.12, 0.06), strict=True):
            ax.scatter(*part.T, color=colours[name], s=9, alpha=alpha, lw=0)
        x, y = part.mean(0)
        for ax in axes[1:]:
            ax.plot(x, y, marker, color=colours[name], mec="black", ms=size, zorder=4)
        # the line from the mean to its foot on the diagonal, and its length
        axes[2].plot([x, (x + y) / 2], [y, (x + y) / 2], color=INK, lw=2, zorder=3)
        look = {"xytext": (9, -3), "va": "top"} if x > y else {"xytext": (-40, 8)}
        look |= {"textcoords": "offset points", "fontsize": 11, "fontweight": "bold"}
        axes[2].annotate(f"{(x - y) / np.sqrt(2):+.1f}", (x, y), zorder=6, **look)
    titles = ("1. the logits", "2. their means", "3. distance to the diagonal")
    for ax, title in zip(axes, titles, strict=True):
        ax.axline((0, 0), slope=1, zorder=3, **ZERO)
        ax.set_aspect("equal")  # so that a right angle looks like one
        ax.set(title=title, xlabel=f"logit of {object_class}")
    axes[0].set_ylabel(f"logit of {context_class}")
    entries = {
        "single images": {"marker": "^", "color": colours[object_class]},
        "mosaics": {"marker": "*", "ms": 12, "color": colours[context_class]},
    }
    title = "Figure 9: a pair in two numbers, the distances of its two means to the diagonal"
    return style.headed(fig, title, entries)


def table_1_distances(effects: Table, colours: Names, context_of: Names, paper: Table) -> Figure:
    """Table 1 as Figure 10, by `effects.of_pairs` and `paper.of_pairs`: mosaics are filled."""
    table = effects.merge(paper[[*PAIR, "mosaic", "single"]], on=PAIR, how="left")
    named = [context_name(name, context_of) for name in table["context_class"]]
    table["pair"] = table["object_class"] + " + " + named
    grounds = {"mosaic_distance": {}, "single_distance": {"mfc": "white", "mew": 1.8}}
    both = style.stacked(table, dict(zip(grounds, grounds, strict=True)), "kind")
    both["kind"] += both["object_class"]
    looks = {
        kind + name: ground | {"color": colours[name], "ms": 7}
        for kind, ground in grounds.items()
        for name in table["object_class"].unique()
    }
    fig = style.forest(both, "value", "pair", looks, "kind", apart=0.1, width=8.8, at=0)
    [ax], rows = fig.axes, np.arange(len(table))
    joined = {"color": table["object_class"].map(colours), "lw": 1, "alpha": 0.5}
    ax.hlines(rows, table["mosaic_distance"], table["single_distance"], **joined)
    for name, face in (("mosaic", FAINT), ("single", "white")):
        ax.plot(table[name], rows + 0.3, **PAPER | {"ms": 5, "mec": FAINT, "mfc": face, "ls": ""})
    ends = "\N{LEFTWARDS ARROW} context's class", "object's class \N{RIGHTWARDS ARROW}"
    ax.set_xlabel("      signed distance of the mean to the diagonal (logits)      ".join(ends))
    entries = {"mosaics": {}, "single images": grounds["single_distance"]}
    if len(paper):
        entries["the paper's two values"] = PAPER | {"mfc": FAINT, "mec": FAINT}
    nearer, across = (effects["drop"] > 0).sum(), (effects["mosaic_distance"] < 0).sum()
    title = f"Figure 10: beside a context {nearer} of {len(effects)} pairs come nearer to its class"
    return style.headed(fig, f"{title}, and {across} cross over to it", entries, WHISKERS)


def mosaic_logits(
    picture: torch.Tensor, logits: torch.Tensor, classes: Sequence[str], colours: Names, title: str
) -> Figure:
    """A mosaic, and each class's logit by every training: uint8 (3, H, W) and floats (T, K)."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.1), width_ratios=(2, 3))
    style.heat(left, picture)
    left.set_axis_off()
    for y, (name, values) in enumerate(zip(classes, logits.T, strict=True)):
        right.plot(values, [y] * len(values), "o", color=colours[name], ms=5, alpha=0.5)
        right.plot(values.mean(), y, "|", color=INK, ms=20, mew=2.5)
    style.name_rows(right, classes)
    right.set_xlabel("logit: a dot a training, a line their mean")
    return style.headed(fig, title)


def by_context(
    table: Table, title: str, context_of: Names, *, panel="reading", singles=None, units=()
) -> Figure:
    """Strengths of contexts as from `effects.readings`: a panel for each value of a column `panel`.
    `singles` are by training (`effects.of_trainings`); each column of panels has one of `units`."""
    looks, contexts = style.series(table["network"]), list(table["context_class"].unique())
    fig = style.forest(table, "value", "context_class", looks, "network", panel, at=0)
    entries = {LABELS.get(name, name): look for name, look in looks.items()}
    panels = list(table[panel].unique())
    if singles is not None:
        ticks = {n: look | {"marker": "|", "ms": 5} for n, look in looks.items()}
        rows = "context_class", ticks, "network", contexts
        for ax, name in zip(fig.axes, panels, strict=False):
            style.compared(ax, singles[singles[panel] == name], "value", *rows, below=0.13)
        entries["one training"] = {"marker": "|", "ms": 7}
    for ax in fig.axes[: len(panels)]:
        style.name_rows(ax, [context_name(c, context_of) for c in contexts])
    last = [ax for ax in fig.axes if ax.get_subplotspec().is_last_row()]
    for ax, unit in zip(last, units, strict=False):
        ax.set_xlabel(unit)
    return style.headed(fig, title, entries, WHISKERS)


def paste_counts(table: Table, pictures: Mapping, colours: Names, context_of: Names) -> Figure:
    """Figures 11 to 14 by `pasting.counts`, with a column paper (of 25, or NaN): a panel a context.
    `pictures` has an example for each bar, uint8 (3, H, W), by context class and what is pasted."""
    contexts = list(dict.fromkeys(table["context_class"]))
    rows = -(-len(contexts) // 2)
    fig, axes = plt.subplots(rows, 2, figsize=(9.5, 3.9 * rows + 0.4), squeeze=False)
    for ax, name in zip(axes.flat, contexts, strict=False):
        part = _of(table, context_class=name)
        _bars(ax, part, colours, [pictures[name, pasted] for pasted in part["pasted"]])
        ax.set_title(f"{context_name(name, context_of)}: taken for {name}")
    for ax in axes.flat[len(contexts) :]:
        ax.set_axis_off()
    made = table[table["pasted"] != NOTHING]
    mostly = int((table["share"] > 0.5).sum())
    title = f"Contexts alone: {mostly} of {len(contexts)} are mostly taken for their class"
    if len(made):
        mostly = int((made["share"] > 0.5).sum())
        title = f"Figures 11 to 14: the context wins in {mostly} of {len(made)} kinds of composite"
    text = WHISKERS + " Bars have the colour of the pasted object's class." * bool(len(made))
    return style.headed(fig, title, _of_paper(table, "the paper's count"), text)


def _bars(ax: Axes, part: Table, colours: Names, pictures: list[torch.Tensor]) -> None:
    """One context's shares with their intervals, the counts behind them, and examples beneath."""
    name, at = part["context_class"].iloc[0], np.arange(len(part))
    faces = [colours[name if pasted == NOTHING else pasted] for pasted in part["pasted"]]
    ax.bar(at, part["share"], 0.7, color=faces)
    style.estimates(ax, part, "share", at, vertical=True, marker="", color=INK)
    ax.plot(at - 0.22, part["paper"] / 25, ls="", zorder=3, clip_on=False, **PAPER)
    ax.set(ylim=(0, 1.12), xlim=(-0.6, len(part) - 0.4), yticks=np.linspace(0, 1, 6))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xticks(at, ["the context alone" if p == NOTHING else p for p in part["pasted"]])
    ax.tick_params(axis="x", length=0)
    width = min(0.92 / len(part), 0.23)
    for x, (row, picture) in enumerate(zip(part.to_dict("records"), pictures, strict=True)):
        count = f"{row['predicted']:.1f}".removesuffix(".0")
        ax.text(x + 0.06, row["high"] + 0.016, f"{count}/{row['images']}", fontsize=9)
        left = (x + 0.6) / (len(part) + 0.2) - width / 2
        inset = ax.inset_axes([left, -0.62, width, 0.46])
        style.heat(inset, picture)
        inset.set_anchor("N")
        inset.set_axis_off()


def two_methods(
    counts: Table, pairs: Table, agreements: Mapping, colours: Names, context_of: Names
) -> Figure:
    """Pasting against mosaics, a point a pair: in the paper's counts, and in logits beside neutral.

    `counts` are the cell's own, `pairs` those of `effects.of_pairs` by both methods (x_first,
    x_second), `agreements` the rank correlations: "counts", "logits", maybe "paper"."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.6))
    for context, part in counts.merge(pairs, on=PAIR).groupby("context_class"):
        look = {"color": colours[context], "ls": ""}
        left.plot(part["mosaic_share"], part["paste_share"], marker="o", ms=9, zorder=3, **look)
        theirs = part["mosaic_share_paper"], part["paste_share_paper"]
        left.plot(*theirs, **PAPER | {"mec": colours[context], "mew": 1.6, "ls": ""})
        x, y = (
            [part[f"context_effect{end}_{which}"] for end in ("", "_low", "_high")]
            for which in ("first", "second")
        )
        ends = style.whiskers(*y), style.whiskers(*x)
        right.errorbar(x[0], y[0], *ends, marker="o", ms=8, elinewidth=1, **look)
    said = f"The paper's counts: rank correlation {agreements['counts']:.2f}"
    if "paper" in agreements:
        said += f" (the paper's own {agreements['paper']:.2f})"
    left.set(xlabel="mosaics flipped (share)", ylabel="composites taken for the context (share)")
    right.set(xlabel="effect in mosaics (logits)", ylabel="effect in pasting (logits)")
    other = f"Logits beside the neutral image: rank correlation {agreements['logits']:.2f}"
    for ax, title in ((left, said), (right, other)):
        ax.axhline(0, **ZERO)
        ax.axvline(0, **ZERO)
        ax.margins(0.1)
        ax.set_title(title, fontsize=10)
    looks = _of_contexts(counts, colours, context_of)
    looks |= _of_paper(counts.rename(columns={"paste_share_paper": "paper"}), "the paper's")
    agree = "agree" if agreements["counts"] > 0.5 else "show no agreement"
    title = f"In the paper's counts the two methods {agree} on the pairs"
    text = WHISKERS + " A point is a pair of object and context, in the context's colour."
    return style.headed(fig, title, looks, text)


def explained(images: torch.Tensor, maps: torch.Tensor, captions: Sequence, title: str) -> Figure:
    """Image beside map beside overlay (Figure 16): uint8 (N, 3, H, W) and float (N, H, W).
    Positive relevance is drawn as a share of the map's largest; an empty map is black."""
    cols = min(6, 3 * len(images))
    trios = [p for image, one in zip(images, maps, strict=True) for p in (image, one, image)]
    names = [text for caption in captions for text in (caption, "", "")]
    fig = framed(trios, names, cols=cols, title=title)
    height, width = images.shape[-2:]
    over = {"alpha": 0.55, "extent": (-0.5, width - 0.5, height - 0.5, -0.5)}
    for ax, image, one in zip(fig.axes[2::3], images, maps, strict=False):
        ax.imshow(image.float().mean(0).numpy(), cmap="gray", vmin=0, vmax=255)
        style.heat(ax, one, interpolation="bilinear", **over)
    shade = ScalarMappable(Normalize(0, 1), style.MAP)
    bar = fig.colorbar(shade, ax=fig.axes, shrink=0.6, pad=0.01)
    bar.set_label("relevance\n(1: the map's most)", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return fig


def side_by_side(
    tables: Mapping, key: str, measures: Names, title: str, context_of: Names, *, percent=False
) -> Figure:
    """Tables of `effects.intervals`: a row an entry of `key`, a panel a measure, a mark a table."""
    tables = [table.assign(network=name) for name, table in tables.items()]
    table = style.stacked(pd.concat(tables), measures, "reading")
    fig = by_context(table.assign(context_class=table[key]), title, context_of)
    for ax in fig.axes if percent else ():
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return fig


def answers(table: Table, context_of: Names) -> Figure:
    """The answers of `methods.answers`, a panel a reading, beside what was planted."""
    table = table[table["answer"] != ""]
    table = table.assign(measure=table["method"] + "\n" + table["quantity"])
    parts = list(table.groupby("reading", sort=False))
    contexts = table["context_class"].unique()
    planted = table.groupby("context_class")["planted"].first()
    names = [context_name(name, context_of) for name in contexts]
    if planted.notna().all():
        names = [f"{n}\nplanted: {planted[c]:.0%}" for n, c in zip(names, contexts, strict=True)]
    size = (9.5, len(parts) * (0.9 + 0.55 * len(contexts)) + 0.5)
    fig, axes = plt.subplots(len(parts), 1, figsize=size, squeeze=False)
    for ax, (reading, part) in zip(axes[:, 0], parts, strict=True):
        wide = part.pivot(index="context_class", columns="measure", values=["answer", "effect"])
        wide = wide.loc[contexts].reindex(columns=part["measure"].unique(), level=1)
        yes = (wide["answer"] == "yes").to_numpy()
        text = wide["answer"] + "\n" + wide["effect"].map("{:+.2f}".format)
        grounds = np.where(yes[..., None], to_rgb(YES), to_rgb(NO))
        style.cells(ax, grounds, text, names, text.columns, 8)
        ax.xaxis.tick_top()
        ax.set_title(f"{reading}: {yes.sum()} of {yes.size} answers are yes")
    last = parts[-1][1]
    counts = (last["answer"] == "yes").groupby(last["method"], sort=False).agg(["sum", "size"])
    said = ", ".join(f"{name} {row['sum']} of {row['size']}" for name, row in counts.iterrows())
    text = "Numbers: measured effects. Yes: the whole 95% interval lies above zero."
    return style.headed(fig, f"Answers of yes {parts[-1][0]}: {said}", note=text)


def dose_response(
    table: Table, measures: Pairs, colours: Names, context_of: Names, *, nothing: float
) -> Figure:
    """Effects by `methods.answers` against the dose: a row a reading, a column a measure.
    `measures` are pairs of method and quantity; nothing is planted up to the dose `nothing`."""
    looks = {name: {"color": colours[name]} for name in table["context_class"].unique()}
    asked = _of_measures(table, measures)
    fig = _against_dose(asked, "effect", "reading", "context_class", looks, nothing)
    fig.supxlabel("planted dose: share of a class's images in its own context", fontsize=10)
    entries = _of_contexts(table, colours, context_of) | {'open: not "yes"': {"mfc": "white"}}
    none = asked[(asked["dose"] <= nothing) & (asked["answer"] != "")]
    false = f"{(none['answer'] == 'yes').sum()} of {len(none)}"
    title = f"One world: where nothing is planted, {false} answers are yes"
    return style.headed(fig, title, entries | SHADE)


def effects_of_worlds(worlds: Table, panels: Mapping, *, nothing: float) -> Figure:
    """Every context of the worlds by dose; `panels` are by name (measure, number of trainings)."""
    looks = {
        "one context in one world": {"marker": "o", "color": style.BLUE, "ms": 4, "alpha": 0.4},
        "median": {"marker": "_", "color": INK, "ms": 20, "mew": 3},
    }
    fig, axes = plt.subplots(1, len(panels), figsize=(3.2 * len(panels), 3.6), squeeze=False)
    dots, said = worlds["seed"].nunique() * worlds["context_class"].nunique(), []
    for ax, (name, panel) in zip(axes[0], panels.items(), strict=True):
        columns = dict(zip(("method", "quantity", "reading", "trainings"), panel, strict=True))
        part = _of(worlds, **columns).set_index("dose")["effect"]
        for values, look in zip((part, part.groupby("dose").median()), looks.values(), strict=True):
            ax.plot(values, ls="", **look)
        _nothing_planted(ax, nothing)
        ax.set(title=name, xlabel="planted dose", xticks=part.index.unique())
        out = (part[part.index == 1] > part[part.index <= nothing].max()).sum()
        said.append(f"{out} by {name}")
    title = f"Contexts that stand out at dose 1, of {dots}: {', '.join(said)}"
    text = "Standing out: a larger effect than any context has where nothing is planted."
    return style.headed(fig, title, looks | SHADE, text)


def told_apart(table: Table) -> Figure:
    """`sweep.told_apart`, for one number of trainings: a line a measure, by readings."""
    table = table.assign(measure=table["method"] + ", " + table["quantity"])
    looks = style.series(table["reading"])
    fig = style.forest(table, "auc", "measure", looks, "reading", width=8.5, at=0.5)
    text = "how often an effect at dose 1 is larger than one where nothing is planted (AUC)"
    fig.axes[0].set(xlim=(0, 1.03), xlabel=text)
    flips = _of(table, method="mosaics", quantity="flips").set_index("reading")["auc"]
    said = "Flips of mosaics tell planted contexts from others with an AUC of"
    said += f" {flips['raw']:.2f} raw, {flips['beside neutral']:.2f} beside neutral"
    text = "Dashed: guessing. Whiskers: 95% intervals for other worlds."
    return style.headed(fig, said, looks, text)


def yes_rates(table: Table, measures: Pairs, *, nothing: float) -> Figure:
    """Hits and false alarms by `sweep.rates`: above all trainings of a model, below one alone."""
    table = table.sort_values("trainings", ascending=False, kind="stable")
    names = table["trainings"].map("{} trainings".format).replace("1 trainings", "one training")
    table, looks = table.assign(by=names), style.series(table["reading"])
    asked = _of_measures(table, measures)
    fig = _against_dose(asked, "yes", "by", "reading", looks, nothing)
    for ax in fig.axes:
        ax.set_ylim(-0.05, 1.05)
        ax.yaxis.set_major_formatter(PercentFormatter(1))
    fig.supxlabel("planted dose", fontsize=10)
    none = table[(table["dose"] <= nothing) & (table["reading"] == "beside neutral")]
    alarms = none.groupby(["by", "method", "quantity"], sort=False)["yes"].mean()
    most = alarms.groupby("by", sort=False).max()
    said = ", ".join(f"{rate:.0%} by {name}" for name, rate in most.items())
    return style.headed(fig, f"False alarms beside neutral: up to {said}", looks | SHADE)


def mitigation(accuracy: Table, effects: Mapping[str, pd.DataFrame]) -> Figure:
    """`cross_evaluation.accuracies` and, by title, tables of model, effect, low, high beside it."""
    looks = style.series(accuracy["model"])
    widths = [2.2] + [1] * len(effects)
    fig, axes = plt.subplots(1, len(widths), figsize=(10, 3.6), width_ratios=widths)
    style.compared(axes[0], accuracy, "accuracy", "test_set", looks, "model")
    axes[0].set_title("accuracy on")
    axes[0].xaxis.set_major_formatter(PercentFormatter(1))
    for ax, (title, table) in zip(axes[1:], effects.items(), strict=True):
        style.compared(ax, table.assign(row="all contexts"), "effect", "row", looks, "model")
        ax.axvline(0, **ZERO)
        ax.set_title(textwrap.fill(title, 18))
    before, after, *_ = looks
    wide = accuracy.pivot(index="test_set", columns="model", values="accuracy")
    most = (wide[after] - wide[before]).idxmax()
    said = f"on {most} from {wide.loc[most, before]:.0%} to {wide.loc[most, after]:.0%}"
    return style.headed(fig, f"{after.capitalize()} for some images: {said}", looks, WHISKERS)


def _nothing_planted(ax: Axes, nothing: float) -> None:
    """Draw the zero line, and shade the doses at which no context speaks for its class."""
    ax.axhline(0, **ZERO)
    ax.axvspan(-0.08, nothing + 0.08, color="#F0F0F0", zorder=0, lw=0)


def _of(table: Table, **values) -> Table:
    """The rows that have these values in the columns of these names."""
    return table[(table[list(values)] == list(values.values())).all(axis=1)]


def _of_measures(table: Table, measures: Pairs) -> Table:
    """The rows of several pairs of method and quantity, in their order."""
    parts = [_of(table, method=method, quantity=of) for method, of in measures]
    return pd.concat(parts).assign(measure=lambda t: t["method"] + ", " + t["quantity"])


def _of_paper(table: Table, label: str) -> dict:
    """The legend's entry of the paper's values, where there are any."""
    return {label: PAPER} if table["paper"].notna().any() else {}


def _of_contexts(table: Table, colours: Names, context_of: Names) -> dict:
    """The legend's entries of a table's contexts."""
    contexts = table["context_class"].unique()
    return {context_name(name, context_of): {"color": colours[name]} for name in contexts}


def _against_dose(
    table: Table, value: str, rows: str, by: str, looks: Looks, nothing: float
) -> Figure:
    """Estimates by dose, a line an entry of `by`, panels by `rows` and measure; "no" is open."""
    measures, down = table["measure"].unique(), table[rows].unique()
    size = (2.6 * len(measures) + 0.4, 2 * len(down) + 1.1)
    fig, axes = plt.subplots(len(down), len(measures), figsize=size, sharex=True, squeeze=False)
    for (row, column), ax in np.ndenumerate(axes):
        part = _of(table, **{"measure": measures[column], rows: down[row]})
        _nothing_planted(ax, nothing)
        for shift, (name, look) in enumerate(looks.items()):
            line = _of(part, **{by: name})
            at = line["dose"] + 0.015 * (shift - (len(looks) - 1) / 2)
            look = {"ms": 5, "marker": "o"} | look
            style.estimates(ax, line, value, at, vertical=True, **look | {"ls": "-", "lw": 1.2})
            if "answer" in line:
                no = line["answer"] != "yes"
                look |= {"mfc": "white", "ls": "", "zorder": 3}
                ax.plot(at[no], line[value][no], **look)
        if row == 0:
            ax.set_title(measures[column])
        if column == 0:
            ax.set_ylabel(down[row])
    return fig
