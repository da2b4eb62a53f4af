"""Figures made of pictures: Figures 1, 4, 5, 6 and 8, mean colours, and the planted bias."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures.style import INK, readable_on


def image_grid(
    rows: Mapping[str, torch.Tensor | Mapping[str, torch.Tensor]],
    colours: Mapping[str, str] | None = None,
    *,
    width: float = 9.5,
) -> Figure:
    """Show images in named rows (Figures 1 and 5, contact sheets).

    Parameters
    ----------
    rows : dict from row name to uint8 tensor (N, 3, H, W), or to a dict of such tensors
        In the second case its keys head groups of columns: {"bench": {"C": ..., "NC": ...}, ...}.
        Rows may have different numbers of images.
    colours : dict from row name to colour, optional
        Of a bar beside the row's name.
    width : float
        Of the figure at most, in inches; no image is wider than 1.5.

    Returns
    -------
    Figure
    """
    nested = {
        name: dict(row) if isinstance(row, Mapping) else {"": row} for name, row in rows.items()
    }
    groups = list(dict.fromkeys(group for row in nested.values() for group in row))
    columns = [max(len(row.get(group, ())) for row in nested.values()) for group in groups]
    sample = next(images for row in nested.values() for images in row.values())
    cell = min((width - 1.1) / sum(columns), 1.5)
    height = cell * sample.shape[-2] / sample.shape[-1] * len(rows) + 0.3
    size = (cell * sum(columns) + 1.1, height)
    fig, axes = plt.subplots(1, len(groups), figsize=size, width_ratios=columns, squeeze=False)
    for ax, group, across in zip(axes[0], groups, columns, strict=True):
        sheet = _sheet([row.get(group) for row in nested.values()], across, sample.shape[-2:])
        ax.imshow(sheet, interpolation="antialiased")
        ax.set(xticks=[], yticks=[])
        ax.set_title(group)
        sns.despine(ax=ax, left=True, bottom=True)
    _name_rows(axes[0, 0], list(rows), sheet.shape[0] / len(rows), cell, colours)
    return fig


def framed(
    images: Sequence[torch.Tensor],
    captions: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
    *,
    cols: int = 3,
    width: float = 9.5,
) -> Figure:
    """Show single images and mosaics in coloured frames with captions (Figures 4, 6 and 8).

    Parameters
    ----------
    images : sequence of uint8 tensor (3, H, W)
        Sizes may differ (a native mosaic is wider than a single image).
    captions : sequence of str, optional
        Over each image.
    colours : sequence of colours, optional
        Of each image's frame.
    cols : int
        Images in a row.
    width : float
        Of the figure, in inches.

    Returns
    -------
    Figure
    """
    rows = -(-len(images) // cols)
    shapes = [image.shape[-1] / image.shape[-2] for image in images]
    widths = [max(shapes[col::cols], default=1) for col in range(cols)]
    tall = min(width / sum(widths), 2.2)
    size = (tall * sum(widths), rows * (tall + 0.3))
    fig, axes = plt.subplots(rows, cols, figsize=size, squeeze=False, width_ratios=widths)
    for number, ax in enumerate(axes.flat):
        ax.set_axis_off()
        if number < len(images):
            ax.imshow(images[number].permute(1, 2, 0).numpy(), interpolation="antialiased")
            if captions is not None:
                ax.set_title(captions[number], loc="center", fontsize=9)
            if colours is not None:
                _frame(ax, colours[number])
    return fig


def mean_colours(table: pd.DataFrame) -> Figure:
    """Show each set's and class's mean colour as a box: what classes share besides their object.

    Parameters
    ----------
    table : DataFrame
        One row a box: set, class, red, green, blue (means, 0 to 255).

    Returns
    -------
    Figure
    """
    sets, classes = list(dict.fromkeys(table["set"])), list(dict.fromkeys(table["class"]))
    fig, ax = plt.subplots(figsize=(min(9.5, 1.6 + 1.7 * len(classes)), 0.6 + 0.7 * len(sets)))
    for row in table.itertuples():
        x, y = classes.index(row[table.columns.get_loc("class") + 1]), sets.index(row.set)
        rgb = np.array([row.red, row.green, row.blue])
        ax.add_patch(Rectangle((x - 0.48, y - 0.45), 0.96, 0.9, color=rgb / 255))
        text = " ".join(f"{value:.0f}" for value in rgb)
        ax.text(x, y, text, ha="center", va="center", color=readable_on(rgb / 255), fontsize=9)
    ax.set(xlim=(-0.5, len(classes) - 0.5), ylim=(len(sets) - 0.5, -0.5))
    ax.set_xticks(range(len(classes)), classes)
    ax.set_yticks(range(len(sets)), sets)
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)
    ax.set_title("Mean colour (red green blue, 0 to 255)")
    return fig


def planted_bias(counts: pd.DataFrame) -> Figure:
    """Show how many images of each class have each context, as a heat map.

    Parameters
    ----------
    counts : DataFrame of int
        Classes down, contexts across (`pandas.crosstab`); own contexts on the diagonal read best.

    Returns
    -------
    Figure
    """
    share = counts.div(counts.sum(axis=1), axis=0)
    labels = counts.astype(str) + "\n" + (100 * share).round().astype(int).astype(str) + "%"
    rows, columns = counts.shape
    fig, ax = plt.subplots(figsize=(2.2 + 1.1 * columns, 0.9 + 0.62 * rows))
    sns.heatmap(
        share,
        annot=labels,
        fmt="",
        cmap="Greys",
        vmin=0,
        vmax=1,
        linewidths=1.5,
        cbar_kws={"label": "share of the class", "shrink": 0.9},
        annot_kws={"fontsize": 9},
        ax=ax,
    )
    ax.set(xlabel="context", ylabel="class")
    ax.tick_params(length=0, axis="both", rotation=0)
    return fig


def _sheet(rows: list, across: int, size: tuple[int, int], gap: int = 4) -> np.ndarray:
    """Images of a column group on one light grey sheet, uint8 (H', W', 3)."""
    height, width = size[0] + gap, size[1] + gap
    sheet = np.full((len(rows) * height, across * width, 3), 228, np.uint8)
    for r, images in enumerate(rows):
        for c, image in enumerate(() if images is None else images):
            top, left = r * height + gap // 2, c * width + gap // 2
            sheet[top : top + size[0], left : left + size[1]] = image.permute(1, 2, 0).numpy()
    return sheet


def _name_rows(ax: Axes, names: list[str], height: float, cell: float, colours) -> None:
    """Name the rows, with a bar of the class's colour; `cell` is an image's width in inches."""
    ax.set_yticks([(row + 0.5) * height for row in range(len(names))], names)
    ax.tick_params(length=0, pad=72 * 0.08 * cell + 3 if colours else 4)
    for row, name in enumerate(names):
        if colours:
            place, size = (-0.08 * height, (row + 0.02) * height), (0.05 * height, 0.96 * height)
            ax.add_patch(Rectangle(place, *size, color=colours.get(name, INK), clip_on=False))


def _frame(ax: Axes, colour: str) -> None:
    ax.set_axis_on()
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(visible=True, color=colour, linewidth=4)
