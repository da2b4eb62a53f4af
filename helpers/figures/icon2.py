"""Draw the figures of lessons 08, 08b and 12 from tables of :mod:`helpers.icon2`."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from helpers.figures import style
from helpers.figures.style import BLUE, FAINT, INK, RED, ZERO, Table

THREE = ("#5B0F2E", RED, "#F5C04A")  # groups from the first to the last, dark to light
CHANCE = {"chance (95% of permutations)": {"marker": "s", "color": "#dddddd", "ms": 10}}
CROSS = {"marker": "x", "color": RED, "mew": 1.8}  # the paper's values
STANDARD = "#009E73"
ENDS = {
    "controlled": ("high", "low"),
    "standardised": ("standardised_high", "standardised_low"),
}


def frame(
    picture: np.ndarray,
    boxes: Table,
    detections: Table,
    appearances: Mapping[str, np.ndarray],
) -> Figure:
    """Draw a frame with its boxes and detections.

    Parameters
    ----------
    picture : array of shape (height, width, 3)
    boxes : pandas.DataFrame
        With ``x1 y1 x2 y2 found``.
    detections : pandas.DataFrame
        With ``x1 y1 x2 y2 score hit``.
    appearances : mapping of str to array
        Small pictures, which are drawn below the frame.
    """
    height, width = picture.shape[:2]
    rows = [["frame"] * max(len(appearances), 1)]
    size = (9, 9 * height / width + 0.7)
    if appearances:
        rows.append(list(appearances))
        size = (9, 9 * height / width + 1.9)
    fig, axes = plt.subplot_mosaic(
        rows, figsize=size, height_ratios=[4, 1][: len(rows)]
    )
    ax = axes["frame"]
    ax.imshow(picture)
    for name, small in appearances.items():
        axes[name].imshow(small)
        axes[name].set_title(name, fontsize=9)
        axes[name].set_axis_off()
    outlined = {
        "ls": "-",
        "path_effects": [Stroke(linewidth=4, foreground=INK), Normal()],
    }
    kinds = {
        "a labelled box that was detected": outlined | {"color": "white"},
        "a miss: a labelled box that was not detected": outlined | {"color": "#F5C04A"},
        "a hit: a detection that took a box": {"ls": "--", "color": BLUE},
        "a false positive: it took no box": {"ls": ":", "color": RED},
    }
    missed = ~boxes["found"]
    false = ~detections["hit"]
    parts = [
        boxes[~missed],
        boxes[missed],
        detections[~false],
        detections[false],
    ]
    counted = {}
    for part, (name, look) in zip(parts, kinds.items(), strict=True):
        counted[f"{name} ({len(part)})"] = look | {"lw": 2.5}
        for row in part.itertuples():
            sides = row.x2 - row.x1, row.y2 - row.y1
            ax.add_patch(Rectangle((row.x1, row.y1), *sides, fill=False, lw=2, **look))
            if "score" in part:
                x, y, side = row.x2, row.y2, "top"
                if row.hit:
                    x, y, side = row.x1, row.y1, "bottom"
                text = {
                    "fontsize": 8,
                    "color": "white",
                    "backgroundcolor": look["color"],
                }
                ax.text(x, y, f"{row.score:.2f}", va=side, **text)
    ax.set(xticks=[], yticks=[], xlim=(0, width), ylim=(height, 0))
    title = f"{(~missed).sum()} of {len(boxes)} boxes are detected"
    title += f"; {false.sum()} of {len(detections)} detections are false positives"
    return style.headed(fig, title, counted)


def groups_by_class(groups: Table, sigmas: Table, by: str, paper: Table) -> Figure:
    """Draw AP of every group and class, and sigma with its null (Table 1).

    Parameters
    ----------
    groups : pandas.DataFrame
        From `Analysis.groups`.
    sigmas : pandas.DataFrame
        From `Analysis.sigmas`, with ``null_high`` and ``p_holm`` of `sigma_null`.
    by : str
        The name of the attribute.
    paper : pandas.DataFrame
        The paper's values.
    """
    classes = list(sigmas["class"])
    names = list(dict.fromkeys(groups["value"]))
    rows = np.arange(len(classes))
    size = (9.5, 0.9 + 0.42 * len(classes))
    fig, (left, right) = plt.subplots(
        1, 2, figsize=size, sharey=True, width_ratios=[3, 2]
    )
    looks = markers(names)
    theirs = paper.reindex(classes)
    printed = theirs.reset_index().melt("class", var_name="value", value_name="AP")
    style.compared(left, groups, "AP", "class", looks, "value", classes)
    crosses = {name: CROSS | {"color": look["color"]} for name, look in looks.items()}
    style.compared(left, printed, "AP", "class", crosses, "value", classes)
    known = groups.groupby("class")["AP"].count().reindex(classes)
    for y in np.flatnonzero(known == 0):
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
    has_paper = bool(set(names) & set(paper))
    if has_paper:
        looks["the paper's (x)"] = CROSS
        right.plot(theirs.sigma, rows, ls="", **CROSS)
    right.set(xlabel="σ of AP (points)", xlim=(0, None))
    right.tick_params(axis="y", length=0)
    text = "Whiskers: 95% CIs over images."
    if has_paper:
        text += " Crosses: the paper's values."
    significant = (sigmas["p_holm"] <= 0.05).sum()
    tested = sigmas["p_holm"].notna().sum()
    title = f"AP differs significantly by {by} in {significant} of {tested} rows"
    return style.headed(fig, title, looks | CHANCE, text)


def before_and_after(control: Table, null_high: float, paper: Table) -> Figure:
    """Draw the share of sigma that remains after each control (Table 2).

    Parameters
    ----------
    control : pandas.DataFrame
        From `Analysis.control`, of one class, in the order to draw.
    null_high : float
        The 95th percentile of sigma by chance.
    paper : pandas.DataFrame
        With ``attribute controlled delta``.
    """
    scale = 100 / control.sigma.iloc[0]
    looks = {
        "mean σ within strata (the paper's control)": {"marker": "s", "color": BLUE},
        "σ after standardising": {"color": STANDARD},
    }
    parts = {}
    for text, (column, ends) in zip(looks, ENDS.items(), strict=True):
        low, high = (control.sigma - control[end] for end in ends)
        values = pd.DataFrame({"value": control[column], "low": low, "high": high})
        parts[text] = (scale * values).assign(attribute=control["attribute"])
    both = pd.concat(parts, names=["method"]).reset_index("method")
    fig = style.forest(both, "value", "attribute", looks, "method", width=8.5, at=100)
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
    ax.set(xlabel="share of σ that remains (%)", xlim=(0, None))
    title = ""
    known = control.dropna(subset="standardised").nsmallest(1, "standardised")
    for most in known.to_dict("records"):
        left = scale * most["controlled"]
        ours = scale * most["standardised"]
        title = f"{most['class']}: controlling for {most['attribute']} leaves "
        title += f"{left:.0f}% of σ (strata) or {ours:.0f}% (standardised)"
    text = "Whiskers: 95% CIs over images of the change from σ before."
    return style.headed(fig, title, looks | CHANCE, text)


def rankings(comparison: Table) -> Figure:
    """Draw sigma of ProxyAP of every class and attribute, ours and the paper's.

    Parameters
    ----------
    comparison : pandas.DataFrame
        From `claims.tables_2_and_3`.
    """
    name = "σ(ProxyAP)"
    values = comparison.xs(name, axis=1, level=1).reset_index()
    table = values.melt(["class", "attribute"], var_name="source").dropna()
    looks = {"here": {"color": INK, "ms": 6}, "paper": CROSS}
    classes = table["class"].nunique()
    size = {"across": min(4, classes), "width": 10.5, "sharex": True}
    fig = style.forest(
        table, "value", "attribute", looks, "source", "class", at=1, **size
    )
    ranked = values.dropna(subset="here").sort_values("here")
    first = ranked.groupby("class")["attribute"].last()
    for ax in fig.axes:
        ax.set_xlabel("σ of ProxyAP (points)")
    listed = ", ".join(f"{attribute} ({name})" for name, attribute in first.items())
    title = f"The highest σ of ProxyAP: {listed}"
    return style.headed(fig, title, looks | {"the paper's bound of 1": ZERO})


def blame_by_strength(records: Table, table: Table, printed: pd.Series) -> Figure:
    """Draw σ of ProxyAP of the harmless scene by how far the scenes differ.

    Parameters
    ----------
    records : pandas.DataFrame
        Each setting is a marker, filled where the paper's rule blames the scene.
    table : pandas.DataFrame
        From `checks.blame_by_strength`.
    printed : pandas.Series
        The paper's values, which are drawn as crosses.
    """
    scene = records[
        (records["attribute"] == "scene") & records["strength"].isin(table["strength"])
    ]
    scene = scene[scene["scenario"] == "detector worse, other scenes"]
    blamed = scene["paper's rule"] == "flagged"
    fig, ax = plt.subplots(figsize=(9, 4.2))
    looks = {
        "not blamed by the paper's rule": {"color": BLUE, "mfc": "white", "ms": 6},
        "blamed by the paper's rule": {"color": BLUE, "ms": 6},
        "σ within the groups": {"marker": "D", "color": FAINT, "ms": 4},
        "a class of the paper": CROSS,
        "the paper's bound": ZERO,
    }
    offset = (scene["seed"] - scene["seed"].mean()) / 120
    texts = list(looks)
    for rows, text in zip((~blamed, blamed), texts, strict=False):
        at = scene["strength"][rows] + offset[rows]
        look = {"marker": "o", "ls": ""} | looks[text]
        ax.plot(at, scene["proxy_sigma"][rows], **look)
    ax.plot(scene["strength"] + offset, scene["proxy_within"], ls="", **looks[texts[2]])
    at = scene["strength"].max() + 0.35
    ax.plot(np.full(len(printed), at), printed, ls="", **CROSS)
    ax.axhline(1, **ZERO)
    ticks = [*table["strength"], at]
    counts = table[["strength", "paper's rule blames it", "n"]].to_numpy()
    names = [f"{strength:g}\n{count:.0f} of {n:.0f}" for strength, count, n in counts]
    ax.set_xticks(ticks, [*names, f"the paper's\n{len(printed)} classes"])
    ax.set(
        xlabel="difference of the scenes (log-odds), "
        "and settings in which they are blamed"
    )
    ax.set(ylabel="σ of the scene's\nProxyAP (points)", ylim=(0, None))
    first = table[table["paper's rule blames it"] > 0]["strength"]
    title = "The paper's rule blames no harmless scene"
    if len(first):
        title = (
            "The paper's rule blames harmless scenes that differ by "
            f"{first.min():g} log-odds or more"
        )
    return style.headed(fig, title, looks)


def recall_by_size(within: Table) -> Figure:
    """Draw the recall of each group by the size of the boxes, all classes pooled.

    Parameters
    ----------
    within : pandas.DataFrame
        From `pooled_recall.within_size`, for one attribute.
    """
    fig, ax = plt.subplots(figsize=(8.5, 3.4))
    title = within["attribute"].iloc[0]
    lines = within.rename(columns={"group": title})
    look = {"hue": title, "style": title, "dashes": False, "markers": True}
    sns.lineplot(lines, x="side", y="recall", palette="rocket", ax=ax, **look)
    ax.set_xlabel("side of the box (pixels); each bin has a fifth of all boxes")
    ax.set(ylabel="recall at IoU 0.5 (%)", ylim=(0, 102))
    return fig


def gaps(table: Table) -> Figure:
    """Draw gaps in AP with their intervals; the significant ones are red.

    Parameters
    ----------
    table : pandas.DataFrame
        From `group_gaps.gap_table`, in the order to draw.
    """
    looks = {
        "significant": {"color": RED},
        "may be due to class or size": {"color": BLUE},
        "not significant": {"color": FAINT},
    }
    table = table.assign(row=table["attribute"] + ": " + table["class"])
    fig = style.forest(table, "gap", "row", looks, "verdict", apart=0, at=0)
    fig.axes[0].set_xlabel("gap in AP between the lowest and highest group (points)")
    return style.headed(fig, "", looks)


def markers(groups: Sequence[str]) -> dict[str, dict]:
    """Return the markers of sensitive values, dark to light in their order."""
    colours = THREE
    if len(groups) > 3:
        colours = sns.color_palette("rocket", len(groups)).as_hex()
    markers = {}
    for name, colour in zip(groups, colours, strict=False):
        markers[name] = {
            "mec": INK,
            "mew": 0.6,
            "ms": 7,
            "color": colour,
        }
    return markers
