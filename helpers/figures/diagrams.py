"""Drawn explanations: the causal graphs of Figure 3 and the construction of Figure 9."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from helpers.figures.style import INK

PLACES = {"O": (0.0, 0.0), "C": (1.0, 1.5), "Y": (2.0, 0.0)}


def causal_graphs() -> Figure:
    """The three causal graphs of object O, context C and prediction Y (Figure 3).

    Returns
    -------
    Figure
        Desired (the context does not reach the prediction), learned (it does), and after the
        intervention do(C = c), which cuts what leads into C.
    """
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 2.9))
    graphs = (
        ("(a) desired", [("O", "C"), ("O", "Y")], None),
        ("(b) learned", [("O", "C"), ("O", "Y"), ("C", "Y")], None),
        ("(c) after the intervention", [("O", "Y"), ("C", "Y")], "C"),
    )
    for ax, (title, arrows, fixed) in zip(axes, graphs, strict=True):
        ax.set_title(title, loc="center")
        for arrow in arrows:
            _arrow(ax, *(PLACES[name] for name in arrow), strong=arrow == ("C", "Y"))
        for name, place in PLACES.items():
            _node(ax, name, place, name == fixed)
        ax.set(xlim=(-0.7, 2.9), ylim=(-0.85, 1.95), aspect="equal")
        ax.set_axis_off()
    return fig


def distance_construction(
    points: pd.DataFrame,
    object_class: str,
    context_class: str,
    colours: Mapping[str, str],
) -> Figure:
    """How Table 1's distances are found (Figure 9): the points, their means, means to the diagonal.

    Parameters
    ----------
    points : DataFrame
        From `context.points`.
    object_class, context_class : str
    colours : dict from class to colour

    Returns
    -------
    Figure
    """
    pair = points[
        (points["object_class"] == object_class) & (points["context_class"] == context_class)
    ]
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.5), sharex=True, sharey=True)
    for step, (ax, title) in enumerate(
        zip(axes, ("1. the logits", "2. their means", "3. distance to the diagonal"), strict=True)
    ):
        for kind, colour, marker, name in (
            ("single", colours[object_class], "^", "single images"),
            ("context", colours[context_class], "*", "mosaics"),
        ):
            part = pair.loc[pair["kind"] == kind, ["object_logit", "context_logit"]].to_numpy()
            alpha, dot = (0.8, 0.25, 0.15)[step], "^" if kind == "single" else "o"
            ax.scatter(*part.T, s=16, color=colour, alpha=alpha, marker=dot, lw=0, label=name)
            if step:
                look = {"color": colour, "mec": "black", "ms": 15 if marker == "*" else 10}
                ax.plot(*part.mean(0), marker, zorder=4, **look)
            if step == 2:
                _distance(ax, part.mean(0))
        _square(ax, pair)
        ax.set(title=title, xlabel=f"logit of {object_class}")
    axes[0].set_ylabel(f"logit of {context_class}")
    dots = axes[0].get_legend_handles_labels()
    fig.legend(*dots, loc="outside upper center", ncols=2, handletextpad=0.1, markerscale=2)
    return fig


def _node(ax: Axes, name: str, place: tuple, fixed: bool) -> None:
    meaning = {"O": "object", "C": "context", "Y": "prediction"}[name]
    ax.add_patch(Circle(place, 0.28, fc="#dddddd" if fixed else "white", ec=INK, lw=1.8, zorder=3))
    ax.text(*place, "c" if fixed else name, ha="center", va="center", fontsize=13, zorder=4)
    if name == "C":
        ax.text(
            place[0] + 0.4, place[1], "do(C = c)" if fixed else meaning, va="center", fontsize=10
        )
    else:
        ax.text(place[0], place[1] - 0.4, meaning, ha="center", va="top", fontsize=10)


def _arrow(ax: Axes, start: tuple, end: tuple, strong: bool) -> None:
    """An arrow between the rims of two nodes; the one in question is thick and orange."""
    look = {"color": "#D55E00", "lw": 3} if strong else {"color": INK, "lw": 1.6}
    start, end = np.array(start), np.array(end)
    inward = 0.3 * (end - start) / np.linalg.norm(end - start)
    ax.add_patch(
        FancyArrowPatch(start + inward, end - inward, arrowstyle="-|>", mutation_scale=18, **look)
    )


def _distance(ax: Axes, mean: np.ndarray) -> None:
    """The line from a mean to its foot on the diagonal, with the signed length."""
    foot = np.full(2, mean.mean())
    ax.plot(*np.transpose([mean, foot]), color=INK, lw=2, zorder=3)
    signed = (mean[0] - mean[1]) / np.sqrt(2)
    ax.annotate(
        f"{signed:+.1f}",
        (mean + foot) / 2,
        (4, 4),
        textcoords="offset points",
        va="bottom",
        fontsize=10,
        fontweight="bold",
        zorder=6,
        bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85},
    )


def _square(ax: Axes, pair: pd.DataFrame) -> None:
    """Equal scales, so that a right angle looks like one."""
    logits = pair.loc[pair["kind"].isin(["single", "context"]), ["object_logit", "context_logit"]]
    low, high = logits.min().min(), logits.max().max()
    pad = 0.08 * (high - low) or 1.0
    ax.set(xlim=(low - pad, high + pad), ylim=(low - pad, high + pad), box_aspect=1)
    ax.axline((low, low), slope=1, color=INK, ls="--", lw=1)
