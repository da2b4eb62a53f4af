"""Figures of the results checks: Figures 11 to 14, and both methods against each other."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.figures.style import INK, context_name, whiskers

NOTHING = "nothing"
NAMED = 3  # ranks apart from which a pair is named in the figure


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
        From `paste_counts.counts`; optionally paper (composites of 25, or NaN).
    pictures : dict from (context class, what is pasted) to uint8 tensor (3, H, W)
        One example for each bar, shown beneath it.
    colours : dict from class to colour
        A bar has its object's; the context alone has its own class's.
    context_of : dict from class to context name, optional

    Returns
    -------
    Figure
    """
    contexts = list(dict.fromkeys(table["context_class"]))
    rows = -(-len(contexts) // 2)
    fig, axes = plt.subplots(rows, 2, figsize=(9.5, 3.9 * rows), squeeze=False)
    for ax, name in zip(axes.flat, contexts, strict=False):
        part = table[table["context_class"] == name].reset_index(drop=True)
        _bars(ax, part, colours)
        for x, pasted in enumerate(part["pasted"]):
            _beneath(ax, x, len(part), pictures[name, pasted])
        ax.set_title(f"{context_name(name, context_of)}: taken for {name}")
    for ax in axes.flat[len(contexts) :]:
        ax.set_axis_off()
    if "paper" in table and table["paper"].notna().any():
        mark = Line2D([], [], ls="", marker="D", mfc="white", mec=INK, label="the paper's count")
        fig.legend(handles=[mark], loc="outside upper right")
    return fig


def two_methods(
    pairs: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
    *,
    names: Sequence[str] = ("mosaics", "pasting"),
    value: str = "context_effect",
) -> Figure:
    """One method's effects against the other's, a point a pair of object and context.

    Parameters
    ----------
    pairs : DataFrame
        From `ranks.apart`.
    colours : dict from class to colour
        A point's face is its context's colour, its rim its object's.
    context_of : dict from class to context name, optional
    names : two str
        Of the methods, across and up.
    value : str
        The effect, in logits.

    Returns
    -------
    Figure
        Pairs that the methods rank far apart are named.
    """
    fig, ax = plt.subplots(figsize=(8.5, 5.0))
    ax.axhline(0, color=INK, ls="--", lw=1)
    ax.axvline(0, color=INK, ls="--", lw=1)
    for row in pairs.to_dict("records"):
        colour = colours[row["context_class"]]
        at = [row[f"{value}_{which}"] for which in ("first", "second")]
        ends = [_ends(row, value, which) for which in ("first", "second")]
        ax.errorbar(*at, xerr=ends[0], yerr=ends[1], fmt="none", ecolor=colour, lw=1, alpha=0.6)
        ax.plot(*at, "o", ms=11, mfc=colour, mec=colours[row["object_class"]], mew=3, zorder=3)
        if row["ranks_apart"] >= NAMED:
            label = f"{row['object_class']} + {context_name(row['context_class'], context_of)}"
            place = {"textcoords": "offset points", "ha": "center", "fontsize": 9, "zorder": 4}
            ax.annotate(label, at, (0, 11), **place)
    ax.margins(0.12)
    ax.set(xlabel=f"effect in {names[0]} (logits)", ylabel=f"effect in {names[1]} (logits)")
    grey = {"ls": "", "marker": "o", "ms": 11, "mew": 3}
    handles = [
        Line2D([], [], mfc="#bbbbbb", mec="#bbbbbb", label="face: the context's class", **grey),
        Line2D([], [], mfc="white", mec="#777777", label="rim: the object's class", **grey),
    ]
    for name in dict.fromkeys(pairs["context_class"]):
        label = f"{name}, {context_name(name, context_of)}"
        handles.append(Line2D([], [], ls="", marker="s", ms=9, color=colours[name], label=label))
    fig.legend(handles=handles, loc="outside right center")
    return fig


def _bars(ax: Axes, part: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """One context's counts with their intervals; percentages where totals differ."""
    name, total = part["context_class"].iloc[0], part["images"].to_numpy()
    alike = len(set(total)) == 1
    whole, at = (total[0] if alike else 100), np.arange(len(part))
    faces = [colours[name if pasted == NOTHING else pasted] for pasted in part["pasted"]]
    ax.bar(at, part["share"] * whole, 0.7, color=faces)
    ax.vlines(at, part["low"] * whole, part["high"] * whole, color=INK, lw=1.6)
    for x, row in part.iterrows():
        label = f"{row['predicted']}" if alike else f"{row['predicted']} of {row['images']}"
        ax.text(x + 0.06, (row["high"] + 0.016) * whole, label, fontsize=9)
    if "paper" in part and alike:
        paper = part["paper"] / 25 * whole
        ax.plot(at - 0.22, paper, "D", color="white", mec=INK, ms=6, zorder=3, clip_on=False)
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


def _ends(row: dict, value: str, which: str) -> np.ndarray:
    return whiskers(*(row[f"{value}{end}_{which}"] for end in ("", "_low", "_high")))
