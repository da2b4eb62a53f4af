"""Figures of notebooks 08, each drawn from a table that :mod:`helpers.icon2` returned."""

from collections.abc import Mapping, Sequence

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
ENDS = {
    "controlled": ("high", "low"),
    "standardised": ("standardised_high", "standardised_low"),
}


def frame(
    picture: np.ndarray,
    boxes: Table,
    detections: Table,
    looks: Mapping[str, np.ndarray],
) -> Figure:
    """A frame, array (H, W, 3), with its boxes (``x1 y1 x2 y2 found``) and detections (``x1 y1 x2
    y2 score hit``); small pictures of the `looks` of a drawn street stand below."""
    height, width = picture.shape[:2]
    rows = [["frame"] * max(len(looks), 1), list(looks)][: 1 + bool(looks)]
    size = (9, 9 * height / width + 0.7 + 1.2 * bool(looks))
    fig, axes = plt.subplot_mosaic(
        rows, figsize=size, height_ratios=[4, 1][: len(rows)]
    )
    ax = axes["frame"]
    ax.imshow(picture)
    for name, look in looks.items():
        axes[name].imshow(look)
        axes[name].set_title(name, fontsize=9)
        axes[name].set_axis_off()
    outlined = {
        "ls": "-",
        "path_effects": [Stroke(linewidth=4, foreground=INK), Normal()],
    }
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
                x, y, side = (
                    (row.x1, row.y1, "bottom") if row.hit else (row.x2, row.y2, "top")
                )
                text = {
                    "fontsize": 8,
                    "color": "white",
                    "backgroundcolor": look["color"],
                }
                ax.text(x, y, f"{row.score:.2f}", va=side, **text)
    ax.set(xticks=[], yticks=[], xlim=(0, width), ylim=(height, 0))
    title = f"{(~missed).sum()} of {len(boxes)} boxes are found"
    title += f"; {false.sum()} of {len(detections)} detections are false"
    return style.headed(fig, title, counted)


def groups_by_class(groups: Table, sigmas: Table, by: str, paper: Table) -> Figure:
    """AP of every group and class with intervals, and sigma beside its null (Table 1).

    From :meth:`Analysis.groups` and :meth:`Analysis.sigmas`, the latter with ``null_high`` and
    ``p_holm`` of :func:`helpers.icon2.sigma_null`. `by` names the attribute, `paper` has its
    values."""
    classes, names = list(sigmas["class"]), list(dict.fromkeys(groups.value))
    size, rows = (9.5, 0.9 + 0.42 * len(classes)), np.arange(len(classes))
    fig, (left, right) = plt.subplots(
        1, 2, figsize=size, sharey=True, width_ratios=[3, 2]
    )
    looks, theirs = marks(names), paper.reindex(classes)
    printed = theirs.reset_index().melt("class", var_name="value", value_name="AP")
    style.compared(left, groups, "AP", "class", looks, "value", classes)
    crosses = {name: CROSS | {"color": look["color"]} for name, look in looks.items()}
    style.compared(left, printed, "AP", "class", crosses, "value", classes)
    for y in np.flatnonzero(groups.groupby("class").AP.count().reindex(classes) == 0):
        left.text(
            left.get_xlim()[0],
            y,
            "  not estimable",
            va="center",
            fontsize=9,
            color=FAINT,
        )
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


def attributes_of_class(
    values: Table, shares: Table, cells: Table, title: str
) -> Figure:
    """How hard each explanatory value is, who has it, and the groups within it, for one class.

    Figures 2 and 3 above 4 and 5: :meth:`Analysis.values`, :meth:`Analysis.shares` (P(e|a)), and
    :meth:`Analysis.cells` (AP of every group within every value)."""
    names, looks = list(dict.fromkeys(values.attribute)), marks(shares.group.unique())
    counts = [values.attribute.eq(n).sum() for n in names]
    share = {"width_ratios": counts, "sharey": "row", "sharex": "col", "squeeze": False}
    fig, axes = plt.subplots(3, len(names), figsize=(10, 7), **share)
    shares = shares.assign(**100 * shares[["share", "low", "high"]])
    every = {"": {"color": FAINT}}
    for (top, middle, below), name in zip(axes.T, names, strict=True):
        part, shared, within = (t[t.attribute == name] for t in (values, shares, cells))
        for at, row in zip(
            _bars(top, part, "AP", every), part.itertuples(), strict=True
        ):
            text, colour = (
                (f"{row.AP:.0f}", "white") if row.estimable else ("too few", INK)
            )
            top.text(at, 1, text, ha="center", va="bottom", fontsize=8, color=colour)
        _bars(middle, shared, "share", looks)
        for at in _bars(below, within, "AP", looks)[~within.estimable.astype(bool)]:
            below.text(
                at, 0.5, "too few", rotation=90, ha="center", va="bottom", fontsize=7
            )
        below.tick_params(axis="x", rotation=35)
        plt.setp(below.get_xticklabels(), ha="right", rotation_mode="anchor")
        top.set_title(name)
    axes[0, 0].set_ylabel("AP of the value (%)")
    axes[1, 0].set_ylabel("share of the\ngroup's boxes (%)")
    axes[2, 0].set_ylabel("AP of the group\nwithin the value (%)")
    text = "Whiskers: 95% intervals for other images. Too few: boxes, so AP is not estimated."
    return style.headed(
        fig, title, {n: look | {"marker": "s"} for n, look in looks.items()}, text
    )


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
    theirs = paper.set_index("attribute").eval(
        "100 * controlled / (controlled + delta)"
    )
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
    From ``data/streets.csv``, of the classes with two looks. Downwards scenes get harder, and
    within a strength the second look rarer in training."""
    record = record[record.groupby("class")["looks"].transform(np.ptp) > 5]
    record = record.sort_values(
        ["harder", "rare"], ascending=[True, False], kind="stable"
    )
    texts = {
        "gap": "the gap",
        "scenes": "due to the scenes",
        "looks": "due to the looks",
    }
    table = style.stacked(record, texts, "part")
    of_training = table["training"].map(" {}".format)
    scenes = table["harder"].map("harder by {:g}, ".format)
    table["world"] = scenes + (100 * table["rare"]).map("second look {:g}%".format)
    table["mark"] = table["part"] + of_training
    looks = {
        text: look | {"ms": 5} for text, look in style.series(texts.values()).items()
    }
    each = {f"{t}{n}": look for t, look in looks.items() for n in of_training.unique()}
    size = {"across": record["class"].nunique(), "width": 10, "sharex": True}
    fig = style.forest(
        table, "value", "world", each, "mark", "class", apart=0.3, at=0, **size
    )
    gap, scenes, name = record.loc[record["gap"].idxmax(), ["gap", "scenes", "class"]]
    parts = f"{scenes:.0f} are due to the scenes, the rest to the looks"
    title = f"The largest gap ({name}, {gap:.0f} points): {parts}"
    text = "AP points, high less low income. A mark a training. Whiskers: 95%, other layouts."
    return style.headed(fig, title, style.series(texts.values()), text)


def half_widths(groups: Table, paper: Table) -> Figure:
    """Half a 95% interval by the boxes of a group, from :meth:`Analysis.groups`, the line through
    them that falls with the root of the number, and the half widths that the `paper` prints."""
    known = groups[(groups["class"] != "all classes") & groups["estimable"]]
    boxes, half = (
        known["boxes"].to_numpy(float),
        (known["high"] - known["low"]).to_numpy() / 2,
    )
    scale = np.exp(np.mean(np.log(half * np.sqrt(boxes))))
    fig, ax = plt.subplots(figsize=(9, 4))
    ax.set(
        xscale="log", yscale="log", xlabel="boxes of the class in the group (log scale)"
    )
    ax.set(ylabel="half width of the interval\n(AP points, log scale)")
    looks = {"here: other frames (bootstrap)": {"color": INK, "ms": 6}}
    ax.plot(boxes, half, "o", **looks["here: other frames (bootstrap)"])
    title = "Half an interval falls with the root of the number of boxes"
    widths = paper.filter(like="_half_width").drop("all classes", errors="ignore")
    if len(widths):
        values = np.unique(widths.to_numpy())
        needed = (scale / values) ** 2
        looks["the paper's, where the line reaches them"] = CROSS
        ax.plot(needed, values, ls="", **CROSS)
        counts = pd.Series(widths.to_numpy().ravel()).value_counts()
        for at, value in zip(needed, values, strict=True):
            text = {"xytext": (8, 3), "textcoords": "offset points", "fontsize": 8}
            ax.annotate(f"±{value}: {counts[value]} times", (at, value), **text)
        about = float(f"{needed[0]:.2g}")
        title = (
            f"To be sure to ±{values[0]}, a group would need about {about:,.0f} boxes"
        )
        boxes = np.append(boxes, needed[0])
    ends = np.array([boxes.min(), boxes.max()])
    ax.plot(ends, scale / np.sqrt(ends), color=FAINT, lw=1)
    return style.headed(fig, title, looks)


def rankings(beside: Table) -> Figure:
    """Sigma of ProxyAP of every class and attribute, ours and the paper's (Tables 2 and 3), from
    `claims.tables_2_and_3`."""
    name = "σ(ProxyAP)"
    values = beside.xs(name, axis=1, level=1).reset_index()
    table = values.melt(["class", "attribute"], var_name="whose").dropna()
    looks = {"here": {"color": INK, "ms": 6}, "paper": CROSS}
    classes = table["class"].nunique()
    size = {"across": min(4, classes), "width": 10.5, "sharex": True}
    fig = style.forest(
        table, "value", "attribute", looks, "whose", "class", at=1, **size
    )
    first = (
        values.dropna(subset="here")
        .sort_values("here")
        .groupby("class")["attribute"]
        .last()
    )
    told = ", ".join(f"{attribute} ({name})" for name, attribute in first.items())
    title = f"Like Tables 2 and 3, σ of ProxyAP: here the highest are {told}"
    return style.headed(fig, title, looks | {"the paper's bound of 1": ZERO})


def doses(worlds: Table, table: Table, printed: pd.Series) -> Figure:
    """σ of ProxyAP of the harmless scene by how far scenes differ, each world a mark, filled where
    the paper's rule blames it; the values that the paper has `printed`. `table` counts them."""
    scene = worlds[
        (worlds["attribute"] == "scene") & worlds["strength"].isin(table["strength"])
    ]
    scene = scene[scene["world"] == "detector worse, other scenes"]
    blamed = scene["paper's rule"] == "names it"
    fig, ax = plt.subplots(figsize=(9, 4.2))
    looks = {
        "not blamed by the paper's rule": {"color": BLUE, "mfc": "white", "ms": 6},
        "blamed by the paper's rule": {"color": BLUE, "ms": 6},
        "σ within the groups": {"marker": "D", "color": FAINT, "ms": 4},
        "a class of the paper": CROSS,
        "the paper's bound": ZERO,
    }
    beside = (scene["seed"] - scene["seed"].mean()) / 120
    texts = list(looks)
    for rows, text in zip((~blamed, blamed), texts, strict=False):
        at = scene["strength"][rows] + beside[rows]
        ax.plot(at, scene["proxy_sigma"][rows], ls="", **{"marker": "o"} | looks[text])
    ax.plot(scene["strength"] + beside, scene["proxy_within"], ls="", **looks[texts[2]])
    at = scene["strength"].max() + 0.35
    ax.plot(np.full(len(printed), at), printed, ls="", **CROSS)
    ax.axhline(1, **ZERO)
    ticks = [*table["strength"], at]
    counts = table[["strength", "paper's rule blames it", "worlds"]].to_numpy()
    names = [f"{dose:g}\n{times:.0f} of {of:.0f}" for dose, times, of in counts]
    ax.set_xticks(ticks, [*names, f"the paper's\n{len(printed)} classes"])
    ax.set(
        xlabel="how far scenes differ (log-odds), and how many worlds are blamed on them"
    )
    ax.set(ylabel="σ of the scene's\nProxyAP (points)", ylim=(0, None))
    first = table[table["paper's rule blames it"] > 0]["strength"]
    title = "However far scenes differ here, the paper's rule blames no harmless one"
    if len(first):
        title = f"Where scenes differ by {first.min():g} log-odds or more, the paper's rule can "
        title += (
            f"blame a harmless one; the paper's own σ is {printed.max():.2f} at most"
        )
    return style.headed(fig, title, looks)


def recall_by_size(within: Table, title: str) -> Figure:
    """Recall of each group by the size of the boxes, all classes pooled; from
    `pooled_recall.within_size`, one attribute."""
    fig, ax = plt.subplots(figsize=(8.5, 3.6))
    groups = list(dict.fromkeys(within["group"]))
    looks = style.series(groups)
    sizes = within.drop_duplicates("bin")
    for group, look in looks.items():
        part = within[within["group"] == group].dropna(subset="recall")
        ax.plot(part["bin"], part["recall"], ls="-", lw=1, **look)
    ax.set_xticks(sizes["bin"], sizes["side"])
    ax.set(
        xlabel="side of the box (pixels, root of its area; a fifth of all boxes each)"
    )
    ax.set(ylabel="boxes that are found (%)", ylim=(0, 102))
    return style.headed(
        fig, title, looks, "Points with few boxes are uncertain: see the table."
    )


def marks(groups: Sequence[str]) -> dict[str, dict]:
    """The marks of sensitive values, dark to light in their order."""
    some = (
        THREE if len(groups) <= 3 else sns.color_palette("rocket", len(groups)).as_hex()
    )
    look = {"mec": INK, "mew": 0.6, "ms": 7}
    return {
        name: look | {"color": colour}
        for name, colour in zip(groups, some, strict=False)
    }


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
