"""Pictures of mosaics and of their relevance, for lessons 06 and 07."""

from collections.abc import Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.figures import style
from helpers.figures.style import INK, image_grid

__all__ = ["image_grid", "style"]  # what notebooks also call from here

FRAME = "#00B8D4"  # seen on photographs and on dark and bright maps


def mosaic_maps(
    picture: torch.Tensor,
    layout: torch.Tensor,
    maps: Mapping[str, torch.Tensor],
    focus: Mapping[str, float],
    target: str,
) -> Figure:
    """Draw a mosaic (3, H, W) and each method's map of it.

    Maps are cut off at their 99th percentile. The target cells of the `layout`, (2, 2),
    are framed.
    """
    captions = [f"Where is the {target}?"]
    captions += [f"{name}: Focus {focus[name]:.2f}" for name in maps]
    pictures = [picture, *maps.values()]
    fig = style.framed(pictures, captions, cols=4, most=0.99)
    for ax in fig.axes[: len(pictures)]:
        _frames(ax, picture.shape[-2:], layout, FRAME, 3)
    return fig


def mosaics_explained(
    mosaics: torch.Tensor,
    maps: torch.Tensor,
    layouts: torch.Tensor,
    captions: Sequence[str],
    names: Sequence[str],
    patches: torch.Tensor | None,
) -> Figure:
    """Draw mosaics, each next to its map, with the share of relevance of every image.

    The arguments are those of `feature.explained`; `patches` are outlined.
    """
    pictures = []
    texts = []
    for mosaic, relevance, caption in zip(mosaics, maps, captions, strict=True):
        pictures += [mosaic, relevance]
        texts += [caption, f"relevance for {names[0]}"]
    fig = style.framed(pictures, texts, cols=len(pictures), shade="Reds")
    for number, ax in enumerate(fig.axes):
        _frames(ax, maps.shape[1:], layouts[number // 2], INK, 2.5)
    for number, ax in enumerate(fig.axes[1::2]):
        outlined(ax, patches, number)
        _shares(ax, layouts[number], maps[number].clamp(min=0).double(), names)
    return fig


def outlined(ax: Axes, patches: torch.Tensor | None, number: int) -> None:
    """Outline the known feature of an image, where there is one."""
    if patches is not None and patches[number].any():
        ax.contour(patches[number].numpy(), [0.5], colors=INK, linewidths=1.2)


def _shares(
    ax: Axes, layout: torch.Tensor, relevance: torch.Tensor, names: Sequence[str]
) -> None:
    """Write each image's class and share of the relevance."""
    parts = relevance.unflatten(1, (2, -1)).unflatten(0, (2, -1)).sum((1, 3))
    for row in range(2):
        for column in range(2):
            text = names[0] if layout[row, column] else names[1]
            if parts.sum() > 0:
                text += f" {parts[row, column] / parts.sum():.0%}"
            ax.text(
                0.5 * column + 0.025,
                0.53 - 0.5 * row,
                text,
                transform=ax.transAxes,
                color=INK,
                fontsize=8,
                bbox={"fc": "white", "ec": "none", "pad": 1.5, "alpha": 0.9},
            )


def _frames(
    ax: Axes, size: Sequence[int], layout: torch.Tensor, colour: str, width: float
) -> None:
    """Frame the target cells of a mosaic, and draw the seams between its cells."""
    cell_height, cell_width = size[0] / 2, size[1] / 2
    ax.axhline(cell_height - 0.5, color="white", lw=1)
    ax.axvline(cell_width - 0.5, color="white", lw=1)
    for row, column in layout.nonzero().tolist():
        corner = (column * cell_width + 1, row * cell_height + 1)
        frame = Rectangle(
            corner,
            cell_width - 3,
            cell_height - 3,
            fill=False,
            edgecolor=colour,
            linewidth=width,
        )
        ax.add_patch(frame)
