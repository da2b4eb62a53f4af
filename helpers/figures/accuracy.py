"""Figures of cross-evaluation (section 2.1.3): Figure 2, confusions, what a random split hides."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.figures.style import FAINT, INK, SET_COLOURS, readable_on


def accuracy_bars(table: pd.DataFrame, n_classes: int | None = None) -> Figure:
    """Accuracy of every model on every test set (Figure 2), with intervals.

    Parameters
    ----------
    table : DataFrame
        One row a bar: model, test_set, accuracy, low, high (shares); optionally paper (share or
        NaN). Models and sets are drawn in the order in which they come.
    n_classes : int, optional
        Draws the level of guessing.

    Returns
    -------
    Figure
    """
    models = list(dict.fromkeys(table["model"]))
    sets = list(dict.fromkeys(table["test_set"]))
    fig, ax = plt.subplots(figsize=(9.5, 3.8))
    width = 0.8 / len(sets)
    for number, name in enumerate(sets):
        part = table[table["test_set"] == name]
        at = part["model"].map(models.index) + (number - (len(sets) - 1) / 2) * width
        ax.bar(at, 100 * part["accuracy"], width * 0.94, color=_set_colour(name), label=name)
        ax.errorbar(at, 100 * part["accuracy"], 100 * _whiskers(part), fmt="none", ecolor=INK, lw=1)
        ink = readable_on(_set_colour(name))
        for x, value in zip(at, part["accuracy"], strict=True):
            ax.text(x, 2, f"{100 * value:.0f}", ha="center", va="bottom", color=ink, fontsize=9)
        if "paper" in part:
            ax.plot(at, 100 * part["paper"], "D", color="white", mec=INK, ms=5, zorder=3)
    _legend(ax, sets, "paper" in table)
    if n_classes:
        ax.axhline(100 / n_classes, color=INK, lw=1, ls=":", zorder=0)
        ax.text(len(models) - 0.5, 100 / n_classes, " guessing", va="center", fontsize=8)
    ax.set(ylabel="accuracy (%)", ylim=(0, 108), yticks=range(0, 101, 20))
    ax.set_xlim(-0.5, len(models) - 0.5)
    ax.set_xticks(range(len(models)), models)
    ax.tick_params(axis="x", length=0)
    return fig


def accuracy_by_training(table: pd.DataFrame) -> Figure:
    """Every training's accuracy on every test set: how far the trainings of a model are apart.

    Parameters
    ----------
    table : DataFrame
        One row a dot: model, training, test_set, accuracy (share).
    """
    models, sets = (list(dict.fromkeys(table[name])) for name in ("model", "test_set"))
    fig, ax = plt.subplots(figsize=(9.5, 3.4))
    for number, name in enumerate(sets):
        part = table[table["test_set"] == name]
        at = part["model"].map(models.index) + 0.25 * (number - (len(sets) - 1) / 2)
        look = {"s": 34, "alpha": 0.75, "edgecolor": INK, "lw": 0.5, "zorder": 3}
        ax.scatter(at, 100 * part["accuracy"], color=_set_colour(name), **look)
    _legend(ax, sets, with_paper=False)
    ax.set(ylabel="accuracy (%)", ylim=(0, 104), xlim=(-0.5, len(models) - 0.5))
    ax.set_xticks(range(len(models)), models)
    ax.grid(axis="y", color="#e5e5e5")
    ax.tick_params(axis="x", length=0)
    return fig


def confusion_grid(
    matrices: Mapping[tuple[str, str], np.ndarray], classes: Sequence[str]
) -> Figure:
    """Confusion matrices, a column a model and a row a test set.

    Parameters
    ----------
    matrices : dict from (model, test set) to array (K, K)
        Counts, or means of counts: true class down, predicted class across.
    classes : sequence of K str

    Returns
    -------
    Figure
    """
    models = list(dict.fromkeys(model for model, _ in matrices))
    sets = list(dict.fromkeys(test for _, test in matrices))
    cell = max(min(8.3 / len(models), 2.4), 0.22 * len(classes))
    size = (1.2 + cell * len(models), 1.2 + cell * len(sets))
    fig, axes = plt.subplots(
        len(sets), len(models), figsize=size, squeeze=False, sharex=True, sharey=True
    )
    for (model, test), matrix in matrices.items():
        ax = axes[sets.index(test), models.index(model)]
        _confusion(ax, np.asarray(matrix), classes, small=cell / len(classes) < 0.25)
    for row, test in zip(axes, sets, strict=True):
        row[0].set_ylabel(f"tested on {test}\ntrue class")
    for ax, model in zip(axes[0], models, strict=True):
        ax.set_title(model)
    fig.supxlabel("predicted class", fontsize=10)
    return fig


def own_and_other_sets(table: pd.DataFrame) -> Figure:
    """What a random split would have hidden: a model on its own set against the other sets.

    Parameters
    ----------
    table : DataFrame
        One row a model and test set: model, train_set, test_set, accuracy (share), low, high.

    Returns
    -------
    Figure
    """
    models = list(dict.fromkeys(table["model"]))
    sets = list(dict.fromkeys(table["test_set"]))
    fig, ax = plt.subplots(figsize=(8.5, 0.9 + 0.5 * len(models)))
    for y, model in enumerate(models):
        part = table[table["model"] == model]
        ax.plot(
            [100 * part["accuracy"].min(), 100 * part["accuracy"].max()],
            [y, y],
            color=INK,
            lw=0.8,
            ls=":",
        )
        for row in part.itertuples():
            _mark(ax, row, y + 0.17 * (sets.index(row.test_set) - (len(sets) - 1) / 2))
    ax.set(xlabel="accuracy (%)", xlim=(-2, 108), ylim=(len(models) - 0.4, -0.6))
    ax.set_yticks(range(len(models)), models)
    ax.tick_params(axis="y", length=0)
    sns.despine(ax=ax, left=True)
    ax.grid(axis="x", color="#e5e5e5")
    ax.set_axisbelow(True)
    handles = [
        Line2D([], [], ls="", marker="s", ms=10, mfc="white", mec=INK, mew=2, label="its own set"),
        Line2D([], [], ls="", marker="o", ms=8, mfc="white", mec=INK, label="another set"),
    ]
    handles += [
        Line2D([], [], ls="", marker="o", ms=8, color=_set_colour(name), label=f"tested on {name}")
        for name in sets
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return fig


def _mark(ax, row, y: float) -> None:
    own = row.train_set == row.test_set
    shape = {"marker": "s", "s": 95, "lw": 2} if own else {"marker": "o", "s": 70, "lw": 0.8}
    spread = {"xerr": [[100 * (row.accuracy - row.low)], [100 * (row.high - row.accuracy)]]}
    ax.errorbar(100 * row.accuracy, y, **spread, fmt="none", ecolor=_set_colour(row.test_set), lw=2)
    ax.scatter(
        100 * row.accuracy, y, color=_set_colour(row.test_set), edgecolor=INK, zorder=3, **shape
    )


def _confusion(ax, matrix: np.ndarray, classes: Sequence[str], small: bool) -> None:
    share = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    ax.imshow(share, cmap="Greys", vmin=0, vmax=1)
    for (true, predicted), count in np.ndenumerate(matrix):
        if count >= 0.5:
            colour = "white" if share[true, predicted] > 0.5 else INK
            ax.text(
                predicted,
                true,
                f"{count:.0f}",
                ha="center",
                va="center",
                color=colour,
                fontsize=6 if small else 8,
            )
    at = range(len(classes))
    ax.set_xticks(at, classes, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(at, classes)
    ax.tick_params(length=0, labelsize=7 if small else 8)
    ax.spines[:].set(visible=True, color=FAINT, linewidth=0.8)


def _whiskers(part: pd.DataFrame) -> np.ndarray:
    ends = part["accuracy"] - part["low"], part["high"] - part["accuracy"]
    return np.maximum(np.array(ends, dtype=float), 0)


def _legend(ax, sets: Sequence[str], with_paper: bool) -> None:
    handles = [
        plt.Rectangle((0, 0), 1, 1, color=_set_colour(n), label=f"tested on {n}") for n in sets
    ]
    if with_paper:
        handles.append(
            Line2D([], [], ls="", marker="D", mfc="white", mec=INK, label="the paper's value")
        )
    ax.figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))


def _set_colour(name: str) -> str:
    return SET_COLOURS.get(name, FAINT)
