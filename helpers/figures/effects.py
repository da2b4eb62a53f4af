"""Figures of what contexts do: Figure 10, contrast to the controls, planted against measured."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.figures.style import INK, context_name, whiskers

GREY = {"ls": "", "color": "#777777"}


def table_1_distances(
    effects: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
) -> Figure:
    """Table 1 as Figure 10: signed distances of mosaics (filled) and of single images (empty).

    Parameters
    ----------
    effects : DataFrame
        From `context.effects`.
    colours : dict from class to colour
        A row has its object class's.
    context_of : dict from class to context name, optional
        For the labels.

    Returns
    -------
    Figure
    """
    fig, ax = plt.subplots(figsize=(8.5, 1.2 + 0.3 * _lines(effects)))
    for y, row in _rows(ax, effects, context_of):
        colour = colours[row["object_class"]]
        ends, apart = [row["mosaic_distance"], row["single_distance"]], [y + 0.13, y - 0.13]
        ax.plot(ends, apart, color=colour, lw=1, alpha=0.5)  # apart: each has its own whiskers
        _point(ax, row, "mosaic_distance", apart[0], colour, fmt="o", ms=7)
        _point(ax, row, "single_distance", apart[1], colour, fmt="o", ms=7, mfc="white", mew=1.8)
    ax.axvline(0, color=INK, ls="--", lw=1)
    ax.set_xlabel(
        "\N{LEFTWARDS ARROW} context's class      "
        "signed distance of the mean to the diagonal (logits)"
        "      object's class \N{RIGHTWARDS ARROW}"
    )
    handles = [
        Line2D([], [], marker="o", ms=8, label="mosaics", **GREY),
        Line2D([], [], marker="o", ms=8, mfc="white", mew=1.8, label="single images", **GREY),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2)
    return fig


def context_contrasts(
    effects: pd.DataFrame,
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
    *,
    level: float = 0.05,
) -> Figure:
    """Tell the context from the mosaic: beside own, neutral and other context, and the difference.

    Parameters
    ----------
    effects : DataFrame
        From `context.effects`, with the neutral and the own controls.
    colours : dict from class to colour
    context_of : dict from class to context name, optional
    level : float
        Effects whose Holm-adjusted p-value is below it are filled.

    Returns
    -------
    Figure
    """
    size = (9.5, 1.3 + 0.3 * _lines(effects))
    fig, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=(3, 2))
    for y, row in _rows(left, effects, context_of):
        colour = colours[row["object_class"]]
        for name, marker, nudge in _CONDITIONS:
            if name in row:
                _point(left, row, name, y + nudge, colour, fmt=marker, ms=6, mec=INK, mew=0.6)
        clear = row["context_effect_p_holm"] < level
        look = {"mfc": colour if clear else "white", "mew": 1.6}
        _point(right, row, "context_effect", y, colour, fmt="o", ms=7, **look)
    for ax in (left, right):
        ax.axvline(0, color=INK, ls="--", lw=1)
    left.set(xlabel="signed distance to the diagonal (logits)", title="Where the mosaics are")
    right.set(xlabel="distance beside neutral - beside context", title="What the context does")
    right.tick_params(axis="y", length=0)
    sns.despine(ax=right, left=True)
    right.grid(axis="y", color="#eeeeee")
    handles = [
        Line2D([], [], marker="s", ms=6, label="beside its own context", **GREY),
        Line2D([], [], marker="D", ms=6, label="beside a neutral image", **GREY),
        Line2D([], [], marker="o", ms=6, label="beside the context", **GREY),
        Line2D(
            [], [], marker="o", ms=7, mfc="white", mew=1.6, label="no clear effect (Holm)", **GREY
        ),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4)
    return fig


def planted_and_measured(
    strengths: pd.DataFrame,
    planted: Mapping[str, float],
    colours: Mapping[str, str],
    context_of: Mapping[str, str] | None = None,
) -> Figure:
    """The measured strength of each context, the most strongly planted first.

    Parameters
    ----------
    strengths : DataFrame
        From `context.strengths`, with the neutral control.
    planted : dict from class to float
        The share of the class's images that were given its own context.
    colours : dict from class to colour
    context_of : dict from class to context name, optional

    Returns
    -------
    Figure
    """
    rows = sorted(strengths.to_dict("records"), key=lambda row: -planted[row["context_class"]])
    fig, ax = plt.subplots(figsize=(8.5, 1.2 + 0.5 * len(rows)))
    for y, row in enumerate(rows):
        colour, ends = colours[row["context_class"]], _ends(row, "context_effect")
        look = {"fmt": "o", "color": colour, "ms": 9, "lw": 2, "capsize": 3}
        ax.errorbar(row["context_effect"], y, xerr=ends, **look)
    names = [row["context_class"] for row in rows]
    labels = [f"{context_name(name, context_of)}, planted {planted[name]:.0%}" for name in names]
    ax.set_yticks(range(len(rows)), labels)
    ax.axvline(0, color=INK, ls="--", lw=1)
    ax.set(ylim=(len(rows) - 0.5, -0.5))
    ax.set_xlabel("measured: logits by which the context draws other objects to its class")
    return fig


_CONDITIONS = (
    ("own_distance", "s", -0.24),
    ("neutral_distance", "D", 0.0),
    ("mosaic_distance", "o", 0.24),
)


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


def _point(ax: Axes, row: dict, name: str, y: float, colour: str, **look) -> None:
    look = {"color": colour, "elinewidth": 1.2, "capsize": 2.5, "zorder": 3} | look
    ax.errorbar(row[name], y, xerr=_ends(row, name), **look)


def _ends(row: dict, name: str) -> np.ndarray:
    return whiskers(row[name], row[f"{name}_low"], row[f"{name}_high"])
