"""Figures of explanations: Figure 16, relevance on the background, answers and doses."""

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
from matplotlib.lines import Line2D

from helpers.figures.style import FAINT, INK, context_name

MAP = "magma"
YES, NO = "#B5651D", "#EDEDED"


def explained(
    images: torch.Tensor,
    maps: torch.Tensor,
    captions: Sequence[str],
    *,
    cols: int = 2,
) -> Figure:
    """Image beside map beside overlay, all maps on one colour scale (Figure 16).

    Parameters
    ----------
    images : uint8 tensor (N, 3, H, W)
    maps : float tensor (N, H, W)
        Positive relevance is drawn, as a share of the map's largest; an empty map is black.
    captions : sequence of N str
    cols : int
        Examples (of three pictures each) in a row.

    Returns
    -------
    Figure
    """
    cols = min(cols, len(images))
    rows = -(-len(images) // cols)
    cell = min(9.2 / (3 * cols), 1.7)
    fig, axes = plt.subplots(
        rows, 3 * cols, figsize=(3 * cols * cell + 0.6, rows * (cell + 0.25)), squeeze=False
    )
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
        From `relevance.per_class`.
    colours : dict from class to colour
    context_of : dict from class to context name, optional

    Returns
    -------
    Figure
    """
    fig, ax = plt.subplots(figsize=(8.5, 1.3 + 0.5 * len(table)))
    for y, row in enumerate(table.to_dict("records")):
        ends = 100 * np.array(
            [[row["share"] - row["share_low"]], [row["share_high"] - row["share"]]]
        )
        look = {"fmt": "o", "color": colours[row["class"]], "ms": 9, "lw": 2, "capsize": 3}
        if np.isfinite(row["share"]):
            ax.errorbar(100 * row["share"], y, xerr=np.nan_to_num(ends.clip(0)), **look)
        ax.plot([100 * row["area"]] * 2, [y - 0.33, y + 0.33], color=INK, lw=2.5)
    names = [f"{name} ({context_name(name, context_of)})" for name in table["class"]]
    ax.set_yticks(range(len(table)), names)
    ax.set(ylim=(len(table) - 0.4, -0.6), xlabel="relevance on the background (%)")
    ax.grid(axis="x", color="#eeeeee")
    handles = [
        Line2D([], [], marker="o", ms=9, ls="", color=FAINT, label="GradCAM, with interval"),
        Line2D([], [], marker="|", ms=14, mew=2.5, ls="", color=INK, label="a uniform map"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2)
    return fig


def answers(table: pd.DataFrame, context_of: Mapping[str, str] | None = None) -> Figure:
    """What each method answers for each context, with its measure, beside what was planted.

    Parameters
    ----------
    table : DataFrame
        From `audit.answers`.
    context_of : dict from class to context name, optional

    Returns
    -------
    Figure
        "Yes" is dark and bold; numbers are the measured effects.
    """
    measures = list(dict.fromkeys(table["measure"]))
    contexts = list(dict.fromkeys(table["context_class"]))
    fig, ax = plt.subplots(figsize=(9.5, 1.1 + 0.62 * len(contexts)))
    for row in table.to_dict("records"):
        x, y, yes = (
            measures.index(row["measure"]),
            contexts.index(row["context_class"]),
            row["answer"] == "yes",
        )
        ax.add_patch(plt.Rectangle((x - 0.48, y - 0.45), 0.96, 0.9, color=YES if yes else NO))
        look = {"color": "white", "fontweight": "bold"} if yes else {"color": INK}
        text = f"{row['answer']}\n{row['effect']:+.2f}"
        ax.text(x, y, text, ha="center", va="center", fontsize=9, **look)
    first = table.drop_duplicates("context_class").set_index("context_class")["planted"]
    names = [_with_planted(name, first[name], context_of) for name in contexts]
    ax.set_yticks(range(len(contexts)), names)
    ax.set_xticks(range(len(measures)), [name.replace(": ", "\n") for name in measures])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set(xlim=(-0.5, len(measures) - 0.5), ylim=(len(contexts) - 0.5, -0.5))
    sns.despine(ax=ax, left=True, bottom=True)
    return fig


def dose_response(
    table: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
    *,
    nothing: float = 0.25,
) -> Figure:
    """Each method's measured effect against the planted share, a panel a measure.

    Parameters
    ----------
    table : DataFrame
        Answers of several models (`audit.answers`), told apart by seed and bias.
    colours : dict from class to colour
    context_of : dict from class to context name, optional
    nothing : float
        The share at which class and context are independent.

    Returns
    -------
    Figure
        A filled point is an answer "yes"; lines join the means over the seeds.
    """
    measures = list(dict.fromkeys(table["measure"]))
    fig, axes = plt.subplots(2, 3, figsize=(9.5, 5.6), sharex=True)
    for ax, measure in zip(axes.flat, measures, strict=False):
        _doses(ax, table[table["measure"] == measure], colours)
        ax.axvline(nothing, color=FAINT, lw=1, ls=":")
        ax.axhline(0, color=INK, ls="--", lw=1)
        ax.set_title(measure)
    for ax in axes.flat[len(measures) :]:
        ax.set_axis_off()
    for ax in axes.flat[max(len(measures) - 3, 0) : len(measures)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("planted: share in own context")
    for ax in axes[:, 0]:
        ax.set_ylabel("measured effect")
    contexts = list(dict.fromkeys(table["context_class"]))
    handles = [
        Line2D([], [], color=colours[c], marker="o", label=context_name(c, context_of))
        for c in contexts
    ]
    grey = {"ls": "", "marker": "o", "color": FAINT}
    handles += [
        Line2D([], [], label='answer "yes"', **grey),
        Line2D([], [], mfc="white", label='answer "no"', **grey),
        Line2D([], [], color=FAINT, ls=":", label="class and context independent"),
    ]
    axes.flat[-1].legend(handles=handles, loc="center", fontsize=9)
    return fig


def _doses(ax: Axes, part: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """One measure: points with intervals, and lines through the means of each context."""
    for name, rows in part.groupby("context_class", sort=False):
        mean = rows.groupby("bias")[["planted", "effect"]].mean().sort_values("planted")
        ax.plot(mean["planted"], mean["effect"], color=colours[name], lw=1.4, alpha=0.8)
        for row in rows.to_dict("records"):
            ax.vlines(row["planted"], row["low"], row["high"], color=colours[name], lw=1, alpha=0.6)
            face = colours[name] if row["answer"] == "yes" else "white"
            ax.plot(row["planted"], row["effect"], "o", ms=5, mfc=face, mec=colours[name], zorder=3)


def _with_planted(name: str, planted: float, context_of) -> str:
    label = f"{context_name(name, context_of)} ({name})"
    return label if np.isnan(planted) else f"{label}\nplanted: {planted:.0%}"
