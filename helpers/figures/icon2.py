"""Figures of notebooks 08, each drawn from a table that :mod:`helpers.icon2` returned."""

from collections.abc import Mapping, Sequence

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from helpers.figures import style
from helpers.figures.style import BLUE, FAINT, INK, RED, ZERO, Looks, Table

THREE = ("#5B0F2E", RED, "#F5C04A")  # groups from the first to the last, dark to light
CHANCE = {"chance (95% of permutations)": {"marker": "s", "color": "#dddddd", "ms": 10}}
CROSS = {"marker": "x", "color": RED, "mew": 1.8}  # what the paper says
STANDARD = "#009E73"
ENDS = {"controlled": ("high", "low"), "standardised": ("standardised_high", "standardised_low")}
CHOOSING = {"mfc": "white", "color": FAINT, "ms": 5}
EVALUATING = {"marker": "D", "color": RED, "ms": 5}


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
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "lw": 2, "color": colour})
        ax.text(*place, text, ha="center", color=colour)
    title = "After Figure 1: two ways in which a group can have a lower average precision"
    return style.headed(fig, title)


def frame(
    picture: np.ndarray, boxes: Table, detections: Table, looks: Mapping[str, np.ndarray]
) -> Figure:
    """A frame, array (H, W, 3), with its boxes (``x1 y1 x2 y2 found``) and detections (``x1 y1 x2
    y2 score hit``); small pictures of the `looks` of a drawn street stand below."""
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
    outlined = {"ls": "-", "path_effects": [Stroke(linewidth=4, foreground=INK), Normal()]}
    kinds = {
        "a labelled box that was found": outlined | {"color": "white"},
        "a miss: a labelled box that was not found": outlined | {"color": "#F5C04A"},
        "a hit: a detection that took a box": {"ls": "--", "color": BLUE},
        "a false positive: it took no box": {"ls": ":", "color": RED},
    }
    missed, false = ~boxes.found, ~detections.hit
    parts = boxes[~missed], boxes[missed], detections[~false], detections[false]
    counted = {}
    for part, (name, look) in zip(parts, kinds.items(), strict=True):
        counted[f"{name} ({len(part)})"] = look | {"lw": 2.5}
        for row in part.itertuples():
            sides = row.x2 - row.x1, row.y2 - row.y1
            ax.add_patch(Rectangle((row.x1, row.y1), *sides, fill=False, lw=2, **look))
            if "score" in part:
                x, y, side = (row.x1, row.y1, "bottom") if row.hit else (row.x2, row.y2, "top")
                text = {"fontsize": 8, "color": "white", "backgroundcolor": look["color"]}
                ax.text(x, y, f"{row.score:.2f}", va=side, **text)
    ax.set(xticks=[], yticks=[], xlim=(0, width), ylim=(height, 0))
    title = f"{(~missed).sum()} of {len(boxes)} boxes are found"
    title += f"; {false.sum()} of {len(detections)} detections are false"
    return style.headed(fig, title, counted)


def chance_by_boxes(table: Table) -> Figure:
    """Sigma under permuted groups against a group's boxes: ``class boxes null_mean null_high``."""
    table = table.dropna(subset="null_high").sort_values("boxes")
    fig, ax = plt.subplots(figsize=(8.5, 4))
    looks = {
        "mean of the permutations": {"color": INK, "ms": 7},
        "up to the highest 5%": {"ls": "-", "color": FAINT, "lw": 6, "alpha": 0.5},
    }
    mean, highest = looks.values()
    ax.vlines(table.boxes, table.null_mean, table.null_high, **highest)
    ax.plot(table.boxes, table.null_mean, "o", **mean)
    for n, row in enumerate(table.to_dict("records")):
        text = {"xytext": (0, 5 + 12 * (n % 2)), "textcoords": "offset points", "ha": "center"}
        ax.annotate(row["class"], (row["boxes"], row["null_high"]), fontsize=9, **text)
    ax.set(xscale="log", xlabel="boxes in a group, here (log scale)")
    ax.set(ylabel="σ of AP (points)", ylim=(0, None))
    few, many = table.null_mean.iloc[[0, -1]]
    title = f"Where groups mean nothing, σ is {many:.1f} for many boxes and {few:.1f} for few"
    return style.headed(fig, title, looks)


def groups_by_class(groups: Table, sigmas: Table, by: str, paper: Table) -> Figure:
    """AP of every group and class with intervals, and sigma beside its null (Table 1).

    From :meth:`Analysis.groups` and :meth:`Analysis.sigmas`, the latter with ``null_high`` and
    ``p_holm`` of :func:`helpers.icon2.sigma_null`. `by` names the attribute, `paper` has its
    values."""
    classes, names = list(sigmas["class"]), list(dict.fromkeys(groups.value))
    size, rows = (9.5, 0.9 + 0.42 * len(classes)), np.arange(len(classes))
    fig, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=[3, 2])
    looks, theirs = _looks(names), paper.reindex(classes)
    printed = theirs.reset_index().melt("class", var_name="value", value_name="AP")
    style.compared(left, groups, "AP", "class", looks, "value", classes)
    crosses = {name: CROSS | {"color": look["color"]} for name, look in looks.items()}
    style.compared(left, printed, "AP", "class", crosses, "value", classes)
    for y in np.flatnonzero(groups.groupby("class").AP.count().reindex(classes) == 0):
        left.text(left.get_xlim()[0], y, "  not estimable", va="center", fontsize=9, color=FAINT)
    left.set_xlabel("average precision (%)")
    right.barh(rows, sigmas.null_high, 0.62, color="#dddddd")
    looks["σ over the groups"] = sigma = {"marker": "D", "color": INK, "ms": 6}
    style.estimates(right, sigmas, "sigma", rows, **sigma)
    if known := set(names) & set(paper):
        looks["the paper's (x)"] = CROSS
        right.plot(theirs.sigma, rows, ls="", **CROSS)
    right.set(xlabel="σ of AP (points)", xlim=(0, None))
    right.tick_params(axis="y", length=0)
    text = "Whiskers: 95% intervals for other images."
    text += " Crosses: the paper's values." * bool(known)
    beyond, known = (sigmas.p_holm <= 0.05).sum(), sigmas.p_holm.notna().sum()
    title = f"Like Table 1, by {by}: AP differs by more than chance in {beyond} of {known} rows"
    return style.headed(fig, f"{title} (Holm)", looks | CHANCE, text)


def instance_counts(groups: Table, min_boxes: int, by: str) -> Figure:
    """Boxes of every class and group (Figure 6), with the number that a cell needs.
    From :meth:`Analysis.groups`, without the row of all classes."""
    counts, looks = groups[["class", "value", "boxes"]], _looks(groups.value.unique())
    fig = style.forest(counts, "boxes", "class", looks, "value", at=min_boxes)
    least = min(counts.boxes.clip(lower=1).min(), min_boxes) / 2
    fig.axes[0].set(xscale="log", xlabel="boxes (log scale)", xlim=(least, None))
    few, classes = counts.groupby("class").boxes.min() < min_boxes, counts["class"].nunique()
    title = f"Like Figure 6, by {by}: too few boxes in {few.sum()} of {classes} classes"
    return style.headed(fig, title, looks | {f"below {min_boxes}: not estimable": ZERO})


def attributes_of_class(values: Table, shares: Table, cells: Table, title: str) -> Figure:
    """How hard each explanatory value is, who has it, and the groups within it, for one class.

    Figures 2 and 3 above 4 and 5: :meth:`Analysis.values`, :meth:`Analysis.shares` (P(e|a)), and
    :meth:`Analysis.cells` (AP of every group within every value)."""
    names, looks = list(dict.fromkeys(values.attribute)), _looks(shares.group.unique())
    counts = [values.attribute.eq(n).sum() for n in names]
    share = {"width_ratios": counts, "sharey": "row", "sharex": "col", "squeeze": False}
    fig, axes = plt.subplots(3, len(names), figsize=(10, 7), **share)
    shares = shares.assign(**100 * shares[["share", "low", "high"]])
    every = {"": {"color": FAINT}}
    for (top, middle, below), name in zip(axes.T, names, strict=True):
        part, shared, within = (t[t.attribute == name] for t in (values, shares, cells))
        for at, row in zip(_bars(top, part, "AP", every), part.itertuples(), strict=True):
            text, colour = (f"{row.AP:.0f}", "white") if row.estimable else ("too few", INK)
            top.text(at, 1, text, ha="center", va="bottom", fontsize=8, color=colour)
        _bars(middle, shared, "share", looks)
        for at in _bars(below, within, "AP", looks)[~within.estimable.astype(bool)]:
            below.text(at, 0.5, "too few", rotation=90, ha="center", va="bottom", fontsize=7)
        below.tick_params(axis="x", rotation=35)
        plt.setp(below.get_xticklabels(), ha="right", rotation_mode="anchor")
        top.set_title(name)
    axes[0, 0].set_ylabel("AP of the value (%)")
    axes[1, 0].set_ylabel("share of the\ngroup's boxes (%)")
    axes[2, 0].set_ylabel("AP of the group\nwithin the value (%)")
    text = "Whiskers: 95% intervals for other images. Too few: boxes, so AP is not estimated."
    return style.headed(fig, title, {n: look | {"marker": "s"} for n, look in looks.items()}, text)


def before_and_after(control: Table, null_high: float, paper: Table) -> Figure:
    """The share of sigma that each control leaves, an attribute a row (Table 2).

    From :meth:`Analysis.control`, one class, in the order to draw; `null_high` is what sigma
    reaches by chance, `paper` (``attribute controlled delta``) what its control leaves."""
    scale = 100 / control.sigma.iloc[0]
    looks = {
        "mean σ within strata (the paper's control)": {"marker": "s", "color": BLUE},
        "σ after standardising": {"color": STANDARD},
    }
    parts = {}
    for text, (column, ends) in zip(looks, ENDS.items(), strict=True):
        low, high = (control.sigma - control[end] for end in ends)
        values = {"value": control[column], "low": low, "high": high}
        parts[text] = (scale * pd.DataFrame(values)).assign(attribute=control.attribute)
    both = pd.concat(parts, names=["way"]).reset_index("way")
    fig = style.forest(both, "value", "attribute", looks, "way", width=8.5, at=100)
    [ax] = fig.axes
    ax.axvspan(0, scale * null_high, color="#e9e9e9", zorder=0)
    looks["σ before"] = ZERO
    theirs = paper.set_index("attribute").eval("100 * controlled / (controlled + delta)")
    theirs = theirs.reindex(control.attribute)
    if theirs.notna().any():
        ax.plot(theirs, np.arange(len(theirs)) - 0.2, ls="", **CROSS)
        looks["the same in the paper"] = CROSS
    ax.set(xlabel="share of σ that is left (%)", xlim=(0, None))
    title = ""
    known = control.dropna(subset="standardised").nsmallest(1, "standardised")
    for most in known.to_dict("records"):
        left, ours = scale * most["controlled"], scale * most["standardised"]
        title = f"Like Table 2, {most['class']}: controlling for {most['attribute']} leaves "
        title += f"{left:.0f}% of σ (strata) or {ours:.0f}% (standardised)"
    text = "Whiskers: 95% intervals of the fall from σ before, for other images."
    return style.headed(fig, title, looks | CHANCE, text)


def divided(record: Table) -> Figure:
    """The gap of each class in each world, and its two parts by intervention, a mark a training.
    From ``data/streets.csv``: scenes get harder to the right, and the rare look rarer downwards."""
    record = record.sort_values(["rare", "harder"], ascending=[False, True], kind="stable")
    texts = {"gap": "the gap", "scenes": "due to the scenes", "looks": "due to the looks"}
    table = style.stacked(record, texts, "part")
    of_training = table["training"].map(" {}".format)
    scenes = table["harder"].map("harder by {:g}, ".format)
    table["panel"] = scenes + (100 * table["rare"]).map("rare look {:g}%".format)
    table["mark"] = table["part"] + of_training
    looks = {text: look | {"ms": 4} for text, look in style.series(texts.values()).items()}
    each = {f"{t}{n}": look for t, look in looks.items() for n in of_training.unique()}
    across = record["harder"].nunique()
    size = {"across": across, "width": 1.4 + 2.8 * across, "sharex": True}
    fig = style.forest(table, "value", "class", each, "mark", "panel", apart=0.3, at=0, **size)
    means = record.groupby(["rare", "harder", "class"])[["gap", "scenes"]].mean()
    _, _, name = largest = means["gap"].idxmax()
    gap, scenes = means.loc[largest]
    said = f"Of the largest gap ({name}, {gap:.0f} points), {scenes:.0f} are due to the scenes"
    text = "AP points, high less low income, whose scenes are harder by so much. A mark a training."
    text += " Whiskers: 95%, other layouts."
    return style.headed(fig, said, style.series(texts.values()), text)


def sliders(record: Table):
    """Two sliders over :func:`divided`, one world at a time, for a kernel."""

    def draw(harder: float, rare: float) -> None:
        world = record[(record["harder"] == harder) & (record["rare"] == rare)]
        said = f"The gap and its parts: harder {harder:g}, rare {rare:g}."
        style.show(divided(world), "world", said)

    of = {name: sorted(set(record[name])) for name in ("harder", "rare")}
    choice = {name: ipywidgets.SelectionSlider(options=some) for name, some in of.items()}
    return ipywidgets.interactive(draw, {"manual": True, "manual_name": "show"}, **choice)


def against_truth(record: Table, analyses: Sequence[str], evaluated: int) -> Figure:
    """The part of the gap that each analysis puts down to the scenes, against the intervention's.
    From ``data/streets.csv``. The rows of the training `evaluated` took no part in the choice."""
    fig, axes = plt.subplots(1, len(analyses), figsize=(9.5, 4.4), sharex=True, sharey=True)
    used, errors = record["training"] == evaluated, []
    for ax, name in zip(axes, analyses, strict=True):
        for kept, look in ((~used, CHOOSING), (used, EVALUATING)):
            rows = record[kept]
            style.estimates(ax, rows, name, rows["scenes"], vertical=True, elinewidth=0.8, **look)
        errors.append((record[name] - record["scenes"])[used].abs().mean())
        ax.axline((0, 0), slope=1, **ZERO)
        ax.set_title(f"{name}\nmean error {errors[-1]:.1f} where it was evaluated", fontsize=10)
        ax.set_xlabel("due to the scenes, by intervention (AP points)")
    axes[0].set_ylabel("due to the scenes,\nby the analysis (AP points)")
    better = "nearer to" if errors[-1] < errors[0] else "no nearer to"
    entries = {"used to choose the analysis": CHOOSING, "used to evaluate it": EVALUATING}
    text = "Each mark is a class in a world. Whiskers: 95%, other images. Broken line: both alike."
    title = f"The chosen analysis comes {better} what the intervention says"
    return style.headed(fig, title, entries, text)


def calibrated(table: Table, classes: Sequence[str]) -> Figure:
    """What detectors find of some classes on the same layouts, and AP, by value of each attribute.
    From ``data/street_recalls.csv``; the first detector is the one that the others are held to."""
    looks = style.series(table["detector"])
    lines = (table["attribute"] + ": " + table["value"]).replace("all: all", "all boxes")
    ends = {"found": "share", "found_low": "low", "found_high": "high"}
    percents = {name: 100 * table[column] for name, column in ends.items()}
    table = table.assign(line=lines, **percents).drop(columns=["low", "high"])
    texts = {"found": "boxes found at an IoU of .5 (%)", "AP": "AP over IoUs of .5 to .95 (%)"}
    both = style.stacked(table, texts, "measure").dropna(subset="value")
    both["panel"] = both["class"] + ": " + both["measure"]
    both = both.sort_values("class", key=lambda column: column.map(classes.index), kind="stable")
    columns = "value", "line", looks, "detector", "panel"
    fig = style.forest(both, *columns, across=2 * len(classes), width=10, names=lines)
    wide = table.pivot(index=["class", "line"], columns="detector", values="AP")[list(looks)]
    off = wide.sub(wide.iloc[:, 0], axis=0).abs().mean()
    said = [f"{off[name]:.1f} points ({name})" for name in list(looks)[1:]]
    title = f"How far the AP of {' and '.join(classes)} is off: {', '.join(said)}"
    return style.headed(fig, title, looks, "Whiskers: 95% intervals, of boxes drawn one by one.")


def error_rates(rates: Table) -> Figure:
    """Hits and false alarms of each rule by kind of planted world, from `verdicts.error_rates`."""
    outcomes = {
        "hit": "names the planted confounder (should be 100)",
        "exact": "says rightly: the gap, or a part (suite's rule only; should be 100)",
        "false alarm": "names another attribute (should be 0)",
    }
    looks, worlds, apart = style.series(rates["rule"]), list(rates["world"].unique()), 0.28
    table = pd.concat(rates[rates["outcome"] == name] for name in outcomes)
    percents = 100 * table[["share", "low", "high"]]
    table = table.assign(title=table["outcome"].map(outcomes), **percents)
    fig = style.forest(table, "share", "world", looks, "rule", "title", names=worlds, apart=apart)
    for ax, (_, part) in zip(fig.axes, table.groupby("title", sort=False), strict=True):
        for row in part.dropna(subset="share").to_dict("records"):
            at = worlds.index(row["world"]) + apart * (list(looks).index(row["rule"]) - 1)
            text = f"{row['times']:.0f} of {row['of']:.0f}"
            ax.text(row["high"] + 7, at, text, va="center", fontsize=8)
        ax.set(xlim=(-5, 140), xticks=(0, 50, 100))
    text = "% of planted worlds (AP at an IoU of .5 and .75; the suite's rule with 20 resamples). "
    text += "Whiskers: 95% intervals. No mark: the question has no answer there."
    return style.headed(fig, "", looks, text)


def _looks(groups: Sequence[str]) -> dict[str, dict]:
    """The marks of sensitive values, dark to light in their order."""
    some = THREE if len(groups) <= 3 else sns.color_palette("rocket", len(groups)).as_hex()
    look = {"mec": INK, "mew": 0.6, "ms": 7}
    return {name: look | {"color": colour} for name, colour in zip(groups, some, strict=False)}


def _bars(ax: Axes, table: Table, column: str, looks: Looks) -> pd.Series:
    """Bars by value, side by side for the groups if there are any, with intervals: their places."""
    names, groups, width = list(table.value.unique()), list(looks), 0.8 / len(looks)
    at, colours = table.value.map(names.index), next(iter(looks.values()))["color"]
    if len(groups) > 1:
        at = at + table.group.map(groups.index) * width - 0.4 + width / 2
        colours = [looks[group]["color"] for group in table.group]
    ax.bar(at, table[column].fillna(0), 0.94 * width, color=colours)
    ax.vlines(at, table.low, table.high, color=INK, lw=1.3)
    ax.set_xticks(range(len(names)), names)
    return at
