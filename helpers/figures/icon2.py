"""Figures of notebook 08, each drawn from a table that :mod:`helpers.icon2` returned."""

from collections.abc import Mapping, Sequence
from itertools import product

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from helpers.figures.style import (
    BLUE,
    FAINT,
    INK,
    RED,
    ZERO,
    compared,
    estimates,
    headed,
    marks,
    name_rows,
    note,
    series,
    show,
)

THREE = ("#5B0F2E", RED, "#F5C04A")  # groups from the first to the last, dark to light
BEFORE, STRATA, STANDARD = "#4A4A4A", BLUE, "#009E73"
CHANCE = "chance (95% of permutations)"
CHOOSING = {"marker": "o", "mfc": "white", "color": FAINT, "ms": 5}
EVALUATING = {"marker": "D", "color": RED, "ms": 5}
SLANTED = {"ha": "right", "rotation_mode": "anchor"}


def overview(sensitive: str) -> Figure:
    """The question as a causal diagram (Figure 1): what may lie between the groups and AP."""
    fig, ax = plt.subplots(figsize=(8.5, 2.6))
    ax.set(xlim=(0, 10), ylim=(0, 3))
    ax.set_axis_off()
    look = {"boxstyle": "round,pad=0.5", "fc": "white", "lw": 1.6}
    places = {
        f"sensitive attribute\n({sensitive})": (1.5, 0.6, INK),
        "confounder\n(size, occlusion, time, ...)": (5, 2.4, BLUE),
        "average precision\nof the group": (8.5, 0.6, INK),
    }
    for text, (x, y, colour) in places.items():
        ax.text(x, y, text, ha="center", va="center", bbox=look | {"ec": colour})
    arrows = (
        ((2.2, 1.15), (3.7, 2.0), BLUE, (2.1, 1.85), "the groups' scenes differ"),
        ((6.3, 2.0), (7.8, 1.15), BLUE, (7.9, 1.85), "and some are harder"),
        ((3.1, 0.6), (7.1, 0.6), RED, (5.1, 0.85), "the detector is worse for a group?"),
    )
    for start, end, colour, place, text in arrows:
        style = {"arrowstyle": "-|>", "lw": 2, "color": colour}
        ax.annotate("", end, start, arrowprops=style)
        ax.text(*place, text, ha="center", color=colour)
    headed(fig, "After Figure 1: two ways in which a group can have a lower average precision")
    return fig


def frame(
    picture: np.ndarray,
    boxes: pd.DataFrame,
    detections: pd.DataFrame,
    looks: Mapping[str, np.ndarray],
) -> Figure:
    """A frame with its boxes and detections: hits, misses and false positives.

    `picture` is an array (H, W, 3); `boxes` have ``x1 y1 x2 y2 found``, `detections` ``x1 y1 x2 y2
    score hit``. Small pictures of the `looks` of a drawn street stand below.
    """
    height, width = picture.shape[:2]
    rows = [["frame"] * max(len(looks), 1), list(looks)][: 1 + bool(looks)]
    size = (9, 9 * height / width + 0.7 + 1.2 * bool(looks))
    fig, axes = plt.subplot_mosaic(rows, figsize=size, height_ratios=[4, 1][: len(rows)])
    ax = axes["frame"]
    ax.imshow(picture)
    for name, look in looks.items():
        axes[name].imshow(look)
        axes[name].set_title(name, fontsize=9)
        axes[name].set_axis_off()
    kinds = {
        "a labelled box that was found": (boxes[boxes.found], "white", "-", INK),
        "a miss: a labelled box that was not found": (boxes[~boxes.found], "#F5C04A", "-", INK),
        "a hit: a detection that took a box": (detections[detections.hit], BLUE, "--", None),
        "a false positive: it took no box": (detections[~detections.hit], RED, ":", None),
    }
    for shown, colour, line, behind in kinds.values():
        for row in shown.itertuples():
            place = (row.x1, row.y1), row.x2 - row.x1, row.y2 - row.y1
            if behind:
                ax.add_patch(Rectangle(*place, fill=False, ec=behind, lw=3.4))
            ax.add_patch(Rectangle(*place, fill=False, ec=colour, ls=line, lw=2))
            if "score" in shown:
                text = {"fontsize": 8, "color": "white", "backgroundcolor": colour}
                place = (row.x1, row.y1, "bottom") if row.hit else (row.x2, row.y2, "top")
                ax.text(*place[:2], f"{row.score:.2f}", va=place[2], **text)
    ax.set(xticks=[], yticks=[], xlim=(0, width), ylim=(height, 0))
    entries = [
        Line2D([], [], color=colour, ls=line, lw=3, label=f"{name} ({len(some)})")
        for name, (some, colour, line, _) in kinds.items()
    ]
    entries[0].set(
        markeredgecolor=INK, path_effects=[Stroke(linewidth=5, foreground=INK), Normal()]
    )
    found = f"{boxes.found.sum()} of {len(boxes)} boxes are found"
    title = f"{found}; {(~detections.hit).sum()} of {len(detections)} detections are false"
    fig.legend(handles=entries, loc="outside upper left", ncols=2, title=title)
    return fig


def chance_by_boxes(table: pd.DataFrame) -> Figure:
    """Sigma under permuted groups against the boxes of a group.

    `table` has a row a class: ``class boxes null_mean null_high``.
    """
    table = table.dropna(subset="null_high").sort_values("boxes")
    fig, ax = plt.subplots(figsize=(8.5, 4))
    ax.vlines(table.boxes, table.null_mean, table.null_high, color=FAINT, lw=6, alpha=0.5)
    ax.plot(table.boxes, table.null_mean, "o", color=INK, ms=7, label="mean of the permutations")
    ax.plot([], [], color=FAINT, lw=6, alpha=0.5, label="up to the highest 5%")
    for n, (name, row) in enumerate(table.set_index("class").iterrows()):
        text = {"xytext": (0, 5 + 12 * (n % 2)), "textcoords": "offset points", "ha": "center"}
        ax.annotate(name, (row.boxes, row.null_high), fontsize=9, **text)
    ax.set_xscale("log")
    ax.set(xlabel="boxes in a group, here (log scale)", ylabel="σ of AP (points)", ylim=(0, None))
    few, many = table.null_mean.iloc[[0, -1]]
    title = f"Where groups mean nothing, σ is {many:.1f} for many boxes and {few:.1f} for few"
    fig.legend(loc="outside upper center", ncols=3, title=title)
    return fig


def groups_by_class(
    groups: pd.DataFrame, sigmas: pd.DataFrame, by: str, paper: pd.DataFrame
) -> Figure:
    """AP of every group and class with intervals, and sigma beside its null (Table 1).

    From :meth:`Analysis.groups` and :meth:`Analysis.sigmas`, the latter with ``null_high`` and
    ``p_holm`` of :func:`helpers.icon2.sigma_null`; `by` says what the groups are groups of. What
    the `paper` prints for the same classes and groups is drawn in as crosses.
    """
    classes, names = list(sigmas["class"]), list(dict.fromkeys(groups.value))
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 0.9 + 0.42 * len(classes)), sharey=True, width_ratios=[3, 2]
    )
    rows = np.arange(len(classes))
    for y, (name, colour) in zip(_beside(rows, 0.2, names), _colours(names).items(), strict=True):
        part = groups[groups.value == name].set_index("class").reindex(classes)
        left.hlines(y, part.low, part.high, color=colour, lw=2)
        left.plot(part.AP, y, "o", color=colour, mec=INK, mew=0.6, ms=7, label=name)
        if name in paper:
            left.plot(paper[name].reindex(classes), y, "x", color=colour, ms=7, mew=1.6)
    for y in np.flatnonzero(groups.groupby("class").AP.count().reindex(classes) == 0):
        left.text(left.get_xlim()[0], y, "  not estimable", va="center", fontsize=9, color=FAINT)
    name_rows(left, classes)
    left.set_xlabel("average precision (%)")
    right.barh(rows, sigmas.null_high, 0.62, color="#dddddd", label=CHANCE)
    right.plot(sigmas.sigma, rows, "D", color=INK, ms=6, label="σ over the groups")
    right.hlines(rows, sigmas.low, sigmas.high, color=INK, lw=1.5)
    if set(names) & set(paper):
        right.plot(
            paper.sigma.reindex(classes), rows, "x", color=RED, ms=7, label="the paper's (x)"
        )
    right.set(xlabel="σ of AP (points)", xlim=(0, None))
    right.tick_params(axis="y", length=0)
    crosses = " Crosses: the paper's values." if len(paper) else ""
    note(fig, f"Whiskers: 95% intervals for other images.{crosses}")
    handles = [*left.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
    beyond, known = (sigmas.p_holm <= 0.05).sum(), sigmas.p_holm.notna().sum()
    title = (
        f"Like Table 1, by {by}: AP differs by more than chance in {beyond} of {known} rows (Holm)"
    )
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles), title=title)
    return fig


def instance_counts(groups: pd.DataFrame, min_boxes: int, by: str) -> Figure:
    """Boxes of every class and group (Figure 6), with the number that a cell needs.

    From :meth:`Analysis.groups`, without the row of all classes.
    """
    classes, names = list(dict.fromkeys(groups["class"])), list(dict.fromkeys(groups.value))
    fig, ax = plt.subplots(figsize=(9, 3.4))
    places = _beside(np.arange(len(classes)), 0.2, names)
    for x, (name, colour) in zip(places, _colours(names).items(), strict=True):
        boxes = groups[groups.value == name].set_index("class").boxes.reindex(classes)
        ax.plot(x, boxes, "o", color=colour, mec=INK, mew=0.6, ms=8)
    ax.axhline(min_boxes, color=INK, ls=":", lw=1.2)
    said = f"below {min_boxes}:\nnot estimable"
    ax.text(len(classes) - 0.45, 0.93 * min_boxes, said, va="top", fontsize=9)
    ax.set_yscale("log")
    ax.set_ylim(bottom=min(groups.boxes.clip(lower=1).min(), min_boxes) / 2)
    ax.set(ylabel="boxes (log scale)", xlim=(-0.6, len(classes) + 0.6))
    ax.set_xticks(range(len(classes)), classes, rotation=20, **SLANTED)
    few = (groups.groupby("class").boxes.min() < min_boxes).sum()
    title = f"Like Figure 6, by {by}: too few boxes in {few} of {len(classes)} classes"
    _legend(fig, _colours(names), title=title)
    return fig


def attributes_of_class(
    values: pd.DataFrame, shares: pd.DataFrame, cells: pd.DataFrame, title: str
) -> Figure:
    """How hard each explanatory value is, who has it, and the groups within it, for one class.

    Figures 2 and 3 (AP of every value, P(e|a)) above Figures 4 and 5 (AP of every group within
    every value). From :meth:`Analysis.values`, :meth:`Analysis.shares` and :meth:`Analysis.cells`.
    """
    names, groups = list(dict.fromkeys(values.attribute)), list(dict.fromkeys(shares.group))
    counts = [values.attribute.eq(n).sum() for n in names]
    fig, axes = plt.subplots(
        3, len(names), figsize=(10, 7), width_ratios=counts, sharey="row", squeeze=False
    )
    for (top, middle, below), name in zip(axes.T, names, strict=True):
        part = values[values.attribute == name]
        x, order = np.arange(len(part)), list(part.value)
        top.bar(x, part.AP.fillna(0), 0.7, color=FAINT)
        top.vlines(x, part.low, part.high, color=INK, lw=1.3)
        for at, row in zip(x, part.itertuples(), strict=True):
            text, colour = (f"{row.AP:.0f}", "white") if row.estimable else ("too few", INK)
            top.text(at, 1, text, ha="center", va="bottom", fontsize=8, color=colour)
        _grouped_bars(middle, shares[shares.attribute == name], order, groups, "share", scale=100)
        _grouped_bars(below, cells[cells.attribute == name], order, groups, "AP")
        for ax in (top, middle):
            ax.set_xticks(x, [])
        below.set_xticks(x, order, rotation=35, **SLANTED)
        top.set_title(name)
    axes[0, 0].set_ylabel("AP of the value (%)")
    axes[1, 0].set_ylabel("share of the\ngroup's boxes (%)")
    axes[2, 0].set_ylabel("AP of the group\nwithin the value (%)")
    note(fig, "Whiskers: 95% intervals for other images. Too few: boxes, so AP is not estimated.")
    _legend(fig, _colours(groups), title=title)
    return fig


def before_and_after(control: pd.DataFrame, null_high: float, paper: pd.DataFrame) -> Figure:
    """The share of sigma that each control leaves, an attribute a row (Table 2).

    From :meth:`Analysis.control`, one class, in the order to draw. Whiskers are the intervals of
    the falls, drawn from sigma before; `null_high` is what sigma reaches by chance. The share that
    the `paper`'s control leaves (``attribute controlled delta``) is drawn in.
    """
    fig, ax = plt.subplots(figsize=(8.5, 1.3 + 0.42 * len(control)))
    y, scale = np.arange(len(control)), 100 / control.sigma.iloc[0]
    ax.axvspan(0, scale * null_high, color="#e9e9e9", zorder=0, label=CHANCE)
    ax.axvline(100, color=BEFORE, lw=2, label="σ before")
    for column, ends, colour, marker, name, dy in (
        ("controlled", "", STRATA, "s", "mean σ within strata (the paper's control)", -0.15),
        ("standardised", "standardised_", STANDARD, "o", "σ after standardising", 0.15),
    ):
        low, high = (control.sigma - control[f"{ends}{end}"] for end in ("high", "low"))
        ax.hlines(y + dy, scale * low, scale * high, color=colour, lw=2.5, alpha=0.5)
        ax.plot(scale * control[column], y + dy, marker, color=colour, ms=8, label=name)
    theirs = paper.set_index("attribute").eval("100 * controlled / (controlled + delta)")
    theirs = theirs.reindex(control.attribute)
    if theirs.notna().any():
        ax.plot(theirs, y - 0.15, "x", color=RED, ms=8, mew=2, label="the same in the paper")
    name_rows(ax, control.attribute)
    ax.set(xlabel="share of σ that is left (%)", xlim=(0, None))
    note(fig, "Whiskers: 95% intervals of the fall from σ before, for other images.")
    title = None
    known = control.dropna(subset="standardised").nsmallest(1, "standardised")
    for most in known.to_dict("records"):
        left, ours = scale * most["controlled"], scale * most["standardised"]
        title = f"Like Table 2, {most['class']}: controlling for {most['attribute']} leaves "
        title += f"{left:.0f}% of σ (strata) or {ours:.0f}% (standardised)"
    fig.legend(loc="outside upper center", ncols=2, title=title)
    return fig


def divided(record: pd.DataFrame) -> Figure:
    """The gap of each class in each world, and its two parts by intervention, a mark a training.

    From ``data/streets.csv``: the scenes get harder from left to right, and the rare look gets
    rarer in training from top to bottom.
    """
    columns, rows = sorted(set(record["harder"])), sorted(set(record["rare"]), reverse=True)
    classes = list(dict.fromkeys(record["class"]))
    looks = dict(zip(("gap", "scenes", "looks"), series("abc").values(), strict=True))
    size = (1.4 + 2.8 * len(columns), 1.4 + 1.9 * len(rows))
    share = {"sharex": True, "sharey": True, "squeeze": False}
    fig, axes = plt.subplots(len(rows), len(columns), figsize=size, **share)
    for ax, (rare, harder) in zip(axes.flat, product(rows, columns), strict=True):
        world = record[(record["rare"] == rare) & (record["harder"] == harder)]
        for nudge, (what, look) in zip((-0.25, 0, 0.25), looks.items(), strict=True):
            for training, part in world.groupby("training"):
                places = [classes.index(name) + nudge + 0.09 * training for name in part["class"]]
                estimates(ax, part, what, places, **look | {"ms": 4, "elinewidth": 1})
        ax.axvline(0, **ZERO)
        ax.set_title(f"scenes harder by {harder:g}, rare look {100 * rare:g}%", fontsize=9)
        name_rows(ax, classes)
    texts = {"gap": "the gap", "scenes": "due to the scenes", "looks": "due to the looks"}
    entries = marks({texts[what]: look for what, look in looks.items()})
    means = record.groupby(["rare", "harder", "class"])[["gap", "scenes"]].mean()
    rare, harder, name = largest = means["gap"].idxmax()
    gap, scenes = means.loc[largest]
    said = f"Of the largest gap ({name}, {gap:.0f} points), {scenes:.0f} are due to the scenes"
    headed(fig, said, entries)
    note(fig, "AP points, high less low income. A mark a training. Whiskers: 95%, other layouts.")
    return fig


def sliders(record: pd.DataFrame):
    """Two sliders over :func:`divided`, one world at a time, for a kernel."""

    def draw(harder: float, rare: float) -> None:
        world = record[(record["harder"] == harder) & (record["rare"] == rare)]
        show(divided(world), "world", f"The gap and its parts: harder {harder:g}, rare {rare:g}.")

    of = {name: sorted(set(record[name])) for name in ("harder", "rare")}
    choice = {name: ipywidgets.SelectionSlider(options=some) for name, some in of.items()}
    return ipywidgets.interactive(draw, {"manual": True, "manual_name": "show"}, **choice)


def against_truth(record: pd.DataFrame, analyses: Sequence[str], evaluated: int) -> Figure:
    """The part of the gap that each analysis puts down to the scenes, against the intervention's.

    From ``data/streets.csv``. The rows of the training `evaluated` took no part in the choice.
    """
    fig, axes = plt.subplots(1, len(analyses), figsize=(9.5, 4.4), sharex=True, sharey=True)
    used, errors = record["training"] == evaluated, []
    for ax, name in zip(axes, analyses, strict=True):
        for kept, look in ((~used, CHOOSING), (used, EVALUATING)):
            rows = record[kept]
            estimates(ax, rows, name, rows["scenes"], vertical=True, elinewidth=0.8, **look)
        errors.append((record[name] - record["scenes"])[used].abs().mean())
        ax.axline((0, 0), slope=1, **ZERO)
        ax.set_title(f"{name}\nmean error {errors[-1]:.1f} where it was evaluated", fontsize=10)
        ax.set_xlabel("due to the scenes, by intervention (AP points)")
    axes[0].set_ylabel("due to the scenes,\nby the analysis (AP points)")
    better = "nearer to" if errors[-1] < errors[0] else "no nearer to"
    entries = marks({"used to choose the analysis": CHOOSING, "used to evaluate it": EVALUATING})
    headed(fig, f"The chosen analysis comes {better} what the intervention says", entries)
    note(
        fig,
        "Each mark is a class in a world. Whiskers: 95%, other images. Broken line: both alike.",
    )
    return fig


def calibrated(table: pd.DataFrame, classes: Sequence[str]) -> Figure:
    """What detectors find of some classes on the same layouts, and AP, by value of each attribute.

    From ``data/street_recalls.csv``; the first detector is the one that the others are held to.
    """
    looks = series(table["detector"])
    lines = (table["attribute"] + ": " + table["value"]).replace("all: all", "all boxes")
    ends = {"found": "share", "found_low": "low", "found_high": "high"}
    percents = {name: 100 * table[column] for name, column in ends.items()}
    table = table.assign(line=lines, **percents).drop(columns=["low", "high"])
    texts = {"found": "boxes found\nat an IoU of .5 (%)", "AP": "AP over IoUs\nof .5 to .95 (%)"}
    fig, axes = plt.subplots(1, 2 * len(classes), figsize=(10, 4.6), sharey=True, squeeze=False)
    panels = product(classes, texts.items())
    for ax, (name, (column, text)) in zip(axes[0], panels, strict=True):
        part = table[table["class"] == name].dropna(subset=column)
        compared(ax, part, column, "line", "detector", looks, list(dict.fromkeys(table["line"])))
        ax.set(title=name, xlabel=text)
    wide = table.pivot(index=["class", "line"], columns="detector", values="AP")[list(looks)]
    off = wide.sub(wide.iloc[:, 0], axis=0).abs().mean()
    said = [f"{off[name]:.1f} points ({name})" for name in list(looks)[1:]]
    headed(
        fig, f"How far the AP of {' and '.join(classes)} is off: {', '.join(said)}", marks(looks)
    )
    note(fig, "Whiskers: 95% intervals, of boxes drawn one by one.")
    return fig


def error_rates(rates: pd.DataFrame) -> Figure:
    """Hits and false alarms of each rule, by kind of planted world.

    From :func:`helpers.icon2.verdicts.error_rates`.
    """
    outcomes = {
        "hit": ("names the planted confounder\n(should be 100)", BLUE),
        "exact": ("says rightly: the gap, or a part\n(suite's rule only; should be 100)", STANDARD),
        "false alarm": ("names another attribute\n(should be 0)", RED),
    }
    rules, worlds = (list(dict.fromkeys(rates[column])) for column in ("rule", "world"))
    fig, axes = plt.subplots(
        1, len(outcomes), figsize=(10, 1.6 + 0.26 * len(rules) * len(worlds)), sharey=True
    )
    names = [(rule, world) for world in worlds for rule in rules]
    for ax, (outcome, (title, colour)) in zip(axes, outcomes.items(), strict=True):
        part = rates[rates.outcome == outcome].set_index(["rule", "world"]).reindex(names)
        y = np.arange(len(names))
        ax.barh(y, 100 * part.share.fillna(0), 0.7, color=colour)
        ax.hlines(y, 100 * part.low, 100 * part.high, color=INK, lw=1.3)
        for at, row in zip(y, part.itertuples(), strict=True):
            if not np.isnan(row.share):
                text = f"{row.times:.0f} of {row.of:.0f}"
                ax.text(100 * row.high + 3, at, text, va="center", fontsize=8)
        ax.set_title(title, fontsize=10)
        ax.set(xlim=(0, 140), xticks=(0, 50, 100))
        for edge in np.arange(1, len(worlds)) * len(rules) - 0.5:
            ax.axhline(edge, color="#cccccc", lw=1)
    name_rows(axes[0], [f"{world}: {rule}" for rule, world in names])
    note(
        fig,
        "% of planted worlds (AP at an IoU of .5 and .75; the suite's rule with 20 resamples). "
        "Whiskers: 95% intervals. No number: the question has no answer there.",
    )
    return fig


def _colours(groups: Sequence[str]) -> dict[str, str]:
    """A colour for each sensitive value, dark to light in their order."""
    some = THREE if len(groups) <= 3 else sns.color_palette("rocket", len(groups)).as_hex()
    return dict(zip(groups, some, strict=False))


def _beside(places: np.ndarray, step: float, names: Sequence[str]) -> list[np.ndarray]:
    """Places of each name's marks, side by side around the common places."""
    return [places + step * (n - (len(names) - 1) / 2) for n in range(len(names))]


def _grouped_bars(ax: Axes, part: pd.DataFrame, order, groups, column: str, scale: float = 1.0):
    """Bars of each value side by side for the groups, with intervals, and "too few" for AP."""
    width, places = 0.8 / len(groups), np.arange(len(order))
    pairs = zip(_beside(places, width, groups), _colours(groups).items(), strict=True)
    for x, (group, colour) in pairs:
        rows = part[part.group == group].set_index("value").reindex(order)
        ax.bar(x, scale * rows[column].fillna(0), 0.94 * width, color=colour)
        ax.vlines(x, scale * rows.low, scale * rows.high, color=FAINT, lw=1.4)
        if column == "AP":
            for at in x[~rows.estimable.to_numpy(bool)]:
                ax.text(at, 0.5, "too few", rotation=90, ha="center", va="bottom", fontsize=7)


def _legend(fig: Figure, colours: Mapping[str, str], *more: Line2D, title: str | None = None):
    """A legend of colours, above the figure."""
    handles = [
        Line2D([], [], ls="", marker="s", ms=10, color=colour, label=name)
        for name, colour in colours.items()
    ]
    fig.legend(handles=[*handles, *more], loc="outside upper center", ncols=4, title=title)
